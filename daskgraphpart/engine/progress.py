"""Progress of passes: events, and the two ways to show them (a terminal bar, log lines)."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from daskgraphpart.display.units import format_rate, format_seconds, format_size

if TYPE_CHECKING:
    from types import TracebackType

logger = logging.getLogger(__name__)


class Progress(Protocol):
    """Told when a pass begins, moves and ends."""

    def begin(self, name: str, num_units: int, nbytes: int) -> None:
        """A pass of so many units and bytes begins."""

    def advance(self, nbytes: int) -> None:
        """One unit that moved so many bytes is done."""

    def end(self) -> None:
        """The pass is done."""

    def note(self, text: str) -> None:
        """Something the user should know while the job runs."""


class SilentProgress:
    """Shows nothing."""

    def begin(self, name: str, num_units: int, nbytes: int) -> None:
        """Do nothing."""

    def advance(self, nbytes: int) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


class LogProgress:
    """One log line per pass, and one every few seconds inside a long one; for batch jobs and files."""

    def __init__(self, seconds_between_lines: float = 10.0) -> None:
        self._pause = seconds_between_lines

    def begin(self, name: str, num_units: int, nbytes: int) -> None:
        """Remember the size of the pass."""
        self._name, self._units, self._total = name, num_units, nbytes
        self._done, self._started = 0, time.monotonic()
        self._last = self._started

    def advance(self, nbytes: int) -> None:
        """Log when the last line is old enough."""
        self._done += nbytes
        now = time.monotonic()
        if now - self._last >= self._pause:
            self._last = now
            seconds = now - self._started
            left = seconds / max(self._done, 1) * (self._total - self._done)
            logger.info(
                "%s: %s of %s, %s, %s left",
                self._name,
                format_size(self._done),
                format_size(self._total),
                format_rate(self._done, seconds),
                format_seconds(left),
            )

    def end(self) -> None:
        """Log what the pass took."""
        seconds = time.monotonic() - self._started
        logger.info(
            "%s: %s in %s, %s",
            self._name,
            format_size(self._done),
            format_seconds(seconds),
            format_rate(self._done, seconds),
        )

    def note(self, text: str) -> None:
        """Log it."""
        logger.info("%s", text)


class TerminalProgress:
    """A bar per pass with bytes, rate and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("{task.description:<20}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(file=sys.stderr),
        )
        self._bars.start()
        self._current: Any = None

    def begin(self, name: str, num_units: int, nbytes: int) -> None:
        """Add a bar."""
        self._current = self._bars.add_task(name, total=max(nbytes, 1))

    def advance(self, nbytes: int) -> None:
        """Move the current bar."""
        self._bars.advance(self._current, nbytes)

    def end(self) -> None:
        """Fill the current bar."""
        self._bars.update(self._current, completed=self._bars.tasks[-1].total)

    def note(self, text: str) -> None:
        """Print it above the bars."""
        self._bars.console.print(text, highlight=False, markup=False)

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bars.stop()
