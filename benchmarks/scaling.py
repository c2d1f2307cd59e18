"""Does more of anything cost more? One job on 1, 2, 4 and 8 workers, and jobs of more and more tasks.

``workers``: a graph is partitioned by random owners on a cluster of so many worker processes with one thread each, the
scheduler and the client being processes of their own. It runs four times: in the first run workers import what they
need, and the one of the others that takes the least CPU time counts. What should not grow with the workers: CPU
seconds, bytes read and written by all of them.

``tasks``: a graph in blocks so small that a job has thousands of tasks. What should grow no faster than the tasks:
resident memory of client and scheduler, and their CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import psutil
from harness import generate_once, keep_lines, show

import daskgraphpart as dgp
from daskgraphpart.api import run_dispatch
from daskgraphpart.dispatching.sizes import Sizes, choose_sizes
from daskgraphpart.engine.progress import SilentProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.engine.resources import Resources


class Passes(SilentProgress):
    """Counts units, and notes how long each pass takes."""

    def __init__(self) -> None:
        self.units, self.seconds = 0, {}  # type: ignore[var-annotated]

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Note when a pass begins."""
        self.units += num_units
        self.name, self.began = name, time.monotonic()

    def end(self) -> None:
        """Add the time of a pass."""
        self.seconds[self.name] = self.seconds.get(self.name, 0) + time.monotonic() - self.began


class Cluster:
    """A scheduler and workers, each a process; the client is this one."""

    def __init__(self, scheduler_file: Path, scheduler: psutil.Process, workers: list[psutil.Process]) -> None:
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
            psutil.wait_procs(started, timeout=20)


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
                dgp.read_chunked(graph), out, 4, method="random", progress=passes,
                resources=dgp.detect_resources(memory, client, workers),
            )  # fmt: skip
        after = {"seconds": time.monotonic() - began, **cluster.counters()}
    used = {name: value - before.get(name, 0) for name, value in after.items()}
    return {**used, **peak.nbytes, "units": passes.units, "passes": passes.seconds}


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


def measure_workers(options: argparse.Namespace) -> dict[str, list[Any]]:
    """The same job on more and more workers, in rounds."""
    graph = generate_once(options.directory / "graph", "--nodes", options.nodes, "--edges", options.edges)
    counts = [int(count) for count in options.workers.split(",")]
    found: dict[str, list[Any]] = {str(count): [] for count in counts}
    for _ in range(options.runs):
        for count in counts:
            with cluster_of(count) as cluster:
                out = options.directory / "out"
                first = run_job(cluster, graph, out, count, options.memory)
                others = [run_job(cluster, graph, out, count, options.memory) for _ in range(3)]
            best = min(others, key=lambda run: run["workers_cpu_s"])
            best["start_cpu_s"] = first["workers_cpu_s"] - best["workers_cpu_s"]
            found[str(count)].append(best)
    rows = []
    for count, runs in found.items():
        middle = {name: statistics.median(run[name] for run in runs) for name in runs[0] if name != "passes"}
        cpu = [f"{middle[name]:.2f} s" for name in ("workers_cpu_s", "start_cpu_s", "scheduler_cpu_s", "client_cpu_s")]
        moved = [f"{middle[name] / 1e9:.2f} GB" for name in ("read_bytes", "written_bytes")]
        rows.append([count, *cpu, *moved, f"{middle['seconds']:.1f} s", int(middle["units"])])
    headers = ["workers", "CPU of all workers", "their start", "scheduler", "client"]
    show([*headers, "read", "written", "wall", "tasks"], rows)
    return found


def measure_tasks(options: argparse.Namespace) -> dict[str, list[Any]]:
    """Jobs of more and more tasks."""
    found: dict[str, list[Any]] = {}
    rows = []
    for count in (int(count) for count in options.tasks.split(",")):
        edges = 100 * count
        graph = generate_once(
            options.directory / f"graph-{count}", "--nodes", str(edges // 10), "--edges", str(edges), "--features", "2"
        )

        def small(resources: Resources) -> Sizes:
            # half of the tasks are blocks of 200 edges, half blocks of 20 rows of 2 float32
            return replace(choose_sizes(resources), edge_block_rows=200, row_block_bytes=160)

        with mock.patch.object(run_dispatch, "choose_sizes", small), cluster_of(2) as cluster:
            run = run_job(cluster, graph, options.directory / "out", 2, options.memory)
        found[str(count)] = [run]
        cells = [f"{1e3 * run[name] / run['units']:.2f} ms" for name in ("seconds", "client_cpu_s", "scheduler_cpu_s")]
        grown = [run[f"{name}_rss"] - run[f"{name}_rss_before"] for name in ("client", "scheduler")]
        rows.append(
            [f"{run['units']:,}", f"{run['seconds']:.1f} s", *cells,
             *(f"{nbytes / 1e6:.0f} MB, {nbytes / run['units'] / 1e3:.1f} KB a task" for nbytes in grown)]
        )  # fmt: skip
        print(rows[-1], flush=True)
        shutil.rmtree(graph)
    headers = ["tasks", "wall", "wall a task", "CPU of the client a task", "of the scheduler"]
    show([*headers, "memory of the client beyond its start", "of the scheduler"], rows)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("workers", "tasks"))
    parser.add_argument("--nodes", default="5e6")
    parser.add_argument("--edges", default="5e7")
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--tasks", default="5000,20000,50000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--directory", type=Path, default=Path("benchmark-data"))
    options = parser.parse_args()
    found = (measure_workers if options.what == "workers" else measure_tasks)(options)
    setting = {"nodes": options.nodes, "edges": options.edges, "memory": options.memory, "load": os.getloadavg()[1]}
    keep_lines("scaling", {"what": options.what, **setting}, found)


if __name__ == "__main__":
    main()
