"""The nouns `Source`, rows that a graph is made of, and `Block`, consecutive rows that a task reads.

A source has one type's edges, as rows of two IDs, or a feature. Passes cut it into blocks. Most sources can read any
range of rows, too; those that cannot, such as a user's dask collection, are staged where that is needed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from daskgraphpart.errors import InputFileError

FilePath: TypeAlias = Any
"""Of blocks and regions: a string, or the `UPath` of a file in a store. Most code meets local files only."""

ValuesT = TypeVar("ValuesT")

Edges: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Sources and destinations, int64."""


@dataclass(frozen=True, slots=True, eq=False)
class Input(Generic[ValuesT]):
    """What a task reads: a function, and a partition of a dask collection for it, if any.

    The pass's graph computes the partition, and the task gets its value.
    """

    load: Callable[..., ValuesT]  # module-level, or a `partial` of it; takes the partition's value, if any
    partition: Any = None

    def read(self) -> ValuesT:
        """Read it."""
        return self.load() if self.partition is None else self.load(self.partition)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Block(Input[ValuesT]):
    """Consecutive rows of a source: original type-wise ID of the first, count, name of the type, number in it.

    Edges load as two ID arrays or an array of pairs. `file` and `row_in_file` are for messages.
    """

    first_row: int
    num_rows: int
    name: str = ""
    number: int = 0
    file: FilePath | None = None
    row_in_file: int = 0

    def read(self) -> ValuesT:
        """Read the rows; refuse a dask partition that has changed its length."""
        values = self.load() if self.partition is None else self.load(self.partition)
        num_read = len(values[0] if isinstance(values, tuple) else values)  # type: ignore[arg-type]
        if num_read != self.num_rows:
            raise InputFileError(
                f"a dask partition of {self.name!r} has changed its number of rows",
                place=f"partition {self.number}",
                expected=f"{self.num_rows:,}",
                found=f"{num_read:,}",
                hint="persist the collection, or write it to parquet files first: it is not deterministic",
            )
        return values


class Source(ABC):
    """The edges of one type, or a feature: rows in files, in memory, in dask, or made from other sources.

    Immutable and picklable. A subclass whose `dtype` or `shape` is a dataclass field declares it by `field()`; without,
    the property here would be its default.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and row shape: ``(2,)`` for edges."""

    @property
    def inputs(self) -> tuple[Source, ...]:
        """The sources that this one reads."""
        return ()

    @property
    def can_seek(self) -> bool:
        """Whether `read` takes any range of rows; else only `blocks` are read, whole."""
        return all(one.can_seek for one in self.inputs)

    @property
    def paths(self) -> tuple[FilePath, ...]:
        """All files that are read, each once."""
        return tuple(dict.fromkeys(path for one in self.inputs for path in one.paths))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Names of all rows that are in no file: equal for equal content."""
        return tuple(token for one in self.inputs for token in one.tokens)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows; of files, on disk."""
        return math.prod(self.shape) * self.dtype.itemsize

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        """Cut the rows into blocks of at most `max_rows`; what a user has cut, such as dask partitions, stays whole.

        Reads only the rows in `stretches`, ascending ranges, int64 (n, 2).
        """
        ranges = [(0, self.shape[0])] if stretches is None else stretches.tolist()
        bounds = [(low, min(low + max_rows, last)) for first, last in ranges for low in range(first, last, max_rows)]
        paths = self.paths
        file = paths[0] if len(paths) == 1 else None
        return [self.block(low, high, file) for low, high in bounds]

    def block(self, start: int, stop: int, file: FilePath | None = None) -> Block[Any]:
        """Return rows ``[start, stop)``, all in one file if that is given, as a block."""
        read, num_rows = partial(self.read, start, stop), stop - start
        return Block(read, first_row=start, num_rows=num_rows, file=file, row_in_file=start)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)`` as an array; edges as int64 (edges, 2)."""
        raise NotImplementedError(f"{type(self).__name__} is read by blocks")


def stored_sources(source: Source) -> Iterator[Source]:
    """Yield the sources without inputs that a source reads, or itself."""
    if not source.inputs:
        yield source
    for one in source.inputs:
        yield from stored_sources(one)


def describe_views(source: Source) -> Any:
    """Describe the views on a source as JSON, for the job's identity."""
    return [type(source).__name__, *map(describe_views, source.inputs)] if source.inputs else ""
