"""Values of tables become the numbers that they are, or one error that names the row: no text is taken for another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from edge_lists import DEFAULT, chunk

from daskgraphpart import read_chunked
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_714_564_800_000_000  # 2024-05-01 12:00 UTC, in microseconds
HOUR = 3_600_000_000


def write_text(tmp_path: Path, **columns: list[str]) -> Path:
    """Edges in text, with further columns of two rows."""
    path, rows = tmp_path / "e.csv", zip(*columns.values(), strict=True)
    lines = [["src", "dst", *columns], *([str(i), "0", *row] for i, row in enumerate(rows))]
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    return path


def features(tmp_path: Path, path: Path, names: list[str], **options: Any) -> dict[str, np.ndarray]:
    """Columns of a table as features of edges."""
    out = chunk(tmp_path / "out", path, edge_columns=names, **options)
    return {name: rows.compute(scheduler="sync") for name, rows in read_chunked(out).edge_data[DEFAULT].items()}


def refused(tmp_path: Path, path: Path, names: list[str], **options: Any) -> InputFileError:
    """The error that a table of edges with these features is."""
    with pytest.raises(InputFileError) as caught:
        features(tmp_path, path, names, **options)
    return caught.value


def test_text_is_a_number_if_it_is_written_as_one(tmp_path: Path) -> None:
    columns: dict[str, tuple[list[str], list[Any]]] = {
        "a": (["2023_1", "20_231"], [0, 1]),  # categories: what underscores join is no number
        "b": (["x", "1_0.5"], [1, 0]),
        "c": (["\u0661", "1"], [1, 0]),  # an Arabic digit
        "d": (["1", "+2"], [1, 2]),
        "e": (["1", " 2 "], [1, 2]),
        "f": (["1", "1e3"], [1.0, 1000.0]),
        "g": (["1", ".5"], [1.0, 0.5]),
        "h": (["NaN", "-inf"], [np.nan, -np.inf]),
    }
    path = write_text(tmp_path, **{name: texts for name, (texts, _) in columns.items()})
    found = features(tmp_path, path, list(columns))
    for name, (_, expected) in columns.items():
        np.testing.assert_array_equal(found[name], np.array(expected), strict=True)


@pytest.mark.parametrize(
    ("first", "value"),
    [("1.5", "4_7"), ("nan", "4_7")]
    + [
        ("1", value) for value in ("4_7", "1e0_1", "_1", "+-5", "nan(5)", "0x1F", "0b1", "\u0661", '"1,5"', "1 2", "5f")
    ],
)
def test_text_that_is_no_number_is_refused_beside_numbers(first: str, value: str, tmp_path: Path) -> None:
    error = refused(tmp_path, write_text(tmp_path, v=[first, value]), ["v"])
    assert (error.what, error.place) == ("not a number", "line 3, column 'v'")


def test_times_are_those_of_utc_whatever_their_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    times = {
        "2024-05-01 12:00:00": NOON,
        "2024-05-01T12:00": NOON,
        "2024-05-01": NOON - 12 * HOUR,
        "2024-05-01T12:00:00Z": NOON,
        "2024-05-01 12:00:00 UTC": NOON,
        "2024-05-01 12:00:00+02:00": NOON - 2 * HOUR,
        "2024-05-01T12:00:00-07:00": NOON + 7 * HOUR,
        "2024-05-01 12:00:00-07": NOON + 7 * HOUR,
        "2024-05-01 12:00:00 +0530": NOON - 11 * HOUR // 2,
        "2024-05-01 12:00:00.1234567+00:00": NOON + 123_456,
        " 2024-05-01 12:00:00.5 ": NOON + 500_000,
        "1969-12-31 23:59:59.9999999": -1,
    }
    found = features(tmp_path, write_text(tmp_path, v=list(times)), ["v"])["v"]
    np.testing.assert_array_equal(found, np.array(list(times.values())), strict=True)


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-01 12:00:00 Europe/Berlin", "2024-05-01 12:00:00+99:00", "2024-02-30", "2024-05-01 25:00:00",
        "infinity", "epoch", "2024/05/01", "12024-05-01", "2024-05-01 12:00:00 +", "now",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_beside_times(value: str, tmp_path: Path) -> None:
    error = refused(tmp_path, write_text(tmp_path, v=["2024-05-01", value]), ["v"])
    assert (error.what, error.place) == ("not a timestamp", "line 3, column 'v'")
    assert error.hint
