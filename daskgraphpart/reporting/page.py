"""Lay out a report as one HTML page: a verdict, figures, pictures, tables.

The page has no script and needs no other file or network. It follows light or dark mode, fits a phone, and prints.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import printable
from daskgraphpart.reporting.verdict import TERMS, title_of, verdict
from daskgraphpart.units import html_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from daskgraphpart.reporting.figures import Figures
    from daskgraphpart.reporting.sections import KeyFigure, Section

MAX_ROWS = 100
"""Of a table by part; JSON has all."""

STYLE = """
.dgp-report{--line:#8884;--soft:#8881;color-scheme:light dark;color:CanvasText;background:Canvas;
 font:15px/1.5 system-ui,sans-serif;max-width:1240px;margin:0 auto;padding:20px}
.dgp-report h1{font-size:1.7em;margin:0}
.dgp-report h2{font-size:1.1em;margin:0 0 4px}
.dgp-report .dgp-quiet{opacity:.75;font-size:.9em;margin:0}
.dgp-report .dgp-verdict{font-size:1.2em;margin:14px 0 18px;max-width:56em;overflow-wrap:anywhere}
.dgp-report .dgp-tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px;margin:0 0 20px}
.dgp-report .dgp-tiles div{background:var(--soft);border-radius:8px;padding:10px 12px}
.dgp-report .dgp-tiles b{display:block;font-size:1.4em;font-weight:600;white-space:nowrap}
.dgp-report .dgp-pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:16px}
.dgp-report section{border:1px solid var(--line);border-radius:8px;padding:12px 16px;min-width:0;break-inside:avoid}
.dgp-report svg{display:block;width:100%;height:auto;max-width:680px;margin:6px auto 0}
.dgp-report svg *{stroke-linejoin:round;stroke-linecap:butt}
.dgp-report details{margin:14px 0 0;border-top:1px solid var(--line);padding-top:10px}
.dgp-report summary{cursor:pointer;font-weight:600}
.dgp-report details>div{max-height:560px;overflow:auto;margin-top:8px}
.dgp-report table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.93em}
.dgp-report th,.dgp-report td{padding:3px 12px;text-align:right;white-space:nowrap;border-top:1px solid var(--line)}
.dgp-report th{position:sticky;top:0;background:Canvas;z-index:1}
.dgp-report th:first-child,.dgp-report td:first-child{text-align:left;position:sticky;left:0;background:Canvas}
.dgp-report th:first-child{z-index:2}
.dgp-report dt{font-weight:600}
.dgp-report dd{margin:0 0 6px}
.dgp-report dd,.dgp-report dt{overflow-wrap:anywhere}
@media print{.dgp-report{max-width:none;padding:0;color-scheme:light;print-color-adjust:exact}
 .dgp-report details>div{max-height:none;overflow:visible}
 .dgp-report details::details-content{content-visibility:visible;block-size:auto}}
"""

PAGE_STYLE = "html{color-scheme:light dark;background:Canvas}body{margin:0}@media print{html{color-scheme:light}}"


def page_of(body: str, title: str) -> str:
    """Make a page from a report's body."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{_text(title)}</title><style>{PAGE_STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def body_of(report: Figures, figures: Iterable[KeyFigure], sections: Iterable[Section]) -> str:
    """Lay out a report without the page frame; its style affects nothing else."""
    from daskgraphpart.reporting.pictures import pictures_of  # matplotlib takes half a second to import

    tiles = "".join(
        f"<div title='{_text(figure.meaning)}'>{_text(figure.name)}<b>{_text(figure.value)}</b>"
        f"<span class='dgp-quiet'>{_text(figure.more)}</span></div>"
        for figure in figures
    )
    pictures = "".join(
        f"<section><h2>{question}</h2><p class='dgp-quiet'>{about}</p>{drawn}</section>"
        for question, drawn, about in pictures_of(report)
    )
    tables = "".join(
        f"<details><summary>{_text(section.title)}</summary><p class='dgp-quiet'>{_text(section.about)}</p>"
        f"<div>{html_table(*section.cells(MAX_ROWS), align='<' + '>' * (section.table.shape[1] - 1))}</div></details>"
        for section in sections
    )
    return (
        f"<style>{STYLE}</style><div class='dgp-report'><h1>{_text(report.graph_name)}</h1>"
        f"<p class='dgp-quiet'>{title_of(report)}</p><p class='dgp-verdict'>{_text(verdict(report))}</p>"
        f"<div class='dgp-tiles'>{tiles}</div><div class='dgp-pictures'>{pictures}</div>{tables}"
        f"{_folded('Terms', TERMS)}{_folded('How these partitions were made', report.about)}{_notes(report)}</div>"
    )


def _folded(title: str, of_terms: dict[str, str] | Any) -> str:
    """Return terms and meanings, folded; nothing if there are none."""
    entries = "".join(f"<dt>{_text(name)}</dt><dd>{_text(meaning)}</dd>" for name, meaning in of_terms.items())
    return f"<details><summary>{title}</summary><dl>{entries}</dl></details>" if entries else ""


def _notes(report: Figures) -> str:
    notes = "".join(f"<li>{_text(note)}</li>" for note in report.notes)
    return f"<details open><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""


def _text(text: str) -> str:
    return escape(printable(text))
