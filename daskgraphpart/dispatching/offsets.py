"""Counts to positions, by prefix sums. Pure: everything after this is data movement.

The original ID is the last key of every order, so the rows of one interval that go to one part are contiguous in that
part's output, and where they begin follows from how many rows of earlier intervals the part owns.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True, eq=False)
class RowOffsets:
    """How many rows of a type each part owns before certain rows; int64 arrays.

    `bounds` (intervals,) are the first rows of intervals, `before` (intervals, parts) the rows that each part owns
    before them, `totals` (parts,) those that it owns in all.
    """

    bounds: np.ndarray
    before: np.ndarray
    totals: np.ndarray

    def intervals(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """First row, end, and rows of each part before it, of every interval."""
        ends = np.append(self.bounds, self.totals.sum())[1:]
        yield from zip(self.bounds.tolist(), ends.tolist(), self.before, strict=True)

    def owned_before(self, row: int) -> np.ndarray:
        """Rows that each part owns before `row`, which must begin an interval."""
        index = int(np.searchsorted(self.bounds, row))
        assert self.bounds[index] == row, f"row {row} begins no interval"
        counts: np.ndarray = self.before[index]
        return counts


def row_offsets(bounds: Sequence[int], counts: Sequence[np.ndarray], num_parts: int) -> RowOffsets:
    """Turn the counts (parts,) of consecutive intervals, whose first rows are `bounds`, into offsets."""
    table = np.array(counts, np.int64).reshape(len(bounds), num_parts)
    return RowOffsets(np.array(bounds, np.int64), exclusive_sums(table), table.sum(axis=0, dtype=np.int64))


def exclusive_sums(table: np.ndarray) -> np.ndarray:
    """Sums of all earlier rows of a table, row by row."""
    sums = np.zeros_like(table)
    np.cumsum(table[:-1], axis=0, out=sums[1:])
    return sums


def cut_intervals(num_rows: int, marks: Iterable[int], max_rows: int) -> list[tuple[int, int]]:
    """Cut rows into consecutive intervals of at most `max_rows` that begin at every mark: (start, stop) of each."""
    edges = sorted({0, num_rows, *(mark for mark in marks if 0 <= mark < num_rows)})
    return [
        (start, min(start + max_rows, stop))
        for low, stop in itertools.pairwise(edges)
        for start in range(low, stop, max_rows)
    ]
