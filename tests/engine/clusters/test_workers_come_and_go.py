"""Workers that are killed, retired, added; tasks that fail and pass; a scheduler that is started anew."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import cluster_tasks
import pytest
from cluster_tasks import Counter, Disturber, partition
from distributed import Client, LocalCluster
from graphs import file_hashes
from inside import Pass, Resources, Unit, open_runner

from daskgraphpart.engine.clusters.on_cluster import ClusterScheduler
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
# what a worker had in hand, and what it had done but the client had not fetched: no more than a pass
MOST_IN_FLIGHT = 12


HOW: dict[str, Any] = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """Two workers; processes where one is killed, for it takes seconds to start them."""
    with LocalCluster(n_workers=2, processes="killed" in request.node.name, **HOW) as made:
        yield made


@pytest.fixture
def counter(cluster: LocalCluster) -> Counter:
    plugin = Counter()
    cluster.sync(_add, cluster, plugin)
    return plugin


async def _add(cluster: LocalCluster, plugin: Counter) -> None:
    cluster.scheduler.add_plugin(plugin)


def kill_one(cluster: LocalCluster) -> None:
    with Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)
    os.kill(min(pids.values()), signal.SIGKILL)


def sent_again(counter: Counter) -> int:
    """Tasks of passes that were sent twice; a partition is read again by every pass that needs it."""
    return sum(times - 1 for key, times in counter.sent.items() if not str(key[0]).startswith("read-"))


def test_a_worker_that_is_killed_costs_what_it_had_in_hand(
    cluster: LocalCluster, counter: Counter, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    progress = Disturber(40, lambda: kill_one(cluster))
    partition(graph, tmp_path / "out", cluster, progress=progress)
    assert progress.done > 40
    assert sent_again(counter) <= MOST_IN_FLIGHT
    assert file_hashes(tmp_path / "out") == undisturbed


def test_a_cluster_that_shrinks_and_grows_goes_on(
    cluster: LocalCluster, counter: Counter, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    sizes = []

    class Scaler(Disturber):
        def advance(self, nbytes: int, num_rows: int = 0) -> None:
            super().advance(nbytes)
            if self.done in (20, 50):
                cluster.scale(1 if self.done == 20 else 3)
                wait_until(lambda: len(cluster.scheduler_info["workers"]) == (1 if self.done == 20 else 3))
                sizes.append(len(cluster.scheduler_info["workers"]))

    partition(graph, tmp_path / "out", cluster, progress=Scaler(0, lambda: None))
    assert sizes == [1, 3]
    assert sent_again(counter) <= MOST_IN_FLIGHT
    assert file_hashes(tmp_path / "out") == undisturbed


def test_a_cluster_that_scales_itself_starts_with_no_worker(
    graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    with LocalCluster(n_workers=0, processes=False, **HOW) as made:
        made.adapt(minimum=0, maximum=2, interval="200ms", wait_count=2)
        partition(graph, tmp_path / "out", made)
    assert file_hashes(tmp_path / "out") == undisturbed


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_fault_of_a_network_file_system_is_tried_again(cluster: LocalCluster, tmp_path: Path) -> None:
    with open_runner(Resources(1 << 28, cluster, 2)) as runner:
        flags = [Unit(str(tmp_path / str(i)), 1) for i in range(5)]
        assert runner.run(Pass("fail", cluster_tasks.fail_once, flags, errno.ESTALE)) == [7] * 5
        with pytest.raises(EnvironmentFaultError, match="The disk or network file system failed"):
            runner.run(Pass("fail", cluster_tasks.always_fails, [Unit(str(tmp_path / "y"), 1)], None))
    assert (tmp_path / "y").read_text() == "xxxx"


@contextlib.contextmanager
def scheduler_and_workers(directory: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler file and the process of the scheduler, with two workers, as `dask` starts them."""
    file = directory / "scheduler.json"
    file.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes = []

    def start(*command: str) -> None:
        dask = [sys.executable, "-m", "dask", *command, "--scheduler-file", str(file)]
        processes.append(subprocess.Popen(dask, env=environment, cwd=directory, stderr=subprocess.DEVNULL))

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0")
        wait_until(file.exists)
        for name in "ab":
            start("worker", "--nthreads", "1", "--memory-limit", "0", "--name", name, "--no-dashboard")
        yield str(file), processes[0]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)


@pytest.mark.long  # it waits for connections, which takes a busy machine longer than they may
def test_after_a_restart_of_the_scheduler_the_same_command_continues(
    graph: Path, undisturbed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "5s")
    out, continued, complete = tmp_path / "out", Disturber(0, lambda: None), Disturber(0, lambda: None)
    with (
        scheduler_and_workers(tmp_path) as (file, scheduler),
        pytest.raises(EnvironmentFaultError, match=r"(?is)the dask scheduler is gone.*run the same command") as caught,
    ):
        partition(graph, out, file, progress=Disturber(40, scheduler.kill))
    assert caught.value.exit_code == 3
    with scheduler_and_workers(tmp_path) as (file, _):
        partition(graph, out, file, progress=continued)
    assert file_hashes(out) == undisturbed
    partition(graph, tmp_path / "other", "threads", progress=complete)
    assert continued.done <= complete.done - 40


def test_what_a_lost_worker_left_half_written_is_not_in_the_output(
    graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    partition(graph, out, "sync", progress=Disturber(40, (out / "x.0123456789ab.unfinished").touch))
    assert file_hashes(out) == undisturbed


@pytest.mark.parametrize("question", ["nthreads", "register_plugin"])
def test_a_scheduler_that_is_lost_before_the_first_pass_is_told(
    question: str, graph: Path, cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: Any, **how: Any) -> None:
        del how
        raise OSError("Timed out trying to connect to tcp://127.0.0.1:8786 after 5 s")

    monkeypatch.setattr(Client, question, ask)
    with pytest.raises(EnvironmentFaultError, match=r"(?i)the dask scheduler is gone: timed out"):
        partition(graph, tmp_path / "out", cluster)


def test_a_cluster_that_is_closed_between_two_passes_is_told() -> None:
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as made, Client(made) as client:
        scheduler = ClusterScheduler(client, 1)
    with pytest.raises(EnvironmentFaultError, match=r"pass: the dask scheduler is gone: the connection was lost"):
        scheduler.compute("pass", {"key": (os.getpid,)}, ["key"], lambda *_: None, ())
