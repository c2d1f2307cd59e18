"""Graphs of the user's dask collections, the keys of tasks, and the join with owners."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.callbacks import Callback
from edge_lists import chunk_edge_lists
from graphs import Graph, file_hashes
from inside import AssignOptions, Resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError, MetadataError, OptionError

if TYPE_CHECKING:
    from pathlib import Path

RESOURCES = Resources(1 << 28, "sync")
WRITES, CITES = "author:writes:paper", "paper:cites:paper"
NUM_NODES = {"author": 50, "paper": 80}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two edge types, features of nodes and edges, masks."""
    rng = np.random.default_rng(1)
    node_types = tuple(dgp.NodeType(*item) for item in NUM_NODES.items())
    edge_types = dgp.EdgeType("author", "writes", "paper", 400), dgp.EdgeType("paper", "cites", "paper", 300)
    edges = {
        t.name: (rng.integers(NUM_NODES[t.src], size=t.num_edges), rng.integers(80, size=t.num_edges))
        for t in edge_types
    }
    nodes = {"paper": {"x": rng.random((80, 3), np.float32), "train_mask": rng.random(80) < 0.3}}
    return Graph(dgp.GraphSchema("g", node_types, edge_types), edges, nodes, {CITES: {"w": rng.integers(9, size=300)}})


@pytest.fixture(scope="module")
def directory(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graph.write(tmp_path_factory.mktemp("in") / "graph", edge_format="csv", num_chunks=3)


def frame_of(graph: Graph, etype: str, dtype: str, npartitions: int) -> Any:
    src, dst = graph.edges[etype]
    return dd.from_pandas(pd.DataFrame({"dst": dst, "src": src}).astype(dtype), npartitions=npartitions, sort=False)


def collections_of(graph: Graph, dtype: str, npartitions: int, chunks: int) -> dgp.Graph:
    def arrays(data: Any) -> Any:
        return {t: {name: da.from_array(rows, chunks=chunks) for name, rows in of.items()} for t, of in data.items()}

    frames = {etype: frame_of(graph, etype, dtype, npartitions) for etype in (WRITES, CITES)}
    found = dgp.from_edges(
        frames, num_nodes=NUM_NODES, node_data=arrays(graph.node_data), edge_data=arrays(graph.edge_data), name="g"
    )
    assert found.directory == "" and not found.files
    return found


@pytest.mark.parametrize(
    ("dtype", "npartitions", "chunks", "method"),
    [("int64", 1, 1000, "random"), ("uint8", 7, 2, "random"), ("Int32", 3, 40, "fennel")],
)
def test_frames_of_any_partitioning_give_the_bytes_of_files(
    dtype: str, npartitions: int, chunks: int, method: str, graph: Graph, directory: Path, tmp_path: Path
) -> None:
    mine = collections_of(graph, dtype, npartitions, chunks)
    balance = ("nodes=0.5", "types:paper/train_mask=0.5") if method != "random" else None
    options = AssignOptions(method, balance=balance)
    how: dict[str, Any] = {**spelled(options), "num_hops": 2, **spelled(RESOURCES)}
    dgp.partition(directory, tmp_path / "files", 3, **how)
    dgp.partition(mine, tmp_path / "frames", 3, **how)
    assert file_hashes(tmp_path / "frames") == file_hashes(tmp_path / "files")


COLUMNS = {
    "int64": np.arange(300) - 150,
    "bool": np.arange(300) % 3 == 0,
    "float16": np.arange(300) / 4,
    "float32": np.where(np.arange(300) % 7, np.arange(300), np.nan),
    "Int64": np.arange(300),
    "boolean": np.arange(300) % 2 == 0,
    "int8[pyarrow]": np.arange(300) % 100,
    "category": np.arange(300) % 5,
}


def test_other_columns_of_a_frame_are_features_of_its_edges_as_in_chunk_graph(graph: Graph, tmp_path: Path) -> None:
    src, dst = graph.edges[CITES]
    frame = pd.DataFrame({"src": src} | {name: pd.Series(of).astype(name) for name, of in COLUMNS.items()} | {7: dst})
    edges, how = {CITES: dd.from_pandas(frame.assign(dst=dst), npartitions=4)}, {"num_nodes": {"paper": 80}}
    dgp.chunk_graph(edges, "g", output_path=tmp_path / "chunked", **spelled(RESOURCES), **how)
    mine, written = dgp.from_edges(edges, name="g", **how), dgp.read_chunked(tmp_path / "chunked")
    assert mine.schema == written.schema
    assert [spec.name for spec in mine.schema.edge_types[0].data] == [*COLUMNS, "7"]
    dgp.partition(mine, tmp_path / "a", 3, method="random", **spelled(RESOURCES))
    dgp.partition(written, tmp_path / "b", 3, method="random", **spelled(RESOURCES))
    assert file_hashes(tmp_path / "a") == file_hashes(tmp_path / "b")
    assert mine.edges[CITES].columns.tolist() == ["src", "dst"]
    np.testing.assert_array_equal(mine.edge_data[CITES]["float32"].compute(scheduler="sync"), COLUMNS["float32"])


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (["a", "b", "c"], "not numbers.*found (str|object)"),
        (pd.to_datetime(["2026-01-01"] * 3), "not numbers.*found datetime64"),
        ([1j, 2j, 3j], "not numbers.*found complex128"),
        (pd.Categorical(["x", "y", "x"]), "not numbers"),
        (np.array([1, 2, 3], np.uint16), "dtype DGL cannot load.*found uint16"),
    ],
)
def test_columns_that_are_no_numbers_are_the_same_error_as_in_chunk_graph(
    column: Any, found: str, tmp_path: Path
) -> None:
    frame = dd.from_pandas(pd.DataFrame({"src": [0, 1, 2], "dst": 0, "c": column}), npartitions=1)
    with pytest.raises(OptionError, match=f"c.*{found}"):
        dgp.from_edges({"n:e:n": frame}, num_nodes={"n": 3})
    with pytest.raises(OptionError, match="c.*" + found.partition(".*found")[0]):
        dgp.chunk_graph({"n:e:n": frame}, "g", output_path=tmp_path / "out", num_nodes={"n": 3}, **spelled(RESOURCES))


