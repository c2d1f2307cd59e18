"""Workers of ``--cluster local``: forked by one process, replaced when they are killed, gone when the client is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import dask
import psutil
import pytest
from cluster_tasks import Counter, Disturber, partition
from distributed.utils import key_split
from graphs import file_hashes

from daskgraphpart.engine.executors import fork_server
from daskgraphpart.engine.executors.connect import Connection, connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are not forked"),
]
MOST_IN_FLIGHT = 4  # two workers, each with a task that runs and one in reserve

CLIENT = """
import os, time
from daskgraphpart.engine.executors import fork_server
from daskgraphpart.engine.executors.connect import connect
fork_server.begin()
connection = connect("local", 2)
futures = [connection.client.submit(time.sleep, 1000 + i) for i in range(2)]
workers = connection.client.run(os.getpid)
print(*workers.values(), *set(connection.client.run(os.getppid).values()), flush=True)
time.sleep(1000)
"""


@pytest.fixture
def connection() -> Iterator[Connection]:
    fork_server.begin()
    with connect("local", 2) as made:
        yield made


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pids(connection: Connection) -> dict[str, int]:
    """Processes of the workers, by their names."""
    workers = connection.client.scheduler_info(n_workers=-1)["workers"]
    return {workers[address]["name"]: pid for address, pid in connection.client.run(os.getpid).items()}


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_workers_are_forks_of_a_process_that_has_imported_what_they_need(connection: Connection) -> None:
    (parent,) = set(connection.client.run(os.getppid).values())
    assert psutil.Process(parent).ppid() == os.getpid()
    assert {"numba", "pyarrow.parquet", "distributed"} <= set(next(iter(connection.client.run(_modules).values())))
    workers = pids(connection)
    connection.close()
    wait_until(lambda: not any(is_running(pid) for pid in (parent, *workers.values())))


def _modules() -> list[str]:
    return list(sys.modules)


def test_random_numbers_of_workers_differ(connection: Connection) -> None:
    def draw() -> tuple[float, float]:
        import random

        import numpy as np

        return random.random(), np.random.random()  # noqa: NPY002

    first, second = connection.client.run(draw).values()
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_a_worker_that_is_killed_is_replaced_and_only_its_blocks_in_flight_are_done_again(
    connection: Connection, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    counter, before = Counter(), pids(connection)
    directories = connection.client.run(_local_directory)
    connection.cluster.sync(_add, connection.cluster, counter)
    progress = Disturber(40, lambda: os.kill(before[0], signal.SIGKILL))
    partition(graph, tmp_path / "out", connection.cluster, progress=progress)
    assert progress.done > 40
    ours = {key: times for key, times in counter.sent.items() if key_split(key) != "wait-for-worker"}
    assert sum(times - 1 for times in ours.values()) <= MOST_IN_FLIGHT
    assert file_hashes(tmp_path / "out") == undisturbed
    wait_until(lambda: len(connection.client.nthreads()) == 2)
    after = pids(connection)
    assert set(after) == set(before)
    assert after[1] == before[1]
    assert after[0] != before[0]
    there = set(connection.client.run(_local_directory).values())
    assert all(os.path.isdir(directory) == (directory in there) for directory in directories.values())


def _local_directory(dask_worker: Any) -> str:
    return str(dask_worker.local_directory)


async def _add(cluster: Any, plugin: Counter) -> None:
    cluster.scheduler.add_plugin(plugin)


def test_a_worker_that_is_told_to_end_is_not_replaced(connection: Connection) -> None:
    address = next(iter(connection.client.nthreads()))
    connection.client.retire_workers([address], close_workers=True)
    wait_until(lambda: len(connection.client.nthreads()) == 1)
    wait_until(lambda: any(worker.status.name == "closed" for worker in connection.cluster.workers.values()))
    assert len(connection.client.nthreads()) == 1


def test_the_cluster_scales_as_any_local_cluster(connection: Connection) -> None:
    cluster = connection.cluster
    for size in (3, 1):
        cluster.scale(size)
        wait_until(lambda size=size: len(connection.client.nthreads()) == size)
    cluster.adapt(minimum=0, maximum=2, interval="50ms", wait_count=2)
    wait_until(lambda: len(connection.client.nthreads()) == 0)
    assert connection.client.submit(sum, [1, 2]).result() == 3


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_client_that_is_killed(sign: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, text=True, env=environment) as client:
        processes = [int(pid) for pid in client.stdout.readline().split()]
        assert len(processes) == 3
        assert all(map(is_running, processes))
        client.send_signal(sign)
        client.wait()
        wait_until(lambda: not any(map(is_running, processes)))


def test_an_interrupt_ends_the_client_alone_and_quietly() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    ) as client:  # fmt: skip
        processes = [int(pid) for pid in client.stdout.readline().split()]
        os.killpg(client.pid, signal.SIGINT)  # as a terminal does
        errors = client.communicate(timeout=60)[1]
        assert errors.count("KeyboardInterrupt") == 1, errors
        wait_until(lambda: not any(map(is_running, processes)))


def test_a_server_that_is_not_used_ends_with_the_client() -> None:
    program = "import sys; from daskgraphpart.engine.executors import fork_server as f; f.begin(); "
    program += "print(f._begun[0]._process.pid)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    wait_until(lambda: not is_running(int(done.stdout)))
    assert done.stderr == ""


@pytest.mark.parametrize(
    "config",
    [
        {"distributed.nanny.environ": {"OF_MINE": "3"}},
        {"distributed.nanny.pre-spawn-environ": {"OF_MINE": "3"}},
        {"daskgraphpart.local": {"env": {"OF_MINE": "3"}}},
    ],
    ids=lambda config: next(iter(config)),
)
def test_what_is_said_about_nannies_is_heeded_by_nannies(config: dict[str, Any]) -> None:
    fork_server.begin()
    with dask.config.set(config), connect("local", 1) as made:
        assert made.server is None
        assert list(made.client.run(os.getppid).values()) == [os.getpid()]
        assert list(made.client.run(os.getenv, "OF_MINE").values()) == ["3"]


def test_a_server_that_was_killed_is_replaced(graph: Path, undisturbed: dict[str, str], tmp_path: Path) -> None:
    fork_server.begin()
    first = fork_server._begun[0]._process
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    with connect("local", 2) as made:
        (second,) = set(made.client.run(os.getppid).values())
        progress = Disturber(40, lambda: os.kill(second, signal.SIGKILL))  # its workers are killed with it
        partition(graph, tmp_path / "out", made.cluster, progress=progress)
        assert progress.done > 40
        (third,) = set(made.client.run(os.getppid).values())
        assert len({first.pid, second, third}) == 3
    assert file_hashes(tmp_path / "out") == undisturbed


def test_what_is_said_about_the_scheduler_needs_no_nannies() -> None:
    fork_server.begin()
    with dask.config.set({"daskgraphpart.local": {"name": "of-mine", "silence-logs": False}}), connect("local", 1) as m:
        assert m.server is not None
        assert m.cluster.name == "of-mine"


def test_where_libraries_have_threads_workers_are_spawned(
    monkeypatch: pytest.MonkeyPatch, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    monkeypatch.setenv("JE_ARROW_MALLOC_CONF", "background_thread:true")
    fork_server.begin()
    with connect("local", 2) as made:
        assert "pandas" not in next(iter(made.client.run(_modules).values()))
        commands = made.client.run(_command)
        assert all("be_worker" in command for command in commands.values())
        before = pids(made)
        os.kill(before[0], signal.SIGKILL)
        partition(graph, tmp_path / "out", made.cluster)
        parents = set(made.client.run(os.getppid).values())
        assert len(parents) == 1
    assert file_hashes(tmp_path / "out") == undisturbed
    wait_until(lambda: not any(is_running(pid) for pid in (*before.values(), *parents)))


def _command() -> str:
    return " ".join(psutil.Process().cmdline())


def test_a_worker_that_cannot_start_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    fork_server.begin()
    server = fork_server._begun[0]
    with (
        dask.config.set({"distributed.worker.preload": ["there_is_no_such_module"]}),
        pytest.raises(ModuleNotFoundError, match="there_is_no_such_module"),
    ):
        connect("local", 2)
    assert server._process.returncode is not None
