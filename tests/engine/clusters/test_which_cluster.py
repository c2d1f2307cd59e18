"""Which cluster is used: the option, the active client, dask's configuration; and who is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import dask
import distributed
import pytest
from cluster_tasks import Counter, Disturber, partition
from commands import call
from distributed import Client, LocalCluster
from graphs import file_hashes
from inside import Resources, detect_resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart.engine.clusters.cluster_names import job_queue
from daskgraphpart.engine.clusters.connect import connect
from daskgraphpart.engine.settings import read_settings
from daskgraphpart.errors import EnvironmentFaultError, MissingPackageError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
job_queue("pbs")  # registers the defaults of dask-jobqueue


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers with two threads and 8 GB each, in this process, whose memory is what they take for theirs."""
    with LocalCluster(
        n_workers=2, threads_per_worker=2, processes=False, memory_limit=8_000_000_000, dashboard_address=":0"
    ) as made:
        yield made


def test_the_active_client_is_used(
    cluster: LocalCluster, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    counter = Counter()
    cluster.scheduler.add_plugin(counter)
    with Client(cluster) as client:
        assert detect_resources().cluster is Resources(1).cluster is client
        dgp.partition(graph, tmp_path / "out", 4, method="random")
        assert client.status == "running"
        assert any(key[0].startswith("bucket-edges") for key in counter.sent)
        counter.sent.clear()
        dgp.partition(graph, tmp_path / "here", 4, method="random", cluster="threads")
        assert not counter.sent
    with connect(cluster.scheduler_address, 1):  # a client of ours is not the one of the user
        assert detect_resources().cluster == Resources(1).cluster == "threads"
    assert file_hashes(tmp_path / "out") == file_hashes(tmp_path / "here") == undisturbed


def test_what_is_left_open_is_what_the_cluster_has(cluster: LocalCluster, scheduler_file: Path) -> None:
    with Client(cluster, set_as_default=False) as client:
        for given in (client, cluster, cluster.scheduler_address, str(scheduler_file)):
            found = detect_resources(cluster=given)
            assert (found.workers, found.memory) == (4, 8_000_000_000)
            found = detect_resources(cluster=given, workers=2)
            assert (found.workers, found.memory) == (2, 4_000_000_000)
            assert detect_resources("1GB", given).workers == 4


@pytest.fixture
def scheduler_file(cluster: LocalCluster, tmp_path: Path) -> Path:
    """As `dask scheduler` writes it; its own function fails while workers tell times under keys that are tuples."""
    path = tmp_path / "scheduler.json"
    path.write_text(json.dumps({"type": "Scheduler", "address": cluster.scheduler_address}))
    return path


def test_a_scheduler_file_is_used_by_the_command_line_and_workers_are_left_as_they_were(
    cluster: LocalCluster, scheduler_file: Path, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    before = [set(worker.plugins) for worker in cluster.workers.values()]
    job = ("partition", graph, tmp_path / "out", "--num-parts", "4", "--method", "random", "--quiet")
    assert call(*job, "--cluster", scheduler_file) == 0
    assert file_hashes(tmp_path / "out") == undisturbed
    assert [set(worker.plugins) for worker in cluster.workers.values()] == before
    assert not [name for name in cluster.scheduler.worker_plugins if name.startswith("daskgraphpart")]


def test_no_more_tasks_run_than_workers_are_given(cluster: LocalCluster, graph: Path, tmp_path: Path) -> None:
    most = 0

    class Watcher(Disturber):
        def advance(self, nbytes: int, num_rows: int = 0) -> None:
            nonlocal most
            most = max(most, sum(len(worker.processing) for worker in cluster.scheduler.workers.values()))

    resources = detect_resources("64MB", cluster, 1)
    dgp.partition(graph, tmp_path / "out", 4, method="random", **spelled(resources), progress=Watcher(0, lambda: None))
    assert most <= 1


def test_the_configuration_of_dask_fills_in(tmp_path: Path) -> None:
    values = {"cluster": "processes", "workers": 3, "memory": "77MB", "workspace": str(tmp_path)}
    with dask.config.set({"daskgraphpart": values}):
        found = detect_resources()
        assert found == Resources(77_000_000, "processes", 3, workspace=str(tmp_path))
        assert detect_resources("1GB", "sync", 1, workspace="x") == Resources(10**9, "sync", 1, workspace="x")
    assert read_settings().connect_timeout == 30


def test_environment_variables_and_files_fill_in(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("daskgraphpart:\n  workers: 5\n  memory: 55MB\n")
    program = "from daskgraphpart.engine.resources import detect_resources as found; r = found(); "
    program += "print(r.cluster, r.workers, r.memory)"
    environment = {**os.environ, "DASK_CONFIG": str(tmp_path), "DASK_DASKGRAPHPART__CLUSTER": "sync"}
    environment["DASK_DASKGRAPHPART__MEMORY"] = "66MB"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sync", "5", "66000000"]


def test_the_configuration_reaches_a_local_cluster(tmp_path: Path) -> None:
    with (
        dask.config.set({"daskgraphpart.local": {"name": "of-mine", "silence_logs": False}}),
        connect("local", 1) as made,
    ):
        assert made.cluster.name == "of-mine"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("workers", "many", r"daskgraphpart\.workers: dask configuration: expected int \| null, found 'many'"),
        ("workers", 0, "expected int >= 1, found 0"),
        ("cluster", "cloud", "a scheduler file"),
        ("memory", "much", "not a size"),
        ("worker-timeout", "soon", "daskgraphpart.worker-timeout: .*expected a duration such as 30s, found soon"),
        ("local", 3, "daskgraphpart.local: dask configuration: expected object, found 3"),
        ("retries", -1, "daskgraphpart.retries: dask configuration: expected int >= 0, found -1"),
    ],
)
def test_a_wrong_value_of_the_configuration_is_one_error(
    name: str, value: Any, expected: str, graph: Path, tmp_path: Path
) -> None:
    is_about_clusters = name in ("worker-timeout", "local", "retries")
    with dask.config.set({f"daskgraphpart.{name}": value}), pytest.raises(OptionError, match=expected):
        partition(graph, tmp_path / "out", "local") if is_about_clusters else detect_resources()


def test_an_asynchronous_cluster_is_refused() -> None:
    import asyncio

    async def main() -> None:
        async with LocalCluster(n_workers=0, processes=False, asynchronous=True, dashboard_address=":0") as made:
            with pytest.raises(OptionError, match="asynchronous"):
                Resources(1, made)

    asyncio.run(main())


def test_an_active_client_that_is_asynchronous_is_passed_over_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    client = SimpleNamespace(asynchronous=True, status="running")
    monkeypatch.setattr(distributed, "default_client", lambda: client)
    assert detect_resources().cluster == "threads"
    assert "client is asynchronous, so tasks run here, in threads" in caplog.text


def test_a_client_or_a_cluster_that_is_closed_is_refused() -> None:
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as made, Client(made) as client:
        pass
    for given in (client, made):
        with pytest.raises(OptionError, match=r"The client or cluster is closed: .*Start a new one"):
            Resources(1, given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("cloud", "Unknown cluster '(cloud|int)'. Choose from auto, threads"),
        (3, "Unknown cluster '(cloud|int)'. Choose from auto, threads"),
        ("none.json", r"none\.json: no such file"),
        ("x.json", r"x\.json, cluster: not the address of a scheduler: expected tcp://host:port, found None"),
    ],
)
def test_what_is_no_cluster_is_refused(
    given: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text(json.dumps({"id": 3}))
    with pytest.raises(OptionError, match=message):
        detect_resources(cluster=given)


def test_a_job_queue_without_the_package_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(MissingPackageError, match=r'pip install "\.\[jobqueue\]" in a clone'):
        detect_resources(cluster="slurm")


def test_ctrl_c_is_what_it_was_after_a_job_queue_was_looked_up() -> None:
    look = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    look += "from daskgraphpart.engine.clusters.cluster_names import job_queue; job_queue('slurm'); "
    kept = f"{look}raise SystemExit(signal.getsignal(signal.SIGINT) is not signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", kept], check=False).returncode == 0


def test_a_job_queue_that_is_not_here_is_one_error(
    monkeypatch: pytest.MonkeyPatch, graph: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    queue = {"cores": 4, "memory": "8GB", "scheduler-options": {"dashboard_address": ":0"}}  # 8787 may be taken
    with (
        dask.config.set({f"jobqueue.pbs.{key}": value for key, value in queue.items()}),
        pytest.raises(EnvironmentFaultError, match=r"pbs refuses the job: .*qsub"),
    ):
        partition(graph, tmp_path / "out", "pbs")


def test_a_job_is_what_is_left_open_about_a_job_queue() -> None:
    with dask.config.set({"jobqueue.pbs.cores": 4, "jobqueue.pbs.memory": "8GB"}):
        resources = detect_resources(cluster="pbs")
    assert (resources.workers, resources.memory) == (4, 4_000_000_000)
