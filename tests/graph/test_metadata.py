"""Every fault of the metadata is named by its key, all of them in one error, before any data is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import Graph

from daskgraphpart import EdgeType, GraphSchema, NodeType, read_chunked
from daskgraphpart.errors import InputFileNotFoundError, MetadataError
from daskgraphpart.graph.metadata import read_metadata

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Content = dict[str, Any]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    node_types = (NodeType("a", 4), NodeType("b", 2), NodeType("none", 0))
    edge_types = (EdgeType("a", "r", "b", 3), EdgeType("b", "s", "a", 0))
    edges = {"a:r:b": (np.array([0, 1, 3]), np.array([1, 0, 1])), "b:s:a": (np.zeros(0, int), np.zeros(0, int))}
    data = {"a": {"x": np.ones((4, 2), "f4")}}
    weights = {"a:r:b": {"w": np.ones(3)}}
    return Graph(GraphSchema("g", node_types, edge_types), edges, data, weights).write(tmp_path / "in")


def edited(directory: Path, change: Callable[[Content], object]) -> Path:
    path = directory / "metadata.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return directory


def put(*keys: Any) -> Callable[[Content], None]:
    """Set content[key][key]... = the last argument."""

    def change(content: Content) -> None:
        for key in keys[:-2]:
            content = content[key]
        content[keys[-2]] = keys[-1]

    return change


def drop(*keys: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return change


@pytest.mark.parametrize("dialect", ["chunk", "type"])
def test_either_dialect_is_enough(dialect: str, directory: Path) -> None:
    def change(content: Content) -> None:
        for what in ("nodes", "edges"):
            del content[f"num_{what}_per_{'type' if dialect == 'chunk' else 'chunk'}"]
        if dialect == "chunk":
            content["num_nodes_per_chunk"] = [[1, 1, 2], [2, 0, 0], []]
            content["num_edges_per_chunk"] = [[0, 3], [0]]

    schema = read_chunked(edited(directory, change)).schema
    assert [t.num_rows for t in schema.row_types] == [4, 2, 0, 3, 0]


def test_data_keys_may_be_missing_and_paths_absolute(directory: Path, tmp_path: Path) -> None:
    def change(content: Content) -> None:
        del content["node_data"], content["edge_data"], content["edges"]["b:s:a"]
        entry = content["edges"]["a:r:b"]
        entry["data"] = [str(directory / path) for path in entry["data"]]

    moved = tmp_path / "moved.json"
    edited(directory, change)
    moved.write_text((directory / "metadata.json").read_text())
    assert read_chunked(moved).schema.num_edges == 3


E = "a:r:b"
# what a key cannot have, and what the message says; tests/bad_input/test_metadata_keys.py tries many more values
FAULTS = [
    (drop("graph_name"), "graph_name"),
    (put("graph_name", "a/b"), "graph_name: graph name 'a/b'"),
    (put("graph_name", ""), "graph name ''"),
    (put("node_type", ["a", 7, "none"]), "node_type[1]"),
    (put("node_type", ["a", "a", "none"]), "given twice"),
    (put("node_type", ["a", "b", "\ud800"]), "node_type"),
    (put("node_type", []), "node_type"),
    (drop("edge_type"), "edge_type"),
    (put("edge_type", [E, E]), "given twice"),
    (put("edge_type", ["a:b", "b:s:a"]), "src:relation:dst"),
    (put("edge_type", ["a:r:z", "b:s:a"]), "unknown node type"),
    (put("edge_type", [["a", "r", "b"], "b:s:a"]), "edge_type[0]"),
    (lambda c: (c.pop("num_nodes_per_type"), c.pop("num_nodes_per_chunk")), "num_nodes_per_type"),
    (put("num_nodes_per_type", None), "num_nodes_per_type"),
    (put("num_nodes_per_type", [4, 2]), "num_nodes_per_type"),
    (put("num_nodes_per_type", [4, 2, -1]), "num_nodes_per_type[2]"),
    (put("num_nodes_per_type", [4.0, 2, 0]), "num_nodes_per_type[0]"),
    (put("num_nodes_per_type", [5, 2, 0]), "disagrees with num_nodes_per_chunk"),
    (put("num_nodes_per_chunk", [[4], [1, -1], [0]]), "num_nodes_per_chunk[1][1]"),
    (put("num_edges_per_chunk", [[1, 1], [0]]), "num_edges_per_type: disagrees with num_edges_per_chunk"),
    (put("num_nodes_per_type", [2**62, 2**62, 0]), "num_nodes_per_type: invalid count"),
    (put("num_nodes_per_chunk", [[2**62, 2**62], [2], [0]]), "num_nodes_per_chunk: invalid count"),
    (put("num_edges_per_type", [2**62 + 1, 0]), "num_edges_per_type[0]: invalid count"),
    (drop("edges", E), f"edges.{E}"),
    (put("edges", "z:z:z", {}), "edges.z:z:z"),
    (put("edges", E, "data", [""]), f"edges.{E}.data[0]"),
    (drop("edges", E, "data"), f"edges.{E}.data"),
    (put("edges", E, "data", ["missing.csv"]), "missing.csv"),
    (put("edges", E, "format", {"name": "orc"}), "csv or numpy or parquet"),
    *(
        (put("edges", E, "format", "delimiter", d), f"edges.{E}.format.delimiter")
        for d in ("::", "7", "-", ".", '"', "\n", "", 32, None)
    ),
    (put("node_data", "z", {}), "node_data.z"),
    (put("node_data", "a", "x", "format", {"name": "csv"}), "numpy or parquet"),
    (put("node_data", "a", "x/y", {}), "x/y"),
    (put("node_data", "a", "x", "data", []), "node_data.a.x.data: feature has no files"),
    (put("node_data", "a", "x", "data", ["node_data"]), "node_data.a.x.data: no such file, or not a regular one"),
    (put("edge_data", E, "weights"), f"edge_data.{E}"),
    (drop("edge_data", E, "w", "format"), f"edge_data.{E}.w.format"),
]


@pytest.mark.parametrize(("change", "word"), FAULTS, ids=[f"{i}-{word!a}" for i, (_, word) in enumerate(FAULTS)])
def test_a_fault_is_named(change: Callable[[Content], object], word: str, directory: Path) -> None:
    with pytest.raises(MetadataError) as caught:
        read_metadata(edited(directory, change))
    start, message = str(directory / "metadata.json"), str(caught.value)
    assert message.startswith(start)
    assert word in message.removeprefix(start)


def test_all_faults_are_in_one_error(directory: Path) -> None:
    def change(content: Content) -> None:
        content["edges"][E]["format"]["name"] = "orc"
        content["node_data"]["z"] = {}
        content["edge_data"][E]["w"]["data"] = ["gone.npy"]

    with pytest.raises(MetadataError, match="3 things are wrong") as caught:
        read_chunked(edited(directory, change))
    for word in (f"edges.{E}.format.name", "node_data.z", "gone.npy"):
        assert word in str(caught.value)


def test_no_metadata_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputFileNotFoundError, match=r"metadata\.json"):
        read_chunked(tmp_path / "nowhere" / "metadata.json")


def test_relative_paths_are_relative_to_the_metadata_and_absolute_ones_are_kept(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(content: Content) -> None:
        content["node_data"]["a"]["x"]["data"] = [str(directory / content["node_data"]["a"]["x"]["data"][0])]

    edited(directory, change)
    monkeypatch.chdir(directory.parent)
    metadata = read_metadata(directory.name)
    assert metadata.edges[E].paths == (str(directory / "edges" / "0-0.csv"),)
    assert metadata.data["a"]["x"].paths == (str(directory / "node_data" / "0-0-0.npy"),)


def test_many_faults_are_cut_after_thirty(directory: Path) -> None:
    def change(content: Content) -> None:
        content["node_data"] |= {f"z{i}": {} for i in range(35)}

    with pytest.raises(MetadataError, match="35 things are wrong") as caught:
        read_metadata(edited(directory, change))
    assert str(caught.value).count("unknown type") == 30
    assert "and 5 more" in str(caught.value)


def test_all_faults_of_types_and_counts_are_in_one_error(directory: Path) -> None:
    def change(content: Content) -> None:
        del content["graph_name"]
        content["num_nodes_per_type"][0] = -1
        content["num_edges_per_chunk"] = 3

    with pytest.raises(MetadataError, match="3 things are wrong") as caught:
        read_metadata(edited(directory, change))
    for key in ("graph_name", "num_nodes_per_type[0]", "num_edges_per_chunk"):
        assert key in str(caught.value)


def test_a_graph_may_have_no_edge_type(directory: Path) -> None:
    def change(content: Content) -> None:
        content |= {"edge_type": [], "edges": {}, "edge_data": {}, "num_edges_per_type": [], "num_edges_per_chunk": []}

    assert read_chunked(edited(directory, change)).schema.edge_types == ()
