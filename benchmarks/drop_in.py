"""The whole job of DGL's users: `partition_graph` on a `DGLGraph` in memory, by DGL 2.1 with METIS and by ours.

Three constraints: nodes inside and outside a mask of a tenth of them (`balance_ntypes`), and edges (`balance_edges`).
Prints CPU time of the call, peak memory of the process tree beside what the process held before the call, the cut, and
the largest part. Both run in DGL's environment; what that lacks of ours is found in this one, after its own packages.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sysconfig
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import generate_once, graph_options, keep_lines, measure, show, touch_memory

import daskgraphpart

HERE = Path(__file__).parent
RUNS = {
    'DGL, `"metis"`': ("dgl", "metis"),
    'ours, `"metis"`': ("ours", "metis"),
    'ours, `"auto"`': ("ours", "auto"),
}


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.set_defaults(nodes="1e6", edges="1e7", parts="8")
    parser.add_argument("--dgl-python", default=str(HERE.parent / ".venv-dgl-2.1.0" / "bin" / "python"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        use_both_environments(root)
        sizes = ("--kind", "communities", "--edge-format", "numpy")
        graph = generate_once(root / "graph", "--nodes", options.nodes, "--edges", options.edges, *sizes)
        small = generate_once(root / "small", "--nodes", "2e3", "--edges", "2e4", *sizes)
        call(small, root, options, "ours", "auto")  # compiles the kernels
        results: dict[str, list[dict[str, Any]]] = {name: [] for name in RUNS}
        for _ in range(options.runs):
            for name, (whose, method) in RUNS.items():
                touch_memory(400 * float(options.edges))
                results[name].append(call(graph, root, options, whose, method))
                print(name, results[name][-1], flush=True)
    keep_lines("drop_in", {"nodes": options.nodes, "edges": options.edges, "parts": options.parts}, results)
    heads, *rows = table(results)
    show(heads, rows)


def use_both_environments(root: Path) -> None:
    """Have every Python below this process look for packages here, too, but first in its own environment."""
    (root / "site").mkdir()
    paths = [str(Path(daskgraphpart.__file__).parent.parent), sysconfig.get_path("purelib")]
    (root / "site" / "sitecustomize.py").write_text(f"import sys\nsys.path += {paths}\n", encoding="utf-8")
    os.environ["PYTHONPATH"] = str(root / "site")


def call(graph: Path, root: Path, options: Any, whose: str, method: str) -> dict[str, Any]:
    """Run one call in a fresh process."""
    out, report = root / "out", root / "report.json"
    shutil.rmtree(out, ignore_errors=True)
    command = [options.dgl_python, str(HERE / "dgl_drop_in.py"), str(graph), str(out), options.parts, whose, method]
    taken = measure([*command, str(report)])
    return {**asdict(taken), **json.loads(report.read_text(encoding="utf-8"))}


def table(results: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """Rows of the table: medians; the largest part is that of any constraint, over its share."""
    rows = [
        [
            "`partition_graph` of a `DGLGraph`",
            "CPU time",
            "peak memory",
            "edges cut",
            "largest part",
            "memory of the input",
        ]
    ]
    for name, runs in results.items():
        cpu, cut = (statistics.median(run[key] for run in runs) for key in ("cpu", "cut"))
        peak, before = (max(run[key] for run in runs) / 1e9 for key in ("peak_bytes", "before"))
        largest = max(max(run["balances"]) for run in runs)
        rows.append([name, f"{cpu:.0f} s", f"{peak:.1f} GB", f"{cut:.1%}", f"{largest:.2f}", f"{before:.1f} GB"])
    return rows


if __name__ == "__main__":
    main()
