"""Passes `stage-rows` and `gather-rows`: rows of features travel through zarr arrays in the workspace.

For workers that do not share the output's disk. `stage-rows` writes each block, grouped by owner, as one zarr array
with chunks small enough to be read in part; `gather-rows` reads the rows of one part and writes its file in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.place_rows import RowUnit, read_grouped_rows
from daskgraphpart.dispatching.targets import write_rows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.zarr_arrays import read_rows_array, write_rows_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from daskgraphpart.dispatching.place_rows import PlaceConfig
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class StageUnit:
    """One block of one feature, and the zarr array it goes to."""

    rows: RowUnit
    array: str


@dataclass(frozen=True, slots=True)
class StageConfig:
    """Number of parts."""

    num_parts: int


@dataclass(frozen=True, slots=True, eq=False)
class GatherUnit:
    """Rows of one feature that one part owns: where they go, and the slices (array, start, stop) where they are."""

    regions: tuple[Region, ...]
    spec: DataSpec
    slices: tuple[tuple[str, int, int], ...]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(stop - start for _, start, stop in self.slices)


def move_rows_through_zarr(
    features: Sequence[Sequence[StageUnit]], config: PlaceConfig, row_block_bytes: int, runner: Runner
) -> None:
    """Run both passes over the blocks of each feature, in order; a task holds at most `row_block_bytes` of rows."""
    units = [unit for blocks in features for unit in blocks]
    sizes = [2 * unit.rows.block.num_rows * unit.rows.spec.row_nbytes for unit in units]
    counts = iter(runner.run(Pass("stage-rows", stage_rows, units, StageConfig(config.num_parts), sizes)))
    gathers = []
    for blocks in features:
        gathers += gather_units(blocks, [next(counts) for _ in blocks], config)
    gather_sizes = [2 * unit.num_rows * unit.spec.row_nbytes for unit in gathers]
    runner.run(Pass("gather-rows", gather_rows, gathers, row_block_bytes, gather_sizes))


def stage_rows(unit: StageUnit, config: StageConfig) -> np.ndarray:
    """Write one block grouped by owner; return the rows of each owner."""
    rows, counts = read_grouped_rows(unit.rows.block, unit.rows.spec, unit.rows.owners, config.num_parts)
    write_rows_array(unit.array, rows, -(-rows.shape[0] // config.num_parts))
    return counts


def gather_units(blocks: Sequence[StageUnit], counts: Sequence[np.ndarray], config: PlaceConfig) -> list[GatherUnit]:
    """List what each part gathers of one feature."""
    if not blocks:
        return []
    starts = [group_starts(of_parts) for of_parts in counts]
    first = blocks[0].rows
    return [
        GatherUnit(
            tuple(target.region(part) for target in config.targets[first.array]),
            first.spec,
            tuple(
                (unit.array, int(start[part]), int(start[part + 1]))
                for unit, start in zip(blocks, starts, strict=True)
                if start[part] < start[part + 1]
            ),
        )
        for part in range(config.num_parts)
    ]


def gather_rows(unit: GatherUnit, row_block_bytes: int) -> None:
    """Write one part's rows of one feature, from front to back."""
    rows_per_read = max(1, row_block_bytes // max(1, unit.spec.row_nbytes))
    done = 0
    for array, start, stop in unit.slices:
        for first in range(start, stop, rows_per_read):
            rows = read_rows_array(array, first, min(first + rows_per_read, stop))
            write_rows(unit.regions, rows, done)
            done += rows.shape[0]
