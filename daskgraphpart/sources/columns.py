"""Describe the chosen columns of a file, find them by name or number, and turn their values into IDs by SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

INTEGERS, FLOATS, STRINGS, BYTES, NO_IDS = "integers", "floats", "strings", "bytes", ""
BLANKS = "' ' || chr(9)"  # what is trimmed; slow, hence texts that begin with no blank or sign are told first


@dataclass(frozen=True, slots=True)
class Column:
    """A chosen column: its name or else number, where it is, what its type or its first value says it holds.

    `example` says where that is, for messages; `dtype` is that of a feature, None in text.
    """

    name: str
    position: int
    kind: str = NO_IDS
    example: str = ""
    dtype: np.dtype | None = None
    is_text: bool = False

    @property
    def is_string(self) -> bool:
        """Whether it holds strings."""
        return self.kind in (STRINGS, BYTES)


def find_columns(
    path: str, wanted: Sequence[str], names: Sequence[str], num_columns: int, num_ids: int
) -> list[tuple[str, int]]:
    """Find columns by name, or else by number: name and position of each; an empty name is the next of the first."""
    if num_columns < num_ids:
        raise InputFileError(
            f"{num_columns} column where there should be {num_ids}",
            file=path,
            found=", ".join(names) or None,
            hint="check --delimiter",
        )
    found = []
    for number, name in enumerate(wanted):
        if not name:
            position = number
        elif names.count(name) == 1:
            position = names.index(name)
        elif name in names:
            raise InputFileError(f"several columns are named {name!r}", file=path, hint="give the number of the column")
        elif name.isdigit() and int(name) < num_columns:
            position = int(name)
        else:
            raise InputFileError(
                f"no column {name!r}",
                file=path,
                expected=f"one of {', '.join(names)}" if names else f"a number below {num_columns}: there are no names",
                hint="check --columns, --edge-columns, --header and --delimiter",
            )
        found.append((names[position] if names else str(position), position))
    return found


def id_value(number: int, column: Column, wanted: str, id_type: str) -> str:
    """Return an expression for the IDs of raw column r0, r1, ...; NULL where one cannot be, or is of the other kind."""
    raw = f"r{number}"
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


def feature_values(number: int, column: Column) -> list[str]:
    """Return expressions for a feature in a raw column: as floats, and as integers."""
    raw = f"r{number}"
    if column.is_text:
        return [f"TRY_CAST(trim({raw}, {BLANKS}) AS DOUBLE)", _integer_of_text(raw)]
    return [f"{raw}::DOUBLE", f"TRY_CAST({raw} AS BIGINT)"]


def _id_of_text(text: str, wanted: str, id_type: str) -> str:
    """Return an expression for an ID in text; where its looks tell its type, one of the other kind is NULL."""
    number = f"TRY_CAST({text} AS BIGINT)"
    if wanted == STRINGS and id_type == "string":
        return text
    if wanted == STRINGS:  # integers begin with digits, signs or blanks, all of them before the colon
        return f"CASE WHEN {text} < ':' AND {number}::VARCHAR = trim({text}, {BLANKS}) THEN NULL ELSE {text} END"
    if id_type == "integer":
        return _integer_of_text(text)
    return f"CASE WHEN {number}::VARCHAR = {text} OR {number}::VARCHAR = trim({text}, {BLANKS}) THEN {number} END"


def _integer_of_text(text: str) -> str:
    """Return an expression for an integer, however it is written; DuckDB itself rounds floats."""
    is_integer = f"regexp_full_match({text}, '[ \\t]*[-+]?[0-9]+[ \\t]*')"
    number = f"TRY_CAST({text} AS BIGINT)"
    return f"CASE WHEN {number}::VARCHAR = {text} OR {is_integer} THEN {number} END"


def shown(text: str) -> str:
    """Quote a value for a message."""
    return repr(text if len(text) <= 60 else text[:60] + "...")
