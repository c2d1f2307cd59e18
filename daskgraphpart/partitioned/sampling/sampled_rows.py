"""Gather feature rows from the mapped files of all parts."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.ids.ranges import places_by_part
from daskgraphpart.kernels.copy_rows import copy_rows

if TYPE_CHECKING:
    from daskgraphpart.storage.region import Region

    Groups: TypeAlias = Sequence[tuple[int, np.ndarray]]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """One feature of one type."""

    kind: str  # node type or canonical edge type
    name: str
    is_mask: bool
    dtype: np.dtype
    row_shape: tuple[int, ...]
    first_rows: np.ndarray  # type-wise ID of the first row of each part
    maps: Mapping[int, np.ndarray]  # by part: rows as bytes, uint8 (rows, bytes), mapped

    @property
    def row_nbytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.row_shape, dtype=np.int64)) * self.dtype.itemsize

    def gather(self, ids: np.ndarray, groups: Groups) -> np.ndarray:
        """Read the rows of type-wise IDs into a new array, given the positions of each part's; masks become bool."""
        rows = np.empty((ids.size, *self.row_shape), self.dtype)
        if rows.nbytes:
            out = rows.reshape(ids.size, -1).view(np.uint8)
            for part, places in groups:
                if part not in self.maps:
                    raise LayoutError(f"part {part} lacks {self.kind}/{self.name}, which others have")
                copied = copy_rows(self.maps[part], ids[places] - self.first_rows[part], places, out)
                assert copied == -1, f"{self.kind}/{self.name}: row {ids[places[copied]]} is not in part {part}"
        return rows.astype(bool) if self.is_mask else rows


def group_by_part(owners: np.ndarray) -> Groups:
    """Parts that own something, with its positions."""
    # numpy sorts 16 bits by radix
    return [*places_by_part(owners.astype(np.uint16) if owners.size and owners.max() < 1 << 16 else owners)]


def open_rows(kind: str, name: str, is_mask: bool, regions: Mapping[int, Region], counts: np.ndarray) -> FeatureRows:
    """Map a feature of a type, given the rows of each part, int64 (parts,).

    `PartRows.features` has checked that each region has as many rows as its part owns.
    """
    first = next((region for region in regions.values() if region.num_rows), next(iter(regions.values())))
    for region in regions.values():
        if region.num_rows and (region.dtype, region.shape[1:]) != (first.dtype, first.shape[1:]):
            raise LayoutError(
                "parts disagree about a feature",
                file=region.path,
                place=f"{kind}/{name}",
                expected=f"{first.dtype} of shape {first.shape[1:]}",
                found=f"{region.dtype} of shape {region.shape[1:]}",
                hint="partition the graph again",
            )
    maps = {part: _map_bytes(region) for part, region in regions.items() if region.nbytes}
    return FeatureRows(kind, name, is_mask, first.dtype, first.shape[1:], np.cumsum(counts) - counts, maps)


def _map_bytes(region: Region) -> np.ndarray:
    """Map a region as rows of bytes; reads pages on demand, without read-ahead."""
    rows = np.memmap(region.path, np.uint8, "r", region.offset, (region.num_rows, region.row_nbytes))
    rows._mmap.madvise(mmap.MADV_RANDOM)  # type: ignore[attr-defined]
    return np.asarray(rows)
