"""How far a stage is, how fast it goes, and when it will be done: what every display of progress is given.

Rates are those of the last seconds, because disks and caches change speed in the course of a stage; a stage that is
over in less has the rate of the whole. The clock is monotonic and finer than a microsecond, so that even a stage that
takes no time to speak of has a rate.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.units import format_count, format_number, format_rate, format_seconds, format_size

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_OF_WINDOW = 30.0
SHORTEST_SECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Reading:
    """A stage at one moment.

    Parameters
    ----------
    stage : str
        Name of the pass.
    units_done, num_units : int
        Tasks.
    bytes_done, nbytes : int
        Bytes that are moved; 0 where they are not known.
    rows_done, num_rows : int
        Nodes, edges or rows of features; 0 where they are not known.
    seconds : float
        Since the stage began.
    units_per_second, bytes_per_second, rows_per_second : float
        Of the last seconds while the stage runs, of all of it when it is over.
    seconds_left : float or None
        Estimate; None before anything is done.
    """

    stage: str
    units_done: int
    num_units: int
    bytes_done: int
    nbytes: int
    rows_done: int
    num_rows: int
    seconds: float
    units_per_second: float
    bytes_per_second: float
    rows_per_second: float
    seconds_left: float | None

    @property
    def share(self) -> float:
        """Share that is done, from 0 to 1."""
        if self.nbytes > self.num_units:
            return min(1.0, self.bytes_done / self.nbytes)
        return min(1.0, self.units_done / max(1, self.num_units))

    @property
    def amount(self) -> str:
        """What is done of what there is: ``"1.2 GB of 3.4 GB"``; tasks where bytes are not known."""
        if self.nbytes > self.num_units:
            if self.bytes_done == self.nbytes:
                return format_size(self.nbytes)
            return f"{format_size(self.bytes_done)} of {format_size(self.nbytes)}"
        noun = "task" if self.num_units == 1 else "tasks"
        done = "" if self.units_done == self.num_units else f"{format_count(self.units_done)} of "
        return f"{done}{format_count(self.num_units)} {noun}"

    @property
    def rates(self) -> tuple[str, ...]:
        """Bytes, or tasks, per second; and rows per second, if rows are known."""
        if self.nbytes > self.num_units:
            first = format_rate(self.bytes_per_second, 1)
        else:
            first = f"{format_number(self.units_per_second)} tasks/s"
        return (first, f"{format_number(self.rows_per_second)} rows/s") if self.num_rows else (first,)

    @property
    def line(self) -> str:
        """All of it as a line of text, for a stage that runs or one that is over."""
        if self.units_done == self.num_units:
            return f"{self.stage}: {', '.join([f'{self.amount} in {format_seconds(self.seconds)}', *self.rates])}"
        left = [] if self.seconds_left is None else [f"{format_seconds(self.seconds_left)} left"]
        return f"{self.stage}: {', '.join([self.amount, *self.rates, *left])}"


class Meter:
    """Counts what is done of one stage.

    Parameters
    ----------
    stage : str
        Name.
    num_units, nbytes, num_rows : int
        What there is to do.
    clock : callable, optional
        Seconds.
    """

    def __init__(
        self,
        stage: str,
        num_units: int,
        nbytes: int,
        num_rows: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._stage, self._all = stage, (num_units, nbytes, num_rows)
        self._clock, self._started, self._ended = clock, clock(), 0.0
        # time, and units, bytes, rows that were done by then; the first is the oldest inside the window
        self._samples: deque[tuple[float, int, int, int]] = deque([(self._started, 0, 0, 0)])

    def advance(self, nbytes: int, num_rows: int = 0) -> None:
        """Count a unit of so many bytes and rows."""
        _, units_done, bytes_done, rows_done = self._samples[-1]
        now = self._clock()
        self._samples.append((now, units_done + 1, bytes_done + nbytes, rows_done + num_rows))
        while len(self._samples) > 2 and self._samples[1][0] <= now - SECONDS_OF_WINDOW:
            self._samples.popleft()

    def end(self) -> None:
        """Stop the clock."""
        self._ended = self._clock()

    def read(self) -> Reading:
        """Take a reading; another thread may do so."""
        latest, oldest = self._samples[-1], self._samples[0]
        now = self._ended or self._clock()
        if self._ended:
            oldest, span = (self._started, 0, 0, 0), self._ended - self._started
        else:
            span = latest[0] - oldest[0]
        span = max(span, SHORTEST_SECONDS)
        units, nbytes, rows = ((latest[i] - oldest[i]) / span for i in (1, 2, 3))
        num_units, all_bytes, num_rows = self._all
        by_bytes = all_bytes > num_units
        rate, missing = (nbytes, all_bytes - latest[2]) if by_bytes else (units, num_units - latest[1])
        left = None
        if latest[1] >= num_units:
            left = 0.0
        elif rate > 0:
            left = max(0.0, missing / rate - (now - latest[0]))
        return Reading(
            self._stage, latest[1], num_units, latest[2], all_bytes, latest[3], num_rows,
            max(now - self._started, SHORTEST_SECONDS), units, nbytes, rows, left,
        )  # fmt: skip
