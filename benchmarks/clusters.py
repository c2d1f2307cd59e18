"""What does a cluster cost? The same job on threads, and on two worker processes of one machine, in turn.

Ways, each in a fresh process:

- threads;
- local, where a cluster is started for the job and ended with it, as ``--cluster local`` does;
- client, where a `distributed.Client` of a `LocalCluster` of the user's is open before;
- killed, as local, with one worker killed half-way.

A command is a process of the command line from its start to its end. A call is one of `partition` in Python, which
starts and ends the cluster; its passes are what lies between the beginning of the first and the end of the last. What
counts is the ratio to threads of the same round. At last the default job, ``--method auto``, on threads and local; it
is run once, as it takes longer, and as its result varies.
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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import generate_once, keep_lines, our_command, show, touch_memory

from daskgraphpart.engine.progress import SilentProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WAYS = ("threads", "local", "client", "killed")
MEASURES = ("command", "call", "passes", "second call")
WORKERS = 2


class Watch(SilentProgress):
    """Notes when the first pass begins and the last ends; does something when so many units are done."""

    def __init__(self, after: int = 0, disturb: Callable[[], None] = lambda: None) -> None:
        self.first: float | None = None
        self.last = 0.0
        self.units, self.after, self.disturb = 0, after, disturb

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Note the time of the first."""
        self.first = self.first or time.monotonic()

    def end(self) -> None:
        """Note the time of the last."""
        self.last = time.monotonic()

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Count; disturb if it is time."""
        self.units += 1
        if self.units == self.after:
            self.disturb()


def run_job(options: argparse.Namespace, cluster: Any, watch: Watch) -> dict[str, float]:
    """One job in this process, and what it took."""
    import daskgraphpart as dgp

    shutil.rmtree(options.directory / "out", ignore_errors=True)
    started = time.monotonic()
    dgp.partition(
        graph_of(options), options.directory / "out", 4, method="random", progress=watch,
        memory=options.memory, cluster=cluster, workers=WORKERS,
    )  # fmt: skip
    ended = time.monotonic()
    assert watch.first is not None
    return {"call": ended - started, "passes": watch.last - watch.first, "units": watch.units}


@contextmanager
def cluster_of(way: str) -> Iterator[Any]:
    """What `partition` is told to run on."""
    if way != "client":
        yield way
        return
    from distributed import Client, LocalCluster

    arguments: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": 0}
    with LocalCluster(**arguments, dashboard_address=":0") as cluster, Client(cluster) as client:
        yield client


def run_killed(options: argparse.Namespace) -> dict[str, float]:
    """One job on a cluster as ``local`` starts it, one of whose workers is killed; counts what is sent again."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    from daskgraphpart.engine.clusters.connect import connect

    sent: dict[str, int] = {}

    class Counter(SchedulerPlugin):  # type: ignore[misc]
        def transition(self, key: str, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
            sent[key] = sent.get(key, 0) + (finish == "processing")

    async def add(cluster: Any) -> None:
        cluster.scheduler.add_plugin(Counter())

    started = time.monotonic()
    with connect("local", WORKERS) as client:
        cluster: Any = client.cluster
        cluster.sync(add, cluster)
        killed = next(iter(client.run(os.getpid).values()))
        found = run_job(options, cluster, Watch(options.kill_after, lambda: os.kill(killed, signal.SIGKILL)))
    again = sum(max(0, times - 1) for times in sent.values())
    return {**found, "call": time.monotonic() - started, "tasks": len(sent), "again": again}


def run_way(options: argparse.Namespace) -> None:
    """One way, in this process; prints what it took as JSON."""
    if options.one == "killed":
        print(json.dumps(run_killed(options)))
        return
    with cluster_of(options.one) as cluster:
        found = run_job(options, cluster, Watch())
        found["second call"] = run_job(options, cluster, Watch())["call"]
    print(json.dumps(found))


def measure(options: argparse.Namespace, way: str, method: str, kill_after: int = 0) -> dict[str, Any]:
    """One way, in fresh processes: the command, if there is one for it, and the calls from Python."""
    command = {} if way in ("client", "killed") else {"command": seconds_of_command(options, way, method)}
    if method == "auto":
        return command
    arguments = {"directory": options.directory, "nodes": options.nodes, "edges": options.edges, "one": way}
    arguments |= {"kill-after": kill_after, "memory": options.memory}
    touch_memory(2e9)
    done = run([sys.executable, __file__, *(f"--{name}={value}" for name, value in arguments.items())])
    found: dict[str, Any] = json.loads(done.splitlines()[-1])
    return {**command, **found}


def seconds_of_command(options: argparse.Namespace, way: str, method: str) -> float:
    """Run the command line."""
    out = options.directory / "out"
    shutil.rmtree(out, ignore_errors=True)
    touch_memory(2e9)
    started = time.monotonic()
    what = ("partition", str(graph_of(options)), str(out), "--num-parts", "4", "--method", method, "--quiet")
    run(our_command(*what, "--cluster", way, "--workers", str(WORKERS), "--memory", options.memory))
    return time.monotonic() - started


def run(command: list[str]) -> str:
    """Run a command, and return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return done.stdout


def in_rounds(options: argparse.Namespace, method: str, ways: tuple[str, ...], runs: int) -> dict[str, list[Any]]:
    """All ways in turn, `runs` times; shows a table."""
    half = measure(options, "threads", method)["units"] // 2 if "killed" in ways else 0  # also fills the page cache
    found: dict[str, list[Any]] = {way: [] for way in ways}
    for _ in range(runs):
        for way in ways:
            found[way].append(measure(options, way, method, half))
    rows = [(f"{method}, {way}", *(cell(found, way, name) for name in MEASURES)) for way in ways]
    show(("job", *MEASURES), rows)
    for run in found.get("killed", []):
        print(f"a killed worker: {run['again']} of {run['tasks']} tasks were sent again")
    return found


def cell(found: dict[str, list[Any]], way: str, name: str) -> str:
    """Median, and the median of the ratios to threads with the smallest and the largest."""
    runs, threads = found[way], found["threads"]
    if name not in runs[0]:
        return ""
    against = [run[name] / other[name] for run, other in zip(runs, threads, strict=True)]
    median = f"{statistics.median(run[name] for run in runs):.2f} s"
    if way == "threads":
        return median
    return f"{median}: {statistics.median(against):.2f} ({min(against):.2f} to {max(against):.2f})"


def graph_of(options: argparse.Namespace) -> Path:
    """Where the graph is."""
    directory: Path = options.directory
    return directory / f"graph-{options.edges}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1e6")
    parser.add_argument("--edges", default="1e7")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--auto-runs", type=int, default=1)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--directory", type=Path, default=Path("benchmark-data"))
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--kill-after", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_way(options)
        return
    # rows as wide as those of ogbn-papers100M
    generate_once(graph_of(options), "--nodes", options.nodes, "--edges", options.edges, "--features", "128")
    found = {"random": in_rounds(options, "random", WAYS, options.runs)}
    if options.auto_runs:
        found["auto"] = in_rounds(options, "auto", WAYS[:2], options.auto_runs)
    setting: dict[str, Any] = {"nodes": options.nodes, "edges": options.edges, "workers": WORKERS}
    setting |= {"runs": options.runs, "memory": options.memory}
    setting["load"] = os.getloadavg()[1]  # more processes than threads: a machine that others use is unfair to them
    keep_lines("clusters", setting, found)


if __name__ == "__main__":
    main()
