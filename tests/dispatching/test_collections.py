"""Graphs of the user's dask collections, the keys of tasks, and the join with owners."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.callbacks import Callback
from graphs import Graph, file_hashes

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError, MetadataError

if TYPE_CHECKING:
    from pathlib import Path

RESOURCES = dgp.Resources(1 << 28, "sync")
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


def collections_of(graph: Graph, dtype: str, npartitions: int, chunks: int) -> dgp.ChunkedGraph:
    def arrays(data: Any) -> Any:
        return {t: {name: da.from_array(rows, chunks=chunks) for name, rows in of.items()} for t, of in data.items()}

    frames = {etype: frame_of(graph, etype, dtype, npartitions) for etype in (WRITES, CITES)}
    found = dgp.from_collections(
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
    balance = ("nodes", "types:paper/train_mask") if method != "random" else None
    options = dgp.AssignOptions(method, balance=balance, imbalance=0.5)
    how: dict[str, Any] = {"method": options, "options": dgp.DispatchOptions(num_hops=2), "resources": RESOURCES}
    dgp.partition(directory, tmp_path / "files", 3, **how)
    dgp.partition(mine, tmp_path / "frames", 3, **how)
    assert file_hashes(tmp_path / "frames") == file_hashes(tmp_path / "files")


def test_partitions_are_verified_against_collections(graph: Graph, tmp_path: Path) -> None:
    mine, out = collections_of(graph, "int64", 3, 7), tmp_path / "out"
    dgp.partition(mine, out, 3, method="random", resources=RESOURCES)
    for sample in (1.0, 0.3):
        assert dgp.verify(mine, out, sample=sample, resources=RESOURCES).findings == ()
    src, dst = graph.edges[WRITES]
    moved = np.where(np.arange(dst.size) == 5, (dst + 1) % 80, dst)
    rows = graph.node_data["paper"]["x"].copy()
    rows[11, 1] += 1
    for other, check, row in (
        (replace(graph, edges={**graph.edges, WRITES: (src, moved)}), "edges", WRITES + ": edge 5 of the input"),
        (replace(graph, node_data={"paper": {**graph.node_data["paper"], "x": rows}}), "features", "input row 11"),
    ):
        (found,) = dgp.verify(collections_of(other, "int64", 4, 9), out, resources=RESOURCES).findings
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
    mine = dgp.from_collections({"n:e:n": edges}, num_nodes={"n": 80})
    with pytest.raises(InputFileError, match=rf"partition 1 of 'n:e:n', {found}") as caught:
        dgp.partition(mine, tmp_path / "out", 2, method="random", resources=RESOURCES)
    assert re.search(found, str(caught.value)) and "'n:e:n'" in str(caught.value)
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(InputFileError, match="partition 1"):
        mine.edges["n:e:n"].compute(scheduler="sync")


def test_collections_that_do_not_fit_are_refused_at_once(graph: Graph) -> None:
    frame, rows = frame_of(graph, CITES, "int64", 2), da.ones((79, 2))
    for error, edges, how in [
        ("lacks a column", {CITES: frame[["src"]]}, {"num_nodes": {"paper": 80}}),
        ("number of nodes of a type is not known", {CITES: frame}, {}),
        ("not a canonical edge type", {"paper:cites": frame}, {"num_nodes": {"paper": 80}}),
        ("another number of rows", {CITES: frame}, {"num_nodes": {"paper": 80}, "node_data": {"paper": {"x": rows}}}),
        ("unknown chunks", {CITES: frame}, {"node_data": {"paper": {"x": rows[rows[:, 0] > 0]}}}),
    ]:
        with pytest.raises((MetadataError, InputFileError), match=error):
            dgp.from_collections(edges, **how)


def test_a_collection_that_changes_its_length_is_one_error(tmp_path: Path) -> None:
    lengths = iter([5, 5, 6, 6, 7, 7, 8, 8])

    def changing(_: int) -> pd.DataFrame:
        ids = np.zeros(next(lengths), np.int64)
        return pd.DataFrame({"src": ids, "dst": ids})

    meta = pd.DataFrame({"src": np.empty(0, np.int64), "dst": np.empty(0, np.int64)})
    edges = dd.from_map(changing, range(2), meta=meta)
    mine = dgp.from_collections({"n:e:n": edges}, num_nodes={"n": 1})
    with pytest.raises(InputFileError, match=r"partition \d: .*another number of rows.*not deterministic: persist it"):
        dgp.partition(mine, tmp_path / "out", 1, method="random", resources=RESOURCES)


def test_the_join_with_owners_is_what_lies_in_the_runs(graph: Graph, directory: Path, tmp_path: Path) -> None:
    assignment = dgp.assign(directory, 3, method="random", resources=RESOURCES)
    for of_graph in (dgp.read_chunked(directory), collections_of(graph, "int64", 4, 9)):
        joined = dgp.with_owners(of_graph, assignment)
        assert list(joined) == [WRITES, CITES]
        frame = joined[CITES].compute(scheduler="sync")
        assert list(frame.columns) == ["src", "dst", "owner"]
        owners = assignment.owners["paper"].read()
        assert frame.owner.tolist() == owners[graph.edges[CITES][1]].tolist()
        assert frame.owner.dtype == joined[CITES].dtypes["owner"] == np.uint8
    out = tmp_path / "out"
    dgp.dispatch(directory, assignment, out, resources=RESOURCES, keep_workspace=True)
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
            dgp.partition(directory, tmp_path / name, 2, method="random", resources=RESOURCES)
        keys.append(sorted((re.sub("-[0-9a-f]{8}$", "", key[0]), *key[1:]) for key in seen))
        assert all(re.fullmatch(r"[a-z-]+-[0-9a-f]{8}", key[0]) for key in seen)
    assert keys[0] == keys[1]
    assert {("bucket-edges", WRITES, 2), ("read-edges", CITES, 0), ("place-rows", "paper/x", 0)} <= set(keys[0])
    assert {key[0] for key in keys[0]} >= {"scan-edges", "count-owners", "build-graph"}
