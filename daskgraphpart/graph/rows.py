"""Rows in memory, and changed rows of other sources: joined, sliced, filtered, reversed. Any range can be read."""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.graph.sources import INT64
from daskgraphpart.schema import BFLOAT16
from daskgraphpart.source import Block, Source
from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRows(Source):
    """Rows of an array, a memory map, or anything sliced like one."""

    array: Any

    @property
    def dtype(self) -> np.dtype:
        dtype: np.dtype = np.dtype(self.array.dtype)
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def paths(self) -> tuple[str, ...]:
        return (str(self.array.filename),) if isinstance(self.array, np.memmap) and self.array.filename else ()

    @property
    def tokens(self) -> tuple[str, ...]:
        return (token_of(np.asarray(self.array)),)

    @property
    def nbytes(self) -> int:
        return int(self.array.nbytes)

    def read(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self.array[start:stop])


def array_rows(array: Any, what: str = "an array") -> Source:
    """Rows of an array without masked values; a whole mapped file becomes its file's rows."""
    refuse_missing_values(array, what)
    base: Any = getattr(array, "base", None)
    if isinstance(array, np.memmap) and isinstance(base, mmap.mmap) and array.flags.c_contiguous and array.filename:
        return Region(os.fspath(array.filename), array.offset, array.dtype, array.shape)
    return ArrayRows(array)


@dataclass(frozen=True, slots=True, eq=False)
class MadeRows(Source):
    """Rows that a function makes from first and last, and any files it reads."""

    dtype: np.dtype = field()
    shape: tuple[int, ...] = field()
    make: Callable[[int, int], np.ndarray]
    files: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return self.files

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.make(start, stop)


@dataclass(frozen=True, eq=False)
class JoinedRows(Source):
    """Rows of several sources in turn, in a dtype that holds all."""

    parts: tuple[Source, ...]

    @property
    def inputs(self) -> tuple[Source, ...]:
        return self.parts

    @cached_property
    def dtype(self) -> np.dtype:
        return np.result_type(*(part.dtype for part in self.parts))

    @cached_property
    def starts(self) -> list[int]:
        """First row of each source, then the total."""
        return [*accumulate((part.shape[0] for part in self.parts), initial=0)]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.starts[-1], *self.parts[0].shape[1:]

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        """List the blocks of each source, whose files and rows in them are known; stretches are cut from the whole."""
        if stretches is not None and self.can_seek:
            return Source.blocks(self, max_rows, stretches)
        joined = []
        for part, first in zip(self.parts, self.starts, strict=False):
            for block in part.blocks(max_rows):
                load = block.load if part.dtype == self.dtype else partial(_cast_block, load=block.load, to=self.dtype)
                joined.append(replace(block, load=load, first_row=first + block.first_row))
        return joined

    def read(self, start: int, stop: int) -> np.ndarray:
        rows = np.empty((stop - start, *self.shape[1:]), self.dtype)
        begin, end = bisect_right(self.starts, start) - 1, bisect_left(self.starts, stop)
        for part, first in zip(self.parts[begin:end], self.starts[begin:end], strict=False):
            low, high = max(start, first), min(stop, first + part.shape[0])
            if low < high:
                rows[low - start : high - start] = part.read(low - first, high - first)
        return rows


def _cast_block(*given: Any, load: Callable[..., Any], to: np.dtype) -> np.ndarray:
    return np.asarray(load(*given), to)


@dataclass(frozen=True, slots=True, eq=False)
class ChangedRows(Source):
    """Changed rows of another source."""

    rows: Source

    @property
    def inputs(self) -> tuple[Source, ...]:
        return (self.rows,)

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rows.shape


@dataclass(frozen=True, slots=True, eq=False)
class SlicedRows(ChangedRows):
    """Rows ``[first, end)`` of a source."""

    first: int
    end: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.end - self.first, *self.rows.shape[1:]

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.rows.read(self.first + start, self.first + stop)


@dataclass(frozen=True, slots=True, eq=False)
class KeptRows(ChangedRows):
    """The rows with these ascending numbers."""

    numbers: Source

    @property
    def inputs(self) -> tuple[Source, ...]:
        return self.rows, self.numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape[0], *self.rows.shape[1:]

    def read(self, start: int, stop: int) -> np.ndarray:
        kept, done = self.numbers.read(start, stop), 0
        picked = np.empty((len(kept), *self.rows.shape[1:]), self.rows.dtype)
        while done < len(kept):  # in ranges of at most the wanted number of rows, however few are kept
            low = int(kept[done])
            end = int(np.searchsorted(kept, low + len(kept)))
            picked[done:end] = self.rows.read(low, int(kept[end - 1]) + 1)[kept[done:end] - low]
            done = end
        return picked


