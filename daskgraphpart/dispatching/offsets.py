"""Pass `count-owners`, and positions as prefix sums of its counts: after it, everything is data movement.

Nodes and edges alike are rows with an owner file. The original ID is the last key of every order, so the rows of an
interval that go to one part are contiguous in its output, and begin after the part's rows of earlier intervals.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import AssignmentError
from daskgraphpart.kernels.owner_sort import count_owners as count_kernel

if TYPE_CHECKING:
    from daskgraphpart.source import Block
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class RowOffsets:
    """Rows of a type that each part owns before certain rows; int64 arrays."""

    bounds: np.ndarray  # (intervals,): first rows of intervals
    before: np.ndarray  # (intervals, parts): rows of each part before them
    totals: np.ndarray  # (parts,): all rows of each part

    def intervals(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Each interval's first row, end, and rows of each part before it."""
        ends = np.append(self.bounds, self.totals.sum())[1:]
        yield from zip(self.bounds.tolist(), ends.tolist(), self.before, strict=True)

    def owned_before(self, row: int) -> np.ndarray:
        """Rows of each part before `row`, which must begin an interval."""
        index = int(np.searchsorted(self.bounds, row))
        assert self.bounds[index] == row, f"row {row} begins no interval"
        counts: np.ndarray = self.before[index]
        return counts


def count_intervals(
    owners: Mapping[str, Region], marks: Mapping[str, Sequence[int]], num_parts: int, max_rows: int, runner: Runner
) -> dict[str, RowOffsets]:
    """Count the owners of whole types in intervals of at most `max_rows` that begin at every mark."""
    intervals = {
        name: [
            region.block(start, stop, region.path)
            for start, stop in cut_intervals(region.num_rows, marks.get(name, ()), max_rows)
        ]
        for name, region in owners.items()
    }
    units = [
        Unit(interval, interval.num_rows * owners[name].dtype.itemsize, key=name)
        for name, of_type in intervals.items()
        for interval in of_type
    ]
    results = iter(runner.run(Pass("count-owners", count_owners, units, num_parts)))
    offsets = {}
    for name, of_type in intervals.items():
        bounds = np.array([interval.first_row for interval in of_type], np.int64)
        table = np.array([next(results) for _ in of_type], np.int64).reshape(-1, num_parts)
        offsets[name] = RowOffsets(bounds, exclusive_sums(table), table.sum(axis=0, dtype=np.int64))
    return offsets


def count_owners(unit: Block[np.ndarray], num_parts: int) -> np.ndarray:
    """Count the owners of one interval, int64 (parts,)."""
    owners, counts = unit.read(), np.zeros(num_parts, np.int64)
    bad = count_kernel(owners, num_parts, counts)
    if bad >= 0:
        raise AssignmentError(
            "owner out of range",
            file=unit.file,
            place=f"row {unit.first_row + bad:,}",
            expected=f"a part in [0, {num_parts})",
            found=owners[bad],
        )
    return counts


def exclusive_sums(table: np.ndarray) -> np.ndarray:
    """Sums of all earlier rows of a table, row by row."""
    sums = np.zeros_like(table)
    np.cumsum(table[:-1], axis=0, out=sums[1:])
    return sums


def cut_intervals(num_rows: int, marks: Iterable[int], max_rows: int) -> list[tuple[int, int]]:
    """Cut rows into intervals (start, stop) of at most `max_rows` that begin at every mark."""
    edges = sorted({0, num_rows, *(mark for mark in marks if 0 <= mark < num_rows)})
    return [
        (start, min(start + max_rows, stop))
        for low, stop in itertools.pairwise(edges)
        for start in range(low, stop, max_rows)
    ]
