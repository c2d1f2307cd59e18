"""Rows of a remote array, taken like those of a memory map: only those that are asked for are read.

Rows that lie near each other come with one request, because a request costs as much as some 100 KB; what is read at one
time is bounded, however many rows are taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.remote.store import read_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.remote.name import StoredName

GAP_NBYTES = 128 << 10
"""Bytes between two rows that are rather read than skipped."""

PIECE_NBYTES = 8 << 20
"""Bytes of one request, unless one row has more."""


class RemoteRows:
    """A typed array at a byte offset of a remote file, read-only.

    Parameters
    ----------
    url : StoredName
        The file.
    offset : int
        Byte at which the first row begins.
    dtype : numpy.dtype
        Dtype.
    shape : tuple of int
        Shape in C order.
    """

    __slots__ = ("dtype", "offset", "shape", "url")

    def __init__(self, url: StoredName, offset: int, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        self.url, self.offset, self.dtype, self.shape = url, offset, dtype, shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def _row_nbytes(self) -> int:
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Read all rows."""
        return self.read(0, len(self)).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, where: Any) -> np.ndarray:
        """Read rows: a slice, an integer, or an array of integers or of bools; further axes are taken from these."""
        if isinstance(where, tuple):
            if not where or where[0] is Ellipsis or where[0] is None:
                return np.asarray(self.read(0, len(self))[where])
            found = self[where[0]]
            return np.asarray(
                found[where[1:]]
                if np.ndim(where[0]) == 0 and not isinstance(where[0], slice)
                else found[(slice(None), *where[1:])]
            )
        if isinstance(where, slice):
            start, stop, step = where.indices(len(self))
            return self.read(start, max(start, stop)) if step == 1 else self[np.arange(start, stop, step)]
        rows = np.asarray(where)
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        return self._gather(rows)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        found = np.empty((stop - start, *self.shape[1:]), self.dtype)
        fill(self.url, self.offset + start * self._row_nbytes, found)
        return found

    def _gather(self, rows: np.ndarray) -> np.ndarray:
        flat = rows.reshape(-1).astype(np.int64, copy=False)
        if flat.size and not 0 <= flat.min() <= flat.max() < len(self):
            raise IndexError(f"row out of range [0, {len(self)})")
        found = np.empty((flat.size, *self.shape[1:]), self.dtype)
        if self._row_nbytes == 0 or not flat.size:
            return found.reshape(*rows.shape, *self.shape[1:])
        order = np.argsort(flat, kind="stable")
        ascending = flat[order]
        for first, stop in self._spans(ascending):
            low = int(ascending[first])
            span = self.read(low, int(ascending[stop - 1]) + 1)
            found[order[first:stop]] = span[ascending[first:stop] - low]
        return found.reshape(*rows.shape, *self.shape[1:])

    def _spans(self, ascending: np.ndarray) -> list[tuple[int, int]]:
        """Cut ascending rows where the gap is wide, and where a request would become too large."""
        far = max(1, GAP_NBYTES // self._row_nbytes)
        most = max(1, PIECE_NBYTES // self._row_nbytes)
        ends = np.append(np.flatnonzero(np.diff(ascending) > far) + 1, ascending.size)
        spans, first = [], 0
        for end in ends.tolist():  # a request each, not a row each
            while first < end:
                stop = min(end, int(np.searchsorted(ascending, ascending[first] + most)))
                spans.append((first, stop))
                first = stop
        return spans


class JoinedRows:
    """Rows of several remote arrays, one after another, as dask takes them.

    Parameters
    ----------
    pieces : sequence of RemoteRows
        All of one dtype and shape of a row.
    """

    __slots__ = ("dtype", "pieces", "shape")

    def __init__(self, pieces: Sequence[RemoteRows]) -> None:
        self.pieces, self.dtype = tuple(pieces), pieces[0].dtype
        self.shape = (sum(len(piece) for piece in pieces), *pieces[0].shape[1:])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return tuple((str.__str__(p.url), p.offset, p.dtype.str, p.shape) for p in self.pieces)

    def __getitem__(self, where: Any) -> np.ndarray:
        """Read rows, as `RemoteRows` does; the first index is a slice or an array of integers."""
        first, rest = (where[0], where[1:]) if isinstance(where, tuple) else (where, ())
        if isinstance(first, slice):
            start, stop, step = first.indices(self.shape[0])
            rows = self._range(start, max(start, stop)) if step == 1 else self._gather(np.arange(start, stop, step))
        else:
            rows = self._gather(np.asarray(first))
        return rows[(slice(None),) * (rows.ndim - self.ndim + 1) + rest] if rest else rows

    def _range(self, start: int, stop: int) -> np.ndarray:
        rows, first = np.empty((stop - start, *self.shape[1:]), self.dtype), 0
        for piece in self.pieces:
            low, high = max(start, first), min(stop, first + len(piece))
            if low < high:
                rows[low - start : high - start] = piece.read(low - first, high - first)
            first += len(piece)
        return rows

    def _gather(self, ids: np.ndarray) -> np.ndarray:
        rows, first = np.empty((*ids.shape, *self.shape[1:]), self.dtype), 0
        for piece in self.pieces:
            mine = (ids >= first) & (ids < first + len(piece))
            rows[mine] = piece[ids[mine] - first]
            first += len(piece)
        return rows


def fill(url: StoredName, offset: int, rows: np.ndarray) -> None:
    """Fill a C-contiguous array with the bytes of a file from an offset on, with bounded requests."""
    buffer = rows.reshape(-1).view(np.uint8) if rows.size else np.empty(0, np.uint8)
    for start in range(0, buffer.size, PIECE_NBYTES):
        stop = min(start + PIECE_NBYTES, buffer.size)
        buffer[start:stop] = np.frombuffer(read_range(url, offset + start, offset + stop), np.uint8)
