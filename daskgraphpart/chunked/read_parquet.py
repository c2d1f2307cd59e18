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
    from collections.abc import Iterator

    from daskgraphpart.chunked.blocks import Block

_SHAPE = re.compile(rb"\s*[(\[]\s*(-?\d{1,18})\s*((?:,\s*\d{1,18}\s*)*),?\s*[)\]]\s*")
ROWS_PER_BATCH = 1 << 17
VALUES_PER_BATCH = 1 << 18


@dataclass(frozen=True, slots=True)
class ParquetHeader:
    """Arrow schema, number of rows, and the row at which each row group ends."""

    schema: Any
    num_rows: int
    row_group_ends: tuple[int, ...]

    def edge_columns(self, path: str) -> tuple[str, str]:
        """Return the names of the columns of sources and destinations: by name, or the only two by position."""
        names = self.schema.names
        if names.count("src") == 1 and names.count("dst") == 1:
            return "src", "dst"
        if len(names) != 2 or names[0] == names[1]:
            raise InputFileError(
                "cannot tell the two columns of edges",
                file=path,
                expected="columns src and dst, or two columns",
                found=names,
            )
        return names[0], names[1]

    def numpy_dtype(self, path: str, name: str) -> np.dtype:
        """Return the dtype of the numbers in a column."""
        return _numpy_dtype(self.schema.field(name).type, path, name)

    def row(self, path: str) -> tuple[np.dtype, tuple[int, ...] | None]:
        """Return dtype and shape of one row of a feature; no shape if a file without rows does not tell it."""
        import pyarrow as pa

        fields = list(self.schema)
        if not fields:
            raise InputFileError("parquet file without columns", file=path)
        lists = fields[0].type if len(fields) == 1 and _is_list(fields[0].type) else None
        if lists is not None:
            dtype = _numpy_dtype(lists.value_type, path, fields[0].name)
        else:
            dtype = _common_dtype([_numpy_dtype(field.type, path, field.name) for field in fields], path)
        if b"shape" in (self.schema.metadata or {}):
            return dtype, self._declared_row_shape(path)
        if lists is None:
            return dtype, (len(fields),)
        if pa.types.is_fixed_size_list(lists):
            if lists.list_size < 0:
                raise InputFileError(
                    "impossible length of the lists of a parquet file", file=path, found=lists.list_size
                )
            return dtype, (lists.list_size,)
        return dtype, (_first_list_length(path),) if self.num_rows else None

    def _declared_row_shape(self, path: str) -> tuple[int, ...]:
        """Parse the key ``shape``, which DGL's reader evaluates as Python."""
        text = self.schema.metadata[b"shape"]
        match = _SHAPE.fullmatch(text)
        row_shape = () if match is None else tuple(int(length) for length in match[2].replace(b",", b" ").split())
        is_too_large = checked_nbytes(row_shape, np.dtype("f8")) is None
        if match is None or int(match[1]) not in (-1, self.num_rows) or is_too_large:
            raise InputFileError(
                "bad key 'shape' in the parquet schema",
                file=path,
                expected=f"({self.num_rows}, ...) with the shape of a row",
                found=text[:60].decode(errors="replace"),
            )
        return row_shape


def read_parquet_header(path: str) -> ParquetHeader:
    """Read the footer of a parquet file."""
    with open_parquet(path) as file:
        lengths, num_rows, schema = row_group_lengths(file), file.metadata.num_rows, file.schema_arrow
        _ = [*schema.names, schema.metadata]  # names that are not UTF-8 are refused here
    if min(lengths, default=0) < 0 or sum(lengths) != num_rows:
        raise InputFileError(
            "impossible counts in the footer of a parquet file",
            file=path,
            expected=f"{num_rows:,} rows in all row groups",
            found=f"{sum(lengths):,}",
            hint="write it again",
        )
    return ParquetHeader(schema, num_rows, tuple(accumulate(lengths)))


