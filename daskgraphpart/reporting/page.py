"""Figures as one HTML page of tables whose cells are drawn upon: no script, no other file, no network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from daskgraphpart.reporting.sections import all_sections, key_figures, title_of
from daskgraphpart.tables import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.reporting.figures import Figures
    from daskgraphpart.reporting.sections import Cell, Section

MAX_MATRIX = 64
STYLE = """
.dgp-report{--ink:#1d2733;--soft:#5c6b7a;--line:#dfe4ea;--back:#fff;--high:#f3b27a;--low:#8fbbe8;--bar:#a9cfc0;
 --shade:233,120,60;color:var(--ink);background:var(--back);font:14px/1.45 system-ui,sans-serif}
@media (prefers-color-scheme:dark){.dgp-report{--ink:#e3e8ee;--soft:#98a6b5;--line:#333d49;--back:#171c22;
 --high:#8a5426;--low:#2d5a87;--bar:#2f6a55;--shade:200,100,50}}
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
.dgp-report th,.dgp-report td{padding:3px 12px;text-align:right;white-space:nowrap;background-color:var(--back)}
.dgp-report th{position:sticky;top:0;z-index:1;color:var(--soft);border-bottom:1px solid var(--line)}
.dgp-report th:first-child,.dgp-report td:first-child{position:sticky;left:0;z-index:1;text-align:left}
.dgp-report td{border-top:1px solid var(--line)}
.dgp-report td i{display:inline-block;width:72px;height:9px;margin-left:8px;border-radius:2px}
@media (max-width:800px){.dgp-report{font-size:13px}.dgp-report main{padding:12px}
.dgp-report th,.dgp-report td{padding:3px 7px}.dgp-report td i{width:40px}}
.dgp-report small{color:var(--soft);display:inline-block;width:54px}
"""


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
    for section in all_sections(figures, MAX_MATRIX):
        yield _section(section)
    if figures.notes:
        yield f"<section><h2>Notes</h2>{''.join(f'<p>{_text(note)}</p>' for note in figures.notes)}</section>"


def _text(text: str) -> str:
    return escape(printable(text))


def _section(section: Section) -> str:
    scale = max((abs(end) for row in section.rows for cell in row for end in (cell.low, cell.high)), default=0.0) or 1.0
    head = "".join(f"<th>{_text(name)}</th>" for name in section.heads)
    body = "".join("<tr>" + "".join(_cell(cell, scale) for cell in row) + "</tr>" for row in section.rows)
    return (
        f"<section><h2>{_text(section.title)}</h2>{f'<p>{_text(section.about)}</p>' if section.about else ''}"
        f"<div class='table'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _cell(cell: Cell, scale: float) -> str:
    """Draw a cell; the largest value of the section fills a bar, or half of an interval."""
    low, high = cell.low / scale, cell.high / scale
    if cell.drawn == "shade":
        return f"<td style='background:rgba(var(--shade),{0.75 * high:.2f})'>{_text(cell.text)}</td>"
    drawn = note = ""
    if cell.drawn == "bar":
        drawn = f"<i style='background:linear-gradient(90deg,var(--bar) {high:.1%},var(--line) {high:.1%})'></i>"
    if cell.drawn == "deviation":
        start, stop = 0.5 + low / 2, 0.5 + high / 2
        drawn = (
            f"<i style='background:linear-gradient(90deg,var(--line) {start:.1%},var(--low) {start:.1%},var(--low) 50%,"
            f"var(--high) 50%,var(--high) {stop:.1%},var(--line) {stop:.1%})'></i>"
        )
    if cell.note:
        note = f"<small>{_text(cell.note)}</small>"
    return f"<td>{_text(cell.text)}{drawn}{note}</td>"
