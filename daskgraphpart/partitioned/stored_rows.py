"""Rows of one type over all parts, by new type-wise ID, as in DGL's `DistTensor`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.ids.ranges import as_ids, check_ids, is_tensor, like, places_by_part
from daskgraphpart.public import Public

if TYPE_CHECKING:
    from daskgraphpart.storage.region import Region

BLOCK_NBYTES = 16 << 20
ROW_NBYTES = 32
"""Bytes of a row at least, so that its places fit into the memory of a block as well."""


class StoredRows(Public):
    """A feature of a type, or its original IDs: `name`, `shape`, `ndim`, `dtype`, `nbytes`; reads only requested rows.

    Examples
    --------
    >>> parts.nodes["item"].data["feat"][[0, 10, 20], :3]
    array([[0.19678187, 0.5386426 , 0.96299374],
           [0.23204339, 0.6159378 , 0.36695933],
           [0.69858474, 0.9919006 , 0.1733033 ]], dtype=float32)
    """

    def __init__(self, name: str, regions: Sequence[Region]) -> None:
        self.name = name
        self.regions = tuple(regions)
        # an empty region may have any dtype
        first = next((region for region in regions if region.num_rows), regions[0])
        self.shape = (sum(region.num_rows for region in regions), *first.shape[1:])
        self.ndim, self.dtype = len(self.shape), first.dtype
        self.nbytes = sum(region.nbytes for region in regions)
        self._ends = np.cumsum([region.num_rows for region in regions])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> Any:
        """Read rows by an ID, a slice, IDs of any shape, a tensor of IDs, or a mask; then index the other axes."""
        first, *rest = where if isinstance(where, tuple) else (where,)
        if isinstance(first, slice):
            start, stop, step = first.indices(len(self))
            rows = self._range(start, max(start, stop)) if step == 1 else self._gather(np.arange(start, stop, step))
            return rows[(slice(None), *rest)]
        ids = first if is_tensor(first) else np.asarray(first)
        if str(ids.dtype) in ("bool", "torch.bool"):
            check_ids(np.array([len(ids) - 1]), len(self), f"mask of {self.name}: ")
            ids = like(np.flatnonzero(ids), first)
        rows = self._gather(as_ids(ids))
        return like(rows[(slice(None),) * ids.ndim + tuple(rest)], first)

    def __dask_tokenize__(self) -> list[tuple[str, int, str, tuple[int, ...]]]:
        return [(str(of.path), of.offset, of.dtype.str, of.shape) for of in self.regions]

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
        return rows.reshape((*ids.shape, *self.shape[1:]))


class Reordered:
    """Sliceable rows in the other order; `places` are too large by `shift`."""

    def __init__(self, rows: Any, places: StoredRows, shift: int) -> None:
        self.rows, self.places, self.shift = rows, places, shift
        self.shape, self.ndim, self.dtype = tuple(rows.shape), len(rows.shape), np.dtype(rows.dtype)
        row_nbytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        self.block_rows = max(1, BLOCK_NBYTES // max(ROW_NBYTES, row_nbytes))

    def __getitem__(self, where: Any) -> np.ndarray:
        first, *rest = where if isinstance(where, tuple) else (where,)
        rows: np.ndarray = self.rows[self.places[first] - self.shift]
        return rows[(slice(None), *rest)]


Maps: TypeAlias = Sequence[Sequence[StoredRows]]
"""Original type-wise IDs of every node type, and of every edge type."""
