"""Tables as plain text and as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def printable(text: str) -> str:
    """Replace what a terminal or a page must not be sent: control characters, lone surrogates."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str | None = None) -> str:
    """Lay out a table with spaces; `align` has ``<`` or ``>`` for each column, by default ``<``."""
    align = align or "<" * len(headers)
    table = [[printable(cell) for cell in line] for line in (headers, *rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = [table[0], ["-" * width for width in widths], *table[1:]]
    return "\n".join(
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, align, widths, strict=True)).rstrip()
        for line in lines
    )


def html_table(headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Return a table as an HTML fragment; all cells are escaped."""
    head = "".join(f"<th style='text-align:left'>{escape(printable(cell))}</th>" for cell in headers)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(printable(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    title = f"<caption style='text-align:left'>{escape(printable(caption))}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