def test_series_and_frames_of_dask_are_features(graph: Graph, tmp_path: Path) -> None:
    edges = frame_of(graph, CITES, "int64", 3)
    rows = pd.DataFrame({"x": np.arange(80.0), "y": np.arange(80.0)[::-1]})
    nodes = dd.from_pandas(rows, npartitions=5)
    weights = dd.from_pandas(pd.DataFrame({"w": np.arange(300)}), npartitions=2)
    mine = dgp.from_edges(
        {CITES: edges},
        node_data={"paper": {"one": nodes["x"], "two": nodes}},
        edge_data={("paper", "cites", "paper"): {"w": weights["w"]}},
    )
    assert [(s.name, s.row_shape) for s in mine.schema.node_types[0].data] == [("one", ()), ("two", (2,))]
    out = tmp_path / "out"
    dgp.partition(mine, out, 3, method="random", **spelled(RESOURCES))
    parts = dgp.open_partitions(out)
    ids = parts.nodes["paper"].original_ids[:]
    np.testing.assert_array_equal(parts.nodes["paper"].data["two"][:], rows.to_numpy()[ids])
    np.testing.assert_array_equal(parts.edges[CITES].data["w"][:], parts.edges[CITES].original_ids[:])


def test_rows_of_another_dtype_than_dask_was_told_are_one_error_with_their_partition(tmp_path: Path) -> None:
    edges = dd.from_pandas(
        pd.DataFrame({"src": [0] * 6, "dst": 1, "i": pd.array([1, 2, 3, 4, None, 6])}), npartitions=2
    )
    halves = da.from_delayed(dask.delayed(lambda: np.full(2, 1.5))(), (2,), np.int64)
    for how, place in (
        ({"num_nodes": {"n": 2}}, "partition 1 of 'n:e:n/i'"),
        ({"node_data": {"n": {"x": halves}}}, "partition 0 of 'n/x'"),
    ):
        frame = edges if "num_nodes" in how else edges[["src", "dst"]]
        mine = dgp.from_edges({"n:e:n": frame}, **how)
        with pytest.raises(InputFileError, match=r"another dtype.*expected int64, found float64") as caught:
            dgp.partition(mine, tmp_path / "out", 2, method="random", **spelled(RESOURCES))
        assert caught.value.file == place and caught.value.hint


