"""Progress of passes: who is told, and what a word such as ``"auto"`` makes of it.

The displays are next door: `progress_text` (log lines, JSON), `progress_bars` (terminals), `progress_notebook`. All of
them show what a `Meter` reads.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from daskgraphpart.errors import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterator


class ProgressListener(Protocol):
    """Told when a pass begins, moves and ends. Any object with these four methods will do."""

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """A pass of so many units, bytes and rows begins; rows are 0 where they are not known."""

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """One unit that moved so many bytes and rows is done."""

    def end(self) -> None:
        """The pass is done."""

    def note(self, text: str) -> None:
        """Something the user should know while the job runs."""


Progress: TypeAlias = ProgressListener | str
"""What functions take: one of `PROGRESS_KINDS`, or an object that is told."""

PROGRESS_KINDS = ("auto", "bar", "notebook", "log", "json", "none")


class SilentProgress:
    """Shows nothing."""

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Do nothing."""

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


@contextmanager
def open_progress(progress: Progress | None) -> Iterator[ProgressListener]:
    """Make what a word stands for, and take it down at the end; an object is handed on as it is.

    Parameters
    ----------
    progress : ProgressListener or str, optional
        ``"none"``, as by default: nothing is shown. ``"auto"``: bars in a terminal, a table in a notebook, log lines
        elsewhere. ``"bar"``, ``"notebook"``, ``"log"``: one of these; bars where there is no terminal, and a table
        where there is no notebook, are log lines. ``"json"``: one JSON object per line and event on standard error.

    Yields
    ------
    ProgressListener

    Raises
    ------
    OptionError
        If it is another word.
    """
    if progress is None:
        progress = "none"
    if not isinstance(progress, str):
        yield progress
        return
    check_choice("display", "progress", progress, PROGRESS_KINDS)
    display = _display(_settled(progress))
    try:
        yield display
    finally:
        close = getattr(display, "close", None)
        if close is not None:
            close()


def _settled(kind: str) -> str:
    """What is shown here: no bars without a terminal, no table without a notebook."""
    if kind in ("auto", "notebook") and _is_notebook():
        return "notebook"
    if kind in ("auto", "bar") and _is_terminal():
        return "bar"
    return kind if kind in ("json", "none") else "log"


def _display(kind: str) -> Any:
    if kind == "none":
        return SilentProgress()
    if kind == "bar":
        from daskgraphpart.engine.progress_bars import TerminalProgress  # rich takes a tenth of a second

        return TerminalProgress()
    if kind == "notebook":
        from daskgraphpart.engine.progress_notebook import NotebookProgress

        return NotebookProgress()
    from daskgraphpart.engine.progress_text import JsonProgress, LogProgress

    return JsonProgress() if kind == "json" else LogProgress()


def _is_terminal() -> bool:
    """Whether standard error is a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _is_notebook() -> bool:
    """Whether this code was called from a notebook's kernel; IPython is there then, and is not imported for this."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
