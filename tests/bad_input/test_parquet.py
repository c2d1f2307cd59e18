"""Parquet files of edges and features that are not what they should be."""

from __future__ import annotations

import base64
import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from bad_input.judge import cases, change, refuse_graph, write_graph
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bad_input.judge import Damage

EDGES, ROWS = "edges/0-0.parquet", "node_data/0-0-1.parquet"
GOOD = [1] * 25
NO_PARQUET = (EDGES, "not a readable parquet file")
NO_EDGES, NO_ROWS = (EDGES, "does not hold numbers"), (ROWS, "does not hold numbers")


def table(name: str, columns: Any, **how: Any) -> Damage:
    made = columns if isinstance(columns, pa.Table) else pa.table(columns)
    return lambda graph: parquet.write_table(made, graph / name, **how)


def edges(src: Any, dst: Any = GOOD) -> Damage:
    return table(EDGES, {"src": src, "dst": dst})


def rows(column: Any, **others: Any) -> Damage:
    return table(ROWS, {"data": column, **others})


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


def shape(text: bytes) -> Damage:
    """Features with a shape in their metadata."""
    return table(ROWS, pa.table({"data": vectors(0, [0.0] * 3)}).replace_schema_metadata({b"shape": text}))


def footer_length(length: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:-8] + struct.pack("<I", length) + content[-4:]


