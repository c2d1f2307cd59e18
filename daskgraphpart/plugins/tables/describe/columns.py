"""Describe the chosen columns of a file, find them by name or number, and turn values into numbers by SQL."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.sources.database import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.plugins.tables.describe.table_files import TableFile

INTEGERS, FLOATS, STRINGS, BYTES, TIMES, VECTORS, UNKNOWN = (
    "integers", "floats", "strings", "bytes", "timestamps", "vectors", ""
)  # fmt: skip
BLANKS = "' ' || chr(9)"  # to trim; slow, so texts without blank or sign in front are told first
PAIRS = (
    ("src", "dst"), ("source", "target"), ("source", "destination"), ("from", "to"), ("row", "col"), ("rows", "cols"),
    ("u", "v"), ("head", "tail"), ("src_id", "dst_id"), ("source_id", "target_id"), ("from_id", "to_id"),
)  # fmt: skip
OTHERS, OTHERS_AND_CONSTANTS = "*", "**"
"""All columns of a file that are not IDs; and those that names of directories hold, too."""
MISSING = ("NA", "N/A", "null", "NULL", "None", "\\N")
"""Texts that stand for a missing value of a feature; IDs may have such names."""
TIME_HINT = "write times as 2024-05-01, 2024-05-01 12:00:00 or 2024-05-01T12:00:00.5+02:00"
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")
_OFFSET = "Z| UTC|[+-][01][0-9](:?[0-5][0-9])?"
_WHOLE_TIME = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?({_OFFSET})?)?"
DECIMAL_COMMA = re.compile(r"[-+]?(\d+(,\d*)?|,\d+)([eE][-+]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}([., ']\d{3})+([.,]\d+)?", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Column:
    """A chosen column: name or number, position, and what its type or first value says it holds.

    `example` says where, for messages; `dtype` is a feature's, None in text. A constant has no position; it is its
    value in all rows, None if missing.
    """

    name: str
    position: int | None
    kind: str = UNKNOWN
    example: str = ""
    dtype: np.dtype | None = None
    is_text: bool = False
    constant: str | None = None
    row_shape: tuple[int, ...] = ()
    has_decimal_comma: bool = False

    @property
    def is_string(self) -> bool:
        """Whether it holds strings, as IDs."""
        return self.kind in (STRINGS, BYTES) or (self.is_text and self.kind in (FLOATS, TIMES))

    def raw(self, number: int) -> str:
        """Return an expression for its values, given columns r0, r1, ..."""
        if self.position is not None:
            return f"r{number}"
        return "NULL::VARCHAR" if self.constant is None else quote(self.constant)


def constant_column(name: str, text: str | None) -> Column:
    """Describe a column whose value is in a directory's name."""
    if text is None:
        return Column(name, None, is_text=True)
    return Column(name, None, kind_of_text(text), f"{name}={text}", is_text=True, constant=text)


def kind_of_text(text: str) -> str:
    """Classify a text; integers have one spelling."""
    text = text.strip(" \t")
    if re.fullmatch(r"0|-?[1-9]\d*", text) and -(2**63) <= int(text) < 2**63:
        return INTEGERS
    if _FLOAT.fullmatch(text):
        return FLOATS
    return TIMES if _TIME.fullmatch(text) else STRINGS


def with_decimals(column: Column, sample: Sequence[Sequence[str]], file: TableFile) -> Column:
    """Return a column of text as one of numbers if its first values have a decimal comma.

    If those may be thousands as well, somebody has to say so.
    """
    position, decimal = column.position, file.options.decimal
    if position is None or decimal == "point":
        return column
    values = [row[position].strip(" \t") for row in sample if position < len(row)]
    values = [value for value in values if value not in ("", *MISSING)]
    with_commas = [value for value in values if "," in value]
    are_numbers = all(DECIMAL_COMMA.fullmatch(value) or _THOUSANDS.fullmatch(value) for value in values)
    if not are_numbers or not (with_commas or decimal):
        return column
    are_decimals = all(map(DECIMAL_COMMA.fullmatch, values))
    if not are_decimals or (decimal is None and all(map(_THOUSANDS.fullmatch, with_commas))):
        what, hint = f"numbers of column {column.name!r} have commas", "say FILE:decimal-comma, or FILE:decimal-point"
        hint = hint if are_decimals else "write them without separators of thousands, or say FILE:decimal-point"
        found = next((value for value in with_commas if _THOUSANDS.fullmatch(value)), values[0])
        raise InputFileError(what, file=file.path, found=f"{shown(found)}, fractions or thousands", hint=hint)
    kind = kind_of_text(values[0].replace(",", ".")) if values else column.kind
    return replace(column, kind=kind, has_decimal_comma=True)


