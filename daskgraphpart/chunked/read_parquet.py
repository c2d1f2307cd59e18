"""Read blocks of parquet files: edges as two columns, features as numbers or lists of numbers.

A feature is one column of lists (a vector per row), one column of numbers (a vector of one number per row, as DGL's
reader has it), or several columns of numbers (a vector per row, in their common dtype). Where the schema has DGL's key
``shape``, such as ``(1000, 3, 4)`` or ``(1000,)``, rows have the shape it says.
Checked against tools/distpartitioning/array_readwriter/parquet.py of DGL 2.5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.open_parquet import open_parquet, row_group_lengths
from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.npy_header import checked_nbytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from daskgraphpart.chunked.blocks import Block

_SHAPE = re.compile(rb"\s*[(\[]\s*(-?\d{1,18})\s*((?:,\s*\d{1,18}\s*)*),?\s*[)\]]\s*")
ROWS_PER_BATCH = 1 << 17
VALUES_PER_BATCH = 1 << 18
COLUMNS_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class ParquetHeader:
    """Arrow schema, number of rows, and the row at which each row group ends."""

    schema: Any
    num_rows: int
    row_group_ends: tuple[int, ...]


def read_parquet_header(path: str) -> ParquetHeader:
    """Read the footer of a parquet file."""
    with open_parquet(path) as file:
        lengths, num_rows, schema = row_group_lengths(file), file.metadata.num_rows, file.schema_arrow
        _ = [*schema.names, schema.metadata]  # names that are not UTF-8 are refused here
    if min(lengths, default=0) < 0 or sum(lengths) != num_rows:
        what, expected = "impossible counts in the footer of a parquet file", f"{num_rows:,} rows in all row groups"
        raise InputFileError(what, file=path, expected=expected, found=f"{sum(lengths):,}", hint="write it again")
    return ParquetHeader(schema, num_rows, tuple(accumulate(lengths)))


def edge_columns(schema: Any, path: str) -> tuple[str, str]:
    """Return the names of the columns of sources and destinations: by name, or the only two by position."""
    names = schema.names
    if names.count("src") == 1 and names.count("dst") == 1:
        return "src", "dst"
    if len(names) != 2 or names[0] == names[1]:
        expected = "columns src and dst, or two columns"
        raise InputFileError("cannot tell the two columns of edges", file=path, expected=expected, found=names)
    return names[0], names[1]


def numpy_dtype(name: str, arrow_type: Any, path: str) -> np.dtype:
    """Return the dtype of the numbers in a column."""
    import pyarrow as pa

    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_boolean(arrow_type):
        dtype: np.dtype = np.dtype(arrow_type.to_pandas_dtype())
        return dtype
    what, expected = f"column {name!r} does not hold numbers", "integers, floats or booleans"
    raise InputFileError(what, file=path, expected=expected, found=str(arrow_type))


def row_of(header: ParquetHeader, path: str) -> tuple[np.dtype, tuple[int, ...] | None]:
    """Return dtype and shape of one row of a feature; no shape if lists without rows do not tell it."""
    fields = list(header.schema)
    if not fields:
        raise InputFileError("parquet file without columns", file=path)
    lists = fields[0].type if len(fields) == 1 and _is_list(fields[0].type) else None
    types = [field.type if lists is None else lists.value_type for field in fields]
    dtypes = [numpy_dtype(field.name, found, path) for field, found in zip(fields, types, strict=True)]
    dtype = _common_dtype(dtypes, path)
    if b"shape" in (header.schema.metadata or {}):
        return dtype, _declared_row_shape(header, path)
    if lists is None:
        return dtype, (len(fields),)
    length = getattr(lists, "list_size", None)  # lists of a fixed size declare it
    if length is None and header.num_rows:
        length = _first_list_length(path)
    if length is not None and length < 0:
        raise InputFileError("impossible length of the lists of a parquet file", file=path, found=length)
    return dtype, None if length is None else (length,)


def _declared_row_shape(header: ParquetHeader, path: str) -> tuple[int, ...]:
    """Parse the key ``shape``, which DGL's reader evaluates as Python."""
    text = header.schema.metadata[b"shape"]
    match = _SHAPE.fullmatch(text)
    row_shape = () if match is None else tuple(int(length) for length in match[2].replace(b",", b" ").split())
    is_too_large = checked_nbytes(row_shape, np.dtype("f8")) is None
    if match is None or int(match[1]) not in (-1, header.num_rows) or is_too_large:
        expected, found = f"({header.num_rows}, ...) with the shape of a row", text[:60].decode(errors="replace")
        raise InputFileError("bad key 'shape' in the parquet schema", file=path, expected=expected, found=found)
    return row_shape


def _common_dtype(dtypes: Sequence[np.dtype], path: str) -> np.dtype:
    """Return the dtype that holds the numbers of all columns exactly."""
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
    """Return the length of the first list, if it is not missing; that all have it is checked when they are read."""
    import pyarrow.compute as pc

    with open_parquet(path) as file:
        for batch in file.iter_batches(1, use_threads=False):
            length: int | None = pc.list_value_length(batch.column(0))[0].as_py()
            return length
    return None


