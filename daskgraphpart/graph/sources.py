"""Sources in files: features and edges in npy and parquet files, edges in lines of CSV."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.graph.formats import FORMATS, InputFile, check_ends, cut_rows
from daskgraphpart.source import Block, Edges, FilePath, Source

if TYPE_CHECKING:
    from daskgraphpart.graph.read_csv import Lines
    from daskgraphpart.schema import DataSpec, EdgeType

INT64 = np.dtype(np.int64)
FileRange = tuple[InputFile, int, int, int]
"""A file, a range of its rows, and the row of the source that comes first in it."""


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


@dataclass(frozen=True, eq=False)
class _Files(Source):
    """Consecutive files."""

    files: tuple[InputFile, ...]

    @property
    def paths(self) -> tuple[FilePath, ...]:
        return tuple(dict.fromkeys(file.path for file in self.files))

    @property
    def nbytes(self) -> int:
        return sum(file.nbytes for file in self.files)

    @cached_property
    def _whole(self) -> tuple[list[FileRange], list[int]]:
        """Ranges of npy and parquet files, as long as they can be, and the first row of each."""
        ranges = [*_numbered(cut_rows(self.files, sys.maxsize))]
        return ranges, [first for *_, first in ranges]

    def ranges(self, max_rows: int, stretches: np.ndarray | None) -> list[FileRange]:
        """Cut npy and parquet files along their row groups."""
        ranges = [*_numbered(cut_rows(self.files, max(1, max_rows)))]
        if stretches is None:
            return ranges
        return [*_clipped(ranges, [first for *_, first in ranges], stretches.tolist())]

    def ranges_in(self, start: int, stop: int) -> Iterator[FileRange]:
        """Find the files' rows that are rows ``[start, stop)`` of the source."""
        return _clipped(*self._whole, [(start, stop)])


def _numbered(ranges: Iterable[tuple[InputFile, int, int]]) -> Iterator[FileRange]:
    first = 0
    for file, start, stop in ranges:
        yield file, start, stop, first
        first += stop - start


def _clipped(
    ranges: Sequence[FileRange], firsts: Sequence[int], stretches: Iterable[tuple[int, int]]
) -> Iterator[FileRange]:
    """Clip ranges to ascending stretches of the source's rows."""
    for low, high in stretches:
        begin = max(0, bisect_right(firsts, low) - 1)
        for file, start, stop, first in ranges[begin : bisect_left(firsts, high)]:
            skipped, end = max(0, low - first), min(stop - start, high - first)
            if skipped < end:
                yield file, start + skipped, start + end, first + skipped


def _block(of: FileRange, load: Callable[[], Any]) -> Block[Any]:
    file, start, stop, first = of
    return Block(load, first_row=first, num_rows=stop - start, file=file.path, row_in_file=start)


@dataclass(frozen=True, eq=False)
class FileRows(_Files):
    """A feature in npy or parquet files."""

    spec: DataSpec
    names: tuple[str, ...] = ()  # of parquet columns; default: all

    @property
    def dtype(self) -> np.dtype:
        return self.spec.dtype

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return sum(file.num_rows or 0 for file in self.files), *self.spec.row_shape

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        return [
            _block(of, partial(_read_rows, *of[:3], self.spec, self.names)) for of in self.ranges(max_rows, stretches)
        ]

    def read(self, start: int, stop: int) -> np.ndarray:
        rows = np.empty((stop - start, *self.spec.row_shape), self.spec.dtype)
        for file, begin, end, first in self.ranges_in(start, stop):
            rows[first - start :][: end - begin] = _read_rows(file, begin, end, self.spec, self.names)
        return rows


def _read_rows(file: InputFile, start: int, stop: int, spec: DataSpec, names: tuple[str, ...]) -> np.ndarray:
    chosen = (names,) if names else ()
    rows: np.ndarray = FORMATS[file.format].read_rows(file.path, start, stop, spec, *chosen)
    return rows


@dataclass(frozen=True, eq=False)
class FileEdges(_Files):
    """One type's edges in npy or parquet files."""

    dtype = INT64  # of IDs

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return sum(file.num_rows or 0 for file in self.files), 2

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        ranges = self.ranges(max_rows, stretches)
        return [_block(of, partial(FORMATS[of[0].format].read_edges, of[0].path, *of[1:3])) for of in ranges]

    def read(self, start: int, stop: int) -> np.ndarray:
        edges = np.empty((stop - start, 2), np.int64)
        for file, begin, end, first in self.ranges_in(start, stop):
            edges[first - start :][: end - begin] = np.stack(
                FORMATS[file.format].read_edges(file.path, begin, end), axis=1
            )
        return edges


@dataclass(frozen=True, eq=False)
class CsvEdges(_Files):
    """One type's edges in CSV files; the pass `scan-edges` counts their lines before they are read."""

    num_edges: int
    dtype = INT64  # of IDs
    can_seek = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of edges that the metadata states, and 2."""
        return self.num_edges, 2

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        """Raise: lines are not counted yet."""
        raise NotImplementedError("count_lines counts the lines first")

    def lines(self, max_bytes: int) -> list[Lines]:
        """Cut the files into ranges of bytes, to count their lines."""
        lines: list[Lines] = FORMATS["csv"].cut_lines(self.files, max_bytes)
        return lines


@dataclass(frozen=True, eq=False)
class LineEdges(_Files):
    """One type's edges in ranges of text whose lines are counted; each range is a block."""

    lines: tuple[Any, ...]  # `read_csv.Lines`, or whatever is read like these
    counts: tuple[int, ...]
    dtype = INT64  # of IDs

    @property
    def shape(self) -> tuple[int, ...]:
        return self.firsts[-1], 2

    @cached_property
    def firsts(self) -> list[int]:
        """First edge of each range, then the total."""
        return [*accumulate(self.counts, initial=0)]

    @cached_property
    def rows_in_files(self) -> list[int]:
        """Row of its file at which each range begins; a file begins at its first range, even if it is there twice."""
        rows, begin, before = list[int](), 0, None
        for lines, first in zip(self.lines, self.firsts, strict=False):
            if before is None or lines.path != before.path or lines.start < before.stop:
                begin = first
            rows.append(first - begin)
            before = lines
        return rows

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        """List the ranges that have lines."""
        places = zip(self.lines, self.counts, self.firsts, self.rows_in_files, strict=False)
        return [
            Block(partial(lines.read, count, row), first_row=first, num_rows=count, file=lines.path, row_in_file=row)
            for lines, count, first, row in places
            if count
        ]

    def read(self, start: int, stop: int) -> np.ndarray:
        edges, firsts = np.empty((stop - start, 2), np.int64), self.firsts
        for number in range(max(0, bisect_right(firsts, start) - 1), bisect_left(firsts, stop, hi=len(self.lines))):
            first, count = firsts[number], self.counts[number]
            low, high = max(start, first), min(stop, first + count)
            if low < high:
                of_lines = self.lines[number].read(count, self.rows_in_files[number])
                edges[low - start : high - start] = np.stack(of_lines, axis=1)[low - first : high - first]
        return edges
