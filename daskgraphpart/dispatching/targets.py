"""Where named arrays go: one place in the files of every part for each layout that wants them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.atomic import TEMPORARY_SUFFIX
from daskgraphpart.storage.region import Region, write_exactly


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Where one array goes in one file of every part: `offsets` (bytes) and `num_rows` are int64 (parts,).

    `name` is the path of the file below the output `out`, with ``{part}``.
    """

    out: str
    name: str
    offsets: np.ndarray
    num_rows: np.ndarray
    dtype: np.dtype
    row_shape: tuple[int, ...]

    def path(self, part: int) -> str:
        """Unfinished file of a part."""
        return unfinished(self.out, file_of_part(self.name, part))

    def region(self, part: int) -> Region:
        """Region of a part."""
        shape = (int(self.num_rows[part]), *self.row_shape)
        return Region(self.path(part), int(self.offsets[part]), self.dtype, shape)


Targets: TypeAlias = Mapping[str, tuple[Target, ...]]
"""By name of the array, as `layouts.layout` lists them."""


def file_of_part(name: str, part: int) -> str:
    """Path of a part's file below the output."""
    return name.replace("{part}", str(part))


def unfinished(out: str, name: str) -> str:
    """Path of a file until the job is done."""
    return f"{out}/{name}{TEMPORARY_SUFFIX}"


def write_rows(regions: tuple[Region, ...], rows: np.ndarray, start: int) -> None:
    """Write rows of an array to all its regions, from row `start` on."""
    for region in regions:
        region.write(rows, start)


def write_groups(rows: np.ndarray, counts: np.ndarray, targets: tuple[Target, ...], before: np.ndarray) -> None:
    """Write rows that are grouped by part, `counts` of each, behind the `before` rows of each (int64 (parts,))."""
    if rows.size == 0:
        return
    for target in targets:
        stored = np.ascontiguousarray(rows, target.dtype)
        content = memoryview(stored.reshape(-1).view(np.uint8).data)
        row_nbytes = stored.nbytes // len(stored)
        ends = group_starts(counts) * row_nbytes
        for part in np.flatnonzero(counts).tolist():
            path = target.path(part)
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                offset = int(target.offsets[part] + before[part] * row_nbytes)
                write_exactly(fd, content[ends[part] : ends[part + 1]], offset, path)
            finally:
                os.close(fd)
