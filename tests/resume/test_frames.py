"""A script that partitions collections of dask is killed, with its interpreter, and continues when it is run again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from faults.kills import Kill, arm, in_fork

import daskgraphpart as dgp
from daskgraphpart.errors import ResumeError
from daskgraphpart.readers.identify_collections import lasting_token

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parents[1]
PRELUDE = """
import os, sys
import dask, dask.array as da, dask.bag as db, dask.dataframe as dd, numpy as np, pandas as pd
from faults.kills import Kill, arm
import daskgraphpart as dgp
dask.config.set(scheduler="threads")
def load(path): return pd.read_parquet(path)
parquet = [f"edges.parquet/{i}.parquet" for i in range(3)]
mapped = np.load("x.npy", mmap_mode="r")
"""
FRAMES = {
    "parquet": 'dd.read_parquet("edges.parquet")',
    "columns of parquet": 'dd.read_parquet("edges.parquet")[["src", "dst", "w"]]',
    "parquet by arrow": 'dd.read_parquet(os.path.abspath("edges.parquet"), filesystem="arrow")',
    "csv": 'dd.read_csv("edges.csv", blocksize=2000)',
    "pandas": 'dd.from_pandas(pd.read_csv("edges.csv"), npartitions=3)',
    "delayed": "dd.from_delayed([dask.delayed(load)(path) for path in parquet])",
    "files": "dd.from_map(lambda path: load(path), parquet)",
    "changed": 'dd.read_parquet("edges.parquet").map_partitions(lambda f: f[f.w > 0.1]).assign(k=2)',
    "text": 'db.read_text("edges.csv").remove(lambda line: line[0] == "s").map(lambda line: [*map(int, '
    'line.split(",")[:2])]).to_dataframe(meta={"src": int, "dst": int})',
}
ARRAYS = {
    "npy": "da.from_array(mapped, chunks=(20, 3))",
    "zarr": 'da.from_zarr("x.zarr")',
    "numbers": "da.random.default_rng(3).random((60, 2), chunks=(20, 2))",
    "column of parquet": 'dd.read_parquet("nodes.parquet").x.values',
    "series": 'dd.read_parquet("nodes.parquet").x',
    "memory": "np.arange(60)",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(7)
    edges = pd.DataFrame({"src": rng.integers(0, 60, 300), "dst": rng.integers(0, 60, 300), "w": rng.random(300)})
    edges.to_csv(directory / "edges.csv", index=False)
    (directory / "edges.parquet").mkdir()
    for i in range(3):
        edges[100 * i : 100 * (i + 1)].to_parquet(directory / f"edges.parquet/{i}.parquet")
    pd.DataFrame({"x": rng.random(60)}).to_parquet(directory / "nodes.parquet")
    vectors = list(rng.random((60, 3)).astype(np.float32))
    users = pd.DataFrame({"id": rng.permutation(60), "x": rng.random(60), "v": vectors})
    users.to_parquet(directory / "users.parquet", index=False)
    np.save(directory / "x.npy", rng.random((60, 3)))
    da.from_array(rng.random((60, 3)), chunks=(20, 3)).to_zarr(str(directory / "x.zarr"))
    return directory


TABLES = """
edges = {"n:by:n": dd.read_parquet("edges.parquet"), "n:with:n": dd.read_csv("edges.csv", blocksize=2000),
         "n:of:n": pd.read_csv("edges.csv"), "n:from:n": dd.from_map(lambda path: load(path), parquet)}
users = dd.read_parquet("users.parquet")
data = {"x": users[["id", "x"]], "v": pd.read_parquet("users.parquet")[["id", "v"]],
        "k": users.assign(k=users.x + 1)[["id", "k"]]}
graph = dgp.scan_tables(edges, map_ids=True, nodes={"n": users[["id"]]}, node_data={"n": data}, edge_features=["w"])
"""
CLUSTER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    how = {"processes": False, "protocol": "tcp://", "memory_limit": 0, "dashboard_address": None}
    with LocalCluster(n_workers=2, threads_per_worker=1, **how) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def of_collections(edges: dict[str, str], arrays: dict[str, str]) -> str:
    graph = ", ".join(f'"n:e{i}:n": {edges[name]}' for i, name in enumerate(edges))
    data = ", ".join(f'"a{i}": {arrays[name]}' for i, name in enumerate(arrays))
    return f'graph = dgp.from_edges({{{graph}}}, num_nodes={{"n": 60}}, node_data={{"n": {{{data}}}}})'


def job(make_graph: str, out: Path, cluster: str = "threads") -> str:
    return f"""{PRELUDE}
if __name__ == "__main__":
{indent(make_graph.strip(), "    ")}
    if sys.argv[1:]:
        arm(Kill("record", int(sys.argv[1])))
    dgp.partition(graph, {str(out)!r}, 2, method="random", memory="1GB", cluster={cluster!r})