@pytest.mark.parametrize("count", [500.5, 20.0, float("nan"), 2**80, 2**62, -1, True, "20", None, [20]], ids=repr)
def test_numbers_of_nodes_are_whole(count: Any, graph: Graph, tmp_path: Path) -> None:
    frame, given = frame_of(graph, CITES, "int64", 2), {"paper": count}
    with pytest.raises(OptionError, match="invalid number of nodes: expected a whole number") as caught:
        dgp.from_edges({CITES: frame}, num_nodes=given)
    assert caught.value.place == "num_nodes['paper']"
    with pytest.raises(OptionError, match="invalid number of nodes: expected a whole number"):
        dgp.chunk_graph({CITES: frame}, "g", output_path=tmp_path / "out", num_nodes=given, **spelled(RESOURCES))
    (tmp_path / "edges.csv").write_text("0,1\n")
    with pytest.raises(OptionError, match="invalid number of nodes: expected a whole number"):
        chunk_edge_lists(tmp_path / "out", {CITES: tmp_path / "edges.csv"}, num_nodes=given)
    assert not (tmp_path / "out").exists()


def test_partitions_are_verified_against_collections(graph: Graph, tmp_path: Path) -> None:
    mine, out = collections_of(graph, "int64", 3, 7), tmp_path / "out"
    dgp.partition(mine, out, 3, method="random", **spelled(RESOURCES))
    for sample in (1.0, 0.3):
        assert dgp.verify(mine, out, sample=sample, **spelled(RESOURCES)).findings == ()
    src, dst = graph.edges[WRITES]
    moved = np.where(np.arange(dst.size) == 5, (dst + 1) % 80, dst)
    rows = graph.node_data["paper"]["x"].copy()
    rows[11, 1] += 1
    for other, check, row in (
        (replace(graph, edges={**graph.edges, WRITES: (src, moved)}), "edges", WRITES + ": edge 5 of the input"),
        (replace(graph, node_data={"paper": {**graph.node_data["paper"], "x": rows}}), "features", "input row 11"),
    ):
        (found,) = dgp.verify(collections_of(other, "int64", 4, 9), out, **spelled(RESOURCES)).findings
        assert found.check == check and row in found.what


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (pd.Series([0, 1, 80]), "row 2: .*found 80"),
        (pd.Series([0, -1, 3]), "row 1: .*found -1"),
        (pd.Series([0.0, 1.5, 3.0]), "src: .*expected integers, found dtype float64"),
        (pd.Series([0, None, 3], dtype="Int64"), "src: .*none missing"),
        (pd.Series(["a", "b", "c"]), "src: .*expected integers"),
    ],
)
def test_what_is_no_edge_is_one_error_with_its_place(column: pd.Series, found: str, tmp_path: Path) -> None:
    frames = [pd.DataFrame({"src": column.iloc[:0], "dst": column.iloc[:0]}), pd.DataFrame({"src": column, "dst": 0})]
    edges = dd.from_map(lambda i: frames[i], range(2), meta=frames[0])
    with pytest.raises(InputFileError, match=rf"partition 1 of 'n:e:n', {found}") as caught:
        dgp.partition(dgp.from_edges({"n:e:n": edges}, num_nodes={"n": 80}), tmp_path / "out", 2)
    assert re.search(found, str(caught.value)) and "'n:e:n'" in str(caught.value)
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_collections_that_do_not_fit_are_refused_at_once(graph: Graph) -> None:
    frame, rows = frame_of(graph, CITES, "int64", 2).assign(w=1), da.ones((79, 2))
    twice = {CITES: {"w": da.ones(300)}}
    for error, edges, how in [
        ("not a frame of edges", {CITES: frame[["src"]]}, {"num_nodes": {"paper": 80}}),
        ("Not a graph", 7, {}),
        ("Not a canonical edge type", {"paper:cites": frame}, {"num_nodes": {"paper": 80}}),
        (
            "wrong number of rows",
            {CITES: frame},
            {"num_nodes": {"paper": 80}, "node_data": {"paper": {"x": rows}}},
        ),
        (
            "wrong number of rows",
            {CITES: frame},
            {"num_nodes": {"paper": 80}, "node_data": {"paper": {"x": rows[rows[:, 0] > 0]}}},
        ),
        ("not rows", {CITES: frame}, {"node_data": {"paper": {"x": da.ones(())}}}),
        ("several node types", {WRITES: frame}, {"num_nodes": 80}),
        ("several node types", {WRITES: frame}, {"node_data": {"x": rows}}),
        ("Edge data of an unknown type", {CITES: frame}, {"num_nodes": {"paper": 80}, "edge_data": {WRITES: {}}}),
        ("Feature is given twice", {CITES: frame}, {"num_nodes": {"paper": 80}, "edge_data": twice}),
        (
            "each name once",
            {CITES: frame.assign(**{"7": 0}).rename(columns={"w": 7})},
            {"num_nodes": {"paper": 80}},
        ),
        ("'3' cannot be used", {CITES: frame}, {"num_nodes": {"paper": 80, 3: 1}}),
    ]:
        with pytest.raises((MetadataError, InputFileError, OptionError), match=error):
            dgp.from_edges(edges, **how)