def find_columns(
    file: TableFile, wanted: Sequence[str], names: Sequence[str], num_ids: int
) -> list[tuple[str, int | None]]:
    """Find columns by name or number: name and position of each, None for a constant.

    Columns without names are named by their numbers. Empty names mean sources and destinations by their usual names, an
    `id`, or the next of the first columns.
    """
    constants = file.constants
    if len(names) < sum(name in names or name not in constants for name in wanted[:num_ids]):
        what, hint = f"{len(names)} column where there should be {num_ids}", "check --delimiter"
        raise InputFileError(what, file=file.path, found=", ".join(names) if _are_named(names) else None, hint=hint)
    if num_ids and not any(wanted[:num_ids]):
        lowered = [name.lower() for name in names]
        pairs = PAIRS if num_ids == 2 else (("id",),)
        pair = next((pair for pair in pairs if all(lowered.count(name) == 1 for name in pair)), ())
        wanted = [*(names[lowered.index(name)] for name in pair), *wanted[len(pair) :]]
    found: list[tuple[str, int | None]] = []
    for number, name in enumerate(wanted):
        if name in (OTHERS, OTHERS_AND_CONSTANTS):
            taken = {position for _, position in found}
            found += [(other, i) for i, other in enumerate(names) if i not in taken]
            known = {other for other, _ in found}
            if name == OTHERS_AND_CONSTANTS:
                found += [(constant, None) for constant in constants if constant not in known]
        else:
            position = _position(file, name, names, num_ids) if name else number
            found.append((name if position is None else names[position], position))
    return found


def _position(file: TableFile, name: str, names: Sequence[str], num_ids: int) -> int | None:
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        what, hint = f"several columns are named {name!r}", "give the number of the column"
        raise InputFileError(what, file=file.path, hint=hint)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    if name in file.constants:
        return None
    raise InputFileError(
        f"no column {name!r}",
        file=file.path,
        expected=f"one of {', '.join(names)}"
        if _are_named(names)
        else f"a number below {len(names)}: there are no names",
        hint=f"check {'--columns' if num_ids == 2 else 'FILE:COLUMN'}, --header and --delimiter",
    )


def _are_named(names: Sequence[str]) -> bool:
    return [*names] != [str(i) for i in range(len(names))]


def id_value(number: int, column: Column, wanted: str, id_type: str) -> str:
    """Return an expression for the IDs in raw columns r0, r1, ...; NULL for invalid ones or the other kind."""
    raw = column.raw(number)
    if column.is_text:
        return _id_of_text(raw, wanted, id_type)
    if id_type == "auto" and column.is_string != (wanted == STRINGS):
        return "NULL"
    if column.kind == BYTES:
        raw = f"try(decode({raw}))"
    if column.kind == FLOATS:
        raw = f"CASE WHEN {raw} = floor({raw}) THEN TRY_CAST({raw} AS BIGINT) END"
    if wanted == STRINGS:
        return f"({raw})::VARCHAR"
    return _integer_of_text(raw) if column.is_string else f"TRY_CAST({raw} AS BIGINT)"


def missing_id(number: int, column: Column, wanted: str) -> str:
    """Return a condition for missing IDs; words such as NA count as missing among integers."""
    raw = column.raw(number)
    if column.kind == FLOATS and not column.is_text:
        return f"({raw} IS NULL OR isnan({raw}))"
    words = f" OR {raw} IN ({', '.join(map(quote, MISSING))})" if column.is_text and wanted == INTEGERS else ""
    return f"({raw} IS NULL{words})"


