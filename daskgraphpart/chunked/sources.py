"""Sources of a graph's rows, in files, memory, or other sources; see `dask_sources.py` for dask.

A source is one type's edges, as rows of two IDs, or a feature. Passes cut it into blocks for tasks to read. Sources
that can read any range are also `Rows`, which can be joined, sliced and reversed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from daskgraphpart.chunked.formats import (
    Block,
    InputFile,
    blocks_between,
    check_ends,
    clip_blocks,
    cut_bytes,
    cut_rows,
    number_blocks,
    read_rows,
)
from daskgraphpart.engine.runner import Input, ValuesT
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import TypeIs

    from daskgraphpart.schema import DataSpec, EdgeType
    from daskgraphpart.storage.paths import FilePath

Edges: TypeAlias = tuple[np.ndarray, np.ndarray]
INT64 = np.dtype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowBlock(Input[ValuesT]):
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
        found = len(values[0] if isinstance(values, tuple) else values)  # type: ignore[arg-type]
        if found != self.num_rows:
            raise InputFileError(
                f"a dask partition of {self.name!r} has changed its number of rows",
                place=f"partition {self.number}",
                expected=f"{self.num_rows:,}",
                found=f"{found:,}",
                hint="persist the collection, or write it to parquet files first: it is not deterministic",
            )
        return values


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


def cut(source: Any, max_rows: int, stretches: np.ndarray | None = None) -> list[RowBlock[Any]]:
    """Cut a source into blocks with a limit on rows; a user's dask partitions stay whole.

    Reads only the rows in `stretches`, ascending ranges, int64 (n, 2).
    """
    if hasattr(source, "cut"):
        blocks: list[RowBlock[Any]] = source.cut(max_rows, stretches)
        return blocks
    ranges = [(0, source.shape[0])] if stretches is None else stretches.tolist()
    bounds = [(low, min(low + max_rows, last)) for first, last in ranges for low in range(first, last, max_rows)]
    files = paths_of(source)
    file = files[0] if len(files) == 1 else None
    return [
        RowBlock(partial(source.read, low, high), first_row=low, num_rows=high - low, file=file, row_in_file=low)
        for low, high in bounds
    ]


def read_edges(
    *given: Any,
    read: Callable[..., Any],
    where: tuple[FilePath | None, int],
    edge_type: EdgeType,
    num_src: int,
    num_dst: int,
) -> Edges:
    """Read a block's sources and destinations, int64, in range; `where` is for messages."""
    edges, (file, first_row) = read(*given), where
    src, dst = edges if isinstance(edges, tuple) else (np.ascontiguousarray(end, np.int64) for end in edges.T)
    check_ends(src, dst, edge_type, num_src, num_dst, file=file, first_row=first_row)
    return src, dst


def is_rows(value: Any) -> TypeIs[Rows]:
    """Whether this is a source that can read any range of rows."""
    return hasattr(value, "read") and hasattr(value, "shape")


def is_source(value: Any) -> bool:
    """Whether this is a source."""
    return is_rows(value) or (hasattr(value, "cut") and hasattr(value, "dtype") and not hasattr(value, "columns"))


def paths_of(source: Any) -> tuple[FilePath, ...]:
    """List the files of a source and those it changes."""
    if hasattr(source, "paths"):
        found: tuple[FilePath, ...] = source.paths
        return found
    return tuple(dict.fromkeys(path for one in _inner(source) for path in paths_of(one)))


def tokens_of(source: Any) -> list[str]:
    """List tokens of the rows that are in no file, for a source and those it changes."""
    if hasattr(source, "token"):
        return [source.token]
    return [token for one in _inner(source) for token in tokens_of(one)]


def _inner(source: Any) -> list[Any]:
    """List the sources that a source changes or joins."""
    values = [getattr(source, field.name) for field in fields(source)] if is_dataclass(source) else []
    return [one for value in values for one in (value if isinstance(value, tuple) else (value,)) if is_source(one)]


def nbytes_of(source: Any) -> int:
    """Bytes of a source; for files, on disk."""
    nbytes: int = getattr(source, "nbytes", None) or int(np.prod(source.shape, dtype=np.int64)) * source.dtype.itemsize
    return nbytes


def edges_between(blocks: Sequence[Block], start: int, stop: int) -> np.ndarray:
    """Read edges ``[start, stop)`` of numbered blocks, int64 (edges, 2)."""
    edges = np.empty((stop - start, 2), np.int64)
    for block in blocks_between(blocks, start, stop):
        first = block.first_row
        low, high = max(start, first), min(stop, first + block.num_rows)
        edges[low - start : high - start] = np.stack(block.read_edges(), axis=1)[low - first : high - first]
    return edges


@dataclass(frozen=True, eq=False)
class _InFiles:
    """Consecutive files."""

    files: tuple[InputFile, ...]

    @cached_property
    def whole_files(self) -> list[Block]:
        """A block of each npy or parquet file."""
        return cut_rows(self.files, sys.maxsize)

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

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""
        return sum(file.num_rows or 0 for file in self.files), *self.spec.row_shape

    def cut(self, max_rows: int, stretches: np.ndarray | None = None) -> list[RowBlock[Any]]:
        """Cut the files along their row groups."""
        blocks: Iterable[Block] = cut_rows(self.files, max_rows)
        if stretches is not None:
            blocks = clip_blocks([*blocks], stretches.tolist())
        return [_row_block(block, self._reader(block)) for block in blocks]

    def _reader(self, block: Block) -> Callable[[], np.ndarray]:
        if self.names:
            from daskgraphpart.chunked.read_parquet import read_parquet_rows

            return partial(read_parquet_rows, block, self.spec.dtype, self.spec.row_shape, self.names)
        return partial(read_rows, block, self.spec)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        rows = np.empty((stop - start, *self.spec.row_shape), self.spec.dtype)
        for block in clip_blocks(self.whole_files, [(start, stop)]):
            rows[block.first_row - start :][: block.num_rows] = self._reader(block)()
        return rows


def _row_block(block: Block, load: Callable[[], Any]) -> RowBlock[Any]:
    return RowBlock(
        load, first_row=block.first_row, num_rows=block.num_rows, file=block.path, row_in_file=block.row_in_file
    )


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
        """Whether these are lines, for `scan-edges` to count."""
        return bool(self.files) and self.files[0].format == "csv"

    def cut(self, max_rows: int, _: np.ndarray | None = None) -> list[RowBlock[Any]]:
        """Cut the files along their row groups; counted lines as counted."""
        blocks = cut_rows(self.files, max_rows) if self.blocks is None else self.blocks
        return [_row_block(block, block.read_edges) for block in blocks]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read edges ``[start, stop)``, int64 (edges, 2)."""
        blocks = [*clip_blocks(self.whole_files, [(start, stop)])] if self.blocks is None else self.blocks
        return edges_between(blocks, start, stop)

    def uncounted(self, max_bytes: int) -> list[Block]:
        """Cut the files into blocks of lines to count."""
        return cut_bytes(self.files, max_bytes)

    def counted(self, blocks: Sequence[Block], counts: Sequence[int]) -> FileEdges:
        """Return the same edges, with each block's lines counted."""
        return FileEdges(self.files, sum(counts), tuple(number_blocks(blocks, counts)))
