"""Passes over owners: `relabel-nodes` gives new IDs, `list-nodes` lists each part's nodes, `copy-owners` all owners.

New IDs are ordered by (part, node type, original ID). `relabel-nodes` writes the map from original to new IDs into the
workspace; `list-nodes` writes the original IDs of each part's nodes by new ID; `copy-owners` those of nodes
and edges, for layouts that keep IDs or list owners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from daskgraphpart.dispatching.make_files import Target, Targets, write_groups, write_rows
from daskgraphpart.dispatching.offsets import RowOffsets, count_intervals
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.ids.book import PartitionBook
from daskgraphpart.kernels.owner_sort import group_by_owner, rank_rows
from daskgraphpart.storage.region import Region, create_files, id_dtype, npy_region

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.source import Block


TargetT = TypeVar("TargetT")


@dataclass(frozen=True, slots=True, eq=False)
class NumberedNodes:
    """Nodes with new IDs: count by part, int64 (parts, node types); offsets and new IDs by node type."""

    counts: np.ndarray
    offsets: Mapping[str, RowOffsets]
    maps: Mapping[str, Region]


@dataclass(frozen=True, slots=True, eq=False)
class NodeUnit(Generic[TargetT]):
    """One task's nodes of one type, their target offsets per part, and the output file."""

    nodes: Block[np.ndarray]  # their owners
    first: np.ndarray  # int64 (parts,)
    target: TargetT


def number_nodes(job: Job, marks: Mapping[str, Sequence[int]]) -> NumberedNodes:
    """Count and relabel all nodes; `marks` are the rows of each node type at which feature blocks begin."""
    schema = job.graph.schema
    owners = {ntype: job.assignment.files[ntype] for ntype in schema.ntypes}
    offsets = count_intervals(owners, marks, job.num_parts, job.sizes.interval_rows, job.runner)
    counts = np.stack([offsets[ntype].totals for ntype in schema.ntypes], axis=1)
    first_nids = PartitionBook.from_counts(schema.ntypes, (), counts, counts[:, :0]).node_ranges[:, :, 0]
    dtype = id_dtype(schema.num_nodes)
    maps = {
        node_type.name: npy_region(job.work.file("node-maps", i), dtype, (node_type.num_nodes,))
        for i, node_type in enumerate(schema.node_types)
    }
    job.runner.step("create-node-maps", lambda: create_files(maps.values()))
    units = [
        Unit(
            NodeUnit(owners[ntype].block(start, stop), first_nids[:, type_id] + before, maps[ntype]),
            (stop - start) * (dtype.itemsize + 1),
            key=ntype,
        )
        for type_id, ntype in enumerate(schema.ntypes)
        for start, stop, before in offsets[ntype].intervals()
    ]
    job.runner.run(Pass("relabel-nodes", relabel_nodes, units, None))
    return NumberedNodes(counts, offsets, maps)


def relabel_nodes(unit: NodeUnit[Region], _: None) -> None:
    """Number the nodes of an interval."""
    owners = unit.nodes.read()
    new_nids = np.empty(owners.size, unit.target.dtype)
    rank_rows(owners, unit.first.copy(), new_nids)
    unit.target.write(new_nids, unit.nodes.first_row)


def list_all_nodes(job: Job, nodes: NumberedNodes, targets: Targets) -> None:
    """List the nodes of all parts, for layouts that want them."""
    owners = job.assignment.files
    units = [
        Unit(
            NodeUnit(owners[ntype].block(start, stop), before, targets[f"orig_nids/{ntype}"]),
            9 * (stop - start),
            key=ntype,
        )
        for ntype, offsets in nodes.offsets.items()
        if f"orig_nids/{ntype}" in targets
        for start, stop, before in offsets.intervals()
    ]
    job.runner.run(Pass("list-nodes", list_nodes, units, None))


def list_nodes(unit: NodeUnit[tuple[Target, ...]], _: None) -> None:
    """Write the original IDs of an interval to its owners' lists."""
    rows, counts = group_by_owner(unit.nodes.read(), unit.first.size)
    write_groups(rows + unit.nodes.first_row, counts, unit.target, unit.first)


def copy_owners(job: Job, edge_owners: Mapping[str, Region], whole: Mapping[str, tuple[Region, ...]]) -> None:
    """Write the owners of all nodes and edges, for layouts that want them."""
    works = [
        CopyUnit(block, whole[f"{name}/{of_type}"])
        for name, owners in (("node_owners", job.assignment.files), ("edge_owners", edge_owners))
        for of_type, region in owners.items()
        if f"{name}/{of_type}" in whole
        for block in region.blocks(job.sizes.interval_rows)
    ]
    units = [Unit(work, 8 * work.rows.num_rows) for work in works]
    job.runner.run(Pass("copy-owners", copy_interval, units, None))


@dataclass(frozen=True, slots=True)
class CopyUnit:
    """Consecutive rows of one type, and the output of their owners."""

    rows: Block[Any]
    targets: tuple[Region, ...]


def copy_interval(unit: CopyUnit, _: None) -> None:
    """Copy the owners of some rows."""
    write_rows(unit.targets, unit.rows.read(), unit.rows.first_row)
