"""Passes `count-marked` and `split-nids`: the training, validation and test nodes of each part, where masks exist.

Masks are read partition by partition as all features are; how many nodes each marks in each part gives the place of
every list before a byte is written. IDs are new and type-wise, the ones `DistGraph` indexes its data with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.lay_out import wanted_arrays
from daskgraphpart.dispatching.offsets import exclusive_sums
from daskgraphpart.dispatching.place_rows import PlaceConfig, group_rows
from daskgraphpart.dispatching.targets import write_groups
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.partitions import Partition, RowRange
    from daskgraphpart.dispatching.features import Feature
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.nodes import NumberedNodes
    from daskgraphpart.dispatching.targets import Targets
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class MaskUnit:
    """One partition of mask `key`; `first_nids` (parts,) are the new type-wise IDs of each part's first node in it."""

    key: str
    rows: RowRange
    spec: DataSpec
    owners: Region
    first_nids: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """How many nodes all partitions of masks mark: int64 (partitions, parts)."""

    units: Sequence[MaskUnit]
    partitions: Sequence[Partition]
    counts: np.ndarray

    def of(self, key: str) -> np.ndarray:
        """Nodes that a mask marks, by partition and part."""
        counts: np.ndarray = self.counts[[unit.key == key for unit in self.units]]
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class SplitUnit:
    """One partition of a mask, and the nodes of each part that earlier ones mark."""

    mask: MaskUnit
    before: np.ndarray


def count_marked(job: Job, features: Sequence[Feature], nodes: NumberedNodes) -> Marked:
    """Count the nodes that masks mark in each part."""
    wanted = wanted_arrays(job.layouts, job.graph.schema)
    first_nids = np.cumsum(nodes.counts, axis=0) - nodes.counts
    found = [
        (feature, partition)
        for feature in features
        if feature.kind == "node" and f"split_nids/{feature.type_name}/{feature.spec.name}" in wanted
        for partition in feature.partitions
    ]
    units = [
        MaskUnit(
            partition.rows.name,
            partition.rows,
            feature.spec,
            job.assignment.owners[feature.type_name],
            first_nids[:, feature.type_id] + nodes.offsets[feature.type_name].owned_before(partition.rows.first_row),
        )
        for feature, partition in found
    ]
    partitions = [partition for _, partition in found]
    sizes, types = [unit.rows.num_rows for unit in units], [unit.key for unit in units]
    values = [partition.value for partition in partitions]
    counts = job.runner.run(
        Pass("count-marked", count_partition, units, job.num_parts, sizes, partitions=values, unit_types=types)
    )
    return Marked(units, partitions, np.array(counts, np.int64).reshape(len(units), job.num_parts))


def count_partition(values: np.ndarray, unit: MaskUnit, num_parts: int) -> np.ndarray:
    """Task of `count-marked`: count the nodes of each part that one partition of a mask marks, int64 (parts,)."""
    mask, counts = group_rows(values, unit.rows, unit.spec, unit.owners, num_parts)
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
    sizes, types = [unit.mask.rows.num_rows for unit in units], [unit.mask.key for unit in units]
    values, config = [partition.value for partition in marked.partitions], PlaceConfig(targets, job.num_parts)
    job.runner.run(Pass("split-nids", split_partition, units, config, sizes, partitions=values, unit_types=types))


def split_partition(values: np.ndarray, unit: SplitUnit, config: PlaceConfig) -> None:
    """Task of `split-nids`: list the nodes that one partition of a mask marks."""
    mask, counts = group_rows(values, unit.mask.rows, unit.mask.spec, unit.mask.owners, config.num_parts)
    places, starts = np.flatnonzero(mask), group_starts(counts)
    part = np.searchsorted(starts, places, side="right") - 1
    nids = places + (unit.mask.first_nids - starts[:-1])[part]
    write_groups(
        nids,
        np.bincount(part, minlength=config.num_parts),
        config.targets[f"split_nids/{unit.mask.key}"],
        unit.before,
    )
