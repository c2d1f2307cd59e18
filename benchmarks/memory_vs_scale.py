"""Does memory grow with the graph? The same budget for graphs of growing size.

Ten edges a node, 50 float32 features, parquet edges, 4 parts. Prints peak memory of the process tree and time an edge.
The largest run of docs/partitioners.md, which needs 40 GB of disk:
``memory_vs_scale.py --edges 5e8 --kind communities --features 2 --method multilevel --memory 4GB --runs 1``.
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
    parser.add_argument("--method", default="random")
    parser.add_argument("--kind", default="rmat")
    parser.add_argument("--features", default="50", help="of a node")
    parser.add_argument("--runs", type=int, default=3, help="the fastest counts; of several, the first only warms up")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    rows, results = [], {}
    for edges in options.edges.split(","):
        num_edges = float(edges)
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            root = Path(scratch)
            size = ("--nodes", f"{int(num_edges / 10)}", "--edges", f"{int(num_edges)}")
            graph = generate_once(root / "graph", *size, "--kind", options.kind, "--features", options.features)
            arguments = (
                "--num-parts",
                options.parts,
                "--memory",
                options.memory,
                "--method",
                options.method,
                "--quiet",
            )
            runs = []
            for _ in range(options.runs):
                shutil.rmtree(root / "out", ignore_errors=True)
                runs.append(measure(our_command("partition", str(graph), str(root / "out"), *arguments)))
            results[edges] = runs = runs[1:] or runs  # the first compiles the kernels and warms the disk
        peak, seconds = max(run.peak_bytes for run in runs), min(run.seconds for run in runs)
        rows.append(
            [f"{num_edges:.0f}", f"{peak / 1e9:.2f} GB", f"{seconds:.1f} s", f"{seconds / num_edges * 1e9:.0f} ns"]
        )
    names = ("memory", "parts", "method", "kind", "features")
    # the README's table is of random owners
    keep(
        f"memory_vs_scale{'' if options.method == 'random' else '_' + options.method}",
        {name: getattr(options, name) for name in names},
        results,
    )
    show(["edges", "peak memory", "wall time", "time an edge"], rows)


if __name__ == "__main__":
    main()
