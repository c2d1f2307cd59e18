"""Workers that are killed, retired, added; tasks that fail and pass; a scheduler that is started anew."""

from __future__ import annotations

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
from distributed.utils import key_split
from graphs import file_hashes

import daskgraphpart as dgp
from daskgraphpart.engine.plan import Pass
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
# what a worker had in hand, and what it had done but the client had not fetched: no more than a pass
MOST_IN_FLIGHT = 12


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as made:
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


def test_tasks_are_told_by_the_names_of_passes(
    cluster: LocalCluster, counter: Counter, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    partition(graph, tmp_path / "out", cluster)
    names = {key_split(key) for key in counter.sent}
    assert {
        "assign-random", "count-owners", "relabel-nodes", "read-edges", "bucket-edges", "mark-halo", "write-nodes",
        "build-graph", "read-rows", "place-rows", "hash-files",
    } <= names  # fmt: skip
    assert all(name.replace("-", "").isalpha() for name in names)
    assert sent_again(counter) == 0
    assert file_hashes(tmp_path / "out") == undisturbed


@pytest.mark.parametrize("after", [40])
def test_a_worker_that_is_killed_costs_what_it_had_in_hand(
    after: int, cluster: LocalCluster, counter: Counter, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    progress = Disturber(after, lambda: kill_one(cluster))
    partition(graph, tmp_path / "out", cluster, progress=progress)
    assert progress.done > after
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
    with LocalCluster(n_workers=0, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as made:
        made.adapt(minimum=0, maximum=2, interval="200ms", wait_count=2)
        partition(graph, tmp_path / "out", made)
    assert file_hashes(tmp_path / "out") == undisturbed


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_fault_of_a_network_file_system_is_tried_again(cluster: LocalCluster, tmp_path: Path) -> None:
    with open_runner(dgp.Resources(1 << 28, cluster, 2)) as runner:
        flags = [str(tmp_path / str(i)) for i in range(5)]
        assert runner.run(Pass("fail", cluster_tasks.fail_once, flags, errno.ESTALE, [1] * 5)) == [7] * 5
        with pytest.raises(EnvironmentFaultError, match="the disk or network file system failed"):
            runner.run(Pass("fail", cluster_tasks.always_fails, [str(tmp_path / "y")], None, [1]))
    assert (tmp_path / "y").read_text() == "xxxx"


class Servers:
    """A scheduler with two workers, as `dask scheduler` and `dask worker` start them."""

    def __init__(self, directory: Path) -> None:
        self.file, self.processes = directory / "scheduler.json", []
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def start(self) -> None:
        self.file.unlink(missing_ok=True)
        self._run("scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0")
        wait_until(self.file.exists)
        for name in "ab":
            self._run("worker", "--nthreads", "1", "--memory-limit", "0", "--name", name, "--no-dashboard")

    def _run(self, *command: str) -> None:
        dask = [sys.executable, "-m", "dask", *command, "--scheduler-file", str(self.file)]
        self.processes.append(
            subprocess.Popen(dask, env=self.environment, cwd=self.file.parent, stderr=subprocess.DEVNULL)
        )

    def kill_scheduler(self) -> None:
        self.processes[0].kill()
        self.processes[0].wait()

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(60)
        self.processes = []


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.mark.long  # it waits for connections, which takes a busy machine longer than they may
def test_after_a_restart_of_the_scheduler_the_same_command_continues(
    servers: Servers, graph: Path, undisturbed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "5s")
    out, begun = tmp_path / "out", Disturber(40, servers.kill_scheduler)
    with pytest.raises(
        EnvironmentFaultError, match=r"(?s)the dask scheduler is gone.*run the same command again to continue"
    ) as caught:
        partition(graph, out, str(servers.file), progress=begun)
    assert caught.value.exit_code == 3
    servers.stop()
    servers.start()
    continued = Disturber(0, lambda: None)
    partition(graph, out, str(servers.file), progress=continued)
    assert file_hashes(out) == undisturbed
    complete = Disturber(0, lambda: None)
    partition(graph, tmp_path / "other", "threads", progress=complete)
    assert continued.done <= complete.done - 40


def test_a_scheduler_file_is_used_by_the_command_line(
    servers: Servers, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "daskgraphpart", "partition", str(graph), str(tmp_path / "out")]
    options: list[Any] = ["--num-parts", "4", "--method", "random", "--cluster", servers.file]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=servers.environment, check=False)
    assert done.returncode == 0, done.stderr
    assert file_hashes(tmp_path / "out") == undisturbed
