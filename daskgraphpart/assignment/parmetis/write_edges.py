"""Write edges as lines for ParMETIS, self-loops and repeated edges apart; repeats are found out of core.

A repeated edge has the source and the destination of an earlier one, in the order of edge types and type-wise IDs; its
edge type does not matter. `bucket-pairs` finds repeats inside one block and sends all other edges to buckets by a hash
of both ends, so that equal pairs meet; `find-repeats` takes one bucket at a time, in the order of the edges. A bucket
holds a pair at most once per block, so pairs that are repeated ever so often, and nodes with ever so many edges, do not
make one bucket larger than others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.edge_blocks import edge_blocks
from daskgraphpart.chunked.read_block import read_checked_edges
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_by_owner, group_starts
from daskgraphpart.kernels.repeated_pairs import bucket_pairs, empty_table, mark_repeats
from daskgraphpart.sources.parmetis_text import write_lines
from daskgraphpart.storage.region import open_npy, save_npy
from daskgraphpart.storage.runs import DESTINATION, ROW, SOURCE, id_dtype, run_column, write_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import EdgeType, GraphSchema

# columns 32, once more without what is removed 32, text 80 and the same while its buffer grows; Arrow and the C library
# each keep what they have used, so half as much again
EDGE_NBYTES = 320
PAIR_NBYTES = 48  # both ends 16 + 16 while they are joined, hash table 8 to 16


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """Edges that are kept, self-loops, and repeated edges."""

    num_kept: int
    num_self_loops: int
    num_repeats: int


@dataclass(frozen=True, slots=True)
class EdgeUnit:
    """One block of edges, in the order of homogeneous edge IDs, of which `first_eid` is its first."""

    index: int
    edge_type: EdgeType
    etype_id: int
    first_eid: int
    block: Block


@dataclass(frozen=True, slots=True)
class EdgeConfig:
    """Schema, directory of temporary files, and number of buckets."""

    schema: GraphSchema
    scratch: str
    num_buckets: int

    @property
    def dtype(self) -> np.dtype:
        """Dtype of homogeneous node IDs in runs."""
        return id_dtype(self.schema.num_nodes)

    def path(self, kind: str, index: int) -> str:
        """File of a block or a bucket."""
        return f"{self.scratch}/{index}-{kind}"


@dataclass(frozen=True, slots=True)
class BucketUnit:
    """Pairs of one bucket: (block, rows of its run, first row, number of rows) for each run that has some."""

    index: int
    slices: tuple[tuple[EdgeUnit, int, int, int], ...]

    @property
    def num_pairs(self) -> int:
        """Pairs in the bucket."""
        return sum(rows for *_, rows in self.slices)


def write_edges(
    graph: ChunkedGraph, runner: Runner, scratch: Path, task_memory: int
) -> tuple[list[str], list[str], EdgeCounts]:
    """Write the lines of every block; return the files of kept and of removed edges, in order."""
    schema, most_rows = graph.schema, max(1, min(task_memory // EDGE_NBYTES, 1 << 19))
    blocks = edge_blocks(graph, most_rows, 4 * most_rows, runner)  # an edge takes at least 4 bytes of text
    config = EdgeConfig(schema, str(scratch), max(1, -(-schema.num_edges // max(1, task_memory // PAIR_NBYTES))))
    units: list[EdgeUnit] = []
    first = 0
    for etype_id, edge_type in enumerate(schema.edge_types):
        units += [
            EdgeUnit(len(units) + i, edge_type, etype_id, first + block.first_row, block)
            for i, block in enumerate(blocks[edge_type.name])
        ]
        first += edge_type.num_edges
    nbytes = [unit.block.num_rows * 16 for unit in units]
    counts = runner.run(Pass("bucket-pairs", bucket_block, units, config, nbytes))
    buckets = _buckets(units, counts, config)
    runner.run(Pass("find-repeats", find_repeats, buckets, config, [bucket.num_pairs * 16 for bucket in buckets]))
    lines = [(unit, [bucket.index for bucket in buckets]) for unit in units]
    found = runner.run(Pass("write-edges", write_block, lines, config, nbytes))
    of_all = EdgeCounts(*(sum(of_unit[i] for of_unit in found) for i in range(3)))
    kept, removed = ([config.path(kind, unit.index) for unit in units] for kind in ("kept.txt", "removed.txt"))
    return kept, removed, of_all


def _buckets(units: Sequence[EdgeUnit], counts: Sequence[np.ndarray], config: EdgeConfig) -> list[BucketUnit]:
    slices: list[list[tuple[EdgeUnit, int, int, int]]] = [[] for _ in range(config.num_buckets)]
    for unit, of_unit in zip(units, counts, strict=True):
        starts = group_starts(of_unit)
        for bucket in np.flatnonzero(of_unit).tolist():
            slices[bucket].append((unit, int(starts[-1]), int(starts[bucket]), int(of_unit[bucket])))
    # a bucket that only one block has pairs in holds no repeats
    return [BucketUnit(i, tuple(of_bucket)) for i, of_bucket in enumerate(slices) if len(of_bucket) > 1]


def bucket_block(unit: EdgeUnit, config: EdgeConfig) -> np.ndarray:
    """Write the repeats inside a block, and its other edges grouped by bucket; return how many go to each."""
    src, dst = _read_homogeneous(unit, config.schema)
    removed = (src == dst).astype(np.uint8)
    mark_repeats(src, dst, removed, empty_table(src.size))
    rows = np.flatnonzero(removed)
    save_npy(config.path("block.npy", unit.index), rows + unit.first_eid)
    rows = np.flatnonzero(removed == 0)
    src, dst = src[rows], dst[rows]
    buckets = np.empty(rows.size, np.uint32)
    bucket_pairs(src, dst, config.num_buckets, buckets)
    order, counts = group_by_owner(buckets, config.num_buckets)
    run = np.empty((3, rows.size), config.dtype)
    for column, values in ((SOURCE, src), (DESTINATION, dst), (ROW, rows)):
        run[column] = values[order]
    write_run(config.path("run.npy", unit.index), run)
    return counts


def find_repeats(unit: BucketUnit, config: EdgeConfig) -> None:
    """Write the IDs of the edges of a bucket that an earlier block has, ascending."""
    src, dst = (np.empty(unit.num_pairs, config.dtype) for _ in (SOURCE, DESTINATION))
    eids = np.empty(unit.num_pairs, np.int64)
    stop = 0
    for block, rows_in_run, first, rows in unit.slices:
        start, stop = stop, stop + rows
        path = config.path("run.npy", block.index)
        for column, values in ((SOURCE, src), (DESTINATION, dst)):
            run_column(path, config.dtype, rows_in_run, column).read_into(values[start:stop], first)
        eids[start:stop] = run_column(path, config.dtype, rows_in_run, ROW).read(first, first + rows)
        eids[start:stop] += block.first_eid
    marks = np.zeros(unit.num_pairs, np.uint8)
    mark_repeats(src, dst, marks, empty_table(unit.num_pairs))
    save_npy(config.path("bucket.npy", unit.index), eids[marks != 0])


def write_block(unit: tuple[EdgeUnit, Sequence[int]], config: EdgeConfig) -> tuple[int, int, int]:
    """Write the lines of a block; return the numbers of kept edges, self-loops and repeats."""
    edges, buckets = unit
    src, dst = _read_homogeneous(edges, config.schema)
    removed = np.zeros(src.size, np.bool_)
    for path in (config.path("block.npy", edges.index), *(config.path("bucket.npy", b) for b in buckets)):
        eids = open_npy(path)
        ends = np.searchsorted(eids.memmap(), [edges.first_eid, edges.first_eid + src.size])
        removed[eids.read(int(ends[0]), int(ends[1])) - edges.first_eid] = True
    first = edges.block.first_row
    columns = [src, dst, np.arange(first, first + src.size), np.full(src.size, edges.etype_id)]
    write_lines(config.path("removed.txt", edges.index), [column[removed] for column in columns])
    write_lines(config.path("kept.txt", edges.index), [column[~removed] for column in columns])
    num_removed, num_loops = int(np.count_nonzero(removed)), int(np.count_nonzero(src == dst))
    return src.size - num_removed, num_loops, num_removed - num_loops


def _read_homogeneous(unit: EdgeUnit, schema: GraphSchema) -> tuple[np.ndarray, np.ndarray]:
    """Read a block of edges; int64 homogeneous IDs of sources and destinations."""
    ends = schema.ntypes.index(unit.edge_type.src), schema.ntypes.index(unit.edge_type.dst)
    num_src, num_dst = (schema.node_types[i].num_nodes for i in ends)
    src, dst = read_checked_edges(unit.block, unit.edge_type, num_src, num_dst)
    return src + schema.homo_starts[ends[0]], dst + schema.homo_starts[ends[1]]
