"""The same graph and assignment: `dgl.distributed.partition_graph` in its environment against ours.

Prints wall time and peak memory of the process tree. DGL is given edges as npy files, which it maps into memory, and
the very owners that ours writes; its distributed pipeline is not in its wheels and is not run here.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from harness import generate_once, graph_options, in_turn, keep, measure, our_command, ratios, show, touch_memory

HERE = Path(__file__).parent


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.add_argument("--dgl-python", default=str(HERE.parent / ".venv-dgl-2.1.0" / "bin" / "python"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        sizes = ("--nodes", options.nodes, "--edges", options.edges)
        graph = generate_once(root / "graph", *sizes, "--edge-format", "numpy")
        owners, ours, theirs = root / "owners", root / "ours", root / "theirs"
        measure(
            our_command(
                "assign", str(graph), str(owners), "--num-parts", options.parts, "--method", "random", "--quiet"
            )
        )
        partition = our_command(
            *("partition", str(graph), str(ours), "--num-parts", options.parts, "--quiet"),
            *("--method", str(owners), "--out-edges"),
        )
        measure(partition)  # compiles the kernels

        def clear(_: str) -> None:
            for directory in (ours, theirs):
                shutil.rmtree(directory, ignore_errors=True)
            touch_memory(350 * float(options.edges))

        script = str(HERE / "dgl_partition_graph.py")
        commands = {
            "ours": partition,
            "dgl.distributed.partition_graph": [options.dgl_python, script, str(graph), str(owners), str(theirs)],
        }
        results = in_turn(commands, options.runs, clear)
    keep("vs_dgl", {"nodes": options.nodes, "edges": options.edges, "parts": options.parts}, results)
    rows = [
        [
            name,
            f"{statistics.median(run.seconds for run in runs):.1f} s",
            f"{max(run.peak_bytes for run in runs) / 1e9:.2f} GB",
            f"{1 / ratios(results, 'ours', name)[1]:.1f}",
        ]
        for name, runs in results.items()
    ]
    show(["what", "median wall time", "peak memory", "times ours"], rows)


if __name__ == "__main__":
    main()
