"""The noun `Report`: figures of partitions as text for a terminal, and as one HTML page.

Both begin with the same verdict and key figures, and have the same tables. The page has no script and needs no other
file or network. It follows light or dark mode, fits a phone, and prints.
"""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import fill
from typing import overload

from daskgraphpart.errors import OptionError, printable
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import text_of_path
from daskgraphpart.tools.report.figures import Figures
from daskgraphpart.tools.report.sections import TERMS, Section, advice, all_sections, key_figures, title_of, verdict
from daskgraphpart.units import format_number, html_table, text_table

MAX_ROWS, MAX_COLUMNS = 16, 17
"""Of a table in text."""

PAGE_ROWS = 100
"""Of a table by part on a page; JSON has all."""

MAX_MATRIX = 32
"""Parts whose edges between each other are a matrix on a page."""


class Report(Figures):
    """Quality of partitions: cut, volume, halo nodes, balance, edges between parts, degrees, labels, sizes on disk.

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
        page = _rendered(self, "page.html")
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
        return _rendered(self, "report.html")


def write_text(content: str, path: str | os.PathLike[str]) -> Path:
    """Write text atomically, with a final newline."""
    with environment_faults():
        write_bytes(check_directory_of(path), (content.rstrip("\n") + "\n").encode())
    return Path(path)


def check_directory_of(path: str | os.PathLike[str]) -> Path:
    """Return a file's path after checking its directory."""
    file = Path(text_of_path(path))
    if not file.parent.is_dir():
        raise OptionError("no such directory", file=file.parent, hint="create it, or choose another file")
    return file


def _text_of(section: Section) -> str:
    heads, rows = section.cells(MAX_ROWS, MAX_COLUMNS)
    return text_table(heads, rows, align="<" + ">" * (len(heads) - 1))


def _rendered(report: Figures, template: str) -> str:
    """Fill in a template of this folder; texts are made printable, and escaped."""
    from jinja2 import Environment, PackageLoader

    from daskgraphpart.tools.report.pictures import pictures_of  # matplotlib takes half a second to import

    pages = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda text: printable(text) if type(text) is str else text,
    )
    tables = [
        (section, html_table(*section.cells(PAGE_ROWS), align="<" + ">" * (section.table.shape[1] - 1)))
        for section in all_sections(report, MAX_MATRIX)
    ]
    return pages.get_template(template).render(
        report=report, title=title_of(report), verdict=verdict(report), advice=advice(report), tables=tables,
        key_figures=key_figures(report), pictures=[*pictures_of(report)], terms=TERMS,
    )  # fmt: skip