def read_parquet_edges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Read sources and destinations of a block, int64."""
    names = read_parquet_header(block.path).edge_columns(block.path)
    src, dst = np.empty(block.num_rows, np.int64), np.empty(block.num_rows, np.int64)
    done = 0
    for batch in read_parquet_batches(block, list(names), width=2):
        for ids, name in zip((src, dst), names, strict=True):
            ids[done : done + batch.num_rows] = _numbers(batch.column(name), block, done, name)
        done += batch.num_rows
    _check_num_rows(block, done)
    return src, dst


def read_parquet_rows(block: Block, dtype: np.dtype, row_shape: tuple[int, ...]) -> np.ndarray:
    """Read rows of a feature."""
    width = int(np.prod(row_shape, dtype=np.int64))
    rows = np.empty((block.num_rows, width), dtype)
    done = 0
    for batch in read_parquet_batches(block, None, width):
        part = rows[done : done + batch.num_rows]
        if batch.num_columns == 1 and _is_list(batch.column(0).type):
            part[:] = _lists(batch.column(0), width, block, done)
        else:
            if batch.num_columns != width:
                raise InputFileError(
                    "columns do not make the shape of a row", file=block.path, expected=width, found=batch.num_columns
                )
            for i, name in enumerate(batch.schema.names):
                part[:, i] = _numbers(batch.column(i), block, done, name)
        done += batch.num_rows
    _check_num_rows(block, done)
    return rows.reshape(block.num_rows, *row_shape)


def read_parquet_batches(block: Block, columns: list[str] | None, width: int) -> Iterator[Any]:
    """Yield Arrow batches that cover exactly the rows of a block, from the row groups that overlap with it.

    A batch is sized in values, since a row group of wide rows may be far larger than the block, and since Arrow needs
    about 8 bytes for a value of a list while it decodes it, whatever its dtype.
    """
    batch_rows = max(1, min(ROWS_PER_BATCH, VALUES_PER_BATCH // max(1, width)))
    with open_parquet(block.path) as file:
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


def _numbers(column: Any, block: Block, done: int, name: str) -> np.ndarray:
    """Return the values of a column, none of which may be missing."""
    if column.null_count:
        raise _missing(block, done + int(_nulls(column)[0]), name)
    return _plain(column)


def _lists(column: Any, width: int, block: Block, done: int) -> np.ndarray:
    """Return lists of one length as rows."""
    import pyarrow.compute as pc

    if column.null_count:
        raise _missing(block, done + int(_nulls(column)[0]), "list")
    lengths = _plain(pc.list_value_length(column))
    wrong = np.flatnonzero(lengths != width)
    if wrong.size:
        raise InputFileError(
            "list of another length",
            file=block.path,
            place=f"row {block.row_in_file + done + wrong[0]:,}",
            expected=f"{width} values",
            found=int(lengths[wrong[0]]),
        )
    values = column.flatten()
    if values.null_count:
        raise _missing(block, done + int(_nulls(values)[0]) // max(1, width), "list")
    return _plain(values).reshape(len(column), width)


def _plain(column: Any) -> np.ndarray:
    """Return the values of a column without nulls. Arrow's own conversion imports pandas: a quarter of a second."""
    import pyarrow as pa

    if len(column) and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.from_dlpack(column)
    values: np.ndarray = column.to_numpy(zero_copy_only=False)
    return values


def _nulls(column: Any) -> np.ndarray:
    return np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))


def _missing(block: Block, row: int, name: str) -> InputFileError:
    return InputFileError(
        f"value is missing in column {name!r}",
        file=block.path,
        place=f"row {block.row_in_file + row:,}",
        expected="a number",
        found="null",
    )


def _check_num_rows(block: Block, found: int) -> None:
    if found != block.num_rows:
        raise InputFileError(
            "parquet file has changed since it was opened",
            file=block.path,
            expected=f"{block.num_rows:,} rows",
            found=f"{found:,}",
        )


def _is_list(arrow_type: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type) or pa.types.is_fixed_size_list(arrow_type)
    )


def _numpy_dtype(arrow_type: Any, path: str, name: str) -> np.dtype:
    import pyarrow as pa

    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_boolean(arrow_type):
        dtype: np.dtype = np.dtype(arrow_type.to_pandas_dtype())
        return dtype
    raise InputFileError(
        f"column {name!r} does not hold numbers",
        file=path,
        expected="integers, floats or booleans",
        found=str(arrow_type),
    )


def _common_dtype(dtypes: list[np.dtype], path: str) -> np.dtype:
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


def _first_list_length(path: str) -> int:
    """Return the length of the first list; that all have it is checked when they are read."""
    with open_parquet(path) as file:
        for batch in file.iter_batches(1, use_threads=False):
            first = batch.column(0)[0]
            if not first.is_valid:
                raise InputFileError("list is missing", file=path, place="row 0", expected="numbers", found="null")
            return len(first.values)
    return 0
