"""Tell how far passes are: bars in terminals and notebooks, log lines, or JSON lines for programs."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from daskgraphpart.errors import check_choice
from daskgraphpart.units import format_count, format_seconds, format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

LONG_PASS_S = 10.0
JSON_VERSION = 1
"""Of the events that `json_event` writes. Keys may be added without a new version."""


class ProgressListener(Protocol):
    """Told when a pass begins, moves and ends, and does nothing. Any object with these four methods will do."""

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """A pass of so many units, bytes and rows begins; rows are 0 where they are not known."""
        return

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """One unit that moved so many bytes and rows is done."""
        return

    def end(self) -> None:
        """The pass is done."""
        return

    def note(self, text: str) -> None:
        """Something the user should know while the job runs."""
        return


Progress: TypeAlias = ProgressListener | str
"""What functions take: one of `PROGRESS_KINDS`, or an object that is told."""

PROGRESS_KINDS = ("auto", "bar", "log", "json", "none")


class SilentProgress(ProgressListener):
    """Shows nothing."""


class _CountingProgress(SilentProgress):
    """Counts units, bytes and rows of the stage that runs, and notes at its end what it took, unless it was short."""

    shortest = 0.0
    """Seconds."""

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        self.stage, self.started, self.last_shown = name, time.perf_counter(), 0.0
        self.units, self.bytes, self.rows = num_units, nbytes, num_rows
        self.units_done = self.bytes_done = self.rows_done = 0

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        self.units_done += 1
        self.bytes_done += nbytes
        self.rows_done += num_rows

    def end(self) -> None:
        if self.seconds >= self.shortest:
            self.note(f"{self.stage}: {self.amount()}")

    @property
    def seconds(self) -> float:
        """Seconds since the stage began; never 0."""
        return max(time.perf_counter() - self.started, 1e-6)

    @property
    def seconds_left(self) -> float | None:
        """Estimate from what is done, by bytes if these are known; None before anything is."""
        done, of_all = (self.bytes_done, self.bytes) if self.bytes else (self.units_done, self.units)
        return max(0.0, self.seconds * (of_all / done - 1)) if done else None

    def amount(self) -> str:
        """What is done of what there is, and how fast: ``"1.2 GB of 3.4 GB, 200 MB/s, 12,000,000 rows/s"``."""
        if self.bytes > self.units:
            done, of_all, rate = (format_size(n) for n in (self.bytes_done, self.bytes, self.bytes_done / self.seconds))
        else:
            done, of_all = format_count(self.units_done), f"{format_count(self.units)} tasks"
            rate = f"{self.units_done / self.seconds:.3g} tasks"
        is_over = self.units_done >= self.units
        amount = f"{of_all} in {format_seconds(self.seconds)}" if is_over else f"{done} of {of_all}"
        rows = f", {format_count(round(self.rows_done / self.seconds))} rows/s" if self.rows else ""
        return f"{amount}, {rate}/s{rows}"

    def is_due(self, seconds: float) -> bool:
        """Whether so many seconds have gone since this was true the last time; counted from the begin of the stage."""
        if self.seconds - self.last_shown < seconds:
            return False
        self.last_shown = self.seconds
        return True


class LogProgress(_CountingProgress):
    """One line per pass, or per long one if it is brief, and one every few seconds inside; for batch jobs and files.

    Lines go to the log, or to standard error if logging is not set up.
    """

    def __init__(self, seconds_between_lines: float = LONG_PASS_S, is_brief: bool = False) -> None:
        self._pause = seconds_between_lines
        self.shortest = seconds_between_lines if is_brief else 0.0

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Write a line when the last one is old enough."""
        super().advance(nbytes, num_rows)
        if self.units_done < self.units and self.is_due(self._pause):
            self.note(f"{self.stage}: {self.amount()}, {format_seconds(self.seconds_left or 0)} left")

    def note(self, text: str) -> None:
        """Write it."""
        if logging.getLogger().handlers:
            logger.info("%s", text)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


class JsonProgress(_CountingProgress):
    """One JSON object per line and event on standard error: ``begin``, ``advance`` and ``end`` of a stage, ``note``."""

    def __init__(self, seconds_between_events: float = 0.5) -> None:
        self._pause = seconds_between_events

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Write the size of the pass."""
        super().begin(name, num_units, nbytes, num_rows)
        self._write("begin")

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Write how far the pass is, unless an event was written just now."""
        super().advance(nbytes, num_rows)
        if self.is_due(self._pause):
            self._write("advance")

    def end(self) -> None:
        """Write what the pass took."""
        self._write("end")

    def note(self, text: str) -> None:
        """Write it."""
        sys.stderr.write(json_event("note", text=text))
        sys.stderr.flush()

    def _write(self, event: str) -> None:
        seconds, left = self.seconds, self.seconds_left
        content: dict[str, Any] = {"stage": self.stage, "seconds": round(seconds, 6)}
        for noun in ("units", "bytes", "rows"):
            done, of_all = getattr(self, f"{noun}_done"), getattr(self, noun)
            is_known = noun == "units" or of_all > 0
            content |= {f"{noun}_done": done if is_known else None, noun: of_all if is_known else None}
            content[f"{noun}_per_second"] = round(done / seconds, 6) if is_known else None
        content["seconds_left"] = None if left is None else round(left, 6)
        sys.stderr.write(json_event(event, **content))
        sys.stderr.flush()


class BarProgress(_CountingProgress):
    """A bar of rich for the pass that runs, in a terminal or a notebook; a line for each that is over, or was long."""

    def __init__(self, is_brief: bool = False) -> None:
        self.shortest = LONG_PASS_S if is_brief else 0.0
        from rich.console import Console  # a tenth of a second
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = (TextColumn("{task.description:<14}"), BarColumn(bar_width=8), TextColumn("{task.fields[amount]}"))
        self.bars = Bars(
            *columns, TimeRemainingColumn(), console=Console(stderr=True), redirect_stdout=False, transient=True
        )
        self.bars.start()

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Show a bar."""
        super().begin(name, num_units, nbytes, num_rows)
        self._bar = self.bars.add_task(name, total=nbytes or num_units, amount="")

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Move the bar."""
        super().advance(nbytes, num_rows)
        done = self.bytes_done if self.bytes else self.units_done
        self.bars.update(self._bar, completed=done, amount=self.amount())

    def end(self) -> None:
        """Replace the bar by a line."""
        self.bars.remove_task(self._bar)
        super().end()

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self.bars.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Give the terminal back."""
        self.bars.stop()


@contextmanager
def open_progress(progress: Progress | None) -> Iterator[ProgressListener]:
    """Make what a word stands for, and take it down at the end; an object is handed on as it is."""
    if not isinstance(progress, str | None):
        yield progress
        return
    kind = progress or "none"
    check_choice("display", "progress", kind, PROGRESS_KINDS)
    if kind in ("auto", "bar") and _has_bars():
        bars = BarProgress(kind == "auto")
        try:
            yield bars
        finally:
            bars.close()
    elif kind == "none":
        yield SilentProgress()
    else:
        yield JsonProgress() if kind == "json" else LogProgress(is_brief=kind == "auto")


def json_event(event: str, **content: Any) -> str:
    """Return one event as a line: its version, its name, and what it tells."""
    return json.dumps({"version": JSON_VERSION, "event": event, **content}, ensure_ascii=True) + "\n"


def _has_bars() -> bool:
    """Whether standard error is a terminal that can move its cursor, or this a notebook that rich can draw in."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and getattr(shell, "kernel", None) is not None:
        return importlib.util.find_spec("ipywidgets") is not None
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")
