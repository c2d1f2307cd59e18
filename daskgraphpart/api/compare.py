"""Several methods side by side on one graph, each in a fresh process."""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.assignment.options import METHODS, AssignOptions
from daskgraphpart.assignment.pipeline import check_method
from daskgraphpart.chunked.graph import read_chunked
from daskgraphpart.engine.measure import measure
from daskgraphpart.errors import OptionError
from daskgraphpart.tables import text_table
from daskgraphpart.units import format_seconds, format_size

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from daskgraphpart.engine.resources import Resources

HEADERS = ("parts", "method", "edge cut", "nodes", "edges", "replication", "time", "peak memory", "")


@dataclass(frozen=True, slots=True)
class Compared:
    """One method with one number of parts."""

    method: str  # as asked for
    num_parts: int
    used: str = ""  # what was used in the end
    cut_share: float = 0.0  # share of edges that are cut; nodes with copies of foreign neighbours over nodes
    replication_factor: float = 0.0
    balances: dict[str, float] | None = None  # for each constraint the weight of the heaviest part over the average
    seconds: float = 0.0  # wall time of the whole process
    peak_bytes: int = 0  # peak memory of its process tree
    fault: str = ""  # what went wrong, if anything did


def compare(
    graph: str | os.PathLike[str],
    parts: Sequence[int] = (4, 8, 64),
    methods: Sequence[str] = METHODS,
    *,
    options: AssignOptions | None = None,
    resources: Resources | None = None,
    on_done: Callable[[Compared], None] | None = None,
) -> list[Compared]:
    """Compare methods: cut, balance, replication factor, seconds and peak memory.

    Parameters
    ----------
    graph : path
        Directory of a chunked graph.
    parts : sequence of int
        Numbers of parts.
    methods : sequence of str
        Methods, or directories of owners.
    options : AssignOptions, optional
        What is balanced and so on; its method is not looked at.
    resources : Resources, optional
        What each run may use. Default: all processors, half of the memory.
    on_done : callable, optional
        Called with each result.

    Returns
    -------
    list of Compared
        By number of parts, then method. A method that fails is listed with its fault.

    Raises
    ------
    OptionError
        If there is nothing to compare.
    InputFileNotFoundError, MetadataError
        If there is no such graph.
    """
    if not parts or not methods or min(parts) < 1:
        raise OptionError("nothing to compare", place="--parts, --methods", found=f"{list(parts)}, {list(methods)}")
    read_chunked(graph)  # a bad path, or method, is one error and not one per run
    for method in methods:
        check_method(AssignOptions(method))
    flags, results = _flags(options, resources), []
    for num_parts in parts:
        for method in methods:
            results.append(_run(graph, num_parts, method, flags))
            if on_done is not None:
                on_done(results[-1])
    return results


def _flags(options: AssignOptions | None, resources: Resources | None) -> list[str]:
    """Options of the command `assign` that say the same."""
    given = {field.name: getattr(options, field.name) for field in fields(AssignOptions)} if options else {}
    given.pop("method", None)
    if resources is not None:
        given |= {name: getattr(resources, name) for name in ("memory", "workers", "workspace")}
        if isinstance(resources.cluster, str):  # no process gets hold of the client of another
            given["cluster"] = resources.cluster
    flags: list[str] = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            flags.append(flag)
        elif value is not None and value is not False:
            flags += [flag, ",".join(value) if isinstance(value, tuple) else str(value)]
    return flags


def _run(graph: str | os.PathLike[str], num_parts: int, method: str, flags: Sequence[str]) -> Compared:
    with tempfile.TemporaryDirectory(prefix="daskgraphpart-compare-") as scratch:
        report = Path(scratch) / "report.json"
        command = [
            *(sys.executable, "-m", "daskgraphpart"),
            *("assign", str(graph), f"{scratch}/owners", "--quiet"),
            *("--num-parts", str(num_parts), "--method", method, "--report", str(report), *flags),
        ]
        taken, code, output = measure(command)
        if code != 0 or not report.is_file():
            lines = [line for line in output.splitlines() if line.startswith("error: ")] or output.splitlines()[-1:]
            fault = (lines[0] if lines else f"exit code {code}").removeprefix("error: ")
            return Compared(method, num_parts, seconds=taken.seconds, peak_bytes=taken.peak_bytes, fault=fault)
        found = json.loads(report.read_text(encoding="utf-8"))
    return Compared(
        method,
        num_parts,
        found["method"],
        found["cut_share"],
        found["replication_factor"],
        {balance["name"]: balance["ratio"] for balance in found["balances"]},
        taken.seconds,
        taken.peak_bytes,
    )


def comparison_table(results: Sequence[Compared]) -> str:
    """Lay out results as text."""
    rows = []
    for result in results:
        balances = result.balances or {}
        cells = [str(result.num_parts), result.method]
        if result.fault:
            cells += [""] * (len(HEADERS) - 3) + [result.fault]
        else:
            cells += [f"{result.cut_share:.2%}", f"{balances['nodes']:.3f}", f"{balances['edges']:.3f}"]
            cells += [f"{result.replication_factor:.2f}", format_seconds(result.seconds)]
            cells += [format_size(result.peak_bytes), result.used if result.used != result.method else ""]
        rows.append(cells)
    return text_table(HEADERS, rows, align="><>>>>>><")


def write_comparison(results: Sequence[Compared], path: str | os.PathLike[str]) -> None:
    """Write results as CSV, a line per method and number of parts."""
    names = sorted({name for result in results for name in result.balances or {}})
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["parts", "method", "used", "cut_share", "replication_factor", "seconds", "peak_bytes"]
            + [f"balance of {name}" for name in names]
            + ["fault"]
        )
        for r in results:
            balances = [(r.balances or {}).get(name, "") for name in names]
            row = [r.num_parts, r.method, r.used, r.cut_share, r.replication_factor, r.seconds, r.peak_bytes]
            writer.writerow([*row, *balances, r.fault])


def plot_comparison(results: Sequence[Compared], path: str | os.PathLike[str]) -> None:
    """Draw cut, balance of edges, time and memory by number of parts, to a PNG, SVG or PDF file."""
    from daskgraphpart.reporting.plots import draw_lines

    good = [r for r in results if not r.fault]
    panels: list[tuple[str, Callable[[Compared], float]]] = [
        ("edge cut, share of edges", lambda r: r.cut_share),
        ("edges of the largest part / average", lambda r: (r.balances or {})["edges"]),
        ("seconds", lambda r: r.seconds),
        ("peak memory, GB", lambda r: r.peak_bytes / 1e9),
    ]
    lines = {
        title: {
            method: [(r.num_parts, value(r)) for r in good if r.method == method]
            for method in dict.fromkeys(r.method for r in good)
        }
        for title, value in panels
    }
    draw_lines(lines, "number of parts", path)
