"""Run commands in turn, each in a fresh process, and measure wall time and peak memory of the whole process tree.

Machines are noisy and shared, so commands that are compared run A B A B ... in one go, and what counts is the ratio of
each pair. Memory is the resident memory of all processes of the tree, summed, sampled twenty times a second.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from daskgraphpart.engine.measure import Measurement
from daskgraphpart.engine.measure import measure as run_measured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RESULTS = Path(__file__).parent / "results"

# where Python may not keep compiled modules, each run would compile the package, which one that is installed does not
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def graph_options(doc: str | None, runs: int) -> argparse.ArgumentParser:
    """Options of a benchmark that partitions one generated graph."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="5e6")
    parser.add_argument("--edges", default="5e7")
    parser.add_argument("--parts", default="4")
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    return parser


def measure(command: Sequence[str]) -> Measurement:
    """Run a command; fails if it does."""
    taken, code, output = run_measured(command)
    if code:
        raise SystemExit(f"{' '.join(command)} ended with {code}:\n{output[-3000:]}")
    return taken


def cpu_seconds() -> float:
    """CPU seconds, those of the system included, of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_turn(
    commands: dict[str, Sequence[str]], runs: int, before_each: Callable[[str], None] | None = None
) -> dict[str, list[Measurement]]:
    """Run all commands in turn, `runs` times."""
    results: dict[str, list[Measurement]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            if before_each is not None:
                before_each(name)
            results[name].append(measure(command))
    return results


def touch_memory(nbytes: float) -> None:
    """Write to as much memory as this, or to most of what is free, and give it back.

    On a virtual machine the first write to a page may cost more than any work on it, so each command must find the same
    state: otherwise the one that runs after a large one is measured to be faster than it is.
    """
    nbytes = int(min(nbytes, 0.8 * psutil.virtual_memory().available))
    subprocess.run([sys.executable, "-c", f"import numpy; numpy.ones({nbytes // 8})"], check=True)


def ratios(results: dict[str, list[Measurement]], ours: str, theirs: str) -> tuple[float, float, float]:
    """Smallest, median and largest ratio of wall times, pair by pair."""
    found = [a.seconds / b.seconds for a, b in zip(results[ours], results[theirs], strict=True)]
    return min(found), statistics.median(found), max(found)


def show(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(headers) + " |")
    print("|" + " --- |" * len(headers))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def keep(name: str, setting: dict[str, Any], results: dict[str, list[Measurement]]) -> None:
    """Append measurements to ``results/<name>.jsonl`` with what is needed to judge them."""
    keep_lines(name, setting, {name: [asdict(run) for run in runs] for name, runs in results.items()})


def keep_lines(name: str, setting: dict[str, Any], results: Any) -> None:
    """Append results of any kind to ``results/<name>.jsonl`` with what is needed to judge them."""
    RESULTS.mkdir(exist_ok=True)
    line = {
        **state(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in ("dask", "numba", "numpy", "pyarrow", "zarr")},
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "setting": setting,
        "results": results,
    }
    with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def state() -> dict[str, str]:
    """The commit that is measured, and the date."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    return {"commit": commit.stdout.strip(), "date": date.today().isoformat()}


def our_command(*arguments: str) -> list[str]:
    """Command line of the package under this interpreter."""
    return [sys.executable, "-m", "daskgraphpart", *arguments]


def generate_once(directory: Path, *arguments: str) -> Path:
    """Generate a graph unless it is there."""
    if not (directory / "metadata.json").is_file():
        measure(our_command("generate", str(directory), "--overwrite", "--quiet", *arguments))
    return directory
