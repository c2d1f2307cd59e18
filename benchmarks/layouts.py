"""What each layout costs, alone and as the second of a run, beside the layout of DGL: CPU seconds, wall time, memory.

All write the same partitions of the same graph, with the same random owners; `ondisk` has one part, and is compared
with one part of DGL's. CPU seconds are those of the whole process tree, system time included.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median

from harness import cpu_seconds, generate_once, graph_options, keep_lines, measure, our_command, show, touch_memory

ONE_PART = ("ondisk",)


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.add_argument("--layouts", default="graphbolt,graphstorm,ranks,parquet,ondisk")
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        graph, out = Path(scratch) / "graph", Path(scratch) / "out"
        generate_once(graph, "--nodes", options.nodes, "--edges", options.edges, "--edge-format", "numpy")
        layouts = options.layouts.split(",")
        cases = [("dgl", options.parts), *((name, options.parts) for name in layouts if name not in ONE_PART)]
        cases += [(f"dgl,{name}", options.parts) for name in layouts if name not in ONE_PART]
        if set(ONE_PART) & set(layouts):
            cases += [("dgl", "1"), *((name, "1") for name in ONE_PART), *((f"dgl,{name}", "1") for name in ONE_PART)]
        for number in range(options.runs + 1):
            touch_memory(120 * float(options.edges))
            for layout, parts in cases if number else cases[:1]:  # the first compiles the kernels
                shutil.rmtree(out, ignore_errors=True)
                before = cpu_seconds()
                how = ("--num-parts", parts, "--method", "random", "--layout", layout, "--quiet")
                taken = measure(our_command("partition", str(graph), str(out), *how))
                if number:
                    name = layout if parts == options.parts else f"{layout} (1 part)"
                    found.setdefault(name, []).append({**asdict(taken), "cpu_seconds": cpu_seconds() - before})
    setting = {"nodes": options.nodes, "edges": options.edges, "parts": options.parts}
    keep_lines("layouts", setting, found)
    headers, *rows = table(found)
    show(headers, rows)


def table(found: dict[str, list[dict[str, float]]]) -> list[list[str]]:
    """Medians of all layouts alone, and the CPU time that each adds to a run that writes that of DGL."""
    rows = [["layout", "CPU time", "of that of dgl", "beside dgl, more", "wall time", "peak memory"]]
    for name, runs in found.items():
        layout, parts = name.split()[0], name[len(name.split()[0]) :]
        if "," not in layout:
            dgl = [run["cpu_seconds"] for run in found[f"dgl{parts}"]]
            shares = [run["cpu_seconds"] / of_dgl for run, of_dgl in zip(runs, dgl, strict=True)]
            both = found.get(f"dgl,{layout}{parts}", [])
            added = [run["cpu_seconds"] / of_dgl - 1 for run, of_dgl in zip(both, dgl, strict=False)]
            cpu, seconds = (median(run[key] for run in runs) for key in ("cpu_seconds", "seconds"))
            peak = max(run["peak_bytes"] for run in runs) / 1e9
            shown = f"{median(added):.0%}" if added else ""
            rows.append([name, f"{cpu:.1f} s", f"{median(shares):.0%}", shown, f"{seconds:.1f} s", f"{peak:.2f} GB"])
    return rows


if __name__ == "__main__":
    main()