def feature_values(number: int, column: Column, kind: str, fill: str | None) -> list[str]:
    """Return expressions for a feature: vectors as they are, numbers as floats and as integers.

    Strings are NULL if missing, and followed by whether they cannot be read.
    """
    raw = column.raw(number)
    is_missing = f"{raw} IS NULL" + (f" OR {raw} IN ({', '.join(map(quote, MISSING))})" if column.is_text else "")
    if kind == STRINGS:
        value = f"try(decode({raw}))" if column.kind == BYTES else f"({raw})::VARCHAR"
        is_bad = f"({raw} IS NOT NULL AND {value} IS NULL)" if column.kind == BYTES else "false"
        filled = "NULL" if fill is None else quote(fill)
        return [f"CASE WHEN {is_missing} THEN {filled} ELSE {value} END", is_bad]
    if kind == VECTORS:
        values = [raw if column.kind == VECTORS else "NULL"]
    elif kind == TIMES and column.is_text:
        values = [f"{_time_of_text(raw)}::DOUBLE", _time_of_text(raw)]
    elif column.is_text:
        raw = f"translate({raw}, ',.', '.,')" if column.has_decimal_comma else raw  # a point makes it no number
        values = [_float_of_text(raw), _integer_of_text(raw)]
    elif column.kind in (BYTES, VECTORS):
        values = ["NULL", "NULL"]
    else:
        values = [f"TRY_CAST({raw} AS DOUBLE)", f"TRY_CAST({raw} AS BIGINT)"]
    if fill is None or kind == VECTORS:
        return values
    fills = [f"{quote(fill)}::DOUBLE", fill if is_integer(fill) else "NULL"]
    return [f"CASE WHEN {is_missing} THEN {f} ELSE {value} END" for f, value in zip(fills, values, strict=True)]


def microseconds_of(fill: str) -> str:
    """Return the fill value of times, a time or a number, as microseconds since 1970."""
    if _FLOAT.fullmatch(fill.strip()):
        return fill
    try:
        time = datetime.fromisoformat(fill.strip())
    except ValueError:
        raise OptionError("not a time", place="--fill", found=fill, hint=TIME_HINT) from None
    time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return str((time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1))


def is_integer(fill: str) -> bool:
    """Whether the fill value is an integer; refuse what is no number."""
    text = fill.strip()
    if not _FLOAT.fullmatch(text):
        raise OptionError("the fill value of a number must be a number", place="--fill", found=fill)
    is_whole = re.fullmatch(r"[-+]?\d+", text) is not None
    if (is_whole and not -(2**63) <= int(text) < 2**63) or (math.isinf(float(text)) and "inf" not in text.lower()):
        expected = "an integer of 64 bits, or a float of 64 bits such as 1e19"
        raise OptionError("number out of range", place="--fill", expected=expected, found=fill)
    return is_whole


def filled_dtype(dtype: np.dtype, fill: str) -> np.dtype:
    """Return a dtype that also holds the fill value, and that DGL can load."""
    is_whole = is_integer(fill)
    if dtype.kind not in "biu":
        return _float_dtype(dtype, float(fill))
    if dtype.kind == "b" and fill in ("0", "1"):
        return dtype
    if is_whole and dtype.kind == "i" and np.iinfo(dtype).min <= int(fill) <= np.iinfo(dtype).max:
        return dtype
    found = np.result_type(dtype, np.min_scalar_type(int(fill)) if is_whole else np.float64)
    return np.result_type(found, np.int8) if found.kind == "u" and found.itemsize > 1 else found


def _float_dtype(dtype: np.dtype, fill: float) -> np.dtype:
    """Return a float dtype, larger if needed, in which a number stays finite."""
    larger = [kind for kind in (np.float32, np.float64) if np.dtype(kind).itemsize > dtype.itemsize]
    with np.errstate(over="ignore"):
        kinds = (np.dtype(kind) for kind in (dtype, *larger))
        return next(kind for kind in kinds if math.isinf(fill) or not math.isinf(float(np.float64(fill).astype(kind))))


def _id_of_text(text: str, wanted: str, id_type: str) -> str:
    """Return an expression for an ID in text; NULL if it looks like the other kind."""
    number = f"TRY_CAST({text} AS BIGINT)"
    if wanted == STRINGS and id_type == "string":
        return text
    if wanted == STRINGS:  # integers begin with digits, signs or blanks, all before the colon
        return f"CASE WHEN {text} < ':' AND {number}::VARCHAR = trim({text}, {BLANKS}) THEN NULL ELSE {text} END"
    if id_type == "integer":
        return _integer_of_text(text)
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


def _integer_of_text(text: str) -> str:
    """Return an expression for an integer in any spelling; DuckDB itself rounds floats."""
    matches = f"regexp_full_match({text}, '[ \\t]*[-+]?[0-9]+[ \\t]*')"
    number = f"TRY_CAST({text} AS BIGINT)"
    return f"CASE WHEN {number}::VARCHAR = {text} OR {matches} THEN {number} END"


def shown(text: str) -> str:
    """Quote a value for a message."""
    return repr(text if len(text) <= 60 else text[:60] + "...")
