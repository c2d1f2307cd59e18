"""Sizes, counts, durations and tables."""

from __future__ import annotations

import pytest

from daskgraphpart.engine.settings import parse_size
from daskgraphpart.errors import OptionError
from daskgraphpart.units import format_count, format_seconds, format_size, html_table, parse_count, text_table


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("2GB", 2_000_000_000),
        ("2 GiB", 2 << 30),
        ("512M", 512_000_000),
        ("1e9", 1_000_000_000),
        ("1.5kB", 1500),
        ("7", 7),
        ("10_000", 10_000),
        ("3T", 3 * 10**12),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, nbytes: int) -> None:
    assert parse_size(text) == nbytes


@pytest.mark.parametrize(("text", "count"), [("5e6", 5_000_000), ("5M", 5_000_000), ("5_000", 5000), ("1.5k", 1500)])
def test_counts_are_read_as_people_write_them(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "lots", "-1GB", "1 XB", "1GB2", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="not a size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "1.5", "x", "-1"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="not a whole number"):
        parse_count(text)


def test_numbers_are_written_for_people() -> None:
    assert [format_size(n) for n in (0, 999, 1500, 2.5e9, 5e15)] == ["0 B", "999 B", "1.5 kB", "2.5 GB", "5000 TB"]
    assert [format_seconds(s) for s in (0.123, 12, 185, 7800)] == ["0.12 s", "12 s", "3 min 5 s", "2 h 10 min"]
    assert format_count(1_234_567) == "1,234,567"


def test_tables_align_and_escape() -> None:
    assert text_table(["a", "long"], [["1", "x"], ["22", "y"]], "><") == " a  long\n--  ----\n 1  x\n22  y"
    assert "<td style='text-align:left'>&lt;b&gt;</td>" in html_table(["h"], [["<b>"]])
