"""What a table of edges means, in plain Python: an oracle for `fuzz_tables.py`, slow and without a library.

`RefusedError` is what the package has to refuse; everything else it has to read as it is here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

MISSING = ("NA", "N/A", "null", "NULL", "None", "\\N")
BLANKS, SPACES = " \t", " \t\n\r\v\f"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INTEGER = re.compile(r"[ \t]*[-+]?[0-9]+[ \t]*")
FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE)
OFFSET = r"(?: ?(Z)| (UTC)| ?([+-])([01]\d)(?::?([0-5]\d))?)?"
TIME = re.compile(
    rf"(\d{{4}})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?{OFFSET})?",
    re.ASCII,
)
LOOKS_LIKE_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")


class RefusedError(Exception):
    """The package has to refuse this."""


def rows_of_text(text: str, delimiter: str) -> list[list[str | None]]:
    """Fields of all rows, None where a field is blank; those in quotes without them."""
    lines = text.replace("\r\n", "\n").removesuffix("\r").split("\n")
    wanted = [line for line in lines if line.strip(BLANKS) and not line.strip(BLANKS).startswith("#")]
    rows = [fields_of(line, delimiter) for line in wanted]
    if not rows:
        raise RefusedError("no rows")
    if any(len(row) != len(rows[0]) for row in rows):
        raise RefusedError("lines of different lengths")
    return rows


def fields_of(line: str, delimiter: str) -> list[str | None]:
    """Cut a line; a quote inside a field that does not begin with one is a character like others."""
    line = line.strip(BLANKS) if delimiter == " " else line
    ends = BLANKS if delimiter == " " else delimiter
    fields: list[str | None] = []
    at = 0
    while True:
        field = ""
        if line[at : at + 1] == '"':
            at += 1
            while True:
                end = line.find('"', at)
                if end < 0:
                    raise RefusedError("quotes do not match")
                field += line[at:end]
                at = end + 1
                if line[at : at + 1] != '"':
                    break
                field, at = field + '"', at + 1
            if at < len(line) and line[at] not in ends:
                raise RefusedError("text behind a quoted field")
            fields.append(field)
        else:
            start = at
            while at < len(line) and line[at] not in ends:
                at += 1
            fields.append(line[start:at] if line[start:at].strip(BLANKS) else None)
        if at >= len(line):
            return fields
        at += 1
        while delimiter == " " and line[at] in ends:
            at += 1


def integer_of(text: str | None) -> int:
    """An integer of 64 bits, however it is written."""
    if text is None or not INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise RefusedError("no integer")
    return int(text)


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


def column_of_text(values: list[str | None], fill: str | None) -> list[Any]:
    """Values of a column of text: codes of strings, microseconds, or integers if all are, else floats."""
    gaps = [value is None or value in MISSING for value in values]
    kind = kind_of(next((v for v in values if v is not None and v.strip(BLANKS) not in ("", *MISSING)), None))
    if kind == "string":
        if any(gaps) and fill is None:
            raise RefusedError("missing")
        texts = [fill if gap else value for value, gap in zip(values, gaps, strict=True)]
        known = sorted({text.encode() for text in [*texts, fill] if text is not None})
        return [known.index(text.encode()) for text in texts if text is not None]
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


def is_integer(text: str) -> bool:
    """Whether a text is an integer of 64 bits."""
    return INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


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
