"""Faults of the machine: dead workers, full and read-only disks. Each is one clear error; the job goes on after it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import distributed  # noqa: F401  # a first import inside of dask.config.set would lose its defaults at the end
import pytest
from cluster_tasks import require_mounts
from faults import kills
from faults.judge import expect_not_whole, expect_one_error, expect_whole, judging, run_here
from faults.kills import CASES, Case, die_always, die_once, hashes, in_fork, make_inputs

import daskgraphpart.dispatching.features as features
from daskgraphpart.errors import EnvironmentFaultError
from daskgraphpart.jobs import run_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BY_NAME = {case.name: case for case in CASES}
CONTINUE = "Run the same command again to continue, or add restart=True to start over"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("inputs")
    make_inputs(root)
    return root


def fails(case: Case, root: Path, match: str) -> EnvironmentFaultError:
    """Run a case into a fault: what is left is said not to be whole."""
    with pytest.raises(EnvironmentFaultError, match=match) as caught:
        case.run(root)
    if (root / "out").is_dir():
        expect_not_whole(judging(root.parent / case.graph, root / "out", case.command))
    return caught.value


def ends_well(case: Case, root: Path) -> None:
    """Run it again, without the fault and here: the bytes of an undisturbed run, found whole."""
    here = replace(case, cluster="threads")
    here.run(root)
    undisturbed = root.with_name(f"{root.name}-undisturbed")
    undisturbed.mkdir()
    here.run(undisturbed)
    assert hashes(root / "out") == hashes(undisturbed / "out")
    expect_whole(judging(root.parent / case.graph, root / "out", case.command))


@pytest.fixture
def place(inputs: Path, request: pytest.FixtureRequest) -> Path:
    root: Path = inputs / f"job-{abs(hash(request.node.name))}"
    root.mkdir()
    return root


def deadly(monkeypatch: pytest.MonkeyPatch, task: Callable[..., Any], flag: Path) -> None:
    """Wrap the tasks of the pass `place-rows`; the wrapper can be imported by worker processes."""
    original = features.place_rows_pass

    def wrapped(*arguments: Any) -> Any:
        pass_ = original(*arguments)
        return replace(pass_, task=task, config=(str(flag), pass_.task, pass_.config))

    monkeypatch.setattr(features, "place_rows_pass", wrapped)


def test_a_worker_process_that_dies_ends_the_job_which_goes_on(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = BY_NAME["processes"]
    deadly(monkeypatch, die_once, place / "flag")
    assert fails(case, place, f"place-rows: a worker process died\\. .*{CONTINUE}").exit_code == 3
    ends_well(case, place)


def test_a_task_that_kills_every_worker_ends_the_job_which_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = replace(BY_NAME["processes"], cluster="local", workers=1)
    deadly(monkeypatch, die_always, place / "flag")
    (place / "flag").touch()
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):  # each takes seconds
        fails(case, place, f"place-rows: every worker that ran this task died.*{CONTINUE}")
    (place / "flag").unlink()
    ends_well(case, place)


def test_owners_that_cannot_be_copied_for_the_caller_are_not_a_whole_output(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "copy")

    monkeypatch.setattr(run_job, "write_rows", full)
    fails(BY_NAME["assign"], place, rf"No space left on device\. Free space on that disk\. {CONTINUE}")
    monkeypatch.undo()
    ends_well(BY_NAME["assign"], place)


@pytest.fixture
def small_disk(place: Path) -> Iterator[Callable[[str], Path]]:
    """A file system in memory, mounted with the options given; skipped where that is not allowed."""
    require_mounts()
    mounted = []

    def mount(how: str) -> Path:
        directory = place / "disk"
        directory.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(directory)]
        subprocess.run(command, check=True)
        mounted.append(directory)
        return directory

    yield mount
    for directory in mounted:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def test_a_directory_that_cannot_be_written_is_one_error(inputs: Path, small_disk: Callable[[str], Path]) -> None:
    disk = small_disk("size=1m")
    (disk / "homogeneous").symlink_to(inputs / "homogeneous")
    (disk / "job").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    fails(BY_NAME["random"], disk / "job", r"Read-only file system. Choose a directory that is not read-only")


def test_a_disk_too_small_for_verify_is_one_error(place: Path, small_disk: Callable[[str], Path]) -> None:
    """Not the end of the process, which is what a full disk means to a file that is mapped and has holes."""
    graph, out = place / "graph", place / "out"
    assert run_here(["generate", str(graph), "--nodes", "50000", "--edges", "100", "--quiet"])[0] == 0
    partition = ["partition", str(graph), str(out), "--num-parts", "2", "--method", "random", "--quiet"]
    assert run_here([*partition, "--memory", "64MB"])[0] == 0
    disk = small_disk("size=128k")

    def verify() -> None:
        code, message = run_here([*judging(graph, out, "partition"), "--workspace", str(disk)])
        assert code == 3, (code, message)
        expect_one_error(message, str(disk), "No space left on device")

    assert in_fork(verify) == 0
    expect_whole(judging(graph, out, "partition"))


SLEEPING_JOB = """
import sys
from faults.kills import sleep_long
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.engine.resources import Resources
from daskgraphpart.engine.runner import open_runner
if __name__ == "__main__":
    with open_runner(Resources(1 << 28, sys.argv[1], 1)) as runner:
        runner.run(Pass("sleep", sleep_long, [Unit(sys.argv[2], 1)], 100.0))
"""


@pytest.mark.parametrize("cluster", ["processes", "local"])
def test_workers_die_with_their_client_in_the_middle_of_a_task(cluster: str, tmp_path: Path) -> None:
    # a process of its own: a fork would lack the threads of distributed that other tests have started
    client = subprocess.Popen(
        [sys.executable, "-c", SLEEPING_JOB, cluster, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(kills.__file__).parent.parent)},
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()):
        assert client.poll() is None and time.monotonic() < deadline, "the task did not begin"
        time.sleep(0.05)
    (worker,) = (int(path.name) for path in tmp_path.iterdir())
    client.kill()
    client.wait()
    for _ in range(100):
        status = Path(f"/proc/{worker}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            break
        time.sleep(0.05)
    else:
        pytest.fail("the worker lives on")
