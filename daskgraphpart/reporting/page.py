"""Lay a report out as text that fits a terminal, and as one HTML page: no script, no other file, no network.

Tables of the page are pandas' `Styler`, whose bars are backgrounds of cells.
"""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from pandas.io.formats.style import Styler

from daskgraphpart.reporting.tables import all_sections, key_figures, title_of
from daskgraphpart.tables import printable, text_table

if TYPE_CHECKING:
    from daskgraphpart.reporting.report import Report
    from daskgraphpart.reporting.tables import Section

MAX_ROWS, MAX_COLUMNS = 16, 17
"""Of a table in text."""

MAX_MATRIX = 32
"""Parts whose edges between each other are a matrix on a page."""

STYLE = """
.dgp-report{--high:#f3b27a;--low:#8fbbe8;--bar:#a9cfc0;--line:#8884;color-scheme:light dark;
 color:CanvasText;background:Canvas;font:14px/1.45 system-ui,sans-serif;padding:20px;
 display:flex;flex-wrap:wrap;gap:0 36px}
@media (prefers-color-scheme:dark){.dgp-report{--high:#8a5426;--low:#2d5a87;--bar:#2f6a55}}
.dgp-report>*{max-width:100%;min-width:0}
.dgp-report header{width:100%}
.dgp-report pre{white-space:pre-wrap;overflow-wrap:anywhere}
.dgp-report section div{max-height:640px;overflow:auto;border:1px solid var(--line)}
.dgp-report section div::-webkit-scrollbar{width:12px;height:12px;background:var(--line)}
.dgp-report section div::-webkit-scrollbar-thumb{background:#888;border-radius:6px}
.dgp-report table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.dgp-report th,.dgp-report td{padding:3px 12px;text-align:right;white-space:nowrap;border-top:1px solid var(--line)}
.dgp-report th{position:sticky;top:0;background:Canvas;z-index:1}
.dgp-report th:first-child,.dgp-report td:first-child{text-align:left;position:sticky;left:0;background:Canvas}
.dgp-report th:first-child{z-index:2}
@media (max-width:800px){.dgp-report td:first-child{max-width:180px;overflow:hidden;text-overflow:ellipsis}}
"""


def report_text(report: Report) -> str:
    """Lay out all figures as text; of many parts, the first are shown."""
    title = f"Partitions of {printable(repr(report.graph_name))}: {title_of(report)}"
    tables = [f"{printable(section.title)}\n{_text_of(section)}" for section in all_sections(report, MAX_ROWS)]
    return "\n\n".join([f"{title}\n{_head(report)}", *tables, *_notes(report)])


def _head(report: Report) -> str:
    """Where the partitions are, how they were made, and what matters most."""
    lines = [f"{name}: {value}" for name, value in report.about.items()]
    lines += ["", *(f"{name:<20} {value:<12} {more}" for name, value, more in key_figures(report))]
    return printable("\n".join(lines))


def _notes(report: Report) -> list[str]:
    return ["Notes\n" + printable("\n".join(report.notes))] if report.notes else []


def _text_of(section: Section) -> str:
    table = section.table.iloc[:, :MAX_COLUMNS]
    heads = [str(column) for column in table]
    rows = [[section.text(*cell) for cell in zip(table, row, strict=True)] for row in table.itertuples(index=False)]
    if heads[0] == "part" and len(rows) > MAX_ROWS:
        rows = [*rows[: MAX_ROWS - 1], ["...", *([""] * (len(heads) - 1))], rows[-1]]
    return text_table(heads, rows, align="<" + ">" * (len(heads) - 1))


def report_page(report: Report) -> str:
    """Return a whole page."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{_title(report)}</title></head>\n<body>{report_fragment(report)}</body></html>\n"
    )


def report_fragment(report: Report) -> str:
    """Return what a notebook shows: the page without its frame, whose style touches nothing else."""
    parts = [f"<style>{STYLE}</style><div class='dgp-report'><header><h1>{_title(report)}</h1>"]
    parts.append(f"<p>{title_of(report)}</p><pre>{escape(_head(report))}</pre></header>")
    for number, section in enumerate(all_sections(report, MAX_MATRIX)):
        parts.append(f"<section><h2>{escape(printable(section.title))}</h2><p>{section.about}</p>")
        parts.append(f"<div>{_table_of(section, f'dgp{number}')}</div></section>")
    parts += [f"<pre>{escape(note)}</pre>" for note in _notes(report)]
    return "".join([*parts, "</div>"])


def _title(report: Report) -> str:
    return escape(printable(f"Partitions of {report.graph_name}"))


def _table_of(section: Section, name: str) -> str:
    table = section.table
    style = Styler(table, uuid=name, cell_ids=False).hide(axis="index")
    style = style.format_index(lambda column: escape(printable(str(column))), axis=1)
    style = style.format({column: partial(_cell, section, column) for column in table})
    means = {column: table[column].mean() for column in section.means if table[column].nunique() > 1}
    farthest = max((abs(table[column] / mean - 1).max() for column, mean in means.items()), default=0.0)
    for column, mean in means.items():
        ends = {"vmin": mean * (1 - farthest), "vmax": mean * (1 + farthest)}
        style = style.bar([column], align="mean", color=["var(--low)", "var(--high)"], **ends)
    highest = max((table[column].max() for column in section.bars), default=0)
    if highest > section.least:
        style = style.bar(list(section.bars), vmin=section.least, vmax=highest, color="var(--bar)")
    return style.to_html()


def _cell(section: Section, column: Any, value: Any) -> str:
    return escape(section.text(column, value))
