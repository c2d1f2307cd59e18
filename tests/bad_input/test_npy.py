"""npy files of edges and features that are not what they should be."""

from __future__ import annotations

import os
import pickle
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from bad_input.judge import RANDOM, cases, change, refuse_graph, run, write_graph
from inside import open_npy

if TYPE_CHECKING:
    import io
    from pathlib import Path

    import pytest
    from bad_input.judge import Damage

EDGES, ROWS = "edges/0-0.npy", "node_data/0-0-1.npy"
NO_NPY = (EDGES, "not a readable npy file")
OLD_SYNTAX = b"{'descr': '<i8', 'fortran_order': False, 'shape': (25L, 2), }"  # its kind was found by fuzzing
ENDS_EARLY = b"\x93NUMPY\1\0v\0{'descr': '<i8', 'fortran_order': False, 'shape': (0, 2), }\n"  # found by fuzzing


class Trap:
    """Makes a directory when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def save(name: str, array: Any) -> Damage:
    return lambda graph: np.save(graph / name, array, allow_pickle=True)


def raw(name: str, header: bytes, version: tuple[int, int] = (1, 0)) -> Damage:
    """A header as somebody wrote it."""
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header) + 1)
    return change(name, lambda _: b"\x93NUMPY" + bytes(version) + length + header + b"\n" + bytes(400))


def shaped(name: str, shape: str, descr: str = "<i8") -> Damage:
    return raw(name, f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode())


def version_7(content: bytes) -> bytes:
    """The longer header of versions 2 and 3, under a number that does not exist; found by fuzzing."""
    return content[:6] + b"\x07\x00" + content[8:10] + b"\0\0" + content[10:]


def with_id(row: int, value: float, dtype: str = "i8") -> np.ndarray:
    edges = np.zeros((25, 2), dtype)
    edges[row, 1] = value
    return edges


VALUES = [
    ("ID too large", save(EDGES, with_id(7, 20)), (EDGES, "row 7", "[0, 20)", "found 20")),
    ("ID negative", save(EDGES, with_id(24, -1)), (EDGES, "row 24", "found -1")),
    ("ID that is 0 modulo 2**32", save(EDGES, with_id(3, 2**32)), (EDGES, "row 3", "found 4,294,967,296")),
    ("smallest ID", save(EDGES, with_id(3, -(2**63))), (EDGES, "row 3", "out of range")),
    ("int8 negative", save(EDGES, with_id(3, -1, "i1")), (EDGES, "row 3", "found -1")),
    ("uint8 255", save(EDGES, with_id(3, 255, "u1")), (EDGES, "row 3", "found 255")),
    ("big-endian", save(EDGES, with_id(3, 20, ">i4")), (EDGES, "row 3", "found 20")),
    ("Fortran order", save(EDGES, np.asfortranarray(with_id(3, 20))), (EDGES, "row 3", "found 20")),
]
DTYPES = [
    (f"edges of {dtype}", save(EDGES, np.zeros((25, 2), dtype)), (EDGES, word))
    for dtype, word in (
        ("f8", "not integers"),
        ("?", "not integers"),
        ("u8", "not integers"),
        ("c16", "not integers"),
        ("U3", "plain numbers"),
        ("M8[s]", "plain numbers"),
        ([("src", "i8"), ("dst", "i8")], "not a readable npy file"),
        (object, "never loaded"),
    )
]
SHAPES = [
    ("three columns", save(EDGES, np.zeros((25, 3), int)), (EDGES, "shape (edges, 2)", "(25, 3)")),
    ("two rows", save(EDGES, np.zeros((2, 25), int)), (EDGES, "shape (edges, 2)", "(2, 25)")),
    ("one axis", save(EDGES, np.zeros(50, int)), (EDGES, "shape (edges, 2)")),
    ("a scalar", save(EDGES, np.int64(3)), (EDGES, "0-dimensional")),
    ("no rows", save(EDGES, np.zeros((0, 2), int)), ("edges.n:e:n", "expected 50 rows", "found 25")),
    ("one row more", save(EDGES, np.zeros((26, 2), int)), ("edges.n:e:n", "found 51")),
    ("features of one row less", save(ROWS, np.zeros((9, 3), "f4")), ("node_data.n.x", "found 19")),
    ("features of another width", save(ROWS, np.zeros((10, 2), "f4")), (ROWS, "(3,)", "(2,)")),
    ("features of another dtype", save(ROWS, np.zeros((10, 3), "f8")), (ROWS, "float32", "found float64")),
    ("features of more axes", save(ROWS, np.zeros((10, 3, 1), "f4")), (ROWS, "(3, 1)")),
    ("features that are ragged", save(ROWS, np.array([[1], [1, 2]] * 5, object)), (ROWS, "plain numbers")),
    ("complex features", save(ROWS, np.zeros((10, 3), "c8")), (ROWS, "complex64")),
    ("long doubles", save(ROWS, np.zeros((10, 3), np.longdouble)), (ROWS,)),
]
BYTES = [
    ("empty", change(EDGES, lambda _: b""), NO_NPY),
    ("magic alone", change(EDGES, lambda c: c[:6]), NO_NPY),
    ("half a header", change(EDGES, lambda c: c[:50]), NO_NPY),
    ("header of no rows that ends early", change(EDGES, lambda _: ENDS_EARLY), (*NO_NPY, "the header ends early")),
    ("header alone", change(EDGES, lambda c: c[:128]), (EDGES, "truncated", "528 bytes", "128 bytes")),
    ("one byte short", change(EDGES, lambda c: c[:-1]), (EDGES, "truncated")),
    ("features one byte short", change(ROWS, lambda c: c[:-1]), (ROWS, "truncated")),
    ("version 7, otherwise sound", change(EDGES, version_7), (EDGES, "unknown version 7.0")),
    ("version 3 with a header that only older ones may have", raw(EDGES, OLD_SYNTAX, (3, 0)), NO_NPY),
    ("version 3 that is not UTF-8", raw(EDGES, OLD_SYNTAX.replace(b"25L", b"25") + b"#\xff", (3, 0)), NO_NPY),
    ("header of 4 GB", change(EDGES, lambda c: c[:6] + b"\x02\x00\xff\xff\xff\xff" + c[10:]), (EDGES, "npy")),
    ("a vertical tab, found by fuzzing", raw(EDGES, OLD_SYNTAX.replace(b"25L, ", b"25,\v")), NO_NPY),
    ("quotes in a dtype, found by fuzzing", raw(EDGES, OLD_SYNTAX.replace(b"<i8", b'""<i8')), NO_NPY),
    ("two kinds of quotes, found by fuzzing", raw(EDGES, OLD_SYNTAX.replace(b"order'", b'order"')), NO_NPY),
    ("an indent after the header", change(EDGES, lambda c: c[:120] + b"\n" + c[121:127] + b" " + c[128:]), NO_NPY),
    ("a pickle", change(EDGES, lambda _: pickle.dumps(Trap())), NO_NPY),
    ("a pickle inside", save(ROWS, np.array([Trap()] * 10, object)), (ROWS, "plain numbers", "never loaded")),
]
HEADERS = [
    ("2**70 rows", shaped(EDGES, f"({2**70}, 2)"), (EDGES, "invalid shape")),
    ("2**40 rows", shaped(EDGES, f"({2**40}, 2)"), (EDGES, "truncated")),
    ("negative rows", shaped(EDGES, "(-25, 2)"), NO_NPY),
    ("a product of 0 modulo 2**64", shaped(ROWS, f"({2**32}, {2**32})", "<f4"), (ROWS, "invalid shape")),
    ("rows too wide, but none", shaped(ROWS, f"(0, {2**40}, {2**40})", "<f4"), (ROWS, "invalid shape")),
    ("2**60 rows of nothing", shaped(ROWS, f"({2**60}, 0)", "<f4"), (ROWS,)),
    ("100 axes", shaped(ROWS, "(" + "1, " * 100 + ")", "<f4"), (ROWS, "invalid shape")),
    ("a shape of floats", shaped(EDGES, "(25.0, 2)"), NO_NPY),
    ("an unknown dtype", shaped(EDGES, "(25, 2)", "zz"), NO_NPY),
    ("a dtype of 10**9 bytes", shaped(EDGES, "(25, 2)", "<i999999999"), NO_NPY),
    ("a dtype of objects", shaped(ROWS, "(10, 3)", "|O"), (ROWS, "plain numbers", "never loaded")),
    ("a dtype of rows", raw(ROWS, b"{'descr': ('<f4', (3,)), 'fortran_order': False, 'shape': (10,), }"), (ROWS,)),
    ("a missing key", raw(EDGES, b"{'descr': '<i8', 'shape': (25, 2), }"), NO_NPY),
    ("a call", raw(EDGES, OLD_SYNTAX.replace(b"False", b"__import__('os').mkdir('called')")), NO_NPY),
    ("parentheses", raw(EDGES, b"(" * 9000), NO_NPY),
    ("signs", raw(EDGES, b"-" * 9000 + b"1"), NO_NPY),
    ("60,000 bytes", raw(EDGES, b" " * 60_000), NO_NPY),
    ("version 2, 10**6 bytes", raw(EDGES, b" " * 10**6, (2, 0)), NO_NPY),
]


@cases([*VALUES, *DTYPES, *SHAPES, *BYTES, *HEADERS])
def test_a_bad_npy_file_is_one_error(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    damage(graph)
    refuse_graph(graph, words)
    for trap in ("unpickled", "called"):
        assert not os.path.exists(trap), "code from a file was run"


def test_every_byte_but_0_is_true_and_is_stored_as_1(tmp_path: Path) -> None:
    graph, out = write_graph(tmp_path / "in", "numpy"), tmp_path / "out"
    for name in ("node_data/0-0-0.npy", ROWS):
        np.save(graph / name, np.array([[0, 1, 2]] * 10, "u1").view(bool))
    assert run("partition", graph, out, *RANDOM, "--num-parts", "1")[0] == 0
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
