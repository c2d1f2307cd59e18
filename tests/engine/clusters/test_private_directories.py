"""Workers that see input, output and workspace only: every function works there, or says what it cannot see."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cluster_tasks import Machine, require_mounts, wait_for_machines
from distributed import Client, LocalCluster

import daskgraphpart as dgp
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client whose temporary directory the only worker does not see."""
    require_mounts()
    private: Path = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch, LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        process = Machine(cluster.scheduler_address, "127.0.0.1", [f"tmpfs {private}"], private.parent)
        patch.setattr(tempfile, "tempdir", str(private))
        try:
            with Client(cluster, set_as_default=False) as found:
                wait_for_machines(found, [process])
                yield found
        finally:
            process.terminate()
            process.wait(30)


EDGES = pd.DataFrame({"src": np.arange(400) % 100, "dst": (np.arange(400) * 7 + 3) % 100, "w": np.arange(400)})


@pytest.fixture(scope="module")
def graph(shared: Path) -> dgp.Graph:
    return dgp.from_edges(EDGES, cluster="threads").write_chunked(shared / "graph", progress=False)


def owned(assignment: dgp.Assignment, graph: dgp.Graph, client: Client) -> list[int]:
    """Owners as the worker computes them, alone and beside the edges."""
    frame = client.compute(assignment.with_owners(graph)["_N:_E:_N"], sync=True)
    owners = client.compute(assignment.owners["_N"], sync=True)
    assert frame["owner"].tolist() == owners[EDGES["dst"]].tolist()
    assert client.compute(assignment.to_frame("_N"), sync=True)["owner"].tolist() == owners.tolist()
    return list(owners)


@pytest.mark.parametrize("form", ["npy", "parquet"])
def test_owners_lie_where_workers_see_them(form: str, graph: dgp.Graph, client: Client, shared: Path) -> None:
    how: dict[str, Any] = {"method": "random", "cluster": client, "memory": "256MB", "progress": False}
    with pytest.raises(EnvironmentFaultError, match=r"does not see the temporary directory of the client\. Keep"):
        dgp.assign(graph, 4, **how)
    found = owned(dgp.assign(graph, 4, workspace=shared / "work", **how), graph, client)
    out = shared / f"owners-{form}"
    assert owned(dgp.assign(graph, 4, out=out, form=form, **how), graph, client) == found
    read = {"cluster": client, "memory": "256MB", "progress": False}
    assert owned(dgp.read_assignment(out, graph, **read), graph, client) == found
    assert owned(dgp.read_assignment(out, graph, workspace=shared / "work", **read), graph, client) == found


def test_jobs_need_nothing_but_input_output_and_workspace(graph: dgp.Graph, client: Client, shared: Path) -> None:
    how: dict[str, Any] = {"cluster": client, "memory": "256MB", "progress": False}
    parts = dgp.partition(graph, shared / "parts", 3, method="random", **how)
    assert parts.verify(graph, **how).ok
    assert client.compute(parts.edge_data["_N:_E:_N"]["w"].sum(), sync=True) == EDGES["w"].sum()
    assert len(client.compute(parts.part(0).edges(), sync=True)) > 0
    assert parts.report(**how).to_dict()
    frame = dd.from_pandas(EDGES, npartitions=3)
    dgp.chunk_graph({"n:e:n": frame}, "g", output_path=shared / "chunked", **how)
    assert dgp.read_chunked(shared / "chunked").schema.num_edges == len(EDGES)
    of_frame = dgp.from_edges(frame, cluster=client, memory="256MB")
    assert dgp.partition(of_frame, shared / "parts-of-frame", 3, method="random", **how).quality is not None


def test_rows_are_brought_back_where_workers_see_them(graph: dgp.Graph, client: Client, shared: Path) -> None:
    how: dict[str, Any] = {"cluster": client, "memory": "256MB", "progress": False}
    parts = dgp.partition(graph, shared / "parts-again", 3, method="random", **how)
    scores = np.arange(100.0)
    found = client.compute(parts.to_original("_N", scores, workspace=shared / "work", **how), sync=True)
    assert sorted(found.tolist()) == scores.tolist()
