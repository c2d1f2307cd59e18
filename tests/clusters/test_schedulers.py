"""Threads, processes and LocalCluster, any budget and staging: the same SHA-256 for every file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dask
import numpy as np
import pandas as pd
import pytest
from graphs import Graph, file_hashes

import daskgraphpart as dgp
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.sources.generate import generate

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = dgp.DispatchOptions(num_hops=2, graph_formats=("coo", "csc"), out_edges=True)
WAYS = [
    ("sync", 1, "256MB", "in-place"),
    ("threads", 1, "256MB", "zarr"),
    ("threads", 2, "24MB", "in-place"),
    ("processes", 2, "256MB", "zarr"),
    ("local", 2, "256MB", "in-place"),
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One heterogeneous graph with node and edge features in three chunkings and formats."""
    rng, root = np.random.default_rng(6), tmp_path_factory.mktemp("inputs")
    node_types = (dgp.NodeType("user", 3000), dgp.NodeType("item", 2000))
    edge_types = (dgp.EdgeType("user", "follows", "user", 30_000), dgp.EdgeType("user", "buys", "item", 20_000))
    graph = Graph(
        dgp.GraphSchema("shop", node_types, edge_types),
        {
            "user:follows:user": (rng.integers(3000, size=30_000), rng.integers(3000, size=30_000)),
            "user:buys:item": (rng.integers(3000, size=20_000), rng.integers(2000, size=20_000)),
        },
        {"item": {"price": rng.random(2000), "train_mask": rng.random(2000) < 0.3}},
        {"user:buys:item": {"rating": rng.integers(5, size=(20_000, 2))}},
    )
    return [
        graph.write(root / "1", edge_format="parquet", num_chunks=(1, 3)),
        graph.write(root / "2", edge_format="csv", data_format="parquet", num_chunks=(5, 2)),
        graph.write(root / "3", edge_format="numpy", num_chunks=(2, 7)),
    ]


@pytest.fixture(scope="module")
def expected(inputs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("expected") / "out"
    dgp.partition(inputs[0], out, 3, method="random", options=OPTIONS, resources=dgp.detect_resources("1GB"))
    return file_hashes(out)


@pytest.mark.parametrize("number", range(len(WAYS)), ids=["-".join(map(str, way)) for way in WAYS])
def test_the_scheduler_budget_and_staging_change_no_byte(
    number: int, inputs: list[Path], expected: dict[str, str], tmp_path: Path
) -> None:
    cluster, workers, memory, staging = WAYS[number]
    resources = dgp.detect_resources(memory, cluster, workers, staging)
    dgp.partition(inputs[number % 3], tmp_path / "out", 3, method="random", options=OPTIONS, resources=resources)
    assert file_hashes(tmp_path / "out") == expected


def test_a_scheduler_is_used_by_its_address(tmp_path: Path) -> None:
    from distributed import LocalCluster

    with open_runner(dgp.detect_resources("1GB")) as runner:
        generate(tmp_path / "graph", num_nodes=1000, num_edges=5000, runner=runner)
    dgp.partition(tmp_path / "graph", tmp_path / "here", 4, method="random")
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        resources = dgp.detect_resources("1GB", cluster.scheduler_address, 2)
        dgp.partition(tmp_path / "graph", tmp_path / "there", 4, method="random", resources=resources)
    assert file_hashes(tmp_path / "there") == file_hashes(tmp_path / "here")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("persisted", [False, True])
def test_collections_are_computed_on_a_cluster_that_has_fewer_threads_than_there_are_pieces(
    persisted: bool, tmp_path: Path
) -> None:
    import dask.array as da
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    edges = dd.from_map(_follows, range(5))  # no meta is given: dask finds it by computing
    rows = da.arange(400, chunks=100).reshape(100, 4) + 1
    data = {"user": {"x": rows.rechunk((30, 4))}}
    dgp.chunk_graph({("user", "follows", "user"): edges}, "g", data, output_path=tmp_path / "here")
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        resources = dgp.detect_resources("1GB", cluster.scheduler_address, 2)
        with Client(cluster):
            if persisted:
                edges, data = edges.persist(), {"user": {"x": data["user"]["x"].persist()}}
            graph = {("user", "follows", "user"): edges}
            dgp.chunk_graph(graph, "g", data, output_path=tmp_path / "there", resources=resources)
    assert file_hashes(tmp_path / "there") == file_hashes(tmp_path / "here")


def _follows(piece: int) -> pd.DataFrame:
    random = np.random.default_rng(piece)
    return pd.DataFrame({"src": random.integers(100, size=50), "dst": random.integers(100, size=50)})


def test_a_scheduler_that_does_not_answer_is_one_clear_error(tmp_path: Path) -> None:
    with open_runner(dgp.detect_resources("1GB")) as runner:
        generate(tmp_path / "graph", num_nodes=100, num_edges=500, runner=runner)
    resources = dgp.detect_resources("1GB", "tcp://127.0.0.1:1", 2)
    with (
        dask.config.set({"daskgraphpart.connect-timeout": "1s"}),
        pytest.raises(dgp.GraphPartError, match="no dask scheduler answers"),
    ):
        dgp.partition(tmp_path / "graph", tmp_path / "out", 2, method="random", resources=resources)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("cluster", ["threads", "processes", "local"])
def test_an_error_of_a_task_arrives_as_it_was_raised(cluster: str, tmp_path: Path) -> None:
    with open_runner(dgp.detect_resources("1GB")) as runner:
        generate(tmp_path / "graph", num_nodes=100, num_edges=500, num_chunks=4, edge_format="csv", runner=runner)
    path = tmp_path / "graph" / "edges" / "0-2.csv"
    lines = path.read_text().splitlines()
    lines[1] = "100 0"
    path.write_text("\n".join(lines) + "\n")
    resources = dgp.detect_resources("1GB", cluster, 2)
    with pytest.raises(dgp.GraphPartError) as caught:
        dgp.partition(tmp_path / "graph", tmp_path / "out", 2, method="random", resources=resources)
    assert (caught.value.file, caught.value.place, caught.value.found) == (str(path), "row 1", "100")
    assert not list((tmp_path / "out").glob("*.json"))
