"""Write features to files as their tables are read, in the order of rows: wide values never enter the database."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.graph.rows import ConstantRows, JoinedRows
from daskgraphpart.readers.database import select_from
from daskgraphpart.readers.tables.describe.column_file import is_list
from daskgraphpart.readers.tables.describe.columns import (
    STRINGS,
    TIMES,
    VECTORS,
    Column,
    filled_dtype,
    is_integer,
    number_of,
)
from daskgraphpart.readers.tables.load.values import feature_values
from daskgraphpart.source import Source
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.readers.tables.describe.description import OpenFile, Table

COLUMNS_PER_FILE = 32


@dataclass(slots=True, eq=False)
class FeatureFile:
    """Some columns of a feature in a file, numbers or one of vectors; `parts` of one dtype follow each other.

    Numbers in text are integers until one is not. `bad` has the first row and number of bad values, by column.
    """

    numbers: tuple[int, ...]
    kind: str
    fill: str | None
    row_shape: tuple[int, ...] | None  # unknown until the first vector
    path: str  # empty if rows are only counted
    are_whole: bool = True
    num_before: int = 0  # rows before the first vector, which are missing
    parts: list[Region] = field(default_factory=list)
    bad: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        """Number of rows so far."""
        return self.num_before + sum(part.num_rows for part in self.parts)

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return math.prod(self.row_shape or (0,)) if self.kind == VECTORS else len(self.numbers)

    def add(
        self, connection: duckdb.DuckDBPyConnection, file: OpenFile, columns: Mapping[int, Any], dropped: np.ndarray
    ) -> None:
        """Append rows of a file; `dropped` ones may hold anything."""
        read, first_row = list[np.ndarray](), self.num_rows
        for number in self.numbers:
            column, values = file.columns[number], columns.get(number)
            if values is None:  # in the name of a directory
                values = pa.repeat(pa.scalar(column.constant, pa.string()), len(dropped))
            if self.kind == VECTORS:
                rows, is_bad = self._vectors(values, dropped)
            elif self.kind != TIMES or not column.is_text:
                rows, is_bad = self._numbers(connection, number, column, values, dropped)
            else:
                rows, is_bad = self._evaluate(connection, number, column, values, dropped)
            is_bad &= ~dropped
            if count := int(np.count_nonzero(is_bad)):
                row, before = self.bad.get(number, (first_row + int(is_bad.argmax()), 0))
                self.bad[number] = row, before + count
            read.append(rows)
        if self.kind == VECTORS and self.row_shape is None:  # none but missing ones so far
            self.num_before += len(dropped)
            return
        while self.num_before:
            step = min(self.num_before, len(dropped))
            self.append(np.full((step, self.width), number_of(self.fill or "0")).astype(read[0].dtype))
            self.num_before -= step
        self.append(np.column_stack(read) if read[1:] else read[0])

    def append(self, rows: np.ndarray) -> None:
        """Append rows of any dtype."""
        if not self.parts or self.parts[-1].dtype != rows.dtype:
            offset = sum(part.nbytes for part in self.parts)
            self.parts.append(Region(self.path, offset, rows.dtype, (0, *rows.shape[1:])))
        last = self.parts[-1]
        if self.path:
            with attach_path_to_error(self.path), open(self.path, "ab") as file:
                file.write(np.ascontiguousarray(rows).data)
        self.parts[-1] = replace(last, shape=(last.num_rows + len(rows), *last.shape[1:]))

    def _vectors(self, column: Any, dropped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return vectors as wide as the first, filled, and which rows have others, or numbers missing."""
        if not is_list(column.type):
            return np.zeros((len(column), self.width)), np.ones(len(column), bool)
        lengths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
        is_there = ~dropped & (lengths >= 0)
        if self.row_shape is None and is_there.any():
            self.row_shape = (int(lengths[is_there.argmax()]),)
        is_bad, is_gap = lengths != self.width, lengths < 0
        if is_bad.any():
            column = column.filter(pa.array(~is_bad))
        values = column.flatten()
        numbers = _known(values).reshape(len(column), self.width)
        fill = None if self.fill is None else number_of(self.fill)
        if fill is not None:
            numbers = numbers.astype(filled_dtype(numbers.dtype, str(self.fill)))
        if values.null_count:
            is_missing = values.is_null().to_numpy(zero_copy_only=False).reshape(numbers.shape)
            if fill is None:
                is_bad[np.flatnonzero(~is_bad)[is_missing.any(axis=1)]] = True
            else:
                numbers[is_missing] = fill
        if not is_bad.any():
            return numbers, is_bad
        rows = np.full((len(lengths), self.width), 0 if fill is None else fill, numbers.dtype)
        rows[lengths == self.width] = numbers
        return rows, is_bad if fill is None else is_bad & ~is_gap

    def _numbers(
        self, connection: duckdb.DuckDBPyConnection, number: int, column: Column, values: Any, dropped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers, and which rows have none."""
        rows = None
        if column.is_text and not column.has_decimal_comma:
            rows = _parse(values, dropped, are_whole=self.are_whole)
            self.are_whole &= rows is None or rows.dtype == np.int64
        elif column.dtype is not None and column.kind != VECTORS:
            rows = _known(values).astype(column.dtype)
        if rows is None:
            return self._evaluate(connection, number, column, values, dropped)
        is_missing = values.is_null().to_numpy(zero_copy_only=False)
        if self.fill is not None and is_missing.any():
            self.are_whole = self.are_whole and is_integer(self.fill)
            rows = rows.astype(filled_dtype(rows.dtype, self.fill))
            rows[is_missing] = number_of(self.fill)
            is_missing[:] = False
        return rows, is_missing

    def _evaluate(
        self, connection: duckdb.DuckDBPyConnection, number: int, column: Column, values: Any, dropped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what DuckDB makes of values, and where it makes nothing."""
        batch = pa.table({"row": np.arange(len(values)), f"r{number}": values})
        expressions = feature_values(number, replace(column, position=0, constant=None), self.kind, self.fill)
        floats, whole = select_from(connection, batch, expressions)
        is_bad, is_integer_there = floats.is_null(), whole.is_valid().to_numpy(zero_copy_only=False)
        self.are_whole = self.are_whole and bool((is_integer_there | dropped).all())
        integers = _known(whole)
        if self.are_whole:
            return integers, is_bad.to_numpy(zero_copy_only=False)
        rows = np.where(is_integer_there, integers, _known(floats))  # so that batches do not matter for -0
        return rows, is_bad.to_numpy(zero_copy_only=False)


def _known(values: Any) -> np.ndarray:
    """Return numbers, 0 where missing."""
    filled = values if not values.null_count else pc.fill_null(values, pa.scalar(0).cast(values.type))
    numbers: np.ndarray = filled.to_numpy(zero_copy_only=False)
    return numbers


def _parse(texts: Any, dropped: np.ndarray, *, are_whole: bool) -> np.ndarray | None:
    """Return numbers in text, int64 if all so far `are_whole`, else float64; None if only DuckDB can tell."""
    try:
        floats = _known(texts.cast(pa.float64()))
        if not np.isfinite(floats).all() or (np.signbit(floats) & (floats == 0)).any():
            return None
        has_fraction = ((floats != np.trunc(floats)) & ~dropped).any()
        return _known(texts.cast(pa.int64())) if are_whole and not has_fraction else floats
    except pa.ArrowInvalid:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class StagedRows(Source):
    """Rows of a feature: columns of several files side by side, in one dtype."""

    files: tuple[Source, ...]
    dtype: np.dtype = field()
    shape: tuple[int, ...] = field()

    @property
    def inputs(self) -> tuple[Source, ...]:
        """The files."""
        return self.files

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        rows, column = np.empty((stop - start, math.prod(self.shape[1:])), self.dtype), 0
        for file in self.files:
            some = file.read(start, stop).reshape(stop - start, -1)
            rows[:, column : column + some.shape[1]] = some
            column += some.shape[1]
        return rows.reshape(stop - start, *self.shape[1:])


def feature_files(table: Table, feature: str, fill: str | None, path: str, memory: int) -> list[FeatureFile]:
    """Return the files of a feature, none if it is of strings; an empty path only counts rows."""
    numbers = table.features[feature]
    kind = table.kind(numbers[0])
    if kind == STRINGS:
        return []
    width = min(COLUMNS_PER_FILE, *(file.columns_at_once(memory) for file in table.files))
    starts = range(0, len(numbers), width)
    shape = (table.column(numbers[0]).row_shape or None) if kind == VECTORS else ()
    return [FeatureFile(numbers[i : i + width], kind, fill, shape, path and f"{path}-{numbers[i]}") for i in starts]


def staged_rows(table: Table, feature: str, files: list[FeatureFile]) -> Source:
    """Return the rows of a feature in a dtype for all files; numbers in text are int64 if all are integers."""
    numbers, num_rows = table.features[feature], files[0].num_rows
    opened = [file for file in table.files if file.num_rows != 0] or table.files
    if files[0].kind == VECTORS:
        shape: tuple[int, ...] = files[0].row_shape or (0,)
        dtypes = [file.columns[numbers[0]].dtype for file in opened]
        dtype = np.result_type(*(of for of in dtypes if of is not None))
        dtype = dtype if files[0].fill is None else filled_dtype(dtype, files[0].fill)
    else:
        shape, fill = (len(numbers),) if numbers[1:] else (), files[0].fill
        is_whole = num_rows > 0 and all(of.are_whole for of in files)
        text = np.dtype(np.int64 if is_whole else np.float64)
        dtype = np.result_type(*(file.columns[i].dtype or text for file in opened for i in numbers))
        if fill is not None and (is_integer(fill) or not is_whole):
            dtype = filled_dtype(dtype, fill)
    parts = [part for of in files for part in of.parts]
    if not parts:
        return ConstantRows(dtype, (num_rows, *shape), 0)
    if len(parts) == 1 and parts[0].dtype == dtype:
        return replace(parts[0], shape=(num_rows, *shape))
    sources = tuple(JoinedRows(tuple(of.parts)) for of in files if of.parts)
    return StagedRows(sources, dtype, (num_rows, *shape))
