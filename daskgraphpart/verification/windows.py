"""The rows of the input in windows whose sums differ, kept in a file by original ID, to be compared one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.storage.region import Region

MAX_EXPLAINED = 16
"""Windows of IDs of which examples are sought; the others are as wrong."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows ``[first, stop)`` of original IDs, and where their rows lie in the file, one window after another."""

    ranges: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    region: Region

    def overlaps(self, first: int, num_rows: int) -> bool:
        """Whether a window holds one of the IDs from `first` on."""
        return any(low < first + num_rows and first < high for low, high in self.ranges)

    def write(self, rows: np.ndarray, first: int) -> None:
        """Write those of the rows with the IDs from `first` on that lie in windows."""
        for (low, high), place in zip(self.ranges, self.places, strict=True):
            start, stop = max(low, first), min(high, first + len(rows))
            if start < stop:
                self.region.write(rows[start - first : stop - first], place + start - low)

    def read(self, number: int, first: int, stop: int) -> np.ndarray:
        """Read rows ``[first, stop)`` of a window, by original ID."""
        place = self.places[number] - self.ranges[number][0]
        return self.region.read(place + first, place + stop)


def create_windows(path: str, ranges: list[tuple[int, int]], dtype: np.dtype, row_shape: tuple[int, ...]) -> Windows:
    """Create the file of the first `MAX_EXPLAINED` windows."""
    ends = [0]
    for first, stop in ranges[:MAX_EXPLAINED]:
        ends.append(ends[-1] + stop - first)
    region = create_npy(path, dtype, (ends[-1], *row_shape))
    return Windows(tuple(ranges[:MAX_EXPLAINED]), tuple(ends[:-1]), region)
