"""Thrift's compact protocol: what is right is read, whatever is wrong is one kind of error, in little memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import parquet_surgery as surgery
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.chunked.thrift_compact import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    MOST_LEVELS,
    SET,
    STRUCT,
    TRUE,
    CompactReader,
    ThriftEndError,
    ThriftError,
)

LEAVES = st.one_of(
    st.sampled_from(((TRUE, b""), (FALSE, b""))),
    st.tuples(st.just(BYTE), st.binary(min_size=1, max_size=1)),
    st.tuples(st.just(DOUBLE), st.binary(min_size=8, max_size=8)),
    st.tuples(st.just(BINARY), st.binary(max_size=200)),
    *(
        st.tuples(st.just(kind), st.integers(-(1 << bits), (1 << bits) - 1))
        for kind, bits in ((I16, 15), (I32, 31), (I64, 63))
    ),
)


def lists(values: st.SearchStrategy[tuple[int, Any]]) -> st.SearchStrategy[tuple[int, Any]]:
    """Lists and sets of one value, again and again."""
    made = st.tuples(values.filter(lambda value: value[0] > FALSE), st.integers(0, 20))
    of_values = made.map(lambda made: (made[0][0], [made[0][1]] * made[1]))
    of_bools = st.lists(st.booleans(), max_size=20).map(lambda bools: (TRUE, [bytes([2 - b]) for b in bools]))
    return st.tuples(st.sampled_from((LIST, SET)), st.one_of(of_values, of_bools))


def structs(values: st.SearchStrategy[tuple[int, Any]]) -> st.SearchStrategy[dict[int, tuple[int, Any]]]:
    """Structs with fields of any numbers, in any order."""
    numbers = st.one_of(st.integers(1, 20), st.integers(1, 2**15 - 1))
    return st.dictionaries(numbers, values, max_size=8)


STRUCTS = structs(
    st.recursive(
        LEAVES, lambda inner: st.one_of(lists(inner), st.tuples(st.just(STRUCT), structs(inner))), max_leaves=12
    )
)


def values_of(reader: CompactReader) -> dict[int, tuple[int, Any]]:
    """Read all fields of a struct for which there is a method, as the second reader does."""
    found: dict[int, tuple[int, Any]] = {}
    for number, kind in reader.fields():
        if kind in (I32, I64, BINARY):
            found[number] = kind, {I32: reader.i32, I64: reader.i64, BINARY: reader.binary}[kind](kind)
        else:
            reader.skip(kind)
            found[number] = kind, None
    return found


@given(STRUCTS, st.binary(max_size=3))
def test_what_is_right_is_read_and_passed_over_to_its_end(struct: surgery.Struct, rest: bytes) -> None:
    content = surgery.encode_struct(struct)
    assert surgery.Decoder(content).struct() == struct
    reader = CompactReader(content + rest)
    expected = {n: (kind, value if kind in (I32, I64, BINARY) else None) for n, (kind, value) in struct.items()}
    assert expected == values_of(reader)
    assert reader.at == len(content)
    reader = CompactReader(content + rest)
    reader.skip(STRUCT)
    assert reader.at == len(content)


@given(STRUCTS)
def test_what_is_cut_short_ends_too_early(struct: surgery.Struct) -> None:
    content = surgery.encode_struct(struct)
    for length in range(len(content)):
        for read in (values_of, lambda reader: reader.skip(STRUCT)):
            with pytest.raises(ThriftEndError):
                read(CompactReader(content[:length]))


@given(
    st.one_of(st.binary(max_size=300), STRUCTS.map(surgery.encode_struct)),
    st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=4),
)
def test_any_bytes_are_read_or_refused_in_little_memory(content: bytes, changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(content)
    for at, byte in changes if damaged else ():
        damaged[at % len(damaged)] = byte
    for read in (values_of, lambda reader: reader.skip(STRUCT)):
        reader = CompactReader(bytes(damaged))
        tracemalloc.start()
        try:
            read(reader)
        except ThriftError:
            pass
        else:
            assert reader.at <= len(damaged)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 100_000 + 1_000 * len(damaged)


I32_OF_2_TO_40 = b"\x15" + surgery.zigzag(2**40)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x18" + surgery.varint(2**31 - 1) + bytes(100), "string of 2,147,483,647"),
        (b"\x18" + surgery.varint(2**32 - 1) + bytes(100), "negative length"),
        (b"\x19\xfc" + surgery.varint(10**6) + bytes(100), "list of 1,000,000"),
        (b"\x19\xe8" + bytes(13), "list of 14"),
        (b"\x1b" + surgery.varint(10**6) + bytes(100), "map of 1,000,000"),
        (b"\x1c" * 10_000, "nested too deeply"),
        (b"\x19\x19" * 10_000, "nested too deeply"),
        (I32_OF_2_TO_40, "more than 32 bits"),
        (b"\x16" + b"\xff" * 10 + b"\x01", "more than 64 bits"),
        (b"\x1d\0", "kind 13"),
        (b"\x10\0", "kind 0"),
        (b"\x15\x02\x05\x02\x02\0", "field 1 twice"),
        (b"\x05" + surgery.zigzag(-1) + b"\x02\0", "field -1"),
        (b"\x05" + surgery.zigzag(2**16 + 1) + b"\x02\0", "more than 16 bits"),
        (b"\x15\x80", "without end"),
        (b"", "without end"),
    ],
)
def test_claims_are_compared_with_the_bytes(content: bytes, words: str) -> None:
    with pytest.raises(ThriftError, match=words):
        values_of(CompactReader(content))


def test_values_of_another_kind_are_refused() -> None:
    reader = CompactReader(b"\x15\x02\0")
    for _, kind in reader.fields():
        with pytest.raises(ThriftError, match="i32 where i64 is expected"):
            reader.i64(kind)
        reader.skip(kind)


@given(STRUCTS, st.sets(st.integers(1, 20), max_size=4))
def test_integers_of_a_struct_are_those_of_its_fields(struct: surgery.Struct, numbers: set[int]) -> None:
    content = surgery.encode_struct(struct)
    wanted = {number: struct[number][0] if number in struct else I64 for number in numbers}
    reader = CompactReader(content)
    if all(kind in (I32, I64) for kind in wanted.values()):
        expected = {number: struct[number][1] for number in numbers if number in struct}
        assert expected == reader.integers(STRUCT, wanted)
        assert reader.at == len(content)
    else:
        with pytest.raises(ThriftError, match="is expected"):
            reader.integers(STRUCT, dict.fromkeys(wanted, I32))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x15\x02\x05\x02\x02\0", "field 1 twice"),
        (b"\x05" + surgery.zigzag(2**15 - 1) + b"\x02\x25\x02\0", "field 32769"),  # -32767 where it is cut to 16 bits
        (b"\x05" + surgery.zigzag(-1) + b"\x02\x25\x02\0", "field -1"),
        (b"\x05" + surgery.zigzag(2**16 + 1) + b"\x02\0", "more than 16 bits"),
        (I32_OF_2_TO_40, "more than 32 bits"),
        (b"\x16\x02\0", "i64 where i32 is expected"),
        (b"\x1d\0", "kind 13"),
        (b"\x25\x80\x80", "without end"),
        (b"\x28\x05abc", "without end"),
    ],
)
def test_integers_that_readers_take_differently_are_refused(content: bytes, words: str) -> None:
    with pytest.raises(ThriftError, match=words):
        CompactReader(content).integers(STRUCT, {1: I32})


def test_so_many_levels_are_read() -> None:
    reader = CompactReader(b"\x1c" * (MOST_LEVELS - 1) + bytes(MOST_LEVELS))
    reader.skip(STRUCT)
    assert reader.at == 2 * MOST_LEVELS - 1
