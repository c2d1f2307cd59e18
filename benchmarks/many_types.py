"""Does time grow with the number of relations? A knowledge graph in one, 487 and 15,000 relations, `--method random`.

The edges are the same in all of them: ends drawn at random, sizes of relations by a power law, as in Freebase. What is
compared is CPU time, user and system: many small types are many small pieces of work.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from harness import keep_lines, our_command, show


def write_graph(directory: Path, num_nodes: int, num_edges: int, num_relations: int, edge_format: str) -> Path:
    """Write a chunked graph, a file for each relation."""
    import daskgraphpart as dgp

    random = np.random.default_rng(7)
    shares = 1 / np.arange(1, num_relations + 1)
    sizes = np.maximum(1, (num_edges * shares / shares.sum()).astype(np.int64))
    sizes[0] += num_edges - sizes.sum()
    src, dst = random.integers(num_nodes, size=(2, num_edges))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    edges = {
        ("entity", f"relation_{i}", "entity"): (src[first:stop], dst[first:stop])
        for i, (first, stop) in enumerate(itertools.pairwise(bounds))
    }
    dgp.chunk_graph(
        edges,
        "knowledge",
        output_path=directory,
        num_nodes={"entity": num_nodes},
        num_chunks=1,
        edges_fmt=edge_format,
    )
    return directory


def cpu_seconds(command: list[str]) -> float:
    """CPU time of a command, with that of its children."""
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="14505:236507:1,14505:236507:487,200000:2000000:15000")
    parser.add_argument("--edge-format", default="csv", choices=("csv", "numpy", "parquet"))
    parser.add_argument("--method", default="random")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    rows, found = [], {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        for case in options.cases.split(","):
            graph, out = Path(scratch, "graph"), Path(scratch, "out")
            write_graph(graph, *map(int, case.split(":")), options.edge_format)
            command = our_command(
                "partition", str(graph), str(out), "--num-parts", "4", "--method", options.method, "--quiet"
            )
            taken = []
            for _ in range(options.runs + 1):
                taken.append(cpu_seconds([*command]))
                shutil.rmtree(out)
            found[case] = taken[1:]  # the first compiles the kernels
            shutil.rmtree(graph)
            rows.append([*case.split(":"), f"{statistics.median(found[case]):.2f}"])
    keep_lines("many_types", {"format": options.edge_format, "method": options.method}, found)
    show(["nodes", "edges", "relations", "CPU s"], rows)


if __name__ == "__main__":
    main()
