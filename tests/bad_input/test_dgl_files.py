"""Files of partitions that are damaged: graph files, tensor files, original IDs."""

from __future__ import annotations

import os
import shutil
import struct
from typing import TYPE_CHECKING, Any

import corruptions
import numpy as np
import pytest
from bad_input.judge import RANDOM, cases, change, expect_one_error, instead, read_all, run, write_graph

from daskgraphpart import GraphPartError
from daskgraphpart.layouts.dgl_graph import read_graph_file, read_tensor_file

if TYPE_CHECKING:
    from pathlib import Path

    from bad_input.judge import Damage

GRAPH, FEATS, NIDS = "part1/graph.dgl", "part1/node_feat.dgl", "part0/orig_nids.dgl"
ARRAY = struct.pack("<Q", 0xDD5E40F096B4A13F)


@pytest.fixture(scope="module")
def partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("partitions")
    graph = write_graph(directory / "in")
    assert run("partition", graph, directory / "out", *RANDOM, "--graph-formats", "coo,csr,csc")[0] == 0
    return directory / "out"


def put(name: str, offset: int, form: str, *values: int, after: bytes = b"") -> Damage:
    """Write numbers at an offset, counted from the first place of `after`."""

    def how(content: bytes) -> bytes:
        at = offset + (content.index(after) if after else 0)
        new = struct.pack("<" + form, *values)
        return content[:at] + new + content[at + len(new) :]

    return change(name, how)


def in_array(name: str, key: bytes, offset: int, form: str, *values: int) -> Damage:
    """The same, counted from the header of the array of that name."""
    return put(name, len(key) + offset, form, *values, after=key + ARRAY)


def in_region(kind: str, key: str, row: int, value: int) -> Damage:
    """Change an element of the graph."""

    def damage(out: Path) -> None:
        graph = read_graph_file(out / GRAPH)
        regions = {"node": graph.node_arrays, "edge": graph.edge_arrays, **graph.formats}[kind]
        regions[key].write(np.array([value]), row)

    return damage


def in_csc(key: str, row: int, value: int) -> Damage:
    """Change an element of the only matrix that is left, which is then looked at."""

    def damage(out: Path) -> None:
        def keep_csc(arrays: dict[str, np.ndarray]) -> None:
            for name in [name for name in arrays if name.startswith(("coo/", "csr/"))]:
                del arrays[name]

        corruptions.Damaged(out).graph(1, keep_csc)
        in_region("csc", key, row, value)(out)

    return damage


def renamed(length: int, rest: bytes) -> Damage:
    """A tensor file whose first name has that length."""
    return change(FEATS, lambda content: content[:24] + struct.pack("<Q", length) + rest)


