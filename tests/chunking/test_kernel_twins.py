"""The kernels that find fields and search strings agree with plain Python."""

from __future__ import annotations

import bisect
import csv
import io
import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.chunking.edge_lists.keys import StringKeys, lower_bound
from daskgraphpart.kernels import text_fields as kernels

fields = st.text(st.characters(codec="ascii", exclude_characters="\0\n\r"), max_size=5)


def keys_of(strings: list[bytes]) -> StringKeys:
    offsets = np.cumsum([0, *map(len, strings)])
    return StringKeys(offsets.astype(np.int64), np.frombuffer(b"".join(strings), np.uint8))


@given(keys=st.sets(st.binary(max_size=3)), needles=st.lists(st.binary(max_size=4)))
def test_lower_bounds_are_those_of_bisect(keys: set[bytes], needles: list[bytes]) -> None:
    ordered = sorted(keys)
    needles.sort()
    found = lower_bound(keys_of(ordered), keys_of(needles))
    assert [bisect.bisect_left(ordered, needle) for needle in needles] == found.tolist()


@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(fields, min_size=width, max_size=width), min_size=1)
    ),
    delimiter=st.sampled_from(",;\t|"),
    newline=st.sampled_from(("\n", "\r\n")),
)
def test_fields_are_those_of_the_csv_module(rows: list[list[str]], delimiter: str, newline: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_ALL).writerows(rows)
    content = np.frombuffer(text.getvalue().encode(), np.uint8)
    assert kernels.count_data_lines(content, -1) == len(rows)
    width = len(rows[0])
    starts, ends = (np.empty((width, len(rows)), np.int32) for _ in range(2))
    marks = np.empty((width, len(rows)), np.uint8)
    how = (ord(delimiter), -1, width)
    assert kernels.split_fields(content, how, np.arange(width), starts, ends, marks)[:2] == (len(rows), 0)
    for column in range(width):
        of_column = starts[column], ends[column], marks[column]
        offsets = np.empty(len(rows) + 1, np.int64)
        kernels.field_offsets(content, *of_column, offsets)
        data = np.empty(offsets[-1], np.uint8)
        kernels.copy_fields(content, *of_column, offsets, data)
        copied = [data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
        assert [row[column] for row in rows] == copied


@given(
    st.lists(
        st.integers(-(2**65), 2**65).map(str)
        | st.sampled_from(("", "-", "+", "+1", "-0", "00", " 5 ", "1_0", "1.0", "x"))
    )
)
def test_integers_are_those_of_python(texts: list[str]) -> None:
    keys = keys_of([text.encode() for text in texts])
    values, kinds = np.zeros(len(texts), np.int64), np.empty(len(texts), np.uint8)
    starts, ends = keys.offsets[:-1].astype(np.int32), keys.offsets[1:].astype(np.int32)
    kernels.parse_integers(keys.data, starts, ends, np.zeros(len(texts), np.uint8), values, kinds)
    for text, value, kind in zip(texts, values.tolist(), kinds.tolist(), strict=True):
        assert _kind(text.strip()) == kind
        if kind in (kernels.CANONICAL, kernels.LOOSE):
            assert int(text) == value


def _kind(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not text:
        return kernels.EMPTY
    if not (digits.isascii() and digits.isdigit()):
        return kernels.TEXT
    if not -(2**63) <= int(text) < 2**63:
        return kernels.TOO_LARGE
    return kernels.CANONICAL if str(int(text)) == text else kernels.LOOSE
