"""Lines in any order, brought to their places: grouped by range of IDs, so that one range at a time fits into memory.

Each block of lines becomes a run: an npy array whose first column is the ID a line is about, and whose last is its row
in the block. Inside a range, lines keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.owner_sort import group_positions, group_starts
from daskgraphpart.storage.region import create_npy
from daskgraphpart.storage.runs import HEADER_NBYTES, run_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEY = 0


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows ``[start, start + num_rows)`` of the run of a block, which has `rows_in_run`."""

    index: int
    rows_in_run: int
    start: int
    num_rows: int


@dataclass(frozen=True, slots=True)
class RangeUnit:
    """IDs ``[start, stop)``, and where lines about them are."""

    start: int
    stop: int
    slices: tuple[Slice, ...]

    @property
    def size(self) -> int:
        """Number of IDs."""
        return self.stop - self.start

    @property
    def num_lines(self) -> int:
        """Number of lines."""
        return sum(piece.num_rows for piece in self.slices)


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """How IDs are cut into ranges, and where the runs are.

    Parameters
    ----------
    num_keys : int
        IDs are below this.
    width : int
        IDs in a range.
    prefix : str
        Begin of the paths of runs.
    dtype : numpy.dtype
        Of all columns of the runs.
    num_columns : int
        Columns of a run, with the ID and the row.
    """

    num_keys: int
    width: int
    prefix: str
    dtype: np.dtype
    num_columns: int

    def run(self, index: int) -> str:
        """Path of the run of a block."""
        return f"{self.prefix}{index}.npy"

    def group(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count the IDs in each range, and list the rows grouped by range."""
        ranges = (keys // self.width).astype(np.uint32)
        counts = np.bincount(ranges, minlength=-(-self.num_keys // self.width))
        order = np.empty(keys.size, np.int64)
        group_positions(ranges, group_starts(counts)[:-1], order)
        return counts, order

    def write_run(self, index: int, keys: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """Write the run of a block; return how many lines fall into each range."""
        counts, order = self.group(keys)
        run = np.empty((self.num_columns, keys.size), self.dtype)
        for column, of_column in zip(run, (keys, *values, np.arange(keys.size)), strict=True):
            column[:] = of_column[order]
        region = create_npy(self.run(index), run.dtype, run.shape)
        assert region.offset == HEADER_NBYTES, "npy headers changed their size"
        region.write(run, 0)
        return counts

    def units(self, counts: Sequence[np.ndarray]) -> list[RangeUnit]:
        """List all ranges, given how many lines of each block fall into each."""
        slices: list[list[Slice]] = [[] for _ in range(-(-self.num_keys // self.width))]
        for index, of_block in enumerate(counts):
            starts = group_starts(of_block)
            for number in np.flatnonzero(of_block).tolist():
                slices[number].append(Slice(index, int(starts[-1]), int(starts[number]), int(of_block[number])))
        return [
            RangeUnit(number * self.width, min((number + 1) * self.width, self.num_keys), tuple(of_range))
            for number, of_range in enumerate(slices)
        ]

    def read(self, unit: RangeUnit, columns: Sequence[int]) -> Iterator[tuple[Slice, list[np.ndarray]]]:
        """Read columns of the lines of a range, block by block; IDs are counted from the start of the range."""
        for piece in unit.slices:
            path, stop = self.run(piece.index), piece.start + piece.num_rows
            read = [
                run_column(path, self.dtype, piece.rows_in_run, column).read(piece.start, stop) for column in columns
            ]
            yield piece, [values - unit.start if c == KEY else values for c, values in zip(columns, read, strict=True)]

    def find_repeat(self, unit: RangeUnit) -> tuple[int, int, int]:
        """Find the first line, in the order of the blocks, about an ID that had one: its block, row, and the ID."""
        seen = np.zeros(unit.size, np.bool_)
        for piece, (keys, rows) in self.read(unit, (KEY, self.num_columns - 1)):
            again = seen[keys]
            _, first = np.unique(keys, return_index=True)
            again[np.delete(np.arange(keys.size), first)] = True
            if again.any():
                place = int(np.flatnonzero(again)[0])
                return piece.index, int(rows[place]), unit.start + int(keys[place])
            seen[keys] = True
        raise AssertionError("a range was said to hold an ID twice, so this is a bug")
