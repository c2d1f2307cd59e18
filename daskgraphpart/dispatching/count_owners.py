"""Pass `count-owners`: how many rows of each interval of a type each part owns.

Nodes and edges alike: once they have owners, both are rows with an owner file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.offsets import RowOffsets, cut_intervals, row_offsets
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError
from daskgraphpart.kernels.owner_sort import count_owners as count_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class Interval:
    """Consecutive rows of one type."""

    type_name: str
    start: int
    stop: int

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class CountConfig:
    """Owner file of each type, and how many parts there are."""

    owners: Mapping[str, Region]
    num_parts: int


def count_intervals(
    owners: Mapping[str, Region], marks: Mapping[str, Sequence[int]], num_parts: int, most_rows: int, runner: Runner
) -> dict[str, RowOffsets]:
    """Run the pass over whole types."""
    units = [
        Interval(name, start, stop)
        for name, region in owners.items()
        for start, stop in cut_intervals(region.num_rows, marks.get(name, ()), most_rows)
    ]
    sizes = [unit.num_rows * owners[unit.type_name].dtype.itemsize for unit in units]
    results = runner.run(Pass("count-owners", count_owners, units, CountConfig(owners, num_parts), sizes))
    offsets = {}
    for name in owners:
        mine = [(unit, counts) for unit, counts in zip(units, results, strict=True) if unit.type_name == name]
        offsets[name] = row_offsets([unit.start for unit, _ in mine], [counts for _, counts in mine], num_parts)
    return offsets


def count_owners(unit: Interval, config: CountConfig) -> np.ndarray:
    """Count the owners of one interval."""
    region = config.owners[unit.type_name]
    owners = region.read(unit.start, unit.stop)
    counts = np.zeros(config.num_parts, np.int64)
    bad = count_kernel(owners, config.num_parts, counts)
    if bad >= 0:
        raise AssignmentError(
            "owner out of range",
            file=region.path,
            place=f"row {unit.start + bad:,}",
            expected=f"a part in [0, {config.num_parts})",
            found=owners[bad],
        )
    return counts
