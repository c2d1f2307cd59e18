"""The noun `Report`: figures of partitions that show themselves as text, as a dictionary and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from daskgraphpart.errors import OptionError
from daskgraphpart.reporting.figures import Figures
from daskgraphpart.reporting.page import report_fragment, report_page, report_text
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    import os


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
        """Lay out the report as one HTML page, which needs no other file, no script and no network."""
        page = report_page(self)
        if path is None:
            return page
        check_directory_of(path)
        return write_report(page, path)

    def __str__(self) -> str:
        return report_text(self)

    def __repr__(self) -> str:
        return f"<Report of {self.graph_name!r}: {self.num_parts} parts, cut {self.cut_share:.2%}>"

    def _repr_html_(self) -> str:
        return report_fragment(self)


def check_directory_of(path: str | os.PathLike[str]) -> None:
    """Check that a file can be made where it shall be."""
    directory = Path(path).parent
    if not directory.is_dir():
        raise OptionError("no such directory", file=str(directory), hint="make it, or give another file")


def write_report(content: str, path: str | os.PathLike[str]) -> Path:
    """Write text atomically, with a newline at its end."""
    with environment_faults():
        write_bytes(Path(path), (content.rstrip("\n") + "\n").encode())
    return Path(path)
