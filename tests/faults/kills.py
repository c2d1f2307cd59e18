"""Kill a job at an exact instant, and let it continue: for tests/resume and tests/faults.

A job runs in a fork of this process, which has everything imported, so that a run takes a tenth of a second. In the
fork the functions that change files count their calls, and the n-th call of one of them ends the process by SIGKILL:
half of what it should write is written first. Instants of time do as well, and are what reaches worker processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from graphs import Graph
from inside import DispatchOptions, Sizes
from keywords import spelled

import daskgraphpart as dgp
import daskgraphpart.jobs.run_job as opening
from daskgraphpart.engine.journal import Journal
from daskgraphpart.storage.lock import LOCK_NAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRITES = ("pwrite", "write")  # those that can be cut short
EVENTS = (*WRITES, "replace", "rename", "unlink", "rmdir", "mkdir", "ftruncate", "open")
PASSES = ("begin", "record")  # of a journal, before a pass is noted and before its results are
MEMORY = 64 << 20
TINY = Sizes(
    edge_block_rows=400,
    csv_block_bytes=3000,
    row_block_bytes=3000,
    interval_rows=150,
    segment_edges=400,
    map_bytes=1 << 30,
    range_nodes=100,
    bitmap_bytes=1 << 20,
)


PLAIN = DispatchOptions()


@dataclass(frozen=True)
class Case:
    """A job: which command, on which graph, how."""

    name: str
    graph: str
    command: str
    method: str
    cluster: str
    staging: str
    options: DispatchOptions = PLAIN
    by_range: bool = False
    trainers: int = 1
    memory: int = MEMORY
    workers: int = 2
    num_parts: int = 3

    def run(self, root: Path, **how: Any) -> None:
        """Run it in this process; writes to `root / "out"`."""
        graph, out = root.parent / self.graph, root / "out"
        how |= {"memory": self.memory, "cluster": self.cluster, "workers": self.workers}
        method = {"method": self.method, "method_options": {"num_trainers_per_machine": self.trainers}}
        written = {**spelled(self.options), "workspace_options": {"staging": self.staging}}
        sizes = replace(TINY, map_bytes=0) if self.by_range else TINY
        before, opening.choose_sizes = opening.choose_sizes, lambda _: sizes
        try:
            if self.command == "assign":
                dgp.assign(graph, 3, out=out, **method, **how)
            elif self.command == "dispatch":
                owners = root.parent / f"owners-{self.graph}"
                dgp.dispatch(graph, owners, out, **written, **how)
            else:
                dgp.partition(graph, out, self.num_parts, **method, **written, **how)
        finally:
            opening.choose_sizes = before


ALL = DispatchOptions(num_hops=3, graph_formats=("coo", "csr", "csc"), out_edges=True)
TWO = DispatchOptions(num_hops=2, graph_formats=("csc",))
SEVERAL = DispatchOptions(layout=("dgl", "graphbolt", "ranks", "parquet"))
DATASET = DispatchOptions(layout=("dgl", "graphbolt", "ondisk"))
CASES = (
    Case("random", "homogeneous", "partition", "random", "threads", "in-place"),
    Case("fennel", "homogeneous", "partition", "fennel", "threads", "in-place", TWO),
    Case("hetero-zarr", "heterogeneous", "partition", "random", "threads", "zarr", ALL),
    Case("hetero-fennel", "heterogeneous", "partition", "fennel", "threads", "in-place", ALL, trainers=2),
    Case("by-range", "heterogeneous", "partition", "random", "threads", "in-place", by_range=True),
    Case("dispatch", "heterogeneous", "dispatch", "", "threads", "zarr", TWO),
    Case("layouts", "heterogeneous", "partition", "random", "threads", "in-place", SEVERAL),
    Case("dataset", "heterogeneous", "partition", "random", "threads", "in-place", DATASET, num_parts=1),
    Case("assign", "homogeneous", "assign", "fennel", "threads", "in-place", trainers=2),
    Case("multilevel", "heterogeneous", "assign", "multilevel", "threads", "in-place"),
    Case("processes", "heterogeneous", "partition", "random", "processes", "in-place", ALL),
    Case("processes-zarr", "homogeneous", "partition", "fennel", "processes", "zarr"),
)


@dataclass(frozen=True)
class Kill:
    """When: the n-th call of a function of `os` or of the journal, or some seconds after the start (``"time"``)."""

    event: str
    number: float


def make_inputs(root: Path) -> None:
    """Write the graphs, and owners for them."""
    rng = np.random.default_rng(7)
    item, user = dgp.NodeType("item", 400), dgp.NodeType("user", 250)
    likes, knows = dgp.EdgeType("user", "likes", "item", 1500), dgp.EdgeType("user", "knows", "user", 900)
    one, many = dgp.EdgeType("item", "near", "item", 3000), dgp.GraphSchema("h", (item, user), (likes, knows))
    sizes = {"item": 400, "user": 250}

    def edges(*types: dgp.EdgeType) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {
            t.name: (rng.integers(0, sizes[t.src], t.num_edges), rng.integers(0, sizes[t.dst], t.num_edges))
            for t in types
        }

    node_data = {
        "item": {"feat": rng.random((400, 5), np.float32), "train_mask": rng.random(400) < 0.3},
        "user": {"age": rng.integers(0, 99, 250)},
    }
    edge_data = {likes.name: {"stars": rng.integers(0, 5, 1500).astype(np.int8)}}
    homogeneous = dgp.GraphSchema("g", (item,), (one,))
    Graph(homogeneous, edges(one), {"item": node_data["item"]}).write(root / "homogeneous", num_chunks=3)
    Graph(many, edges(likes, knows), node_data, edge_data).write(root / "heterogeneous", num_chunks=(2, 3))
    for name in ("homogeneous", "heterogeneous"):
        dgp.assign(root / name, 3, out=root / f"owners-{name}", method="random")


def hashes(out: Path) -> dict[str, str]:
    """SHA-256 of every file below a directory; the lock of a run that was killed after its end aside."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != LOCK_NAME
    }