# ---------------------------------------------------------------------------------------------------------------- rows


def read_parquet_edges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Read sources and destinations of a block, int64."""
    ends = np.empty((2, block.num_rows), np.int64)
    _read_into(ends.T, block, edge_columns)
    return ends[0], ends[1]


def read_parquet_rows(
    block: Block, dtype: np.dtype, row_shape: tuple[int, ...], names: Sequence[str] | None = None
) -> np.ndarray:
    """Read rows of a feature, which is made of all columns, or of those named."""
    rows = np.empty((block.num_rows, int(np.prod(row_shape, dtype=np.int64))), dtype)
    _read_into(rows, block, None if names is None else lambda *_: names)
    return rows.reshape(block.num_rows, *row_shape)


def _read_into(rows: np.ndarray, block: Block, columns_of: Callable[[Any, str], Sequence[str]] | None = None) -> None:
    """Fill an array (rows, width) from a column of lists, or from columns of numbers."""
    width = rows.shape[1]
    with open_parquet(block.path) as file:
        found = file.schema_arrow.names
        if columns_of is not None or len(found) != width or width <= COLUMNS_AT_ONCE:
            _read_columns(rows, file, block, None if columns_of is None else columns_of(file.schema_arrow, block.path))
            return
        for first in range(0, width, COLUMNS_AT_ONCE):  # each column that is read has a buffer
            names = slice(first, first + COLUMNS_AT_ONCE)
            _read_columns(rows[:, names], file, block, found[names])


def _read_columns(rows: np.ndarray, file: Any, block: Block, names: Sequence[str] | None) -> None:
    done, width = 0, rows.shape[1]
    for batch in _batches(file, block, names, width):
        part = rows[done : done + batch.num_rows]
        is_lists = batch.num_columns == 1 and _is_list(batch.column(0).type)
        if not is_lists and batch.num_columns != width:
            what = "columns do not make the shape of a row"
            raise InputFileError(what, file=block.path, expected=width, found=batch.num_columns)
        for i, name in enumerate(batch.schema.names):
            values = _numbers(batch.column(i), width if is_lists else 1, name, block, done)
            if is_lists:
                part[:] = values.reshape(part.shape)
            else:
                part[:, i] = values
        done += batch.num_rows
    if done != block.num_rows:
        what, expected = "parquet file has changed since it was opened", f"{block.num_rows:,} rows"
        raise InputFileError(what, file=block.path, expected=expected, found=f"{done:,}")


def _batches(file: Any, block: Block, columns: Sequence[str] | None, width: int) -> Iterator[Any]:
    """Yield Arrow batches that cover exactly the rows of a block, from the row groups that overlap with it.

    A batch is sized in values, since a row group of wide rows may be far larger than the block, and since Arrow needs
    about 8 bytes for a value of a list while it decodes it, whatever its dtype.
    """
    batch_rows = max(1, min(ROWS_PER_BATCH, VALUES_PER_BATCH // max(1, width)))
    ends = list(accumulate(row_group_lengths(file), initial=0))
    groups = [g for g in range(len(ends) - 1) if ends[g] < block.stop and ends[g + 1] > block.start]
    position = ends[groups[0]] if groups else 0
    for batch in file.iter_batches(batch_rows, row_groups=groups, columns=columns, use_threads=False):
        low, high = max(block.start, position), min(block.stop, position + batch.num_rows)
        if low < high:
            yield batch.slice(low - position, high - low)
        position += batch.num_rows
        if position >= block.stop:
            return


def _numbers(column: Any, width: int, name: str, block: Block, first_row: int) -> np.ndarray:
    """Return the values of a column of numbers, or of lists of so many; none may be missing."""

    def bad_value(row: int, expected: str, found: str) -> InputFileError:
        place = f"row {block.row_in_file + first_row + row:,}"
        return InputFileError(
            f"bad value in column {name!r}", file=block.path, place=place, expected=expected, found=found
        )

    def first_null(of: Any) -> int:
        return int(np.flatnonzero(of.is_null().to_numpy(zero_copy_only=False))[0])

    if _is_list(column.type):
        import pyarrow.compute as pc

        expected = f"a list of {width} values"
        if column.null_count:
            raise bad_value(first_null(column), expected, "null")
        lengths = _plain(pc.list_value_length(column))
        wrong = np.flatnonzero(lengths != width)
        if wrong.size:
            raise bad_value(int(wrong[0]), expected, str(lengths[wrong[0]]))
        column = column.flatten()
    if column.null_count:
        raise bad_value(first_null(column) // max(1, width), "a number", "null")
    return _plain(column)


def _plain(column: Any) -> np.ndarray:
    """Return the values of a column without nulls. Arrow's own conversion imports pandas: a quarter of a second."""
    import pyarrow as pa

    if len(column) and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.from_dlpack(column)
    values: np.ndarray = column.to_numpy(zero_copy_only=False)
    return values


def _is_list(arrow_type: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(arrow_type) or types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type))
