"""Passes over owners: `relabel-nodes` gives new IDs, `list-nodes` lists what each part owns, `copy-owners` copies them.

New IDs are in the order (part, node type, original ID). `relabel-nodes` writes the map from original to new IDs into
the workspace; `list-nodes` writes the original IDs of each part's nodes, in the order of their new IDs; `copy-owners`
writes the owners of all nodes and edges by original ID, for layouts that keep these (`reshuffle=False`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.book import PartitionBook
from daskgraphpart.dispatching.lay_out import write_groups, write_rows
from daskgraphpart.dispatching.offsets import count_intervals
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_by_owner, rank_rows
from daskgraphpart.storage.region import create_files, npy_region
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.lay_out import Targets
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class NumberedNodes:
    """Nodes with new IDs: owned by each part, int64 (parts, node types); offsets and new IDs by node type."""

    counts: np.ndarray
    offsets: Mapping[str, RowOffsets]
    maps: Mapping[str, Region]


@dataclass(frozen=True, slots=True, eq=False)
class NodeUnit:
    """Original IDs ``[start, stop)`` of one node type; `first` (parts,) is for each part where its nodes among them go.

    That is a new ID in `relabel-nodes`, a row of the part's list in `list-nodes`.
    """

    ntype: str
    start: int
    stop: int
    first: np.ndarray


@dataclass(frozen=True, slots=True)
class RelabelConfig:
    """Owner file and map file of each node type."""

    owners: Mapping[str, Region]
    maps: Mapping[str, Region]


def number_nodes(job: Job, marks: Mapping[str, Sequence[int]]) -> NumberedNodes:
    """Count and relabel all nodes; `marks` are the rows of each node type at which blocks of features begin."""
    schema = job.graph.schema
    owners = {ntype: job.assignment.owners[ntype] for ntype in schema.ntypes}
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
        NodeUnit(ntype, start, stop, first_nids[:, type_id] + before)
        for type_id, ntype in enumerate(schema.ntypes)
        for start, stop, before in offsets[ntype].intervals()
    ]
    sizes = [(unit.stop - unit.start) * (dtype.itemsize + 1) for unit in units]
    job.runner.run(Pass("relabel-nodes", relabel_nodes, units, RelabelConfig(owners, maps), sizes))
    return NumberedNodes(counts, offsets, maps)


def relabel_nodes(unit: NodeUnit, config: RelabelConfig) -> None:
    """Number the nodes of one interval."""
    owners = config.owners[unit.ntype].read(unit.start, unit.stop)
    target = config.maps[unit.ntype]
    new_nids = np.empty(owners.size, target.dtype)
    rank_rows(owners, unit.first.copy(), new_nids)
    target.write(new_nids, unit.start)


@dataclass(frozen=True, slots=True)
class ListConfig:
    """Owner file of each node type, and where all arrays go."""

    owners: Mapping[str, Region]
    targets: Targets


def list_all_nodes(job: Job, nodes: NumberedNodes, targets: Targets) -> None:
    """List the nodes of all parts, for the layouts that want them."""
    units = [
        NodeUnit(ntype, start, stop, before)
        for ntype, offsets in nodes.offsets.items()
        if f"orig_nids/{ntype}" in targets
        for start, stop, before in offsets.intervals()
    ]
    sizes = [9 * (unit.stop - unit.start) for unit in units]
    job.runner.run(Pass("list-nodes", list_nodes, units, ListConfig(job.assignment.owners, targets), sizes))


def list_nodes(unit: NodeUnit, config: ListConfig) -> None:
    """Write the original IDs of one interval to the lists of their owners."""
    owners = config.owners[unit.ntype].read(unit.start, unit.stop)
    rows, counts = group_by_owner(owners, unit.first.size)
    write_groups(rows + unit.start, counts, config.targets[f"orig_nids/{unit.ntype}"], unit.first)


@dataclass(frozen=True, slots=True)
class CopyUnit:
    """Owners of rows ``[start, stop)`` of one type, and where they go."""

    owners: Region
    targets: tuple[Region, ...]
    start: int
    stop: int


def copy_owners(job: Job, edge_owners: Mapping[str, Region], whole: Mapping[str, tuple[Region, ...]]) -> None:
    """Write the owners of all nodes and edges, for the layouts that want them."""
    rows = job.sizes.interval_rows
    units = [
        CopyUnit(region, whole[f"{name}/{of_type}"], start, min(start + rows, region.num_rows))
        for name, owners in (("node_owners", job.assignment.owners), ("edge_owners", edge_owners))
        for of_type, region in owners.items()
        if f"{name}/{of_type}" in whole
        for start in range(0, region.num_rows, rows)
    ]
    job.runner.run(Pass("copy-owners", copy_rows, units, None, [8 * (unit.stop - unit.start) for unit in units]))


def copy_rows(unit: CopyUnit, _: None) -> None:
    """Copy the owners of some rows."""
    write_rows(unit.targets, unit.owners.read(unit.start, unit.stop), unit.start)
