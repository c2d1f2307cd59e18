"""`chunk_graph`: the same bytes whatever kind of object a graph is handed in as; its mistakes."""

from __future__ import annotations

import inspect
import json
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from graphs import Graph, file_hashes
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from daskgraphpart.errors import InputFileError, OptionError, OutputExistsError

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(0)
SRC, DST = RNG.integers(0, 50, 1000), RNG.integers(0, 30, 1000)
WEIGHT = RNG.random(1000).astype("f4")
FEATURES = RNG.random((50, 3))
ETYPE = ("user", "likes", "item")
FRAME = pd.DataFrame({"src": SRC, "dst": DST, "weight": WEIGHT})


def chunk(directory: Path, g: Any, **options: Any) -> dict[str, str]:
    path = dgp.chunk_graph(g, "g", output_path=directory, num_chunks=3, **options)
    assert path == directory / "metadata.json"
    return file_hashes(directory)


def test_frames_arrays_tensors_and_collections_give_the_same_bytes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", FEATURES)
    memmap = np.load(tmp_path / "x.npy", mmap_mode="r")
    pair_data = {"edata_paths": {"user:likes:item": {"weight": WEIGHT}}}
    edge_index = torch.from_numpy(np.stack([SRC, DST]))
    halves = [tmp_path / "first.npy", tmp_path / "second.npy"]
    for path, rows in zip(halves, (FEATURES[:20], FEATURES[20:]), strict=True):
        np.save(path, rows)
    ways: list[tuple[Any, Any, dict[str, Any]]] = [
        (FRAME, FEATURES, {}),
        (FRAME[["weight", "src", "dst"]], memmap, {}),
        (FRAME.astype({"src": "Int64", "dst": "int32"}), torch.from_numpy(FEATURES), {}),
        (dd.from_pandas(FRAME, npartitions=7), da.from_array(FEATURES, chunks=(7, 2)), {}),
        (FRAME.rename(columns={"src": "from", "dst": "To"}), str(tmp_path / "x.npy"), {}),
        ((SRC, DST), halves, pair_data),
        ((da.from_array(SRC, chunks=300), DST.astype("u1")), FEATURES, pair_data),
        (edge_index, FEATURES, pair_data),
    ]
    found = []
    for number, (edges, rows, options) in enumerate(ways):
        key = ETYPE if number % 2 else ":".join(ETYPE)
        found.append(chunk(tmp_path / str(number), {key: edges}, ndata_paths={"user": {"x": rows}}, **options))
    assert all(hashes == found[0] for hashes in found)


@given(graphs(), st.integers(1, 4), st.sampled_from(("csv", "numpy", "parquet")), st.sampled_from(("numpy", "parquet")))
def test_what_is_written_is_what_was_given(graph: Graph, num_chunks: int, edge_format: str, data_format: str) -> None:
    if not graph.edges:
        return
    with tempfile.TemporaryDirectory() as directory:
        out, again = Path(directory) / "out", Path(directory) / "again"
        data = {etype: features for etype, features in graph.edge_data.items() if features}
        counts = {t.name: t.num_nodes for t in graph.schema.node_types}
        how = {"edges_fmt": edge_format, "data_fmt": data_format, "num_nodes": counts}
        dgp.chunk_graph(graph.edges, "g", graph.node_data, data, num_chunks, out, **how)  # type: ignore[arg-type]
        found = dgp.read_chunked(out)
        assert found.schema.ntypes == graph.schema.ntypes
        for etype, (src, dst) in graph.edges.items():
            frame = found.edges[etype].compute()
            assert frame.src.tolist() == src.tolist()
            assert frame.dst.tolist() == dst.tolist()
        for of_types, arrays in ((graph.node_data, found.node_data), (graph.edge_data, found.edge_data)):
            for kind, features in of_types.items():
                for name, rows in features.items():
                    assert np.asarray(arrays[kind][name]).tobytes() == rows.tobytes()
        how.pop("num_nodes")
        dgp.chunk_graph(found, "g", None, None, num_chunks, again, **how)  # type: ignore[arg-type]
        assert file_hashes(again) == file_hashes(out)


