"""Sources of a graph's rows, in files, memory, or other sources; see `dask_sources.py` for dask.

A source is one type's edges, as rows of two IDs, or a feature. Passes cut it into pieces for tasks to read. Sources
that can read any range are also `Rows`, which can be joined, sliced and reversed.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from daskgraphpart.chunked.formats import (
    FORMATS,
    Block,
    InputFile,
    check_ends,
    clip_blocks,
    cut_bytes,
    cut_rows,
    number_blocks,
    read_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dask.delayed import Delayed
    from typing_extensions import TypeIs

    from daskgraphpart.schema import DataSpec, EdgeType
    from daskgraphpart.storage.paths import FilePath

Edges: TypeAlias = tuple[np.ndarray, np.ndarray]
INT64 = np.dtype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Consecutive rows of a source, and their reader: for edges, of two ID arrays or an array of pairs.

    `given` is the dask partition for the reader; `file` and `row_in_file` are for messages.
    """

    first_row: int
    num_rows: int
    read: Callable[..., Any]
    given: Delayed | None = None
    file: FilePath | None = None
    row_in_file: int = 0


class Source(Protocol):
    """The edges of one type, or a feature."""

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and row shape: ``(2,)`` for edges."""


class Rows(Source, Protocol):
    """A source that can read any range of rows, such as a `Region`."""

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""


def cut(source: Any, max_rows: int, stretches: np.ndarray | None = None) -> list[Piece]:
    """Cut a source into pieces with a limit on rows; a user's dask partitions stay whole.

    Reads only the rows in `stretches`, ascending ranges, int64 (n, 2).
    """
    if hasattr(source, "cut"):
        pieces: list[Piece] = source.cut(max_rows, stretches)
        return pieces
    ranges = [(0, source.shape[0])] if stretches is None else stretches.tolist()
    starts = [(start, last) for first, last in ranges for start in range(first, last, max_rows)]
    files = paths_of(source)
    file = files[0] if len(files) == 1 else None
    return [
        Piece(start, min(max_rows, last - start), partial(_read_range, source, start, min(start + max_rows, last)),
              None, file, start)
        for start, last in starts
    ]  # fmt: skip


def read_edges(
    *given: Any,
    read: Callable[..., Any],
    where: tuple[FilePath | None, int],
    edge_type: EdgeType,
    num_src: int,
    num_dst: int,
) -> Edges:
    """Read a piece's sources and destinations, int64, in range; `where` is for messages."""
    edges, (file, first_row) = read(*given), where
    src, dst = edges if isinstance(edges, tuple) else (np.ascontiguousarray(end, np.int64) for end in edges.T)
    check_ends(src, dst, edge_type, num_src, num_dst, file=file, first_row=first_row)
    return src, dst


def _read_range(source: Rows, start: int, stop: int) -> np.ndarray:
    return source.read(start, stop)


def is_rows(value: Any) -> TypeIs[Rows]:
    """Whether this is a source that can read any range of rows."""
    return hasattr(value, "read") and hasattr(value, "shape")


def is_source(value: Any) -> bool:
    """Whether this is a source."""
    return is_rows(value) or (hasattr(value, "cut") and hasattr(value, "dtype") and not hasattr(value, "columns"))


def paths_of(source: Any) -> tuple[FilePath, ...]:
    """List a source's files."""
    paths: tuple[FilePath, ...] = getattr(source, "paths", ())
    return paths


def tokens_of(source: Any) -> list[str]:
    """List tokens of the rows that are in no file, for a source and those it changes."""
    if hasattr(source, "token"):
        return [source.token]
    values = [getattr(source, field.name) for field in fields(source)] if is_dataclass(source) else []
    inner = [one for value in values for one in (value if isinstance(value, tuple) else (value,)) if is_source(one)]
    return [token for one in inner for token in tokens_of(one)]


def nbytes_of(source: Any) -> int:
    """Bytes of a source; for files, on disk."""
    nbytes: int = getattr(source, "nbytes", None) or int(np.prod(source.shape, dtype=np.int64)) * source.dtype.itemsize
    return nbytes


def read_block(block: Block) -> Edges:
    """Read the sources and destinations of a block of a file, int64."""
    edges: Edges = FORMATS[block.format].read_edges(block)
    return edges


