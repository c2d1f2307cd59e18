"""Figures as text that fits a terminal, and as one HTML page: no script, no other file, no network.

Tables of the page are pandas' `Styler`, whose bars are backgrounds of cells.
"""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from pandas.io.formats.style import Styler

from daskgraphpart.reporting.sections import all_sections, key_figures, title_of
from daskgraphpart.tables import printable, text_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.reporting.figures import Figures
    from daskgraphpart.reporting.sections import Section

MAX_ROWS, MAX_COLUMNS = 16, 17
"""Of a table in text."""

MAX_MATRIX = 32
"""Parts whose edges between each other are a matrix on a page."""

STYLE = """
.dgp-report{--ink:#1d2733;--soft:#5c6b7a;--line:#dfe4ea;--back:#fff;--high:#f3b27a;--low:#8fbbe8;--bar:#a9cfc0;
 color:var(--ink);background:var(--back);font:14px/1.45 system-ui,sans-serif}
@media (prefers-color-scheme:dark){.dgp-report{--ink:#e3e8ee;--soft:#98a6b5;--line:#333d49;--back:#171c22;
 --high:#8a5426;--low:#2d5a87;--bar:#2f6a55}}
.dgp-report main{max-width:1180px;margin:0 auto;padding:20px;display:flex;flex-wrap:wrap;gap:0 36px}
.dgp-report main>*{max-width:100%;min-width:0}
.dgp-report header{width:100%}
.dgp-report h1{font-size:24px;margin:0;overflow-wrap:anywhere}
.dgp-report h2{font-size:16px;margin:28px 0 2px;overflow-wrap:anywhere}
.dgp-report p{color:var(--soft);margin:2px 0 8px}
.dgp-report dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:12px 0}
.dgp-report dt{color:var(--soft)}
.dgp-report dd{margin:0;overflow-wrap:anywhere}
.dgp-report .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:10px}
.dgp-report .cards div{border:1px solid var(--line);border-radius:6px;padding:8px 12px}
.dgp-report .cards b{display:block;font-size:22px}
.dgp-report .cards span{color:var(--soft);font-size:12px}
.dgp-report .table{max-height:640px;overflow:auto;border:1px solid var(--line)}
.dgp-report table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.dgp-report th,.dgp-report td{padding:3px 12px;text-align:right;white-space:nowrap}
.dgp-report th{position:sticky;top:0;background:var(--back);color:var(--soft)}
.dgp-report th:first-child,.dgp-report td:first-child{text-align:left}
.dgp-report td{border-top:1px solid var(--line)}
@media (max-width:800px){.dgp-report{font-size:13px}.dgp-report main{padding:12px}
.dgp-report th,.dgp-report td{padding:3px 7px}}
"""


def report_text(figures: Figures) -> str:
    """Lay out all figures as text; of many parts, the first are shown."""
    lines = [f"Partitions of {figures.graph_name!r}: {title_of(figures)}"]
    lines += [f"{name}: {value}" for name, value in figures.about.items()]
    lines += ["", *(f"{name:<20} {value:<12} {more}" for name, value, more in key_figures(figures))]
    tables = [f"{printable(section.title)}\n{_text_of(section)}" for section in all_sections(figures, MAX_ROWS)]
    notes = ["Notes\n" + "\n".join(figures.notes)] if figures.notes else []
    return "\n\n".join([printable("\n".join(lines)), *tables, *notes])


def _text_of(section: Section) -> str:
    table = section.table.iloc[:, :MAX_COLUMNS]
    heads = [str(column) for column in table]
    rows = [[section.text(*cell) for cell in zip(table, row, strict=True)] for row in table.itertuples(index=False)]
    if heads[0] == "part" and len(rows) > MAX_ROWS:
        rows = [*rows[: MAX_ROWS - 1], ["...", *([""] * (len(heads) - 1))], rows[-1]]
    return text_table(heads, rows, align="<" + ">" * (len(heads) - 1))


def report_page(figures: Figures) -> str:
    """Return a whole page."""
    title = _text(f"Partitions of {figures.graph_name}")
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{title}</title><style>body{{margin:0}}</style></head>\n<body>{report_fragment(figures)}</body></html>\n"
    )


def report_fragment(figures: Figures) -> str:
    """Return what a notebook shows: the page without its frame, whose style touches nothing else."""
    return f"<style>{STYLE}</style><div class='dgp-report'><main>{''.join(_content(figures))}</main></div>"


def _content(figures: Figures) -> Iterator[str]:
    yield f"<header><h1>Partitions of {_text(figures.graph_name)}</h1><p>{_text(title_of(figures))}</p>"
    if figures.about:
        yield "<dl>" + "".join(f"<dt>{_text(k)}</dt><dd>{_text(v)}</dd>" for k, v in figures.about.items()) + "</dl>"
    cards = (f"<div>{_text(k)}<b>{_text(v)}</b><span>{_text(more)}</span></div>" for k, v, more in key_figures(figures))
    yield f"<div class='cards'>{''.join(cards)}</div></header>"
    for number, section in enumerate(all_sections(figures, MAX_MATRIX)):
        about = f"<p>{_text(section.about)}</p>" if section.about else ""
        yield f"<section><h2>{_text(section.title)}</h2>{about}<div class='table'>"
        yield f"{_table_of(section, f'dgp{number}')}</div></section>"
    if figures.notes:
        yield f"<section><h2>Notes</h2>{''.join(f'<p>{_text(note)}</p>' for note in figures.notes)}</section>"


def _text(text: str) -> str:
    return escape(printable(text))


def _table_of(section: Section, name: str) -> str:
    table = section.table
    style = Styler(table, uuid=name, cell_ids=False).hide(axis="index")
    style = style.format_index(lambda column: _text(str(column)), axis=1)
    style = style.format({column: partial(_cell, section, column) for column in table})
    for column in section.means:
        if table[column].nunique() > 1:
            style = style.bar([column], align="mean", color=["var(--low)", "var(--high)"])
    highest = max((table[column].max() for column in section.bars), default=0)
    if highest > section.least:
        style = style.bar(list(section.bars), vmin=section.least, vmax=highest, color="var(--bar)")
    return style.to_html()


def _cell(section: Section, column: Any, value: Any) -> str:
    return escape(section.text(column, value))
