"""Workers of a cluster share `partition-graph`: what each of them holds, and what they exchange; the rest is killed.

    python benchmarks/shared_partitioning.py --nodes 2e7 --edges 2e8 --workers 8 --kill worker=20,scheduler=40,client=60

One machine assigns a graph of communities, then workers of one thread, each with a /tmp of its own, which share a disk.
After so many rounds a worker, the scheduler or the client is killed, and what was lost is started again: the same
command continues. Owners must be the same. Memory of a worker is the most private memory that is resident; bytes are
those of the files that rounds write, each of which every worker reads.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from harness import cpu_seconds, generate_once, graph_options, keep_lines, measure, our_command, show

PAUSE_S = 0.1
SECONDS_TO_START = 120
WORKER = ("--nthreads", "1", "--memory-limit", "0", "--no-nanny", "--no-dashboard", "--death-timeout", "600")


class Rounds(threading.Thread):
    """Watches a workspace and processes: sizes of the files of rounds, and the private memory of each process."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(daemon=True)
        self.workspace, self.files, self.peaks = workspace, dict[str, int](), dict[int, int]()
        self.is_over, self.watched = threading.Event(), list[int]()

    def run(self) -> None:
        """Look until it is over."""
        while not self.is_over.wait(PAUSE_S):
            for path in self.workspace.rglob("rounds/*-*-*"):
                if not path.name.startswith("."):
                    self.files[path.name] = max(self.files.get(path.name, 0), size_of(path))
            for process in self.watched:
                self.peaks[process] = max(self.peaks.get(process, 0), private_memory(process))

    @property
    def number(self) -> int:
        """Rounds that have begun."""
        return len({name.split("-")[1] for name in self.files})


def size_of(path: Path) -> int:
    """Size of a file that may be gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def private_memory(process: int) -> int:
    """Bytes of memory that are resident and of no file; 0 if the process is gone."""
    try:
        lines = dict(line.split(":") for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return int(lines["RssAnon"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


class Machines:
    """A scheduler and workers, each in a mount namespace with a /tmp of its own; the rest of the disk is shared."""

    def __init__(self, root: Path, workers: int, rounds: Rounds) -> None:
        self.root, self.rounds, self.count = root, rounds, 0
        self.file = root / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file))
        deadline = time.monotonic() + SECONDS_TO_START
        while not self.file.is_file():
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(PAUSE_S)
        self.workers = [self.start_worker() for _ in range(workers)]

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        worker = self._start("worker", "--scheduler-file", str(self.file), *WORKER)
        self.rounds.watched.append(worker.pid)
        return worker

    def end(self) -> None:
        """End them all."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.file.unlink(missing_ok=True)

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        self.count += 1
        apart = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /tmp && exec "$@"', "sh"]
        log = (self.root / f"machine-{self.count}.log").open("wb")
        return subprocess.Popen([*apart, sys.executable, "-m", "dask", *command], stdout=log, stderr=log, cwd="/")


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--memory", default="512MB", help="of each worker")
    parser.add_argument("--kill", default="", help="such as worker=20,scheduler=40,client=60: after so many rounds")
    options = parser.parse_args()
    kills = sorted((int(number), what) for what, _, number in (k.partition("=") for k in options.kill.split(",") if k))
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        assert not root.is_relative_to("/tmp"), "each machine has another /tmp: use --directory"
        sizes = ("--nodes", options.nodes, "--edges", options.edges, "--features", "1")
        graph = generate_once(
            (options.directory or root) / f"communities-{options.edges}", "--kind", "communities", *sizes
        )
        assign = ("assign", str(graph), "--num-parts", options.parts, "--quiet")
        before = cpu_seconds()
        alone = measure(our_command(*assign, str(root / "alone"), "--memory", "4GB"))
        cpu = cpu_seconds() - before
        found = together(assign, root, options, kills)
        assert digest(root / "alone") == digest(root / "together"), "other owners than those of one machine"
    edges = float(options.edges)
    results = {"alone": {"seconds": alone.seconds, "cpu": cpu, "peak": alone.peak_bytes}, "together": found}
    show(
        ["edges", "workers", "killed", "rounds", "bytes per edge", "largest worker", "CPU s, alone", "wall s, alone"],
        [
            [
                options.edges, options.workers, options.kill or "none", found["rounds"],
                f"{found['bytes'] / edges:.1f}", f"{found['peak'] / 1e6:.0f} MB",
                f"{found['cpu']:.0f}, {cpu:.0f}", f"{found['seconds']:.0f}, {alone.seconds:.0f}",
            ]
        ],
    )  # fmt: skip
    setting = {key: str(value) for key, value in vars(options).items() if key not in ("runs", "directory")}
    keep_lines("shared_partitioning", setting, results)


def together(assign: tuple[str, ...], root: Path, options: Any, kills: list[tuple[int, str]]) -> dict[str, float]:
    """Assign owners by workers; kill what is to be killed after so many rounds, and go on."""
    workspace = root / "work"
    rounds = Rounds(workspace)
    before, begun = cpu_seconds(), time.monotonic()
    machines = Machines(root, options.workers, rounds)
    size = f"{int(options.workers * float(options.memory.removesuffix('MB')))}MB"
    how = ("--memory", size, "--workers", str(options.workers), "--workspace", str(workspace))
    command = our_command(*assign, str(root / "together"), "--cluster", str(machines.file), *how)
    rounds.start()
    while True:
        client = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd="/")
        while client.poll() is None:
            time.sleep(PAUSE_S)
            if kills and rounds.number > kills[0][0]:
                _, what = kills.pop(0)
                print(f"kill the {what} in round {rounds.number}", flush=True)
                if what == "worker":
                    machines.workers[0].kill()
                    machines.workers[0] = machines.start_worker()
                elif what == "scheduler":
                    machines.end()
                else:
                    client.send_signal(signal.SIGKILL)
        assert client.stderr is not None
        said = client.stderr.read()
        if client.returncode == 0:
            break
        print(f"client: exit code {client.returncode}: {said[-400:]}", flush=True)
        if machines.scheduler.poll() is not None:
            machines = Machines(root, options.workers, rounds)
        elif client.returncode != -signal.SIGKILL:
            raise SystemExit(said)
    seconds = time.monotonic() - begun
    rounds.is_over.set()
    rounds.join()
    machines.end()
    return {
        "seconds": seconds,
        "cpu": cpu_seconds() - before,
        "peak": max(rounds.peaks.values()),
        "rounds": rounds.number,
        "bytes": sum(rounds.files.values()),
    }


def digest(owners: Path) -> str:
    """Hash of all owners."""
    found = hashlib.sha256()
    for path in sorted(owners.rglob("*.npy")):
        found.update(path.name.encode() + path.read_bytes())
    assert found.digest() != hashlib.sha256().digest(), os.listdir(owners)
    return found.hexdigest()


if __name__ == "__main__":
    main()
