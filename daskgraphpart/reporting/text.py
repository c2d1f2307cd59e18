"""Figures as text: tables that fit a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.reporting.sections import all_sections, key_figures, title_of
from daskgraphpart.tables import printable, text_table

if TYPE_CHECKING:
    from daskgraphpart.reporting.figures import Figures
    from daskgraphpart.reporting.sections import Section

MAX_ROWS = 16
MAX_COLUMNS = 17


def report_text(figures: Figures) -> str:
    """Lay out all figures as text; of many parts, the first are shown."""
    lines = [f"Partitions of {figures.graph_name!r}: {title_of(figures)}"]
    lines += [f"{name}: {value}" for name, value in figures.about.items()]
    lines += ["", *(f"{name:<20} {value:<12} {more}" for name, value, more in key_figures(figures))]
    tables = [f"{printable(section.title)}\n{_table(section)}" for section in all_sections(figures, MAX_ROWS)]
    notes = ["Notes\n" + "\n".join(figures.notes)] if figures.notes else []
    return "\n\n".join([printable("\n".join(lines)), *tables, *notes])


def _table(section: Section) -> str:
    heads = list(section.heads[:MAX_COLUMNS])
    rows = [[cell.text for cell in row[:MAX_COLUMNS]] for row in section.rows]
    if heads[0] == "part" and len(rows) > MAX_ROWS:
        rows = [*rows[: MAX_ROWS - 1], ["...", *([""] * (len(heads) - 1))], rows[-1]]
    return text_table(heads, rows, align="<" + ">" * (len(heads) - 1))
