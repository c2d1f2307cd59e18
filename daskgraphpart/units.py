"""Sizes, counts and durations to and from text; tables as text and HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from daskgraphpart.errors import OptionError, printable

_COUNT = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([kKmMgGbBtT]?)\s*")
_RATE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([kKMGT]?)bit(?:/s)?\s*")
LARGEST = 2.0**62
_POWERS: dict[str, int] = {"": 0, "k": 1, "m": 2, "g": 3, "b": 3, "t": 4}


def parse_count(text: str) -> int:
    """Whole number such as ``"5e6"``, ``"5M"`` or ``"5_000_000"``."""
    match = _COUNT.fullmatch(text)
    value = None if match is None else float(match[1].replace("_", "")) * 1000.0 ** _POWERS[match[2].lower()]
    if value is None or value > LARGEST or value != round(value):
        raise OptionError(f"{text!r} is not a whole number", hint="use a number such as 5e6, 5M or 5000000")
    return round(value)


def parse_share(share: str | float, place: str) -> float:
    """Number from 0 to 1 of a share such as ``"2%"`` or ``0.02``."""
    number, percent, rest = str(share).strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if rest or not 0 <= value <= 1:
        raise OptionError(f"{place} {share} is not a share", place=place, hint="use 0% to 100%")
    return value


def parse_rate(rate: str, place: str) -> float:
    """Bits per second of a network, such as ``"25Gbit"`` or ``"100 Mbit/s"``."""
    match = _RATE.fullmatch(rate)
    bits = float(match[1]) * 1000.0 ** _POWERS[match[2].lower()] if match else 0.0
    if bits <= 0:
        raise OptionError(f"{place} {rate} is not a speed", place=place, hint="use bits per second, such as 25Gbit")
    return bits


def format_rate(bits: float) -> str:
    """Bits per second with a decimal unit: ``"10 Gbit/s"``."""
    unit = next((unit for unit in "TGMk" if bits >= 1000.0 ** _POWERS[unit.lower()]), "")
    return f"{bits / 1000.0 ** _POWERS[unit.lower()]:g} {unit}bit/s"


def format_size(nbytes: float) -> str:
    """Bytes with a decimal unit: ``"1.5 GB"``."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(nbytes) < 1000 or unit == "TB":
            break
        nbytes /= 1000
    return f"{nbytes:.0f} {unit}" if unit == "B" or nbytes >= 100 else f"{nbytes:.1f} {unit}"


def format_count(count: int) -> str:
    """Number with thousands separators: ``"5,000,000"``."""
    return f"{count:,}"


def format_number(count: int, noun: str) -> str:
    """Number of something: ``"1 edge"``, ``"5,000 edges"``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_seconds(seconds: float) -> str:
    """Duration: ``"0.42 s"``, ``"12 s"``, ``"3 min 5 s"``, ``"2 h 10 min"``."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str | None = None) -> str:
    """Lay out a table as text; `align` has ``<`` or ``>`` per column, by default ``<``."""
    align = align or "<" * len(headers)
    table = [[printable(cell) for cell in line] for line in (headers, *rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = [table[0], ["-" * width for width in widths], *table[1:]]
    return "\n".join(
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, align, widths, strict=True)).rstrip()
        for line in lines
    )


def html_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", align: str | None = None
) -> str:
    """Lay out a table as an HTML fragment, cells escaped; `align` as in `text_table`."""
    styles = [" style='text-align:left'" if side == "<" else "" for side in align or "<" * len(headers)]

    def line(tag: str, cells: Sequence[str]) -> str:
        shown = (f"<{tag}{style}>{escape(printable(cell))}</{tag}>" for style, cell in zip(styles, cells, strict=True))
        return f"<tr>{''.join(shown)}</tr>"

    title = f"<caption style='text-align:left'>{escape(printable(caption))}</caption>" if caption else ""
    body = "".join(line("td", row) for row in rows)
    return f"<table>{title}<thead>{line('th', headers)}</thead><tbody>{body}</tbody></table>"
