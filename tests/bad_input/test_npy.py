"""npy files of edges and features that are not what they should be."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from bad_input.judge import Case, Server, cases, expect_refusal, write_graph

from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

EDGES, ROWS = "edges/0-0.npy", "node_data/0-0-1.npy"
OLD_SYNTAX = b"{'descr': '<i8', 'fortran_order': False, 'shape': (25L, 2), }"  # its kind was found by fuzzing


class Trap:
    """Makes a file when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def save(name: str, array: Any) -> Callable[[Path], object]:
    return lambda graph: np.save(graph / name, array, allow_pickle=True)


def raw(
    name: str, header: bytes, version: tuple[int, int] = (1, 0), body: bytes = bytes(400)
) -> Callable[[Path], object]:
    """A header as somebody wrote it."""
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header) + 1)
    return lambda graph: (graph / name).write_bytes(b"\x93NUMPY" + bytes(version) + length + header + b"\n" + body)


def shaped(name: str, shape: str, descr: str = "<i8") -> Callable[[Path], object]:
    return raw(name, f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode())


def change(name: str, how: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda graph: (graph / name).write_bytes(how((graph / name).read_bytes()))


def version_7(content: bytes) -> bytes:
    """The longer header of versions 2 and 3, under a number that does not exist; found by fuzzing."""
    return content[:6] + b"\x07\x00" + content[8:10] + b"\0\0" + content[10:]


def as_npz(_: bytes) -> bytes:
    file = io.BytesIO()
    np.savez(file, np.zeros((25, 2), int))
    return file.getvalue()


def with_id(row: int, value: float, dtype: str = "i8") -> np.ndarray:
    edges = np.zeros((25, 2), dtype)
    edges[row, 1] = value
    return edges


VALUES = [
    Case("ID too large", save(EDGES, with_id(7, 20)), (EDGES, "row 7", "[0, 20)", "found 20")),
    Case("ID negative", save(EDGES, with_id(24, -1)), (EDGES, "row 24", "found -1")),
    Case("ID that is 0 modulo 2**32", save(EDGES, with_id(3, 2**32)), (EDGES, "row 3", "found 4,294,967,296")),
    Case("smallest ID", save(EDGES, with_id(3, -(2**63))), (EDGES, "row 3", "out of range")),
    Case("int8 negative", save(EDGES, with_id(3, -1, "i1")), (EDGES, "row 3", "found -1")),
    Case("uint8 255", save(EDGES, with_id(3, 255, "u1")), (EDGES, "row 3", "found 255")),
    Case("big-endian", save(EDGES, with_id(3, 20, ">i4")), (EDGES, "row 3", "found 20")),
    Case("Fortran order", save(EDGES, np.asfortranarray(with_id(3, 20))), (EDGES, "row 3", "found 20")),
]

DTYPES = [
    Case(f"edges of {name}", save(EDGES, np.zeros((25, 2), dtype)), (EDGES, word))
    for name, dtype, word in (
        ("float64", "f8", "not integers"),
        ("float16", "f2", "not integers"),
        ("bool", "?", "not integers"),
        ("uint64", "u8", "not integers"),
        ("complex", "c16", "not integers"),
        ("strings", "U3", "plain numbers"),
        ("bytes", "S3", "plain numbers"),
        ("times", "M8[s]", "plain numbers"),
        ("durations", "m8[s]", "plain numbers"),
        ("records", [("src", "i8"), ("dst", "i8")], "not a readable npy file"),
        ("objects", object, "never loaded"),
    )
]

SHAPES = [
    Case("NaN", save(EDGES, np.full((25, 2), np.nan)), (EDGES, "not integers", "float64")),
    Case("three columns", save(EDGES, np.zeros((25, 3), int)), (EDGES, "shape (edges, 2)", "(25, 3)")),
    Case("two rows", save(EDGES, np.zeros((2, 25), int)), (EDGES, "shape (edges, 2)", "(2, 25)")),
    Case("one axis", save(EDGES, np.zeros(50, int)), (EDGES, "shape (edges, 2)")),
    Case("three axes", save(EDGES, np.zeros((25, 2, 1), int)), (EDGES, "shape (edges, 2)")),
    Case("a scalar", save(EDGES, np.int64(3)), (EDGES, "0-dimensional")),
    Case("no rows", save(EDGES, np.zeros((0, 2), int)), ("edges.n:e:n", "expected 50 rows", "found 25")),
    Case("one row more", save(EDGES, np.zeros((26, 2), int)), ("edges.n:e:n", "found 51")),
    Case("features of one row less", save(ROWS, np.zeros((9, 3), "f4")), ("node_data.n.x", "found 19")),
    Case("features of another width", save(ROWS, np.zeros((10, 2), "f4")), (ROWS, "(3,)", "(2,)")),
    Case("features of another dtype", save(ROWS, np.zeros((10, 3), "f8")), (ROWS, "float32", "found float64")),
    Case("features of more axes", save(ROWS, np.zeros((10, 3, 1), "f4")), (ROWS, "(3, 1)")),
    Case("features that are ragged", save(ROWS, np.array([[1], [1, 2]] * 5, object)), (ROWS, "plain numbers")),
    Case("complex features", save(ROWS, np.zeros((10, 3), "c8")), (ROWS, "complex64")),
    Case("long doubles", save(ROWS, np.zeros((10, 3), np.longdouble)), (ROWS,)),
]

BYTES = [
    Case("empty", change(EDGES, lambda _: b""), (EDGES, "not a readable npy file")),
    Case("magic alone", change(EDGES, lambda c: c[:6]), (EDGES, "not a readable npy file")),
    Case("half a header", change(EDGES, lambda c: c[:50]), (EDGES, "not a readable npy file")),
    Case("header alone", change(EDGES, lambda c: c[:128]), (EDGES, "truncated", "528 bytes", "128 bytes")),
    Case("one byte short", change(EDGES, lambda c: c[:-1]), (EDGES, "truncated")),
    Case("features one byte short", change(ROWS, lambda c: c[:-1]), (ROWS, "truncated")),
    Case("another magic", change(EDGES, lambda c: b"\x94" + c[1:]), (EDGES, "not a readable npy file")),
    Case("version 9", change(EDGES, lambda c: c[:6] + b"\x09\x00" + c[8:]), (EDGES, "not a readable npy file")),
    Case("version 0", change(EDGES, lambda c: c[:6] + b"\x00\x00" + c[8:]), (EDGES, "not a readable npy file")),
    Case("version 7, otherwise sound", change(EDGES, lambda c: version_7(c)), (EDGES, "unknown version 7.0")),
    Case("version 3 with a header that only older ones may have", raw(EDGES, OLD_SYNTAX, (3, 0)), (EDGES, "npy file")),
    Case(
        "version 3 that is not UTF-8",
        raw(EDGES, OLD_SYNTAX.replace(b"25L", b"25") + b"#\xff", (3, 0)),
        (EDGES, "npy file"),
    ),
    Case("header of 4 GB", change(EDGES, lambda c: c[:6] + b"\x02\x00\xff\xff\xff\xff" + c[10:]), (EDGES, "npy")),
    Case("gzip", change(EDGES, gzip.compress), (EDGES, "not a readable npy file")),
    Case("npz", change(EDGES, as_npz), (EDGES, "not a readable npy file")),
    Case("text", change(EDGES, lambda _: b"0 1\n" * 25), (EDGES, "not a readable npy file")),
    Case("a pickle", change(EDGES, lambda _: pickle.dumps(Trap())), (EDGES, "not a readable npy file")),
    Case("a pickle inside", save(ROWS, np.array([Trap()] * 10, object)), (ROWS, "plain numbers", "never loaded")),
]

HEADERS = [
    Case("2**70 rows", shaped(EDGES, f"({2**70}, 2)"), (EDGES, "impossible shape")),
    Case("2**61 rows", shaped(EDGES, f"({2**61}, 2)"), (EDGES, "impossible shape")),
    Case("2**40 rows", shaped(EDGES, f"({2**40}, 2)"), (EDGES, "truncated")),
    Case("negative rows", shaped(EDGES, "(-25, 2)"), (EDGES, "not a readable npy file")),
    Case("a product of 0 modulo 2**64", shaped(ROWS, f"({2**32}, {2**32})", "<f4"), (ROWS, "impossible shape")),
    Case("rows too wide, but none", shaped(ROWS, f"(0, {2**40}, {2**40})", "<f4"), (ROWS, "impossible shape")),
    Case("2**60 rows of nothing", shaped(ROWS, f"({2**60}, 0)", "<f4"), (ROWS,)),
    Case("100 axes", shaped(ROWS, "(" + "1, " * 100 + ")", "<f4"), (ROWS, "impossible shape")),
    Case("a shape of text", shaped(EDGES, "('25', '2')"), (EDGES, "not a readable npy file")),
    Case("a shape of floats", shaped(EDGES, "(25.0, 2)"), (EDGES, "not a readable npy file")),
    Case("a shape that is a number", shaped(EDGES, "50"), (EDGES, "not a readable npy file")),
    Case("an unknown dtype", shaped(EDGES, "(25, 2)", "zz"), (EDGES, "not a readable npy file")),
    Case("a dtype of 10**9 bytes", shaped(EDGES, "(25, 2)", "<i999999999"), (EDGES, "not a readable npy file")),
    Case("a dtype of objects", shaped(ROWS, "(10, 3)", "|O"), (ROWS, "plain numbers", "never loaded")),
    Case("a dtype of rows", raw(ROWS, b"{'descr': ('<f4', (3,)), 'fortran_order': False, 'shape': (10,), }"), (ROWS,)),
    Case("no braces", raw(EDGES, b"'descr'"), (EDGES, "not a readable npy file")),
    Case("a missing key", raw(EDGES, b"{'descr': '<i8', 'shape': (25, 2), }"), (EDGES, "not a readable npy file")),
    Case(
        "a call",
        raw(EDGES, b"{'descr': '<i8', 'fortran_order': __import__('os').mkdir('called'), 'shape': (25, 2), }"),
        (EDGES, "not a readable npy file"),
    ),
    Case("parentheses", raw(EDGES, b"(" * 9000), (EDGES, "not a readable npy file")),
    Case("signs", raw(EDGES, b"-" * 9000 + b"1"), (EDGES, "not a readable npy file")),
    Case("brackets", raw(EDGES, b"[" * 90 + b"]" * 90), (EDGES, "not a readable npy file")),
    Case("zeros", raw(EDGES, bytes(100)), (EDGES, "not a readable npy file")),
    Case("60,000 bytes", raw(EDGES, b" " * 60_000), (EDGES, "not a readable npy file")),
    Case("version 2, 10**6 bytes", raw(EDGES, b" " * 10**6, (2, 0)), (EDGES, "not a readable npy file")),
]  # fmt: skip

FILES = [
    Case(
        "edges that are a directory",
        lambda g: ((g / EDGES).unlink(), (g / EDGES).mkdir()),
        (EDGES, "not a regular one"),
    ),
    Case("edges that are a FIFO", lambda g: ((g / EDGES).unlink(), os.mkfifo(g / EDGES)), (EDGES, "not a regular one")),
    Case("features that are a device", lambda g: ((g / ROWS).unlink(), (g / ROWS).symlink_to("/dev/zero")), (ROWS,)),
    Case(
        "features in a loop",
        lambda g: ((g / ROWS).unlink(), (g / ROWS).symlink_to("0-0-1.npy")),
        (ROWS, "not a regular one"),
    ),
    Case("the second missing, too", lambda g: ((g / EDGES).unlink(), (g / ROWS).unlink()), ("2 things", EDGES, ROWS)),
]


@cases([*VALUES, *DTYPES, *SHAPES, *BYTES, *HEADERS, *FILES])
def test_a_bad_npy_file_is_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    case.damage(graph)
    expect_refusal(server, graph, case)
    for trap in ("unpickled", "called"):
        assert not os.path.exists(trap), "code from a file was run"


def test_every_byte_but_0_is_true_and_is_stored_as_1(tmp_path: Path, server: Server) -> None:
    graph, out = write_graph(tmp_path / "in", "numpy"), tmp_path / "out"
    for name in ("node_data/0-0-0.npy", ROWS):
        np.save(graph / name, np.array([[0, 1, 2]] * 10, "u1").view(bool))
    assert server.run("partition", graph, out, "--num-parts", "1", "--quiet", "--method", "random")["code"] == 0
    assert (out / "part0" / "node_feat.dgl").read_bytes().endswith(b"\x00\x01\x01" * 20)


def test_a_header_is_read_when_python_parses_in_two_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 then fails at times; other libraries parse without asking us."""
    np.save(tmp_path / "a.npy", np.arange(3))
    read, failures = np.lib.format.read_array_header_1_0, iter([True, True, False])

    def fail_twice(file: io.BytesIO) -> object:
        found = read(file)
        if next(failures):
            raise SystemError("AST constructor recursion depth mismatch (before=60, after=50)")
        return found

    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", fail_twice)
    assert open_npy(tmp_path / "a.npy").read(0, 3).tolist() == [0, 1, 2]
