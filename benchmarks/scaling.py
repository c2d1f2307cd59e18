"""Does more of anything cost more? One job on 1, 2, 4 and 8 workers, and jobs of more and more tasks.

``workers``: a graph is partitioned by random owners on clusters of so many worker processes with one thread each, the
scheduler and the client being processes of their own. All clusters start first, and have the job in turn. In the first
two jobs workers import what they need and load kernels; the median of the others counts. A worker that has
nothing to do takes CPU time as well, for its event loop and heartbeats: what it takes in ten idle seconds is counted
apart. What should not grow with the workers: CPU seconds of the work, bytes read and written by all of them.

``tasks``: a graph in blocks so small that a job has thousands of tasks. What should grow no faster than the tasks:
resident memory of client and scheduler, and their CPU seconds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import psutil
from harness import generate_once, keep_lines, show

import daskgraphpart as dgp
from daskgraphpart.dispatching.job import Sizes, choose_sizes
from daskgraphpart.engine.progress import SilentProgress
from daskgraphpart.jobs import run_job as opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.engine.resources import Resources


NUM_STARTING_RUNS = 2
NUM_PARTS = 8
"""As many as the most workers: every worker has one to build, and loads the kernels that this takes."""


class Passes(SilentProgress):
    """Counts units, and notes how long each pass takes."""

    def __init__(self) -> None:
        self.units, self.largest, self.seconds = 0, 0, {}  # type: ignore[var-annotated]

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Note when a pass begins."""
        self.units += num_units
        self.largest = max(self.largest, num_units)
        self.name, self.began = name, time.monotonic()

    def end(self) -> None:
        """Add the time of a pass."""
        self.seconds[self.name] = self.seconds.get(self.name, 0) + time.monotonic() - self.began


class Cluster:
    """A scheduler and workers, each a process; the client is this one."""

    def __init__(self, scheduler_file: Path, scheduler: psutil.Process, workers: Sequence[psutil.Process]) -> None:
        self.scheduler_file, self.scheduler, self.workers = scheduler_file, scheduler, workers
        self.client = psutil.Process()

    def counters(self) -> dict[str, float]:
        """What the processes have used since they began."""
        io = [worker.io_counters() for worker in self.workers]
        return {
            "workers_cpu_s": sum(sum(worker.cpu_times()[:2]) for worker in self.workers),
            "scheduler_cpu_s": sum(self.scheduler.cpu_times()[:2]),
            "client_cpu_s": sum(self.client.cpu_times()[:2]),
            "read_bytes": sum(counters.read_chars for counters in io),
            "written_bytes": sum(counters.write_chars for counters in io),
        }


@contextmanager
def cluster_of(workers: int) -> Iterator[Cluster]:
    """Start a cluster, and end it."""
    # libraries would start threads of their own in each
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "scheduler.json")
        dask = [sys.executable, "-m", "dask"]
        commands = [[*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]]
        commands += workers * [
            [*dask, "worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--memory-limit", "0",
             "--no-dashboard", "--local-directory", scratch, "--death-timeout", "30"]
        ]  # fmt: skip
        started = [psutil.Popen(command, env=env, stderr=subprocess.DEVNULL, cwd=scratch) for command in commands]
        try:
            yield Cluster(file, started[0], started[1:])
        finally:
            for process in reversed(started):
                process.terminate()
            _, left = psutil.wait_procs(started, timeout=20)
            for remaining in left:
                remaining.kill()


def run_job(cluster: Cluster, graph: Path, out: Path, workers: int, memory: str) -> dict[str, Any]:
    """Run one job, and tell what it took."""
    from distributed import Client

    shutil.rmtree(out, ignore_errors=True)
    passes, peak = Passes(), Peak(cluster)
    with Client(scheduler_file=str(cluster.scheduler_file)) as client:
        client.wait_for_workers(workers)
        before, began = cluster.counters(), time.monotonic()
        with peak:
            dgp.partition(
                dgp.read_chunked(graph), out, NUM_PARTS, method="random", progress=passes,
                memory=memory, cluster=client, workers=workers,
            )  # fmt: skip
        after = {"seconds": time.monotonic() - began, **cluster.counters()}
    used = {name: value - before.get(name, 0) for name, value in after.items()}
    return {**used, **peak.nbytes, "units": passes.units, "largest_pass": passes.largest, "passes": passes.seconds}


class Peak:
    """Largest resident memory of client and scheduler, and what they began with."""

    def __init__(self, cluster: Cluster) -> None:
        self.processes = {"client": cluster.client, "scheduler": cluster.scheduler}
        self.nbytes: dict[str, int] = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self) -> None:
        self.nbytes = {f"{name}_rss_before": process.memory_info().rss for name, process in self.processes.items()}
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def watch(self) -> None:
        """Look ten times a second."""
        while not self.ended.wait(0.1):
            for name, process in self.processes.items():
                key = f"{name}_rss"
                self.nbytes[key] = max(self.nbytes.get(key, 0), process.memory_info().rss)