FILES = [
    *((name, damage, ("part1/graph.dgl", *words)) for name, damage, words in (
        ("empty", change(GRAPH, lambda _: b""), ("truncated",)),
        ("a file of /proc", instead(GRAPH, lambda path: path.symlink_to("/proc/version")), ("truncated",)),
        ("metadata alone", change(GRAPH, lambda c: c[:4096]), ("truncated",)),
        ("half", change(GRAPH, lambda c: c[: len(c) // 2]), ("outside the file",)),
        ("one byte short", change(GRAPH, lambda c: c[:-1]), ("truncated",)),
        ("noise", change(GRAPH, lambda c: os.urandom(len(c))), ("not a graph file",)),
        ("a tensor file", lambda out: shutil.copy(out / FEATS, out / GRAPH), ("not a graph file",)),
        ("other byte order", change(GRAPH, lambda c: c[:8][::-1] + c[8:]), ("little-endian",)),
        ("version 1", put(GRAPH, 8, "Q", 1), ("version 1",)),
        ("two graphs", put(GRAPH, 24, "Q", 2), ("2 graphs",)),
        ("2**60 graphs", put(GRAPH, 24, "Q", 2**60), ("graphs",)),
        ("begins nowhere", put(GRAPH, 4096, "Q", 2**63), ("offset outside the file",)),
        ("begins at 0", put(GRAPH, 4096, "Q", 0), ("not a graph of DGL",)),
        ("begins at the end", change(GRAPH, lambda c: c[:4096] + struct.pack("<Q", len(c)) + c[4104:]), ("truncated",)),
        ("node ID missing", change(GRAPH, lambda c: c.replace(b"_ID" + ARRAY, b"_IE" + ARRAY, 1)), ("'_ID'",)),
        ("own edges missing", change(GRAPH, lambda c: c.replace(b"inner_edge", b"inner_edgf")), ("'inner_edge'",)),
        ("names not UTF-8", change(GRAPH, lambda c: c.replace(b"inner_edge", b"\xff\xfe" * 5)), ("not UTF-8",)),
        ("IDs as floats", in_array(GRAPH, b"_ID", 28, "B", 2), ("'_ID'", "float64")),
        ("IDs of 128 bits", in_array(GRAPH, b"_ID", 29, "B", 128), ("dtype",)),
        ("IDs as complex64", in_array(GRAPH, b"_ID", 28, "BB", 5, 64), ("type code 5 with 64 bits",)),
        ("several lanes", in_array(GRAPH, b"_ID", 30, "H", 2), ("2 lanes",)),
        ("on a GPU", in_array(GRAPH, b"_ID", 16, "i", 2), ("device 2",)),
        ("10**9 axes", in_array(GRAPH, b"_ID", 24, "i", 10**9), ("1000000000 axes",)),
        ("no axes", in_array(GRAPH, b"_ID", 24, "i", 0), ("0 axes",)),
        ("negative length", in_array(GRAPH, b"_ID", 32, "q", -1), ("invalid shape",)),
        ("2**61 rows of 8 bytes: 0 modulo 2**64", in_array(GRAPH, b"_ID", 32, "qq", 2**61, 0), ("invalid shape",)),
        ("2**50 rows", in_array(GRAPH, b"_ID", 32, "qq", 2**50, 2**53), ("truncated inside an array",)),
        ("another size", in_array(GRAPH, b"_ID", 40, "q", 8), ("size of an array",)),
        ("damaged index", change(GRAPH, lambda c: c[:-24] + struct.pack("<Q", 2**40) + c[-16:]), ("index at the end",)),
        ("source too large", in_region("coo", "row", 3, 10**6), ("local edge 3", "found 1000000")),
        ("destination negative", in_region("coo", "col", 0, -1), ("local edge 0", "found -1")),
        ("node ID too large", in_region("node", "_ID", 0, 10**6), ("no part", "found 1000000")),
        ("node ID negative", in_region("node", "_ID", 0, -1), ("no part", "found -1")),
        ("edge ID too large", in_region("edge", "_ID", 0, 10**6), ("no part", "found 1000000")),
        ("rows that go back", in_csc("indptr", 2, 10**6), ("row starts", "indptr")),
        ("rows that begin late", in_csc("indptr", 0, 1), ("indptr[0]",)),
        ("column too large", in_csc("indices", 0, 99), ("found 99",)),
        ("an edge ID twice", in_csc("data", 0, 1), ("lacks an edge",)),
    )),
    *((name, damage, (FEATS, *words)) for name, damage, words in (
        ("features empty", change(FEATS, lambda _: b""), ("truncated",)),
        ("half a header", change(FEATS, lambda c: c[:20]), ("truncated",)),
        ("features one byte short", change(FEATS, lambda c: c[:-1]), ("truncated",)),
        ("a graph file", lambda out: shutil.copy(out / GRAPH, out / FEATS), ("not a tensor file",)),
        ("2**60 entries: 0 modulo 2**64 bytes", put(FEATS, 16, "Q", 2**60), ("invalid number of arrays",)),
        ("one entry more", put(FEATS, 16, "Q", 2), ()),
        ("name of 2**63 bytes", put(FEATS, 24, "Q", 2**63), ("invalid number of characters",)),
        ("name of a megabyte", renamed(1 << 20, bytes(1 << 21)), ("invalid",)),
        ("rows missing", in_array(FEATS, b"n/x", 32, "qqq", 1, 3, 12), ("n/x", "rows", "shape (1, 3)")),
        ("no axis", in_array(FEATS, b"n/x", 24, "i", 0), ()),
        ("two slashes", change(FEATS, lambda c: c.replace(b"n/x", b"n//")), ("more than one '/'",)),
        ("half as wide", in_array(FEATS, b"n/x", 29, "B", 16), ("size of an array",)),
    )),
    ("original IDs empty", change(NIDS, lambda _: b""), (NIDS, "truncated")),
    ("original IDs missing", in_array(NIDS, b"n", 32, "qq", 1, 8), (NIDS, "integer", "shape (1,)")),
    ("original IDs as floats", in_array(NIDS, b"n", 28, "B", 2), (NIDS, "integer", "float64")),
]  # fmt: skip


@cases(FILES)
def test_a_damaged_file_of_a_part_is_one_error(
    damage: Any, words: tuple[str, ...], partitions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(partitions, out)
    damage(out)
    expect_one_error(*read_all(out), words)


@pytest.mark.parametrize("name", [GRAPH, FEATS])
def test_no_flipped_byte_of_a_header_does_harm(name: str, partitions: Path, tmp_path: Path) -> None:
    """Every third byte outside of elements: an error of ours, or arrays that lie inside the file."""
    content = (partitions / name).read_bytes()
    read = read_graph_file if name == GRAPH else read_tensor_file
    payload = np.zeros(len(content), bool)
    regions = read(partitions / name)
    arrays = [*regions.node_arrays.values(), *regions.edge_arrays.values()] if name == GRAPH else regions.values()
    for region in [*arrays, *(r for f in getattr(regions, "formats", {}).values() for r in f.values())]:
        payload[region.offset : region.offset + region.nbytes] = True
    if name == GRAPH:
        payload[32:4096] = True  # ignored by DGL as well
    path = tmp_path / "flipped.dgl"
    refused, is_named, flipped = 0, True, np.flatnonzero(~payload)[::3].tolist()
    for number, offset in enumerate(flipped):
        changed = bytes([content[offset] ^ (1, 0x80, 0xFF)[number % 3]])
        path.write_bytes(content[:offset] + changed + content[offset + 1 :])
        try:
            found = read(path)
            if name == GRAPH:
                found.ends(0, found.num_edges)
        except GraphPartError as error:
            refused += 1
            is_named &= str(path) in str(error)
    assert is_named
    assert refused > 0.6 * len(flipped), "most are noticed"
