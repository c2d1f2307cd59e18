"""The kernels of the ParMETIS interchange equal their twins in plain numpy and Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.kernels.parse_columns import TOO_MANY_COLUMNS, parse_columns
from daskgraphpart.kernels.parse_ints import MISSING_COLUMN, NOT_INTEGERS, TOO_LARGE
from daskgraphpart.kernels.repeated_pairs import bucket_pairs, empty_table, mark_repeats


@given(st.integers(0, 300), st.sampled_from((1, 3, 2**31 - 1)), st.sampled_from(("<i4", "<i8")), st.integers(0, 99))
def test_repeats_are_those_numpy_finds(size: int, num_ids: int, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    src, dst = (rng.integers(0, num_ids, size).astype(dtype) for _ in range(2))
    _, first = np.unique(np.stack([src, dst]), axis=1, return_index=True)
    expected = np.ones(size, bool)
    expected[first] = False
    removed = np.zeros(size, np.uint8)
    mark_repeats(src, dst, removed, empty_table(size))
    assert removed.astype(bool).tolist() == expected.tolist()


def test_what_is_marked_already_is_passed_over() -> None:
    src, dst, removed = np.array([1, 1, 1]), np.array([2, 2, 2]), np.array([1, 0, 0], np.uint8)
    mark_repeats(src, dst, removed, empty_table(3))
    assert removed.tolist() == [1, 0, 1]


def test_equal_pairs_share_a_bucket_and_others_are_spread_evenly() -> None:
    src, dst = (axis.ravel() for axis in np.meshgrid(np.arange(300), np.arange(300)))
    of_wide, of_narrow = np.empty(src.size, np.uint32), np.empty(src.size, np.uint32)
    bucket_pairs(src, dst, 16, of_wide)
    bucket_pairs(src.astype(np.int32), dst.astype(np.int32), 16, of_narrow)
    assert of_wide.tolist() == of_narrow.tolist()
    counts = np.bincount(of_wide, minlength=16)
    assert counts.min() > 0.9 * src.size / 16 and counts.max() < 1.1 * src.size / 16


WORDS = st.one_of(
    st.integers(-(2**63) + 1, 2**63 - 1).map(str), st.sampled_from(("+7", "-0", "x", "1.5", "", "9" * 19))
)
LINES = st.lists(st.tuples(st.lists(WORDS, max_size=4), st.sampled_from((" ", "\t", "  ", " \r"))), max_size=6)


@given(LINES, st.sampled_from(((0,), (1,), (0, 1), (0, 2))), st.booleans(), st.booleans())
def test_columns_are_those_python_splits(
    lines: list[tuple[list[str], str]], columns: tuple[int, ...], exactly: bool, last_newline: bool
) -> None:
    text = "\n".join(blank.join(words) for words, blank in lines) + ("\n" if last_newline else "")
    expected, fault, rows = [], 0, 0
    for line in text.split("\n"):
        words = line.split()
        if not words:
            continue
        fault, values = _parsed(words, columns, columns[-1] + 1 if exactly else 0)
        if fault:
            break
        rows += 1
        expected.append(values)
    found = np.empty((len(columns), len(lines)), np.int64)
    content = np.frombuffer(text.encode(), np.uint8)
    most = columns[-1] + 1 if exactly else 0
    assert parse_columns(content, np.array(columns), most, found)[:2] == (rows, fault)
    assert found[:, :rows].T.tolist() == expected


def _parsed(words: list[str], columns: tuple[int, ...], most: int) -> tuple[int, list[int]]:
    values = []
    for number, word in enumerate(words):
        if most and number == most:
            return TOO_MANY_COLUMNS, []
        if number in columns:
            if not word.lstrip("+-").isdecimal() or word[:2] in ("--", "+-", "-+", "++"):
                # the digits before a fault may be too many as well
                return NOT_INTEGERS, []
            if abs(int(word)) > 2**63 - 1:
                return TOO_LARGE, []
            values.append(int(word))
    return (0, values) if len(values) == len(columns) else (MISSING_COLUMN, [])


@pytest.mark.parametrize(
    ("text", "fault", "offset"),
    [
        ("1 2\n\n3\n", MISSING_COLUMN, 5),
        ("1 2\n3 x4\n", NOT_INTEGERS, 4),
        ("1 2\n3 4x\n", NOT_INTEGERS, 4),
        ("1 2 3\n", TOO_MANY_COLUMNS, 0),
        ("1 9223372036854775808\n", TOO_LARGE, 0),
        ("1 -\n", NOT_INTEGERS, 0),
    ],
)
def test_the_line_with_the_fault_is_told(text: str, fault: int, offset: int) -> None:
    content = np.frombuffer(text.encode(), np.uint8)
    assert parse_columns(content, np.array([0, 1]), 2, np.empty((2, 9), np.int64))[1:] == (fault, offset)


def test_more_rows_than_there_is_room_for_are_told() -> None:
    content = np.frombuffer(b"1 2\n3 4\n", np.uint8)
    assert parse_columns(content, np.array([0, 1]), 2, np.empty((2, 1), np.int64))[:2] == (2, 0)
