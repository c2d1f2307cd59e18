"""Passes `count-marked` and `split-nids`: the training, validation and test nodes of each part, where masks exist.

Masks are read block by block as all features are; how many nodes each block marks in each part gives the place of every
list before a byte is written. IDs are new and type-wise, the ones `DistGraph` indexes its data with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.lay_out import wanted_arrays
from daskgraphpart.dispatching.offsets import exclusive_sums
from daskgraphpart.dispatching.place_rows import PlaceConfig, read_grouped_rows
from daskgraphpart.dispatching.targets import write_groups
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.dispatching.features import Feature
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.nodes import NumberedNodes
    from daskgraphpart.dispatching.targets import Targets
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class MaskUnit:
    """One block of the mask `key`; `first_nids` (parts,) are the new type-wise IDs of each part's first node in it."""

    key: str
    block: Block
    spec: DataSpec
    owners: Region
    first_nids: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """How many nodes all blocks of masks mark: int64 (blocks, parts)."""

    units: Sequence[MaskUnit]
    counts: np.ndarray

    def of(self, key: str) -> np.ndarray:
        """Nodes that a mask marks, by block and part."""
        counts: np.ndarray = self.counts[[unit.key == key for unit in self.units]]
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class SplitUnit:
    """One block of a mask, and the nodes of each part that earlier blocks mark."""

    mask: MaskUnit
    before: np.ndarray


def count_marked(job: Job, features: Sequence[Feature], nodes: NumberedNodes) -> Marked:
    """Count the nodes that masks mark in each part."""
    wanted = wanted_arrays(job.layouts, job.graph.schema)
    first_nids = np.cumsum(nodes.counts, axis=0) - nodes.counts
    units = [
        MaskUnit(
            f"{feature.type_name}/{feature.spec.name}",
            block,
            feature.spec,
            job.assignment.owners[feature.type_name],
            first_nids[:, feature.type_id] + nodes.offsets[feature.type_name].owned_before(block.first_row),
        )
        for feature in features
        if feature.kind == "node" and f"split_nids/{feature.type_name}/{feature.spec.name}" in wanted
        for block in feature.blocks
    ]
    sizes = [unit.block.num_rows for unit in units]
    counts = job.runner.run(Pass("count-marked", count_block, units, job.num_parts, sizes))
    return Marked(units, np.array(counts, np.int64).reshape(len(units), job.num_parts))


def count_block(unit: MaskUnit, num_parts: int) -> np.ndarray:
    """Task of `count-marked`: count the nodes of each part that one block of a mask marks, int64 (parts,)."""
    mask, counts = read_grouped_rows(unit.block, unit.spec, unit.owners, num_parts)
    return np.diff(np.append(0, np.cumsum(mask != 0))[group_starts(counts)])


def split_nids(job: Job, marked: Marked, targets: Targets) -> None:
    """List the nodes that masks mark."""
    units = [
        SplitUnit(unit, before)
        for key in dict.fromkeys(unit.key for unit in marked.units)
        for unit, before in zip(
            [unit for unit in marked.units if unit.key == key], exclusive_sums(marked.of(key)), strict=True
        )
    ]
    sizes = [unit.mask.block.num_rows for unit in units]
    job.runner.run(Pass("split-nids", split_block, units, PlaceConfig(targets, job.num_parts), sizes))


def split_block(unit: SplitUnit, config: PlaceConfig) -> None:
    """Task of `split-nids`: list the nodes that one block of a mask marks."""
    mask, counts = read_grouped_rows(unit.mask.block, unit.mask.spec, unit.mask.owners, config.num_parts)
    places, starts = np.flatnonzero(mask), group_starts(counts)
    part = np.searchsorted(starts, places, side="right") - 1
    nids = places + (unit.mask.first_nids - starts[:-1])[part]
    write_groups(
        nids,
        np.bincount(part, minlength=config.num_parts),
        config.targets[f"split_nids/{unit.mask.key}"],
        unit.before,
    )