@dataclass(frozen=True, slots=True, eq=False)
class ReversedEdges(ChangedRows):
    """Edges with their ends swapped."""

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        forward = self.rows.blocks(max_rows, stretches)
        return [replace(block, load=partial(_reversed_block, load=block.load)) for block in forward]

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.rows.read(start, stop)[:, ::-1]


def _reversed_block(*given: Any, load: Callable[..., Any]) -> Any:
    edges = load(*given)
    return edges[::-1] if isinstance(edges, tuple) else edges[:, ::-1]


@dataclass(frozen=True, slots=True, eq=False)
class CastRows(ChangedRows):
    """Rows in another dtype: floats may be rounded, but no value may become infinite or a different integer."""

    what: str
    name: str  # the dtype's name

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.name)

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        cast = partial(_cast_rows, what=self.what, name=self.name)
        plain = self.rows.blocks(max_rows, stretches)
        return [replace(block, load=partial(cast, load=block.load, first=block.first_row)) for block in plain]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``; raises if a value does not fit."""
        return _cast_rows(self.rows.read(start, stop), what=self.what, name=self.name, first=start)


def _cast_rows(*given: Any, what: str, name: str, first: int, load: Callable[..., Any] | None = None) -> np.ndarray:
    """Cast rows, of which `first` is the number of the first, or what `load` reads."""
    rows: np.ndarray = given[0] if load is None else load(*given)
    dtype = np.dtype(name)
    with np.errstate(over="ignore", invalid="ignore"):
        cast = rows.astype(dtype)
        is_lost = np.isfinite(rows) & ~np.isfinite(cast)
        if not all(of.kind == "f" or of == BFLOAT16 for of in (rows.dtype, dtype)):
            is_lost |= (cast != rows) | (cast.astype(rows.dtype) != rows)
    if is_lost.any():
        row = first + int(is_lost.reshape(len(rows), -1).any(axis=1).argmax())
        lost, hint = f"{rows[is_lost][0]} in row {row:,}", "cast to a wider dtype"
        text = f"{dtype.name} cannot hold a value of {rows.dtype.name}"
        raise OptionError(text, option="cast", place=what, found=lost, hint=hint)
    return cast


@dataclass(frozen=True, slots=True, eq=False)
class ConstantRows(Source):
    """As many rows, all the same number."""

    dtype: np.dtype = field()
    shape: tuple[int, ...] = field()
    value: int = field()

    def read(self, start: int, stop: int) -> np.ndarray:
        return np.full((stop - start, *self.shape[1:]), self.value, self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class SelfLoops(Source):
    """An edge from every node of a type to itself."""

    num_nodes: int
    dtype = INT64  # of IDs

    @property
    def shape(self) -> tuple[int, ...]:
        return self.num_nodes, 2

    def read(self, start: int, stop: int) -> np.ndarray:
        return np.arange(start, stop).repeat(2).reshape(-1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class EdgeEnds(Source):
    """Edges from two columns: IDs of sources and destinations."""

    src: Source
    dst: Source
    dtype = INT64  # of IDs

    @property
    def inputs(self) -> tuple[Source, ...]:
        return self.src, self.dst

    @property
    def shape(self) -> tuple[int, ...]:
        return self.src.shape[0], 2

    def read(self, start: int, stop: int) -> np.ndarray:
        ends = self.src.read(start, stop), self.dst.read(start, stop)
        return np.stack(ends, axis=1, dtype=np.int64, casting="unsafe")


def refuse_missing_values(values: Any, what: str) -> None:
    """Refuse values that a numpy array cannot hold: masked ones, and missing ones of pandas' integers and bools."""
    dtype = None if hasattr(values, "dask") else getattr(values, "dtype", None)
    is_nullable = hasattr(values, "isna") and not isinstance(dtype, np.dtype)
    if isinstance(values, np.ma.MaskedArray):
        kind, count, hint = "masked", int(np.sum(np.ma.getmaskarray(values))), "array.filled(VALUE) fills them"
    elif is_nullable and getattr(dtype, "kind", "") in ("b", "i", "u"):
        kind, count, hint = "missing", int(values.isna().sum()), "fillna(VALUE) puts a value there"
    else:
        return
    if count:
        share = f"{count:,} of {np.size(values):,} that are {kind}"
        raise OptionError(f"{what}: values are {kind}", expected="a value everywhere", found=share, hint=hint)


def token_of(value: Any) -> str:
    """Return dask's name of a value: of an array by its content."""
    from dask.base import tokenize

    return str(tokenize(value))
