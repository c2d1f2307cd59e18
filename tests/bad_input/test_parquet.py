"""Parquet files of edges and features that are not what they should be."""

from __future__ import annotations

import base64
import gzip
import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import parquet_surgery as surgery
import pyarrow as pa
from bad_input.judge import Case, Server, cases, expect_refusal, write_graph
from parquet_surgery import BINARY, I32, I64, LIST, STRUCT
from pyarrow import feather, parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EDGES, ROWS = "edges/0-0.parquet", "node_data/0-0-1.parquet"
GOOD = [1] * 25
NO_PARQUET = "not a readable parquet file"


def table(name: str, columns: Any, **how: Any) -> Callable[[Path], object]:
    made = columns if isinstance(columns, pa.Table) else pa.table(columns)
    return lambda graph: parquet.write_table(made, graph / name, **how)


def edges(src: Any, dst: Any = GOOD) -> Callable[[Path], object]:
    return table(EDGES, {"src": src, "dst": dst})


def rows(column: Any, **others: Any) -> Callable[[Path], object]:
    return table(ROWS, {"data": column, **others})


def change(name: str, how: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda graph: (graph / name).write_bytes(how((graph / name).read_bytes()))


def instead(row: int, value: Any) -> list[Any]:
    return [*GOOD[:row], value, *GOOD[row + 1 :]]


def vectors(row: int, value: Any) -> pa.Array:
    lists: list[Any] = [[1.0, 2.0, 3.0]] * 10
    lists[row] = value
    return pa.array(lists, pa.list_(pa.float32()))


def negative_lists(graph: Path) -> None:
    """Lists of -5 numbers, said by the Arrow schema in the footer: a flatbuffer in base64."""
    width = 77_777
    rows(pa.array([[1.0] * width] * 10, pa.list_(pa.float32(), width)))(graph)
    content = (graph / ROWS).read_bytes()
    schema = (parquet.read_metadata(graph / ROWS).metadata or {})[b"ARROW:schema"]
    damaged = base64.b64decode(schema).replace(struct.pack("<i", width), struct.pack("<i", -5))
    (graph / ROWS).write_bytes(content.replace(schema, base64.b64encode(damaged)))


def with_metadata(entries: dict[bytes, bytes]) -> pa.Table:
    return pa.table({"data": vectors(0, [0.0, 0.0, 0.0])}).replace_schema_metadata(entries)


def footer_length(length: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:-8] + struct.pack("<I", length) + content[-4:]


EDGE_VALUES = [
    Case("ID too large", edges(instead(7, 20)), (EDGES, "row 7", "[0, 20)", "found 20")),
    Case("ID negative", edges(GOOD, instead(24, -1)), (EDGES, "row 24", "found -1")),
    Case("ID that is 0 modulo 2**32", edges(instead(3, 2**32)), (EDGES, "row 3", "found 4,294,967,296")),
    Case("uint32 too large", edges(pa.array(instead(3, 2**32 - 1), pa.uint32())), (EDGES, "row 3", "4,294,967,295")),
    Case("null", edges(instead(5, None)), (EDGES, "'src'", "row 5", "null")),
    Case("null of the second", edges(GOOD, instead(24, None)), (EDGES, "'dst'", "row 24", "null")),
    Case(
        "null in a later row group",
        table(EDGES, {"src": instead(20, None), "dst": GOOD}, row_group_size=4),
        ("row 20",),
    ),
    Case("all nulls", edges(pa.nulls(25)), (EDGES, "'src' does not hold numbers")),
    Case("typed nulls", edges(pa.nulls(25, pa.int64())), (EDGES, "row 0", "null")),
]

EDGE_COLUMNS = [
    Case(f"edges of {name}", edges(pa.array(values, kind)), (EDGES, word))
    for name, values, kind, word in (
        ("floats", [1.0] * 25, pa.float64(), "not integers"),
        ("NaN", [float("nan")] * 25, pa.float64(), "not integers"),
        ("half floats", np.ones(25, "f2"), pa.float16(), "not integers"),
        ("uint64", GOOD, pa.uint64(), "not integers"),
        ("bools", [True] * 25, pa.bool_(), "not integers"),
        ("strings", ["1"] * 25, pa.string(), "does not hold numbers"),
        ("binary", [b"1"] * 25, pa.binary(), "does not hold numbers"),
        ("lists", [[1]] * 25, pa.list_(pa.int64()), "does not hold numbers"),
        ("structs", [{"a": 1}] * 25, pa.struct([("a", pa.int64())]), "does not hold numbers"),
        ("maps", [[("a", 1)]] * 25, pa.map_(pa.string(), pa.int64()), "does not hold numbers"),
        ("decimals", [1] * 25, pa.decimal128(5), "does not hold numbers"),
        ("dates", GOOD, pa.date32(), "does not hold numbers"),
        ("times", GOOD, pa.timestamp("us"), "does not hold numbers"),
        ("durations", GOOD, pa.duration("us"), "does not hold numbers"),
    )
] + [
    Case("a dictionary of strings", edges(pa.array(["1"] * 25).dictionary_encode()), (EDGES, "does not hold numbers")),
    Case("three columns", table(EDGES, {"a": GOOD, "b": GOOD, "c": GOOD}), (EDGES, "columns src and dst")),
    Case("one column", table(EDGES, {"src": GOOD}), (EDGES, "columns src and dst")),
    Case("no column", table(EDGES, {}), (EDGES, "columns src and dst")),
    Case("the same name twice", table(EDGES, pa.Table.from_arrays([pa.array(GOOD)] * 2, names=["a", "a"])), (EDGES,)),
    Case("src three times", table(EDGES, pa.Table.from_arrays([pa.array(GOOD)] * 3, names=["src"] * 3)), (EDGES,)),
    Case("no rows", edges(pa.array([], pa.int64()), pa.array([], pa.int64())), ("edges.n:e:n", "found 25")),
    Case("one row more", edges([*GOOD, 1], [*GOOD, 1]), ("edges.n:e:n", "found 51")),
]

FEATURES = [
    Case("a short list", rows(vectors(4, [1.0])), (ROWS, "row 4", "3 values", "found 1")),
    Case("a long list", rows(vectors(9, [1.0] * 4)), (ROWS, "row 9", "found 4")),
    Case("an empty list", rows(vectors(4, [])), (ROWS, "row 4", "found 0")),
    Case("a null list", rows(vectors(4, None)), (ROWS, "row 4", "null")),
    Case("the first list null", rows(vectors(0, None)), (ROWS, "row 0", "null")),
    Case("a null in a list", rows(vectors(4, [1.0, None, 1.0])), (ROWS, "row 4", "null")),
    Case("lists of lists", rows([[[1.0]]] * 10), (ROWS, "does not hold numbers")),
    Case("lists of strings", rows([["a"] * 3] * 10), (ROWS, "does not hold numbers")),
    Case("strings", rows(["a"] * 10), (ROWS, "does not hold numbers")),
    Case("structs", rows([{"a": 1.0}] * 10), (ROWS, "does not hold numbers")),
    Case(
        "two columns of lists",
        rows(vectors(0, [0.0] * 3), other=vectors(0, [0.0] * 3)),
        (ROWS, "does not hold numbers"),
    ),
    Case("lists of doubles", rows(pa.array([[1.0] * 3] * 10)), (ROWS, "float32", "found float64")),
    Case("fixed lists of a negative width", negative_lists, (ROWS, "impossible length", "-5")),
    Case("all of another width", rows(pa.array([[1.0] * 2] * 10, pa.list_(pa.float32()))), (ROWS, "(3,)", "(2,)")),
    Case("fixed lists of another width", rows(pa.array([[1.0] * 2] * 10, pa.list_(pa.float32(), 2))), (ROWS, "(2,)")),
    Case("scalars among vectors", rows(pa.array([1.0] * 10, pa.float32())), (ROWS, "(3,)", "()")),
    Case("one row less", rows(vectors(0, [0.0] * 3).slice(0, 9)), ("node_data.n.x", "found 19")),
    Case(
        "uint64 beside int64", table(ROWS, {"a": pa.array([1] * 10, pa.uint64()), "b": [1] * 10}), (ROWS, "no common")
    ),
    Case(
        "a shape that calls",
        table(ROWS, with_metadata({b"shape": b"__import__('os').mkdir('called')"})),
        (ROWS, "'shape'"),
    ),
    Case(
        "a shape too large",
        table(ROWS, with_metadata({b"shape": b"(10, " + b"9" * 17 + b", " + b"9" * 17 + b")"})),
        (ROWS,),
    ),
    Case("a shape of another length", table(ROWS, with_metadata({b"shape": b"(11, 3)"})), (ROWS, "'shape'", "(11, 3)")),
    Case("a shape of another width", table(ROWS, with_metadata({b"shape": b"(10, 4)"})), (ROWS, "(4,)")),
    Case("a shape of noise", table(ROWS, with_metadata({b"shape": b"\xff\xfe"})), (ROWS, "'shape'")),
]

BYTES = [
    Case("empty", change(EDGES, lambda _: b""), (EDGES, NO_PARQUET)),
    Case("magic alone", change(EDGES, lambda _: b"PAR1"), (EDGES, NO_PARQUET)),
    Case("magic twice", change(EDGES, lambda _: b"PAR1PAR1"), (EDGES, NO_PARQUET)),
    Case("magic and nothing", change(EDGES, lambda _: b"PAR1" + bytes(100) + b"PAR1"), (EDGES, NO_PARQUET)),
    Case("one byte short", change(EDGES, lambda c: c[:-1]), (EDGES, NO_PARQUET)),
    Case("half", change(EDGES, lambda c: c[: len(c) // 2]), (EDGES, NO_PARQUET)),
    Case("features cut short", change(ROWS, lambda c: c[:100]), (ROWS, NO_PARQUET)),
    Case("front lost", change(EDGES, lambda c: c[60:]), (EDGES,)),
    Case("front overwritten", change(EDGES, lambda c: c[:4] + b"\xff" * 56 + c[60:]), (EDGES,)),
    Case("footer of 4 GB", change(EDGES, footer_length(2**32 - 1)), (EDGES, NO_PARQUET)),
    Case("footer of 2 GB", change(EDGES, footer_length(2**31 - 1)), (EDGES, NO_PARQUET)),
    Case("footer of 0", change(EDGES, footer_length(0)), (EDGES, NO_PARQUET)),
    Case("footer too short", change(EDGES, footer_length(10)), (EDGES, NO_PARQUET)),
    Case("encrypted", change(EDGES, lambda c: c[:-4] + b"PARE"), (EDGES, NO_PARQUET)),
    Case("footer of noise", change(EDGES, lambda c: c[:-200] + b"\xff" * 192 + c[-8:]), (EDGES, NO_PARQUET)),
    Case("name that is not text", change(EDGES, lambda c: c.replace(b"src", b"\xff\xfe\xfd")), (EDGES,)),
    Case("gzip", change(EDGES, gzip.compress), (EDGES, NO_PARQUET)),
    Case("text", change(EDGES, lambda _: b"0 1\n" * 25), (EDGES, NO_PARQUET)),
    Case(
        "feather", lambda g: feather.write_feather(pa.table({"src": GOOD, "dst": GOOD}), g / EDGES), (EDGES, NO_PARQUET)
    ),
    Case("a directory", lambda g: ((g / EDGES).unlink(), (g / EDGES).mkdir()), (EDGES, "is a directory")),
    Case("a FIFO", lambda g: ((g / EDGES).unlink(), os.mkfifo(g / EDGES)), (EDGES, "not a regular file")),
    Case("a device", lambda g: ((g / EDGES).unlink(), (g / EDGES).symlink_to("/dev/zero")), (EDGES, "not a regular")),
]


PAGE = "impossible size of a page"
GIB = 1 << 30
WAYS: dict[str, dict[str, Any]] = {
    "data page": {"use_dictionary": False},
    "data page 2": {"use_dictionary": False, "data_page_version": "2.0"},
    "dictionary page": {},
}
VALUES_OF = {"data page": 5, "data page 2": 8, "dictionary page": 7}


def page(kind: str, how: Callable[[surgery.Struct], object], codec: str = "snappy") -> Callable[[Path], object]:
    """The first page of sources, of a kind and codec, with a changed header."""

    def damage(graph: Path) -> None:
        edges(GOOD)(graph)
        parquet.write_table(parquet.read_table(graph / EDGES), graph / EDGES, compression=codec, **WAYS[kind])
        (graph / EDGES).write_bytes(surgery.change_page((graph / EDGES).read_bytes(), how))

    return damage


def field(number: int, value: int) -> Callable[[surgery.Struct], object]:
    """Set an integer of a header."""
    return lambda header: header.update({number: (I32, value)})


def of_values(kind: str, **fields: int) -> Callable[[surgery.Struct], object]:
    """Set integers of the part of a header that depends on its kind."""
    return lambda header: header[VALUES_OF[kind]][1].update({int(n[1:]): (I32, v) for n, v in fields.items()})


def raw_page(header: bytes) -> Callable[[Path], object]:
    """Any bytes in front of the only page of sources."""

    def raw(content: bytes) -> bytes:
        return surgery.with_pages(content, [(header, surgery.pages_of(content)[0][1])])

    return change(EDGES, raw)


def footer(how: Callable[[surgery.Struct], object]) -> Callable[[Path], object]:
    """A changed footer."""
    return change(EDGES, lambda content: surgery.change_footer(content, how))


def chunk(number: int, value: int, kind: int = I64) -> Callable[[Path], object]:
    """A number of the metadata of the first column."""
    return footer(lambda found: surgery.chunks_of(found)[0].update({number: (kind, value)}))


def raw_footer(content: bytes) -> Callable[[Path], object]:
    """Any bytes instead of the footer."""
    return change(EDGES, lambda whole: surgery.join_bytes(surgery.split(whole)[0], content))


def a_list(number: int, count: int, content: bytes) -> bytes:
    """A footer of one list of structs that claims a length."""
    return bytes([number << 4 | LIST, 0xF0 | STRUCT]) + surgery.varint(count) + content


def schema(*elements: surgery.Struct) -> Callable[[Path], object]:
    """Another schema."""
    return footer(lambda found: found.update({2: (LIST, (STRUCT, list(elements)))}))


ROOT: surgery.Struct = {4: (BINARY, b"root"), 5: (I32, 2)}
NUMBER: surgery.Struct = {1: (I32, 2), 3: (I32, 0), 4: (BINARY, b"src")}
GROUP: surgery.Struct = {3: (I32, 0), 4: (BINARY, b"g"), 5: (I32, 1)}

PAGES = [
    Case(f"{kind}, {what}", page(kind, how), (EDGES, "column 'src'", word))
    for kind in WAYS
    for what, how, word in (
        ("2 GiB uncompressed", field(2, 2 * GIB - 1), PAGE),
        ("2 GiB compressed", field(3, 2 * GIB - 1), PAGE),
        ("100 MB uncompressed", field(2, 100_000_000), PAGE),
        ("negative uncompressed", field(2, -1), "page"),
        ("negative compressed", field(3, -1), PAGE),
        ("least negative", field(3, -(2**31)), PAGE),
        ("64 bits uncompressed", field(2, 2**32 + 100), "more than 32 bits"),
        ("64 bits compressed", field(3, 2**40), "more than 32 bits"),
        ("of more values", of_values(kind, _1=2 * GIB - 1), PAGE),
        ("of negative values", of_values(kind, _1=-5), PAGE),
        ("values of 64 bits", of_values(kind, _1=2**35), "more than 32 bits"),
        ("without its header", lambda header, kind=kind: header.pop(VALUES_OF[kind]), "no header"),
    )
] + [
    Case(f"2 GiB of {codec}, {kind}", page(kind, field(2, 2 * GIB - 1), codec), (EDGES, PAGE))
    for codec in ("none", "gzip", "brotli", "lz4", "zstd")
    for kind in WAYS
] + [
    Case("levels of 2 GiB", page("data page 2", of_values("data page 2", _5=2 * GIB - 1)), (EDGES, PAGE)),
    Case("levels that overflow", page("data page 2", of_values("data page 2", _5=2**31 - 1, _6=2**31 - 1)), (PAGE,)),
    Case("negative levels", page("data page 2", of_values("data page 2", _5=-7, _6=9)), (EDGES, PAGE)),
    Case("page of another kind", page("data page", field(1, 3)), (EDGES, "no header")),
    Case("page of no kind, of 2 GiB", page("data page", lambda h: h.update({1: (I32, 77), 3: (I32, 2**31 - 1)})), (PAGE,)),
    Case("header without end", raw_page(b"\x15"), (EDGES, "page")),
    Case("header of noise", raw_page(b"\xff" * 30), (EDGES, "the header of a page")),
    Case("header of a string of 2 GiB", raw_page(b"\x98" + surgery.varint(2**31 - 1)), (EDGES, "string of 2,147,483,647")),
    Case("header of a string of -1", raw_page(b"\x98" + surgery.varint(2**32 - 1)), (EDGES, "negative length")),
    Case("header of a list of 2 GiB", raw_page(b"\x99\xf5" + surgery.varint(2**31 - 1)), (EDGES, "list of")),
    Case("header nested deeply", raw_page(b"\x9c" + b"\x1c" * 100_000), (EDGES, "nested too deeply")),
    Case("header of lists nested deeply", raw_page(b"\x99" + b"\x19" * 100_000), (EDGES, "nested too deeply")),
    Case("header that says it twice", raw_page(b"\x15\x00\x05\x02\x00\x00"), (EDGES, "field 1 twice")),
    Case("no header", raw_page(b""), (EDGES, "page")),
]  # fmt: skip

FOOTERS = [
    Case(f"codec {codec}", chunk(surgery.CODEC, codec, I32), (EDGES, "row group 0, column 'src'", "a codec"))
    for codec in (8, 99, -1, 2**31 - 1)
] + [
    Case("codec LZO", chunk(surgery.CODEC, 3, I32), (EDGES, "'src'", "LZO")),
    Case("codec of 64 bits", chunk(surgery.CODEC, 2**32, I32), (EDGES, NO_PARQUET, "more than 32 bits")),
    Case("codec of another kind", chunk(surgery.CODEC, 1, I64), (EDGES, NO_PARQUET, "i64 where i32")),
    Case("page beyond the file", chunk(surgery.DATA_OFFSET, 1 << 40), (EDGES, "'src'", "a beginning in", "1,099,511,627,776")),
    Case("page before the file", chunk(surgery.DATA_OFFSET, -1), (EDGES, "'src'", "a beginning in", "-1")),
    Case("page in the footer", footer(lambda f: surgery.chunks_of(f)[0].update({9: (I64, 600)})), (EDGES,)),
    Case("column of 2**63 - 1 bytes", chunk(surgery.NBYTES, 2**63 - 1), (EDGES, "'src'", "bytes of a column")),
    Case("column of negative bytes", chunk(surgery.NBYTES, -4), (EDGES, "'src'", "bytes of a column", "-4")),
    Case("column of no bytes", chunk(surgery.NBYTES, 0), (EDGES,)),
    Case("column of 2**64 bytes", chunk(surgery.NBYTES, 2**64), (EDGES, NO_PARQUET, "more than 64 bits")),
    Case("uncompressed bytes negative", chunk(6, -4), (EDGES, "'src'")),
    Case("column of more values", chunk(surgery.NUM_VALUES, 10**9), (EDGES, "a value for each row", "1,000,000,000")),
    Case("column of fewer values", chunk(surgery.NUM_VALUES, 24), (EDGES, "a value for each row", "24")),
    Case("columns that share their bytes", footer(lambda f: [c.update({7: (I64, 700), 9: (I64, 4)}) for c in surgery.chunks_of(f)]), (EDGES, "columns in")),
    Case("rows of 2**40", footer(lambda f: [f.update({3: (I64, 2**40)}), surgery.groups_of(f)[0].update({3: (I64, 2**40)})]), (EDGES, "a value for each row")),
    Case("a column more", footer(lambda f: surgery.groups_of(f)[0][1][1][1].append(surgery.groups_of(f)[0][1][1][1][0])), (EDGES, "3 columns")),
    Case("no column in a group", footer(lambda f: surgery.groups_of(f)[0][1][1][1].clear()), (EDGES, "0 columns")),
    Case("a column without metadata", footer(lambda f: surgery.groups_of(f)[0][1][1][1][0].pop(3)), (EDGES, "without metadata")),
    Case("an encrypted column", footer(lambda f: surgery.groups_of(f)[0][1][1][1][0].update({8: (STRUCT, {1: (STRUCT, {})})})), (EDGES, "encrypted")),
    Case("encrypted columns", footer(lambda f: f.update({8: (STRUCT, {1: (STRUCT, {})})})), (EDGES, "encrypted")),
    Case("no schema", footer(lambda f: f.pop(2)), (EDGES, "before the schema")),
    Case("nothing but an end", raw_footer(b"\0"), (EDGES, "no schema")),
    Case("schema of a million", raw_footer(a_list(2, 10**6, bytes(1000))), (EDGES, "list of 1,000,000")),
    Case("schema of 2**31 - 1", raw_footer(a_list(2, 2**31 - 1, bytes(1000))), (EDGES, "list of 2,147,483,647")),
    Case("schema of a million that are nothing", raw_footer(a_list(2, 10**6, bytes(10**6))), (EDGES, "list of 1,000,000")),
    Case("schema of 10,000 levels", schema(*[GROUP] * 10_000), (EDGES, "nested too deeply")),
    Case("schema of two roots", schema(NUMBER, NUMBER, NUMBER), (EDGES, NO_PARQUET, "several roots")),
    Case("schema that lacks elements", schema({**ROOT, 5: (I32, 2**31 - 1)}, NUMBER, NUMBER), (EDGES, "too few elements")),
    Case("schema of negative children", schema({**ROOT, 5: (I32, -1)}, NUMBER), (EDGES, "-1 children")),
    Case("physical type 8", schema(ROOT, NUMBER, {**NUMBER, 1: (I32, 8)}), (EDGES, "physical type 8")),
    Case("values of no width", schema(ROOT, NUMBER, {1: (I32, 7), 2: (I32, 0), 3: (I32, 0), 4: (BINARY, b"d")}), (EDGES, "0 bytes")),
    Case("footer nested deeply", raw_footer(b"\x1c" * 100_000), (EDGES, "nested too deeply")),
    Case("footer cut short", change(EDGES, lambda c: surgery.join_bytes(surgery.split(c)[0], c[-200:-100])), (EDGES, NO_PARQUET)),
    Case("keys and values of a million", footer(lambda f: f.update({5: (LIST, (STRUCT, [{}] * 10**6))})), (EDGES, NO_PARQUET)),
]  # fmt: skip


@cases([*EDGE_VALUES, *EDGE_COLUMNS, *FEATURES, *BYTES, *PAGES, *FOOTERS])
def test_a_bad_parquet_file_is_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    case.damage(graph)
    expect_refusal(server, graph, case)
    assert not os.path.exists("called"), "code from a file was run"
