"""What a run did, pass by pass: a progress that passes everything on and keeps units, bytes and seconds.

Where tasks run in this process, the bytes that it has asked the system to read and write are kept as well, with those
of child processes that have ended (`/proc/self/io`; memory maps are not among them).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.tables import text_table
from daskgraphpart.units import format_count, format_seconds, format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.planning.plan import Plan

_IO = Path("/proc/self/io")


@dataclass(frozen=True, slots=True)
class MeasuredPass:
    """What all runs of one pass did together.

    Parameters
    ----------
    name : str
        Name of the pass.
    num_units : int
        Units that were done.
    moved : int
        Bytes that they moved, as the progress counts them.
    seconds : float
        Wall time.
    bytes_read, bytes_written : int
        What this process asked the system for meanwhile; 0 where tasks run elsewhere.
    """

    name: str
    num_units: int = 0
    moved: int = 0
    seconds: float = 0.0
    bytes_read: int = 0
    bytes_written: int = 0

    @property
    def traffic(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


class MeasuringProgress:
    """Passes on what it is told, and keeps the sums by pass.

    Parameters
    ----------
    shown : ProgressListener
        Who is told.
    """

    def __init__(self, shown: ProgressListener) -> None:
        self._shown = shown
        self._passes: dict[str, MeasuredPass] = {}
        self._current: MeasuredPass | None = None
        self._started = self._first = time.monotonic()
        self._io = (0, 0)

    @property
    def passes(self) -> tuple[MeasuredPass, ...]:
        """What was measured, in the order in which passes began first."""
        return tuple(self._passes.values())

    @property
    def seconds(self) -> float:
        """Wall time since this was made."""
        return time.monotonic() - self._first

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        """Note the state before the pass."""
        self._current = self._passes.get(name, MeasuredPass(name))
        self._passes[name] = self._current
        self._io = _bytes_so_far()
        self._started = time.monotonic()
        self._shown.begin(name, num_units, nbytes, num_rows)

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Count a unit."""
        assert self._current is not None, "a pass advances after it has begun"
        self._current = replace(
            self._current, num_units=self._current.num_units + 1, moved=self._current.moved + nbytes
        )
        self._shown.advance(nbytes, num_rows)

    def end(self) -> None:
        """Add what the pass took."""
        self._shown.end()
        found = self._current
        assert found is not None, "a pass ends after it has begun"
        read, written = (now - before for now, before in zip(_bytes_so_far(), self._io, strict=True))
        self._passes[found.name] = replace(
            found,
            seconds=found.seconds + time.monotonic() - self._started,
            bytes_read=found.bytes_read + read,
            bytes_written=found.bytes_written + written,
        )
        self._current = None

    def note(self, text: str) -> None:
        """Pass it on."""
        self._shown.note(text)


def _bytes_so_far() -> tuple[int, int]:
    """Bytes that this process has read and written until now; zeros where the system does not tell."""
    try:
        lines = dict(line.split(": ") for line in _IO.read_text(encoding="ascii").splitlines())
        return int(lines["rchar"]), int(lines["wchar"])
    except (OSError, ValueError, KeyError):
        return 0, 0


def filled_in(plan: Plan, measured: Sequence[MeasuredPass], seconds: float) -> str:
    """Lay out what was planned with what was measured beside it, pass by pass.

    Parameters
    ----------
    plan : Plan
        Made before the run.
    measured : sequence of MeasuredPass
        What it did; a run that is continued does not do again what was done before.
    seconds : float
        Wall time of all of it.
    """
    planned, found = {of.name: of for of in plan.passes}, {of.name: of for of in measured}
    rows = []
    for name in (*planned, *(name for name in found if name not in planned)):
        before, after = planned.get(name), found.get(name)
        rows.append(
            [
                name,
                format_count(before.num_units) if before else "-",
                format_count(after.num_units) if after else "-",
                format_size(before.moved) if before else "-",
                format_size(after.moved) if after else "-",
                format_seconds(before.seconds) if before else "-",
                format_seconds(after.seconds) if after else "-",
            ]
        )
    moved = (format_size(sum(of.moved for of in passes)) for passes in (plan.passes, measured))
    units = (format_count(sum(of.num_units for of in passes)) for passes in (plan.passes, measured))
    rows.append(["all", *units, *moved, format_seconds(plan.seconds), format_seconds(seconds)])
    headers = ["pass", "units", "were", "moves", "moved", "time", "took"]
    return text_table(headers, rows, align="<>>>>>>")
