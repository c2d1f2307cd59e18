"""Pass `bucket-edges`: every edge goes to the owner of its destination node; three passes if node maps exceed memory.

Takes one block, or several small consecutive ones, looks up owner and new IDs of both ends, groups the edges stably by
owner and writes one run. Original order stays inside each owner, so new edge IDs follow from the counts alone (see
edge_runs.py). `Assignment.with_owners` shows the same join as frames.

The three passes avoid random I/O: `split-ends` groups both ends of each block's edges by ID range; `resolve-ends` takes
one range of a node type at a time, whose slice of the map fits into memory; `merge-ends` restores each block's order
and writes the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.edge_runs import EdgeRunIndex, starts_in_run
from daskgraphpart.dispatching.make_files import wanted_arrays
from daskgraphpart.engine.runner import ConfigT, Pass, ResultT, Runner, Unit, share_tasks
from daskgraphpart.graph.dask_partitions import list_edge_blocks
from daskgraphpart.kernels.owner_sort import group_by_owner, group_starts, look_up_owners, scatter_edges
from daskgraphpart.partitioner.assignment import owner_dtype
from daskgraphpart.storage.region import Region, create_files, npy_region, open_npy, save_npy

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.nodes import NumberedNodes
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.schema import EdgeType
    from daskgraphpart.source import Block, Edges

SMALL_ROWS = 1 << 16
"""Edges of several blocks that share a run."""


def bucket_all_edges(job: Job, nodes: NumberedNodes) -> tuple[EdgeRunIndex, Mapping[str, Region]]:
    """Write all blocks of edges as runs, in one pass or three.

    Also returns the owners of edges whose types carry data, or of all edges if IDs are kept.
    """
    schema, sizes = job.graph.schema, job.sizes
    listed = list_edge_blocks(job.graph, sizes.edge_block_rows, sizes.csv_block_bytes, job.runner)
    types, blocks = [edge_type for edge_type, _ in listed], [block for _, block in listed]
    wanted = wanted_arrays(job)
    edge_owners = {
        edge_type.name: npy_region(job.work.file("edge-owners", i), owner_dtype(job.num_parts), (edge_type.num_edges,))
        for i, edge_type in enumerate(schema.edge_types)
        if edge_type.data or f"edge_owners/{edge_type.name}" in wanted
    }
    job.runner.step("create-edge-owners", lambda: create_files(edge_owners.values()))
    config = BucketConfig(job.assignment.files, nodes.maps, edge_owners, job.num_parts, job.work)
    dtype = next(iter(nodes.maps.values())).dtype
    # random lookups of a pass over all edges
    looked_up = sum(region.nbytes for files in (nodes.maps, job.assignment.files) for region in files.values())
    fits = looked_up <= sizes.map_bytes
    limit = min(sizes.edge_block_rows, SMALL_ROWS) if fits else 0
    units = [
        EdgeUnit(i, tuple(types[of.start : of.stop]), tuple(blocks[of.start : of.stop]))
        for i, of in enumerate(share_tasks([block.num_rows for block in blocks], limit))
    ]
    if fits:
        counts = job.runner.run(edge_pass("bucket-edges", bucket_edges, units, config, dtype.itemsize))
    else:
        part_ends = np.cumsum(nodes.counts.sum(axis=1))
        ranges = RangeConfig(config, sizes.range_nodes, part_ends)
        counts = bucket_by_range(units, ranges, job.runner)
    runs = EdgeRunIndex(
        runs=np.repeat(np.arange(len(units)), [len(unit.blocks) for unit in units]),
        etype_ids=np.array([schema.etype_ids[edge_type.name] for edge_type in types], np.int64),
        first_rows=np.array([block.first_row for block in blocks], np.int64),
        counts=np.concatenate([np.zeros((0, job.num_parts), np.int64), *counts]),
    )
    return runs, edge_owners


@dataclass(frozen=True, slots=True)
class EdgeUnit:
    """Consecutive blocks with their edge types, and the number of their run."""

    index: int
    edge_types: tuple[EdgeType, ...]
    blocks: tuple[Block[Edges], ...]

    @property
    def num_edges(self) -> int:
        """Edges of all blocks."""
        return sum(block.num_rows for block in self.blocks)

    @property
    def key(self) -> str:
        """Edge type, for keys; of several, the first and how many more."""
        names = dict.fromkeys(edge_type.name for edge_type in self.edge_types)
        return next(iter(names)) + (f" and {len(names) - 1} more" if len(names) > 1 else "")


@dataclass(frozen=True, slots=True)
class BucketConfig:
    """Lookup files of all tasks."""

    owners: Mapping[str, Region]  # owner and new ID of every node, by node type
    maps: Mapping[str, Region]
    edge_owners: Mapping[str, Region]  # output of edge owners, for edge types with data
    num_parts: int
    work: Workspace


def edge_pass(
    name: str,
    task: Callable[[EdgeUnit, ConfigT], ResultT],
    works: Sequence[EdgeUnit],
    config: ConfigT,
    id_nbytes: int,
) -> Pass[EdgeUnit, ConfigT, ResultT]:
    """Plan a pass over the blocks of edges, with decoded bytes to read and ends to write."""
    per_edge = 16 + 3 * id_nbytes
    units = [Unit(work, work.num_edges * per_edge, work.num_edges, work.key) for work in works]
    return Pass(name, task, units, config)


def bucket_edges(unit: EdgeUnit, config: BucketConfig) -> np.ndarray:
    """Group a unit's edges by owner; return how many of each block each part owns, int64 (blocks, parts)."""
    ntypes = {ntype for edge_type in unit.edge_types for ntype in (edge_type.src, edge_type.dst)}
    new_nids = {ntype: config.maps[ntype].memmap() for ntype in ntypes}
    owner_of = {edge_type.dst: config.owners[edge_type.dst].memmap() for edge_type in unit.edge_types}
    counts, ends_and_owners = np.empty((len(unit.blocks), config.num_parts), np.int64), []
    for i, (edge_type, block) in enumerate(zip(unit.edge_types, unit.blocks, strict=True)):
        src, dst = block.read()
        num_src = new_nids[edge_type.src].size
        owners, counts[i] = owners_of_edges(src, dst, num_src, owner_of[edge_type.dst], config.num_parts)
        write_edge_owners(config, edge_type, block.first_row, owners)
        ends_and_owners.append((src, dst, owners))
    run = np.empty((3, unit.num_edges), next(iter(new_nids.values())).dtype)
    for (src, dst, owners), edge_type, starts in zip(
        ends_and_owners, unit.edge_types, starts_in_run(counts), strict=True
    ):
        scatter_edges((src, dst), (new_nids[edge_type.src], new_nids[edge_type.dst]), owners, starts, run)
    save_npy(config.work.file("runs", unit.index), run)
    return counts


