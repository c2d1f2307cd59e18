"""Features of nodes and of edges added to finished partitions: the bytes of a dispatch with them, in every layout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from commands import call
from graphs import file_hashes
from inside import Resources
from keywords import spelled
from listeners import Listener, Stopped

import daskgraphpart as dgp
from daskgraphpart import GraphPartError

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(8)
HOW: dict[str, Any] = spelled(Resources(1 << 28, "sync", 1))
NODES = {"user": 40, "item": 30}
EDGES = {"user:follows:user": RNG.integers(0, 40, (2, 300)), "user:likes:item": RNG.integers(0, 30, (2, 400))}
OLD = {
    "user": {"x": RNG.random((40, 3), np.float32), "train_mask": RNG.random(40) < 0.5},
    "item": {"price": RNG.integers(0, 5, 30)},
}
NEW = {
    "user": {"embedding": RNG.random((40, 7), np.float32), "val_mask": RNG.random(40) < 0.3},
    "item": {"label": RNG.integers(0, 4, 30), "half": RNG.random((30, 2)).astype("f2")},
}
BOTH = {ntype: {**OLD[ntype], **NEW[ntype]} for ntype in NODES}


OLD_OF_EDGES = {"user:likes:item": {"w": np.arange(400.0)}}
NEW_OF_EDGES = {
    "user:follows:user": {"since": RNG.integers(0, 9, 300)},
    "user:likes:item": {"stars": RNG.random((400, 2), np.float32)},
}
BOTH_OF_EDGES = {
    "user:follows:user": NEW_OF_EDGES["user:follows:user"],
    "user:likes:item": {**OLD_OF_EDGES["user:likes:item"], **NEW_OF_EDGES["user:likes:item"]},
}


def graph_with(node_data: Any, edge_data: Any = OLD_OF_EDGES) -> dgp.Graph:
    return dgp.from_edges(EDGES, num_nodes=NODES, node_data=node_data, edge_data=edge_data)


def content_of(directory: Path) -> dict[str, Any]:
    """Hashes of all files; of manifests what they say, without what was added later."""
    content: dict[str, Any] = dict(file_hashes(directory))
    for name in [name for name in content if name.endswith("graph.manifest.json")]:
        content[name] = json.loads((directory / name).read_text())
        for key in ("added_features", "digest"):
            content[name].pop(key, None)
        content[name]["files"] = [*content[name]["files"]]
    return content


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize(
    ("layout", "num_parts"), [("dgl,graphbolt,ranks,parquet", 3), ("graphstorm", 2), ("dgl,ondisk", 1)]
)
def test_files_are_those_of_a_dispatch_with_the_features(
    layout: str, num_parts: int, is_lazy: bool, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"method": "random", "layout": layout, **HOW}
    expected = dgp.partition(graph_with(BOTH), tmp_path / "expected", num_parts, **how)
    parts = dgp.partition(graph_with(OLD), tmp_path / "parts", num_parts, **how)
    given: Any = NEW
    if is_lazy:
        given = {of: {name: da.from_array(rows, chunks=(11, *rows.shape[1:])) for name, rows in data.items()}
                 for of, data in NEW.items()}  # fmt: skip
    for ntype in NODES:
        parts = parts.add_node_data({ntype: given[ntype]}, **HOW)
    assert content_of(tmp_path / "parts") == content_of(tmp_path / "expected")
    for report in (parts.verify(), parts.verify(graph_with(OLD), **HOW), parts.verify(graph_with(BOTH), **HOW)):
        assert report.ok, report
    other = {**BOTH, "item": {**BOTH["item"], "label": BOTH["item"]["label"] + 1}}
    assert not parts.verify(graph_with(other), **HOW).ok
    assert parts.node_data["item"]["half"].dtype == expected.node_data["item"]["half"].dtype == np.float16


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize(
    ("layout", "num_parts"), [("dgl,graphbolt,ranks,parquet", 3), ("graphstorm", 2), ("dgl,ondisk", 1)]
)
def test_features_of_edges_are_added_too(layout: str, num_parts: int, is_lazy: bool, tmp_path: Path) -> None:
    how: dict[str, Any] = {"method": "random", "layout": layout, **HOW}
    dgp.partition(graph_with(OLD, BOTH_OF_EDGES), tmp_path / "expected", num_parts, **how)
    parts = dgp.partition(graph_with(OLD), tmp_path / "parts", num_parts, **how)
    for etype, data in NEW_OF_EDGES.items():
        given: Any = {of: da.from_array(rows, chunks=(11, *rows.shape[1:])) for of, rows in data.items()}
        parts = parts.add_edge_data({etype: given if is_lazy else data}, **HOW)
    assert content_of(tmp_path / "parts") == content_of(tmp_path / "expected")
    for graph in (graph_with(OLD), graph_with(OLD, BOTH_OF_EDGES)):
        assert (report := parts.verify(graph, **HOW)).ok, report


def test_the_command_adds_features_of_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dgp.partition(graph_with(OLD), "parts", 2, method="random", **HOW)
    np.save("since.npy", NEW_OF_EDGES["user:follows:user"]["since"])
    added = ("--edge-data", "user:follows:user/since=since.npy")
    assert call("add", "parts", *added, "--node-data", "user/since=since.npy", "--quiet") == 2
    assert call("add", "parts", *added, "--quiet") == 0
    found = dgp.open_partitions("parts").edge_data["user:follows:user"]["since"]
    assert sorted(found.compute()) == sorted(NEW_OF_EDGES["user:follows:user"]["since"])
    assert call("add", "parts", *added, "--quiet") == 2


def test_tables_are_joined_by_own_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.chdir(tmp_path)
    names = np.array([f"u{i}" for i in RNG.permutation(50)])
    pd.DataFrame({"src": RNG.choice(names, 300), "dst": RNG.choice(names, 300)}).to_csv("edges.csv", index=False)
    users = pd.DataFrame({"id": names, "age": np.arange(50), "town": RNG.choice(["Rome", "Oslo"], 50)})
    users.to_csv("users.csv", index=False)
    users[:45].to_csv("some.csv", index=False)
    users[:20][["id"]].to_csv("train.csv", index=False)
    tables = ("--edges", "edges.csv", "--map-ids", "--nodes", "users.csv:id", "--num-parts", "2", "--method", "random")
    assert call("partition", "parts", *tables, "--quiet") == 0
    added = ("age=some.csv:age", "town=users.csv:town")
    options = [word for feature in added for word in ("--node-data", feature)]
    assert call("add", "parts", *options, "--mask", "train_mask=train.csv", "--fill", "age=-1") == 0
    notes = caplog.text
    assert "IDs that are not in the list: 0" in notes and "without an edge" not in notes  # no edges are given
    parts = dgp.open_partitions("parts")
    own = parts.own_ids("_N", np.arange(50))
    ages = users.set_index("id").age.where(np.arange(50) < 45, -1)
    assert parts.node_data["_N"]["age"].compute().tolist() == ages[own].tolist()
    assert set(own[parts.node_data["_N"]["train_mask"].compute() == 1]) == set(names[:20])
    rows = parts.node_data["_N"]["town"]
    parts.to_original("_N", rows, "towns.parquet", decode="town", **HOW)
    towns = pd.read_parquet("towns.parquet").set_index("id").value
    assert towns.to_dict() == users.set_index("id").town.to_dict()
    assert parts.verify().ok
    np.save("scores.npy", np.arange(50.0))  # by row: in the order of the ID map
    assert call("add", "parts", "--node-data", "score=scores.npy", "--quiet") == 0
    parts = dgp.open_partitions("parts")
    scores = parts.to_original("_N", parts.node_data["_N"]["score"], **HOW)
    assert scores.compute().tolist() == np.arange(50.0).tolist()
    assert call("add", "parts", "--node-data", "year=some.csv:age", "--quiet") == 2


@pytest.mark.parametrize("stage", ["read-owners", "copy-arrays", "place-rows", "hash-files"])
def test_a_stopped_run_continues_to_the_same_bytes(stage: str, tmp_path: Path) -> None:
    dgp.partition(graph_with(BOTH), tmp_path / "expected", 3, method="random", layout="dgl,ranks", **HOW)
    parts = dgp.partition(graph_with(OLD), tmp_path / "parts", 3, method="random", layout="dgl,ranks", **HOW)
    with pytest.raises(Stopped):
        parts.add_node_data(NEW, progress=Listener(stage), **HOW)
    assert dgp.open_partitions(tmp_path / "parts").node_data["user"]["x"].shape == (40, 3)
    dgp.open_partitions(tmp_path / "parts").add_node_data(NEW, **HOW)
    assert content_of(tmp_path / "parts") == content_of(tmp_path / "expected")


@pytest.mark.parametrize(
    ("node_data", "message"),
    [
        ({"user": {"x": np.zeros(40)}}, r"the partitions have this feature: user/x"),
        ({"user": {"y": np.zeros(39)}}, r"39"),
        ({"user": {"y": da.zeros(41, chunks=41)}}, r"41"),
        ({"users": {"y": np.zeros(40)}}, r"unknown node type 'users'"),
        ({"user": {"y": np.zeros(40, np.complex64)}}, r"complex64"),
        ({"user": {"y": np.zeros((40, 2, 2))}}, r"layout ranks cannot hold this feature"),
        ({}, r"no features"),
    ],
)
def test_what_cannot_be_added_is_refused_and_changes_nothing(node_data: Any, message: str, tmp_path: Path) -> None:
    parts = dgp.partition(graph_with(OLD), tmp_path / "parts", 2, method="random", layout="dgl,ranks", **HOW)
    before = file_hashes(tmp_path / "parts")
    with pytest.raises(GraphPartError, match=message):
        parts.add_node_data(node_data, **HOW)
    assert file_hashes(tmp_path / "parts") == before


@pytest.mark.parametrize("layout", ["ranks", "parquet"])
def test_hot_rows_would_lack_the_features(layout: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"objtype": "fetch", "fanouts": (2, 2), "layout_options": {"hot_rows": "20%"}, **HOW}
    parts = dgp.partition(graph_with(OLD), tmp_path, 2, layout=("dgl", layout), **how)
    before = file_hashes(tmp_path)
    with pytest.raises(GraphPartError, match="hot rows are kept beside these parts"):
        parts.add_node_data(NEW, **HOW)
    assert file_hashes(tmp_path) == before


def test_few_rows_and_partitions_of_others_are_refused(tmp_path: Path) -> None:
    parts = dgp.partition(graph_with(OLD), tmp_path, 2, method="random", **HOW)
    few = {ntype: {name: rows[:1] for name, rows in of.items()} for ntype, of in NEW.items()}
    with pytest.raises(GraphPartError, match="Give one row per node, in the order of their original IDs"):
        parts.add_node_data(few, **HOW)
    (tmp_path / "graph.manifest.json").unlink()
    with pytest.raises(GraphPartError, match="There is no manifest"):
        parts.add_node_data(NEW, **HOW)