def test_a_collection_that_changes_its_length_is_one_error(tmp_path: Path) -> None:
    lengths = iter([5, 5, 6, 6, 7, 7, 8, 8])

    def changing(_: int) -> pd.DataFrame:
        ids = np.zeros(next(lengths), np.int64)
        return pd.DataFrame({"src": ids, "dst": ids})

    meta = pd.DataFrame({"src": np.empty(0, np.int64), "dst": np.empty(0, np.int64)})
    edges = dd.from_map(changing, range(2), meta=meta)
    mine = dgp.from_edges({"n:e:n": edges}, num_nodes={"n": 1})
    with pytest.raises(InputFileError, match=r"partition \d: .*changed its number of rows.*Persist the collection"):
        dgp.partition(mine, tmp_path / "out", 1, method="random", **spelled(RESOURCES))


def test_the_join_with_owners_is_what_lies_in_the_runs(graph: Graph, directory: Path, tmp_path: Path) -> None:
    assignment = dgp.assign(directory, 3, method="random", **spelled(RESOURCES))
    binary = dgp.read_chunked(graph.write(tmp_path / "binary", edge_format="numpy", num_chunks=2))
    for of_graph in (dgp.read_chunked(directory), collections_of(graph, "int64", 4, 9), binary):
        joined = assignment.with_owners(of_graph)
        assert list(joined) == [WRITES, CITES]
        frame = joined[CITES].compute(scheduler="sync")
        assert list(frame.columns) == ["src", "dst", "owner", "w"]
        assert frame.w.tolist() == graph.edge_data[CITES]["w"].tolist()
        owners = assignment.owners["paper"].compute()
        assert frame.owner.tolist() == owners[graph.edges[CITES][1]].tolist()
        assert frame.owner.dtype == joined[CITES].dtypes["owner"] == np.uint8
        if not of_graph.files or of_graph is binary:  # lines are not counted for an index
            assert of_graph.edges[CITES].partitions[-1].compute(scheduler="sync").index[-1] == 299
    out = tmp_path / "out"
    dgp.dispatch(directory, assignment, out, **spelled(RESOURCES), workspace_options={"keep_workspace": True})
    run = np.load(out / ".daskgraphpart-work" / "runs" / f"{len(list((directory / 'edges').glob('0-*')))}.npy")
    counts = np.bincount(frame.owner[: run.shape[1]], minlength=3)
    assert run.shape[0] == 3 and counts.sum() == run.shape[1]
    # the third row of a run is the place of each edge in its partition, grouped by owner
    assert np.all(np.diff(np.repeat(np.arange(3), counts)) >= 0)


