"""Passes `count-marked` and `split-nids`: the training, validation and test nodes of each part, where masks exist.

Masks are read partition by partition as all features are; how many nodes each marks in each part gives the place of
every list before a byte is written. IDs are new and type-wise, the ones `DistGraph` indexes its data with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.features import Feature, RowUnit, group_rows, row_units
from daskgraphpart.dispatching.lay_out import Targets, mask_keys, wanted_arrays, write_groups
from daskgraphpart.dispatching.offsets import exclusive_sums
from daskgraphpart.engine.runner import Pass
from daskgraphpart.kernels.owner_sort import group_starts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.nodes import NumberedNodes


@dataclass(frozen=True, slots=True, eq=False)
class SplitUnit:
    """One partition of a mask; int64 (parts,): nodes of each part that earlier ones mark, its first node's new ID."""

    mask: RowUnit
    marked_before: np.ndarray
    first_nids: np.ndarray


def wanted_masks(job: Job, features: Sequence[Feature]) -> list[Feature]:
    """List the masks whose marked nodes some layout lists."""
    wanted = wanted_arrays(job.layouts, job.graph.schema)
    return [feature for feature in features if f"split_nids/{feature.key}" in wanted]


def count_marked(job: Job, masks: Sequence[Feature], nodes: NumberedNodes) -> dict[str, np.ndarray]:
    """Count the nodes that each mask marks, int64 (partitions, parts); nothing of those that are not wanted."""
    units = [unit for mask in masks for unit in row_units(mask, job.assignment.owners, nodes.offsets, ())]
    found = iter(_run(job, "count-marked", count_partition, units, masks))
    partitions = {mask.key: mask.partitions for mask in masks}
    return {
        key: np.array([next(found) for _ in partitions.get(key, ())], np.int64).reshape(-1, job.num_parts)
        for key in mask_keys(job.graph.schema)
    }


def count_partition(values: np.ndarray, unit: RowUnit, _: None) -> np.ndarray:
    """Task of `count-marked`: count the nodes of each part that one partition of a mask marks, int64 (parts,)."""
    mask, counts = group_rows(values, unit)
    return np.diff(np.append(0, np.cumsum(mask != 0))[group_starts(counts)])


def split_nids(
    job: Job, masks: Sequence[Feature], nodes: NumberedNodes, marked: Mapping[str, np.ndarray], targets: Targets
) -> None:
    """List the nodes that masks mark."""
    first_nids = dict(zip(job.graph.schema.ntypes, (np.cumsum(nodes.counts, axis=0) - nodes.counts).T, strict=True))
    units = []
    for mask in masks:
        of_mask = row_units(mask, job.assignment.owners, nodes.offsets, targets[f"split_nids/{mask.key}"])
        for unit, before in zip(of_mask, exclusive_sums(marked[mask.key]), strict=True):
            units.append(SplitUnit(unit, before, first_nids[mask.type_name] + unit.before))
    _run(job, "split-nids", split_partition, units, masks)


def split_partition(values: np.ndarray, unit: SplitUnit, _: None) -> None:
    """Task of `split-nids`: list the nodes that one partition of a mask marks."""
    mask, counts = group_rows(values, unit.mask)
    places, starts = np.flatnonzero(mask), group_starts(counts)
    part = np.searchsorted(starts, places, side="right") - 1
    nids = places + (unit.first_nids - starts[:-1])[part]
    write_groups(nids, np.bincount(part, minlength=counts.size), unit.mask.targets, unit.marked_before)


def _run(job: Job, name: str, task: Any, units: Sequence[Any], masks: Sequence[Feature]) -> list[Any]:
    """Run a pass over the partitions of masks, in their order."""
    partitions = [partition for mask in masks for partition in mask.partitions]
    sizes, types = [p.rows.num_rows for p in partitions], [p.rows.name for p in partitions]
    values = [partition.value for partition in partitions]
    return job.runner.run(Pass(name, task, units, None, sizes, partitions=values, unit_types=types))
