"""Read rows of parquet files: edges as two columns, features as numbers or lists of numbers.

A feature is one column of lists (a vector per row), one column of numbers (a vector of one number, as in DGL's reader),
or several columns of numbers (a vector in their common dtype). DGL's key ``shape`` in the schema, such as
``(1000, 3, 4)`` or ``(1000,)``, sets the shape of rows.
Checked against tools/distpartitioning/array_readwriter/parquet.py of DGL 2.5.

`THRIFT_LIMITS` bound strings and lists in the footer. For pages, pyarrow allocates what headers demand: limit the
process's memory to open untrusted files (docs/resume.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, InputFileError, InputFileNotFoundError
from daskgraphpart.graph.formats import InputFile
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import file_size, store_of
from daskgraphpart.storage.json_file import shown
from daskgraphpart.storage.local_store import open_regular
from daskgraphpart.storage.paths import is_remote
from daskgraphpart.storage.region import checked_nbytes
from daskgraphpart.storage.store import StoreFile

if TYPE_CHECKING:
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.source import Edges, FilePath

_SHAPE = re.compile(rb"\s*[(\[]\s*(-?\d{1,18})\s*((?:,\s*\d{1,18}\s*)*),?\s*[)\]]\s*")
ROWS_PER_BATCH = 1 << 17
VALUES_PER_BATCH = 1 << 18
COLUMNS_AT_ONCE = 32


THRIFT_LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 1 << 20}
"""Bytes of one string, and elements of one list, in a footer; a column chunk is one element."""
BUFFER_NBYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ParquetHeader:
    """The footer of a file, its Arrow schema, number of rows, and the row at which each row group ends."""

    footer: Any
    schema: Any
    num_rows: int
    row_group_ends: tuple[int, ...]


def open_edges(path: str, _: str) -> tuple[InputFile, dict[str, np.dtype]]:
    """Open a file of edges; return it with the dtypes of ID columns."""
    header = read_parquet_header(path)
    names = edge_columns(header.schema, path)
    dtypes = {f"column {name!r}": numpy_dtype(name, header.schema.field(name).type, path) for name in names}
    return _input_file(path, header), dtypes


def open_rows(path: str) -> tuple[InputFile, np.dtype, tuple[int, ...] | None]:
    """Open a file of a feature; return it with dtype and row shape, unknown for empty lists."""
    header = read_parquet_header(path)
    return _input_file(path, header), *row_of(header, path)


def _input_file(path: str, header: ParquetHeader) -> InputFile:
    return InputFile(path, "parquet", " ", header.num_rows, file_size(path), header.row_group_ends)


@contextmanager
def open_parquet(path: FilePath, coded: Sequence[str] = (), footer: Any = None) -> Iterator[Any]:
    """Open a `ParquetFile`, local or remote, for reading in bounded memory; `coded` columns come as dictionaries.

    A `footer` that was read before, its `metadata`, is not read again.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # pre_buffer would keep whole column chunks
        options: Any = {**THRIFT_LIMITS, "pre_buffer": False, "buffer_size": BUFFER_NBYTES, "read_dictionary": coded}
        options |= {"metadata": footer}
        options["coerce_int96_timestamp_unit"] = "us"  # nanoseconds would wrap before 1678 and after 2262
        source: Any = path
        if is_remote(path):
            source = StoreFile(store_of(path), path)
        else:
            os.close(open_regular(path))  # pyarrow would wait for a pipe
        with attach_path_to_error(path), parquet.ParquetFile(source, **options) as file:
            yield file
    except FileNotFoundError as fault:
        raise InputFileNotFoundError("no such file", file=path) from fault
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as fault:
        if isinstance(fault, GraphPartError) or getattr(fault, "errno", None):
            raise  # the machine's fault, not the file's: pyarrow leaves errno empty for bad content
        message = next(iter(str(fault).splitlines()), type(fault).__name__)
        if isinstance(fault, MemoryError):
            raise EnvironmentFaultError(
                "not enough memory to decode a parquet file",
                file=path,
                found=message,
                hint="write it with smaller pages, unless it is damaged",
            ) from fault
        raise InputFileError(
            "not a readable parquet file", file=path, found=message, hint="it may be truncated; write it again"
        ) from fault


def row_group_lengths(file: Any) -> list[int]:
    """Return the number of rows of each row group."""
    return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]


