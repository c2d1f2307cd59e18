"""Does a killed command leave processes or files, and is it continued to the same bytes? Signals at random instants.

A command is ended by SIGKILL, SIGTERM or SIGHUP, and run again, until it is done. Two seconds after a signal nothing
that it started may be there, and nothing in the temporary directory.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from killing import hashes

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


def make_graph(directory: Path, num_edges: str) -> None:
    """Write the graph that all runs take."""
    line = ("generate", str(directory / "graph"), "--kind", "communities", "--nodes", "2e4", "--edges", num_edges)
    subprocess.run([sys.executable, "-m", "daskgraphpart", *line, "--labels", "--quiet"], check=True)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each case")
    parser.add_argument("--cases", default=",".join(CASES), help="comma between the names")
    parser.add_argument("--edges", default="2e5")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        directory, rng = Path(scratch), random.Random(options.seed)
        make_graph(directory, options.edges)
        for case in options.cases.split(","):
            start(case, directory, directory / "once").communicate()  # compiles kernels
            began = time.perf_counter()
            start(case, directory, directory / case).communicate()
            seconds, expected = time.perf_counter() - began, hashes(directory / case)
            kills = runs = 0
            wrong: list[str] = []
            while kills < options.kills and len(wrong) < 10:
                more, faults = kill_and_continue(case, directory, seconds, rng)
                if hashes(directory / "out") != expected:
                    faults.append("other bytes")
                kills, runs, wrong = kills + more, runs + 1, wrong + faults
                subprocess.run(["rm", "-rf", directory / "out", directory / "tmp"], check=True)
            print(f"{case}: {kills} kills in {runs} jobs of {seconds:.1f} s: {wrong or 'same bytes, nothing left'}")
            failed = failed or bool(wrong)
            subprocess.run(["rm", "-rf", directory / "once", directory / case], check=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
