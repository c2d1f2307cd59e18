"""Tasks that workers of a cluster can import, a small graph, and who disturbs a job in the middle."""

from __future__ import annotations

import collections
import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import SchedulerPlugin
from inside import Resources, SilentProgress, detect_resources, generate, open_runner
from keywords import spelled

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def write_graph(directory: Path) -> Path:
    """A graph whose passes have a dozen tasks each."""
    with open_runner(Resources(1 << 30, "threads", 2)) as runner:
        generate(directory, num_nodes=20_000, num_edges=200_000, num_chunks=12, labels=True, runner=runner)
    return directory


def partition(graph: Path, out: Path, cluster: Any, **how: Any) -> None:
    """The job of these tests."""
    resources = detect_resources("256MB", cluster, 2)
    dgp.partition(graph, out, 4, method="random", **spelled(resources), **how)


# workers wait half a second, not five, for what they should see
WORKER = """
import daskgraphpart.plugins.clusters.on_cluster as on_cluster
on_cluster.SECONDS_TO_SEE = 0.5
from dask.__main__ import main
main()
"""


def start_machine(scheduler: str, host: str, mounts: list[str], cwd: Path) -> subprocess.Popen[bytes]:
    """Start a worker on "another machine", where directories are others: options of tmpfs, and the directory."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment["DASK_DISTRIBUTED__WORKER__DAEMON"] = "True"
    mount = " && ".join(f"mount -t tmpfs {mount}" for mount in mounts) + ' && exec "$@"'
    worker = ["worker", scheduler, "--host", host, "--nthreads", "1", "--memory-limit", "0", "--no-nanny"]
    command = ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", WORKER, *worker, "--no-dashboard"]
    return subprocess.Popen(command, env=environment, cwd=cwd, stderr=subprocess.DEVNULL)


class Disturber(SilentProgress):
    """Does something when so many units are done."""

    def __init__(self, after: int, disturb: Callable[[], object]) -> None:
        self.after, self.disturb, self.done = after, disturb, 0

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        self.done += 1
        if self.done == self.after:
            self.disturb()


class At(SilentProgress):
    """Does something when a pass begins."""

    def __init__(self, name: str, disturb: Callable[[], object]) -> None:
        self.name, self.disturb = name, disturb

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        if name == self.name:
            self.disturb()


class Counter(SchedulerPlugin):
    """Counts how often tasks of a scheduler in this process are sent to workers, by key."""

    def __init__(self) -> None:
        self.sent: collections.Counter[str] = collections.Counter()

    def transition(self, key: str, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        if finish == "processing":
            self.sent[key] += 1


def fail_once(flag: str, number: int) -> int:
    """Fail with that error number, but not a second time."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return 7
    raise OSError(number, os.strerror(number), flag)


def always_fails(flag: str, _: Any) -> int:
    """Count the attempts in a file."""
    with open(flag, "a") as file:
        file.write("x")
    raise OSError(errno.EIO, os.strerror(errno.EIO), flag)
