"""Describe the chosen columns of a file, and find them by name or number; values that fill gaps, and their dtypes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import GraphPartError, InputFileError, OptionError, collect_fault, raise_together
from daskgraphpart.ids import id_map
from daskgraphpart.readers.names_of_ends import choose_ends, free_columns, known_id
from daskgraphpart.schema import plain_name

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.table_files import TableFile

INTEGERS, STRINGS = id_map.INTEGERS, id_map.STRINGS
FLOATS, BYTES, TIMES, VECTORS, UNKNOWN = "floats", "bytes", "timestamps", "vectors", ""
OTHERS, OTHERS_AND_CONSTANTS = "*", "**"
"""All columns of a file that are not IDs; and those that names of directories hold, too."""
MAX_ID = 2**63 - 2
MISSING = ("NA", "N/A", "null", "NULL", "None", "\\N")
MISSING_NUMBERS = (*MISSING, "nan", "NaN")
"""Texts that stand for a missing value of a feature; IDs may have such names."""
COLUMNS_TRIED = 64  # for IDs that were looked for in another one
TIME_HINT = "write times as 2024-05-01, 2024-05-01 12:00:00 or 2024-05-01T12:00:00.5+02:00"
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")
OPEN_ENDS = "nothing says which columns are the ends of edges"
DECIMAL_COMMA = re.compile(r"[-+]?(\d+(,\d*)?|,\d+)([eE][-+]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}([., ']\d{3})+([.,]\d+)?", re.ASCII)
FLOAT_TEXT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)


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
    is_typical: bool = True  # most of the first values are of this kind

    @property
    def is_string(self) -> bool:
        """Whether it holds strings, as IDs."""
        return self.kind in (STRINGS, BYTES) or (self.is_text and self.kind in (FLOATS, TIMES))


def are_strings(column: Column) -> bool:
    """Whether a column of IDs holds strings, by its type or most of its first values; numbers such as 4.0 are none."""
    return column.kind in (STRINGS, BYTES) and column.is_typical


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
    if FLOAT_TEXT.fullmatch(text):
        return FLOATS
    return TIMES if _TIME.fullmatch(text) else STRINGS


def with_decimals(column: Column, sample: Sequence[Sequence[str]], file: TableFile) -> Column:
    """Return a column of text as one of numbers if its first values have a decimal comma.

    If those may be thousands as well, somebody has to say so.
    """
    position, decimal = column.position, file.options.decimal
    if position is None:
        return column
    values = [row[position].strip(" \t") for row in sample if position < len(row)]
    values = [value for value in values if value not in ("", *MISSING)]
    with_commas = [value for value in values if "," in value]
    are_numbers = all(DECIMAL_COMMA.fullmatch(value) or _THOUSANDS.fullmatch(value) for value in values)
    are_decimals = all(map(DECIMAL_COMMA.fullmatch, values))
    may_be_thousands = bool(with_commas) and all(map(_THOUSANDS.fullmatch, with_commas))
    if not are_numbers or not (with_commas or decimal) or (decimal == "point" and not may_be_thousands):
        return column
    if not are_decimals or (decimal != "comma" and may_be_thousands):
        what, hint = f"numbers of column {column.name!r} have commas", "write them without separators of thousands"
        if are_decimals and not decimal:
            hint = f"say FILE:decimal-comma if they separate fractions, or {hint}"
        odd = next((value for value in with_commas if _THOUSANDS.fullmatch(value)), values[0])
        raise InputFileError(what, file=file.path, found=f"{shown(odd)}, fractions or thousands", hint=hint)
    kind = kind_of_text(values[0].replace(",", ".")) if values else column.kind
    return replace(column, kind=kind, has_decimal_comma=True)


def find_columns(
    file: TableFile, wanted: Sequence[str], names: Sequence[str], num_ids: int
) -> list[tuple[str, int | None]]:
    """Find columns by name or number: name and position of each, None for a constant.

    Columns without names are named by their numbers. Empty names mean sources and destinations by their usual names, an
    `id`, or the first columns where that leaves no doubt.
    """
    constants = file.constants
    if len(names) < sum(name in names or name not in constants for name in wanted[:num_ids]):
        what, hint = f"{len(names)} column where there should be {num_ids}", "check --delimiter"
        if file.form != "text":
            hint = "give an array or column for each end" if num_ids == 2 else "give one with the IDs of nodes"
        raise InputFileError(what, file=file.path, found=", ".join(names) if _are_named(names) else None, hint=hint)
    guessed = _guess_ids(file, names, wanted[num_ids:], num_ids) if num_ids and not any(wanted[:num_ids]) else ()
    places, faults = list[tuple[str, int | None]](), list[GraphPartError]()
    for number, name in enumerate(wanted):
        if name in (OTHERS, OTHERS_AND_CONSTANTS):
            taken = {position for _, position in places}
            places += [(other, i) for i, other in enumerate(names) if i not in taken]
            known = {other for other, _ in places}
            if name == OTHERS_AND_CONSTANTS:
                places += [(constant, None) for constant in constants if constant not in known]
        else:
            with collect_fault(faults):
                position = guessed[number] if number < len(guessed) else _position(file, name, names, num_ids, number)
                places.append((name if position is None else names[position], position))
    raise_together(faults)
    return places


def _guess_ids(file: TableFile, names: Sequence[str], features: Sequence[str], num_ids: int) -> tuple[int, ...]:
    """Return the positions of IDs by their usual names; refuse a header that leaves the ends open."""
    if num_ids == 1:
        return (_guess_id(file, names, features),)
    if not _are_named(names):
        free = free_columns(names, features)
        return tuple(free[:2]) if free[1:] else (0, 1)
    ends = choose_ends(names, features, file.ends)
    if ends is None:
        src, dst = map(plain_name, names[:2])
        hint = f"name the two columns, for example FILE:{src},{dst} or --endpoints {src},{dst}"
        expected = "usual names, such as src and dst, or those of the node types"
        raise InputFileError(OPEN_ENDS, file=file.path, expected=expected, found=", ".join(names), hint=hint)
    return ends


def _guess_id(file: TableFile, names: Sequence[str], features: Sequence[str]) -> int:
    """Return the position of the IDs by their usual names, or the first; it is no feature unless it is named so."""
    if (known := known_id(names)) is not None:
        return known
    free = free_columns(names, features)
    if free and (free[0] == 0 or len(free) == 1):
        return free[0]
    name = Path(file.path).name
    raise InputFileError(
        "nothing says which column has the IDs of nodes" if free else "no column of IDs",
        file=file.path,
        expected="a column id, or another one first",
        found=", ".join(names) if _are_named(names) else None,
        hint=f"name it: {name}:ID:{plain_name(features[0])}. Or give a feature as a whole file, NAME={name}, if "
        "its rows follow a list of nodes",
    )


def _position(file: TableFile, name: str, names: Sequence[str], num_ids: int, number: int) -> int | None:
    plain = list(map(plain_name, names))
    for known in (names, plain):
        if known.count(name) == 1:
            return known.index(name)
    if name in names:
        what, hint = f"several columns are named {name!r}", "give the number of the column"
        raise InputFileError(what, file=file.path, hint=hint)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    if name in file.constants:
        return None
    hint = f"check {'--endpoints' if num_ids == 2 else 'FILE:COLUMN'}, --header and --delimiter"
    if num_ids == 2 <= number:
        hint = "check --header and --delimiter, and that each file has this column"
    raise InputFileError(
        f"no column {name!r}",
        file=file.path,
        expected=f"one of {', '.join(plain)}"
        if _are_named(names)
        else f"a number below {len(names)}: there are no names",
        hint=hint,
    )


def _are_named(names: Sequence[str]) -> bool:
    return [*names] != [str(i) for i in range(len(names))]


def shown(value: object) -> str:
    """Show a value in a message; text is quoted, and cut if long."""
    return shown_line(value, 0) if isinstance(value, str) else "nothing" if value is None else str(value)


def shown_line(line: str, place: int) -> str:
    """Show a line in a message, or of a long one what is around a place."""
    first = max(0, min(place - 20, len(line) - 60))
    return repr("..." * (first > 0) + line[first : first + 60] + "..." * (first + 60 < len(line)))


def microseconds_of(fill: str) -> str:
    """Return the fill value of times, a time or a number, as microseconds since 1970."""
    if FLOAT_TEXT.fullmatch(fill.strip()):
        return fill
    try:
        time = datetime.fromisoformat(fill.strip())
    except ValueError:
        raise OptionError("not a time", option="fill", found=fill, hint=TIME_HINT) from None
    time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return str((time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1))


def is_integer(fill: str) -> bool:
    """Whether the fill value is an integer; refuse what is no number."""
    text = fill.strip()
    if not FLOAT_TEXT.fullmatch(text):
        raise OptionError("the fill value of a number must be a number", option="fill", found=fill)
    is_whole = re.fullmatch(r"[-+]?\d+", text) is not None
    if (is_whole and not -(2**63) <= int(text) < 2**63) or (math.isinf(float(text)) and "inf" not in text.lower()):
        expected = "an integer of 64 bits, or a float of 64 bits such as 1e19"
        raise OptionError("number out of range", option="fill", expected=expected, found=fill)
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
    common = np.result_type(dtype, np.min_scalar_type(int(fill)) if is_whole else np.float64)
    return np.result_type(common, np.int8) if common.kind == "u" and common.itemsize > 1 else common


def _float_dtype(dtype: np.dtype, fill: float) -> np.dtype:
    """Return a float dtype, larger if needed, in which a number stays finite."""
    larger = [kind for kind in (np.float32, np.float64) if np.dtype(kind).itemsize > dtype.itemsize]
    with np.errstate(over="ignore"):
        kinds = (np.dtype(kind) for kind in (dtype, *larger))
        return next(kind for kind in kinds if math.isinf(fill) or not math.isinf(float(np.float64(fill).astype(kind))))


def number_of(fill: str) -> int | float:
    """Return the fill value of numbers."""
    return int(fill) if is_integer(fill) else float(fill)
