"""Progress as text without control characters: log lines for people, JSON lines for programs."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.meter import Meter

if TYPE_CHECKING:
    from daskgraphpart.engine.meter import Reading

logger = logging.getLogger(__name__)

JSON_VERSION = 1
"""Of the events that `json_event` writes. Keys may be added without a new version."""


class LogProgress:
    """One line per pass, and one every few seconds inside a long one; for batch jobs and files.

    Lines go to the log, or to standard error where nobody has set up a log.

    Parameters
    ----------
    seconds_between_lines : float
        Inside a pass.
    """

    def __init__(self, seconds_between_lines: float = 10.0) -> None:
        self._pause = seconds_between_lines
        self._meter = Meter("", 0, 0)
        self._last = 0.0

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Remember the size of the pass."""
        self._meter = Meter(name, num_units, nbytes, num_rows)
        self._last = 0.0

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Write a line when the last one is old enough."""
        self._meter.advance(nbytes, num_rows)
        reading = self._meter.read()
        if reading.seconds - self._last >= self._pause and reading.units_done < reading.num_units:
            self._last = reading.seconds
            _write(reading.line)

    def end(self) -> None:
        """Write what the pass took."""
        self._meter.end()
        _write(self._meter.read().line)

    def note(self, text: str) -> None:
        """Write it."""
        _write(text)


def _write(line: str) -> None:
    if logging.getLogger().handlers:
        logger.info("%s", line)
    else:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class JsonProgress:
    """One JSON object per line and event on standard error: ``begin``, ``advance``, ``end`` of a stage, and ``note``.

    Parameters
    ----------
    seconds_between_events : float
        Least time between two events ``advance`` of a stage.
    """

    def __init__(self, seconds_between_events: float = 0.5) -> None:
        self._pause = seconds_between_events
        self._meter = Meter("", 0, 0)
        self._last = 0.0

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Write the size of the pass."""
        self._meter = Meter(name, num_units, nbytes, num_rows)
        self._last = 0.0
        self._tell("begin", self._meter.read())

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Write how far the pass is, unless an event was written just now."""
        self._meter.advance(nbytes, num_rows)
        reading = self._meter.read()
        if reading.seconds - self._last >= self._pause:
            self._last = reading.seconds
            self._tell("advance", reading)

    def end(self) -> None:
        """Write what the pass took."""
        self._meter.end()
        self._tell("end", self._meter.read())

    def note(self, text: str) -> None:
        """Write it."""
        sys.stderr.write(json_event("note", text=text))

    def _tell(self, event: str, reading: Reading) -> None:
        sys.stderr.write(json_event(event, **_described(reading)))
        sys.stderr.flush()


def json_event(event: str, **content: Any) -> str:
    """Return one event as a line: its version, its name, and what it tells."""
    return json.dumps({"version": JSON_VERSION, "event": event, **content}, ensure_ascii=True) + "\n"


def _described(reading: Reading) -> dict[str, Any]:
    """Values of a reading; None for what is not known."""
    values = asdict(reading)
    for total, of_total in (
        ("nbytes", ("bytes_done", "bytes_per_second")),
        ("num_rows", ("rows_done", "rows_per_second")),
    ):
        if not values[total]:
            values.update(dict.fromkeys((total, *of_total)))
    rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}
    renamed = {"num_units": "units", "nbytes": "bytes", "num_rows": "rows"}
    return {renamed.get(name, name): value for name, value in rounded.items()}
