"""Threads, processes and LocalCluster, any budget and staging: the same SHA-256 for every file."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cluster_tasks import Machine, partition, require_mounts, wait_for_machines
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError
from graphs import file_hashes
from inside import DispatchOptions, detect_resources
from keywords import spelled
from remote_stores import make_graph

import daskgraphpart as dgp
from daskgraphpart.engine.clusters.on_cluster import SharedDirectories
from daskgraphpart.errors import EnvironmentFaultError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)
OPTIONS = DispatchOptions(num_hops=2, graph_formats=("coo", "csc"), out_edges=True)
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
    root, graph = tmp_path_factory.mktemp("inputs"), make_graph(3000, 30_000)
    return [
        graph.write(root / "1", edge_format="parquet", num_chunks=(1, 3)),
        graph.write(root / "2", edge_format="csv", data_format="parquet", num_chunks=(5, 2)),
        graph.write(root / "3", edge_format="numpy", num_chunks=(2, 7)),
    ]


@pytest.fixture(scope="module")
def expected(inputs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("expected") / "out"
    dgp.partition(inputs[0], out, 3, method="random", **spelled(OPTIONS), memory="1GB")
    return file_hashes(out)


@pytest.mark.parametrize("number", range(len(WAYS)), ids=["-".join(map(str, way)) for way in WAYS])
def test_the_scheduler_budget_and_staging_change_no_byte(
    number: int, inputs: list[Path], expected: dict[str, str], tmp_path: Path
) -> None:
    cluster, workers, memory, staging = WAYS[number]
    resources = detect_resources(memory, cluster, workers, staging)
    dgp.partition(inputs[number % 3], tmp_path / "out", 3, method="random", **spelled(OPTIONS), **spelled(resources))
    assert file_hashes(tmp_path / "out") == expected


def test_collections_are_computed_on_a_cluster_that_has_fewer_threads_than_there_are_pieces(tmp_path: Path) -> None:
    edges = dd.from_map(_follows, range(5))  # no meta is given: dask finds it by computing
    rows = (da.arange(400, chunks=100).reshape(100, 4) + 1).rechunk((30, 4))
    etype = ("user", "follows", "user")
    dgp.chunk_graph({etype: edges}, "g", {"user": {"x": rows}}, output_path=tmp_path / "here")
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        how = {"memory": "1GB", "cluster": cluster.scheduler_address, "workers": 2}
        dgp.chunk_graph({etype: edges}, "g", {"user": {"x": rows}}, output_path=tmp_path / "there", **how)
        edges, rows = edges.persist(), rows.persist()
        dgp.chunk_graph({etype: edges}, "g", {"user": {"x": rows}}, output_path=tmp_path / "persisted", **how)
    for name in ("there", "persisted"):
        assert file_hashes(tmp_path / name) == file_hashes(tmp_path / "here")


def _follows(piece: int) -> pd.DataFrame:
    random = np.random.default_rng(piece)
    return pd.DataFrame({"src": random.integers(100, size=50), "dst": random.integers(100, size=50)})


def test_a_scheduler_that_does_not_answer_is_one_clear_error(graph: Path, tmp_path: Path) -> None:
    with (
        dask.config.set({"daskgraphpart.connect-timeout": "1s"}),
        pytest.raises(dgp.GraphPartError, match="No dask scheduler answers"),
    ):
        partition(graph, tmp_path / "out", "tcp://127.0.0.1:1")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("cluster", ["processes", "local"])
def test_an_error_of_a_task_arrives_as_it_was_raised(cluster: str, tmp_path: Path) -> None:
    graph = make_graph().write(tmp_path / "graph", num_chunks=4, edge_format="csv")
    path = graph / "edges" / "0-2.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "300 0", *lines[2:]]) + "\n")
    resources = detect_resources("1GB", cluster, 1)
    with pytest.raises(dgp.GraphPartError) as caught:
        dgp.partition(graph, tmp_path / "out", 2, method="random", **spelled(resources))
    assert (caught.value.file, caught.value.place, caught.value.found) == (str(path), "row 1", "300")
    assert not list((tmp_path / "out").glob("*.json"))


WITHOUT_GUARD = """
import sys
from daskgraphpart.engine.runner import Pass, Resources, Unit, open_runner
with open_runner(Resources(1 << 28, sys.argv[1], 1)) as runner:
    runner.run(Pass("divide", divmod, [Unit(7, 1)], 2))
