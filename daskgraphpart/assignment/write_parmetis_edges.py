"""Write edges as lines for ParMETIS, self-loops and repeated edges apart; repeats are found out of core.

A repeated edge has the source and the destination of an earlier one, in the order of edge types and type-wise IDs; its
edge type does not matter. `bucket-pairs` finds repeats inside one partition and sends all other edges to buckets by a
hash of both ends, so that equal pairs meet; `find-repeats` takes one bucket at a time, in the order of the edges. A
bucket holds a pair at most once per partition, so pairs that are repeated ever so often, and nodes with ever so many
edges, do not make one bucket larger than others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.partitions import edge_partitions
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_by_owner, group_starts
from daskgraphpart.kernels.repeated_pairs import bucket_pairs, empty_table, mark_repeats
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import open_npy, save_npy
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.chunked.partitions import Edges, RowRange
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import EdgeType, GraphSchema

# columns 32, once more without what is removed 32, text 80 and the same while its buffer grows; Arrow and the C library
# each keep what they have used, so half as much again
EDGE_NBYTES = 320
PAIR_NBYTES = 96  # rows 24 as read, joined and by column, hash table 8 to 16


@dataclass(frozen=True, slots=True)
class EdgeUnit:
    """One partition of edges, whose first has the homogeneous ID `first_eid`."""

    edge_type: EdgeType
    rows: RowRange
    first_eid: int


@dataclass(frozen=True, slots=True)
class EdgeConfig:
    """Schema, directory of temporary files, and number of buckets."""

    schema: GraphSchema
    scratch: str
    num_buckets: int

    def path(self, unit: EdgeUnit, kind: str) -> str:
        """File of a partition."""
        return f"{self.scratch}/{unit.first_eid}-{kind}"

    def bucket(self, number: int) -> str:
        """File of the repeats in a bucket."""
        return f"{self.scratch}/bucket-{number}.npy"


Bucket = tuple[int, list[tuple[EdgeUnit, int, int]]]
"""A number, and for each run with pairs of the bucket: whose it is, first row, row after the last."""


def write_edges(
    graph: ChunkedGraph, runner: Runner, scratch: str, task_memory: int
) -> tuple[list[str], list[str], list[int]]:
    """Write the lines of all edges.

    Return the files of kept and of removed edges, in order, and the numbers of kept edges, self-loops and repeats.
    """
    schema, max_rows = graph.schema, max(1, min(task_memory // EDGE_NBYTES, 1 << 19))
    config = EdgeConfig(schema, scratch, max(1, -(-schema.num_edges // max(1, task_memory // PAIR_NBYTES))))
    partitions = edge_partitions(graph, max_rows, 4 * max_rows, runner)  # an edge takes at least 4 bytes of text
    starts = accumulate((edge_type.num_edges for edge_type in schema.edge_types), initial=0)
    first_eids = dict(zip(schema.etypes, starts, strict=False))
    units = [EdgeUnit(t, p.rows, first_eids[t.name] + p.rows.first_row) for t, p in partitions]
    values, types = [partition.value for _, partition in partitions], [unit.edge_type.name for unit in units]
    nbytes = [unit.rows.num_rows * 16 for unit in units]
    counts = runner.run(
        Pass("bucket-pairs", bucket_partition, units, config, nbytes, partitions=values, unit_types=types)
    )
    buckets = _buckets(units, counts, config.num_buckets)
    sizes = [sum(stop - start for _, start, stop in slices) * 16 for _, slices in buckets]
    runner.run(Pass("find-repeats", find_repeats, buckets, config, sizes))
    lines = [(unit, [number for number, _ in buckets]) for unit in units]
    found = runner.run(Pass("write-edges", write_partition, lines, config, nbytes, partitions=values, unit_types=types))
    kept, removed = ([config.path(unit, kind) for unit in units] for kind in ("kept.txt", "removed.txt"))
    return kept, removed, [sum(of_unit[i] for of_unit in found) for i in range(3)]


def _buckets(units: Sequence[EdgeUnit], counts: Sequence[np.ndarray], num_buckets: int) -> list[Bucket]:
    """List the buckets that may hold repeats: those that several partitions have pairs in."""
    buckets: list[Bucket] = [(number, []) for number in range(num_buckets)]
    for unit, of_unit in zip(units, counts, strict=True):
        starts = group_starts(of_unit).tolist()
        for number in np.flatnonzero(of_unit).tolist():
            buckets[number][1].append((unit, starts[number], starts[number + 1]))
    return [bucket for bucket in buckets if len(bucket[1]) > 1]


def bucket_partition(edges: Edges, unit: EdgeUnit, config: EdgeConfig) -> np.ndarray:
    """Write the repeats inside a partition, and its other edges grouped by bucket; return how many go to each."""
    src, dst = _homogeneous(edges, unit, config.schema)
    removed = (src == dst).astype(np.uint8)
    mark_repeats(src, dst, removed, empty_table(src.size))
    save_npy(config.path(unit, "repeats.npy"), np.flatnonzero(removed) + unit.first_eid)
    rows = np.flatnonzero(removed == 0)
    src, dst = src[rows], dst[rows]
    buckets = np.empty(rows.size, np.uint32)
    bucket_pairs(src, dst, config.num_buckets, buckets)
    order, counts = group_by_owner(buckets, config.num_buckets)
    run = np.empty((rows.size, 3), id_dtype(config.schema.num_nodes))
    for column, values in enumerate((src, dst, rows)):
        run[:, column] = values[order]
    save_npy(config.path(unit, "run.npy"), run)
    return counts


def find_repeats(unit: Bucket, config: EdgeConfig) -> None:
    """Write the IDs of the edges of a bucket that an earlier partition has, ascending."""
    number, slices = unit
    pieces = [open_npy(config.path(part, "run.npy")).read(start, stop) for part, start, stop in slices]
    src, dst, rows = np.concatenate(pieces).T.copy()
    eids = rows + np.repeat([part.first_eid for part, _, _ in slices], [len(piece) for piece in pieces])
    marks = np.zeros(rows.size, np.uint8)
    mark_repeats(src, dst, marks, empty_table(rows.size))
    save_npy(config.bucket(number), eids[marks != 0])


def write_partition(edges: Edges, unit: tuple[EdgeUnit, Sequence[int]], config: EdgeConfig) -> tuple[int, int, int]:
    """Write the lines of a partition; return the numbers of kept edges, self-loops and repeats."""
    part, buckets = unit
    src, dst = _homogeneous(edges, part, config.schema)
    removed = np.zeros(src.size, np.bool_)
    for path in (config.path(part, "repeats.npy"), *map(config.bucket, buckets)):
        eids = open_npy(path)
        start, stop = np.searchsorted(eids.memmap(), [part.first_eid, part.first_eid + src.size]).tolist()
        removed[eids.read(start, stop) - part.first_eid] = True
    etype_id, first = config.schema.etypes.index(part.edge_type.name), part.rows.first_row
    columns = [src, dst, np.arange(first, first + src.size), np.full(src.size, etype_id)]
    write_lines(config.path(part, "removed.txt"), [column[removed] for column in columns])
    write_lines(config.path(part, "kept.txt"), [column[~removed] for column in columns])
    num_removed, num_loops = int(np.count_nonzero(removed)), int(np.count_nonzero(src == dst))
    return src.size - num_removed, num_loops, num_removed - num_loops


def _homogeneous(edges: Edges, unit: EdgeUnit, schema: GraphSchema) -> tuple[np.ndarray, np.ndarray]:
    """Homogeneous IDs of sources and destinations, int64."""
    src, dst = edges
    unit.rows.check(src.size)
    ends = (schema.ntypes.index(ntype) for ntype in (unit.edge_type.src, unit.edge_type.dst))
    first_src, first_dst = (schema.homo_starts[ntype_id] for ntype_id in ends)
    return src + first_src, dst + first_dst


def write_lines(path: str, columns: Sequence[np.ndarray]) -> None:
    """Write rows of integers: a space between columns, a newline behind each row."""
    import pyarrow as pa
    from pyarrow import csv

    # measured: 150 MB/s on one core, without the GIL
    table = pa.table({str(number): np.ascontiguousarray(column) for number, column in enumerate(columns)})
    with attach_path_to_error(path), open(path, "wb") as file:
        csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=" "))