EDGE_VALUES = [
    ("ID too large", edges(instead(7, 20)), (EDGES, "row 7", "[0, 20)", "found 20")),
    ("ID negative", edges(GOOD, instead(24, -1)), (EDGES, "row 24", "found -1")),
    ("ID that is 0 modulo 2**32", edges(instead(3, 2**32)), (EDGES, "row 3", "found 4,294,967,296")),
    ("uint32 too large", edges(pa.array(instead(3, 2**32 - 1), pa.uint32())), (EDGES, "row 3", "4,294,967,295")),
    ("null", edges(instead(5, None)), (EDGES, "'src'", "row 5", "None")),
    ("null of the second", edges(GOOD, instead(24, None)), (EDGES, "'dst'", "row 24", "None")),
    ("null in a later row group", table(EDGES, {"src": instead(20, None), "dst": GOOD}, row_group_size=4), ("row 20",)),
    ("all nulls", edges(pa.nulls(25)), (EDGES, "'src' does not hold numbers")),
    ("typed nulls", edges(pa.nulls(25, pa.int64())), (EDGES, "row 0", "None")),
]
EDGE_COLUMNS = [
    (f"edges of {kind}", edges(pa.array(values, kind)), words)
    for values, kind, words in (
        ([1.0] * 25, pa.float64(), (EDGES, "not integers")),
        (GOOD, pa.uint64(), (EDGES, "not integers")),
        ([True] * 25, pa.bool_(), (EDGES, "not integers")),
        (["1"] * 25, pa.string(), NO_EDGES),
        ([b"1"] * 25, pa.binary(), NO_EDGES),
        ([[1]] * 25, pa.list_(pa.int64()), NO_EDGES),
        ([{"a": 1}] * 25, pa.struct([("a", pa.int64())]), NO_EDGES),
        ([1] * 25, pa.decimal128(5), NO_EDGES),
        (GOOD, pa.timestamp("us"), NO_EDGES),
    )
] + [
    ("a dictionary of strings", edges(pa.array(["1"] * 25).dictionary_encode()), NO_EDGES),
    ("three columns", table(EDGES, {"a": GOOD, "b": GOOD, "c": GOOD}), (EDGES, "columns src and dst")),
    ("one column", table(EDGES, {"src": GOOD}), (EDGES, "columns src and dst")),
    ("no column", table(EDGES, {}), (EDGES, "columns src and dst")),
    ("src three times", table(EDGES, pa.Table.from_arrays([pa.array(GOOD)] * 3, names=["src"] * 3)), (EDGES,)),
    ("no rows", edges(pa.array([], pa.int64()), pa.array([], pa.int64())), ("edges.n:e:n", "found 25")),
    ("one row more", edges([*GOOD, 1], [*GOOD, 1]), ("edges.n:e:n", "found 51")),
]
FEATURES = [
    ("a short list", rows(vectors(4, [1.0])), (ROWS, "row 4", "3 values", "found [")),
    ("a long list", rows(vectors(9, [1.0] * 4)), (ROWS, "row 9", "found [")),
    ("an empty list", rows(vectors(4, [])), (ROWS, "row 4", "found [")),
    ("a null list", rows(vectors(4, None)), (ROWS, "row 4", "None")),
    ("a null in a list", rows(vectors(4, [1.0, None, 1.0])), (ROWS, "row 4", "None")),
    ("lists of lists", rows([[[1.0]]] * 10), NO_ROWS),
    ("lists of strings", rows([["a"] * 3] * 10), NO_ROWS),
    ("strings", rows(["a"] * 10), NO_ROWS),
    ("two columns of lists", rows(vectors(0, [0.0] * 3), other=vectors(0, [0.0] * 3)), NO_ROWS),
    ("lists of doubles", rows(pa.array([[1.0] * 3] * 10)), (ROWS, "float32", "found float64")),
    ("fixed lists of a negative width", negative_lists, (ROWS, "invalid length", "-5")),
    ("all of another width", rows(pa.array([[1.0] * 2] * 10, pa.list_(pa.float32()))), (ROWS, "(3,)", "(2,)")),
    ("fixed lists of another width", rows(pa.array([[1.0] * 2] * 10, pa.list_(pa.float32(), 2))), (ROWS, "(2,)")),
    ("scalars among vectors", rows(pa.array([1.0] * 10, pa.float32())), (ROWS, "(3,)", "(1,)")),
    ("one row less", rows(vectors(0, [0.0] * 3).slice(0, 9)), ("node_data.n.x", "found 19")),
    *(
        (f"{a} beside {b}", table(ROWS, {"a": np.ones(10, a), "b": np.ones(10, b)}), (ROWS, "no common", a, b))
        for a, b in (("uint64", "int64"), ("int64", "float32"), ("int64", "float64"), ("uint64", "float64"))
    ),
    ("a shape that calls", shape(b"__import__('os').mkdir('called')"), (ROWS, "'shape'")),
    ("a shape too large", shape(b"(10, " + b"9" * 17 + b", " + b"9" * 17 + b")"), (ROWS,)),
    ("a shape of another length", shape(b"(11, 3)"), (ROWS, "'shape'", "(11, 3)")),
    ("a shape of another width", shape(b"(10, 4)"), (ROWS, "(4,)")),
    ("a shape of noise", shape(b"\xff\xfe"), (ROWS, "'shape'")),
]
BYTES = [
    ("empty", change(EDGES, lambda _: b""), NO_PARQUET),
    ("magic twice", change(EDGES, lambda _: b"PAR1PAR1"), NO_PARQUET),
    ("magic and nothing", change(EDGES, lambda _: b"PAR1" + bytes(100) + b"PAR1"), NO_PARQUET),
    ("one byte short", change(EDGES, lambda c: c[:-1]), NO_PARQUET),
    ("front overwritten", change(EDGES, lambda c: c[:4] + b"\xff" * 56 + c[60:]), (EDGES,)),
    ("footer of 4 GB", change(EDGES, footer_length(2**32 - 1)), NO_PARQUET),
    ("footer of 0", change(EDGES, footer_length(0)), NO_PARQUET),
    ("footer too short", change(EDGES, footer_length(10)), NO_PARQUET),
    ("encrypted", change(EDGES, lambda c: c[:-4] + b"PARE"), NO_PARQUET),
    ("footer of noise", change(EDGES, lambda c: c[:-200] + b"\xff" * 192 + c[-8:]), NO_PARQUET),
    ("name that is not text", change(EDGES, lambda c: c.replace(b"src", b"\xff\xfe\xfd")), (EDGES,)),
]


@cases([*EDGE_VALUES, *EDGE_COLUMNS, *FEATURES, *BYTES])
def test_a_bad_parquet_file_is_one_error(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    damage(graph)
    refuse_graph(graph, words)
    assert not os.path.exists("called"), "code from a file was run"
