"""Readers and lazy collections: every format, any cut, the same rows; nothing is read before it is asked for."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from graphs import Graph
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from strategies import graphs, layouts

from daskgraphpart import EdgeType, GraphSchema, NodeType, read_chunked
from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.formats import FORMATS, InputFile, cut_rows, feature_files
from daskgraphpart.graph.metadata import Files
from daskgraphpart.graph.read_parquet import open_parquet
from daskgraphpart.graph.sources import FileEdges, FileRows

if TYPE_CHECKING:
    from pathlib import Path

    from strategies import Layout


@given(graph=graphs(), layout=layouts())
def test_collections_equal_the_arrays_they_were_written_from(graph: Graph, layout: Layout, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    directory = tmp_path_factory.mktemp("graph")
    how = {"num_chunks": layout.num_chunks, "delimiter": layout.delimiter, "data_format": layout.data_format}
    graph.write(directory, edge_format=layout.edge_format, **how)
    chunked = read_chunked(directory)
    for etype, (src, dst) in graph.edges.items():
        frame = chunked.edges[etype].compute()
        assert frame.src.tolist() == src.tolist()
        assert frame.dst.tolist() == dst.tolist()
    for lazy, data in ((chunked.node_data, graph.node_data), (chunked.edge_data, graph.edge_data)):
        for kind, features in data.items():
            assert list(lazy[kind]) == list(features)
            for name, rows in features.items():
                array = lazy[kind][name]
                assert (array.dtype, array.shape) == (rows.dtype, rows.shape)
                np.testing.assert_array_equal(array.compute(), rows)


def one_type(tmp_path: Path, text: bytes, num_edges: int, delimiter: str = " ") -> Path:
    (tmp_path / "e.csv").write_bytes(text)
    (tmp_path / "empty.csv").write_bytes(b"")
    form = {"name": "csv", "delimiter": delimiter}
    content = {
        "graph_name": "g",
        "node_type": ["n"],
        "num_nodes_per_type": [100],
        "edge_type": ["n:e:n"],
        "num_edges_per_type": [num_edges],
        "edges": {"n:e:n": {"format": form, "data": ["empty.csv", "e.csv", "empty.csv"]}},
    }
    (tmp_path / "metadata.json").write_text(json.dumps(content))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        (b"1 2\n3 4\n", " "),
        (b"1 2\r\n3 4\r\n", " "),
        (b"1,2\n3,4", ","),
        (b"\n1 , 2 \n\n 3,4\n\n", ","),
        (b"1\t2\tred\n3\t4\tblue 5\n", "\t"),
        (b"1;2;;\n3;4;x\n", ";"),
        (b"+1  2\n 3 4 99\n", " "),
    ],
)
def test_csv_in_all_its_dress(text: bytes, delimiter: str, tmp_path: Path) -> None:
    frame = read_chunked(one_type(tmp_path, text, 2, delimiter)).edges["n:e:n"].compute()
    assert frame.to_numpy().tolist() == [[1, 2], [3, 4]]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.lists(st.integers(1, 9), max_size=3)), min_size=1, max_size=4),
    st.integers(1, 15),
)
def test_row_blocks_cover_every_row_once_in_order(files: list[tuple[int, list[int]]], max_rows: int) -> None:
    inputs = []
    for i, (rows, groups) in enumerate(files):
        ends = tuple(np.cumsum(groups).tolist())
        inputs.append(InputFile(str(i), "parquet", " ", ends[-1] if ends else rows, 0, ends))
    blocks = FileEdges(tuple(inputs)).blocks(max_rows)
    assert all(0 < block.num_rows <= max_rows for block in blocks)
    covered = [(block.file, block.row_in_file + row) for block in blocks for row in range(block.num_rows)]
    assert covered == [(file.path, row) for file in inputs for row in range(file.num_rows or 0)]
    assert [block.first_row for block in blocks] == np.cumsum([0, *(b.num_rows for b in blocks)])[:-1].tolist()


def test_row_groups_are_kept_whole_where_they_fit() -> None:
    file = InputFile("f", "parquet", " ", 10, 0, (3, 6, 10))
    assert [rows for _, *rows in cut_rows([file], 6)] == [[0, 6], [6, 10]]
    assert [rows for _, *rows in cut_rows([file], 3)] == [[0, 3], [3, 6], [6, 9], [9, 10]]


@pytest.mark.parametrize("shape", [(20_000, 3), (10, 50), (7, 3, 2), (5, 0), (0, 4)])
def test_npy_in_fortran_order_is_read(shape: tuple[int, ...], tmp_path: Path) -> None:
    rows = np.asfortranarray(np.random.default_rng(0).random(shape))
    np.save(tmp_path / "f.npy", rows)
    spec, files = feature_files("x", Files("numpy", " ", (str(tmp_path / "f.npy"),)))
    for max_rows in (3, 9_999, 20_000):
        found = [block.read() for block in FileRows(files, spec).blocks(max_rows)[:50]]
        read = np.concatenate([np.zeros((0, *shape[1:])), *found])
        assert np.array_equal(read, rows[: len(read)])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4"])
@pytest.mark.parametrize("names", [("src", "dst"), ("a", "b"), ("dst", "w", "src")])
def test_parquet_edges_by_name_or_position(dtype: str, names: tuple[str, ...], tmp_path: Path) -> None:
    columns = {name: np.arange(10, dtype=dtype) + i for i, name in enumerate(names)}
    parquet.write_table(pa.table(columns), tmp_path / "e.parquet", row_group_size=4)
    first, second = ("src", "dst") if "src" in names else names
    src, dst = FORMATS["parquet"].read_edges(str(tmp_path / "e.parquet"), 3, 9)
    assert src.dtype == dst.dtype == np.int64
    assert (src.tolist(), dst.tolist()) == (columns[first][3:9].tolist(), columns[second][3:9].tolist())


ROWS = np.arange(24).reshape(8, 3)


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize(
    "kind", ["list", "large_list", "fixed_size_list", "columns", "shape", "scalar", "scalar_shape"]
)
def test_parquet_features_in_all_their_forms(kind: str, dtype: str, tmp_path: Path) -> None:
    rows = ROWS.astype(dtype)
    values = pa.array(rows.reshape(-1))
    metadata = None
    if kind == "columns":
        table, expected = pa.table({str(i): rows[:, i] for i in range(3)}), rows
    elif kind.startswith("scalar"):
        has_shape = kind == "scalar_shape"
        table, expected = pa.table({"x": rows[:, 0]}), rows[:, 0] if has_shape else rows[:, :1]
        metadata = {b"shape": b"(8,)"} if has_shape else None
    else:
        lists = {
            "list": lambda: pa.ListArray.from_arrays(pa.array(range(0, 25, 3), pa.int32()), values),
            "large_list": lambda: pa.LargeListArray.from_arrays(pa.array(range(0, 25, 3), pa.int64()), values),
            "fixed_size_list": lambda: pa.FixedSizeListArray.from_arrays(values, 3),
            "shape": lambda: pa.ListArray.from_arrays(pa.array(range(0, 25, 3), pa.int32()), values),
        }
        table, expected = pa.table({"x": lists[kind]()}), rows
        if kind == "shape":
            metadata, expected = {b"shape": b"(8, 3, 1)"}, rows.reshape(8, 3, 1)
    path = tmp_path / "f.parquet"
    parquet.write_table(table.replace_schema_metadata(metadata), path, row_group_size=3)
    spec, files = feature_files("x", Files("parquet", " ", (str(path),)))
    assert (spec.dtype, spec.row_shape) == (np.dtype(dtype), expected.shape[1:])
    for max_rows in (2, 3, 100):
        found = [block.read() for block in FileRows(files, spec).blocks(max_rows)]
        np.testing.assert_array_equal(np.concatenate(found), expected)


def test_what_gsprocessing_of_graphstorm_writes_is_read(tmp_path: Path) -> None:
    rows = np.arange(6)
    mask = pa.table({"train_mask": (rows % 2).astype("i1")}).replace_schema_metadata({b"shape": b"(6,)"})
    tables = {
        "e": pa.table({"src_int_id": rows, "dst_int_id": rows[::-1]}),
        "age": pa.table({"age": rows / 2}),
        "m": mask,
    }
    entries = {}
    for name, table in tables.items():
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        form = {"name": "parquet", "delimiter": ""}
        entries[name] = {"format": form, "data": [f"{name}.parquet"], "row_counts": [6]}
    metadata = {
        "graph_name": "g", "node_type": ["u"], "num_nodes_per_type": [6], "edge_type": ["u:r:u"],
        "num_edges_per_type": [6], "edges": {"u:r:u": entries["e"]}, "edge_data": {}, "graph_info": {},
        "node_data": {"u": {"age": entries["age"], "train_mask": entries["m"]}}, "raw_id_mappings": {"u": entries["m"]},
    }  # fmt: skip
    (tmp_path / "updated_row_counts_metadata.json").write_text(json.dumps(metadata))
    graph = read_chunked(tmp_path / "updated_row_counts_metadata.json")
    assert graph.node_data["u"]["age"].compute().tolist() == (rows / 2)[:, None].tolist(), "as DGL's reader gives it"
    assert graph.node_data["u"]["train_mask"].compute().tolist() == (rows % 2).tolist()


def test_opening_and_building_collections_read_no_data(tmp_path: Path) -> None:
    schema = GraphSchema("g", (NodeType("n", 9),), (EdgeType("n", "e", "n", 4),))
    edges = {"n:e:n": (np.arange(4), np.arange(4))}
    Graph(schema, edges, {"n": {"x": np.ones((9, 2))}}).write(tmp_path / "in", edge_format="numpy", num_chunks=2)
    graph = read_chunked(tmp_path / "in")
    for path in (tmp_path / "in").rglob("*.npy"):
        path.unlink()
    frame, array = graph.edges["n:e:n"], graph.node_data["n"]["x"]
    assert array.chunks == ((5, 4), (2,))
    assert frame.divisions == (0, 2, 3)
    assert "9" in repr(graph)
    assert "<table>" in graph._repr_html_()
    for collection in (frame, array):
        with pytest.raises(InputFileError):
            collection.compute()


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    schema = replace(GraphSchema("g", (NodeType("n", 1),), ()), name="h")
    graph = read_chunked(Graph(schema, {}, {"n": {"x": np.ones(1)}}).write(tmp_path / "in"))
    with pytest.raises(KeyError, match="no node type 'm'; there are: n"):
        graph.node_data["m"]
    with pytest.raises(KeyError, match="no feature of n 'y'; there are: x"):
        graph.node_data["n"]["y"]
    with pytest.raises(KeyError, match="no edge type"):
        graph.edges["a:b:c"]


EDGES = (np.array([5, 0, 3, 9, 9, 2, 7]), np.array([1, 1, 0, 8, 8, 4, 6]))
ETYPE = "n:e:n"


def seven_edges(tmp_path: Path, **how: object) -> Path:
    schema = GraphSchema("g", (NodeType("n", 10),), (EdgeType("n", "e", "n", 7),))
    data = {"n": {"x": np.arange(20.0).reshape(10, 2)}}, {ETYPE: {"w": np.arange(7)}}
    return Graph(schema, {ETYPE: EDGES}, *data).write(tmp_path / "in", **how)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["i1", ">i4", "u4", "i8", ">i8"])
def test_npy_edges_of_any_order_and_width_become_int64(order: str, dtype: str, tmp_path: Path) -> None:
    rows = np.array(np.stack(EDGES, axis=1), dtype, order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "e.npy", rows)
    src, dst = FORMATS["numpy"].read_edges(str(tmp_path / "e.npy"), 2, 6)
    assert src.dtype == dst.dtype == np.int64
    assert (src.tolist(), dst.tolist()) == (EDGES[0][2:6].tolist(), EDGES[1][2:6].tolist())


@pytest.mark.parametrize("form", ["numpy", "parquet"])
def test_the_index_of_an_edge_frame_is_the_edge_id(form: str, tmp_path: Path) -> None:
    frame = read_chunked(seven_edges(tmp_path, edge_format=form, num_chunks=2)).edge_frame(ETYPE, blocksize=32)
    assert frame.divisions == (0, 2, 4, 6, 6)
    assert frame.compute().index.tolist() == list(range(7))
    assert frame.loc[3].compute().to_numpy().tolist() == [[9, 8]]


@pytest.mark.parametrize("form", ["csv", "numpy", "parquet"])
def test_garbage_behind_the_headers_is_not_seen_at_opening(form: str, tmp_path: Path) -> None:
    directory = seven_edges(tmp_path, edge_format=form, data_format="numpy" if form == "csv" else form)
    whole = read_chunked(directory)
    for path in [p for p in directory.rglob("*") if p.is_file() and p.suffix != ".json"]:
        content = bytearray(path.read_bytes())
        # npy begins with a header of 128 bytes; parquet ends with its footer
        footer = int.from_bytes(content[-8:-4], "little") + 8
        low, high = {".npy": (128, len(content)), ".parquet": (4, len(content) - footer)}.get(
            path.suffix, (min(16, len(content) - 1), len(content))
        )
        assert low < high
        content[low:high] = b"\xff" * (high - low)
        path.write_bytes(content)
    graph = read_chunked(directory)
    assert graph.schema == whole.schema
    assert repr(graph) == repr(whole)
    frame = graph.edges[ETYPE]
    assert list(frame.columns) == ["src", "dst"]
    assert graph.node_data["n"]["x"].shape == (10, 2)
    with pytest.raises(InputFileError, match="0-0"):
        frame.compute(scheduler="sync")


def test_times_of_int96_reach_the_ends_of_the_calendar(tmp_path: Path) -> None:
    times = [datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1), datetime.datetime(2024, 5, 1)]
    table = pa.table({"t": pa.array(times, pa.timestamp("us"))})
    parquet.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    with open_parquet(str(tmp_path / "t.parquet")) as file:
        assert file.read().column("t").to_pylist() == times
