"""The noun `Report`: figures of partitions as text for a terminal; page.py makes HTML.

Both begin with the same verdict and key figures, and have the same tables.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, overload

from daskgraphpart.errors import OptionError, printable
from daskgraphpart.reporting.figures import Figures
from daskgraphpart.reporting.page import body_of, page_of
from daskgraphpart.reporting.sections import Section, all_sections, key_figures
from daskgraphpart.reporting.verdict import title_of, verdict
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.units import format_number, text_table

if TYPE_CHECKING:
    import os


MAX_ROWS, MAX_COLUMNS = 16, 17
"""Of a table in text."""

MAX_MATRIX = 32
"""Parts whose edges between each other are a matrix on a page."""


class Report(Figures):
    """Quality of partitions: cut, volume, HALO, balance, edges between parts, degrees, labels, sizes on disk.

    Computed from the parts' files. Attributes are those of `Figures`.

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
        """Return the report as one HTML page that needs no other file, script or network.

        Given a path, write it there and return the path.
        """
        page = page_of(self._repr_html_(), f"Partitions of {self.graph_name}")
        return page if path is None else write_text(page, path)

    def __str__(self) -> str:
        title = f"Partitions of {printable(repr(self.graph_name))}: {title_of(self)}"
        width = max(len(figure.name) for figure in key_figures(self))
        figures = [f"{figure.name:<{width}}  {figure.value:<10}  {figure.more}" for figure in key_figures(self)]
        about = [f"{name}: {value}" for name, value in self.about.items()]
        head = printable("\n".join([title, fill(verdict(self), 100), "", *figures, *(["", *about] if about else [])]))
        tables = [f"{printable(section.title)}\n{_text_of(section)}" for section in all_sections(self, MAX_ROWS)]
        notes = ["Notes\n" + printable("\n".join(self.notes))] if self.notes else []
        return "\n\n".join([head, *tables, *notes])

    def __repr__(self) -> str:
        return f"<Report of {self.graph_name!r}: {format_number(self.num_parts, 'part')}, cut {self.cut_share:.2%}>"

    def _repr_html_(self) -> str:
        """Return the page without its frame, for a notebook; its style affects nothing else."""
        return body_of(self, key_figures(self), all_sections(self, MAX_MATRIX))


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
