"""Weights of edges: joined with the edges, in units of a power of two, minded by every method and measured."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from commands import call
from graphs import Graph
from hypothesis import example, given, settings
from hypothesis import strategies as st
from inside import METHODS, AssignOptions, Resources, open_runner
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.partitioner.adjacency.build_adjacency import build_adjacency

FRIENDS, LIKES = "u:knows:u", "u:likes:v"
NODES = NodeType("u", 40), NodeType("v", 30)
SCHEMA = GraphSchema("g", NODES, (EdgeType("u", "knows", "u", 300), EdgeType("u", "likes", "v", 200)))
MEMORY = Resources(1 << 28, "sync")


def two_types(weights: np.ndarray) -> Graph:
    """A graph whose first type of edges has these weights; its second has none that are used."""
    rng = np.random.default_rng(1)
    edges = {
        FRIENDS: (rng.integers(0, 40, weights.size), rng.integers(0, 40, weights.size)),
        LIKES: (rng.integers(0, 40, 200), rng.integers(0, 30, 200)),
    }
    schema = replace(SCHEMA, edge_types=(EdgeType("u", "knows", "u", weights.size), SCHEMA.edge_types[1]))
    return Graph(schema, edges, {}, {FRIENDS: {"w": weights}, LIKES: {"w": np.arange(200)}})


def in_units(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """By the definition: the largest power of two that divides all weights and 1, or the largest over 2 ** 20."""
    largest = 2.0 ** math.frexp(max(1.0, float(weights.max())))[1]
    unit = largest
    while 1 % unit or np.any(weights.astype(float) % unit):
        unit /= 2
    unit = max(unit, largest / 2**20)
    return np.maximum(np.rint(weights.astype(float) / unit), 1), unit


@settings(max_examples=20)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["float16", "float32", "float64", "int64", "uint8"]),
    st.sampled_from([0.25, 1, 3, 1e9]),
    st.sampled_from(["csv", "parquet"]),
    st.just(300),
)
@example(1, "float32", 3, "csv", 200_000)  # more than fit into one task, or one block of the adjacency
@example(2, "int64", 1, "parquet", 200_000)
def test_weights_of_parallel_edges_in_both_directions_are_added(
    seed: int, dtype: str, scale: float, form: str, count: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 80, count) * (scale if scale < 1e9 or dtype == "float64" else 1)
    weights = np.maximum(weights, 1).astype(dtype) if dtype in ("int64", "uint8") else weights.astype(dtype)
    graph, (units, unit) = two_types(weights), in_units(weights)
    expected = np.zeros((70, 70), np.int64)
    for (src, dst), more, each in zip(graph.edges.values(), (0, 40), (units, 1 / unit), strict=True):
        np.add.at(expected, (src, dst + more), np.maximum(np.rint(each), 1).astype(int))
    loops = int(np.trace(expected))
    total, expected = int(expected.sum()), expected + expected.T
    np.fill_diagonal(expected, 0)
    with TemporaryDirectory() as scratch, open_runner(Resources(1 << 23, "sync")) as runner:
        opened = dgp.read_chunked(graph.write(Path(scratch) / "graph", edge_format=form, num_chunks=3))
        built = build_adjacency(opened, Path(scratch) / "adjacency", runner, [f"{FRIENDS}/w"])
        assert built.weight_unit == unit
        assert built.input_weight == total
        assert built.total_weight == 2 * (total - loops)
        for block in built.blocks:
            indptr, indices, found = block.read()
            rows = np.repeat(np.arange(block.start, block.stop), np.diff(indptr))
            assert np.array_equal(found if found.size else np.ones(rows.size), expected[rows, indices])
        assert sorted(path.suffix for path in (Path(scratch) / "adjacency").iterdir()).count(".npy") == 1


def grid(weights: np.ndarray | None) -> Graph:
    """A grid of 30 by 30 nodes: without weights it is cut anywhere, with `heavy_rows` along the columns."""
    nodes = np.arange(900).reshape(30, 30)
    src = np.concatenate([nodes[:, :-1].ravel(), nodes[:-1].ravel()])
    dst = np.concatenate([nodes[:, 1:].ravel(), nodes[1:].ravel()])
    schema = GraphSchema("grid", (NodeType("n", 900),), (EdgeType("n", "to", "n", src.size),))
    return Graph(schema, {"n:to:n": (src, dst)}, {}, {} if weights is None else {"n:to:n": {"w": weights}})


HEAVY_ROWS = np.repeat([50.0, 0.5], 870)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "random"])
def test_every_method_cuts_light_edges(method: str, tmp_path: Path) -> None:
    directory = grid(HEAVY_ROWS).write(tmp_path / "graph")
    options = AssignOptions(method, balance="nodes", edge_weight="w", passes=8)
    report = dgp.assign(directory, 3, **spelled(options), **spelled(MEMORY)).quality
    assert report is not None and report.weighted is not None
    assert report.weighted.total == HEAVY_ROWS.sum()
    assert report.weighted.share < 0.2 * report.cut_share
    owners = dgp.assign(directory, 3, **spelled(options), **spelled(MEMORY)).owners["n"].compute()
    src, dst = grid(None).edges["n:to:n"]
    is_cut = owners[src] != owners[dst]
    assert report.num_cut_edges == np.count_nonzero(is_cut)
    assert report.weighted.cut == HEAVY_ROWS[is_cut].sum()


@pytest.mark.parametrize("method", ["auto", "multilevel", "fennel"])
def test_weights_of_one_and_powers_of_two_change_nothing(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    found = []
    weights = rng.random(1740).astype(np.float32) + 0.01
    for name, these in (
        ("none", None), ("ones", np.ones(1740)), ("eights", np.full(1740, 8)),
        ("random", weights), ("scaled", weights * np.float32(2.0**-30)),
    ):  # fmt: skip
        options = AssignOptions(method, effort="low", edge_weight=() if these is None else ("n:to:n/w",))
        directory = grid(these).write(tmp_path / name, data_format="parquet" if name == "scaled" else "numpy")
        found.append(dgp.assign(directory, 4, **spelled(options), **spelled(MEMORY)).owners["n"].compute())
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert np.array_equal(found[3], found[4])


def test_weights_of_collections_are_those_of_files(tmp_path: Path) -> None:
    graph = grid(HEAVY_ROWS)
    src, dst = graph.edges["n:to:n"]
    frame = dd.from_pandas(pd.DataFrame({"src": src, "dst": dst}), npartitions=3)
    lazy = dgp.from_edges(
        {"n:to:n": frame}, num_nodes={"n": 900}, edge_data={"n:to:n": {"w": da.from_array(HEAVY_ROWS, chunks=500)}}
    )
    options = AssignOptions("metis", edge_weight="n:to:n/w")
    found = [
        dgp.assign(g, 4, **spelled(options)).owners["n"].compute() for g in (lazy, graph.write(tmp_path / "graph"))
    ]
    assert np.array_equal(*found)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_weight_that_is_none_is_named_with_file_and_row(bad: float, tmp_path: Path) -> None:
    weights = HEAVY_ROWS.copy()
    weights[1000] = bad
    directory = grid(weights).write(tmp_path / "graph", num_chunks=2)
    with pytest.raises(InputFileError, match=r"row 130: invalid edge weight") as caught:
        dgp.assign(directory, 2, method="fennel", edge_weight="w")
    assert str(bad) in str(caught.value) and "n:to:n/w" in str(caught.value) and ".npy" in str(caught.value)


BAD_TABLE = "src,dst,w,k\n0,1,1,a\n1,2,{},b\n2,3,0.5,a\n3,0,1,b\n"


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "1e400"])
def test_a_bad_weight_of_a_table_is_named_with_its_line_and_the_job_leaves_nothing(
    bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.csv").write_text(BAD_TABLE.format(bad))
    words = ("--edges", tmp_path / "e.csv", "--edge-features", "w", "--edge-weight", "w", "--num-parts", "2")
    for command in ("partition", "assign"):
        assert call(command, *words, tmp_path / "out") == 2
        error = capsys.readouterr().err
        assert "e.csv, line 3, column 'w': invalid edge weight: _N:_E:_N/w" in error and f"found '{bad}'" in error
        assert not any((tmp_path / "out").iterdir())
    assert call("plan", *words) == 2


@pytest.mark.parametrize(
    ("changes", "weight", "words"),
    [
        (("--deduplicate",), "w", "row 1: invalid edge weight: _N:_E:_N/w"),
        (("--edge-types-from", "k"), "_N:b:_N/w", "row 0: invalid edge weight: _N:b:_N/w"),
        (("--add-reverse", "dgl"), "w", "line 3, column 'w': invalid edge weight: _N:_E:_N/w"),
        (("--cast", "w=float16"), "w", "row 1: invalid edge weight: _N:_E:_N/w"),
    ],
)
def test_a_bad_weight_of_changed_edges_is_the_users_value(
    changes: tuple[str, ...], weight: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.csv").write_text(BAD_TABLE.format("1e-30" if "--cast" in changes else 0))
    given = ("--edges", tmp_path / "e.csv", "--edge-features", "w", "--edge-weight", weight, *changes)
    assert call("partition", *given, tmp_path / "out", "--num-parts", "2") == 2
    assert words in (error := capsys.readouterr().err) and "damaged" not in error
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize("is_lazy", [False, True])
def test_a_bad_weight_of_a_frame_is_named_with_its_row(is_lazy: bool, tmp_path: Path) -> None:
    frame = pd.DataFrame({"src": range(900), "dst": range(1, 901), "w": np.arange(1, 901.0)})
    frame.loc[700, "w"] = -0.5
    given = dd.from_pandas(frame, npartitions=3) if is_lazy else frame
    with pytest.raises(InputFileError, match=r"column 'w': invalid edge weight: _N:_E:_N/w.*found '-0.5'"):
        dgp.partition(dgp.scan_tables(given, edge_features=("w",)), tmp_path / "out", 2, edge_weight="w")


def test_weights_of_rows_that_are_left_out_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"{BAD_TABLE.format(2)}9,1,-1,a\n2,2,0,a\n")
    (tmp_path / "n.csv").write_text("id\n0\n1\n3\n2\n")
    how: dict[str, Any] = {"edge_features": ("w",), "map_ids": True, "nodes": {"_N": tmp_path / "n.csv"}}
    left = dgp.scan_tables(tmp_path / "e.csv", **how, unknown_nodes="drop").without_self_loops()
    assert dgp.assign(left, 2, method="fennel", edge_weight="w").owners


def test_text_is_no_weight_of_edges_or_nodes(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(BAD_TABLE.format(2))
    (tmp_path / "n.csv").write_text("id,size\n0,a\n1,b\n2,a\n3,b\n")
    table = dgp.scan_tables(
        tmp_path / "e.csv", edge_features=("w", "k"), node_data={"size": f"{tmp_path}/n.csv:id:size"}
    )
    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 0], "k": pd.Categorical(["a", "b"])})
    chunked = table.write_chunked(tmp_path / "graph")
    for graph in (table, chunked, dgp.scan_tables(frame, edge_features=("k",))):
        with pytest.raises(OptionError, match=r"edge_weight: _N:_E:_N/k holds text, which cannot be a weight"):
            dgp.assign(graph, 2, method="fennel", edge_weight="k")
    for graph in (table, chunked):
        with pytest.raises(OptionError, match=r"balance: _N/size holds text, which cannot be a weight"):
            dgp.assign(graph, 2, method="fennel", balance="weight:_N/size")
        dgp.assign(graph, 2, method="fennel", balance="nodes,types:_N/size")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"edge_weight": "u:knows:u/x"}, "unknown edge feature 'u:knows:u/x'.*Choose from u:knows:u/w, u:likes:v/w"),
        ({"edge_weight": "w"}, "unknown edge feature 'w'"),
        ({"edge_weight": (f"{FRIENDS}/w", f"{FRIENDS}/w")}, "two weights of 'u:knows:u' edges"),
        ({"edge_weight": f"{FRIENDS}/w", "method": "metis", "objtype": "vol"}, "communication volume"),
    ],
)
def test_what_cannot_be_weights_is_refused_before_work(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    directory = two_types(np.ones(300)).write(tmp_path / "graph")
    with pytest.raises(OptionError, match=words):
        dgp.plan(directory, 2, **options)
    wide = Graph(SCHEMA, two_types(np.ones(300)).edges, {}, {FRIENDS: {"w": np.ones((300, 2))}})
    with pytest.raises(OptionError, match=r"cannot be an edge weight: expected one number per edge"):
        dgp.plan(wide.write(tmp_path / "wide"), 2, edge_weight=f"{FRIENDS}/w")


def test_the_plan_counts_the_bytes_of_weights(tmp_path: Path) -> None:
    directory = two_types(np.ones(300)).write(tmp_path / "graph")
    plain, weighted = (
        dgp.plan(directory, 2, method="fennel", edge_weight=names) for names in ((), [f"{FRIENDS}/w", f"{LIKES}/w"])
    )
    of_file, of_arc_to_merge, of_arc = 8, 4, 3
    assert weighted.workspace_nbytes == plain.workspace_nbytes + 500 * (of_file + 2 * of_arc_to_merge + 2 * of_arc)


def test_commands_take_several_and_show_both_cuts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    edges, names = two_types(np.ones(300)).edges, (f"{FRIENDS}/w", f"{LIKES}/w")
    graph = Graph(SCHEMA, edges, {}, {FRIENDS: {"w": np.arange(1, 301)}, LIKES: {"w": np.arange(1, 201)}})
    directory = graph.write(tmp_path / "graph")
    words = ("--edge-weight", names[0], "--edge-weight", names[1], "--report", tmp_path / "report.json")
    assert call("assign", directory, tmp_path / "owners", "--num-parts", "2", "--method", "random", *words) == 0
    assert "of their weight" in capsys.readouterr().out
    assert "--edge-weight has no effect" in caplog.text
    caplog.clear()
    extended = ("assign", directory, tmp_path / "new", "--num-parts", "2", "--extend", tmp_path / "owners")
    assert call(*extended, *words[:4]) == 0
    assert "--edge-weight has no effect" not in caplog.text
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["weighted"]["total"] == 300 * 301 / 2 + 200 * 201 / 2
    (compared,) = dgp.compare(directory, 2, "fennel", edge_weight=names)
    assert not compared.fault
