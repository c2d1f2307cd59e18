"""Passes `bucket-pairs` and `mark-repeats`: find self-loops and repeated edges, out of core.

A repeated edge has the source and the destination of an earlier one, in the order of edge types and type-wise IDs; its
edge type does not matter. `bucket-pairs` marks what it can see in one block and sends the other edges to buckets by a
hash of both ends, so that equal pairs meet; `mark-repeats` takes one bucket at a time, in the order of the edges, and
writes its marks where `bucket-pairs` has left room for them. A bucket holds a pair at most once per block, so pairs
that are repeated ever so often, and nodes with ever so many edges, do not make one bucket larger than others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import check_ids, read_edges
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_positions, group_starts
from daskgraphpart.kernels.repeated_pairs import bucket_pairs, empty_table, mark_repeats
from daskgraphpart.storage.region import Region, create_npy, open_npy
from daskgraphpart.storage.runs import DESTINATION, HEADER_NBYTES, ROW, SOURCE, id_dtype, run_column, write_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import EdgeType, GraphSchema


@dataclass(frozen=True, slots=True)
class EdgeUnit:
    """One block of edges.

    Parameters
    ----------
    index : int
        Number of the block, in the order of edge types and edge IDs.
    edge_type : EdgeType
        Its type.
    etype_id : int
        Number of the type.
    block : Block
        Where the edges are.
    """

    index: int
    edge_type: EdgeType
    etype_id: int
    block: Block


@dataclass(frozen=True, slots=True)
class RepeatConfig:
    """What the passes share.

    Parameters
    ----------
    schema : GraphSchema
        The graph.
    scratch : str
        Directory of temporary files.
    num_buckets : int
        Number of buckets.
    """

    schema: GraphSchema
    scratch: str
    num_buckets: int

    @property
    def dtype(self) -> np.dtype:
        """Dtype of homogeneous IDs in runs."""
        return id_dtype(self.schema.num_nodes)

    def run(self, index: int) -> str:
        """Edges of a block that are not removed yet, grouped by bucket."""
        return f"{self.scratch}/{index}-pairs.npy"

    def seen(self, index: int) -> str:
        """For each edge of a block whether the block alone shows that it is removed."""
        return f"{self.scratch}/{index}-seen.npy"

    def marks(self, index: int, rows_in_run: int) -> Region:
        """For each edge of the run whether an earlier block has it."""
        path = f"{self.scratch}/{index}-marks.npy"
        # buckets times blocks of these are opened: too many headers to read
        return Region(path, HEADER_NBYTES, np.dtype(np.uint8), (rows_in_run,))


@dataclass(frozen=True, slots=True)
class BucketUnit:
    """One bucket: in which runs its pairs are, as (index of the block, rows of the run, first row, number of rows)."""

    slices: tuple[tuple[int, int, int, int], ...]

    @property
    def num_pairs(self) -> int:
        """Pairs in the bucket."""
        return sum(rows for *_, rows in self.slices)


def edge_units(schema: GraphSchema, blocks: Mapping[str, Sequence[Block]]) -> list[EdgeUnit]:
    """List the blocks of all edge types in the order of homogeneous edge IDs."""
    found = [(i, t, block) for i, t in enumerate(schema.edge_types) for block in blocks[t.name]]
    return [EdgeUnit(index, t, i, block) for index, (i, t, block) in enumerate(found)]


def mark_repeated_edges(units: Sequence[EdgeUnit], config: RepeatConfig, runner: Runner) -> None:
    """Run both passes; `removed_edges` then tells which edges of a block they have found."""
    sizes = [unit.block.num_rows * 16 for unit in units]
    counts = runner.run(Pass("bucket-pairs", bucket_block, units, config, sizes))
    slices: list[list[tuple[int, int, int, int]]] = [[] for _ in range(config.num_buckets)]
    for unit, of_unit in zip(units, counts, strict=True):
        starts = group_starts(of_unit)
        for bucket in np.flatnonzero(of_unit).tolist():
            slices[bucket].append((unit.index, int(starts[-1]), int(starts[bucket]), int(of_unit[bucket])))
    # a bucket that only one block has pairs in holds no repeats
    buckets = [BucketUnit(tuple(of_bucket)) for of_bucket in slices if len(of_bucket) > 1]
    runner.run(Pass("mark-repeats", mark_bucket, buckets, config, [b.num_pairs * 16 for b in buckets]))


def read_homogeneous_edges(unit: EdgeUnit, schema: GraphSchema) -> tuple[np.ndarray, np.ndarray]:
    """Read a block of edges; int64 homogeneous IDs of sources and destinations.

    Raises
    ------
    InputFileError
        If an end is not a node of its type.
    """
    src, dst = read_edges(unit.block)
    ends = schema.ntypes.index(unit.edge_type.src), schema.ntypes.index(unit.edge_type.dst)
    num_src, num_dst = (schema.node_types[i].num_nodes for i in ends)
    check_ids(src, dst, num_src, num_dst, unit.block, unit.edge_type)
    return src + schema.homo_starts[ends[0]], dst + schema.homo_starts[ends[1]]


def bucket_block(unit: EdgeUnit, config: RepeatConfig) -> np.ndarray:
    """Mark self-loops and repeats in a block and group its other edges by bucket; return how many go to each."""
    src, dst = read_homogeneous_edges(unit, config.schema)
    removed = (src == dst).astype(np.uint8)
    mark_repeats(src, dst, removed, empty_table(src.size))
    create_npy(config.seen(unit.index), removed.dtype, removed.shape).write(removed, 0)
    rows = np.flatnonzero(removed == 0)
    src, dst = src[rows], dst[rows]
    buckets = np.empty(rows.size, np.uint32)
    bucket_pairs(src, dst, config.num_buckets, buckets)
    counts = np.bincount(buckets, minlength=config.num_buckets)
    order = np.empty(rows.size, np.int64)
    group_positions(buckets, group_starts(counts)[:-1], order)
    run = np.empty((3, rows.size), config.dtype)
    for column, values in ((SOURCE, src), (DESTINATION, dst), (ROW, rows)):
        run[column] = values[order]
    write_run(config.run(unit.index), run)
    marks = config.marks(unit.index, rows.size)
    created = create_npy(marks.path, marks.dtype, marks.shape)
    assert created == marks, "npy headers changed their size"
    return counts


def mark_bucket(unit: BucketUnit, config: RepeatConfig) -> None:
    """Mark the pairs of a bucket that an earlier block has."""
    ends = [np.empty(unit.num_pairs, config.dtype) for _ in (SOURCE, DESTINATION)]
    stops = np.cumsum([rows for *_, rows in unit.slices])
    for (index, rows_in_run, start, rows), stop in zip(unit.slices, stops, strict=True):
        for column, end in enumerate(ends):
            run_column(config.run(index), config.dtype, rows_in_run, column).read_into(end[stop - rows : stop], start)
    marks = np.zeros(unit.num_pairs, np.uint8)
    mark_repeats(*ends, marks, empty_table(unit.num_pairs))
    for (index, rows_in_run, start, rows), stop in zip(unit.slices, stops, strict=True):
        config.marks(index, rows_in_run).write(marks[stop - rows : stop], start)


def removed_edges(unit: EdgeUnit, config: RepeatConfig) -> np.ndarray:
    """Which edges of a block are self-loops or repeats, bool (rows,)."""
    removed = open_npy(config.seen(unit.index)).read()
    marks = config.marks(unit.index, int(np.count_nonzero(removed == 0))).read()
    rows = run_column(config.run(unit.index), config.dtype, marks.size, ROW).read()
    removed[rows[marks != 0]] = 1
    found: np.ndarray = removed != 0
    return found