def owners_of_edges(
    src: np.ndarray, dst: np.ndarray, num_src: int, owner_of_dst: np.ndarray, num_parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Join edges in range with their destination's owner; also count the edges of each part."""
    owners = np.empty(dst.size, owner_of_dst.dtype)
    counts = np.zeros(num_parts, np.int64)
    bad = look_up_owners(src, dst, num_src, owner_of_dst, owners, counts)
    assert bad < 0, f"edge {bad} of a block is out of range, which was checked as it was read"
    return owners, counts


def write_edge_owners(config: BucketConfig, edge_type: EdgeType, first_row: int, owners: np.ndarray) -> None:
    """Write the owners of edges whose type carries data."""
    if edge_type.name in config.edge_owners:
        config.edge_owners[edge_type.name].write(owners, first_row)


@dataclass(frozen=True, slots=True, eq=False)
class RangeConfig:
    """What the three passes share."""

    bucket: BucketConfig  # as for `bucket-edges`
    range_nodes: int  # nodes per range
    part_ends: np.ndarray  # int64 (parts,): end of each part's range of new node IDs, which gives owners


@dataclass(frozen=True, slots=True, eq=False)
class ResolveUnit:
    """One ID range of a node type, and the slices of ends in it."""

    ntype: str
    start: int
    stop: int
    slices: tuple[tuple[int, str, int, int], ...]  # run, "src" or "dst", first row, row count


def bucket_by_range(edges: Sequence[EdgeUnit], config: RangeConfig, runner: Runner) -> list[np.ndarray]:
    """Run the three passes; results as from `bucket-edges`."""
    dtype = next(iter(config.bucket.maps.values())).dtype
    split_pass = edge_pass("split-ends", split_ends, edges, config, dtype.itemsize)
    split = runner.run(split_pass)
    files = [
        (config.bucket.work.file("ends", unit.index, end, "new"), unit.num_edges)
        for unit in edges
        for end in ("src", "dst")
    ]
    new_ends = [npy_region(path, dtype, (num_rows,)) for path, num_rows in files]
    runner.step("create-ends", lambda: create_files(new_ends))
    ranges = [Unit(of, sum(rows for *_, rows in of.slices) * 16) for of in resolve_units(edges, split, config)]
    runner.run(Pass("resolve-ends", resolve_ends, ranges, config))
    merges = [
        Unit(MergeUnit(of.index, of.edge_types[0], of.blocks[0].first_row), unit.nbytes, unit.num_rows, unit.key)
        for unit, of in zip(split_pass.units, edges, strict=True)
    ]
    return runner.run(Pass("merge-ends", merge_ends, merges, config))


def split_ends(unit: EdgeUnit, config: RangeConfig) -> tuple[np.ndarray, np.ndarray]:
    """Group both ends of a block by ID range; return how many fall into each."""
    ((src, dst), (edge_type,)), counts = (unit.blocks[0].read(), unit.edge_types), []
    for end, ids, ntype in (("src", src, edge_type.src), ("dst", dst, edge_type.dst)):
        num_ranges = -(-config.bucket.maps[ntype].num_rows // config.range_nodes)
        rows, in_range = group_by_owner((ids // config.range_nodes).astype(np.uint16), num_ranges)
        save_npy(config.bucket.work.file("ends", unit.index, end, "ids"), ids[rows])
        save_npy(config.bucket.work.file("ends", unit.index, end, "rows"), rows.astype(np.int32))
        counts.append(in_range)
    return counts[0], counts[1]


def resolve_units(
    units: Sequence[EdgeUnit], split: Sequence[tuple[np.ndarray, np.ndarray]], config: RangeConfig
) -> list[ResolveUnit]:
    """List the ranges of all node types with their slices of ends."""
    slices: dict[tuple[str, int], list[tuple[int, str, int, int]]] = {}
    for unit, both in zip(units, split, strict=True):
        ends = (("src", unit.edge_types[0].src), ("dst", unit.edge_types[0].dst))
        for (end, ntype), counts in zip(ends, both, strict=True):
            starts = group_starts(counts)
            for number in np.flatnonzero(counts).tolist():
                entry = (unit.index, end, int(starts[number]), int(counts[number]))
                slices.setdefault((ntype, number), []).append(entry)
    width = config.range_nodes
    return [
        ResolveUnit(
            ntype, number * width, min((number + 1) * width, config.bucket.maps[ntype].num_rows), tuple(of_range)
        )
        for (ntype, number), of_range in sorted(slices.items())
    ]


def resolve_ends(unit: ResolveUnit, config: RangeConfig) -> None:
    """Look up the new IDs of all ends in a range."""
    new_ids = config.bucket.maps[unit.ntype].read(unit.start, unit.stop)
    for index, end, start, num_rows in unit.slices:
        ids = open_npy(config.bucket.work.file("ends", index, end, "ids")).read(start, start + num_rows)
        open_npy(config.bucket.work.file("ends", index, end, "new")).write(new_ids[ids - unit.start], start)


@dataclass(frozen=True, slots=True)
class MergeUnit:
    """One block with new IDs of its ends: run, edge type, and type-wise ID of its first edge."""

    index: int
    edge_type: EdgeType
    first_row: int


def merge_ends(unit: MergeUnit, config: RangeConfig) -> np.ndarray:
    """Restore a block's order, write its run, and count each part's edges, int64 (1, parts)."""
    ends = []
    for end in ("src", "dst"):
        rows = open_npy(config.bucket.work.file("ends", unit.index, end, "rows")).read()
        new_ids = open_npy(config.bucket.work.file("ends", unit.index, end, "new")).read()
        in_order = np.empty_like(new_ids)
        in_order[rows] = new_ids
        ends.append(in_order)
    dtype = config.bucket.owners[unit.edge_type.dst].dtype
    owners = np.searchsorted(config.part_ends, ends[1], side="right").astype(dtype)
    order, counts = group_by_owner(owners, config.bucket.num_parts)
    save_npy(
        config.bucket.work.file("runs", unit.index), np.array([ends[0][order], ends[1][order], order], ends[0].dtype)
    )
    write_edge_owners(config.bucket, unit.edge_type, unit.first_row, owners)
    return counts[np.newaxis]
