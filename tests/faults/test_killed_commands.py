"""A killed command leaves no processes and no files, and is continued to the same bytes: signals at random instants.

A command is ended by SIGKILL, SIGTERM or SIGHUP, and run again, until it is done. Two seconds after a signal nothing
that it started may be there, and nothing in the temporary directory.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest
from faults.kills import hashes

if TYPE_CHECKING:
    from pathlib import Path

CASES = {
    "auto": ("--method", "auto"),
    "multilevel": ("--method", "multilevel"),
    "metis": ("--method", "metis"),
    "kaminpar": ("--method", "kaminpar", "--threads", "1"),
    "cluster": ("--method", "random", "--cluster", "local"),
    "metis on a cluster": ("--method", "metis", "--cluster", "local"),
}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM)
GRACE_SECONDS = 2.0
MARK = "DASKGRAPHPART_KILLED_RUN"


def start(case: str, directory: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start the command, whose processes are known by a variable of their environment."""
    (temporary := directory / "tmp").mkdir(exist_ok=True)
    line = ("partition", directory / "graph", out, "--num-parts", "3", "--memory", "200MB", "--workers", "2", "--quiet")
    return subprocess.Popen(
        [sys.executable, "-m", "daskgraphpart", *map(str, line), *CASES[case]],
        env={**os.environ, MARK: str(directory), "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def left_behind(directory: Path) -> list[str]:
    """Command lines of the processes, and names of the temporary files, that are still there."""
    processes = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(directory) and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return processes + [str(path) for path in (directory / "tmp").iterdir() if path.name != "dask-scratch-space"]


def kill_and_continue(case: str, directory: Path, seconds: float, rng: random.Random) -> tuple[int, list[str]]:
    """Run to the end through kills; the number of kills, and what was wrong."""
    wrong, kills, out = [], 0, directory / "out"
    for attempt in range(20):
        process = start(case, directory, out)
        how = rng.choice(SIGNALS)
        try:
            # shorter and shorter lives would never end
            _, shown = process.communicate(timeout=rng.uniform(0.5, seconds) * (1 + attempt / 3))
        except subprocess.TimeoutExpired:
            process.send_signal(how)
            _, shown = process.communicate()
            kills += 1
            time.sleep(GRACE_SECONDS)
            wrong += [f"{how.name}: left {name}" for name in left_behind(directory)]
        if b"Traceback" in shown:
            wrong.append(shown.decode())
        if process.returncode == 0 or b"output directory is not empty" in shown:  # or killed after its end
            return kills, wrong
        if process.returncode not in (-how, 130, 128 + how):
            wrong.append(f"exit code {process.returncode}: {shown.decode()}")
    return kills, [*wrong, "not done after 20 runs"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the graph is that all runs take, with the kernels compiled."""
    made: Path = tmp_path_factory.mktemp("killed")
    line = ("generate", str(made / "graph"), "--kind", "communities", "--nodes", "2e4", "--edges", "2e5", "--labels")
    subprocess.run([sys.executable, "-m", "daskgraphpart", *line, "--quiet"], check=True)
    start("auto", made, made / "once").communicate()
    return made


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_a_killed_command_leaves_nothing_and_is_continued_to_the_same_bytes(
    case: str, directory: Path, pytestconfig: pytest.Config
) -> None:
    began = time.perf_counter()
    start(case, directory, directory / case).communicate()
    seconds, expected, rng = time.perf_counter() - began, hashes(directory / case), random.Random(case)
    kills = 0
    while kills < pytestconfig.getoption("--kills"):
        more, wrong = kill_and_continue(case, directory, seconds, rng)
        assert wrong == []
        assert hashes(directory / "out") == expected
        kills += more
        shutil.rmtree(directory / "out")
        shutil.rmtree(directory / "tmp")
