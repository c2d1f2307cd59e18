"""Passes `count-marked` and `split-nids`: training, validation and test nodes of each part, from masks.

Reads masks block by block; counts by part give the place of every list before a byte is written. IDs are new and
type-wise, as in `DistGraph`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from daskgraphpart.dispatching.features import Feature, RowUnit, group_rows, row_units
from daskgraphpart.dispatching.make_files import Targets, wanted_arrays, write_groups
from daskgraphpart.dispatching.offsets import exclusive_sums
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.kernels.owner_sort import group_starts

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.nodes import NumberedNodes

RowUnitT = TypeVar("RowUnitT", bound=RowUnit)


@dataclass(frozen=True, slots=True, eq=False)
class SplitUnit(RowUnit):
    """One block of a mask; int64 (parts,): marked nodes before it, its first node's new ID."""

    marked_before: np.ndarray = field(kw_only=True)
    first_nids: np.ndarray = field(kw_only=True)


def wanted_masks(job: Job, features: Sequence[Feature]) -> list[Feature]:
    """Masks whose nodes some layout lists."""
    wanted = wanted_arrays(job)
    return [feature for feature in features if f"split_nids/{feature.key}" in wanted]


def count_marked(job: Job, masks: Sequence[Feature], nodes: NumberedNodes) -> dict[str, np.ndarray]:
    """Count each mask's nodes, int64 (blocks, parts); none if no layout lists them."""
    works = [unit for mask in masks for unit in row_units(mask, job.assignment.files, nodes.offsets, ())]
    counted = iter(job.runner.run(Pass("count-marked", count_block, _priced(works), None)))
    blocks = {mask.key: mask.blocks for mask in masks}
    return {
        key: np.array([next(counted) for _ in blocks.get(key, ())], np.int64).reshape(-1, job.num_parts)
        for key in job.graph.schema.masks
    }


def count_block(unit: RowUnit, _: None) -> np.ndarray:
    """Task of `count-marked`: count a block's marked nodes by part, int64 (parts,)."""
    mask, counts = group_rows(unit.block.read(), unit)
    return np.diff(np.append(0, np.cumsum(mask != 0))[group_starts(counts)])


def split_nids(
    job: Job, masks: Sequence[Feature], nodes: NumberedNodes, marked: Mapping[str, np.ndarray], targets: Targets
) -> None:
    """List the marked nodes."""
    first_nids = dict(zip(job.graph.schema.ntypes, (np.cumsum(nodes.counts, axis=0) - nodes.counts).T, strict=True))
    works = []
    for mask in masks:
        of_mask = row_units(mask, job.assignment.files, nodes.offsets, targets[f"split_nids/{mask.key}"])
        for unit, marked_before in zip(of_mask, exclusive_sums(marked[mask.key]), strict=True):
            first = first_nids[mask.type_name] + unit.before
            works.append(
                SplitUnit(
                    unit.block, unit.spec, unit.owners, unit.before, unit.targets,
                    marked_before=marked_before, first_nids=first,
                )
            )  # fmt: skip
    job.runner.run(Pass("split-nids", split_block, _priced(works), None))


def split_block(unit: SplitUnit, _: None) -> None:
    """Task of `split-nids`: list a block's marked nodes."""
    mask, counts = group_rows(unit.block.read(), unit)
    places, starts = np.flatnonzero(mask), group_starts(counts)
    part = np.searchsorted(starts, places, side="right") - 1
    nids = places + (unit.first_nids - starts[:-1])[part]
    write_groups(nids, np.bincount(part, minlength=counts.size), unit.targets, unit.marked_before)


def _priced(works: Sequence[RowUnitT]) -> list[Unit[RowUnitT]]:
    return [Unit(work, work.block.num_rows, key=work.block.name) for work in works]
