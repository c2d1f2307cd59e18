"""Parquet files of edges and features that are not what they should be."""

from __future__ import annotations

import base64
import gzip
import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from bad_input.judge import Case, Server, cases, expect_refusal, write_graph
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
    Case("null", edges(instead(5, None)), (EDGES, "'src'", "row 5", "None")),
    Case("null of the second", edges(GOOD, instead(24, None)), (EDGES, "'dst'", "row 24", "None")),
    Case(
        "null in a later row group",
        table(EDGES, {"src": instead(20, None), "dst": GOOD}, row_group_size=4),
        ("row 20",),
    ),
    Case("all nulls", edges(pa.nulls(25)), (EDGES, "'src' does not hold numbers")),
    Case("typed nulls", edges(pa.nulls(25, pa.int64())), (EDGES, "row 0", "None")),
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
    Case("a short list", rows(vectors(4, [1.0])), (ROWS, "row 4", "3 values", "found [")),
    Case("a long list", rows(vectors(9, [1.0] * 4)), (ROWS, "row 9", "found [")),
    Case("an empty list", rows(vectors(4, [])), (ROWS, "row 4", "found [")),
    Case("a null list", rows(vectors(4, None)), (ROWS, "row 4", "None")),
    Case("the first list null", rows(vectors(0, None)), (ROWS, "row 0", "None")),
    Case("a null in a list", rows(vectors(4, [1.0, None, 1.0])), (ROWS, "row 4", "None")),
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
    Case("scalars among vectors", rows(pa.array([1.0] * 10, pa.float32())), (ROWS, "(3,)", "(1,)")),
    Case("one row less", rows(vectors(0, [0.0] * 3).slice(0, 9)), ("node_data.n.x", "found 19")),
    *(
        Case(
            f"{one} beside {other}",
            table(ROWS, {"a": np.ones(10, one), "b": np.ones(10, other)}),
            (ROWS, "no common", one, other),
        )
        for one, other in (
            ("uint64", "int64"),
            ("int64", "float32"),
            ("int64", "float64"),
            ("uint64", "float64"),
        )
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
    Case(
        "a directory",
        lambda g: ((g / EDGES).unlink(), (g / EDGES).mkdir()),
        (EDGES, "no such file, or not a regular one"),
    ),
    Case(
        "a FIFO", lambda g: ((g / EDGES).unlink(), os.mkfifo(g / EDGES)), (EDGES, "no such file, or not a regular one")
    ),
    Case(
        "a device",
        lambda g: ((g / EDGES).unlink(), (g / EDGES).symlink_to("/dev/zero")),
        (EDGES, "no such file, or not a regular one"),
    ),
]


@cases([*EDGE_VALUES, *EDGE_COLUMNS, *FEATURES, *BYTES])
def test_a_bad_parquet_file_is_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    case.damage(graph)
    expect_refusal(server, graph, case)
    assert not os.path.exists("called"), "code from a file was run"
