"""Show the progress of passes: bars in terminals, text in notebooks, log lines, or JSON lines."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from daskgraphpart.units import format_count, format_seconds, format_size

logger = logging.getLogger(__name__)

LONG_PASS_S = 10.0
JSON_VERSION = 1
"""Of the events that `json_event` writes. Keys may be added without a new version."""


class LogProgress:
    """One line per pass, and one every few seconds within, for batch jobs and files; if brief, only notes.

    Lines go to the log, or to standard error if logging is not set up.
    """

    def __init__(self, seconds_between_lines: float = LONG_PASS_S, is_brief: bool = False) -> None:
        self.pause = seconds_between_lines
        self.is_brief = is_brief

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Count from 0."""
        self.stage, self.started, self.last_shown = name, time.perf_counter(), 0.0
        self.all = {"units": num_units, "bytes": nbytes, "rows": num_rows}
        self.done = dict.fromkeys(self.all, 0)
        self.show("begin")

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Count, and show progress if the last line is some time ago."""
        self.done = {noun: self.done[noun] + n for noun, n in (("units", 1), ("bytes", nbytes), ("rows", num_rows))}
        if self.seconds - self.last_shown >= self.pause:
            self.last_shown = self.seconds
            self.show("advance")

    def end(self) -> None:
        """Show what the pass took."""
        self.show("end")

    @property
    def seconds(self) -> float:
        """Seconds since the pass began, above 0."""
        return max(time.perf_counter() - self.started, 1e-6)

    @property
    def seconds_left(self) -> float | None:
        """Estimate from bytes, if known, or units; None before any are done."""
        noun = "bytes" if self.all["bytes"] else "units"
        return max(0.0, self.seconds * (self.all[noun] / self.done[noun] - 1)) if self.done[noun] else None

    def amount(self) -> str:
        """What is done of the total, and how fast: ``"1.2 GB of 3.4 GB, 200 MB/s, 12,000,000 rows/s"``."""
        if self.all["bytes"] > self.all["units"]:
            done, of_all = format_size(self.done["bytes"]), format_size(self.all["bytes"])
            rate = format_size(self.done["bytes"] / self.seconds)
        else:
            done, of_all = format_count(self.done["units"]), f"{format_count(self.all['units'])} tasks"
            rate = f"{self.done['units'] / self.seconds:.3g} tasks"
        is_over = self.done["units"] >= self.all["units"]
        amount = f"{of_all} in {format_seconds(self.seconds)}" if is_over else f"{done} of {of_all}"
        rows = f", {format_count(round(self.done['rows'] / self.seconds))} rows/s" if self.all["rows"] else ""
        return f"{amount}, {rate}/s{rows}"

    def amount_left(self) -> str:
        """What is done, and the time left."""
        is_over = self.done["units"] >= self.all["units"]
        return self.amount() + ("" if is_over else f", {format_seconds(self.seconds_left or 0)} left")

    def show(self, event: str) -> None:
        """Write a line, except at the begin of a pass and for its last unit: its end has one."""
        if not self.is_brief and (event == "end" or (event == "advance" and self.done["units"] < self.all["units"])):
            self.note(f"{self.stage}: {self.amount_left()}")

    def note(self, text: str) -> None:
        """Write it."""
        if logging.getLogger().handlers:
            logger.info("%s", text)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


class JsonProgress(LogProgress):
    """One JSON object per line and event on standard error: ``begin``, ``advance`` and ``end`` of a pass, ``note``."""

    def show(self, event: str) -> None:
        """Write the event."""
        seconds, left = self.seconds, self.seconds_left
        content: dict[str, Any] = {"stage": self.stage, "seconds": round(seconds, 6)}
        for noun, of_all in self.all.items():
            done = self.done[noun] if noun == "units" or of_all else None
            content |= {f"{noun}_done": done, noun: None if done is None else of_all}
            content[f"{noun}_per_second"] = None if done is None else round(done / seconds, 6)
        content["seconds_left"] = None if left is None else round(left, 6)
        self._write(event, **content)

    def note(self, text: str) -> None:
        """Write it."""
        self._write("note", text=text)

    def _write(self, event: str, **content: Any) -> None:
        sys.stderr.write(json_event(event, **content))
        sys.stderr.flush()


class BarProgress(LogProgress):
    """One rich bar per job, in a terminal, for the current pass; a line for each pass unless brief."""

    def __init__(self, is_brief: bool = False) -> None:
        super().__init__(0.0, is_brief)
        from rich.console import Console  # a tenth of a second
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description:<15}"),
            BarColumn(bar_width=8),
            TimeElapsedColumn(),
            TextColumn("{task.fields[amount]}"),
        )
        self.bars = Bars(*columns, console=Console(stderr=True), redirect_stdout=False, transient=True)
        self._bar = self.bars.add_task("", total=None, amount="")

    def __enter__(self) -> BarProgress:
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def show(self, event: str) -> None:
        """Move the bar; it pulses in a pass of one task, such as a METIS call, which reports nothing meanwhile."""
        noun = "bytes" if self.all["bytes"] else "units"
        if event == "begin":
            total = self.all[noun] if self.all["units"] > 1 else None
            amount = f"at work on {format_size(self.all['bytes'])}" if total is None and self.all["bytes"] else ""
            self.bars.reset(self._bar, total=total, description=self.stage, amount=amount)
        elif event == "advance":
            self.bars.update(self._bar, completed=self.done[noun], amount=self.amount_left())
        else:
            super().show(event)

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self.bars.console.print(text, highlight=False, markup=False, soft_wrap=True)


class NotebookProgress(LogProgress):
    """Text below a cell, rewritten in place: notes, and the current pass; the latter goes at the end.

    Takes no widgets, which need a package and a front end that shows them.
    """

    def __init__(self, is_brief: bool = False) -> None:
        super().__init__(0.5, is_brief)
        self._notes = list[str]()
        self._output: Any = None

    def __enter__(self) -> NotebookProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._output is not None:
            self._write()

    def show(self, event: str) -> None:
        """Rewrite the text; a pass of one task, such as a METIS call, reports nothing meanwhile."""
        if event == "end":
            super().show(event)
        elif event == "begin":
            self._write(f"{self.stage}: {format_size(self.all['bytes']) if self.all['bytes'] else 'at work'}")
        else:
            self._write(f"{self.stage}: {self.amount_left()}")

    def note(self, text: str) -> None:
        """Write it above the current pass."""
        self._notes.append(text)
        self._write()

    def _write(self, *current: str) -> None:
        from IPython.display import display  # there is a notebook, so this is imported already

        text = {"text/plain": "\n".join((*self._notes, *current))}
        if self._output is None:
            self._output = display(  # type: ignore[no-untyped-call]
                text, raw=True, display_id=True, metadata={"daskgraphpart": "progress"}
            )
        else:
            self._output.update(text, raw=True, metadata={"daskgraphpart": "progress"})


class CallProgress(JsonProgress):
    """Calls a function with each event, a dictionary."""

    def __init__(self, function: Callable[[dict[str, Any]], object]) -> None:
        super().__init__()
        self.function = function

    def _write(self, event: str, **content: Any) -> None:
        self.function({"event": event, **content})


def json_event(event: str, **content: Any) -> str:
    """Return an event as one line: version, name, content."""
    return json.dumps({"version": JSON_VERSION, "event": event, **content}, ensure_ascii=True) + "\n"
