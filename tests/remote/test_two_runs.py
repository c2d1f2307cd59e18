"""Two runs of one output: in a store as on a disk it belongs to one of them, whatever sleeps or is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from clients_of_one_output import Client, Killed, gates
from remote_stores import S3, contents_of, copy_in, make_graph

from daskgraphpart import GraphPartError, assign, open_partitions, partition, read_chunked, verify
from daskgraphpart.errors import EnvironmentFaultError, LayoutError, OutputExistsError, OutputLockedError, ResumeError
from daskgraphpart.storage.atomic import DELETED_FORMAT
from daskgraphpart.storage.lock import LOCK_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.timeout(120)]

URL_OUT, URL_WORK = "s3://bucket/out", "s3://bucket/work"
HOW: dict[str, Any] = {"memory": "200MB", "cluster": "sync", "workers": 1}


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two graphs of the same shape, with other features."""
    root = tmp_path_factory.mktemp("graphs")
    for number in range(2):
        graph = make_graph(40, 60)
        graph.node_data["user"]["feat"] += np.float32(number)
        graph.write(root / str(number))
    return [root / "0", root / "1"]


@pytest.fixture(autouse=True)
def passing_gates(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with gates(monkeypatch):
        yield


class Jobs:
    """Runs of a function on either graph, to one output, with workspaces of this machine or in the store."""

    def __init__(self, s3: S3, graphs: list[Path], root: Path, kind: str = "partition") -> None:
        self.s3, self.graphs, self.root, self.kind = s3, graphs, root, kind
        if kind != "partition":
            for number, path in enumerate(graphs):
                copy_in(path, s3.files, f"s3://bucket/{number}")

    def client(self, number: int, workspace: str, sleep_at: int | str = -1, out: Any = URL_OUT, **how: Any) -> Client:
        how = {**HOW, "storage_options": self.s3.options, **how}
        if self.kind == "partition":
            how = {"num_parts": 2, "method": "random", "workspace": self.root / workspace, **how}
            return Client(lambda listener: partition(self.graphs[number], out, progress=listener, **how), sleep_at)
        graph, is_shared = f"s3://bucket/{number}", self.kind == "one-workspace" and out == URL_OUT
        how["workspace"] = f"{URL_WORK}/{'shared' if is_shared else workspace}"
        if self.kind in ("in-store", "one-workspace"):
            how = {"num_parts": 2, "method": "random", **how}
            return Client(lambda listener: partition(graph, out, progress=listener, **how), sleep_at)
        if self.kind == "assign":
            how = {"num_parts": 2 + number, "method": "random", **how}
            return Client(lambda listener: assign(graph, out=out, progress=listener, **how), sleep_at)
        opened = read_chunked(graph, storage_options=self.s3.options)
        return Client(lambda listener: opened.write_chunked(out, progress=listener, **how), sleep_at)

    def expected(self, number: int) -> dict[str, bytes]:
        """What a run writes that nobody disturbs."""
        client = self.client(number, "alone", out=f"s3://bucket/alone-{number}").start()
        assert not isinstance(client.outcome, BaseException), client.outcome
        return contents_of(self.s3.files, f"s3://bucket/alone-{number}")

    def contents(self) -> dict[str, bytes]:
        """What is in the output, without its lock."""
        found = contents_of(self.s3.files, URL_OUT)
        return {name: content for name, content in found.items() if not name.startswith(LOCK_NAME)}


LATE = {"partition": "export-files", "in-store": "export-files", "assign": "write-assignment", "chunk": "write-chunks"}
KINDS = ["partition", "chunk", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("in-store", "assign"))]


