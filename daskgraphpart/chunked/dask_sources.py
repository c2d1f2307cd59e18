"""Sources in dask collections: dask partitions of edge frames, and chunks of feature arrays."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.rows import refuse_gaps, token_of
from daskgraphpart.chunked.sources import INT64, Piece
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Iterator


class DaskEdges:
    """Edges in a dask frame with columns `src` and `dst`, and the length of each dask partition.

    No dataclass: dask looks into those in function arguments, and would compute the frame.
    """

    __slots__ = ("frame", "lengths", "name")
    dtype = INT64  # of IDs

    def __init__(self, name: str, frame: Any, lengths: tuple[int, ...]) -> None:
        self.name, self.frame, self.lengths = name, frame, lengths

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of edges, and 2."""
        return sum(self.lengths), 2

    @property
    def token(self) -> str:
        """Dask's name for the frame: equal for equal task graphs."""
        return token_of(self.frame)

    def cut(self, _: int, __: np.ndarray | None = None) -> list[Piece]:
        """List the dask partitions."""
        starts = accumulate(self.lengths, initial=0)
        return [
            Piece(first, num_rows, partial(ends_of_frame, name=name), partition, name)
            for first, num_rows, partition, name in zip(
                starts, self.lengths, self.frame.to_delayed(), self._names(), strict=False
            )
        ]

    def _names(self) -> Iterator[str]:
        return (f"partition {number} of {self.name!r}" for number in range(len(self.lengths)))


class DaskRows:
    """A feature in a dask array with known chunks; no dataclass either."""

    __slots__ = ("array", "name")

    def __init__(self, name: str, array: Any) -> None:
        self.name, self.array = name, array

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        dtype: np.dtype = np.dtype(self.array.dtype)
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def token(self) -> str:
        """Dask's name for the array."""
        return token_of(self.array)

    def cut(self, _: int, __: np.ndarray | None = None) -> list[Piece]:
        """List the chunks of whole rows."""
        whole = self.array.rechunk(dict.fromkeys(range(1, self.array.ndim), -1))
        starts, read = (
            accumulate(whole.chunks[0], initial=0),
            partial(_rows_of_chunk, dtype=self.dtype, row_shape=self.shape[1:]),
        )
        return [
            Piece(int(first), int(num_rows), partial(read, name=f"partition {number} of {self.name!r}"), chunk)
            for number, (first, num_rows, chunk) in enumerate(
                zip(starts, whole.chunks[0], whole.to_delayed().reshape(-1), strict=False)
            )
        ]


def ends_of_frame(frame: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a user's edges as int64; refuse anything but IDs."""
    columns = [(column, frame[column].to_numpy()) for column in ("src", "dst")]
    for column, ids in columns:
        if ids.dtype.kind not in "iu":
            found, hint = f"dtype {frame[column].dtype}", "IDs are integers, none missing"
            raise InputFileError(
                "invalid node IDs", file=name, place=column, expected="integers", found=found, hint=hint
            )
    src, dst = (ids.astype(np.int64, copy=False) for _, ids in columns)
    return src, dst


def _rows_of_chunk(rows: Any, dtype: np.dtype, row_shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return a user's rows in the declared dtype and shape."""
    refuse_gaps(rows, name)
    values = np.asarray(rows)
    for what, expected, found, is_held in (
        ("shape", row_shape, values.shape[1:], values.shape[1:] == row_shape),
        ("dtype", dtype, values.dtype, np.can_cast(values.dtype, dtype)),
    ):
        if not is_held:
            what, hint = (
                f"the rows have another {what} than dask expects",
                "values may be missing, or its meta is wrong",
            )
            raise InputFileError(what, file=name, expected=f"{expected}", found=f"{found}", hint=hint)
    return np.ascontiguousarray(values, dtype)
