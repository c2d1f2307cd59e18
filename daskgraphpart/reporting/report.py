"""The noun `Report`: figures of partitions as text that fits a terminal, and as one HTML page.

The page has no script, needs no other file and no network. Its tables are pandas' `Styler`, whose bars are backgrounds
of cells.
"""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pandas.io.formats.style import Styler

from daskgraphpart.errors import OptionError
from daskgraphpart.reporting.figures import Figures
from daskgraphpart.reporting.tables import all_sections, key_figures, title_of
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.tables import printable, text_table
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    import os

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
@media (max-width:800px){.dgp-report td:first-child{white-space:normal;overflow-wrap:anywhere;max-width:200px}}
"""


class Report(Figures):
    """Quality of partitions: cut, volume, HALO, balance, edges between parts, degrees, labels, sizes on disk.

    All of it is computed from the files of the parts. Attributes are those of `Figures`.

    Examples
    --------
    >>> report = open_partitions("partitions").report()  # doctest: +SKIP
    >>> print(report)  # doctest: +SKIP
    >>> report.cut_share, report.replication_factor  # doctest: +SKIP
    >>> report.to_html("report.html")  # doctest: +SKIP
    """

    @overload
    def to_html(self) -> str: ...

    @overload
    def to_html(self, path: str | os.PathLike[str]) -> Path: ...

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Lay out the report as one HTML page, which needs no other file, no script and no network.

        With a path, write it there and return the path.
        """
        page = (
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width,initial-scale=1'>"
            f"<title>{_title(self)}</title></head>\n<body>{self._repr_html_()}</body></html>\n"
        )
        return page if path is None else write_text(page, path)

    def __str__(self) -> str:
        title = f"Partitions of {printable(repr(self.graph_name))}: {title_of(self)}"
        tables = [f"{printable(section.title)}\n{_text_of(section)}" for section in all_sections(self, MAX_ROWS)]
        return "\n\n".join([f"{title}\n{_head(self)}", *tables, *_notes(self)])

    def __repr__(self) -> str:
        return f"<Report of {self.graph_name!r}: {format_number(self.num_parts, 'part')}, cut {self.cut_share:.2%}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the page without its frame, whose style touches nothing else."""
        parts = [f"<style>{STYLE}</style><div class='dgp-report'><header><h1>{_title(self)}</h1>"]
        parts.append(f"<p>{title_of(self)}</p><pre>{escape(_head(self))}</pre></header>")
        for number, section in enumerate(all_sections(self, MAX_MATRIX)):
            parts.append(f"<section><h2>{escape(printable(section.title))}</h2><p>{section.about}</p>")
            parts.append(f"<div>{_table_of(section, f'dgp{number}')}</div></section>")
        parts += [f"<pre>{escape(note)}</pre>" for note in _notes(self)]
        return "".join([*parts, "</div>"])


def write_text(content: str, path: str | os.PathLike[str]) -> Path:
    """Write text atomically, with a newline at its end."""
    with environment_faults():
        write_bytes(check_directory_of(path), (content.rstrip("\n") + "\n").encode())
    return Path(path)


def check_directory_of(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file whose directory has to be there."""
    directory = Path(path).parent
    if not directory.is_dir():
        raise OptionError("no such directory", file=directory, hint="make it, or give another file")
    return Path(path)


def _head(report: Figures) -> str:
    """Where the partitions are, how they were made, and what matters most."""
    lines = [f"{name}: {value}" for name, value in report.about.items()]
    lines += ["", *(f"{name:<20} {value:<12} {more}" for name, value, more in key_figures(report))]
    return printable("\n".join(lines))


def _notes(report: Figures) -> list[str]:
    return ["Notes\n" + printable("\n".join(report.notes))] if report.notes else []


def _text_of(section: Section) -> str:
    table = section.table.iloc[:, :MAX_COLUMNS]
    heads = [str(column) for column in table]
    rows = [[section.text(*cell) for cell in zip(table, row, strict=True)] for row in table.itertuples(index=False)]
    if heads[0] == "part" and len(rows) > MAX_ROWS:
        rows = [*rows[: MAX_ROWS - 1], ["...", *([""] * (len(heads) - 1))], rows[-1]]
    return text_table(heads, rows, align="<" + ">" * (len(heads) - 1))


def _title(report: Figures) -> str:
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
