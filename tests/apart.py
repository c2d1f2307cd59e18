"""Machines that share a store and no disk: workers and clients in mount namespaces, with other temporary directories.

The files of all tests lie below what each of them hides from the others; the code does not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
from cluster_tasks import Machine, mounting, require_mounts, wait_for_machines
from distributed import Client, LocalCluster
from thresholds import CUTS

from daskgraphpart.engine.clusters.on_cluster import ClusterScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

hidden = Path()
"""Where pytest keeps the files of this process's tests: another directory, empty at first, on each machine."""


LOWERED = {place: 10 * value for place, value in CUTS.items() if ".store" in place}
"""On these machines few bytes are beyond what memory holds and one request asks for."""
LOWER = f"import thresholds; thresholds.lower({LOWERED})\n"
LOOK = "import apart; apart.look_at_tasks()\n"


def look_at_tasks(patch: Callable[..., None] = setattr) -> None:
    """From now on, no task that is sent to other machines may carry the name of a temporary file of this one."""
    compute = ClusterScheduler.compute

    def looked_at(self: Any, name: str, graph: Any, *rest: Any) -> None:
        found = re.search(
            rf"{re.escape(tempfile.gettempdir())}/\.?daskgraphpart-\w*".encode(), cloudpickle.dumps(graph)
        )
        assert found is None, f"tasks of {name} carry {found[0]!r}"
        compute(self, name, graph, *rest)

    patch(ClusterScheduler, "compute", looked_at)


def start_worker(scheduler: str) -> Machine:
    """Start a worker on a "machine" of its own."""
    return Machine(scheduler, "127.0.0.1", [f"tmpfs {hidden}"], Path("/"), LOWER, TMPDIR=str(hidden))


@contextmanager
def scheduler_with_workers(number: int) -> Iterator[LocalCluster]:
    """A scheduler, and workers on "machines" of their own."""
    require_mounts()
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        workers = [start_worker(cluster.scheduler_address) for _ in range(number)]
        try:
            with Client(cluster, set_as_default=False) as client:
                wait_for_machines(client, workers)
            yield cluster
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait(30)


SCHEDULER = """
import asyncio, sys
from distributed import Scheduler
async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""


@contextmanager
def machines_apart(number: int) -> Iterator[tuple[str, subprocess.Popen[str], list[Machine]]]:
    """A scheduler and workers that can be killed one by one: its address, and their processes."""
    require_mounts()
    scheduler = start_client(SCHEDULER, errors=subprocess.DEVNULL)
    workers: list[Machine] = []
    try:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip()
        workers += [start_worker(address) for _ in range(number)]
        with Client(address, set_as_default=False) as client:
            wait_for_machines(client, workers)
        yield address, scheduler, workers
    finally:
        processes: list[subprocess.Popen[Any]] = [*workers, scheduler]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)
        if scheduler.stdout is not None:
            scheduler.stdout.close()


def start_client(program: str, *arguments: str, errors: int = subprocess.STDOUT) -> subprocess.Popen[str]:
    """Run a Python program on a "machine" of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(hidden)}
    command = [*mounting([f"tmpfs {hidden}"]), sys.executable, "-c", LOWER + LOOK + program, *arguments]
    return subprocess.Popen(command, env=environment, cwd="/", text=True, stdout=subprocess.PIPE, stderr=errors)


def run_client(program: str, *arguments: str, seconds: float = 100) -> str:
    """Run a program on a "machine" of its own to its end; return what it prints."""
    process = start_client(program, *arguments)
    printed, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, printed
    return printed
