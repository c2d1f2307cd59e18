"""Rates, time left and lines of text of a stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.engine.meter import SECONDS_OF_WINDOW, Meter
from daskgraphpart.engine.plan import Pass
from daskgraphpart.units import format_number


class Clock:
    """Seconds that pass when they are told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rates_and_time_left_follow_from_what_is_done() -> None:
    clock = Clock()
    meter = Meter("place-rows", 4, 4000, 400, clock)
    assert meter.read().seconds_left is None
    clock.now += 2
    meter.advance(1000, 100)
    reading = meter.read()
    assert (reading.units_done, reading.bytes_done, reading.rows_done) == (1, 1000, 100)
    assert (reading.bytes_per_second, reading.rows_per_second, reading.units_per_second) == (500, 50, 0.5)
    assert reading.seconds_left == 6
    assert reading.line == "place-rows: 1.0 kB of 4.0 kB, 500 B/s, 50 rows/s, 6.00 s left"
    clock.now += 1
    assert meter.read().seconds_left == 5
    clock.now += 100
    assert meter.read().seconds_left == 0


def test_the_rate_is_that_of_the_last_seconds_until_the_end() -> None:
    clock = Clock()
    meter = Meter("stage", 200, 2_000_000, 0, clock)
    for _ in range(100):
        clock.now += 1
        meter.advance(1000)
    for _ in range(100):
        clock.now += 1
        meter.advance(19_000)
    assert meter.read().bytes_per_second == pytest.approx(19_000)
    meter.end()
    clock.now += 50
    reading = meter.read()
    assert reading.seconds == 200
    assert reading.bytes_per_second == pytest.approx(10_000)
    assert len(meter._samples) <= SECONDS_OF_WINDOW + 2


def test_a_stage_that_takes_no_time_has_a_rate() -> None:
    meter = Meter("stage", 1, 1000, 10, Clock())
    meter.advance(1000, 10)
    meter.end()
    assert meter.read().line == "stage: 1.0 kB in 0.00 s, 1.0 GB/s, 10 M rows/s"


def test_tasks_are_counted_where_bytes_are_not_known() -> None:
    clock = Clock()
    meter = Meter("verify-halo", 4, 4, 0, clock)
    clock.now += 1
    meter.advance(1)
    assert meter.read().share == 0.25
    assert meter.read().line == "verify-halo: 1 of 4 tasks, 1 tasks/s, 3.00 s left"
    for _ in range(3):
        meter.advance(1)
    meter.end()
    assert meter.read().line == "verify-halo: 4 tasks in 1.00 s, 4 tasks/s"


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 10**12), st.integers(0, 10**9)), max_size=50))
def test_readings_never_fail_and_end_at_everything(units: list[tuple[float, int, int]]) -> None:
    clock = Clock()
    meter = Meter("stage", len(units), sum(u[1] for u in units), sum(u[2] for u in units), clock)
    shares = [0.0]
    for seconds, nbytes, rows in units:
        clock.now += seconds
        meter.advance(nbytes, rows)
        reading = meter.read()
        assert reading.line.startswith("stage: ")
        assert reading.seconds_left is None or reading.seconds_left >= 0
        shares.append(reading.share)
    meter.end()
    assert shares == sorted(shares)
    assert meter.read().seconds_left == 0
    assert (shares[-1] == 1) == bool(units)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.2, "0.2"),
        (9.4, "9.4"),
        (10, "10"),
        (999, "999"),
        (999.9, "1.0 k"),
        (12_345, "12 k"),
        (3.4e9, "3.4 G"),
    ],
)
def test_numbers_are_rough(number: float, text: str) -> None:
    assert format_number(number) == text


@dataclass
class Unit:
    num_rows: int = -1


@dataclass
class Outer:
    block: Any


@dataclass
class Range:
    start: int = 3
    stop: int = 10


@dataclass
class OfFile(Range):
    path: str = "bytes.csv"


@dataclass
class Whole:
    parts: list[int] = field(default_factory=list)


@pytest.mark.parametrize(
    ("units", "rows"),
    [
        ([Unit(5), Unit(0)], [5, 0]),
        ([Unit(5), Unit(-1)], [0, 0]),
        ([Outer(Unit(5))], [5]),
        ([Range()], [7]),
        ([OfFile()], [0]),
        ([Whole(), Whole()], [0, 0]),
        ([(1, 2), None], [0, 0]),
        ([slice(None), Outer((1, 2)), Outer(None)], [0, 0, 0]),
        ([], []),
    ],
)
def test_rows_of_units_are_counted_where_all_tell_them(units: list[Any], rows: list[int]) -> None:
    assert Pass("p", print, units, None, [1] * len(units)).unit_num_rows == rows
