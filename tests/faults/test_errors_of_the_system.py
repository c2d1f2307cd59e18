"""What else a disk can say, in the middle of a run, and what a clock can do."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from faults.machine import CONTINUE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from faults.machine import Trial

    Make = Callable[[str], Trial]

pytestmark = pytest.mark.long  # a full and an unreadable disk in every pass are in test_every_pass.py

# job, pass, place, calls, error, calls before it
ERRORS: list[tuple[str, str, str, tuple[str, ...], int, int]] = [
    ("random", "bucket-edges", "the-input", ("read",), errno.EIO, 9),
    ("zarr", "bucket-edges", "the-input", ("read",), errno.ETIMEDOUT, 9),
    ("dispatch", "read-assignment", "the-input", ("read",), errno.ESTALE, 1),
    ("fennel", "merge-arcs", "the-workspace", ("read",), errno.EUCLEAN, 3),
    ("zarr", "export-files", "the-workspace", ("read",), errno.ENOTCONN, 2),
    ("random", "place-rows", "the-input", ("open",), errno.EACCES, 5),
    ("random", "place-rows", "the-input", ("open",), errno.EMFILE, 5),
    ("random", "bucket-edges", "the-workspace", ("write",), errno.EDQUOT, 7),
    ("random", "build-graph", "the-output", ("write",), errno.EIO, 20),
    ("random", "lay-out", "the-output", ("create",), errno.EACCES, 1),
    ("random", "lay-out", "the-output", ("create",), errno.EROFS, 1),
    ("random", "bucket-edges", "the-workspace", ("rename",), errno.EIO, 2),
    ("random", "split-nids", "the-output", ("write",), errno.EIO, 1),
    ("random", "hash-files", "the-output", ("sync",), errno.EIO, 0),
    ("assign", "write-assignment", "the-output", ("rename",), errno.EIO, 0),
    ("assign", "copy-trainers", "the-output", ("sync",), errno.EIO, 0),
    ("build", "begin", "the-input", ("read",), errno.ESTALE, 20),
    ("to-original", "reorder-rows", "the-output", ("rename",), errno.EIO, 0),
]


@pytest.mark.parametrize(
    ("name", "pass_", "place", "kinds", "number", "after"),
    ERRORS,
    ids=[f"{e[0]}-{e[1]}-{e[3][0]}-{errno.errorcode[e[4]]}-{e[5]}".replace(" ", "-") for e in ERRORS],
)
def test_an_error_of_the_system_names_the_file_and_the_job_goes_on(
    name: str, pass_: str, place: str, kinds: tuple[str, ...], number: int, after: int, trial: Make
) -> None:
    job = trial(name)
    fault = {"pass": pass_, "place": f"/{place}/", "kinds": kinds, "errno": number, "after": after}
    message = job.fail(os.strerror(number), f"/{place}/", fault=fault)
    assert (CONTINUE in message) == job.job.can_continue
    job.finish()


@pytest.mark.parametrize("name", ["zarr", "fennel", "metis", "build", "convert", "to-original"])
def test_calls_that_move_less_than_they_should_change_nothing(name: str, trial: Make) -> None:
    job = trial(name)
    found = job.run(fault={"place": "/the-", "kinds": ("read", "write"), "how": "short"})
    assert found["code"] == 0, found["message"]
    assert found["hits"] > 100 or name == "to-original"
    job.check_whole()


@pytest.mark.parametrize(
    ("name", "pass_", "after"),
    [
        ("random", "bucket-edges", 9),
        ("zarr", "bucket-edges", 9),
        ("zarr", "place-rows", 3),
        ("build", "begin", 0),
    ],
)
def test_an_input_that_ends_early_is_a_mistake_of_the_input(name: str, pass_: str, after: int, trial: Make) -> None:
    job = trial(name)
    fault = {"pass": pass_, "place": "/the-input/", "kinds": ("read",), "how": "end", "after": after}
    job.fail("/the-input/", code=2, fault=fault)
    assert not job.out.exists() or list(job.out.iterdir()) == []
    job.finish()


@pytest.mark.parametrize(
    ("name", "pass_", "place"),
    [("random", "build-graph", "the-workspace"), ("fennel", "merge-arcs", "the-workspace")],
)  # fmt: skip
def test_a_file_of_ours_that_ends_early_is_a_fault_of_the_disk(name: str, pass_: str, place: str, trial: Make) -> None:
    job = trial(name)
    fault = {"pass": pass_, "place": f"/{place}/", "kinds": ("read",), "how": "end", "after": 2}
    job.fail(f"/{place}/", "a file of the unfinished run is damaged", CONTINUE, fault=fault)
    job.finish()


@pytest.mark.parametrize(
    ("name", "which", "pass_", "how"),
    [
        ("random", "homogeneous/edges/*-1.csv", "bucket-edges", "truncate"),
        ("random", "homogeneous/node_data/0-0-1.npy", "place-rows", "truncate"),
        ("zarr", "parquet/edges/*.parquet", "bucket-edges", "remove"),
    ],
)
def test_an_input_that_is_cut_or_goes_away_while_the_job_runs(
    name: str, which: str, pass_: str, how: str, trial: Make, tmp_path: Path
) -> None:
    job = trial(name)
    job.inputs = shutil.copytree(job.inputs, tmp_path / "the-input")
    path = sorted(job.inputs.glob(which))[0]
    content, status = path.read_bytes(), path.stat()
    job.fail(path.name, code=2, fault={"pass": pass_, how: str(path)})
    if how == "truncate":
        path.write_bytes(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    else:
        os.rename(f"{path}.away", path)
    job.finish()


@pytest.mark.parametrize("seconds", [-10 * 365 * 86400, 10 * 365 * 86400], ids=["back", "ahead"])
@pytest.mark.parametrize("name", ["random", "fennel", "build"])
def test_a_clock_that_leaps_while_the_job_runs_changes_nothing(name: str, seconds: int, trial: Make) -> None:
    job = trial(name)
    found = job.run(fault={"pass": "scan-edges" if name != "build" else "cut-runs", "clock": seconds})
    assert found["code"] == 0, found["message"]
    job.check_whole()


@pytest.mark.parametrize("seconds", [-(10**8), 10**8], ids=["back", "ahead"])
def test_a_job_is_continued_by_another_clock(seconds: int, trial: Make) -> None:
    job = trial("fennel")
    dead = {"pass": "build-graph", "place": "/the-output/", "kinds": ("write",), "how": "kill", "after": 9}
    assert job.run(fault={**dead, "pass": "build-graph"})["code"] == -signal.SIGKILL
    job.check_not_whole()
    found = job.run(fault={"clock": seconds})
    assert found["code"] == 0, found["message"]
    job.check_whole()


# what is done before the partitioner's own work, and is not done again
BEFORE = {"scan-edges", "split-edges", "merge-arcs", "weigh-nodes"}
SOLVES = [
    ("fennel", "partition-graph", "open"),
    ("fennel", "fill-parts", "read"),
    ("multilevel", "partition-graph", "read"),
    ("metis", "partition-graph", "write"),
    ("assign", "partition-graph", "open"),
]


@pytest.mark.parametrize(("name", "pass_", "kind"), SOLVES, ids=[f"{s[0]}-{s[1]}" for s in SOLVES])
def test_killed_in_the_partitioner_only_the_partitioner_is_run_again(
    name: str, pass_: str, kind: str, trial: Make, undisturbed: Any
) -> None:
    job = trial(name)
    dead = {"pass": pass_, "place": "/the-workspace/", "kinds": (kind,), "how": "kill"}
    assert job.run(fault=dead)["code"] == -signal.SIGKILL
    job.check_not_whole()
    again = job.finish()["ran"]
    assert pass_ in again
    assert not BEFORE & set(again[: again.index(pass_)])
    inside = undisturbed(name)[2]
    assert set(again) <= set(inside[inside.index(pass_) :])


def test_a_worker_process_whose_disk_fails_names_the_file(trial: Make) -> None:
    job = trial("random")
    fault = f"2,3,0,{errno.EIO},/the-output/"  # writes, after three of them, fail
    job.fail("Input/output error", "/the-output/", CONTINUE, more=["--cluster", "processes"],
             environment={"FAULTS_OF_THE_DISK": fault})  # fmt: skip
    job.finish()


def test_a_conversion_that_is_killed_starts_over(trial: Make) -> None:
    job = trial("convert")
    dead = {"pass": "build-graph", "place": "/the-output/", "kinds": ("write",), "how": "kill", "after": 9}
    assert job.run(fault=dead)["code"] == -signal.SIGKILL
    job.check_not_whole()
    for path in (job.root / "the-workspace").iterdir():  # of the conversion proper, which has no journal
        if path.name.startswith(".daskgraphpart-") and "work" not in path.name:
            shutil.rmtree(path)
    job.finish()


def test_a_client_that_is_killed_leaves_workers_that_do_no_harm(trial: Make) -> None:
    """Those of distributed, which has processes of its own between client and workers."""
    job = trial("random")
    words = [sys.executable, "-m", "daskgraphpart", *job.words(job.job.words), "--cluster", "local"]
    journal = ".daskgraphpart-work-*/journal"
    client = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not any(b"relabel-nodes" in path.read_bytes() for path in (job.root / "the-workspace").glob(journal)):
        assert client.poll() is None and time.monotonic() < until, "the job did not begin"
        time.sleep(0.002)
    client.kill()
    client.wait()
    job.check_not_whole()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)  # not job.finish(), whose blocks are smaller
    job.check_whole()
