"""String and sparse IDs become dense ones in their order, and every original ID comes back."""

from __future__ import annotations

import csv
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from edge_lists import DEFAULT, chunk, chunk_edge_lists, edges_of, originals, path_of_form, write_edge_list
from graphs import file_hashes, load_real_graph
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inside import detect_resources
from keywords import spelled
from pyarrow import parquet

from daskgraphpart import read_chunked, read_id_map
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

# what UTF-8 can hold; a line of text ends at a newline, and files may not hold NUL
strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"), max_size=6)
integers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))


def lists_of_edges(ids: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    """Edges among few IDs, so that IDs repeat, or among many."""
    few = st.lists(ids, min_size=1, max_size=5).flatmap(
        lambda chosen: st.lists(st.tuples(st.sampled_from(chosen), st.sampled_from(chosen)), min_size=1, max_size=60)
    )
    return few | st.lists(st.tuples(ids, ids), min_size=1, max_size=60)


def assert_restored(out: Path, edges: Sequence[tuple[Any, Any]]) -> None:
    """New IDs follow the order of the original ones, and lead back to them."""
    known = originals(out)
    order = {node: node.encode() if isinstance(node, str) else node for edge in edges for node in edge}
    assert known == sorted(order, key=order.__getitem__)
    src, dst = edges_of(out)
    assert [(known[a], known[b]) for a, b in zip(src, dst, strict=True)] == list(edges)


@settings(max_examples=12)
@given(edges=lists_of_edges(strings))
def test_any_strings_of_parquet_are_mapped(edges: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        path = write_edge_list(root / "e.parquet", "parquet", *zip(*edges, strict=True))
        assert_restored(chunk(root / "out", path, map_ids=True), edges)


@settings(max_examples=12)
@given(edges=lists_of_edges(words), delimiter=st.sampled_from(",\t;| "))
def test_any_strings_of_quoted_text_are_mapped(edges: list[tuple[str, str]], delimiter: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        with (root / "e.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(edges)
        out = chunk(root / "out", root / "e.csv", map_ids=True, id_type="string", delimiter=delimiter, header=False)
        assert_restored(out, edges)


@settings(max_examples=12)
@given(edges=lists_of_edges(integers), form=st.sampled_from((",", " ", "parquet", "npz", "npy-fortran")))
def test_any_sparse_integers_are_mapped(edges: list[tuple[int, int]], form: str) -> None:
    assume(form != "npy-fortran" or len(edges) != 2)  # an array of (2, 2) is refused: it can be read in two ways
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        src, dst = np.array(edges, np.int64).T
        path = write_edge_list(path_of_form(root, form), form, src, dst)
        assert_restored(chunk(root / "out", path, map_ids=True), edges)


def test_a_map_of_many_groups_does_not_depend_on_memory_or_threads(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ids = rng.choice(2**40, 300_000)
    path = write_edge_list(tmp_path / "e.npz", "npz", ids[::2], ids[1::2])
    whole = chunk_edge_lists(tmp_path / "a", path, map_ids=True, memory="1GB", workers=2).parent
    assert file_hashes(whole) == file_hashes(chunk(tmp_path / "b", path, map_ids=True))
    assert parquet.read_metadata(whole / "id_map" / "_N.parquet").num_row_groups == 3
    frame = read_id_map(whole, "_N")
    assert (
        frame.loc[200_000:200_002].compute(scheduler="sync")["id"].tolist() == np.unique(ids)[200_000:200_003].tolist()
    )


def test_types_have_maps_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("zoe,10\nann,-5\n")
    (tmp_path / "c.csv").write_text("10,70\n")
    edges = {"author:writes:paper": tmp_path / "w.csv", "paper:cites:paper": tmp_path / "c.csv"}
    out = chunk(tmp_path / "out", edges, map_ids=True)
    assert originals(out, "author") == ["ann", "zoe"]
    assert originals(out, "paper") == [-5, 10, 70]
    assert read_id_map(out, "paper")["id"].dtype == np.int64
    assert [end.tolist() for end in edges_of(out, "author:writes:paper")] == [[1, 0], [1, 0]]
    assert [end.tolist() for end in edges_of(out, "paper:cites:paper")] == [[1], [2]]


@pytest.mark.parametrize(
    ("text", "id_type", "expected"),
    [
        ("10 9\n", "auto", [9, 10]),
        ("10 9\n", "string", ["10", "9"]),
        ("007 07\n", "auto", ["007", "07"]),
        ("007 07\n", "integer", [7]),
        ("a -\n", "auto", ["-", "a"]),
        ("9223372036854775808 x\n", "auto", ["9223372036854775808", "x"]),
        ("-9223372036854775808 9223372036854775807\n", "auto", [-(2**63), 2**63 - 1]),
        ('"" b\n', "auto", ["", "b"]),
        ('"a ""b""" "c d"\n', "auto", ['a "b"', "c d"]),
    ],
)
def test_ids_of_text_are_what_they_look_like(text: str, id_type: str, expected: list[Any], tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text(text)
    out = chunk(tmp_path / "out", tmp_path / "e.txt", map_ids=True, id_type=id_type, header=False, delimiter="space")
    assert originals(out) == expected


def test_strings_of_arrays_and_dictionaries_are_mapped(tmp_path: Path) -> None:
    src, dst = ["é", "b", "é"], ["a", "é", "b"]
    np.savez(tmp_path / "e.npz", src=np.array(src), dst=np.array(dst))
    table = pa.table({"s": pa.array(src).dictionary_encode(), "d": pa.array(dst, pa.large_string())})
    parquet.write_table(table, tmp_path / "e.parquet")
    for name in ("e.npz", "e.parquet"):
        out = chunk(tmp_path / "out", tmp_path / name, map_ids=True, overwrite=True)
        assert_restored(out, list(zip(src, dst, strict=True)))


def test_lists_of_nodes_add_isolated_ones(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("b,d\n")
    (tmp_path / "n.csv").write_text("name,id\nx,e\ny,a\nz,b\n")
    out = chunk(
        tmp_path / "out", tmp_path / "e.csv", map_ids=True, nodes={"_N": (tmp_path / "n.csv", "id")}, header=False
    )
    assert originals(out) == ["a", "b", "d", "e"]
    assert read_chunked(out).schema.node_types[0].num_nodes == 4


def test_nodes_without_edges_are_a_graph(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,w\n")
    (tmp_path / "n.csv").write_text("id\nb\na\n")
    out = chunk(
        tmp_path / "out", tmp_path / "e.csv", map_ids=True, nodes={"_N": tmp_path / "n.csv"}, edge_features=("w",)
    )
    assert originals(out) == ["a", "b"]
    assert read_chunked(out).edge_data[DEFAULT]["w"].shape == (0,)
    out = chunk(tmp_path / "none", tmp_path / "e.csv", map_ids=True)
    assert originals(out) == []


@pytest.mark.parametrize("form", ["numpy", "parquet"])
def test_rows_follow_the_list_of_nodes(form: str, tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(40)
    names = [f"{i:02}x" for i in order]
    (tmp_path / "e.csv").write_text("00x,39x\n05x,01x\n")
    parquet.write_table(pa.table({"id": names[:13]}), tmp_path / "n-0.parquet")
    parquet.write_table(pa.table({"id": names[13:]}), tmp_path / "n-1.parquet")
    np.save(tmp_path / "feat.npy", np.outer(order, [1, 2, 3]).astype(np.float32))
    parquet.write_table(pa.table({"label": order.astype(np.int16)}), tmp_path / "label.parquet")
    out = chunk(
        tmp_path / "out",
        tmp_path / "e.csv",
        map_ids=True,
        nodes={"_N": str(tmp_path / "n-*.parquet")},
        node_data={"_N": {"feat": tmp_path / "feat.npy", "label": tmp_path / "label.parquet"}},
        data_format=form,
    )
    data = read_chunked(out).node_data["_N"]
    expected = np.outer(np.arange(40), [1, 2, 3]).astype(np.float32)
    np.testing.assert_array_equal(data["feat"].compute(scheduler="sync"), expected, strict=True)
    np.testing.assert_array_equal(data["label"].compute(scheduler="sync"), np.arange(40, dtype=np.int16), strict=True)


@pytest.mark.parametrize("text", ["person,friend\nann,bob\ncid,dan\n", "person,friend\np1,p2\n"])
def test_a_header_of_words_never_becomes_an_edge(text: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(InputFileError, match=r"may be a header.*'person', 'friend'\. .*header=True or header=False if"):
        chunk(tmp_path / "out", tmp_path / "e.csv", map_ids=True)
    assert (
        len(edges_of(chunk(tmp_path / "out", tmp_path / "e.csv", map_ids=True, header=True))[0]) == text.count("\n") - 1
    )
    (tmp_path / "e.csv").write_text("ann,bob\nbob,cid\n")  # IDs that come back are no names of columns
    assert originals(chunk(tmp_path / "no header", tmp_path / "e.csv", map_ids=True)) == ["ann", "bob", "cid"]


def test_mapped_edges_keep_their_features(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("".join(f"n{i % 7},n{i % 5},{i}\n" for i in range(50)))
    out = chunk(tmp_path / "out", tmp_path / "e.csv", map_ids=True, edge_features=("2",))
    assert read_chunked(out).edge_data[DEFAULT]["2"].compute(scheduler="sync").tolist() == list(range(50))


def test_an_id_that_every_block_repeats_is_one_node(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("".join(f"hub,leaf{i}\n" for i in range(300)))
    out = chunk(tmp_path / "out", tmp_path / "e.csv", map_ids=True, header=False)
    assert edges_of(out)[0].tolist() == [0] * 300
    assert len(originals(out)) == 301


def test_long_ids_are_read(tmp_path: Path) -> None:
    edges = list(itertools.pairwise(letter * 300_000 for letter in "abcdef"))
    path = write_edge_list(tmp_path / "e.csv", ",", *zip(*edges, strict=True))
    assert_restored(chunk(tmp_path / "out", path, map_ids=True, header=False), edges)


@pytest.mark.real
def test_a_real_graph_of_many_types_keeps_edges_and_features(tmp_path: Path) -> None:
    graph = load_real_graph("oewn")
    rng = np.random.default_rng(0)
    names, lists, data = {}, {}, {}
    for node_type in graph.schema.node_types:
        ntype, count = node_type.name, node_type.num_nodes
        names[ntype] = np.array([f"{ntype}-{i:x}" for i in rng.permutation(count)])
        order = rng.permutation(count)  # the list of nodes is in an order of its own, and features follow it
        lists[ntype] = tmp_path / f"{ntype}.parquet"
        parquet.write_table(pa.table({"id": names[ntype][order]}), lists[ntype])
        for feature, rows in graph.node_data.get(ntype, {}).items():
            data.setdefault(ntype, {})[feature] = tmp_path / f"{ntype}-{feature}.npy"
            np.save(data[ntype][feature], rows[order])
    edges = {}
    first = dict(list(graph.edges.items())[:6])
    for number, (etype, (src, dst)) in enumerate(first.items()):
        ends = names[etype.split(":")[0]][src], names[etype.split(":")[2]][dst]
        edges[etype] = write_edge_list(tmp_path / f"{number}.tsv", "\t", *ends)
    resources = detect_resources("64MB", workers=2)
    out = chunk_edge_lists(
        tmp_path / "out", edges, map_ids=True, header=False, nodes=lists, node_data=data, **spelled(resources)
    ).parent
    known = {ntype: np.array(originals(out, ntype)) for ntype in names}
    for etype, (src, dst) in first.items():
        found = edges_of(out, etype)
        np.testing.assert_array_equal(known[etype.split(":")[0]][found[0]], names[etype.split(":")[0]][src])
        np.testing.assert_array_equal(known[etype.split(":")[2]][found[1]], names[etype.split(":")[2]][dst])
    chunked = read_chunked(out)
    for ntype, features in graph.node_data.items():
        order = np.argsort(names[ntype])
        for feature, rows in features.items():
            found = chunked.node_data[ntype][feature].compute(scheduler="sync")
            np.testing.assert_array_equal(found, rows[order], strict=True)


@pytest.mark.parametrize("content", [b"", b"PAR1"])
def test_what_is_no_map_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="--map-ids"):
        read_id_map(tmp_path, "_N")
    (tmp_path / "id_map").mkdir()
    (tmp_path / "id_map" / "_N.parquet").write_bytes(content)
    with pytest.raises(ValueError, match="not a readable parquet file"):
        read_id_map(tmp_path, "_N")
    parquet.write_table(pa.table({"id": [1]}), tmp_path / "id_map" / "_N.parquet")
    with pytest.raises(ValueError, match="not an ID map"):
        read_id_map(tmp_path, "_N")


def test_a_job_with_string_ids_does_not_import_pandas(tmp_path: Path) -> None:
    """It would take a sixth of the CPU time of a small job, and 40 MB."""
    (tmp_path / "edges.csv").write_text("ann,bob\nbob,cid\n")
    job = "import daskgraphpart as dgp, sys; dgp.partition(dgp.scan_tables('edges.csv', map_ids=True), 'parts', 2)"
    shown = "dgp.scan_tables('edges.csv', map_ids=True).write_chunked('graph'); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", f"{job}; {shown}"], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"False\n"