@pytest.mark.parametrize("kind", KINDS)
def test_an_output_in_a_store_belongs_to_one_run_whatever_its_workspace(
    kind: str, s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    jobs = Jobs(s3, graphs, tmp_path, kind)
    first = jobs.client(0, "a", LATE[kind]).start()
    assert first.sleeps
    first.shows_life = True  # it is slow
    with pytest.raises(OutputLockedError, match=r"s3://bucket/out: another run \(pid \d+ on host .*Wait until it ends"):
        raise jobs.client(1, "b", overwrite=True).start().outcome
    first.shows_life = False
    second = jobs.client(1, "b", overwrite=True).start()  # it sleeps too long
    assert not isinstance(second.outcome, BaseException), second.outcome
    finished = jobs.contents()
    assert finished == jobs.expected(1)
    with pytest.raises(OutputLockedError, match="another run has taken over"):
        raise first.wake().outcome
    assert jobs.contents() == finished
    with pytest.raises(OutputExistsError if kind == "chunk" else ResumeError, match="overwrite"):
        raise jobs.client(0, "a").start().outcome
    assert jobs.contents() == finished and LOCK_NAME not in str(contents_of(s3.files, URL_OUT))


@pytest.mark.parametrize("kind", ["assign", *(pytest.param(k, marks=pytest.mark.long) for k in ("partition", "chunk"))])
def test_an_output_on_a_disk_belongs_to_one_run_however_long_it_sleeps(
    kind: str, graphs: list[Path], tmp_path: Path
) -> None:
    def job(listener: Any, number: int = 0, **how: Any) -> Any:
        how = {**HOW, "progress": listener, **how}
        if kind == "chunk":
            return read_chunked(graphs[number]).write_chunked(tmp_path / "out", **how)
        restart = {"restart": True} if how.get("overwrite") else {}
        return (assign if kind == "assign" else partition)(
            graphs[number], num_parts=2, out=tmp_path / "out", method="random", **how, **restart
        )

    sleeping = Client(job, {**LATE, "partition": "hash-files"}[kind]).start()
    assert sleeping.sleeps
    with pytest.raises(OutputLockedError, match="another run"):
        raise Client(lambda listener: job(listener, 1, overwrite=True)).start().outcome
    assert not isinstance(sleeping.wake().outcome, BaseException)


def stop_while_sending(client: Client) -> None:
    """Kill a run after it has sent some files."""
    client.sleep_at = "complete"
    client.start().wake(client.gates + 6).kill()
    assert isinstance(client.outcome, Killed)


def test_a_run_that_was_stopped_does_not_continue_into_the_output_of_another(
    s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    jobs = Jobs(s3, graphs, tmp_path)
    stop_while_sending(jobs.client(0, "a"))
    assert not isinstance(jobs.client(1, "b", overwrite=True).start().outcome, BaseException)
    finished = jobs.contents()
    with pytest.raises(ResumeError, match=r"another run has written to the output.*restart=True and overwrite=True"):
        raise jobs.client(0, "a").start().outcome
    with pytest.raises(OutputExistsError, match="overwrite"):
        raise jobs.client(0, "a", restart=True).start().outcome
    assert jobs.contents() == finished == jobs.expected(1)
    assert not isinstance(jobs.client(0, "a", restart=True, overwrite=True).start().outcome, BaseException)
    assert jobs.contents() == jobs.expected(0)


def test_a_run_that_was_refused_leaves_the_stopped_one_to_be_continued(
    s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    jobs = Jobs(s3, graphs, tmp_path)
    stop_while_sending(jobs.client(0, "a"))
    assert isinstance(jobs.client(1, "b").start().outcome, OutputExistsError)
    assert not isinstance(jobs.client(0, "a").start().outcome, BaseException)
    assert jobs.contents() == jobs.expected(0)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["partition", "in-store", "assign"])
def test_a_run_that_is_killed_again_as_it_begins_to_continue_is_continued(
    kind: str, s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    jobs = Jobs(s3, graphs, tmp_path, kind)
    stop_while_sending(jobs.client(0, "a"))
    asleep_at = list[str]()
    while not asleep_at or asleep_at[-1] in ("lock", "renew", "log", "abort", "release", ""):
        killed = jobs.client(0, "a", len(asleep_at) + 1).start()
        assert killed.sleeps, killed.outcome
        asleep_at.append(killed.asleep_at)
        killed.kill()
    assert {"lock", "renew", "abort"} <= {*asleep_at}, asleep_at
    assert not isinstance((last := jobs.client(0, "a").start()).outcome, BaseException), last.outcome
    assert jobs.contents() == jobs.expected(0)


SEVERAL = ("dgl", "graphstorm", "parquet")


@pytest.mark.parametrize("is_continued", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.parametrize("num_left", [1, *(pytest.param(number, marks=pytest.mark.long) for number in range(2, 7))])
def test_a_run_that_is_killed_between_its_configs_is_continued_or_replaced(
    num_left: int, is_continued: bool, s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    jobs, how = Jobs(s3, graphs, tmp_path), {"layout": SEVERAL}
    whole = jobs.client(0, "whole", "complete", out="s3://bucket/whole", **how).start()
    num_files = 1
    while whole.wake("complete").sleeps:
        num_files += 1
    killed = jobs.client(0, "a", "complete", **how).start()
    for _ in range(num_files - num_left):
        killed.wake("complete")
    killed.kill()
    there = jobs.contents()
    assert len(there) == num_files - num_left and "shop.json" not in there
    with pytest.raises(GraphPartError):
        open_partitions(URL_OUT, storage_options=s3.options)
    if is_continued:
        last = jobs.client(0, "a", **how).start()
        assert jobs.contents() == contents_of(s3.files, "s3://bucket/whole"), last.outcome
    else:
        last = jobs.client(1, "b", overwrite=True, **how).start()
        assert isinstance(jobs.client(0, "a", **how).start().outcome, ResumeError)
    assert not isinstance(last.outcome, BaseException), last.outcome
    assert verify(graphs[not is_continued], URL_OUT, checksums=True, storage_options=s3.options).ok


@pytest.mark.parametrize("kind", [*(pytest.param(k, marks=pytest.mark.long) for k in LATE)])
@pytest.mark.timeout(900)
def test_a_run_that_is_killed_anywhere_while_it_replaces_another_leaves_no_mixture(
    kind: str, s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    jobs = Jobs(s3, graphs, tmp_path, kind)
    expected = [jobs.expected(number) for number in range(2)]
    has_ended, gate = False, 0
    while not has_ended:
        gate += 3
        if jobs.contents() != expected[0]:
            assert not isinstance(jobs.client(0, f"of-{gate}", overwrite=True).start().outcome, BaseException)
        killed = jobs.client(1, f"killed-{gate}", gate, overwrite=True).start()
        has_ended = not killed.sleeps
        if not has_ended:
            killed.kill()
        assert not shows_whole(there := jobs.contents()) or there in expected
    assert gate > 20 and jobs.contents() == expected[1]


def shows_whole(there: dict[str, bytes]) -> bool:
    """Whether there is a config, other than one that says that it is about to be deleted."""
    configs = [there[name] for name in ("shop.json", "metadata.json", "partition_meta.json") if name in there]
    return any(DELETED_FORMAT not in str(config) for config in configs)


def play(jobs: Jobs, seed: int, expected: list[dict[str, bytes]]) -> list[str]:
    """Start, sleep, wake, kill, continue and overwrite in random order; return what was done."""
    rng, clients, told = np.random.default_rng(seed), dict[str, tuple[int, Client]](), list[str]()
    finished: int | None = None
    now: dict[str, bytes] = {}
    may_be_unfinished = False
    done: list[Client] = []  # asleep as they clean up, while others have run since
    refusals = (OutputLockedError, OutputExistsError, ResumeError, EnvironmentFaultError, Killed)
    for _ in range(rng.integers(4, 9)):
        name = str(rng.choice(["a", "b", "c"]))
        number, client = clients.get(name, (int(rng.integers(2)), None))
        sleep_at = int(rng.choice([-1, rng.integers(1, 100)]))
        if client is not None and client.sleeps:
            if rng.random() < 0.3:
                told.append(f"kill {name}")
                client.kill()
                continue
            told.append(f"wake {name} until {sleep_at}")
            client.wake(client.gates + sleep_at if sleep_at > 0 else -1)
        else:
            how = {"overwrite": bool(rng.random() < 0.6), "restart": bool(rng.random() < 0.3)}
            if jobs.kind == "chunk":
                del how["restart"]
            done += [of for of_number, of in clients.values() if of.cleans_up and now == expected[of_number]]
            told.append(f"start {name} with {number} until {sleep_at} {how}")
            clients[name] = number, (client := jobs.client(number, name, sleep_at, **how).start())
            may_be_unfinished |= how["overwrite"] or how.get("restart", False) or finished is None
        told.append(f"  {client.outcome or 'sleeps'!r:.150}")
        if client.sleeps or isinstance(client.outcome, BaseException):
            is_opening = client in done and isinstance(client.outcome, LayoutError)  # what another has begun to replace
            assert client.sleeps or is_opening or isinstance(client.outcome, refusals), told
        elif client not in done:
            finished, may_be_unfinished = number, False
            assert jobs.contents() == expected[number], told
        now = jobs.contents()
        assert not shows_whole(now) or now in expected, told
        if finished is not None and not may_be_unfinished:
            assert now == expected[finished], told
    for _, client in clients.values():
        if client.sleeps:
            client.kill()
    return told


def play_all(kind: str, seeds: range, s3: S3, graphs: list[Path], root: Path) -> None:
    jobs = Jobs(s3, graphs, root, kind)
    expected = [jobs.expected(number) for number in range(2)]
    for seed in seeds:
        for place in filter(s3.files.find, (URL_OUT, URL_WORK)):
            s3.files.rm(place, recursive=True)
        play(Jobs(s3, graphs, root / str(seed), kind), seed, expected)


def test_no_order_of_two_clients_mixes_outputs_or_changes_a_finished_one(
    s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    play_all("partition", range(1), s3, graphs, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", [*LATE, "one-workspace"])
def test_no_order_of_clients_does_so_at_length(kind: str, s3: S3, graphs: list[Path], tmp_path: Path) -> None:
    play_all(kind, range(50), s3, graphs, tmp_path)


CLIENT = """
import json, os, signal, sys
import daskgraphpart
from daskgraphpart.storage import store_lock
store_lock.SECONDS_BETWEEN_BEATS, store_lock.SECONDS_OF_PATIENCE = 0.2, 1.0
name, how, instant = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
def watch(event):
    if f"{event['event']} {event.get('stage')}" == instant:
        os.kill(os.getpid(), signal.SIGSTOP)
try:
    getattr(daskgraphpart, name)(**how, progress=watch)
except daskgraphpart.GraphPartError as fault:
    print(f"{type(fault).__name__}: {fault}")
else:
    print("done")
"""


@contextmanager
def client_process(name: str, how: dict[str, Any], instant: str = "") -> Iterator[subprocess.Popen[str]]:
    """Run a function until its process stops itself at an instant, or ends."""
    command = [sys.executable, "-c", CLIENT, name, json.dumps(how), instant]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            while process.poll() is None and Path(f"/proc/{process.pid}/stat").read_text().split()[2] != "T":
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "first_at", "second_at"),
    [
        ("partition", "begin export-files", "never"),
        ("partition", "begin bucket-edges", "begin export-files"),
        ("partition", "begin bucket-edges", "begin mark-halo"),
        ("partition", "begin relabel-nodes", "begin export-files"),
        ("partition", "end export-files", "begin bucket-edges"),
        ("assign", "begin write-assignment", "never"),
        ("assign", "begin write-assignment", "begin write-assignment"),
    ],
)
def test_a_stopped_process_that_wakes_changes_nothing_of_the_job_that_was_started_over(
    name: str, first_at: str, second_at: str, s3: S3, graphs: list[Path], tmp_path: Path
) -> None:
    jobs = Jobs(s3, graphs, tmp_path, "in-store" if name == "partition" else "assign")
    how = {**HOW, "method": "random", "out": URL_OUT, "workspace": URL_WORK, "storage_options": s3.options}
    of = [{**how, "graph": f"s3://bucket/{number}", "num_parts": 2} for number in range(2)]
    if name == "assign":
        of[1]["num_parts"] = 3
    with client_process(name, of[0], first_at) as first:
        assert first.poll() is None, first.communicate()
        with client_process(name, {**of[1], "restart": True, "overwrite": True}, second_at) as second:
            first.send_signal(signal.SIGCONT)
            told = first.communicate(timeout=60)[0]
            second.send_signal(signal.SIGCONT)
            assert second.communicate(timeout=60)[0].endswith("done\n")
    assert "OutputLockedError" in told and "another run" in told, told
    assert jobs.contents() == jobs.expected(1)
    assert s3.files.find(URL_WORK) == []