def measure_workers(options: argparse.Namespace) -> dict[str, Any]:
    """The same job in turn on clusters of more and more workers, all of which have started before."""
    graph = generate_once(options.directory / "graph", "--nodes", options.nodes, "--edges", options.edges)
    counts = [int(count) for count in options.workers.split(",")]
    runs: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
    with ExitStack() as stack:
        clusters = {count: stack.enter_context(cluster_of(count)) for count in counts}
        for _ in range(NUM_STARTING_RUNS + options.runs):
            for count, cluster in clusters.items():
                runs[count].append(run_job(cluster, graph, options.directory / "out", count, options.memory))
        idle = {count: idle_share(cluster) for count, cluster in clusters.items()}
    rows = []
    for count, of_count in runs.items():
        warm = of_count[NUM_STARTING_RUNS:]
        middle = {name: statistics.median(run[name] for run in warm) for name in warm[0] if name != "passes"}
        loops = statistics.median(count * idle[count] * run["seconds"] for run in warm)
        work = statistics.median(run["workers_cpu_s"] - count * idle[count] * run["seconds"] for run in warm)
        start = sum(run["workers_cpu_s"] - middle["workers_cpu_s"] for run in of_count[:NUM_STARTING_RUNS]) / count
        cpu = [middle["workers_cpu_s"], loops, work, start, middle["scheduler_cpu_s"], middle["client_cpu_s"]]
        moved = [f"{middle[name] / 1e9:.2f} GB" for name in ("read_bytes", "written_bytes")]
        rows.append([count, *(f"{s:.2f} s" for s in cpu), *moved, f"{middle['seconds']:.1f} s", int(middle["units"])])
    headers = ["workers", "CPU of all workers", "of it event loops", "of it work", "start of each, once"]
    show([*headers, "scheduler", "client", "read", "written", "wall", "tasks"], rows)
    return {"idle": idle, **{str(count): of_count for count, of_count in runs.items()}}


def idle_share(cluster: Cluster, seconds: float = 10) -> float:
    """CPU seconds that each worker takes in a second in which it has nothing to do."""
    before, began = cluster.counters(), time.monotonic()
    time.sleep(seconds)
    used = cluster.counters()["workers_cpu_s"] - before["workers_cpu_s"]
    return used / (time.monotonic() - began) / len(cluster.workers)


def measure_tasks(options: argparse.Namespace) -> dict[str, Any]:
    """Jobs of more and more tasks, the client of each being a process of its own."""
    found: dict[str, Any] = {}
    rows = []
    for count in (int(count) for count in options.tasks.split(",")):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            run = process.submit(run_many_tasks, count, options.directory, options.memory).result()
        found[str(count)] = run
        cells = [f"{1e3 * run[name] / run['units']:.2f} ms" for name in ("seconds", "client_cpu_s", "scheduler_cpu_s")]
        grown = [run[f"{name}_rss"] - run[f"{name}_rss_before"] for name in ("client", "scheduler")]
        rows.append(
            [f"{run['units']:,}", f"{run['largest_pass']:,}", f"{run['seconds']:.1f} s", *cells,
             *(f"{nbytes / 1e6:.0f} MB, {nbytes / run['largest_pass'] / 1e3:.1f} KB" for nbytes in grown)]
        )  # fmt: skip
        print(rows[-1], flush=True)
    headers = ["tasks", "in the largest pass", "wall", "wall a task", "CPU of the client a task", "of the scheduler"]
    show([*headers, "memory of the client, for a task of the largest pass", "of the scheduler"], rows)
    return found


def run_many_tasks(count: int, directory: Path, memory: str) -> dict[str, Any]:
    """Run a job of so many tasks: 60 % are blocks of 100 edges, 10 % blocks of 60 nodes in each of four passes."""
    edges = 60 * count
    arguments = ("--nodes", str(edges // 10), "--edges", str(edges), "--features", "2", "--edge-format", "numpy")
    graph = generate_once(directory / f"graph-{count}", *arguments)

    def small(resources: Resources) -> Sizes:
        return replace(choose_sizes(resources), edge_block_rows=100, row_block_bytes=60 * 2 * 4)

    with mock.patch.object(opening, "choose_sizes", small), cluster_of(2) as cluster:
        run = run_job(cluster, graph, directory / f"out-{count}", 2, memory)
    shutil.rmtree(graph)
    shutil.rmtree(directory / f"out-{count}")
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("workers", "tasks"))
    parser.add_argument("--nodes", default="1e6")
    parser.add_argument("--edges", default="1e7")
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--tasks", default="10000,25000,50000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--directory", type=Path, default=Path("benchmark-data"))
    options = parser.parse_args()
    found = (measure_workers if options.what == "workers" else measure_tasks)(options)
    setting = {"nodes": options.nodes, "edges": options.edges, "memory": options.memory, "load": os.getloadavg()[1]}
    keep_lines("scaling", {"what": options.what, **setting}, found)


if __name__ == "__main__":
    main()
