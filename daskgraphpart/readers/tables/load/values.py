"""SQL of values: IDs and features in raw columns r0, r1, ..., as strings, integers and floats; NULL where invalid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.readers.database import quote
from daskgraphpart.readers.tables.describe.columns import (
    BYTES,
    FLOATS,
    INTEGERS,
    MISSING,
    MISSING_NUMBERS,
    STRINGS,
    TIMES,
    VECTORS,
    Column,
    is_integer,
)

BLANKS = "' ' || chr(9)"  # to trim; slow, so texts without blank or sign in front come first
_OFFSET = "Z| UTC|[+-][01][0-9](:?[0-5][0-9])?"
_WHOLE_TIME = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?({_OFFSET})?)?"


def id_value(number: int, column: Column, wanted: str, id_type: str) -> str:
    """Return an expression for the IDs in raw columns r0, r1, ...; NULL for invalid ones or the other kind."""
    raw = _raw(number, column)
    if column.is_text:
        return _id_of_text(raw, wanted, id_type)
    if id_type == "auto" and column.is_string != (wanted == STRINGS):
        return "NULL"
    if column.kind == BYTES:
        raw = f"try(decode({raw}))"
    if column.kind == FLOATS:
        bound = 2 ** (np.finfo(column.dtype or np.float64).nmant + 1)  # from here, one stands for several integers
        raw = f"CASE WHEN {raw} = floor({raw}) AND abs({raw}) < {bound} THEN TRY_CAST({raw} AS BIGINT) END"
    if wanted == STRINGS:
        return f"({raw})::VARCHAR"
    return _integer_of_text(raw, "([.]0*)?") if column.is_string else f"TRY_CAST({raw} AS BIGINT)"


def is_missing_id(column: Column, wanted: str, values: Any) -> np.ndarray:
    """Tell which IDs of a batch are missing, bool (rows,); words such as NA count as missing among integers."""
    is_missing = values.is_null(nan_is_null=column.kind == FLOATS and not column.is_text)
    if column.is_text and wanted == INTEGERS:
        is_missing = pc.or_(is_missing, pc.is_in(values, pa.array(MISSING_NUMBERS, pa.string())))
    missing: np.ndarray = is_missing.to_numpy(zero_copy_only=False)
    return missing


def is_no_id(column: Column, wanted: str, text: str) -> bool:
    """Whether the text of a value says that there is no ID, as `is_missing_id` does of batches."""
    if column.is_text:
        return wanted == INTEGERS and text in MISSING_NUMBERS
    return column.kind == FLOATS and text == "nan"


def feature_values(number: int, column: Column, kind: str, fill: str | None) -> list[str]:
    """Return expressions for a feature, but vectors: numbers as floats and as integers.

    Strings are NULL if missing, and followed by whether they cannot be read.
    """
    raw = _raw(number, column)
    is_missing = f"{raw} IS NULL" + (f" OR {raw} IN ({', '.join(map(quote, MISSING))})" if column.is_text else "")
    if kind == STRINGS:
        value = f"try(decode({raw}))" if column.kind == BYTES else f"({raw})::VARCHAR"
        is_bad = f"({raw} IS NOT NULL AND {value} IS NULL)" if column.kind == BYTES else "false"
        filled = "NULL" if fill is None else quote(fill)
        return [f"CASE WHEN {is_missing} THEN {filled} ELSE {value} END", is_bad]
    if kind == TIMES and column.is_text:
        values = [f"{_time_of_text(raw)}::DOUBLE", _time_of_text(raw)]
    elif column.is_text:
        raw = f"translate({raw}, ',.', '.,')" if column.has_decimal_comma else raw  # a point makes it no number
        values = [_float_of_text(raw), _integer_of_text(raw)]
    elif column.kind in (BYTES, VECTORS):
        values = ["NULL", "NULL"]
    else:
        values = [f"TRY_CAST({raw} AS DOUBLE)", f"TRY_CAST({raw} AS BIGINT)"]
    if fill is None:
        return values
    fills = [f"{quote(fill)}::DOUBLE", fill if is_integer(fill) else "NULL"]
    return [f"CASE WHEN {is_missing} THEN {f} ELSE {value} END" for f, value in zip(fills, values, strict=True)]


def _raw(number: int, column: Column) -> str:
    """Return an expression for a column's values."""
    if column.position is not None:
        return f"r{number}"
    return "NULL::VARCHAR" if column.constant is None else quote(column.constant)


def _id_of_text(text: str, wanted: str, id_type: str) -> str:
    """Return an expression for an ID in text; NULL if it looks like the other kind."""
    number = f"TRY_CAST({text} AS BIGINT)"
    if wanted == STRINGS and id_type == "string":
        return text
    if wanted == STRINGS:  # integers begin with digits, signs or blanks, all before the colon
        return f"CASE WHEN {text} < ':' AND {number}::VARCHAR = trim({text}, {BLANKS}) THEN NULL ELSE {text} END"
    if id_type == "integer":
        return _integer_of_text(text, "([.]0*)?")
    return f"CASE WHEN {number}::VARCHAR = {text} OR {number}::VARCHAR = trim({text}, {BLANKS}) THEN {number} END"


def _float_of_text(text: str) -> str:
    """Return an expression for a number; DuckDB itself accepts underscores and drops some signs."""
    odd = " OR ".join(f"contains({text}, '{mark}')" for mark in ("_", "+-", "("))
    return f"CASE WHEN NOT ({odd}) THEN TRY_CAST({text} AS DOUBLE) END"


def _time_of_text(text: str) -> str:
    """Return an expression for microseconds since 1970; a time without offset is UTC."""
    text = f"trim({text}, {BLANKS})"
    for mark in "+-Z":
        text = f"replace({text}, ' {mark}', '{mark}')"
    return f"CASE WHEN regexp_full_match({text}, '{_WHOLE_TIME}') THEN epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)) END"


def _integer_of_text(text: str, fraction: str = "") -> str:
    """Return an expression for an integer in any spelling, a pattern behind it; DuckDB itself rounds floats."""
    matches = f"regexp_full_match({text}, '[ \\t]*[-+]?[0-9]+{fraction}[ \\t]*')"
    number = f"TRY_CAST({text} AS BIGINT)"
    return f"CASE WHEN {number}::VARCHAR = {text} OR {matches} THEN {number} END"
