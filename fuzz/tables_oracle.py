"""What a table of edges means, in plain Python: an oracle for `fuzz_tables.py`, slow and without a library.

`RefusedError` is what the package has to refuse; everything else it has to read as it is here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

MISSING = ("NA", "N/A", "null", "NULL", "None", "\\N")
NEWLINE = re.compile(r"\r\n|\r|\n")
SWAPPED = str.maketrans(",.", ".,")
BLANKS, SPACES = " \t", " \t\n\r\v\f"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INTEGER = re.compile(r"[ \t]*[-+]?[0-9]+[ \t]*")
FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE)
OFFSET = r"(?: ?(Z)| (UTC)| ?([+-])([01]\d)(?::?([0-5]\d))?)?"
TIME = re.compile(
    rf"(\d{{4}})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?{OFFSET})?",
    re.ASCII,
)
DECIMAL_COMMA = re.compile(r"[-+]?([0-9]+(,[0-9]*)?|,[0-9]+)([eE][-+]?[0-9]+)?")
THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}([., '][0-9]{3})+([.,][0-9]+)?")
LOOKS_LIKE_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")


class RefusedError(Exception):
    """The package has to refuse this."""


def rows_of_text(text: str, delimiter: str) -> list[list[str | None]]:
    """Fields of all rows, None where a field is blank; those in quotes without them."""
    rows: list[list[str | None]] = []
    at = 0
    while at < len(text):
        newline = NEWLINE.search(text, at)
        line = text[at : len(text) if newline is None else newline.start()]
        if line.strip(BLANKS) and not (not rows and line.strip(BLANKS).startswith("#")):
            fields, at = fields_of(text, at, delimiter)
            rows.append(fields)
        else:
            at += len(line)
        newline = NEWLINE.match(text, at)
        at = at if newline is None else newline.end()
    if not rows:
        raise RefusedError("no rows")
    if any(len(row) != len(rows[0]) for row in rows):
        raise RefusedError("lines of different lengths")
    return rows


def fields_of(text: str, at: int, delimiter: str) -> tuple[list[str | None], int]:
    """Cut a row; return where it ends. A quote inside a field that does not begin with one is a character."""
    ends = (BLANKS if delimiter == " " else delimiter) + "\r\n"
    end = re.compile(f"[{re.escape(ends)}]")

    def after_blanks(at: int) -> int:
        while delimiter == " " and at < len(text) and text[at] in BLANKS:
            at += 1
        return at

    fields: list[str | None] = []
    at = after_blanks(at)
    while True:
        if text[at : at + 1] == '"':
            field, at = quoted_field(text, at + 1)
            if at < len(text) and text[at] not in ends:
                raise RefusedError("text behind a quoted field")
            fields.append(field)
        else:
            start, found = at, end.search(text, at)
            at = len(text) if found is None else found.start()
            fields.append(text[start:at] if text[start:at].strip(BLANKS) else None)
        at = after_blanks(at)
        if at >= len(text) or text[at] in "\r\n":
            return fields, at
        at = at if delimiter == " " else at + 1


def quoted_field(text: str, at: int) -> tuple[str, int]:
    """Read a field after its first quote; return where it ends."""
    field = ""
    while True:
        end = text.find('"', at)
        if end < 0:
            raise RefusedError("quotes do not match")
        field, at = field + text[at:end], end + 1
        if text[at : at + 1] != '"':
            return field, at
        field, at = field + '"', at + 1


@cache
def integer_of(text: str | None) -> int:
    """An integer of 64 bits, however it is written."""
    if text is None or not INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise RefusedError("no integer")
    return int(text)


@cache
def time_of(text: str) -> int:
    """Microseconds since 1970."""
    match = TIME.fullmatch(text.strip(BLANKS))
    if match is None:
        raise RefusedError("no time")
    year, month, day, hour, minute, second, fraction, _, _, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    is_end = (int(hour or 0), int(minute or 0), int(second or 0), int(fraction or 0)) == (24, 0, 0, 0)
    try:
        clock = (0, 0, 0) if is_end else (int(hour or 0), int(minute or 0), int(second or 0))
        time = datetime(int(year), int(month), int(day), *clock, tzinfo=UTC)
    except ValueError:
        raise RefusedError("no time") from None
    microseconds = (time - EPOCH) // timedelta(microseconds=1) + 86_400_000_000 * is_end
    return microseconds + int((fraction or "0")[:6].ljust(6, "0")) - offset // timedelta(microseconds=1)


def fill_of(fill: str) -> int | float:
    """What takes the place of missing numbers."""
    if not FLOAT.fullmatch(fill):
        raise RefusedError("a fill that is no number")
    return int(fill) if re.fullmatch(r"[-+]?\d+", fill) else float(fill)


def column_of_text(values: list[str | None], fill: str | None, num_looked_at: int) -> list[Any]:
    """Values of a column of text: codes of strings, microseconds, or integers if all are, else floats.

    The first values tell what a comma is.
    """
    gaps = [value is None or value in MISSING for value in values]
    if has_decimal_commas(values[:num_looked_at]):
        values = [None if value is None else value.translate(SWAPPED) for value in values]
    kind = kind_of(next((v for v in values if v is not None and v.strip(BLANKS) not in ("", *MISSING)), None))
    if kind == "string":
        texts = [None if gap else value for value, gap in zip(values, gaps, strict=True)]
        return [-1 if code is None else code for code in codes_of(texts)]
    filled = None if fill is None else fill_of(fill)
    if any(gaps) and filled is None:
        raise RefusedError("missing")
    given = [value or "" for value, gap in zip(values, gaps, strict=True) if not gap]
    if kind == "time":
        found: list[Any] = [time_of(value) for value in given]
    elif all(is_integer(value) for value in given):
        found = [int(value) for value in given]
    else:
        found = [float_of(value) for value in given]
    rest = iter(found)
    whole = [filled if gap else next(rest) for gap in gaps]
    return (
        whole
        if all(isinstance(value, int) for value in whole)
        else [float(value) for value in whole if value is not None]
    )


def codes_of(values: Sequence[Any]) -> list[int | None]:
    """The rank of each value among the different ones, by number or UTF-8 bytes; None stays."""
    different = sorted(
        {value for value in values if value is not None}, key=lambda v: v.encode() if isinstance(v, str) else v
    )
    ranks = {value: rank for rank, value in enumerate(different)}
    return [None if value is None else ranks[value] for value in values]


def has_decimal_commas(values: list[str | None]) -> bool:
    """Whether commas separate fractions."""
    given = [value.strip(BLANKS) for value in values if value is not None]
    given = [text for text in given if text and text not in MISSING]
    with_commas = [text for text in given if "," in text]
    if not with_commas or not all(DECIMAL_COMMA.fullmatch(text) or THOUSANDS.fullmatch(text) for text in given):
        return False
    if not all(map(DECIMAL_COMMA.fullmatch, given)) or all(map(THOUSANDS.fullmatch, with_commas)):
        raise RefusedError("fractions or thousands")
    return True


@cache
def is_integer(text: str) -> bool:
    """Whether a text is an integer of 64 bits."""
    return INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


@cache
def float_of(text: str) -> float:
    """A number."""
    if not FLOAT.fullmatch(text.strip(SPACES)):
        raise RefusedError("no number")
    return float(text.strip(SPACES))


def kind_of(text: str | None) -> str:
    """What the first value of a column makes of it."""
    if text is None or FLOAT.fullmatch(text.strip(BLANKS)):
        return "number"
    return "time" if LOOKS_LIKE_TIME.fullmatch(text.strip(BLANKS)) else "string"