def in_fork(work: Callable[[], object]) -> int:
    """Do something in a fork; its exit code, or minus the signal that ended it."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: ours do nothing at that time
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_until(case: Case, root: Path, kill: Kill | None) -> int:
    """Run a case in a fork, which is killed at that instant; its exit code."""

    def work() -> None:
        if kill is not None:
            arm(kill)
        case.run(root)

    return in_fork(work)


def arm(kill: Kill) -> None:
    """Have this process killed."""
    if kill.event == "time":
        timer = threading.Timer(kill.number, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
        return
    owner: Any = Journal if kill.event in PASSES else os
    original, left, lock = getattr(owner, kill.event), [int(kill.number)], threading.Lock()

    def counted(*args: Any, **keywords: Any) -> Any:
        with lock:
            left[0] -= 1
            if left[0] == 0:
                if kill.event in WRITES:
                    fd, content, *where = args
                    original(fd, memoryview(content)[: len(content) // 2], *where)
                os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **keywords)

    setattr(owner, kill.event, counted)


def count_events(case: Case, root: Path) -> tuple[dict[str, int], float]:
    """How often an undisturbed run calls each function, and how long it takes; leaves its output."""
    root.mkdir(parents=True, exist_ok=True)
    report = root / "events"

    def work() -> None:
        counts = dict.fromkeys(EVENTS, 0)
        for event in EVENTS:
            setattr(os, event, _counting(getattr(os, event), event, counts))
        started = time.monotonic()
        case.run(root)
        numbers = [str(n) for n in counts.values()]
        report.write_text(" ".join([*numbers, str(time.monotonic() - started)]))

    assert in_fork(work) == 0, f"{case.name} failed undisturbed"
    *numbers, seconds = report.read_text().split()
    return dict(zip(EVENTS, map(int, numbers), strict=True)), float(seconds)


def _counting(original: Any, event: str, counts: dict[str, int]) -> Any:
    lock = threading.Lock()

    def counted(*args: Any, **keywords: Any) -> Any:
        with lock:
            counts[event] += 1
        return original(*args, **keywords)

    return counted


class Undisturbed:
    """What a case gives when nobody kills it, and the instants at which somebody could."""

    def __init__(self, case: Case, root: Path) -> None:
        self.case, self.root = case, root
        self.events, self.seconds = count_events(case, root / f"{case.name}-undisturbed")
        self.expected = hashes(root / f"{case.name}-undisturbed" / "out")

    def draw(self, rng: random.Random) -> Kill:
        """An instant: every call that changes a file as likely as any other of its kind, or a time."""
        kinds = [event for event in EVENTS if self.events[event]]
        event = rng.choice(["time", *kinds]) if self.case.cluster == "threads" else rng.choice(["time", "time", *kinds])
        if event == "time":
            return Kill("time", rng.uniform(0.0, self.seconds))
        return Kill(event, rng.randint(1, self.events[event]))

    def kill_and_continue(
        self, number: int, judge: Callable[[Path, Path, bool], None] | None = None
    ) -> tuple[list[Kill], list[str]]:
        """Kill the case once to three times, then let it end.

        Parameters
        ----------
        number : int
            Seed.
        judge : callable, optional
            Told the graph, the output and whether it should be whole, after kills and at the end.

        Returns
        -------
        kills : list of Kill
            When it was killed; empty if it ended before.
        differing : list of str
            Files that differ from those of the undisturbed run; must be empty.
        """
        rng = random.Random(f"{self.case.name} {number}")
        directory = self.root / f"{self.case.name}-{number}"
        kills = []
        for kill in [self.draw(rng) for _ in range(rng.choice((1, 1, 2, 3)))]:
            code = run_until(self.case, directory, kill)
            if code == 0:
                break
            assert code == -signal.SIGKILL, f"{self.case.name} {number}: {kill} ended with {code}"
            kills.append(kill)
            if self._is_done(directory):
                break
            # killed after its last file, it has all of them
            if judge is not None and not self.expected.items() <= hashes(directory / "out").items():
                judge(self.root / self.case.graph, directory / "out", False)
        else:
            assert run_until(self.case, directory, None) == 0, f"{self.case.name} {number}: {kills} cannot be continued"
        if judge is not None:
            judge(self.root / self.case.graph, directory / "out", True)
        found = hashes(directory / "out")
        differing = sorted(name for name in {**found, **self.expected} if found.get(name) != self.expected.get(name))
        if not differing:
            shutil.rmtree(directory)
        return kills, differing

    def _is_done(self, directory: Path) -> bool:
        """Whether it was killed after its journal was removed: then it is done, and would refuse to run again."""
        journal = directory / "out" / ".daskgraphpart-work" / "journal"
        last = "partition_meta.json" if self.case.command == "assign" else "*.manifest.json"
        return not journal.exists() and any((directory / "out").glob(last))


def die_once(unit: Any, config: tuple[str, Any, Any]) -> Any:
    """Task around a task: the first call of all kills its worker process, half way through its job."""
    flag, task, inner = config
    result = task(unit, inner)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def die_always(unit: Any, config: tuple[str, Any, Any]) -> Any:
    """Task around a task that kills its worker process as long as a file is there."""
    flag, task, inner = config
    if os.path.exists(flag):
        os.kill(os.getpid(), signal.SIGKILL)
    return task(unit, inner)


def sleep_long(directory: str, seconds: float) -> None:
    """Task that tells its process ID by a file of that name, and works on for a while."""
    os.close(os.open(f"{directory}/{os.getpid()}", os.O_CREAT))
    time.sleep(seconds)