def test_blocksize_is_that_of_read_csv(directory: Path) -> None:
    whole = dgp.read_chunked(directory)
    frames = [whole.edge_frame(WRITES, blocksize=size) for size in (None, "200B", 500)]
    assert frames[0].npartitions == 3 < frames[2].npartitions < frames[1].npartitions
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(
            frame.compute(scheduler="sync").reset_index(drop=True),
            frames[0].compute(scheduler="sync").reset_index(drop=True),
        )


def test_keys_of_tasks_are_readable_and_differ_only_by_the_run(directory: Path, tmp_path: Path) -> None:
    keys: list[list[Any]] = []
    for name in ("a", "b"):
        seen: list[Any] = []
        with Callback(pretask=lambda key, *_, seen=seen: seen.append(key)):
            dgp.partition(directory, tmp_path / name, 2, method="random", **spelled(RESOURCES))
        keys.append(sorted((re.sub("-[0-9a-f]{8}$", "", key[0]), *key[1:]) for key in seen))
        assert all(re.fullmatch(r"[a-z-]+-[0-9a-f]{8}", key[0]) for key in seen)
    assert keys[0] == keys[1]
    assert {("bucket-edges", WRITES, 2), ("bucket-edges", CITES, 0), ("place-rows", "paper/x", 0)} <= set(keys[0])
    assert {key[0] for key in keys[0]} >= {"scan-edges", "count-owners", "build-graph"}


def test_counts_that_nobody_gives_are_taken_from_the_frames_once() -> None:
    computed: list[int] = []

    def part(i: int) -> pd.DataFrame:
        computed.append(i)
        return pd.DataFrame({"src": [i, i + 1], "dst": [9 - i, 0], "w": [0.5, 1.5]})

    frame = dd.from_map(part, range(3), meta=part(0))
    computed.clear()
    graph = dgp.from_edges({("a", "r", "b"): frame}, **spelled(RESOURCES))
    assert sorted(computed) == [0, 1, 2]
    assert {t.name: t.num_nodes for t in graph.schema.node_types} == {"a": 4, "b": 10}
    assert graph.schema.edge_types[0].num_edges == 6


@pytest.mark.parametrize("num_files", [2, 5])
def test_files_whose_columns_dask_reads_in_other_partitions(num_files: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    columns = {"src": rng.integers(0, 90, 30_000), "dst": rng.integers(0, 90, 30_000), "w": rng.random(30_000)}
    whole = pd.DataFrame(columns | {f"x{i}": rng.random(30_000) for i in range(6)})
    (tmp_path / "in").mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(whole)), num_files)):
        whole.iloc[part].to_parquet(tmp_path / "in" / f"{i}.parquet")
    frame = dd.read_parquet(tmp_path / "in")
    assert len(frame["w"].to_delayed()) != frame.npartitions, "dask joins partitions of few columns"
    graph = dgp.from_edges({("a", "r", "b"): frame}, num_nodes={"a": 90, "b": 90}, **spelled(RESOURCES))
    graph.write_chunked(tmp_path / "out")
    found = dgp.read_chunked(tmp_path / "out")
    assert (found.edges["a:r:b"].compute().to_numpy() == whole[["src", "dst"]].to_numpy()).all()
    for name, rows in found.edge_data["a:r:b"].items():
        assert (rows.compute() == whole[name].to_numpy()).all()
    parts = dgp.partition(graph, tmp_path / "parts", 2, method="random", **spelled(RESOURCES))
    assert parts.verify(graph, **spelled(RESOURCES)).ok
