"""Read columns of parquet files, and arrays of npz and npy files, as one stream of Arrow batches that DuckDB knows.

Times become microseconds since 1970, rounded down; decimals integers, or floats if they have decimal places. The first
row that 64 bits cannot hold is refused, and so is a string longer than a line of text may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.errors import GraphPartError, InputFileError, collect_fault, raise_together
from daskgraphpart.graph.output import to_arrow
from daskgraphpart.graph.read_parquet import read_parquet_header
from daskgraphpart.kernels.cut_rows import MAX_ROW_BYTES
from daskgraphpart.readers.database import ROWS_PER_BATCH
from daskgraphpart.readers.tables.describe.columns import (
    BYTES,
    COLUMNS_TRIED,
    FLOATS,
    INTEGERS,
    STRINGS,
    TIMES,
    UNKNOWN,
    VECTORS,
    Column,
    constant_column,
    find_columns,
    shown,
)
from daskgraphpart.readers.tables.describe.parquet_batches import PAGES_HELD, Sizes, column_sizes, read_batches

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.table_files import TableFile


BYTES_PER_BATCH = 4 << 20
COLUMNS_AT_ONCE = 32
ROWS_IN_BUDGET, PAGES_IN_BUDGET = 16, 10
"""How many of the largest row, or page, the memory should hold: a quarter is for rows, three tenths for pages."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFile:
    """A file with chosen columns; for npz and npy files, mapped `arrays`.

    `schema` has columns r0, r1, ... of `batches`; `num_nodes` are the sources and destinations of a sparse matrix;
    `sizes` are the largest of a chosen column.
    """

    path: str
    content: str
    columns: tuple[Column, ...]
    schema: Any
    num_rows: int
    arrays: tuple[Any, ...] = ()
    num_nodes: tuple[int, ...] = ()
    guesses: Mapping[str, str] = field(default_factory=dict)
    num_entries: None = None
    first_id: int = 0
    features: tuple[str, ...] = ()
    sizes: Sizes = field(default_factory=Sizes)

    @property
    def least_memory(self) -> int:
        """Bytes of memory that are enough to read and reorder the largest row, while the database has its share."""
        return max(ROWS_IN_BUDGET * self.sizes.row, PAGES_IN_BUDGET * self.sizes.page)

    def columns_at_once(self, memory: int) -> int:
        """Return how many columns to read together: the reader of parquet holds pages of each."""
        return max(1, min(COLUMNS_AT_ONCE, memory // 8 // max(1, PAGES_HELD * self.sizes.page)))

    def type_of(self, number: int) -> Any:
        """Arrow type of a column in `batches`; None if it is not in the file."""
        return self.schema.field(f"r{number}").type if self.columns[number].position is not None else None

    def locate(self, row: int, column: int) -> tuple[str, str | None, str]:
        """Return a value's place, its text, None if missing, and how to show it."""
        chosen, first = self.columns[column], 0
        value: Any = chosen.constant
        for columns in self.batches([column]) if chosen.position is not None else ():
            if row < first + len(columns[0]):
                value = columns[0][row - first].as_py()
                break
            first += len(columns[0])
        text = None if value is None else str(value)
        return f"row {row:,}, column {chosen.name!r}", text, shown(text)

    def batches(self, numbers: Sequence[int]) -> Iterator[list[Any]]:
        """Yield the columns of these numbers that are in the file, or else of nothing, in batches of all rows."""
        numbers = [i for i in numbers if self.columns[i].position is not None]
        names, first = [self.columns[i].name for i in numbers], 0
        kinds = [self.type_of(i) for i in numbers] or [pa.string()]
        for columns in self._arrays(numbers) if self.arrays else self._columns(names):
            plain = [
                checked_column(column, self.path, name, first).cast(kind)
                for column, name, kind in zip(columns, names or [""], kinds, strict=True)
            ]
            yield plain
            first += len(plain[0])

    def other_columns(self) -> Iterator[tuple[str, Any]]:
        """Yield the names of columns of integers or strings, and their first values, as text; none of arrays."""
        fields = [] if self.arrays else [*read_parquet_header(self.content).schema][:COLUMNS_TRIED]
        for of_column in fields:
            values = next(read_batches(self.content, [of_column.name]), None)
            if values is not None and _kind_of(plain_column(values.column(0)[:0]).type) in (INTEGERS, STRINGS):
                yield of_column.name, pa.table({"id": plain_column(values.column(0)).cast(pa.string())})

    def _arrays(self, numbers: Sequence[int]) -> Iterator[list[Any]]:
        arrays = [self.arrays[self.schema.get_field_index(f"r{i}")] for i in numbers] or self.arrays[:1]
        row_nbytes = max(array[:1].nbytes for array in arrays)
        step = max(1, min(ROWS_PER_BATCH, BYTES_PER_BATCH // max(1, row_nbytes)))
        for start in range(0, self.num_rows, step):
            yield [_to_arrow(array[start : start + step]) for array in arrays]

    def _columns(self, names: Sequence[str]) -> Iterator[list[Any]]:
        for batch in read_batches(self.content, list(dict.fromkeys(names))):
            columns = [batch.column(name) for name in names] or [pa.nulls(batch.num_rows)]
            borders = [0, *_borders(columns).tolist(), batch.num_rows]
            for start, stop in pairwise(borders):
                yield [column.slice(start, stop - start) for column in columns]


def _borders(columns: Sequence[Any]) -> np.ndarray:
    """Return where to cut rows, so that strings of dictionaries fit into batches when each row has its own."""
    nbytes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if pa.types.is_dictionary(column.type) and (lengths := _byte_lengths(column)) is not None:
            nbytes += pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.diff(np.cumsum(nbytes) // BYTES_PER_BATCH)) + 1


def _byte_lengths(column: Any) -> Any:
    """Return the bytes of each string; None for a column of others."""
    is_coded = pa.types.is_dictionary(column.type)
    values = column.dictionary if is_coded else column
    if _kind_of(values.type) not in (STRINGS, BYTES):
        return None
    lengths = pc.binary_length(values.cast(pa.large_binary()) if "view" in str(values.type) else values)
    return lengths.take(column.indices) if is_coded else lengths


def _to_arrow(rows: np.ndarray) -> Any:
    if rows.dtype.kind in "US":
        return pa.array(rows.tolist(), pa.from_numpy_dtype(rows.dtype))
    return to_arrow(rows)


def _describe(path: str, name: str, position: int, kind: Any, *, is_id: bool, row_shape: tuple[int, ...]) -> Column:
    """Describe an Arrow column; refuse what is neither IDs nor a feature."""
    plain = plain_column(pa.nulls(0, kind)).type
    if pa.types.is_null(kind):
        return Column(name, position, is_text=True)
    value_type = plain.value_type if is_list(plain) else plain
    held = _kind_of(value_type)
    is_vector = plain is not value_type
    if is_id and (held == UNKNOWN or is_vector or pa.types.is_temporal(kind) or pa.types.is_boolean(value_type)):
        expected, hint = "integers or strings, one for each row", "choose columns by FILE:SRC,DST or FILE:COLUMN"
        if pa.types.is_boolean(value_type):
            hint += "; give a mask with a value per node as node data"
        shape = f" of shape (rows, {', '.join(map(str, row_shape))})" if row_shape else ""
        what, kind_of_ids = f"column {name!r} cannot be IDs", f"{value_type if row_shape else kind}{shape}"
        raise InputFileError(what, file=path, expected=expected, found=kind_of_ids, hint=hint)
    if held == UNKNOWN or (is_vector and held in (STRINGS, BYTES)):
        what, expected = f"column {name!r} does not hold numbers", "numbers, strings, times or lists of numbers"
        raise InputFileError(what, file=path, expected=expected, found=str(kind))
    half = pa.float16() in (kind, getattr(kind, "value_type", None))
    dtype = None if held in (STRINGS, BYTES) else np.dtype(np.float16 if half else value_type.to_pandas_dtype())
    if value_type in (pa.uint16(), pa.uint32()):
        dtype = np.result_type(value_type.to_pandas_dtype(), np.int8)  # DGL loads neither, but what holds their values
    held = VECTORS if is_vector else TIMES if pa.types.is_temporal(kind) else held
    return Column(name, position, held, f"column {name!r}", dtype=dtype, row_shape=row_shape)


def _kind_of(arrow_type: Any) -> str:
    if pa.types.is_integer(arrow_type) or pa.types.is_boolean(arrow_type):
        return INTEGERS
    if pa.types.is_floating(arrow_type):
        return FLOATS
    if str(arrow_type) in ("string", "large_string", "string_view"):
        return STRINGS
    return BYTES if "binary" in str(arrow_type) and not arrow_type.num_fields else UNKNOWN


def choose_columns(
    file: TableFile, headers: Sequence[tuple[str, Any, tuple[int, ...]]], wanted: Sequence[str], num_ids: int
) -> tuple[tuple[Column, ...], Any]:
    """Describe the chosen columns among those found (name, Arrow type, row shape), and their schema."""
    names, columns, faults = [name for name, _, _ in headers], list[Column](), list[GraphPartError]()
    for number, (name, position) in enumerate(find_columns(file, wanted, names, num_ids)):
        if position is None:
            columns.append(constant_column(name, file.constants[name]))
            continue
        if names.count(name) > 1:
            raise InputFileError(f"several columns are named {name!r}", file=file.path, hint="rename them")
        _, kind, row_shape = headers[position]
        with collect_fault(faults):
            columns.append(_describe(file.path, name, position, kind, is_id=number < num_ids, row_shape=row_shape))
    raise_together(faults)
    kinds = {f"r{i}": headers[column.position][1] for i, column in enumerate(columns) if column.position is not None}
    types = {name: plain_column(pa.nulls(0, kind)).type for name, kind in (kinds or {"none": pa.null()}).items()}
    return tuple(columns), pa.schema(list(types.items()))


def open_parquet_file(file: TableFile, wanted: Sequence[str], num_ids: int) -> ColumnFile:
    """Open a parquet file of edges or nodes."""
    header = read_parquet_header(file.content)
    columns, schema = choose_columns(file, [(field.name, field.type, ()) for field in header.schema], wanted, num_ids)
    sizes = column_sizes(file.content, header.footer, [of.name for of in columns if of.position is not None])
    return ColumnFile(file.path, file.content, columns, schema, header.num_rows, sizes=sizes)


def plain_column(column: Any) -> Any:
    """Return a column as one of a type that DuckDB knows; an `ArrowInvalid` if a value is out of range."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain_column(column.cast(kind.value_type))
    if _is_uuid(kind):
        return _text_of_uuids(column)
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _microseconds(column)
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64() if kind.scale > 0 else pa.int64())
    if is_list(kind) and kind.value_type == pa.float16():
        return column.cast(pa.list_(pa.float32()))
    return column.cast(pa.float32()) if kind == pa.float16() else column


def is_list(kind: Any) -> bool:
    """Whether a type is one of lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def checked_column(column: Any, path: str, name: str, first_row: int) -> Any:
    """Return a column as `plain_column` does; refuse the row of a value that is out of range or too long."""
    lengths = _byte_lengths(column)
    longest = (pc.max(lengths).as_py() or 0) if lengths is not None else 0
    if longest > MAX_ROW_BYTES:
        place = f"row {first_row + pc.index(lengths, longest).as_py():,}, column {name!r}"
        length, hint = f"{longest:,} bytes", "leave the column out"
        raise InputFileError("text too long", file=path, place=place, expected="1 MiB at most", found=length, hint=hint)
    try:
        return plain_column(column)
    except pa.ArrowInvalid as fault:
        row = next((i for i in range(len(column)) if not _is_in_range(column.slice(i, 1))), 0)
        is_time = not pa.types.is_decimal(column.type)
        what = f"{'time' if is_time else 'number'} out of range"
        expected = "microseconds since 1970 in 64 bits" if is_time else "an integer of 64 bits"
        text = f"{_text(column[row])} ({column.type})"
        hint = "leave the column out, or mend the value" if is_time else "leave the column out, or cast it to double"
        place = f"row {first_row + row:,}, column {name!r}"
        raise InputFileError(what, file=path, place=place, expected=expected, found=text, hint=hint) from fault


def _microseconds(times: Any) -> Any:
    """Return times as int64; what is finer than microseconds is rounded down."""
    if pa.types.is_timestamp(times.type):
        without_zone = times.cast(pa.int64()).cast(pa.timestamp(times.type.unit))
        times = pc.floor_temporal(without_zone, unit="microsecond")
    return times.cast(pa.timestamp("us")).cast(pa.int64())


def _is_in_range(column: Any) -> bool:
    try:
        plain_column(column)
    except pa.ArrowInvalid:
        return False
    return True


def _text(value: Any) -> str:
    """Return a value as it is stored, if Python has no such time."""
    try:
        return str(value.as_py())
    except (ValueError, OverflowError):
        return str(value.cast(pa.int64() if value.type.bit_width == 64 else pa.int32()).as_py())


def _is_uuid(kind: Any) -> bool:
    """Whether a type holds UUIDs: Arrow's own, or 16 bytes."""
    name = getattr(kind, "extension_name", "")
    return name == "arrow.uuid" or (pa.types.is_fixed_size_binary(kind) and kind.byte_width == 16)


def _text_of_uuids(column: Any) -> Any:
    """Return UUIDs as text, such as ``00112233-4455-6677-8899-aabbccddeeff``."""
    stored = column.storage if isinstance(column, pa.ExtensionArray) else column
    missing = stored.is_null().to_numpy(zero_copy_only=False)
    filled = pc.fill_null(stored, pa.scalar(bytes(16), stored.type)) if missing.any() else stored
    digits = np.frombuffer(b"".join(filled.to_pylist()).hex().encode(), np.uint8)
    text = np.full((len(filled), 36), ord("-"), np.uint8)
    text[:, [place for place in range(36) if place not in (8, 13, 18, 23)]] = digits.reshape(len(filled), 32)
    return pa.array(text.view("S36").reshape(-1).astype("U36"), pa.string(), mask=missing)
