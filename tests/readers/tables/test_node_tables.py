"""Tables of nodes and edges as people have them: directories, packed files, strings, times, gaps, lists of IDs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from edge_lists import DEFAULT, chunk, edges_of, originals
from graphs import file_hashes
from listeners import Listener
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import GraphPartError, read_chunked
from daskgraphpart.errors import InputFileError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = datetime(2024, 5, 1, tzinfo=UTC)
MICROSECONDS = int(DAY.timestamp()) * 1_000_000


def node_data(out: Path, ntype: str = "_N") -> dict[str, Any]:
    """Features of a node type, as lists."""
    return {name: rows.compute(scheduler="sync").tolist() for name, rows in read_chunked(out).node_data[ntype].items()}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Tables as Spark writes them: string IDs, nulls, categories, times, vectors, constants in names of directories."""
    (tmp_path / "customers").mkdir()
    (tmp_path / "customers" / "_SUCCESS").touch()
    ids, ages, segments = ["c3", "c1", "c9", "c2"], [30, None, 90, 20], ["gold", "basic", None, "basic"]
    since, halves = [DAY, None, DAY, DAY], [[0.5, 3.0], [0.5, 1.0], [0.5, 9.0], [0.5, 2.0]]
    times = pa.array(since, pa.timestamp("ms", "UTC"))
    table = {"customer_id": ids, "age": pa.array(ages, pa.int16()), "segment": segments, "since": times, "x": halves}
    for i, name in ((0, "part-9.parquet"), (2, "part-10.parquet")):
        parquet.write_table(pa.table(table).slice(i, 2), tmp_path / "customers" / name)
    for year, rows in ((2023, ["c1", "c3"]), (2024, ["c7"])):
        (tmp_path / "sales" / f"year={year}").mkdir(parents=True)
        path = tmp_path / "sales" / f"year={year}" / "part-0.parquet"
        parquet.write_table(pa.table({"customer": rows, "item": ["i1"] * len(rows), "price": [1.5] * len(rows)}), path)
    return tmp_path


BUYS = "customer:buys:item"
FEATURES = {name: "customers:" + name for name in ("age", "segment", "since", "x")}


def chunk_shop(out: Path, **options: Any) -> Path:
    how = {"edges": {BUYS: "sales:customer,item"}, "edge_features": ("price", "year"), "map_ids": True}
    node_tables = {"nodes": {"customer": "customers:customer_id"}, "node_data": {"customer": FEATURES}}
    return chunk(out, how.pop("edges"), **how, **node_tables, **options)


