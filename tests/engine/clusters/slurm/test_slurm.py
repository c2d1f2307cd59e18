"""The main job on a real SLURM of one machine: workers are jobs, one is cancelled, the bytes are the same."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cluster_tasks
import dask
import one_machine_slurm as one_machine
import pytest
import yaml
from graphs import file_hashes
from inside import detect_resources

from daskgraphpart.engine.clusters.cluster_names import job_queue
from daskgraphpart.errors import EnvironmentFaultError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[4]

pytestmark = [pytest.mark.timeout(240), pytest.mark.slurm]
job_queue("slurm")  # registers the defaults of dask-jobqueue


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory for logs, with SLURM running."""
    one_machine.require_slurm()
    directory = tmp_path_factory.mktemp("slurm")
    with one_machine.running_slurm(directory):
        yield directory


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cluster_tasks.write_graph(tmp_path_factory.mktemp("input") / "graph")


@pytest.fixture(scope="module")
def expected(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("expected") / "out"
    cluster_tasks.partition(graph, out, "threads")
    return file_hashes(out)


def job(slurm: Path, **other: Any) -> dict[str, Any]:
    """What ~/.config/dask/jobqueue.yaml says about jobs with one core."""
    return {
        "jobqueue.slurm.cores": 1,
        "jobqueue.slurm.memory": "1GB",
        "jobqueue.slurm.processes": 1,
        "jobqueue.slurm.scheduler-options": {"dashboard_address": ":0"},
        "jobqueue.slurm.walltime": "00:10:00",
        "jobqueue.slurm.interface": "lo",
        "jobqueue.slurm.queue": "main",
        "jobqueue.slurm.log-directory": str(slurm / "log"),
        "jobqueue.slurm.local-directory": str(slurm / "spool"),
        "daskgraphpart.worker-timeout": "60s",
        "distributed.deploy.lost-worker-timeout": "1s",
        **{f"jobqueue.slurm.{name}": value for name, value in other.items()},
    }


class Canceller(cluster_tasks.SilentProgress):
    """Cancels a job after some tasks, and later waits until another has taken its place."""

    def __init__(self, cancel_after: int, wait_after: int) -> None:
        self.cancel_after, self.wait_after = cancel_after, wait_after
        self.done, self.before, self.after = 0, [], []

    def advance(self, nbytes: int, num_rows: int) -> None:
        self.done += 1
        if self.done == self.cancel_after:
            self.before = self.wait_for(lambda jobs: len(jobs) == 2)
            subprocess.run(["scancel", self.before[0]], check=True, timeout=60)
            self.wait_for(lambda jobs: self.before[0] not in jobs)
        elif self.done == self.wait_after:
            self.after = self.wait_for(lambda jobs: len(jobs) == 2)

    def wait_for(self, is_so: Any) -> list[str]:
        deadline = time.monotonic() + 90
        while not is_so(jobs := one_machine.running_jobs()):
            assert time.monotonic() < deadline, f"still {jobs}\n{one_machine.run('squeue')}"
            time.sleep(0.1)
        return list(jobs)


def test_a_job_that_is_cancelled_is_replaced_and_the_bytes_are_the_same(
    slurm: Path, graph: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    progress = Canceller(cancel_after=20, wait_after=30)
    with dask.config.set(job(slurm)):
        cluster_tasks.partition(graph, tmp_path / "out", "slurm", progress=progress)
    assert len(progress.before) == len(progress.after) == 2
    assert progress.before[0] not in progress.after
    assert file_hashes(tmp_path / "out") == expected
    assert _ends()


def _ends() -> bool:
    """Whether all jobs go away by and by."""
    for _ in range(600):
        if not one_machine.run("squeue", "-h"):
            return True
        time.sleep(0.1)
    return False


def test_the_configuration_of_the_manual_is_one_of_dask_jobqueue() -> None:
    page = (ROOT / "docs" / "clusters.md").read_text()
    block = next(block for block in page.split("```")[1::2] if block.startswith("yaml\njobqueue:"))
    manual = yaml.safe_load(block.removeprefix("yaml\n"))
    known = dask.config.get("jobqueue.slurm")
    assert set(manual["jobqueue"]["slurm"]) <= set(known)
    with dask.config.set(manual):
        found = detect_resources(cluster="slurm", workers=64)
        assert found.memory == 4 * 64e9 // 2
        assert detect_resources(cluster="slurm").workers == 16


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"queue": "nowhere"}, r"slurm refuses the job: (?s:.*)invalid partition"),
        (
            {"job-extra-directives": ["--begin=now+1hour"]},
            r"the cluster had no workers for 2 s",
        ),
    ],
    ids=["refused", "late"],
)
def test_a_job_that_does_not_start_is_one_error(
    changed: dict[str, Any], message: str, slurm: Path, graph: Path, tmp_path: Path
) -> None:
    with (
        dask.config.set({**job(slurm, **changed), "daskgraphpart.worker-timeout": "2s"}),
        pytest.raises(EnvironmentFaultError, match=message),
    ):
        cluster_tasks.partition(graph, tmp_path / "out", "slurm")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_script_of_the_manual_runs_the_job_on_one_node(
    slurm: Path, graph: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "clusters.md").read_text()
    script = next(block for block in page.split("```")[1::2] if "#SBATCH" in block).removeprefix("bash\n")
    (tmp_path / "graph").symlink_to(graph)
    # this machine is small, and the environment is not where the manual has it
    for theirs, ours in (
        ("--cpus-per-task=32", "--cpus-per-task=2"),
        ("--mem=128G", "--mem=1G"),
        ("--memory 64GB", "--memory 256MB"),
        ("source ~/venv/bin/activate", f"export PATH={Path(sys.executable).parent}:$PATH PYTHONPATH={ROOT}"),
        ("daskgraphpart partition", f"{sys.executable} -m daskgraphpart partition"),
        ("--num-parts 8", "--num-parts 4 --method random"),
    ):
        assert theirs in script, theirs
        script = script.replace(theirs, ours)
    (tmp_path / "partition.sbatch").write_text(script)
    subprocess.run(["sbatch", "partition.sbatch"], cwd=tmp_path, capture_output=True, timeout=60, check=True)
    assert _ends()
    logs = "\n".join(path.read_text() for path in tmp_path.glob("*.out"))
    assert "edge cut" in logs, logs
    assert file_hashes(tmp_path / "on-one-node") == expected


def test_a_configuration_that_does_not_say_what_a_job_is_is_one_error() -> None:
    with (
        dask.config.set({"jobqueue.slurm.cores": None, "jobqueue.slurm.memory": None}),
        pytest.raises(
            OptionError, match=r"jobqueue\.slurm: .*expected cores and memory, found cores None, memory None"
        ),
    ):
        detect_resources(cluster="slurm")
