"""Progress in a notebook: one table below the cell, a row per stage, updated in place."""

from __future__ import annotations

import importlib
import time
from html import escape
from typing import Any

from daskgraphpart.engine.meter import Meter, Reading
from daskgraphpart.units import format_seconds

SECONDS_BETWEEN_UPDATES = 0.25
MOST_STAGES_SHOWN = 30


class NotebookProgress:
    """A table of stages with amount, rates and time; plain HTML, which stays when the notebook is saved."""

    def __init__(self) -> None:
        # only called where IPython runs, so it is no dependency
        self._html: Any = importlib.import_module("IPython.display").HTML
        self._handle: Any = importlib.import_module("IPython.display").display(self._html(""), display_id=True)
        self._over: list[Reading] = []
        self._notes: list[str] = []
        self._meter: Meter | None = None
        self._last = 0.0

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Add a row."""
        self._meter = Meter(name, num_units, nbytes, num_rows)
        self._show()

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Move the bar of the last row."""
        assert self._meter is not None, "a stage advances after it has begun"
        self._meter.advance(nbytes, num_rows)
        self._show()

    def end(self) -> None:
        """Make the last row one that is over."""
        assert self._meter is not None, "a stage ends after it has begun"
        self._meter.end()
        self._over.append(self._meter.read())
        self._meter = None
        self._show()

    def note(self, text: str) -> None:
        """Put it below the table."""
        self._notes.append(text)
        self._show(at_once=True)

    def close(self) -> None:
        """Show the last state."""
        self._show(at_once=True)

    def _show(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._last >= SECONDS_BETWEEN_UPDATES:
            self._last = now
            running = [] if self._meter is None else [self._meter.read()]
            self._handle.update(self._html(progress_html([*self._over, *running], self._notes)))


def progress_html(readings: list[Reading], notes: list[str]) -> str:
    """Lay out stages as an HTML table; all text is escaped."""
    hidden = len(readings) - MOST_STAGES_SHOWN
    rows = [f"<tr><td>{hidden} earlier stages</td></tr>"] if hidden > 0 else []
    for reading in readings[-MOST_STAGES_SHOWN:]:
        is_over = reading.units_done == reading.num_units
        if is_over:
            took = f"in {format_seconds(reading.seconds)}"
        else:
            took = "" if reading.seconds_left is None else f"{format_seconds(reading.seconds_left)} left"
        rates = ", ".join(reading.rates) if reading.units_done else ""
        cells = [escape(reading.stage), f"<progress value='{reading.share:.3f}' max='1'></progress>"]
        cells += [escape(reading.amount), escape(rates), took]
        rows.append("<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>")
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<table>{''.join(rows)}</table>{below}"