def test_rows_of_a_table_go_to_the_nodes_whose_ids_they_have(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    notes = Listener()
    fill = {"age": -1, "since": 0, "x": 0}
    out = chunk_shop(shop / "out", fill=fill, progress=notes)
    assert originals(out, "customer") == ["c1", "c2", "c3", "c7", "c9"]
    data = node_data(out, "customer")
    assert data["age"] == [-1, 20, 30, -1, 90]
    assert data["segment"] == [0, 0, 1, -1, -1]
    assert data["since"] == [0, MICROSECONDS, MICROSECONDS, 0, MICROSECONDS]
    assert data["x"] == [[0.5, 1.0], [0.5, 2.0], [0.5, 3.0], [0.0, 0.0], [0.5, 9.0]]
    kept = parquet.read_table(out / "categories" / "customer" / "segment.parquet")["id"]
    assert kept.to_pylist() == ["basic", "gold"]
    edge_data = read_chunked(out).edge_data[BUYS]
    assert edge_data["year"].compute(scheduler="sync").tolist() == [2023, 2023, 2024]
    text = "\n".join(notes.lines)
    assert "'customer' nodes: IDs that are not in the list: 1 (these nodes were added); " in text
    assert "listed nodes without an edge: 2 of 4" in text
    assert "column 'segment': 2 categories" in text
    assert "segment.parquet has them; 2 missing values, as -1" in text
    assert "column 'since': times" in text


def test_unknown_nodes_are_dropped_with_their_edges(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    np.save("rank.npy", np.arange(3) * 10)
    fill = 0
    out = chunk_shop(shop / "out", fill=fill, unknown_nodes="drop", edge_data={BUYS: {"rank": "rank.npy"}})
    assert originals(out, "customer") == ["c1", "c2", "c3", "c9"]
    np.testing.assert_array_equal(edges_of(out, BUYS), ([0, 2], [0, 0]))
    data = read_chunked(out).edge_data[BUYS]
    assert {name: rows.compute(scheduler="sync").tolist() for name, rows in data.items()} == {
        "price": [1.5, 1.5], "year": [2023, 2023], "rank": [0, 10]
    }  # fmt: skip


def test_a_value_that_is_missing_is_refused_unless_filled(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    with pytest.raises(ValueError, match=r"part-9.parquet, row 1, column 'age': value is missing.*fill age=VALUE"):
        chunk_shop(shop / "out", fill={"since": 0})
    assert not (shop / "out").exists()


def test_ids_that_are_not_mapped_join_rows_too(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n2,1\n")
    (tmp_path / "n.csv").write_text("weight,id\n3.5,3\n0.5,0\n2.5,2\n")
    feature = {"_N": {"w": f"{tmp_path}/n.csv:weight"}}
    out = chunk(tmp_path / "out", tmp_path / "e.csv", node_data=feature, fill={"w": "nan"})
    np.testing.assert_array_equal(node_data(out)["w"], [0.5, np.nan, 2.5, 3.5])
    feature = {"_N": {"w": f"{tmp_path}/n.csv:weight", "all": f"{tmp_path}/n.csv:id:*"}}
    out = chunk(tmp_path / "again", tmp_path / "e.csv", node_data=feature, fill=0)
    assert node_data(out) == {
        "w": [0.5, 0.0, 2.5, 3.5],
        "all": [[0.5], [0.0], [2.5], [3.5]][:0] or [0.5, 0.0, 2.5, 3.5],
    }


def test_rows_without_ids_follow_the_list_of_nodes_and_no_other_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("src,dst\nb,a\n")
    (tmp_path / "n.csv").write_text("id,x\nb,1\na,0\n")
    np.save("f.npy", np.arange(2))
    data = {"_N": {"x": "n.csv:x", "f": "f.npy"}}
    out = chunk(tmp_path / "out", "e.csv", map_ids=True, nodes={"_N": "n.csv:id"}, node_data=data)
    assert node_data(out) == {"x": [0, 1], "f": [1, 0]}
    with pytest.raises(OptionError, match="rows of _N/f have no IDs, and no list of nodes has them"):
        chunk(tmp_path / "none", "e.csv", map_ids=True, node_data=data)


def test_a_column_of_values_is_not_taken_for_the_ids_of_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,2\n2,3\n")
    (tmp_path / "alone.csv").write_text("x\n3\n1\n0\n2\n")
    (tmp_path / "last.csv").write_text("x,key\n3,0\n1,1\n0,2\n2,3\n")
    (tmp_path / "three.csv").write_text("x,key,other\n3,0,0\n1,1,1\n0,2,2\n2,3,3\n")
    for map_ids in (False, True):
        for name, what in (("alone", "no column of IDs"), ("three", "nothing says which column has the IDs")):
            read = dgp.scan_tables("e.csv", node_data={"_N": {"x": f"{name}.csv:x"}}, map_ids=map_ids)
            with pytest.raises(InputFileError, match=rf"{name}.csv: {what}.*Name it: {name}.csv:ID:x"):
                read.collect(progress=False)
        out = chunk(tmp_path / f"out{map_ids}", "e.csv", node_data={"_N": {"x": "last.csv:x"}}, map_ids=map_ids)
        assert node_data(out) == {"x": [3, 1, 0, 2]}
    with pytest.raises(InputFileError, match=r"alone.csv: no column of IDs.*alone.csv:ID:x"):
        dgp.scan_tables("e.csv", split={"_N": "alone.csv:x"}).collect(progress=False)


@pytest.mark.parametrize("unknown_nodes", ["add", "drop", "error"])
@pytest.mark.parametrize(
    ("edges", "hint"),
    [
        ("i{},u{}", "ends seem to be swapped: endpoints dst,src"),
        ("u{},i{} ", "differ by blanks"),
        ("u{},I{}", "differ by upper and lower case"),
        ("u{},x{}", "[Nn]ame the columns of IDs"),
    ],
)
def test_ends_that_no_list_of_nodes_has_are_refused_with_a_guess(
    edges: str, hint: str, unknown_nodes: str, tmp_path: Path
) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n" + "".join(edges.format(i, i) + "\n" for i in range(5)))
    (tmp_path / "items.csv").write_text("id\n" + "".join(f"i{i}\n" for i in range(5)))
    tables = dgp.scan_tables(
        {"user:buys:item": tmp_path / "e.csv"}, nodes={"item": tmp_path / "items.csv"}, map_ids=True,
        unknown_nodes=unknown_nodes,  # type: ignore[arg-type]
    )  # fmt: skip
    with pytest.raises(InputFileError, match=rf"0 of 5 IDs of 'item' nodes .*'i0', 'i1', 'i2'.*{hint}") as caught:
        tables.collect(progress=False)
    assert "--unknown-nodes" not in str(caught.value.hint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endpoints": ("user", "when")}, "column 'when': 0 of 200 IDs of 'item' nodes in user:buys:item .*"
         "'w0', 'w1', 'w10'. Column 'item' of this table seems to hold them: endpoints user,item"),
        ({"nodes": {"item": "items.csv:name"}}, "0 of 200 .* Column 'sku' of items.csv seems to hold these IDs: "
         "items.csv:sku"),
        # features and masks, beside edges and the list
        ({"node_data": {"item": {"p": "prices.csv:name:price"}}, "fill": 0}, "0 of 200 IDs of 'item' nodes in features "
         "are in .* Column 'sku' of this table seems to hold them: prices.csv:sku"),
        ({"nodes": {}, "node_data": {"item": {"q": "items.csv:sku:price", "p": "prices.csv:name:price"}}, "fill": 0},
         "0 of 200 IDs of 'item' nodes in features are in other tables.* Column 'sku' of this table"),
        ({"masks": {"item": {"m": "prices.csv:name"}}}, "200 IDs of 'item' nodes in mask 'm' are in .* Column 'sku'"),
        ({"nodes": {}, "masks": {"item": {"m": "prices.csv:name"}}}, "0 of 200 .* in other tables.* Column 'sku'"),
        ({"split": {"item": "prices.csv:name:set"}}, "0 of 200 IDs of 'item' nodes in features are .* Column 'sku'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("unknown_nodes", ["add", "drop", "error"])
def test_another_column_is_guessed_for_ids_that_no_other_table_has(
    options: dict[str, Any], message: str, unknown_nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    edges = pd.DataFrame({name: [f"{name[0]}{i}" for i in range(200)] for name in ("user", "when", "item")})
    edges.to_csv("edges.csv", index=False)
    items = pd.DataFrame({"name": [f"n{i}" for i in range(200)], "sku": edges["item"], "price": 1.5, "set": "train"})
    items.to_csv("items.csv", index=False)
    items.to_csv("prices.csv", index=False)
    tables = {"nodes": {"item": "items.csv:sku"}, "endpoints": ("user", "item"), **options}
    for given in ("edges.csv", edges):
        read = dgp.scan_tables({"user:buys:item": given}, map_ids=True, unknown_nodes=unknown_nodes, **tables)
        with pytest.raises(InputFileError, match=message) as caught:
            read.collect(progress=False)
        assert "unknown_nodes" not in str(caught.value)


def test_an_end_that_no_list_has_is_refused_though_the_other_of_its_type_is_there(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n" + "".join(f"a{i},b{i}\n" for i in range(100)))
    (tmp_path / "n.csv").write_text("id\n" + "".join(f"a{i}\n" for i in range(100)))
    read = dgp.scan_tables(tmp_path / "e.csv", nodes={"_N": tmp_path / "n.csv"}, map_ids=True)
    with pytest.raises(InputFileError, match="column 'dst': 0 of 100 IDs of '_N' nodes"):
        read.collect(progress=False)


@pytest.mark.parametrize("unknown_nodes", ["add", "drop"])
def test_a_few_ids_with_blanks_are_named_as_such(unknown_nodes: Any, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\na,i1\nb,i2 \nc,\u00a0i2\nd ,i3\n", encoding="utf-8")
    (tmp_path / "n.csv").write_text("id\ni1\ni2\ni3\n")
    listener = Listener()
    tables = dgp.scan_tables(
        {"u:r:i": tmp_path / "e.csv"}, nodes={"i": tmp_path / "n.csv"}, map_ids=True, unknown_nodes=unknown_nodes
    )
    tables.collect(progress=listener)
    listed = "'i' nodes: IDs that are not in the list: 2 of these IDs are in the list without blanks around them"
    assert f"{listed}: remove these" in listener.lines
    assert "'u' nodes: 1 IDs have blanks around them, such as 'd '" in listener.lines
    twins = "'i' nodes: 2 IDs have blanks around them, such as 'i2 '; 2 of them are nodes without the blanks, too"
    assert (f"{twins}: remove these" in listener.lines) == (unknown_nodes == "add")


def test_dropping_all_edges_of_a_type_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\nu0,i0\nu1,i1\n")
    (tmp_path / "users.csv").write_text("id\nu0\n")
    (tmp_path / "items.csv").write_text("id\ni1\n")
    nodes = {"user": tmp_path / "users.csv", "item": tmp_path / "items.csv"}
    tables = dgp.scan_tables({"user:buys:item": tmp_path / "e.csv"}, nodes=nodes, map_ids=True, unknown_nodes="drop")
    with pytest.raises(InputFileError, match="drop leaves none of the 2 edges of user:buys:item"):
        tables.collect(progress=False)


@pytest.mark.parametrize(
    ("fill", "expected"),
    [("-1", np.int16), ("7", np.uint8), ("0.5", np.float64), ("nan", np.float64), ("300", np.int32)],
)
def test_a_dtype_holds_what_fills_it(fill: str, expected: Any, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n")
    (tmp_path / "n.csv").write_text("1\n")
    np.save(tmp_path / "f.npy", np.array([200], np.uint8))
    parquet.write_table(pa.table({"id": [0, 1], "g": pa.array([None, 200], pa.uint8())}), tmp_path / "g.parquet")
    data = {"f": tmp_path / "f.npy", "g": f"{tmp_path}/g.parquet:g"}
    out = chunk(
        tmp_path / "out", tmp_path / "e.csv", nodes={"_N": tmp_path / "n.csv"}, node_data={"_N": data}, fill=fill
    )
    for rows in read_chunked(out).node_data["_N"].values():
        wanted = np.array([float(fill), 200]).astype(expected)
        np.testing.assert_array_equal(rows.compute(scheduler="sync"), wanted, strict=True)


def test_a_graph_of_ogb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges, features and splits in csv.gz without headers, as ogbn-arxiv comes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    feat = rng.random((6, 4)).astype(np.float32)
    for name, lines in (
        ("edge", ["0,1", "4,2"]),
        ("node-feat", [",".join(map(str, row)) for row in feat.tolist()]),
        ("node-label", ["3", "1", "0", "2", "2", "1"]),
        ("train", ["5", "0"]),
    ):
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    rows = {"feat": "node-feat.csv.gz", "label": "node-label.csv.gz"}
    out = chunk(
        tmp_path / "out",
        "edge.csv.gz",
        node_data={"_N": rows},
        masks={"_N": {"train_mask": "train.csv.gz"}},
        header=False,
        cast={"feat": "float32"},
    )
    data = read_chunked(out).node_data["_N"]
    np.testing.assert_array_equal(data["feat"].compute(scheduler="sync"), feat, strict=True)
    assert data["label"].compute(scheduler="sync").tolist() == [3, 1, 0, 2, 2, 1]
    assert data["train_mask"].compute(scheduler="sync").tolist() == [True, False, False, False, False, True]
    assert data["train_mask"].dtype == bool


@pytest.mark.parametrize("save", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.coo_matrix])
def test_a_sparse_matrix_is_read_as_its_elements(save: Callable[..., Any], tmp_path: Path) -> None:
    matrix = scipy.sparse.random(70, 70, 0.05, random_state=0).tolil()
    matrix[:, 69] = matrix[69] = 0
    matrix = matrix.tocoo()
    scipy.sparse.save_npz(tmp_path / "m.npz", save(matrix))
    out = chunk(tmp_path / "out", tmp_path / "m.npz", edge_features=("data",))
    found = scipy.sparse.coo_matrix((np.ones(matrix.nnz), edges_of(out)), (70, 70))
    assert (abs(found - (matrix != 0)) > 0).nnz == 0
    assert read_chunked(out).schema.node_types[0].num_nodes == 70
    scipy.sparse.save_npz(tmp_path / "b.npz", scipy.sparse.bsr_matrix(matrix))
    with pytest.raises(ValueError, match="csr_matrix"):
        chunk(tmp_path / "bsr", tmp_path / "b.npz")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, "zstd", "pipe"])
def test_packed_files_and_pipes_give_the_same_bytes(pack: Any, tmp_path: Path) -> None:
    text = "src,dst\n" + "".join(f"{i},{i * 7 % 50}\n" for i in range(50))
    (tmp_path / "e.csv").write_text(text)
    path = tmp_path / "packed"
    if pack == "pipe":
        os.mkfifo(path)
        threading.Thread(target=path.write_text, args=(text,)).start()
    elif pack == "zstd":
        path.write_bytes(pa.compress(text.encode(), "zstd", asbytes=True))
    else:
        path.write_bytes(pack(text.encode()))
    assert file_hashes(chunk(tmp_path / "a", tmp_path / "e.csv")) == file_hashes(chunk(tmp_path / "b", path))


def test_what_a_guess_was_is_said_and_words_say_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("7,dst,src\n0,1,2\n0,3,1\n")
    notes = Listener()
    out = chunk(tmp_path / "out", "e.csv:header", progress=notes)
    np.testing.assert_array_equal(edges_of(out), ([2, 1], [1, 3]))
    assert notes.lines == [
        f"{tmp_path}/e.csv: comma between fields, edges from column 'src' to 'dst' (guessed; to say "
        "otherwise: FILE:tab, FILE:SRC,DST)",
        f"{tmp_path}/e.csv: no '_N' node has ID 0, and the highest ID is 3; if IDs begin at 1, map them (map_ids): "
        "else node 0 has no edges",
    ]
    out = chunk(tmp_path / "named", ["e.csv:header:dst,7"])
    np.testing.assert_array_equal(edges_of(out), ([1, 3], [0, 0]))


def test_a_column_of_any_table_is_a_feature_of_edges_and_gaps_have_names(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,2\n")
    (tmp_path / "w.csv").write_text("what,when,w\nbus,2024-05-01,NA\ncar,2024-05-02 00:00:00,3\n")
    features = {name: f"{tmp_path}/w.csv:{name}" for name in ("what", "when", "w")}
    with pytest.raises(ValueError, match=r"w.csv, line 2, column 'w': value is missing.*found 'NA' in .*fill w=VALUE"):
        chunk(tmp_path / "out", tmp_path / "e.csv", edge_data={DEFAULT: features})
    out = chunk(tmp_path / "out", tmp_path / "e.csv", edge_data={DEFAULT: features}, fill={f"{DEFAULT}/w": 0.5})
    data = {
        name: rows.compute(scheduler="sync").tolist() for name, rows in read_chunked(out).edge_data[DEFAULT].items()
    }
    assert data == {"what": [0, 1], "when": [MICROSECONDS, MICROSECONDS + 86_400_000_000], "w": [0.5, 3.0]}


def test_vectors_of_arrays_follow_mapped_edges(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", src=[5, 9], dst=[9, 7], f=np.arange(12, dtype=np.float16).reshape(2, 2, 3))
    out = chunk(tmp_path / "out", tmp_path / "e.npz", map_ids=True, edge_features=("f",))
    rows = read_chunked(out).edge_data[DEFAULT]["f"].compute(scheduler="sync")
    np.testing.assert_array_equal(rows, np.arange(12, dtype=np.float16).reshape(2, 2, 3), strict=True)


@pytest.mark.parametrize("npartitions", [None, 3])
def test_frames_with_string_ids_are_tables_like_any_other(
    npartitions: int | None, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    customers = parquet.read_table("customers").to_pandas().rename(columns={"customer_id": "id"})
    sales = pd.DataFrame({"src": ["c1", "c3", "c7"], "dst": ["i1"] * 3, "price": 1.5, "year": [2023, 2023, 2024]})
    fill = {"age": -1, "since": 0, "x": 0}
    expected = chunk_shop(shop / "expected", fill=fill, num_chunks=1, edge_format="csv")
    frames: list[Any] = [sales, customers]
    if npartitions is not None:
        with dask.config.set({"dataframe.convert-string": False}):  # dask would make strings of vectors
            frames = [dd.from_pandas(frame, npartitions) for frame in frames]
    frames[1] = frames[1].assign(age=frames[1].age.astype("Int16"))
    how = {"map_ids": True, "fill": fill, "output_path": shop / "out", "memory": 64 << 20, "cluster": "sync"}
    dgp.chunk_graph({BUYS: frames[0]}, "graph", {"customer": frames[1]}, **how)
    assert file_hashes(shop / "out") == file_hashes(expected)


def test_frames_of_nodes_join_dense_ids_and_arrays_are_in_their_order(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"x": [2.0, 0.0, 1.0], "id": [2, 0, 1]})
    edges = {("a", "r", "b"): ([0, 2], [1, 1])}
    out = dgp.chunk_graph(edges, "g", {"a": nodes, "b": {"y": np.arange(4)}}, output_path=tmp_path / "out").parent
    assert node_data(out, "a") == {"x": [0.0, 1.0, 2.0]}
    assert node_data(out, "b") == {"y": [0, 1, 2, 3]}


@pytest.mark.parametrize(
    ("edges", "nodes", "message"),
    [
        ({BUYS: pd.DataFrame({"src": ["a"]})}, {}, "not a frame of edges: expected columns src and dst"),
        (
            {BUYS: (["a", None], ["b", "c"])},
            {},
            "edges of type 'customer:buys:item', row 1, column 'src': ID is missing",
        ),
        ({BUYS: (["a"], ["b", "c"])}, {}, "not as many sources as destinations"),
        (
            {BUYS: (["a"], ["b"])},
            {"customer": pd.DataFrame({"id": ["x"], "age": [1]})},
            "0 of 1 IDs of 'customer' nodes",
        ),
        (
            {BUYS: (["a"], ["b"])},
            {"customer": pd.DataFrame({"id": ["a", 1]})},
            "Table of 'customer' nodes: not a table",
        ),
        (
            {BUYS: (["a"], ["b"])},
            {"usr": pd.DataFrame({"id": ["a"], "x": [1.0]})},
            "ndata_paths: unknown node type 'usr'. Choose from customer, item",
        ),
    ],
)
def test_frames_at_fault_are_one_error(edges: Any, nodes: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(GraphPartError, match=re.escape(message)):
        dgp.chunk_graph(edges, "g", nodes, map_ids=True, output_path=tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("unknown_nodes", ["error", "drop", "add"])
def test_features_obey_the_list_of_nodes_as_edges_do(unknown_nodes: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("src,dst\na,b\nb,c\nz,a\nz,z\n")
    (tmp_path / "nodes.csv").write_text("id\na\nb\nc\n")
    (tmp_path / "ages.csv").write_text("id,age\nq,3\nc,2\na,0\nr,4\nb,1\n")
    keywords: dict[str, Any] = {"unknown_nodes": unknown_nodes, "fill": {"age": -1} if unknown_nodes == "add" else {}}
    keywords |= {"nodes": {"_N": f"{tmp_path}/nodes.csv"}, "node_data": {"_N": {"age": f"{tmp_path}/ages.csv:id:age"}}}
    notes = Listener()
    if unknown_nodes == "error":
        with pytest.raises(
            InputFileError, match=r"line 4, column 'src': the list .* lacks 3 IDs: .* found 'z' in 'z,a'"
        ):
            chunk(tmp_path / "out", tmp_path / "edges.csv", map_ids=True, **keywords)
        return
    out = chunk(tmp_path / "out", tmp_path / "edges.csv", map_ids=True, progress=notes, **keywords)
    ages = read_chunked(out).node_data["_N"]["age"].compute().tolist()
    dropped = "2 edges and 2 rows of features were dropped"
    fate, expected = (
        (dropped, [0, 1, 2]) if unknown_nodes == "drop" else ("these nodes were added", [0, 1, 2, 3, 4, -1])
    )
    assert ages == expected
    text = f"'_N' nodes: IDs that are not in the list: 3 ({fate}); listed nodes without an edge: 0 of 3"
    assert text in notes.lines


def test_features_in_the_order_of_nodes_are_on_disk_once(tmp_path: Path) -> None:
    ids = np.random.default_rng(0).permutation(20_000)
    rows = pa.array(ids * 100).cast(pa.string())  # IDs, and strings that become codes
    vectors = pa.FixedSizeListArray.from_arrays(np.repeat(ids, 100).astype(np.float32), 100)
    parquet.write_table(pa.table({"id": rows, "name": rows, "v": vectors}), tmp_path / "nodes.parquet")
    parquet.write_table(pa.table({"src": rows, "dst": rows}), tmp_path / "edges.parquet")
    table = f"{tmp_path}/nodes.parquet:*"
    graph = dgp.scan_tables(tmp_path / "edges.parquet", node_data={"_N": table}).collect(memory="64MB")
    placed = {path for of in graph.data_sources["_N"].values() for path in of.paths}
    directory = os.path.dirname(placed.pop())
    *others, codes, rows_placed = sorted(of.stat().st_size for of in os.scandir(directory) if of.is_file())
    assert (rows_placed, codes) == (128 + 20_000 * 400, 128 + 20_000 * 8)
    assert max(others) <= codes  # new IDs of edges and of rows
    assert graph.node_data["_N"]["v"][:, 0].compute().tolist() == sorted(range(20_000), key=lambda i: str(i * 100))
