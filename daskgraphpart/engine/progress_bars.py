"""Progress in a terminal: a bar for the stage that runs, a line for each that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, TaskID
from rich.progress import Progress as Bars
from rich.text import Text

from daskgraphpart.engine.meter import Meter
from daskgraphpart.units import format_seconds

if TYPE_CHECKING:
    from rich.progress import Task

STEPS = 1000


class TerminalProgress:
    """A bar with amount, rates and time left; what is logged meanwhile is printed above it."""

    def __init__(self) -> None:
        self._bars = Bars(
            _Name(), BarColumn(bar_width=8), _Amount(), _Rates(), _Left(), console=Console(stderr=True),
            redirect_stdout=False, transient=True,
        )  # fmt: skip
        self._meter = Meter("", 0, 0)
        self._task: TaskID | None = None
        self._bars.start()

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Show a bar."""
        self._meter = Meter(name, num_units, nbytes, num_rows)
        self._task = self._bars.add_task(name, total=STEPS, meter=self._meter)

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Move the bar."""
        self._meter.advance(nbytes, num_rows)
        if self._task is not None:
            self._bars.update(self._task, completed=round(STEPS * self._meter.read().share))

    def end(self) -> None:
        """Replace the bar by a line."""
        self._meter.end()
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None
        self.note(self._meter.read().line)

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self._bars.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Give the terminal back."""
        self._bars.stop()


class _Cell(ProgressColumn):
    """A cell of the line of a bar, drawn a few times a second by a thread of rich."""

    max_refresh = 0.2

    def render(self, task: Task) -> Text:
        """Draw it."""
        return Text(self.text(task.fields["meter"]), no_wrap=True)

    def text(self, meter: Meter) -> str:
        """What it says."""
        raise NotImplementedError


class _Name(_Cell):
    def text(self, meter: Meter) -> str:
        return f"{meter.read().stage:<14}"


class _Amount(_Cell):
    def text(self, meter: Meter) -> str:
        return meter.read().amount.replace(" of ", "/")


class _Rates(_Cell):
    def text(self, meter: Meter) -> str:
        reading = meter.read()
        return ", ".join(reading.rates) if reading.units_done else ""


class _Left(_Cell):
    def text(self, meter: Meter) -> str:
        left = meter.read().seconds_left
        return "" if left is None else f"{format_seconds(left)} left"
