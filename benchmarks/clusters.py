"""What does a cluster cost? The main job on threads and on a LocalCluster in turn; and with a worker killed half-way.

The workers are processes that import numba, pyarrow and dask, and are ended at last: that is the same for any job, and
is counted apart. The work is what lies between the beginning of the first pass and the end of the last. Numba sets
itself up (a third of a second) at its first call: of threads that is in the work, of workers in the start.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness import generate_once, keep_lines, show, touch_memory

from daskgraphpart.engine.progress import SilentProgress

WAYS = ("threads", "cluster", "killed")
WORKERS = 2


class Watch(SilentProgress):
    """Notes when the first pass begins; kills a worker when so many units are done."""

    def __init__(self, kill_after: int | None) -> None:
        self.first: float | None = None
        self.last = 0.0
        self.units, self.kill_after = 0, kill_after

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Note the time of the first."""
        self.first = self.first or time.monotonic()

    def end(self) -> None:
        """Note the time of the last."""
        self.last = time.monotonic()

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Count; kill a worker if it is time."""
        self.units += 1
        if self.units == self.kill_after:
            kill_a_worker()


def kill_a_worker() -> None:
    import psutil

    spawned = [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
    os.kill(spawned[-1].pid, signal.SIGKILL)


def run_job(graph: Path, out: Path, way: str, kill_after: int) -> None:
    """One run, in this process; prints what it took as JSON."""
    import daskgraphpart as dgp

    shutil.rmtree(out, ignore_errors=True)
    watch = Watch(kill_after if way == "killed" else None)
    resources = dgp.detect_resources("2GB", "threads" if way == "threads" else "local", WORKERS)
    started = time.monotonic()
    dgp.partition(graph, out, 4, method="random", resources=resources, progress=watch)
    ended = time.monotonic()
    assert watch.first is not None
    workers = watch.first - started + ended - watch.last
    print(json.dumps({"workers": workers, "work": watch.last - watch.first, "units": watch.units}))


def measure(job: list[str], way: str, kill_after: int) -> dict[str, Any]:
    """One run, in a fresh process."""
    touch_memory(4e9)
    command = [*job, "--one", way, "--kill-after", str(kill_after)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1e6")
    parser.add_argument("--edges", default="1e7")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=Path("benchmark-data"))
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--kill-after", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    graph, out = options.directory / f"graph-{options.edges}", options.directory / "out"
    if options.one:
        run_job(graph, out, options.one, options.kill_after)
        return
    # rows as wide as those of ogbn-papers100M
    generate_once(graph, "--nodes", options.nodes, "--edges", options.edges, "--features", "128")
    job = [sys.executable, __file__, "--directory", str(options.directory), "--edges", options.edges]
    half = measure(job, "threads", 0)["units"] // 2  # also fills the page cache
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for _ in range(options.runs):
        for way in WAYS:
            runs[way].append(measure(job, way, half))
    rows = []
    for way in WAYS:
        against = [run["work"] / threads["work"] for run, threads in zip(runs[way], runs["threads"], strict=True)]
        rows.append(
            (
                way,
                f"{statistics.median(run['workers'] for run in runs[way]):.2f} s",
                f"{statistics.median(run['work'] for run in runs[way]):.2f} s",
                f"{statistics.median(against):.2f} ({min(against):.2f} to {max(against):.2f})",
            )
        )
    show(("way", "start and end", "work", "work, against threads"), rows)
    setting: dict[str, Any] = {"nodes": options.nodes, "edges": options.edges, "workers": WORKERS, "runs": options.runs}
    setting["load"] = os.getloadavg()[1]  # more processes than threads: a machine that others use is unfair to them
    keep_lines("clusters", setting, runs)


if __name__ == "__main__":
    main()