"""


def kill_and_run_again(files: Path, tmp_path: Path, make_graph: str, cluster: str = "threads") -> None:
    program = tmp_path / "job.py"
    program.write_text(job(make_graph, tmp_path / "out", cluster))
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(program), *arguments]
        return subprocess.run(command, cwd=files, env=environment, capture_output=True, text=True, check=False)

    killed = run("4")
    assert killed.returncode == -9, killed.stderr
    assert [*(tmp_path / "out").rglob("journal*")], "nothing to continue"
    assert "cannot resume" not in killed.stderr
    again = run()
    assert again.returncode == 0, again.stderr


def test_collections_of_all_kinds_continue_after_their_interpreter_was_killed(files: Path, tmp_path: Path) -> None:
    kill_and_run_again(files, tmp_path, of_collections(FRAMES, ARRAYS))


def test_tables_of_frames_continue_after_their_interpreter_was_killed(files: Path, tmp_path: Path) -> None:
    kill_and_run_again(files, tmp_path, TABLES)


def test_the_client_of_a_cluster_is_killed_and_another_continues(files: Path, tmp_path: Path) -> None:
    (tmp_path / "cluster.py").write_text(PRELUDE + CLUSTER)
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    command = [sys.executable, str(tmp_path / "cluster.py")]
    with subprocess.Popen(
        command, cwd=files, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        assert cluster.stdout is not None
        scheduler = cluster.stdout.readline().strip()
        for name, make_graph in (("collections", of_collections(FRAMES, ARRAYS)), ("tables", TABLES)):
            (tmp_path / name).mkdir()
            kill_and_run_again(files, tmp_path / name, make_graph, scheduler)
        cluster.communicate(timeout=60)


@pytest.mark.long
@pytest.mark.parametrize("name", FRAMES)
def test_frame_continues_by_itself(files: Path, tmp_path: Path, name: str) -> None:
    kill_and_run_again(files, tmp_path, of_collections({name: FRAMES[name]}, {}))


@pytest.mark.long
@pytest.mark.parametrize("name", ARRAYS)
def test_array_continues_by_itself(files: Path, tmp_path: Path, name: str) -> None:
    kill_and_run_again(files, tmp_path, of_collections({"pandas": FRAMES["pandas"]}, {name: ARRAYS[name]}))


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "parquet": ("edges.parquet/0.parquet", lambda of: dd.read_parquet(of / "edges.parquet").assign(k=1)),
    "parquet by arrow": (
        "edges.parquet/0.parquet",
        lambda of: dd.read_parquet(of / "edges.parquet", filesystem="arrow"),
    ),
    "csv": ("edges.csv", lambda of: dd.read_csv(of / "edges.csv")),
    "files": ("edges.parquet/0.parquet", lambda of: dd.from_map(pd.read_parquet, [of / "edges.parquet/0.parquet"])),
    "npy": ("x.npy", lambda of: da.from_array(np.load(of / "x.npy", mmap_mode="r"))),
    "zarr": ("x.zarr/c/1/0", lambda of: da.from_zarr(str(of / "x.zarr"))),
}


@pytest.mark.parametrize("name", READERS)
def test_a_collection_over_changed_files_is_another(files: Path, name: str) -> None:
    file, read = READERS[name]
    before = lasting_token(read(files), "it")
    assert before == lasting_token(read(files), "it")
    path, seconds = files / file, os.stat(files / file).st_mtime
    path.write_bytes(path.read_bytes()[:-8] + bytes(8)) if name == "npy" else os.utime(path, (0, seconds + 1))
    assert before != lasting_token(read(files), "it")


def test_the_place_of_a_function_in_a_notebook_does_not_count() -> None:
    tokens = []
    for file in ("/tmp/ipykernel_1/2.py", "/tmp/ipykernel_3/4.py"):
        session: dict[str, Any] = {"__name__": "__main__"}
        exec(compile("def inner(f): return f\n", file, "exec"), session)
        exec(compile("outer = lambda f: inner(f).assign(k=1)", file, "exec"), session)
        tokens.append(lasting_token(dd.from_pandas(EDGES, npartitions=1).map_partitions(session["outer"]), "it"))
    assert tokens[0] == tokens[1]


EDGES = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0]})


def test_what_no_other_process_can_find_again_is_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    def load(lock: Any) -> pd.DataFrame:
        return EDGES

    frame = dd.from_delayed([dask.delayed(load)(threading.Lock())], meta=EDGES)
    lasting_token(frame, "'_N:_E:_N'")
    (told,) = caplog.messages
    assert "cannot resume" in told
    assert "'_N:_E:_N'" in told
    assert "lock" in told


def test_the_error_names_the_frame_that_is_another(tmp_path: Path) -> None:
    def start(kill: Kill | None) -> None:
        graph = dgp.from_edges({"n:e:n": EDGES}, node_data={"n": {"x": da.random.random(3)}})
        if kill is not None:
            arm(kill)
        dgp.partition(graph, tmp_path / "out", 2, method="random", memory="1GB")

    assert in_fork(lambda: start(Kill("record", 4))) == -9
    with pytest.raises(ResumeError, match="rows of 'n'") as caught:
        start(None)
    assert "seed" in str(caught.value)
