"""Rows of one type over all parts: taken by new type-wise ID, as from DGL's `DistTensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from upath import UPath

from daskgraphpart.book import as_ids, check_ids, is_tensor, like, places_by_part
from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.storage.region import Region


class StoredRows:
    """A feature of a type, or its original IDs; only the rows that are asked for are read.

    Examples
    --------
    >>> graph.nodes["paper"].data["feat"][[0, 10, 20]]  # doctest: +SKIP
    """

    def __init__(self, name: str, regions: Sequence[Region]) -> None:
        self.name = name
        self.regions = tuple(regions)
        self._ends = np.cumsum([region.num_rows for region in self.regions])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape; the first axis counts the rows of all parts."""
        return (int(self._ends[-1]), *self.regions[0].shape[1:])

    @property
    def dtype(self) -> np.dtype:
        """Dtype."""
        return self.regions[0].dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return sum(region.nbytes for region in self.regions)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Any) -> Any:
        """Read rows.

        Arrays: `ids`: int, slice, sequence or of int, bool , tensor.
        """
        if isinstance(ids, slice):
            start, stop, step = ids.indices(len(self))
            if step == 1:
                return self._range(start, max(start, stop))
            return self[np.arange(start, stop, step)]
        if not isinstance(ids, (int, np.integer)) and _is_mask(ids):
            mask = ids.numpy() if is_tensor(ids) else np.asarray(ids)
            check_ids(np.array([mask.size - 1]), len(self), f"mask of {self.name}: ")
            return like(self._gather(np.flatnonzero(mask)), ids)
        rows = self._gather(as_ids(ids))
        return like(rows, ids)

    def view(self, rows: slice) -> np.ndarray:
        """Rows of a slice without a step, as a memory map where they lie in one local file."""
        start, stop, _ = rows.indices(len(self))
        number = min(int(np.searchsorted(self._ends, start, side="right")), len(self.regions) - 1)
        region, end = self.regions[number], int(self._ends[number])
        if isinstance(region.path, UPath) or not start < stop <= end:
            return self._range(start, max(start, stop))
        mapped = region.memmap()[start - end + region.num_rows : stop - end + region.num_rows]
        return np.asarray(mapped)

    def __repr__(self) -> str:
        return f"<StoredRows {self.name}: {self.dtype.name}{list(self.shape)}>"

    def _range(self, start: int, stop: int) -> np.ndarray:
        rows = np.empty((stop - start, *self.shape[1:]), self.dtype)
        number, low = int(np.searchsorted(self._ends, start, side="right")), start
        while low < stop:
            region, end = self.regions[number], int(self._ends[number])
            high = min(stop, end)
            region.read_into(rows[low - start : high - start], low - end + region.num_rows)
            number, low = number + 1, high
        return rows

    def _gather(self, ids: np.ndarray) -> np.ndarray:
        check_ids(ids, len(self), self.name)
        flat = ids.reshape(-1)
        rows = np.empty((flat.size, *self.shape[1:]), self.dtype)
        for number, places in places_by_part(np.searchsorted(self._ends, flat, side="right")):
            region = self.regions[number]
            rows[places] = region.take(flat[places] - int(self._ends[number]) + region.num_rows)
        return rows.reshape(*ids.shape, *self.shape[1:])


def _is_mask(ids: Any) -> bool:
    if is_tensor(ids):
        return str(ids.dtype) == "torch.bool"
    return np.asarray(ids).dtype == np.bool_


def original_ids(of_parts: Sequence[Mapping[str, Region]], kind: str, where: object) -> StoredRows:
    """Original IDs of a type by new type-wise ID, given those of each part; `where` they should be is for messages."""
    regions = [of_part[kind] for of_part in of_parts if kind in of_part]
    if not regions:
        raise LayoutError(
            f"the original IDs of {kind} were not saved",
            file=str(where),
            expected="orig_nids.dgl and orig_eids.dgl, as daskgraphpart and DGL's dispatch_data --save-orig-nids write",
        )
    return StoredRows(f"original IDs of {kind}", regions)
