"""Is the plan right? Bytes, memory, disk and time of jobs against what was foretold.

Three graphs of different shape (power law; heterogeneous, CSV; communities with wide features) and several methods;
then graphs from which nothing was set (``--graphs others``): other sizes and numbers of parts, and real ones. Each job
runs in a fresh process, which plans it first. Traffic is what the process and its children asked the system to read and
write (`/proc/self/io`), memory the largest sum over the process tree, disk what files of the workspace take. Prints
measured / planned. It may be run in pieces (``--graphs``, ``--methods``): `table.py` takes the newest of each job.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness import RESULTS, generate_once, keep_lines, show

from daskgraphpart import detect_resources, partition, plan
from daskgraphpart.engine.measure import measure
from daskgraphpart.engine.progress import SilentProgress
from daskgraphpart.planning.measured import MeasuringProgress


@dataclass(frozen=True)
class Case:
    """A graph (how it is generated; or a real one, by its name), parts and memory."""

    how: str = ""
    num_parts: int = 8
    memory: str = "1GB"


GRAPHS = {
    "rmat": Case("--kind rmat --labels --nodes 1e6 --edges 1e7"),
    "mag": Case("--kind mag --edge-format csv --nodes 1e6 --edges 1e7"),
    # wide rows: fewer nodes give as many bytes
    "communities": Case("--kind communities --features 512 --nodes 3e5 --edges 3e6"),
}
OTHERS = {
    "demo": Case("--nodes 5e5 --edges 5e6 --labels", 4, "12GB"),
    "mag, 16 parts": Case("--kind mag --nodes 6e5 --edges 6e6 --seed 3", 16, "400MB"),
    "communities, 5 parts": Case("--kind communities --nodes 1e6 --edges 8e6 --seed 3", 5, "500MB"),
    "cnr2000": Case(),
    "vcs_networkit": Case(num_parts=4),
}
METHODS = "random,ldg,kaminpar,multilevel,auto"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=METHODS, help="comma between them")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="semicolon or comma between them, or: others")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--sizes", default="", help="instead of those of the graphs, as in: --sizes='--nodes 1e4 --edges 1e5'"
    )
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    parser.add_argument("--job", help="internal: run this job, and tell what it did")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(run_job(**json.loads(options.job))))
        return
    rows, results = [], {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        for name in names_of(options.graphs):
            case = {**GRAPHS, **OTHERS}[name]
            case = replace(case, how=f"{case.how} {options.sizes}".strip())
            graph = made(name, case, options.directory or Path(scratch))
            for method in options.methods.split(","):
                found = measured_job(graph, Path(scratch) / "out", method, (case, options.workers))
                results[f"{name}, {method}"] = found
                rows.append([name, method, *(f"{ratio:.3f}" for ratio in found["ratios"].values())])
                keep_lines("plan", {"workers": options.workers}, {f"{name}, {method}": found})
                drop_older()
    show(["graph", "method", "output", "moved", "traffic", "workspace", "memory", "time"], rows)


def drop_older() -> None:
    """Keep the newest line of each job, in the order of graphs and methods."""
    path = RESULTS / "plan.jsonl"
    newest = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        (job,) = json.loads(line)["results"]
        newest[job] = line
    order = [f"{name}, {method}" for name in (*GRAPHS, *OTHERS) for method in METHODS.split(",")]
    path.write_text("".join(newest[job] + "\n" for job in order if job in newest), encoding="utf-8")


def names_of(wanted: str) -> list[str]:
    """Names of graphs, which may hold commas."""
    if wanted == "others":
        return list(OTHERS)
    return wanted.split(";") if ";" in wanted or wanted in OTHERS else wanted.split(",")


def made(name: str, case: Case, directory: Path) -> Path:
    """Make a graph unless it is there."""
    target = directory / f"plan-{name.replace(', ', '-').replace(' ', '-')}"
    if case.how:
        return generate_once(target, *case.how.split())
    if not (target / "metadata.json").is_file():
        sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
        from graphs import load_real_graph

        load_real_graph(name).write(target, edge_format="csv")
    return target


def measured_job(graph: Path, out: Path, method: str, setting: tuple[Case, int]) -> dict[str, Any]:
    """Run a job in a fresh process; return what was planned and measured, and the ratios."""
    shutil.rmtree(out, ignore_errors=True)
    case, workers = setting
    how = {"graph": str(graph), "out": str(out), "method": method, "num_parts": case.num_parts}
    how |= {"memory": case.memory, "workers": workers}
    taken, code, output = measure([sys.executable, __file__, "--job", json.dumps(how)])
    if code:
        raise SystemExit(output[-3000:])
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    found["measured"]["peak_memory"] = taken.peak_bytes
    planned, measured = found["plan"], found["measured"]
    names = ("output_nbytes", "moved", "traffic", "workspace_nbytes", "peak_memory", "seconds")
    found["ratios"] = {name: measured[name] / max(planned[name], 1e-9) for name in names}
    return found


def run_job(graph: str, out: str, method: str, num_parts: int, memory: str, workers: int) -> dict[str, Any]:
    """Plan a job and run it."""
    resources = detect_resources(memory, workers=workers)
    foretold = plan(graph, num_parts, out_dir=out, method=method, resources=resources)
    progress, disk = CountingProgress(SilentProgress()), Disk(Path(out) / ".daskgraphpart-work")
    with disk:
        partition(graph, out, num_parts, method=method, resources=resources, progress=progress)
    seconds = progress.seconds
    planned = foretold.to_dict()
    planned["traffic"] = foretold.bytes_read + foretold.bytes_written
    planned["moved"] = sum(of.moved for of in foretold.passes)
    measured = {
        "output_nbytes": sum(path.stat().st_size for path in Path(out).rglob("*") if path.is_file()),
        "moved": sum(of.moved for of in progress.passes),
        "traffic": sum(of.traffic for of in progress.passes),
        "workspace_nbytes": disk.peak,
        "seconds": seconds,
        "passes": [{**asdict(of), "cpu": progress.cpu[of.name]} for of in progress.passes],
        "cpu": sum(progress.cpu.values()),
    }
    return {"plan": planned, "measured": measured}


class CountingProgress(MeasuringProgress):
    """Keeps the processor time of each pass beside the rest, child processes included."""

    def __init__(self, shown: SilentProgress) -> None:
        super().__init__(shown)
        self.cpu: dict[str, float] = {}

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Note the state before the pass."""
        self._name, self._before = name, sum(os.times()[:4])
        super().begin(name, num_units, nbytes, num_rows)

    def end(self) -> None:
        """Add what the pass took."""
        super().end()
        self.cpu[self._name] = self.cpu.get(self._name, 0.0) + sum(os.times()[:4]) - self._before


class Disk:
    """Watches how much the files of a directory take on the disk."""

    def __init__(self, directory: Path) -> None:
        self.peak = 0
        self._directory, self._stop = directory, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Disk:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            total = 0
            for path in self._directory.rglob("*"):
                try:
                    total += path.stat().st_blocks * 512
                except OSError:  # it is gone
                    continue
            self.peak = max(self.peak, total)


if __name__ == "__main__":
    main()