def read_parquet_header(path: str) -> ParquetHeader:
    """Read the footer of a parquet file."""
    with open_parquet(path) as file:
        lengths, footer, schema = row_group_lengths(file), file.metadata, file.schema_arrow
        _, num_rows = [*schema.names, schema.metadata], footer.num_rows  # refuses names that are not UTF-8
    if min(lengths, default=0) < 0 or sum(lengths) != num_rows:
        what, expected = "invalid counts in the parquet footer", f"{num_rows:,} rows in all row groups"
        raise InputFileError(what, file=path, expected=expected, found=f"{sum(lengths):,}", hint="write it again")
    return ParquetHeader(footer, schema, num_rows, tuple(accumulate(lengths)))


def edge_columns(schema: Any, path: str) -> tuple[str, str]:
    """Return the column names of sources and destinations: by name, or the only two by position."""
    names = schema.names
    if names.count("src") == 1 and names.count("dst") == 1:
        return "src", "dst"
    if len(names) != 2 or names[0] == names[1]:
        expected = "columns src and dst, or two columns"
        raise InputFileError("cannot tell the two columns of edges", file=path, expected=expected, found=names)
    return names[0], names[1]


def numpy_dtype(name: str, arrow_type: Any, path: str) -> np.dtype:
    """Return the dtype of a column of numbers."""
    import pyarrow as pa

    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_boolean(arrow_type):
        dtype: np.dtype = np.dtype(arrow_type.to_pandas_dtype())
        return dtype
    what, expected = f"column {name!r} does not hold numbers", "integers, floats or booleans"
    raise InputFileError(what, file=path, expected=expected, found=str(arrow_type))


def row_of(header: ParquetHeader, path: str) -> tuple[np.dtype, tuple[int, ...] | None]:
    """Return dtype and row shape of a feature; None as shape if empty lists do not tell."""
    fields = list(header.schema)
    if not fields:
        raise InputFileError("parquet file without columns", file=path)
    lists = fields[0].type if len(fields) == 1 and _is_list(fields[0].type) else None
    types = [field.type if lists is None else lists.value_type for field in fields]
    dtypes = [numpy_dtype(field.name, kind, path) for field, kind in zip(fields, types, strict=True)]
    dtype = _common_dtype(dtypes, path)
    if b"shape" in (header.schema.metadata or {}):
        return dtype, _declared_row_shape(header, path)
    if lists is None:
        return dtype, (len(fields),)
    length = getattr(lists, "list_size", None)  # fixed-size lists declare it
    if length is None and header.num_rows:
        length = _first_list_length(path)
    if length is not None and length < 0:
        raise InputFileError("invalid length of the lists of a parquet file", file=path, found=length)
    return dtype, None if length is None else (length,)


def _declared_row_shape(header: ParquetHeader, path: str) -> tuple[int, ...]:
    """Parse the key ``shape``, which DGL's reader evaluates as Python."""
    text = header.schema.metadata[b"shape"]
    match = _SHAPE.fullmatch(text)
    row_shape = () if match is None else tuple(int(length) for length in match[2].replace(b",", b" ").split())
    is_too_large = checked_nbytes(row_shape, np.dtype("f8")) is None
    if match is None or int(match[1]) not in (-1, header.num_rows) or is_too_large:
        expected, shown = f"({header.num_rows}, ...) with the shape of a row", text[:60].decode(errors="replace")
        raise InputFileError("bad key 'shape' in the parquet schema", file=path, expected=expected, found=shown)
    return row_shape


def _common_dtype(dtypes: Sequence[np.dtype], path: str) -> np.dtype:
    """Return the dtype that holds all columns exactly."""
    common = np.result_type(*dtypes)
    if common.kind == "f" and any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in dtypes):
        raise InputFileError(
            "columns have no common dtype: floats would round integers of 64 bits",
            file=path,
            expected="columns of one dtype",
            found=", ".join(sorted({dtype.name for dtype in dtypes})),
            hint="convert the columns first",
        )
    return common


def _first_list_length(path: str) -> int | None:
    """Return the length of the first list, if any; reading checks the others."""
    import pyarrow.compute as pc

    with open_parquet(path) as file:
        for batch in file.iter_batches(1, use_threads=False):
            length: int | None = pc.list_value_length(batch.column(0))[0].as_py()
            return length
    return None