def test_numbers_of_nodes_come_from_the_option_the_features_or_the_edges(tmp_path: Path) -> None:
    edges = {("a", "r", "b"): ([0, 4], [2, 2]), ("b", "s", "c"): ([0], [6])}
    dgp.chunk_graph(edges, "g", {"a": {"x": np.zeros(9)}}, output_path=tmp_path, num_nodes={"c": 11})
    schema = dgp.read_chunked(tmp_path).schema
    assert {t.name: t.num_nodes for t in schema.node_types} == {"a": 9, "b": 3, "c": 11}


def test_a_sparse_matrix_has_an_edge_for_every_stored_element(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_matrix(([1, 2, 3], ([0, 0, 2], [1, 2, 1])), shape=(4, 4))
    graph = dgp.read_chunked(dgp.chunk_graph(matrix, "g", output_path=tmp_path).parent)
    assert graph.schema.num_nodes == 4
    frame = graph.edges["_N:_E:_N"].compute()
    assert sorted(zip(frame.src, frame.dst, strict=True)) == [(0, 1), (0, 2), (2, 1)]


def test_a_networkx_graph_is_taken_as_dgl_takes_it(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_node("c", x=[3.0, 1.0], name="see")
    graph.add_node("a", x=[1.0, 1.0], name="ay")
    graph.add_node("b", x=[2.0, 1.0], name="bee")
    graph.add_edge("a", "c", w=5)
    found = dgp.read_chunked(dgp.chunk_graph(graph, "g", output_path=tmp_path).parent)
    frame = found.edges["_N:_E:_N"].compute()
    assert sorted(zip(frame.src, frame.dst, strict=True)) == [(0, 2), (2, 0)]
    assert np.asarray(found.node_data["_N"]["x"]).tolist() == [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    assert np.asarray(found.edge_data["_N:_E:_N"]["w"]).tolist() == [5, 5]
    assert list(found.node_data["_N"]) == ["x"]


@pytest.fixture(scope="module")
def pyg_data() -> Any:
    """`torch_geometric.data`, which is deprecated in part by the torch it runs on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_geometric import data
    return data


def test_pyg_graphs_without_edges_are_refused(pyg_data: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="edge_index"):
        dgp.chunk_graph(pyg_data.Data(x=torch.zeros(3, 1)), "g", output_path=tmp_path / "out")


def test_pyg_graphs_come_with_their_tensors(pyg_data: Any, tmp_path: Path) -> None:
    edge_index = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2]])
    data = pyg_data.Data(
        x=torch.rand(3, 2), edge_index=edge_index, y=torch.tensor([0, 1, 0]), edge_attr=torch.rand(4, 5)
    )
    data["train_mask"] = torch.tensor([True, False, True])
    found = dgp.read_chunked(dgp.chunk_graph(data, "g", output_path=tmp_path / "homogeneous").parent)
    assert set(found.node_data["_N"]) == {"x", "y", "train_mask"}
    assert np.array_equal(np.asarray(found.edge_data["_N:_E:_N"]["edge_attr"]), data.edge_attr.numpy())
    assert found.edges["_N:_E:_N"].compute().src.tolist() == [0, 1, 2, 0]

    hetero = pyg_data.HeteroData()
    hetero["paper"].x = torch.rand(3, 2)
    hetero["author"].num_nodes = 5
    hetero["author", "writes", "paper"].edge_index = torch.tensor([[4, 0], [2, 1]])
    hetero["author", "writes", "paper"].edge_attr = torch.rand(2, 1)
    found = dgp.read_chunked(dgp.chunk_graph(hetero, "g", output_path=tmp_path / "hetero").parent)
    assert [(t.name, t.num_nodes) for t in found.schema.node_types] == [("paper", 3), ("author", 5)]
    assert found.edges["author:writes:paper"].compute().src.tolist() == [4, 0]
    assert list(found.edge_data["author:writes:paper"]) == ["edge_attr"]


@pytest.mark.parametrize(
    ("g", "options", "words"),
    [
        (3, {}, ("Not a graph", "builtins.int")),
        ({}, {}, ("no edge types",)),
        ({"a:b": ([0], [0])}, {}, ("canonical", "a:b")),
        ({ETYPE: FRAME, ":".join(ETYPE): FRAME}, {}, ("twice", "user:likes:item")),
        ({ETYPE: FRAME[["src"]]}, {}, ("user:likes:item", "src and dst")),
        ({ETYPE: 7}, {}, ("user:likes:item", "int")),
        ({ETYPE: ([0, 1], [0])}, {}, ("as many sources",)),
        ({ETYPE: ([0.5, 1], [0, 1])}, {}, ("sources", "whole numbers", "float64")),
        ({ETYPE: (["ann"], ["bob"])}, {}, ("whole numbers", "map_ids=True")),
        ({ETYPE: (pd.array([1, None], dtype="Int64"), [0, 1])}, {}, ("sources", "missing")),
        ({ETYPE: ([0, -3], [0, 1])}, {}, ("row 1", "-3", "out of range")),
        ({ETYPE: ([0, 5], [0, 1])}, {"num_nodes": {"user": 3}}, ("row 1", "[0, 3)", "5")),
        ({ETYPE: FRAME}, {"num_nodes": 3}, ("several node types",)),
        ({ETYPE: FRAME}, {"num_nodes": {"user": -1}}, ("num_nodes['user']", "-1")),
        ({ETYPE: FRAME}, {"ndata_paths": {"x": np.zeros(3)}}, ("several node types",)),
        ({ETYPE: FRAME}, {"ndata_paths": {"usr": {"x": np.zeros(3)}}}, ("unknown type", "usr")),
        ({ETYPE: FRAME}, {"ndata_paths": {"user": {"x": np.zeros(3)}}, "num_nodes": {"user": 50}}, ("'x'", "50", "3")),
        ({ETYPE: FRAME}, {"ndata_paths": {"user": {"x": "nothing.npy"}}}, ("nothing.npy", "no such file")),
        ({ETYPE: FRAME}, {"ndata_paths": {"user": {"x": "nothing.txt"}}}, ("nothing.txt", "npy files")),
        ({ETYPE: FRAME}, {"ndata_paths": {"user": {"x": np.zeros(50, complex)}}}, ("user", "complex128")),
        ({ETYPE: FRAME}, {"edata_paths": {ETYPE: {"weight": WEIGHT}}}, ("twice", "weight")),
        ({ETYPE: FRAME}, {"edges_fmt": "xml"}, ("format of edges", "xml")),
        ({ETYPE: FRAME}, {"data_fmt": "csv"}, ("format of features", "csv")),
        ({ETYPE: FRAME}, {"delimiter": ":::"}, ("delimiter",)),
        ({ETYPE: FRAME}, {"num_chunks_edges": {("user", "buys", "item"): 2}}, ("num_chunks_edges", "user:buys:item")),
        ({ETYPE: FRAME}, {"num_chunks_edge_data": {ETYPE: {"w": 2}}}, ("num_chunks_edge_data", "user:likes:item/w")),
        ({ETYPE: FRAME}, {"num_chunks_nodes": {"user": 0}}, ("number of files", "0")),
        (scipy.sparse.eye(3, 4, format="csr"), {}, ("square", "(3, 4)")),
        (nx.Graph([(1, "a")]), {}, ("Cannot sort",)),
    ],
)
def test_mistakes_are_one_error(g: Any, options: dict[str, Any], words: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(GraphPartError) as caught:
        dgp.chunk_graph(g, "g", output_path=tmp_path / "out", **options)
    for word in words:
        assert word in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_arrays_of_edges_may_lie_either_way_but_not_both(tmp_path: Path) -> None:
    wide = np.stack([SRC, DST])
    assert chunk(tmp_path / "wide", {ETYPE: wide}) == chunk(tmp_path / "long", {ETYPE: wide.T})
    assert chunk(tmp_path / "alone", wide) == chunk(tmp_path / "tensor", torch.from_numpy(wide.T.copy()))
    with pytest.raises(OptionError, match=r"ambiguous: an array of shape \(2, 2\)"):
        chunk(tmp_path / "out", {ETYPE: wide[:, :2]})


def test_mistakes_inside_collections_are_found_when_they_are_computed(tmp_path: Path) -> None:
    wrong = FRAME.assign(note="text")
    with pytest.raises(OptionError, match="note"):
        dgp.chunk_graph({ETYPE: dd.from_pandas(wrong, npartitions=3)}, "g", output_path=tmp_path / "out")
    failing = dd.from_pandas(FRAME, npartitions=2).map_partitions(lambda _: 1 / 0, meta=FRAME)
    with pytest.raises(OptionError, match=r"Computing a dask collection failed.*ZeroDivisionError"):
        dgp.chunk_graph({ETYPE: failing}, "g", output_path=tmp_path / "out")
    pieces = da.zeros((50, 2), chunks=25, dtype="f4")
    wider = da.map_blocks(lambda b, block_id: b.astype("f8" if block_id[0] else "f4"), pieces, dtype="f4")
    with pytest.raises(InputFileError, match="another dtype"):
        dgp.chunk_graph({ETYPE: FRAME}, "g", {"user": {"x": wider}}, output_path=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_unasked_and_the_input_never(tmp_path: Path) -> None:
    dgp.chunk_graph({ETYPE: FRAME}, "g", output_path=tmp_path / "out")
    hashes = file_hashes(tmp_path / "out")
    with pytest.raises(OutputExistsError, match="not empty"):
        dgp.chunk_graph({ETYPE: FRAME}, "g", output_path=tmp_path / "out")
    with pytest.raises(OutputExistsError, match="holds the input"):
        dgp.chunk_graph(dgp.read_chunked(tmp_path / "out"), "g", output_path=tmp_path / "out", overwrite=True)
    with pytest.raises(OutputExistsError, match="holds the input"):
        dgp.chunk_graph(tmp_path / "out", "g", output_path=tmp_path / "out", overwrite=True)
    assert file_hashes(tmp_path / "out") == hashes
    dgp.chunk_graph({ETYPE: FRAME}, "g", output_path=tmp_path / "out", overwrite=True, num_chunks=2)
    assert len(list((tmp_path / "out" / "edges").iterdir())) == 2
    with pytest.raises(OptionError, match="output_path"):
        dgp.chunk_graph({ETYPE: FRAME}, "g")


@pytest.mark.parametrize("opened", [str, lambda path: np.load(path, mmap_mode="r")])
def test_features_in_the_output_directory_are_never_deleted(opened: Callable[[str], Any], tmp_path: Path) -> None:
    dgp.chunk_graph({ETYPE: FRAME}, "g", {"user": {"x": FEATURES}}, output_path=tmp_path)
    hashes = file_hashes(tmp_path)
    data = {"user": {"x": opened(str(tmp_path / "node_data" / "0-0-0.npy"))}}
    with pytest.raises(OutputExistsError, match="holds the input"):
        dgp.chunk_graph({ETYPE: FRAME}, "g", data, output_path=tmp_path, overwrite=True)
    assert file_hashes(tmp_path) == hashes


def test_the_parameters_are_those_of_dgl() -> None:
    """Those of tools/chunk_graph.py, 1.0 to 2.5, and then of tests/tools/pytest_utils.py, 1.1 to 2.5."""
    names = list(inspect.signature(dgp.chunk_graph).parameters)
    assert names[:9] == [
        "g", "name", "ndata_paths", "edata_paths", "num_chunks", "output_path", "data_fmt", "edges_fmt", "vector_rows",
    ]  # fmt: skip
    assert names[9:13] == ["num_chunks_nodes", "num_chunks_edges", "num_chunks_node_data", "num_chunks_edge_data"]


def test_types_and_features_may_have_numbers_of_chunks_of_their_own(tmp_path: Path) -> None:
    data = {"user": {"x": FEATURES, "y": FEATURES[:, 0]}}
    numbers = {"num_chunks_node_data": {"user": {"x": 7}}, "num_chunks_edge_data": 1, "num_chunks_nodes": {"item": 2}}
    out = dgp.chunk_graph({ETYPE: FRAME}, "g", data, None, 3, tmp_path, num_nodes={"item": 31}, **numbers)
    metadata = json.loads(out.read_text())
    assert metadata["num_nodes_per_chunk"] == [[17, 17, 16], [16, 15]]  # DGL's sizes: larger ones first
    assert metadata["num_edges_per_chunk"] == [[334, 333, 333]]
    files = {name: len(found["data"]) for name, found in metadata["node_data"]["user"].items()}
    assert files == {"x": 7, "y": 3}
    assert len(metadata["edge_data"]["user:likes:item"]["weight"]["data"]) == 1
    np.testing.assert_array_equal(dgp.read_chunked(tmp_path).node_data["user"]["x"].compute(), FEATURES)
