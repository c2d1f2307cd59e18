"""Tell the progress of passes to a display, or to the user's own object."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from daskgraphpart.engine import displays
from daskgraphpart.engine.displays import CallProgress
from daskgraphpart.errors import check_choice


class ProgressListener(Protocol):
    """Progress callbacks; no-op by default. Any object with these four methods will do."""

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """A pass of this many units, bytes and rows begins; rows are 0 if unknown."""
        return

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """A unit that moved this many bytes and rows is done."""
        return

    def end(self) -> None:
        """The pass is done."""
        return

    def note(self, text: str) -> None:
        """Something the user should know while the job runs."""
        return


Progress: TypeAlias = "ProgressListener | Callable[[dict[str, Any]], object] | str | bool"
"""What functions take: one of `PROGRESS_KINDS`, True or False for a bar or nothing, or a `ProgressListener`."""

PROGRESS_KINDS = ("auto", "bar", "log", "json", "none")


class SilentProgress(ProgressListener):
    """Shows nothing."""


@contextmanager
def open_progress(progress: Progress | None) -> Iterator[ProgressListener]:
    """Open the progress that a word names, and close it at the end; pass objects on."""
    if hasattr(progress, "begin"):
        yield progress  # type: ignore[misc]
        return
    if callable(progress):
        yield CallProgress(progress)
        return
    kind: Any = ("auto" if progress else "none") if isinstance(progress, bool) else progress
    if kind is None:  # functions are quiet by default where nobody looks
        kind = "none" if _display() is None else "auto"
    check_choice("display", "progress", kind, PROGRESS_KINDS)
    if kind == "none":
        yield SilentProgress()
        return
    display = _display() if kind in ("auto", "bar") else None
    if display is not None:
        with display(kind == "auto") as listener:
            yield listener
    else:
        yield displays.JsonProgress(0.5) if kind == "json" else displays.LogProgress(is_brief=kind == "auto")


def _display() -> type[displays.BarProgress | displays.NotebookProgress] | None:
    """Return what shows progress here: in a notebook, or where standard error is a terminal with a movable cursor."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and getattr(shell, "kernel", None) is not None:
        return displays.NotebookProgress
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")
    return displays.BarProgress if is_terminal else None
