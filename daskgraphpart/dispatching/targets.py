"""Where named arrays go: one place in the files of every part, for each layout that wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.atomic import temporary_path
from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Where one array goes in one file of every part: `offsets` (bytes) and `num_rows` are int64 (parts,)."""

    out: str  # output
    name: str  # path of the file below it, with ``{part}``
    offsets: np.ndarray
    num_rows: np.ndarray
    dtype: np.dtype
    row_shape: tuple[int, ...]

    def region(self, part: int) -> Region:
        """Region of a part, in its unfinished file."""
        shape = (int(self.num_rows[part]), *self.row_shape)
        path = temporary_path(f"{self.out}/{file_of_part(self.name, part)}")
        return Region(path, int(self.offsets[part]), self.dtype, shape)

    def write(self, part: int, start: int, rows: np.ndarray) -> None:
        """Write rows of a part from its row `start` on."""
        self.region(part).write(rows, start)


Targets: TypeAlias = Mapping[str, tuple[Target, ...]]
"""By name of the array, as `layouts.layout` lists them."""


class RowTarget(Protocol):
    """Where rows of all parts go: a `Target`, or a `StagedArray`."""

    @property
    def dtype(self) -> np.dtype:
        """Dtype that is stored."""

    def write(self, part: int, start: int, rows: np.ndarray) -> None:
        """Write rows of a part from its row `start` on."""


def file_of_part(name: str, part: int) -> str:
    """Path of a part's file, of one with ``{part}``."""
    return name.replace("{part}", str(part))


def write_rows(regions: tuple[Region, ...], rows: np.ndarray, start: int) -> None:
    """Write rows of an array to all its regions, from row `start` on."""
    for region in regions:
        region.write(rows, start)


def write_groups(rows: np.ndarray, counts: np.ndarray, targets: Sequence[RowTarget], before: np.ndarray) -> None:
    """Write rows that are grouped by part, `counts` of each, behind the `before` rows of each (int64 (parts,))."""
    if rows.size == 0:
        return
    starts = group_starts(counts)
    for target in targets:
        stored = np.ascontiguousarray(rows, target.dtype)
        for part in np.flatnonzero(counts).tolist():
            target.write(part, int(before[part]), stored[starts[part] : starts[part + 1]])
