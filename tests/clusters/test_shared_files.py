"""Workers that do not see the files of the client are told before any work is done."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cluster_tasks import partition
from distributed import Client, LocalCluster

import daskgraphpart as dgp
import daskgraphpart.engine.on_cluster as on_cluster
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A scheduler with a worker on "another machine": the directory `private` of this test is another there."""
    private = tmp_path / "private"
    private.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment["DASK_DISTRIBUTED__WORKER__DAEMON"] = "True"
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        dask = f"{sys.executable} -m dask worker {cluster.scheduler_address} --nthreads 2 --memory-limit 0 --no-nanny"
        mount = f"mount -t tmpfs tmpfs {private} && touch {private}/is-another && exec {dask}"
        worker = subprocess.Popen(["unshare", "--mount", "sh", "-c", mount], env=environment, cwd=tmp_path)
        try:
            with Client(cluster) as client:
                try:
                    client.wait_for_workers(1, timeout=30)
                except TimeoutError:
                    pytest.skip("file systems cannot be mounted here")
            yield cluster.scheduler_address
        finally:
            worker.terminate()
            worker.wait(30)


@pytest.mark.skipif(os.geteuid() != 0, reason="file systems cannot be mounted here")
@pytest.mark.parametrize("what", ["output directory", "workspace", "input directory"])
def test_a_worker_that_does_not_share_a_directory_is_one_early_error(
    what: str, address: str, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cluster, "SECONDS_TO_SEE", 0.5)
    private = tmp_path / "private"
    if what == "input directory":
        graph = cluster_graph(graph, private / "graph")
    out = private / "out" if what == "output directory" else tmp_path / "out"
    workspace = private if what == "workspace" else tmp_path / "work"
    resources = dgp.detect_resources("256MB", address, 2, workspace=workspace)
    with pytest.raises(EnvironmentFaultError, match=f"does not see the {what} of the client; keep") as caught:
        dgp.partition(graph, out, 4, method="random", resources=resources)
    assert str(private) in str(caught.value)
    assert list(out.iterdir()) == []


def cluster_graph(graph: Path, copy: Path) -> Path:
    subprocess.run(["cp", "-r", str(graph), str(copy)], check=True)
    return copy


def test_workers_are_left_as_they_were(graph: Path, tmp_path: Path) -> None:
    with LocalCluster(n_workers=1, processes=False, memory_limit=0, dashboard_address=":0") as cluster:
        (worker,) = cluster.workers.values()
        before = set(worker.plugins)
        partition(graph, tmp_path / "out", cluster)
        assert set(worker.plugins) == before
        assert not [name for name in cluster.scheduler.worker_plugins if name.startswith("daskgraphpart")]
