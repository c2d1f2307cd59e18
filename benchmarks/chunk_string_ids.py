"""String IDs to dense ones: CPU time and memory of `build --map-ids`, and of DuckDB alone, within one budget.

The input is text, two fields of ``user-<16 hexadecimal digits>`` in a line; there are a quarter as many users as edges,
some of them in far more edges than others. Afterwards every edge is looked up: the map must give back both of its
original IDs, in the order of the input.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from harness import cpu_seconds, keep_lines, measure, our_command, show

from daskgraphpart import read_chunked, read_id_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EDGES_AT_ONCE = 1 << 20
PREFIX = b"user-"
WIDTH = len(PREFIX) + 16
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
DUCKDB = """
import sys, duckdb
text, out, memory, threads = sys.argv[1:]
database = duckdb.connect(config={"memory_limit": memory, "threads": int(threads), "temp_directory": out})
database.execute(
    "CREATE TABLE edges AS SELECT row_number() OVER () AS row, src, dst FROM "
    f"read_csv('{text}', delim='\\t', header=false, columns={{'src': 'VARCHAR', 'dst': 'VARCHAR'}})"
)
every = "SELECT src AS id FROM edges UNION ALL SELECT dst FROM edges"
rank = "row_number() OVER (ORDER BY id) - 1 AS new_id"
database.execute(f"CREATE TABLE ids AS SELECT {rank}, id FROM (SELECT DISTINCT id FROM ({every}))")
database.execute(f"COPY (SELECT id FROM ids ORDER BY new_id) TO '{out}/ids.parquet'")
both = "edges JOIN ids s ON src = s.id JOIN ids d ON dst = d.id ORDER BY row"
database.execute(f"COPY (SELECT s.new_id AS src, d.new_id AS dst FROM {both}) TO '{out}/edges.parquet'")
"""
"""Writes the same map and edges."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", default="1e7", help="comma between the sizes")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    rows, results = [], {}
    for size in options.edges.split(","):
        num_edges = int(float(size))
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            root = Path(scratch)
            command = our_command(
                "build", str(root / "graph"), "--edges", str(root / "edges.tsv"), "--map-ids", "--quiet",
                "--memory", options.memory, "--workers", options.workers, "--overwrite",
            )  # fmt: skip
            write_edges(root / "edges.tsv", min(num_edges, 1000))
            measure(command)  # compiles the kernels
            shutil.rmtree(root / "graph")
            write_edges(root / "edges.tsv", num_edges)
            ours = taken(command)
            num_nodes = check(root / "graph", num_edges)
            (root / "duckdb").mkdir()
            places = (str(root / "edges.tsv"), str(root / "duckdb"))
            duckdb = taken([sys.executable, "-c", DUCKDB, *places, options.memory, options.workers])
            nbytes = (root / "edges.tsv").stat().st_size
        results[size] = {"ours": ours, "DuckDB alone": duckdb}
        costs = [f"{run['cpu']:.1f} s, {run['peak_bytes'] / 1e9:.2f} GB" for run in (ours, duckdb)]
        rows.append([f"{num_edges:,}", f"{num_nodes:,}", f"{nbytes / 1e9:.2f} GB", *costs, "all restored"])
    keep_lines("chunk_string_ids", {"memory": options.memory, "workers": options.workers}, results)
    show(["edges", "nodes", "text", "CPU time, peak", "of DuckDB alone", "original IDs"], rows)


def taken(command: Sequence[str]) -> dict[str, float]:
    """What a command takes."""
    before = cpu_seconds()
    run = measure(command)
    return {"cpu": cpu_seconds() - before, "seconds": run.seconds, "peak_bytes": run.peak_bytes}


def blocks(num_edges: int) -> Iterator[np.ndarray]:
    """IDs of sources and destinations, uint8 (edges, 2, `WIDTH`), block by block."""
    for start in range(0, num_edges, EDGES_AT_ONCE):
        count = min(EDGES_AT_ONCE, num_edges - start)
        rng = np.random.default_rng([start, num_edges])
        users = (rng.random((count, 2)) ** 2 * max(1, num_edges // 4)).astype(np.uint64)
        users = (users + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)  # odd, so that users stay different
        ids = np.empty((count, 2, WIDTH), np.uint8)
        ids[..., : len(PREFIX)] = np.frombuffer(PREFIX, np.uint8)
        for digit in range(16):
            ids[..., len(PREFIX) + digit] = DIGITS[users >> np.uint64(60 - 4 * digit) & np.uint64(15)]
        yield ids


def write_edges(path: Path, num_edges: int) -> None:
    """Write the text."""
    with path.open("wb") as file:
        for ids in blocks(num_edges):
            lines = np.empty((len(ids), 2, WIDTH + 1), np.uint8)
            lines[..., :WIDTH] = ids
            lines[:, 0, WIDTH], lines[:, 1, WIDTH] = ord("\t"), ord("\n")
            file.write(lines.data)


def check(graph: Path, num_edges: int) -> int:
    """Look up every edge; the number of nodes."""
    known = read_id_map(graph, "_N")["id"].compute(scheduler="sync").to_numpy().astype(f"S{WIDTH}")
    assert (known[1:] > known[:-1]).all(), "IDs are out of order"
    is_used = np.zeros(len(known), np.bool_)
    edges = read_chunked(graph).edges["_N:_E:_N"]
    rest = np.empty((0, 2), np.int64)
    pieces = iter(edges.partitions[i].compute(scheduler="sync").to_numpy() for i in range(edges.npartitions))
    for ids in blocks(num_edges):
        while len(rest) < len(ids):
            rest = np.concatenate([rest, next(pieces)])
        here, rest = rest[: len(ids)], rest[len(ids) :]
        expected = ids.reshape(-1, WIDTH).view(f"S{WIDTH}").reshape(-1, 2)
        assert (known[here] == expected).all(), "an original ID is not restored"
        is_used[here] = True
    assert sum(map(len, [rest, *pieces])) == 0, "there are more edges"
    assert is_used.all(), "a node has no edges"
    return len(known)


if __name__ == "__main__":
    main()
