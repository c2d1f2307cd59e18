"""Sources in dask collections: dask partitions of edge frames, and chunks of feature arrays; passes over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import GraphPartError, InputFileError, OptionError
from daskgraphpart.graph.rows import refuse_missing_values, token_of
from daskgraphpart.graph.sources import INT64
from daskgraphpart.source import Block, Source

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Pass, ResultT, Runner


class DaskRows(Source):
    """Edges in a dask frame with columns `src` and `dst`, or a feature in an array with known chunks.

    Edges come with the length of each dask partition. No dataclass: dask looks into those in function arguments, and
    would compute the collection.
    """

    __slots__ = ("collection", "identify", "lengths", "name")
    can_seek = False

    def __init__(
        self,
        name: str,
        collection: Any,
        lengths: tuple[int, ...] | None = None,
        identify: Callable[[Any], str] = token_of,
    ) -> None:
        self.name, self.collection, self.lengths, self.identify = name, collection, lengths, identify

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.collection.dtype) if self.lengths is None else INT64

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.collection.shape) if self.lengths is None else (sum(self.lengths), 2)

    @property
    def tokens(self) -> tuple[str, ...]:
        return (self.identify(self.collection),)

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        """List the dask partitions of edges, or the chunks of whole rows."""
        read: Callable[..., Any] = ends_of_frame
        if self.lengths is not None:
            lengths, partitions = self.lengths, self.collection.to_delayed()
        else:
            whole = self.collection.rechunk(dict.fromkeys(range(1, self.collection.ndim), -1))
            lengths, partitions = whole.chunks[0], whole.to_delayed().reshape(-1)
            read = partial(_rows_of_chunk, dtype=self.dtype, row_shape=self.shape[1:])
        listed, first_row = [], 0
        for number, (length, partition) in enumerate(zip(lengths, partitions, strict=True)):
            name, num_rows = f"partition {number} of {self.name!r}", int(length)
            file = None if self.lengths is None else name
            load = partial(read, name=name)
            listed.append(Block(load, partition, first_row=first_row, num_rows=num_rows, file=file))
            first_row += num_rows
        return listed


def ends_of_frame(frame: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a user's edges as int64; refuse anything but IDs."""
    columns = [(column, frame[column].to_numpy()) for column in ("src", "dst")]
    for column, ids in columns:
        if ids.dtype.kind not in "iu":
            kind, hint = f"dtype {frame[column].dtype}", "IDs are integers, none missing"
            raise InputFileError(
                "invalid node IDs", file=name, place=column, expected="integers", found=kind, hint=hint
            )
    src, dst = (ids.astype(np.int64, copy=False) for _, ids in columns)
    return src, dst


def _rows_of_chunk(rows: Any, dtype: np.dtype, row_shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return a user's rows in the declared dtype and shape."""
    refuse_missing_values(rows, name)
    values = np.asarray(rows)
    for what, expected, actual, is_held in (
        ("shape", row_shape, values.shape[1:], values.shape[1:] == row_shape),
        ("dtype", dtype, values.dtype, np.can_cast(values.dtype, dtype)),
    ):
        if not is_held:
            what, hint = (
                f"the rows have another {what} than dask expects",
                "values may be missing, or its meta is wrong",
            )
            raise InputFileError(what, file=name, expected=f"{expected}", found=f"{actual}", hint=hint)
    return np.ascontiguousarray(values, dtype)


def run_collections(runner: Runner, of_dask: Pass[Any, Any, ResultT]) -> list[ResultT]:
    """Run a pass over dask partitions; any error of the user's functions becomes one of ours."""
    try:
        return runner.run(of_dask)
    except (GraphPartError, MemoryError, OSError):
        raise
    except Exception as fault:
        message = f"{type(fault).__name__}: {str(fault)[:300]}"
        raise OptionError("computing a dask collection failed", found=message) from fault


def return_unchanged(value: Any) -> Any:
    """Return what a dask partition holds."""
    return value