"""


@pytest.mark.parametrize("cluster", ["processes", pytest.param("local", marks=pytest.mark.long)])
def test_a_script_whose_calls_run_again_in_workers_is_told_what_to_write(cluster: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(WITHOUT_GUARD)
    ran = subprocess.run([sys.executable, str(script), cluster], capture_output=True, text=True, check=False)
    last = ran.stderr.splitlines()[-1]
    assert "EnvironmentFaultError" in last and "below `if __name__ == '__main__':`" in last


@pytest.mark.parametrize("cluster", ["processes", "local"])
def test_a_process_that_may_have_none_is_told_to_use_threads(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "daemon", True)  # as in multiprocessing.Pool
    graph = make_graph().write(tmp_path / "graph")
    with pytest.raises(OptionError, match=r"cannot start workers.*Give cluster threads"):
        partition(graph, tmp_path / "out", cluster)
    assert list((tmp_path / "out").iterdir()) == []
    partition(graph, tmp_path / "out", "threads")


@pytest.fixture(scope="module")
def other_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A scheduler with a worker on "another machine", and a directory that is another one there."""
    require_mounts()
    private: Path = tmp_path_factory.mktemp("private")
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        mount = f"tmpfs {private} && touch {private}/is-another"
        process = Machine(cluster.scheduler_address, "127.0.0.1", [mount], private.parent)
        try:
            with Client(cluster, set_as_default=False) as client:
                wait_for_machines(client, [process])
            yield cluster.scheduler_address, private
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.parametrize("times", [1, 2])
def test_a_worker_that_is_lost_while_the_job_begins_is_asked_no_more(
    times: int, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register, lost = Client.register_plugin, ["a worker"] * times

    def losing(self: Client, plugin: object, **how: object) -> object:
        if isinstance(plugin, SharedDirectories) and lost:
            raise CommClosedError(f"{lost.pop()} is lost")
        return register(self, plugin, **how)

    monkeypatch.setattr(Client, "register_plugin", losing)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        if times == 1:
            partition(graph, tmp_path / "out", cluster)
            return
        with pytest.raises(EnvironmentFaultError, match=r"workers were lost while the job began.*Look at their logs"):
            partition(graph, tmp_path / "out", cluster)


def test_a_worker_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(dgp, "__version__", "9.9")
        plugin = SharedDirectories([], None)
    with pytest.raises(
        EnvironmentFaultError, match=r"another version .* than the client: expected 9\.9, found"
    ) as caught:
        plugin.setup(None)  # type: ignore[arg-type]
    assert "in the environment of the client" in str(caught.value)


@pytest.mark.parametrize("what", ["output directory", "workspace", "input directory"])
def test_a_worker_that_does_not_share_a_directory_is_one_early_error(
    what: str, other_machine: tuple[str, Path], graph: Path, tmp_path: Path
) -> None:
    address, private = other_machine
    if what == "input directory":
        graph = shutil.copytree(graph, private / "graph")
    out = private / "out" if what == "output directory" else tmp_path / "out"
    workspace = private if what == "workspace" else tmp_path / "work"
    resources = detect_resources("256MB", address, 2, workspace=workspace)
    with pytest.raises(EnvironmentFaultError, match=rf"does not see the {what} of the client\. Keep") as caught:
        dgp.partition(graph, out, 4, method="random", **spelled(resources))
    assert str(private) in str(caught.value)
    assert list(out.iterdir()) == []
