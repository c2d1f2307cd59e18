"""Parquet files whose footers and headers of pages claim what cannot be, in any number there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import parquet_surgery as surgery
import pyarrow as pa
import pytest
from bad_input.judge import NUM_NODES, Case, Server, cases, expect_refusal, judge, write_graph
from bad_input.test_parquet import EDGES, GOOD, NO_PARQUET, change, edges
from parquet_surgery import BINARY, I32, I64, LIST, STRUCT
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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

PAGES = (
    [
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
            ("without its header", lambda header, kind=kind: header.pop(VALUES_OF[kind]), "no number of values"),
        )
    ]
    + [
        Case(f"2 GiB of {codec}, {kind}", page(kind, field(2, 2 * GIB - 1), codec), (EDGES, PAGE))
        for codec in ("none", "gzip", "brotli", "lz4", "zstd")
        for kind in WAYS
    ]
    + [
        Case("levels of 2 GiB", page("data page 2", of_values("data page 2", _5=2 * GIB - 1)), (EDGES, PAGE)),
        Case(
            "levels that overflow", page("data page 2", of_values("data page 2", _5=2**31 - 1, _6=2**31 - 1)), (PAGE,)
        ),
        Case("negative levels", page("data page 2", of_values("data page 2", _5=-7, _6=9)), (EDGES, PAGE)),
        Case("page of another kind", page("data page", field(1, 3)), (EDGES, "no number of values")),
        Case(
            "page of no kind, of 2 GiB",
            page("data page", lambda h: h.update({1: (I32, 77), 3: (I32, 2**31 - 1)})),
            (PAGE,),
        ),
        Case("header without end", raw_page(b"\x15"), (EDGES, "page")),
        Case("header of noise", raw_page(b"\xff" * 30), (EDGES, "the header of a page")),
        Case(
            "header of a string of 2 GiB",
            raw_page(b"\x98" + surgery.varint(2**31 - 1)),
            (EDGES, "string of 2,147,483,647"),
        ),
        Case("header of a string of -1", raw_page(b"\x98" + surgery.varint(2**32 - 1)), (EDGES, "negative length")),
        Case("header of a list of 2 GiB", raw_page(b"\x99\xf5" + surgery.varint(2**31 - 1)), (EDGES, "list of")),
        Case("header nested deeply", raw_page(b"\x9c" + b"\x1c" * 100_000), (EDGES, "nested too deeply")),
        Case("header of lists nested deeply", raw_page(b"\x99" + b"\x19" * 100_000), (EDGES, "nested too deeply")),
        Case("header that says it twice", raw_page(b"\x15\x00\x05\x02\x00\x00"), (EDGES, "field 1 twice")),
        Case("no number of values", raw_page(b""), (EDGES, "page")),
    ]
)

FOOTERS = [
    Case(f"codec {codec}", chunk(surgery.CODEC, codec, I32), (EDGES, "row group 0, column 'src'", "a codec"))
    for codec in (8, 99, -1, 2**31 - 1)
] + [
    Case("codec LZO", chunk(surgery.CODEC, 3, I32), (EDGES, "'src'", "LZO")),
    Case("codec of 64 bits", chunk(surgery.CODEC, 2**32, I32), (EDGES, NO_PARQUET, "more than 32 bits")),
    Case("codec of another kind", chunk(surgery.CODEC, 1, I64), (EDGES, NO_PARQUET, "i64 where i32")),
    Case(
        "page beyond the file",
        chunk(surgery.DATA_OFFSET, 1 << 40),
        (EDGES, "'src'", "a beginning in", "1,099,511,627,776"),
    ),
    Case("page before the file", chunk(surgery.DATA_OFFSET, -1), (EDGES, "'src'", "a beginning in", "-1")),
    Case("page in the footer", footer(lambda f: surgery.chunks_of(f)[0].update({9: (I64, 600)})), (EDGES,)),
    Case("column of 2**63 - 1 bytes", chunk(surgery.NBYTES, 2**63 - 1), (EDGES, "'src'", "bytes of a column")),
    Case("column of negative bytes", chunk(surgery.NBYTES, -4), (EDGES, "'src'", "bytes of a column", "-4")),
    Case("column of no bytes", chunk(surgery.NBYTES, 0), (EDGES,)),
    Case("column of 2**64 bytes", chunk(surgery.NBYTES, 2**64), (EDGES, NO_PARQUET, "more than 64 bits")),
    Case("uncompressed bytes negative", chunk(6, -4), (EDGES, "'src'")),
    Case("column of more values", chunk(surgery.NUM_VALUES, 10**9), (EDGES, "a value for each row", "1,000,000,000")),
    Case("column of fewer values", chunk(surgery.NUM_VALUES, 24), (EDGES, "a value for each row", "24")),
    Case(
        "columns that share their bytes",
        footer(lambda f: [c.update({7: (I64, 700), 9: (I64, 4)}) for c in surgery.chunks_of(f)]),
        (EDGES, "columns in"),
    ),
    Case(
        "rows of 2**40",
        footer(lambda f: [f.update({3: (I64, 2**40)}), surgery.groups_of(f)[0].update({3: (I64, 2**40)})]),
        (EDGES, "a value for each row"),
    ),
    Case(
        "a column more",
        footer(lambda f: surgery.groups_of(f)[0][1][1][1].append(surgery.groups_of(f)[0][1][1][1][0])),
        (EDGES, "3 columns"),
    ),
    Case("no column in a group", footer(lambda f: surgery.groups_of(f)[0][1][1][1].clear()), (EDGES, "0 columns")),
    Case(
        "a column without metadata",
        footer(lambda f: surgery.groups_of(f)[0][1][1][1][0].pop(3)),
        (EDGES, "without metadata"),
    ),
    Case(
        "an encrypted column",
        footer(lambda f: surgery.groups_of(f)[0][1][1][1][0].update({8: (STRUCT, {1: (STRUCT, {})})})),
        (EDGES, "encrypted"),
    ),
    Case("encrypted columns", footer(lambda f: f.update({8: (STRUCT, {1: (STRUCT, {})})})), (EDGES, "encrypted")),
    Case("no schema", footer(lambda f: f.pop(2)), (EDGES, "before the schema")),
    Case("nothing but an end", raw_footer(b"\0"), (EDGES, "no schema")),
    Case("schema of a million", raw_footer(a_list(2, 10**6, bytes(1000))), (EDGES, "list of 1,000,000")),
    Case("schema of 2**31 - 1", raw_footer(a_list(2, 2**31 - 1, bytes(1000))), (EDGES, "list of 2,147,483,647")),
    Case(
        "schema of a million that are nothing", raw_footer(a_list(2, 10**6, bytes(10**6))), (EDGES, "list of 1,000,000")
    ),
    Case("schema of 10,000 levels", schema(*[GROUP] * 10_000), (EDGES, "nested too deeply")),
    Case("schema of two roots", schema(NUMBER, NUMBER, NUMBER), (EDGES, NO_PARQUET, "several roots")),
    Case(
        "schema that lacks elements", schema({**ROOT, 5: (I32, 2**31 - 1)}, NUMBER, NUMBER), (EDGES, "too few elements")
    ),
    Case("schema of negative children", schema({**ROOT, 5: (I32, -1)}, NUMBER), (EDGES, "-1 children")),
    Case("physical type 8", schema(ROOT, NUMBER, {**NUMBER, 1: (I32, 8)}), (EDGES, "physical type 8")),
    Case(
        "values of no width",
        schema(ROOT, NUMBER, {1: (I32, 7), 2: (I32, 0), 3: (I32, 0), 4: (BINARY, b"d")}),
        (EDGES, "0 bytes"),
    ),
    Case("footer nested deeply", raw_footer(b"\x1c" * 100_000), (EDGES, "nested too deeply")),
    Case(
        "footer cut short",
        change(EDGES, lambda c: surgery.join_bytes(surgery.split(c)[0], c[-200:-100])),
        (EDGES, NO_PARQUET),
    ),
    Case(
        "keys and values of a million",
        footer(lambda f: f.update({5: (LIST, (STRUCT, [{}] * 10**6))})),
        (EDGES, NO_PARQUET),
    ),
]


@cases([*PAGES, *FOOTERS])
def test_a_claim_that_cannot_be_is_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    case.damage(graph)
    expect_refusal(server, graph, case)


def claiming(path: Path, columns: dict[str, Any], kind: str, codec: str) -> None:
    """Write a file whose first page claims 2 GiB."""
    parquet.write_table(pa.table(columns), path, compression=codec, **WAYS[kind])
    path.write_bytes(surgery.change_page(path.read_bytes(), field(2, 2 * GIB - 1)))


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("codec", ["brotli", "zstd"])
def test_edge_lists_go_through_the_same_door(kind: str, codec: str, tmp_path: Path, server: Server) -> None:
    names = [f"node {i}" for i in range(20)]
    claiming(tmp_path / "e.parquet", {"src": names, "dst": names}, kind, codec)
    found = server.run("chunk", tmp_path / "out", "--edges", tmp_path / "e.parquet", "--map-ids", "--quiet")
    judge(found, Case("", print, ("e.parquet", "row group 0, column 'src'", PAGE)))


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("codec", ["brotli", "zstd"])
def test_owners_go_through_the_same_door(kind: str, codec: str, tmp_path: Path, server: Server) -> None:
    graph, owners = write_graph(tmp_path / "in", "parquet"), tmp_path / "owners"
    owners.mkdir()
    claiming(owners / "n.parquet", {"owner": [0, 1] * (NUM_NODES // 2)}, kind, codec)
    found = server.run("dispatch", graph, owners, tmp_path / "out", "--num-parts", "2", "--quiet")
    judge(found, Case("", print, ("n.parquet", "row group 0, column 'owner'", PAGE)))


NAMES = [f"node {i}" for i in range(20)]
TEXT = "".join(NAMES).encode()
SHARED, OWN = [0] * len(NAMES), [len(name) for name in NAMES]
BY_LENGTH, BY_BEGINNING = "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"


def second(numbers: list[int], value: int) -> list[int]:
    """Numbers of which the second is another."""
    return [numbers[0], value, *numbers[2:]]


LENGTHS: list[tuple[str, str, bytes, tuple[str, ...]]] = [
    (f"{what}, {encoding}", encoding, front + surgery.packed(OWN, **claim) + TEXT, words)
    for encoding, front in ((BY_LENGTH, b""), (BY_BEGINNING, surgery.packed(SHARED)))
    for what, claim, words in (
        ("2**31 - 1 lengths", {"total": 2**31 - 1}, ("2,147,483,647 values where there are at most 20",)),
        ("2**32 - 1 lengths", {"total": 2**32 - 1}, ("4,294,967,295 values",)),
        ("2**32 lengths", {"total": 2**32}, ("more than 32 bits",)),
        ("a length more", {"total": 21}, ("21 values where there are at most 20",)),
        ("blocks of nothing", {"block": 0}, ("blocks of 0",)),
        ("blocks of 100", {"block": 100}, ("blocks of 100",)),
        ("blocks of 2**31", {"block": 2**31}, ("blocks of 2,147,483,648",)),
        ("blocks of no parts", {"parts": 0}, ("in 0 parts",)),
        ("blocks of 3 parts", {"parts": 3}, ("in 3 parts",)),
        ("blocks of 2**27 parts", {"block": 2**32 - 128, "parts": 2**27 - 4}, ("in 134,217,724 parts",)),
    )
] + [
    (what, BY_BEGINNING, values, words)
    for what, values, words in (
        ("2**31 - 1 beginnings", surgery.packed(SHARED, total=2**31 - 1), ("2,147,483,647 values",)),
        ("nothing behind beginnings", surgery.packed(SHARED), ("number without end",)),
        ("half the beginnings", surgery.packed(SHARED)[:70], ("lengths without end",)),
        ("no widths", surgery.packed(SHARED)[:7], ("lengths without end",)),
        ("a width of 33 bits", surgery.packed(SHARED, width=33) + bytes(300), ("33 bits",)),
        ("fewer beginnings", surgery.packed(SHARED[:19]) + surgery.packed(OWN) + TEXT, ("20 strings, and 19",)),
        (
            "a beginning of 2 GiB",
            surgery.packed(second(SHARED, 2**31 - 1)) + surgery.packed(OWN) + TEXT,
            ("string 1", "2,147,483,647"),
        ),
        ("a beginning longer than the string", surgery.packed(second(SHARED, 7)) + surgery.packed(OWN), ("string 1",)),
        ("a beginning of the first", surgery.packed([1, *SHARED[1:]]) + surgery.packed(OWN) + TEXT, ("string 0",)),
        ("a negative beginning", surgery.packed(second(SHARED, -1)) + surgery.packed(OWN) + TEXT, ("string 1",)),
        ("a negative length", surgery.packed(SHARED) + surgery.packed(second(OWN, -2)) + TEXT, ("string 1",)),
        ("a string of 2 GiB", surgery.packed(SHARED) + surgery.packed(second(OWN, 2**31 - 1)) + TEXT, ("strings of",)),
        ("text cut short", surgery.packed(SHARED) + surgery.packed(OWN) + TEXT[:-1], ("strings of", "in 129")),
        (
            "beginnings that add up",
            surgery.packed([0, *[1 << 23] * 19]) + surgery.packed([1 << 23, *[1] * 19]) + bytes((1 << 23) + 19),
            ("strings of 167,772,179 bytes",),
        ),
    )
]


@pytest.mark.parametrize(("codec", "version"), [("snappy", "1.0"), ("gzip", "2.0")])
@pytest.mark.parametrize(
    ("claim", "word"),
    [
        ({"block": 2**32 - 128, "parts": 2**27 - 4}, "in 134,217,724 parts"),
        ({"total": 26}, "26 values where there are at most 25"),
        ({"parts": 0}, "in 0 parts"),
    ],
)
def test_packed_numbers_that_cannot_be_are_one_error(
    claim: dict[str, int], word: str, codec: str, version: str, tmp_path: Path, server: Server
) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    edges(GOOD)(graph)
    table = parquet.read_table(graph / EDGES)
    how: dict[str, Any] = {"column_encoding": dict.fromkeys(("src", "dst"), "DELTA_BINARY_PACKED")}
    parquet.write_table(table, graph / EDGES, compression=codec, data_page_version=version, use_dictionary=False, **how)
    values = surgery.packed([0] * 25, **claim)
    (graph / EDGES).write_bytes(surgery.with_values((graph / EDGES).read_bytes(), values, codec))
    expect_refusal(server, graph, Case("", print, (EDGES, "row group 0, column 'src'", "as differences", word)))


def write_lengths(path: Path, encoding: str, values: bytes, codec: str, version: str) -> None:
    """Write an edge list whose column of sources has one page of these bytes."""
    how: dict[str, Any] = {"column_encoding": dict.fromkeys(("src", "dst"), encoding), "use_dictionary": False}
    parquet.write_table(
        pa.table({"src": NAMES, "dst": NAMES}), path, compression=codec, data_page_version=version, **how
    )
    path.write_bytes(surgery.with_values(path.read_bytes(), values, codec))


@pytest.mark.parametrize(("encoding", "values", "words"), [pytest.param(*case[1:], id=case[0]) for case in LENGTHS])
@pytest.mark.parametrize(("codec", "version"), [("none", "1.0"), ("zstd", "2.0")])
def test_lengths_that_cannot_be_are_one_error(
    encoding: str, values: bytes, words: tuple[str, ...], codec: str, version: str, tmp_path: Path, server: Server
) -> None:
    write_lengths(tmp_path / "e.parquet", encoding, values, codec, version)
    found = server.run("chunk", tmp_path / "out", "--edges", tmp_path / "e.parquet", "--map-ids", "--quiet")
    judge(found, Case("", print, ("e.parquet", "row group 0, column 'src'", "as differences", *words)))


def test_maps_of_ids_go_through_the_same_door(tmp_path: Path) -> None:
    names = np.array([f"node {i}" for i in range(20)])
    np.savez(tmp_path / "e.npz", src=names, dst=names)
    dgp.chunk_edge_lists(tmp_path / "out", {"n:e:n": str(tmp_path / "e.npz")}, map_ids=True)
    path = next((tmp_path / "out" / "id_map").iterdir())
    path.write_bytes(surgery.change_page(path.read_bytes(), field(2, 2 * GIB - 1)))
    with pytest.raises(InputFileError, match=PAGE):
        dgp.read_id_map(tmp_path / "out", "n").compute(scheduler="sync")
