"""The join of `bucket-edges` when node maps are larger than memory: no random I/O, three sequential passes.

`split-ends` groups both ends of each block's edges by range of IDs; `resolve-ends` takes one range of a node type at a
time, whose slice of the map fits into memory, and looks up all ends in it; `merge-ends` brings the ends of each block
back into its order and writes the very run that `bucket-edges` would have written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.bucket_edges import BucketConfig, EdgeUnit, edge_pass, write_edge_owners
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import count_owners, group_by_owner, group_starts, scatter_edges
from daskgraphpart.storage.region import create_files, npy_region, open_npy, save_npy
from daskgraphpart.storage.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.partitions import Edges, Partition
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.engine.runner import Runner


@dataclass(frozen=True, slots=True, eq=False)
class RangeConfig:
    """What the three passes share."""

    bucket: BucketConfig  # as for `bucket-edges`
    work: Workspace  # names of temporary files
    range_nodes: int  # nodes per range
    part_ends: np.ndarray  # int64 (parts,): end of each part's range of new node IDs, from which owners follow


@dataclass(frozen=True, slots=True, eq=False)
class ResolveUnit:
    """One range of IDs of one node type, and the slices of ends that fall into it."""

    ntype: str  # node type
    start: int  # range of original type-wise IDs
    stop: int
    slices: tuple[tuple[int, str, int, int], ...]  # where ends in the range lie


def bucket_edges_by_range(
    units: Sequence[EdgeUnit], partitions: Sequence[Partition], config: RangeConfig, runner: Runner
) -> list[np.ndarray]:
    """Run the three passes; the results are those of `bucket-edges`."""
    first_pass = edge_pass("split-ends", split_ends, units, partitions, config, config.bucket.maps)
    split = runner.run(first_pass)
    new_ends = [
        npy_region(
            config.work.ends(unit.index, end, "new"),
            config.bucket.maps[unit.edge_type.src].dtype,
            (unit.rows.num_rows,),
        )
        for unit in units
        for end in ("src", "dst")
    ]
    runner.step("create-ends", lambda: create_files(new_ends))
    ranges = resolve_units(units, split, config)
    range_sizes = [sum(rows for *_, rows in unit.slices) * 16 for unit in ranges]
    runner.run(Pass("resolve-ends", resolve_ends, ranges, config, range_sizes))
    return runner.run(Pass("merge-ends", merge_ends, units, config, first_pass.unit_nbytes))


def split_ends(edges: Edges, unit: EdgeUnit, config: RangeConfig) -> tuple[np.ndarray, np.ndarray]:
    """Group both ends of a partition by range of IDs; return how many of each fall into each range."""
    src, dst = edges
    unit.rows.check(src.size)
    maps = config.bucket.maps
    num_src, num_dst = maps[unit.edge_type.src].num_rows, maps[unit.edge_type.dst].num_rows
    counts = []
    for end, ids, num_ids in (("src", src, num_src), ("dst", dst, num_dst)):
        num_ranges = -(-num_ids // config.range_nodes)
        ranges = (ids // config.range_nodes).astype(np.uint16)
        rows, in_range = group_by_owner(ranges, num_ranges)
        for what, column in (("ids", ids[rows]), ("rows", rows.astype(np.int32))):
            save_npy(config.work.ends(unit.index, end, what), column)
        counts.append(in_range)
    return counts[0], counts[1]


def resolve_units(
    units: Sequence[EdgeUnit], split: Sequence[tuple[np.ndarray, np.ndarray]], config: RangeConfig
) -> list[ResolveUnit]:
    """List the ranges of all node types with the slices of ends in them."""
    slices: dict[tuple[str, int], list[tuple[int, str, int, int]]] = {}
    for unit, both in zip(units, split, strict=True):
        ends = (("src", unit.edge_type.src), ("dst", unit.edge_type.dst))
        for (end, ntype), counts in zip(ends, both, strict=True):
            starts = group_starts(counts)
            for number in np.flatnonzero(counts):
                entry = (unit.index, end, int(starts[number]), int(counts[number]))
                slices.setdefault((ntype, int(number)), []).append(entry)
    width = config.range_nodes
    return [
        ResolveUnit(ntype, number * width, min((number + 1) * width, config.bucket.maps[ntype].num_rows), tuple(found))
        for (ntype, number), found in sorted(slices.items())
    ]


def resolve_ends(unit: ResolveUnit, config: RangeConfig) -> None:
    """Look up the new IDs of all ends in one range."""
    new_ids = config.bucket.maps[unit.ntype].read(unit.start, unit.stop)
    for index, end, start, num_rows in unit.slices:
        ids = open_npy(config.work.ends(index, end, "ids")).read(start, start + num_rows)
        open_npy(config.work.ends(index, end, "new")).write(new_ids[ids - unit.start], start)


def merge_ends(unit: EdgeUnit, config: RangeConfig) -> np.ndarray:
    """Bring the ends of a block back into its order and write its run; return the edges of each part."""
    ends = []
    for end in ("src", "dst"):
        rows = open_npy(config.work.ends(unit.index, end, "rows")).read()
        new_ids = open_npy(config.work.ends(unit.index, end, "new")).read()
        in_order = np.empty_like(new_ids)
        in_order[rows] = new_ids
        ends.append(in_order)
    owner_dtype = config.bucket.owners[unit.edge_type.dst].dtype
    owners = np.searchsorted(config.part_ends, ends[1], side="right").astype(owner_dtype)
    counts = np.zeros(config.bucket.num_parts, np.int64)
    count_owners(owners, config.bucket.num_parts, counts)
    itself = np.arange(owners.size)
    run = np.empty((3, owners.size), ends[0].dtype)
    scatter_edges((itself, itself), (ends[0], ends[1]), owners, group_starts(counts)[:-1], run)
    write_run(unit.run, run)
    write_edge_owners(unit, config.bucket, owners)
    return counts