def edges_between(blocks: Sequence[Any], read: Callable[[Any], Edges], start: int, stop: int) -> np.ndarray:
    """Read edges ``[start, stop)`` of numbered blocks, int64 (edges, 2)."""
    edges = np.empty((stop - start, 2), np.int64)
    begin = max(0, bisect_right(blocks, start, key=lambda block: int(block.first_row)) - 1)
    for block in takewhile(lambda block: block.first_row < stop, blocks[begin:]):
        first = block.first_row
        low, high = max(start, first), min(stop, first + block.num_rows)
        edges[low - start : high - start] = np.stack(read(block), axis=1)[low - first : high - first]
    return edges


@dataclass(frozen=True, eq=False)
class _InFiles:
    """Consecutive files."""

    files: tuple[InputFile, ...]

    @cached_property
    def starts(self) -> list[int]:
        """First row of each file, and the number of all rows."""
        return [*accumulate((file.num_rows or 0 for file in self.files), initial=0)]

    def between(self, start: int, stop: int) -> Iterator[Block]:
        """Cut rows ``[start, stop)`` out of the files, a block of each."""
        begin = bisect_right(self.starts, start) - 1
        for file, first, end in zip(self.files[begin:], self.starts[begin:], self.starts[begin + 1 :], strict=False):
            low, high = max(start, first), min(stop, end)
            if first >= stop:
                return
            if low < high:
                place = low - first
                yield Block(file.path, file.format, file.delimiter, place, high - first, low, high - low, place)

    @property
    def paths(self) -> tuple[FilePath, ...]:
        """All files."""
        return tuple(file.path for file in self.files)

    @property
    def nbytes(self) -> int:
        """Size of all files."""
        return sum(file.nbytes for file in self.files)


@dataclass(frozen=True, eq=False)
class FileRows(_InFiles):
    """A feature in npy or parquet files."""

    spec: DataSpec
    names: tuple[str, ...] = ()  # of parquet columns; default: all

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return self.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""
        return self.starts[-1], *self.spec.row_shape

    def cut(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Piece]:
        """Cut the files along their row groups."""
        blocks = cut_rows(self.files, max_rows)
        return [
            Piece(block.first_row, block.num_rows, self._reader(block), None, block.path, block.row_in_file)
            for block in (blocks if stretches is None else clip_blocks(blocks, stretches))
        ]

    def _reader(self, block: Block) -> Callable[[], np.ndarray]:
        if self.names:
            from daskgraphpart.chunked.read_parquet import read_parquet_rows

            return partial(read_parquet_rows, block, self.spec.dtype, self.spec.row_shape, self.names)
        return partial(read_rows, block, self.spec)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        rows = np.empty((stop - start, *self.spec.row_shape), self.spec.dtype)
        for block in self.between(start, stop):
            rows[block.first_row - start :][: block.num_rows] = self._reader(block)()
        return rows


@dataclass(frozen=True, eq=False)
class FileEdges(_InFiles):
    """One type's edges in CSV, npy or parquet files.

    The pass `scan-edges` counts lines of CSV, and numbers `blocks`.
    """

    num_edges: int
    blocks: tuple[Block, ...] | None = None
    dtype = INT64  # of IDs

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of edges, and 2."""
        return self.num_edges, 2

    @property
    def is_text(self) -> bool:
        """Whether these are lines still to be counted."""
        return bool(self.files) and self.files[0].format == "csv"

    def cut(self, max_rows: int, _: np.ndarray | None = None) -> list[Piece]:
        """Cut the files along their row groups; counted lines as counted."""
        blocks = self.blocks if self.is_text else cut_rows(self.files, max_rows)
        assert blocks is not None, "lines are counted first"
        return [
            Piece(block.first_row, block.num_rows, partial(read_block, block), None, block.path, block.row_in_file)
            for block in blocks
        ]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read edges ``[start, stop)``, int64 (edges, 2)."""
        blocks = self.blocks if self.is_text else [*self.between(start, stop)]
        assert blocks is not None, "lines are counted first"
        return edges_between(blocks, read_block, start, stop)

    def uncounted(self, max_bytes: int) -> list[Block]:
        """Cut the files into blocks of lines to count."""
        return cut_bytes(self.files, max_bytes)

    def counted(self, blocks: Sequence[Block], counts: Sequence[int]) -> FileEdges:
        """Return the same edges, with each block's lines counted."""
        return FileEdges(self.files, sum(counts), tuple(number_blocks(blocks, counts)))
