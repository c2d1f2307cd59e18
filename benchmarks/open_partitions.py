"""Opening partitions of a gigabyte: time and memory after the import, and what of the files is read.

Each run is a process of its own. It opens the partitions and looks at sizes and types (open), then reads a random row
of a feature (row), and, to compare with, loads one part as DGL does (load).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import generate_once, keep_lines, measure, our_command, show

CHILD = """
import json, sys, time
import daskgraphpart as dgp
import numpy, torch
from daskgraphpart.partitioned.partitioned_graph import open_partitions  # the import of the package itself is lazy

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def was_read():
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])

started, memory, read = time.perf_counter(), resident(), was_read()
graph = open_partitions(sys.argv[1])
str(graph), [part.num_halo_nodes for part in graph.parts], graph.num_nodes("_N"), list(graph.nodes["_N"].data)
opened = time.perf_counter()
row = graph.nodes["_N"].data["feat"][[int(sys.argv[2])]]
done, memory_done, read_done = time.perf_counter(), resident(), was_read()
assert row.shape[0] == 1
dgp.load_partition(sys.argv[1], 0)
print(json.dumps({
    "open_seconds": opened - started, "row_seconds": done - opened, "open_and_row_bytes": memory_done - memory,
    "open_and_row_read_bytes": read_done - read, "load_seconds": time.perf_counter() - done,
    "load_bytes": resident() - memory_done,
}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="2e6")
    parser.add_argument("--edges", default="1e7")
    parser.add_argument("--features", default="100")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        sizes = ("--nodes", options.nodes, "--edges", options.edges, "--features", options.features)
        graph, out = generate_once(root / "graph", *sizes), root / "out"
        measure(our_command("partition", str(graph), str(out), "--num-parts", "4", "--method", "random", "--quiet"))
        nbytes = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        runs = []
        for number in range(options.runs):
            row = str(int(float(options.nodes)) * (2 * number + 1) // (2 * options.runs))
            done = subprocess.run(
                [sys.executable, "-c", CHILD, str(out), row], capture_output=True, text=True, check=True
            )
            runs.append(json.loads(done.stdout))
    keep_lines("open_partitions", {"nodes": options.nodes, "edges": options.edges, "bytes": nbytes}, runs)
    middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    show(
        ["partitions on disk", "open", "a random row", "memory of both", "read by both", "load one part of four"],
        [[
            f"{nbytes / 1e9:.2f} GB", f"{middle['open_seconds']:.3f} s", f"{1e3 * middle['row_seconds']:.1f} ms",
            f"{middle['open_and_row_bytes'] / 1e6:.0f} MB", f"{middle['open_and_row_read_bytes'] / 1e3:.0f} kB",
            f"{middle['load_seconds']:.2f} s, {middle['load_bytes'] / 1e6:.0f} MB",
        ]],
    )  # fmt: skip


if __name__ == "__main__":
    main()
