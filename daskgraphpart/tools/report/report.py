"""The noun `Report`: figures of partitions as text for a terminal, and as one HTML page.

Both begin with the same verdict and key figures, and have the same tables. The page has no script and needs no other
file or network. It follows light or dark mode, fits a phone, and prints.
"""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any, overload

from daskgraphpart.errors import OptionError, printable
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.tools.report.figures import Figures
from daskgraphpart.tools.report.sections import TERMS, Section, advice, all_sections, key_figures, title_of, verdict
from daskgraphpart.units import format_number, html_table, text_table

MAX_ROWS, MAX_COLUMNS = 16, 17
"""Of a table in text."""

PAGE_ROWS = 100
"""Of a table by part on a page; JSON has all."""

SHOWN = 2
"""Pictures that are not folded."""

MAX_MATRIX = 32
"""Parts whose edges between each other are a matrix on a page."""

STYLE = """
.dgp-report{--line:#8884;--soft:#8881;color-scheme:light dark;color:CanvasText;background:Canvas;
 font:15px/1.5 system-ui,sans-serif;max-width:1240px;margin:0 auto;padding:20px}
.dgp-report h1{font-size:1.7em;margin:0}
.dgp-report h2{font-size:1.1em;margin:0 0 4px}
.dgp-report .dgp-quiet{opacity:.75;font-size:.9em;margin:0}
.dgp-report .dgp-verdict{font-size:1.2em;margin:14px 0 18px;max-width:56em;overflow-wrap:anywhere}
.dgp-report .dgp-advice{margin:-8px 0 18px;max-width:64em;overflow-wrap:anywhere}
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
.dgp-report details>.dgp-pictures{max-height:none}
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


class Report(Figures):
    """Quality of partitions: cut, volume, HALO, balance, edges between parts, degrees, labels, sizes on disk.

    Computed from the parts' files.

    Examples
    --------
    >>> report = parts.report()
    >>> report
    <Report of 'shop': 4 parts, cut 14.40%>
    >>> report.edge_matrix
    array([[1101,  100,   74,    5],
           [  71, 1067,    0,   98],
           [ 116,    2,  959,  112],
           [   3,   73,   66, 1153]])
    """

    @overload
    def to_html(self) -> str: ...

    @overload
    def to_html(self, path: str | os.PathLike[str]) -> Path: ...

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Return the report as one HTML page that needs no other file, script or network.

        Given a path, write it there and return the path.

        Examples
        --------
        >>> parts.report().to_html("report.html")
        PosixPath('report.html')
        """
        page = _page_of(self._repr_html_(), f"Partitions of {self.graph_name}")
        return page if path is None else write_text(page, path)

    def __str__(self) -> str:
        title = f"Partitions of {printable(repr(self.graph_name))}: {title_of(self)}"
        width = max(len(figure.name) for figure in key_figures(self))
        figures = [f"{figure.name:<{width}}  {figure.value:<10}  {figure.more}" for figure in key_figures(self)]
        about = [f"{name}: {value}" for name, value in self.about.items()]
        head = printable(
            "\n".join(
                [
                    title,
                    fill(verdict(self), 100),
                    fill(advice(self), 100),
                    "",
                    *figures,
                    *(["", *about] if about else []),
                ]
            )
        )
        tables = [f"{printable(section.title)}\n{_text_of(section)}" for section in all_sections(self, MAX_ROWS)]
        notes = ["Notes\n" + printable("\n".join(self.notes))] if self.notes else []
        return "\n\n".join([head, *tables, *notes])

    def __repr__(self) -> str:
        return f"<Report of {self.graph_name!r}: {format_number(self.num_parts, 'part')}, cut {self.cut_share:.2%}>"

    def _repr_html_(self) -> str:
        """Return the page without its frame, for a notebook; its style affects nothing else."""
        return _body_of(self)


def write_text(content: str, path: str | os.PathLike[str]) -> Path:
    """Write text atomically, with a final newline."""
    with environment_faults():
        write_bytes(check_directory_of(path), (content.rstrip("\n") + "\n").encode())
    return Path(path)


def check_directory_of(path: str | os.PathLike[str]) -> Path:
    """Return a file's path after checking its directory."""
    directory = Path(path).parent
    if not directory.is_dir():
        raise OptionError("no such directory", file=directory, hint="create it, or choose another file")
    return Path(path)


def _text_of(section: Section) -> str:
    heads, rows = section.cells(MAX_ROWS, MAX_COLUMNS)
    return text_table(heads, rows, align="<" + ">" * (len(heads) - 1))


def _page_of(body: str, title: str) -> str:
    """Make a page from a report's body."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{_text(title)}</title><style>{PAGE_STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def _body_of(report: Figures) -> str:
    """Lay out a report without the page frame; its style affects nothing else."""
    from daskgraphpart.tools.report.pictures import pictures_of  # matplotlib takes half a second to import

    tiles = "".join(
        f"<div title='{_text(figure.meaning)}'>{_text(figure.name)}<b>{_text(figure.value)}</b>"
        f"<span class='dgp-quiet'>{_text(figure.more)}</span></div>"
        for figure in key_figures(report)
    )
    pictures = [
        f"<section><h2>{question}</h2><p class='dgp-quiet'>{about}</p>{_titled(drawn, question, about)}</section>"
        for question, drawn, about in pictures_of(report)
    ]
    tables = "".join(
        f"<details><summary>{_text(section.title)}</summary><p class='dgp-quiet'>{_text(section.about)}</p>"
        f"<div>{html_table(*section.cells(PAGE_ROWS), align='<' + '>' * (section.table.shape[1] - 1))}</div></details>"
        for section in all_sections(report, MAX_MATRIX)
    )
    return (
        f"<style>{STYLE}</style><div class='dgp-report'><h1>Partitions of {_text(report.graph_name)}</h1>"
        f"<p class='dgp-quiet'>{title_of(report)}</p><p class='dgp-verdict'>{_text(verdict(report))}</p>"
        f"<p class='dgp-advice'>{_text(advice(report))}</p>"
        f"<div class='dgp-tiles'>{tiles}</div><div class='dgp-pictures'>{''.join(pictures[:SHOWN])}</div>"
        f"{_more_pictures(pictures[SHOWN:])}{tables}"
        f"{_folded('Terms', TERMS)}{_folded('How these partitions were made', report.about)}{_notes(report)}</div>"
    )


def _titled(drawn: str, question: str, about: str) -> str:
    """A picture with the words that a screen reader says in its place."""
    head, _, rest = drawn.partition(">")
    return f"{head}><title>{_text(question)}</title><desc>{_text(about)}</desc>{rest}"


def _more_pictures(pictures: list[str]) -> str:
    """Pictures that nobody acts on, folded."""
    together = f"<div class='dgp-pictures'>{''.join(pictures)}</div>"
    return f"<details><summary>More pictures</summary>{together}</details>" if pictures else ""


def _folded(title: str, of_terms: dict[str, str] | Any) -> str:
    """Return terms and meanings, folded; nothing if there are none."""
    entries = "".join(f"<dt>{_text(name)}</dt><dd>{_text(meaning)}</dd>" for name, meaning in of_terms.items())
    return f"<details><summary>{title}</summary><dl>{entries}</dl></details>" if entries else ""


def _notes(report: Figures) -> str:
    notes = "".join(f"<li>{_text(note)}</li>" for note in report.notes)
    return f"<details open><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""


def _text(text: str) -> str:
    return escape(printable(text))
