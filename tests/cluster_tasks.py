"""Tasks that workers of a cluster can import, a small graph, and who disturbs a job in the middle."""

from __future__ import annotations

import collections
import errno
import importlib
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from distributed.diagnostics.plugin import SchedulerPlugin
from inside import Resources, SilentProgress, detect_resources, generate, open_runner
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart.storage.scratch import lasting_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from distributed import Client


def write_graph(directory: Path) -> Path:
    """A graph whose passes have a dozen tasks each."""
    with open_runner(Resources(1 << 30, "threads", 2)) as runner:
        generate(directory, num_nodes=20_000, num_edges=200_000, num_chunks=12, labels=True, runner=runner)
    return directory


def partition(graph: Path, out: Path, cluster: Any, **how: Any) -> None:
    """The job of these tests."""
    resources = detect_resources("256MB", cluster, 2)
    dgp.partition(graph, out, 4, method="random", **spelled(resources), **how)


SHARED = {
    "choose": {"COARSE_ARCS": 4000, "SHARED_ARCS": 8000},
    "solver": {"SHARED_ARCS": 8000, "COARSE_NODES_PER_PART": 4},
    "partition_pass": {"SHARED_ARCS": 8000},
    "adjacency.adjacency_sizes": {"MIN_BLOCK_ARCS": 3000},
    "multilevel.weighted_graph": {"PIECE_ARCS": 1000},
}


def share_small_graphs(patch: Callable[[Any, str, int], None] = setattr) -> None:
    """Let workers share the partitioner's levels of a graph of 60,000 arcs."""
    for module, values in SHARED.items():
        for name, value in values.items():
            patch(importlib.import_module(f"daskgraphpart.partitioner.{module}"), name, value)


# workers wait half a second, not five, for what they should see
WORKER = """
import daskgraphpart.engine.clusters.on_cluster as on_cluster
on_cluster.SECONDS_TO_SEE = 0.5
from dask.__main__ import main
main()
"""


@cache
def why_no_mounts() -> str:
    """Try once to mount a file system in a namespace, as "machines" do; return why that fails."""
    with tempfile.TemporaryDirectory() as directory:
        command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", directory]
        try:
            tried = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as fault:
            return str(fault)
    return tried.stderr if tried.returncode else ""


def require_mounts() -> None:
    """Skip where file systems cannot be mounted."""
    if reason := why_no_mounts():
        pytest.skip(f"file systems cannot be mounted here: {reason}")


class Machine(subprocess.Popen[bytes]):
    """A worker on "another machine", where directories are others; keeps what it says."""

    def __init__(
        self, scheduler: str, host: str, mounts: list[str], cwd: Path, first: str = "", **environment: str
    ) -> None:
        require_mounts()
        environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment["DASK_DISTRIBUTED__WORKER__DAEMON"] = "True"
        worker = ["worker", scheduler, "--host", host, "--nthreads", "1", "--memory-limit", "0", "--no-nanny"]
        command = [*mounting(mounts), sys.executable, "-c", first + WORKER, *worker, "--no-dashboard"]
        self._log = Path(tempfile.mkstemp(prefix="worker-", suffix=".log", dir=_logs())[1])
        with self._log.open("wb") as log:
            super().__init__(command, env=environment, cwd=cwd, stderr=log)

    def said(self) -> str:
        """Return what the worker has logged."""
        return f"worker {self.pid}, exit code {self.poll()}:\n{self._log.read_text(errors='replace')[-4000:]}"


@cache
def _logs() -> Path:
    return lasting_directory()


def mounting(mounts: list[str]) -> list[str]:
    """Begin a command in a namespace with mounts of its own, each given as options of tmpfs and the directory."""
    mount = " && ".join(f"mount -t tmpfs {mount}" for mount in mounts) + ' && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", mount, "sh"]


def wait_for_machines(client: Client, machines: Collection[Machine], seconds: float = 90) -> None:
    """Wait until the workers of a cluster are these; fail with the log of one that ends or does not come."""
    deadline = time.monotonic() + seconds
    while len(client.nthreads()) != len(machines):
        ended = [machine for machine in machines if machine.poll() is not None]
        if ended or time.monotonic() > deadline:
            pytest.fail("a worker did not come\n" + "\n".join(machine.said() for machine in ended or machines))
        time.sleep(0.05)


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
