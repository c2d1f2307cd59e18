"""PyG's `ClusterData` and ours, from the same edges and features on disk to parts on disk: CPU time, memory, cut.

`ClusterData` calls METIS through pyg-lib or torch-sparse. Where neither is installed, give a library with
torch-sparse's operator `partition` by ``--operator``. METIS takes undirected graphs, so PyG adds reverse edges first.
Both balance nodes only.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import cpu_seconds, generate_once, graph_options, keep_lines, measure, our_command, show, touch_memory

import daskgraphpart as dgp

HERE = Path(__file__).parent
NAMES = {"ClusterData": "PyG's `ClusterData` (METIS)", "ours": "daskgraphpart"}


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.set_defaults(nodes="1e6", edges="1e7", parts="8")
    parser.add_argument("--operator", default="", help="a library with torch-sparse's operator `partition`")
    options = parser.parse_args()
    sizes = ("--kind", "communities", "--edge-format", "numpy", "--features", "50")
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        graph = generate_once(root / "graph", "--nodes", options.nodes, "--edges", options.edges, *sizes)
        out, cut = root / "out", root / "cut.json"
        theirs = [sys.executable, str(HERE / "clusterdata_pyg.py"), str(graph), str(out), options.parts, str(cut)]
        ours = our_command("partition", str(graph), str(out), "--num-parts", options.parts, "--balance", "nodes")
        commands = {"ClusterData": [*theirs, options.operator], "ours": [*ours, "--quiet"]}
        results: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                shutil.rmtree(out, ignore_errors=True)
                touch_memory(1e9)
                before = cpu_seconds()
                taken = asdict(measure(command)) | {"cpu": cpu_seconds() - before}
                taken["cut"] = (
                    json.loads(cut.read_text()) if name != "ours" else dgp.open_partitions(out).quality.cut_share
                )
                results[name].append(taken)
    keep_lines("vs_clusterdata", {"nodes": options.nodes, "edges": options.edges, "parts": options.parts}, results)
    heads, *rows = table(results)
    show(heads, rows)


def table(results: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """Rows of the table; of several runs the fastest and smallest."""
    rows = [["", "CPU time", "peak memory", "edges cut"]]
    for name, runs in results.items():
        cpu, peak, cut = (min(run[key] for run in runs) for key in ("cpu", "peak_bytes", "cut"))
        rows.append([NAMES[name], f"{cpu:.0f} s", f"{peak / 1e9:.1f} GB", f"{cut:.1%}"])
    return rows


if __name__ == "__main__":
    main()
