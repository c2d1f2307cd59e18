"""Turn Arrow columns into types that DuckDB knows; refuse the first row that 64 bits cannot hold.

Times become microseconds since 1970, rounded down; decimals become integers, or floats if they have decimal places.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.errors import InputFileError

MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}
MICROSECONDS_PER_DAY = 86_400_000_000


def plain_column(column: Any) -> Any:
    """Return a column in a type that DuckDB knows; `ArrowInvalid` for a value out of range."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain_column(column.cast(kind.value_type))
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
    """Do the same as `plain_column`, but name the row of a value out of range."""
    try:
        return plain_column(column)
    except pa.ArrowInvalid as fault:
        row = _first_out_of_range(column)
        is_time = not pa.types.is_decimal(column.type)
        what = f"{'time' if is_time else 'number'} out of range"
        expected = "microseconds since 1970 in 64 bits" if is_time else "an integer of 64 bits"
        found = f"{_text(column[row])} ({column.type})"
        hint = "leave out the column, or correct the value" if is_time else "leave out the column, or cast it to double"
        place = f"row {first_row + row:,}, column {name!r}"
        raise InputFileError(what, file=path, place=place, expected=expected, found=found, hint=hint) from fault


def _microseconds(times: Any) -> Any:
    kind = times.type
    numbers = times.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(pa.int64())
    if pa.types.is_date(kind):
        return pc.multiply_checked(numbers, MICROSECONDS_PER_DAY if pa.types.is_date32(kind) else MICROSECONDS["ms"])
    if kind.unit in MICROSECONDS:
        return pc.multiply_checked(numbers, MICROSECONDS[kind.unit])
    return pc.divide(pc.if_else(pc.less(numbers, 0), pc.subtract_checked(numbers, 999), numbers), 1000)


def _first_out_of_range(column: Any) -> int:
    """Return the first row with a value out of range, if any: rows below `low` are in range."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            plain_column(column.slice(low, middle - low))
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low


def _text(value: Any) -> str:
    """Return a value as stored, if Python has no such time."""
    try:
        return str(value.as_py())
    except (ValueError, OverflowError):
        return str(value.cast(pa.int64() if value.type.bit_width == 64 else pa.int32()).as_py())
