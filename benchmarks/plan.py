"""Is the plan right? Bytes, memory, disk and time of jobs against what was foretold.

Three graphs of different shape (power law; heterogeneous, CSV; communities with wide features) and several methods.
Each job runs in a fresh process, which plans it first. Traffic is what the process and its children asked the system to
read and write (`/proc/self/io`), memory the largest sum over the process tree, disk what files of the workspace take.
Prints measured / planned.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import generate_once, keep_lines, show

from daskgraphpart.engine.measure import measure

GRAPHS = {
    "rmat": ("--kind", "rmat", "--labels"),
    "mag": ("--kind", "mag", "--edge-format", "csv"),
    "communities": ("--kind", "communities", "--features", "512"),
}
SCALE = {"rmat": 1.0, "mag": 1.0, "communities": 0.3}  # wide rows: fewer nodes give as many bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=float, default=1e6)
    parser.add_argument("--edges", type=float, default=1e7)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--methods", default="random,ldg,kaminpar,multilevel", help="comma between them")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="comma between them")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    parser.add_argument("--job", help="internal: run this job, and tell what it did")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(run_job(**json.loads(options.job))))
        return
    rows, results = [], {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        for name in options.graphs.split(","):
            sizes = [f"{int(count * SCALE[name])}" for count in (options.nodes, options.edges)]
            sizes = ["--nodes", sizes[0], "--edges", sizes[1]]
            graph = generate_once((options.directory or Path(scratch)) / f"plan-{name}", *GRAPHS[name], *sizes)
            for method in options.methods.split(","):
                found = measured_job(graph, Path(scratch) / "out", method, options)
                results[f"{name}, {method}"] = found
                rows.append([name, method, *(f"{ratio:.3f}" for ratio in found["ratios"].values())])
    setting = {key: getattr(options, key) for key in ("nodes", "edges", "parts", "memory", "workers")}
    keep_lines("plan", setting, results)
    show(["graph", "method", "output", "moved", "traffic", "workspace", "memory", "time"], rows)


def measured_job(graph: Path, out: Path, method: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run a job in a fresh process; return what was planned and measured, and the ratios."""
    shutil.rmtree(out, ignore_errors=True)
    how = {"graph": str(graph), "out": str(out), "method": method, "num_parts": options.parts}
    how |= {"memory": options.memory, "workers": options.workers}
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
    from daskgraphpart import detect_resources, partition, plan
    from daskgraphpart.engine.progress import SilentProgress
    from daskgraphpart.planning.measured import MeasuringProgress

    resources = detect_resources(memory, workers=workers)
    foretold = plan(graph, num_parts, out_dir=out, method=method, resources=resources)
    progress, disk = MeasuringProgress(SilentProgress()), Disk(Path(out) / ".daskgraphpart-work")
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
        "passes": [asdict(of) for of in progress.passes],
    }
    return {"plan": planned, "measured": measured}


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
