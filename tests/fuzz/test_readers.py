"""Structured fuzzing of the readers, briefly; the scripts in fuzz/ do the same for hours, guided by coverage.

The targets fail on any error but `GraphPartError`, and on values that an independent reader does not give.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import seeds
import targets
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# each some seconds; the nightly profile has its own number of examples
few = settings(max_examples=max(150, settings.default.max_examples), deadline=None)  # type: ignore[union-attr]


@st.composite
def damaged(draw: st.DrawFn, files: Sequence[bytes]) -> bytes:
    """A valid file with bytes changed, cut out, repeated, or numbers put in."""
    content = bytearray(draw(st.sampled_from(files)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        how = draw(st.sampled_from(("byte", "number", "cut", "repeat", "end")))
        if how == "byte":
            content[at : at + 1] = bytes([draw(st.integers(0, 255))])
        elif how == "number":
            value = draw(st.sampled_from((0, 1, 2**31, 2**32 - 1, 2**60, 2**61, 2**63, 2**64 - 1)))
            content[at : at + 8] = value.to_bytes(8, "little")
        elif how == "cut":
            del content[at : at + draw(st.integers(1, 64))]
        elif how == "repeat":
            content[at:at] = content[at : at + draw(st.integers(1, 64))]
        else:
            del content[at:]
    return bytes(content)


NUMBERS = st.one_of(st.integers(-(2**65), 2**65).map(str), st.integers(0, 99).map(str))
ODD = st.sampled_from(
    ("", " ", "\t", "\r", "+", "-", "1e3", "nan", "0x1", "1.5", '"1"', "\x00", "\u0661", "9" * 30, "-0", "007")
)
FIELD = st.one_of(NUMBERS, NUMBERS, ODD)


@st.composite
def edge_texts(draw: st.DrawFn) -> bytes:
    """Lines that are mostly two integers, with delimiters, blanks and ends of lines of all kinds."""
    which = draw(st.integers(0, len(targets.DELIMITERS) - 1))
    delimiter = targets.DELIMITERS[which]
    gaps = st.sampled_from((delimiter, delimiter, delimiter, f" {delimiter}", f"{delimiter} ", " ", "\t", ","))
    fields = draw(st.sampled_from((NUMBERS, FIELD)))
    lines = draw(
        st.lists(st.tuples(fields, gaps, fields, st.sampled_from(("", "", delimiter + "x", " ", "\r"))), max_size=12)
    )
    text = draw(st.sampled_from(("\n", "\r\n", "\n\n"))).join("".join(line) for line in lines)
    return bytes([which, draw(st.integers(0, 60))]) + (text + draw(st.sampled_from(("", "\n", "\n \n")))).encode()


@few
@given(edge_texts())
def test_csv_is_read_as_python_reads_it_or_refused(content: bytes) -> None:
    targets.check_csv(content)


@few
@given(st.one_of(damaged(seeds.csv_files()), st.binary(max_size=200)))
def test_damaged_csv_is_refused_or_read_alike(content: bytes) -> None:
    targets.check_csv(content)


SHAPES = st.lists(st.sampled_from((0, 1, 2, 3, 10, 2**31, 2**32, 2**60, 2**62, 2**63, -1)), max_size=4).map(tuple)
DESCRS = st.sampled_from(
    ("<i8", ">i4", "|u1", "|b1", "<f2", "<f4", ">f8", "<c8", "|O", "<U3", "|V8", "<M8[s]", "zz", "<i3", "")
)


@st.composite
def npy_files(draw: st.DrawFn) -> bytes:
    """Headers that may claim anything, before some bytes."""
    header = {"descr": draw(DESCRS), "fortran_order": draw(st.booleans()), "shape": draw(SHAPES)}
    text, version = f"{header}\n".encode(), draw(st.sampled_from((1, 2, 3, 7)))
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + draw(st.binary(max_size=100))


@few
@given(st.one_of(npy_files(), damaged(seeds.npy_files())))
def test_npy_is_read_as_numpy_reads_it_or_refused(content: bytes) -> None:
    targets.check_npy(content)


VALUES: dict[str, Callable[[int], Any]] = {
    "int64": lambda i: i,
    "uint8": lambda i: i % 256,
    "float": lambda i: i / 3,
    "bool": lambda i: i % 2 == 0,
    "string": str,
    "list": lambda i: [i, i + 1],
    "ragged": lambda i: [i] * (i % 3),
    "nested": lambda i: [[i]],
    "struct": lambda i: {"a": i},
}


@st.composite
def parquet_files(draw: st.DrawFn) -> bytes:
    """Tables of one to three columns of any kind, with nulls here and there."""
    rows = draw(st.integers(0, 20))
    names = draw(st.sampled_from((("x",), ("src", "dst"), ("a", "b", "c"))))
    columns = []
    for _ in names:
        make = VALUES[draw(st.sampled_from(sorted(VALUES)))]
        gap = draw(st.sampled_from((None, None, 0, 7)))
        columns.append(pa.array([None if i == gap else make(i) for i in range(rows)]))
    table = pa.Table.from_arrays(columns, names=list(names))
    if draw(st.booleans()):
        table = table.replace_schema_metadata(
            {"shape": draw(st.sampled_from((f"({rows}, 2)", "(-1, 2, 1)", "(3,", "x")))}
        )
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=draw(st.sampled_from((1, 7, 100))))
    return file.getvalue()


@few
@given(st.one_of(parquet_files(), damaged(seeds.parquet_files())))
def test_parquet_is_read_as_arrow_reads_it_or_refused(content: bytes) -> None:
    targets.check_parquet(content)


@few
@given(damaged(seeds.dgl_files()))
def test_files_of_dgl_are_read_as_they_are_or_refused(content: bytes) -> None:
    targets.check_dgl(content)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 60), st.sampled_from((2**62, 2**63, 0.5, float("nan"), float("inf"))),
    st.sampled_from(("", "n", "n:e:n", "csv", "numpy", "e.csv", "x.npy", "..", "\0", "\ud800", "/dev/zero")),
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(("n", "a", "")), inner)),
)


@st.composite
def trees(draw: st.DrawFn) -> bytes:
    """Valid metadata or config with up to three values replaced."""
    tree = json.loads(draw(st.sampled_from(seeds.json_files())))
    for _ in range(draw(st.integers(0, 3))):
        inner = tree
        while True:
            key = draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
            if isinstance(inner[key], (dict, list)) and inner[key] and draw(st.booleans()):
                inner = inner[key]
                continue
            inner[key] = draw(TREES)
            break
    return json.dumps(tree).encode()


@few
@given(st.one_of(trees(), damaged(seeds.json_files())))
def test_metadata_and_configs_are_taken_as_they_are_or_refused(content: bytes) -> None:
    targets.check_json(content)