def read_edges(path: FilePath, start: int, stop: int) -> Edges:
    """Read sources and destinations of edges ``[start, stop)``, int64."""
    ends = np.empty((2, stop - start), np.int64)
    with open_parquet(path) as file:
        _Columns(file, path, start, stop).read_into(ends.T, edge_columns(file.schema_arrow, path))
    return ends[0], ends[1]


def read_rows(path: FilePath, start: int, stop: int, spec: DataSpec, names: Sequence[str] | None = None) -> np.ndarray:
    """Read rows ``[start, stop)`` of a feature from all columns, or the named ones."""
    width = int(np.prod(spec.row_shape, dtype=np.int64))
    rows = np.empty((stop - start, width), spec.dtype)
    with open_parquet(path) as file:
        columns, wanted = _Columns(file, path, start, stop), names or file.schema_arrow.names
        if len(wanted) != width or width <= COLUMNS_AT_ONCE:
            columns.read_into(rows, names)
        else:  # a buffer per column
            for first in range(0, width, COLUMNS_AT_ONCE):
                several = slice(first, first + COLUMNS_AT_ONCE)
                columns.read_into(rows[:, several], wanted[several])
    return rows.reshape(stop - start, *spec.row_shape)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Rows ``[start, stop)`` of an open file."""

    file: Any
    path: FilePath
    start: int
    stop: int

    def read_into(self, rows: np.ndarray, names: Sequence[str] | None) -> None:
        """Fill an array (rows, width) from a column of lists, or from columns of numbers."""
        done, width = 0, rows.shape[1]
        for batch in self._batches(names, width):
            part, columns = rows[done : done + batch.num_rows], [*zip(batch.schema.names, batch.columns, strict=True)]
            if len(columns) == 1 and _is_list(columns[0][1].type):
                part[:] = self._numbers(*columns[0], width, done).reshape(part.shape)
            elif len(columns) == width:
                for i, column in enumerate(columns):
                    part[:, i] = self._numbers(*column, 1, done)
            else:
                what = "columns do not make the shape of a row"
                raise InputFileError(what, file=self.path, expected=width, found=len(columns))
            done += batch.num_rows
        if done != len(rows):
            what, expected = "parquet file has changed since it was opened", f"{len(rows):,} rows"
            raise InputFileError(what, file=self.path, expected=expected, found=f"{done:,}")

    def _batches(self, columns: Sequence[str] | None, width: int) -> Iterator[Any]:
        """Yield Arrow batches that cover the rows, from overlapping row groups.

        Batches are sized in values: a row group of wide rows may far exceed the rows, and Arrow needs about 8 bytes per
        list value while decoding, for any dtype.
        """
        batch_rows = max(1, min(ROWS_PER_BATCH, VALUES_PER_BATCH // max(1, width)))
        ends = list(accumulate(row_group_lengths(self.file), initial=0))
        groups = [g for g in range(len(ends) - 1) if ends[g] < self.stop and ends[g + 1] > self.start]
        position = ends[groups[0]] if groups else 0
        for batch in self.file.iter_batches(batch_rows, row_groups=groups, columns=columns, use_threads=False):
            low, high = max(self.start, position), min(self.stop, position + batch.num_rows)
            if low < high:
                yield batch.slice(low - position, high - low)
            position += batch.num_rows
            if position >= self.stop:
                return

    def _numbers(self, name: str, column: Any, width: int, first_row: int) -> np.ndarray:
        """Return the values of a column of numbers, or of lists of `width`; none may be missing."""
        values, bad_row = column, -1
        if is_list := _is_list(column.type):
            import pyarrow.compute as pc  # not for edges: it takes 30 ms

            is_wrong = pc.fill_null(pc.not_equal(pc.list_value_length(column), width), fill_value=True)
            values, bad_row = column.flatten(), pc.index(is_wrong, True).as_py()
        if bad_row < 0 and values.null_count:
            bad_row = values.is_null().index(True).as_py() // max(1, width)
        if bad_row >= 0:
            raise InputFileError(
                f"bad value in column {name!r}",
                file=self.path,
                place=f"row {self.start + first_row + bad_row:,}",
                expected=f"a list of {width} values" if is_list else "a number",
                found=shown(column[bad_row].as_py()),
            )
        # Arrow's own conversion imports pandas: a quarter of a second
        if values.type.bit_width > 1 and len(values):
            return np.from_dlpack(values)
        numbers: np.ndarray = values.to_numpy(zero_copy_only=False)
        return numbers


def _is_list(arrow_type: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(arrow_type) or types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type))
