"""Does memory grow with the graph? The same budget for graphs of growing size.

Ten edges a node, 50 float32 features, parquet edges, 4 parts. Prints peak memory of the process tree and time an edge.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from harness import generate_once, keep, measure, our_command, show


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", default="1e7,4e7,16e7", help="comma between the sizes")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--parts", default="4")
    parser.add_argument("--runs", type=int, default=2, help="the faster one counts")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    rows, results = [], {}
    for edges in options.edges.split(","):
        num_edges = float(edges)
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            root = Path(scratch)
            graph = generate_once(root / "graph", "--nodes", f"{int(num_edges / 10)}", "--edges", f"{int(num_edges)}")
            runs = []
            for _ in range(options.runs + 1):
                shutil.rmtree(root / "out", ignore_errors=True)
                arguments = ("--num-parts", options.parts, "--memory", options.memory, "--method", "random", "--quiet")
                runs.append(measure(our_command("partition", str(graph), str(root / "out"), *arguments)))
            results[edges] = runs[1:]  # the first compiles the kernels and warms the disk
        peak, seconds = max(run.peak_bytes for run in runs), min(run.seconds for run in runs[1:])
        rows.append(
            [f"{num_edges:.0f}", f"{peak / 1e9:.2f} GB", f"{seconds:.1f} s", f"{seconds / num_edges * 1e9:.0f} ns"]
        )
    keep("memory_vs_scale", {"memory": options.memory, "parts": options.parts}, results)
    show(["edges", "peak memory", "wall time", "time an edge"], rows)


if __name__ == "__main__":
    main()
