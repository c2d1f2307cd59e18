"""Graphs that are changed: any job takes them, and makes of them what `build` with the options and a job make."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
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
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL = Resources(1 << 28, "sync", 1)
FOLLOWS, LIKES = "user:follows:user", "user:likes:item"
RNG = np.random.default_rng(5)
ENDS = {FOLLOWS: RNG.integers(0, 40, (2, 500)), LIKES: RNG.integers(0, 30, (2, 700))}
NODES = {"user": 40, "item": 30}
DATA = {"user": {"x": RNG.random((40, 3), np.float32)}, FOLLOWS: {"w": RNG.random(500)}}
KINDS = RNG.integers(0, 3, 700)
DTYPES = {"user/x": "float16", "kind": "int8"}
CHANGES: dict[str, tuple[Callable[[dgp.Graph], dgp.Graph | dgp.Scan], dict[str, Any]]] = {
    "reverse edges": (lambda g: g.with_reverse_edges(), {"add_reverse": "dgl"}),
    "reverse edges with features": (
        lambda g: g.with_reverse_edges("{}-by", copy_edge_data=True),
        {"add_reverse": "{}-by", "copy_edge_data": True},
    ),
    "self-loops": (lambda g: g.without_self_loops(), {"remove_self_loops": True}),
    "duplicates": (lambda g: g.without_duplicates(), {"deduplicate": True}),
    "self-loops of one type": (lambda g: g.without_self_loops(FOLLOWS), {"remove_self_loops": FOLLOWS}),
    "duplicates of one type": (lambda g: g.without_duplicates(LIKES), {"deduplicate": [LIKES]}),
    "both of several": (
        lambda g: g.without_duplicates([FOLLOWS]).without_self_loops(FOLLOWS).without_duplicates(LIKES),
        {"deduplicate": (FOLLOWS, LIKES), "remove_self_loops": True},
    ),
    "added self-loops": (lambda g: g.with_self_loops(), {"add_self_loops": True}),
    "dtypes": (lambda g: g.astype(DTYPES), {"cast": DTYPES}),
    "split": (lambda g: g.split_edges(LIKES, by="kind"), {"edge_types_from": {LIKES: "kind"}}),
    "all": (
        lambda g: (
            g.astype({"x": "float16"}).split_edges(LIKES, by="kind").with_reverse_edges("graphstorm")
            .without_duplicates().without_self_loops().with_self_loops()
        ),
        {"cast": {"x": "float16"}, "edge_types_from": {LIKES: "kind"}, "add_reverse": "graphstorm", "deduplicate": True,
         "remove_self_loops": True, "add_self_loops": True},
    ),
}  # fmt: skip


def given(directory: Path, form: str) -> dgp.Graph:
    """The same graph in files, in arrays, or in collections of dask."""
    node_data, edge_data = {"user": DATA["user"]}, {FOLLOWS: DATA[FOLLOWS], LIKES: {"kind": KINDS}}
    arrays = dgp.from_edges(ENDS, num_nodes=NODES, node_data=node_data, edge_data=edge_data)
    if form == "arrays":
        return arrays
    if form == "dask":
        frames = {
            etype: dd.from_pandas(pd.DataFrame(ends.T, columns=["src", "dst"]), 3) for etype, ends in ENDS.items()
        }
        lazy: dict[Any, Any] = {
            of: {n: da.from_array(rows, chunks=90) for n, rows in data.items()} for of, data in edge_data.items()
        }
        return dgp.from_edges(frames, num_nodes=NODES, node_data=node_data, edge_data=lazy)
    return arrays.write_chunked(directory / form, num_chunks=3, edge_format=form, **spelled(SMALL))


@pytest.mark.parametrize(
    ("name", "form"),
    [*((name, "csv") for name in CHANGES), *(("all", form) for form in ("parquet", "numpy", "arrays", "dask"))],
)
def test_parts_of_a_changed_graph_are_those_by_chunk(name: str, form: str, tmp_path: Path) -> None:
    change, options = CHANGES[name]
    graph = given(tmp_path, form)
    dgp.chunk_graph(graph, "graph", output_path=tmp_path / "changed", **spelled(SMALL), **options)
    how: dict[str, Any] = {"method": "random", **spelled(SMALL)}
    dgp.partition(tmp_path / "changed", tmp_path / "expected", 3, **how)
    dgp.partition(change(graph), tmp_path / "found", 3, **how)
    found, expected = (
        {name: value for name, value in file_hashes(tmp_path / out).items() if not name.startswith("graph.manifest")}
        for out in ("found", "expected")
    )
    assert found == expected


def test_every_job_takes_a_changed_graph(tmp_path: Path) -> None:
    scan = given(tmp_path, "csv").without_duplicates().with_reverse_edges(copy_edge_data=True)
    how: dict[str, Any] = spelled(SMALL)
    graph = scan.collect(**how)
    assert scan.collect_schema(**how) == graph.schema
    assert dgp.plan(scan, 2, **how).num_edges == graph.schema.num_edges
    assignment = dgp.assign(scan, 2, **how)
    parts = dgp.dispatch(scan, assignment, tmp_path / "parts", **how)
    assert parts.verify(scan, **how).ok
    assert not parts.verify(tmp_path / "csv", **how).ok
    owned = assignment.with_owners(graph)["item:rev_likes:user"].compute()
    assert len(owned) == len(np.unique(ENDS[LIKES], axis=1).T)
    written = assignment.write(tmp_path / "owners", **how)
    assert dgp.read_assignment(written, graph, **how).num_parts == 2


def test_changes_are_made_in_their_order() -> None:
    graph = dgp.from_edges({"n:r:n": ([0, 1, 1], [1, 0, 0])}, num_nodes=2)
    scans = graph.without_duplicates().with_reverse_edges(), graph.with_reverse_edges().without_duplicates()
    before, after = (scan.collect() for scan in scans)
    assert before.edges["n:r:n"].compute().to_numpy().tolist() == [[0, 1], [1, 0], [1, 0], [0, 1]]
    assert after.edges["n:r:n"].compute().to_numpy().tolist() == [[0, 1], [1, 0]]
    without = graph.with_self_loops().without_self_loops().collect()
    assert without.edges["n:r:n"].compute().to_numpy().tolist() == [[0, 1], [1, 0], [1, 0]]


def test_one_edge_type_loses_its_loops_and_repeats() -> None:
    ends = ([0, 0, 1, 1], [1, 1, 1, 0])
    graph = dgp.from_edges({"a:r:a": ends, "a:s:a": ends, "a:t:b": ends}, num_nodes={"a": 2, "b": 2})

    def counts(scan: dgp.Scan) -> dict[str, int]:
        return {kind.name: kind.num_edges for kind in scan.collect_schema().edge_types}

    assert counts(graph.without_duplicates("a:r:a")) == {"a:r:a": 3, "a:s:a": 4, "a:t:b": 4}
    assert counts(graph.without_self_loops(("a", "s", "a"))) == {"a:r:a": 4, "a:s:a": 3, "a:t:b": 4}
    assert counts(graph.without_duplicates(["a:r:a", "a:t:b"]).without_self_loops()) == dict(
        zip(graph.schema.etypes, (2, 3, 3), strict=True)
    )
    reverse = graph.with_reverse_edges("{}-by").without_duplicates("b:t-by:a")
    assert counts(reverse) == {**dict.fromkeys(counts(reverse), 4), "b:t-by:a": 3}
    with pytest.raises(GraphPartError, match=r"deduplicate: unknown edge type 'a:q:a'.*Choose from a:r:a"):
        graph.without_duplicates("a:q:a")
    assert counts(graph.with_self_loops("a:r:a").with_self_loops("a:s:a")) == {"a:r:a": 5, "a:s:a": 5, "a:t:b": 4}
    for change in (graph.without_self_loops, graph.with_self_loops):
        with pytest.raises(GraphPartError, match="a:t:b has no self-loops"):
            change("a:t:b")


def test_a_changed_graph_is_shown_before_it_is_read_and_travels() -> None:
    scan = pickle.loads(pickle.dumps(dgp.from_edges(([0, 1], [1, 1]), num_nodes=2).without_self_loops()))
    assert "not read yet" in repr(scan)
    assert "remove-self-loops" in scan._repr_html_()
    graph = scan.collect()
    assert graph.schema.num_edges == 1
    assert "not read yet" not in repr(graph)


def test_features_beside_a_scan_take_a_graph_that_is_collected(tmp_path: Path) -> None:
    scan = dgp.from_edges(([0, 1], [1, 1]), num_nodes=2).without_self_loops()
    with pytest.raises(OptionError, match="collect"):
        dgp.chunk_graph(scan, "g", {"x": np.arange(2)}, output_path=tmp_path / "g", **spelled(SMALL))
    dgp.chunk_graph(scan.collect(), "g", {"x": np.arange(2)}, output_path=tmp_path / "g", **spelled(SMALL))
    written = dgp.read_chunked(tmp_path / "g")
    assert written.schema.num_edges == 1
    assert written.node_data["_N"]["x"].compute().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "option"),
    [
        (lambda g: g.astype({"user/y": "float16"}), "cast"),
        (lambda g: g.astype({"user/x": "float8"}), "cast"),
        (lambda g: g.split_edges("user:hates:item", by="kind"), "edge_types_from"),
        (lambda g: g.split_edges(LIKES, by="kinds"), "edge_types_from"),
        (lambda g: g.with_reverse_edges("back"), "add_reverse"),
    ],
)
def test_an_impossible_change_is_refused_at_once(change: Any, option: str, tmp_path: Path) -> None:
    with pytest.raises(GraphPartError) as caught:
        change(given(tmp_path, "arrays"))
    assert caught.value.option == option


def test_a_stopped_job_on_a_changed_graph_continues_to_the_same_bytes(tmp_path: Path) -> None:
    given(tmp_path, "csv")
    graph, how = dgp.read_chunked(tmp_path / "csv").without_duplicates(), {"method": "random", **spelled(SMALL)}
    dgp.partition(graph, tmp_path / "whole", 3, **how)
    with pytest.raises(Stopped):
        dgp.partition(graph, tmp_path / "parts", 3, progress=Listener("bucket-edges"), **how)
    again = dgp.read_chunked(tmp_path / "csv").without_duplicates()
    with pytest.raises(GraphPartError):
        dgp.partition(again.without_self_loops(), tmp_path / "parts", 3, **how)
    dgp.partition(again, tmp_path / "parts", 3, **how)
    assert file_hashes(tmp_path / "parts") == file_hashes(tmp_path / "whole")


def test_commands_change_a_chunked_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(tmp_path, "csv")
    monkeypatch.chdir(tmp_path)
    options = ("--add-reverse", "dgl", "--deduplicate")
    how = ("--num-parts", "2", "--method", "random", "--cluster", "sync", "--quiet")
    assert call("build", "changed", "--graph", "csv", *options, "--quiet") == 0
    assert call("partition", "changed", "expected", *how) == 0
    assert call("partition", "csv", "parts", *options, *how) == 0
    assert call("assign", "csv", "owners", *options, *how) == 0
    assert call("dispatch", "csv", "owners", "dispatched", *options, "--quiet") == 0
    assert call("plan", "csv", "--num-parts", "2", *options) == 0
    assert call("verify", "csv", "parts", *options, "--quiet") == 0
    assert call("verify", "csv", "parts", "--quiet") == 1
    expected = file_hashes(tmp_path / "expected")
    for out in ("parts", "dispatched"):
        found = file_hashes(tmp_path / out)
        assert {name for name in expected if found.get(name) != expected[name]} <= {"graph.manifest.json"}
