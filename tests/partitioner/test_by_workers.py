"""Workers of a cluster share `partition-graph`: the owners of one machine, whoever is lost meanwhile."""

from __future__ import annotations

import os
import re
import signal
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cluster_tasks import share_small_graphs
from distributed import Client, LocalCluster, Scheduler, SpecCluster, Worker, WorkerPlugin
from graphs import file_hashes
from inside import Resources, Runner, generate, open_runner

import daskgraphpart as dgp
from daskgraphpart.errors import PlanError
from daskgraphpart.partitioner import choose
from daskgraphpart.partitioner.multilevel import by_workers
from daskgraphpart.partitioner.multilevel.by_workers import SharedProgram

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daskgraphpart.partitioner.multilevel.side_by_side import Map

pytestmark = pytest.mark.timeout(240)
HOWS: dict[str, dict[str, Any]] = {
    "weighted": {
        "method": "multilevel",
        "edge_weight": "paper:cites:paper/weight",
        "balance": "ntypes,edges",
        "effort": "low",
    },
    "fennel": {"method": "fennel", "balance": "nodes", "method_options": {"passes": 1}},
    "refined": {"method": "OLD", "refine": True},
    "extended": {"extend": "OLD", "extend_options": {"may_move": "5%"}},
}
LONG = ("refined", "extended")


class Lower(WorkerPlugin):
    """Lower thresholds on each worker, also on one that comes later."""

    def setup(self, worker: Any = None) -> None:
        share_small_graphs()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    share_small_graphs(monkeypatch.setattr)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    how = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
    with LocalCluster(n_workers=3, **how) as cluster, Client(cluster, set_as_default=False) as client:
        client.register_plugin(Lower())
        yield client


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with open_runner(Resources(1 << 28)) as runner:
        directory = tmp_path_factory.mktemp("mag") / "graph"
        return generate(directory, kind="mag", num_nodes=10_000, num_edges=30_000, feature_width=1, runner=runner)


@pytest.fixture(scope="module")
def old(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("old") / "owners"
    dgp.assign(graph, 4, method="random", out=out)
    return out


def owners(graph: Path, **how: Any) -> np.ndarray:
    found = dgp.assign(graph, 4, memory="1GB", **how).owners
    return np.concatenate([of_type.compute() for of_type in found.values()])


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the rounds that this process asks workers for."""
    numbers, run = list[int](), Runner._run

    def watched(self: Any, pass_: Any, *rest: Any) -> None:
        numbers.extend([pass_.config.number] if hasattr(pass_.config, "shares") else [])
        run(self, pass_, *rest)

    monkeypatch.setattr(Runner, "_run", watched)
    return numbers


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in HOWS])
def test_workers_find_the_owners_of_one_machine(
    name: str, graph: Path, old: Path, client: Client, rounds: list[int]
) -> None:
    how = {"effort": "low", **{key: str(old) if value == "OLD" else value for key, value in HOWS[name].items()}}
    alone = owners(graph, cluster="sync", workers=1, **how)
    assert rounds == []
    together = owners(graph, cluster=client, **how)
    assert len(rounds) > 10 and rounds == [*range(len(rounds))]
    assert np.array_equal(alone, together)


def test_a_lost_worker_and_a_lost_client_cost_a_round(
    graph: Path, client: Client, rounds: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {"method": "multilevel", "num_parts": 4, "memory": "1GB", "effort": "low"}
    dgp.partition(graph, tmp_path / "alone", cluster="sync", workers=1, **how)
    run, lost = Runner._run, ["worker", "client"]

    def disturbed(self: Any, pass_: Any, *rest: Any) -> None:
        number = getattr(pass_.config, "number", 0)
        if number == 12 and "worker" in lost:
            lost.remove("worker")
            pid = min(client.run(os.getpid).values())
            threading.Timer(0.02, os.kill, (pid, signal.SIGKILL)).start()
        if number == 20 and "client" in lost:
            lost.remove("client")
            raise KeyboardInterrupt
        run(self, pass_, *rest)

    monkeypatch.setattr(Runner, "_run", disturbed)
    with pytest.raises(KeyboardInterrupt):
        dgp.partition(graph, tmp_path / "together", cluster=client, **how)
    assert max(rounds) == 19
    client.run(by_workers._programs.clear)  # workers of another cluster know nothing
    dgp.partition(graph, tmp_path / "together", cluster=client, **how)
    assert rounds == [*range(len(rounds))]
    assert file_hashes(tmp_path / "alone") == file_hashes(tmp_path / "together")


def test_results_and_marks_of_all_shares_reach_the_program(tmp_path: Path) -> None:
    marks, given = np.zeros(1000, np.bool_), np.arange(7)

    def program(each: Map) -> str:
        def call(number: int) -> tuple[Any, ...] | None:
            marks[number * 100] = True
            return (number, (given[:number].astype(np.int16), np.empty((0, 2)))) if number % 2 else None

        found = list(each.share(call, range(5), marks))
        alone = each.alone(lambda each: each(lambda item: item + 1, [1, 2])[1])
        assert [None if one is None else one[1][0].tolist() for one in found] == [None, [0], None, [0, 1, 2], None]
        return f"{alone} {found[3][0]} {np.flatnonzero(marks).tolist()}"

    # two that know nothing of each other
    first, second = (SharedProgram(program, f"{tmp_path}/", 2, 1) for _ in range(2))
    for number in range(2):
        assert [first.compute(0, number), second.compute(1, number)] == [None, None]
    third = SharedProgram(program, f"{tmp_path}/", 2, 1)  # reads what they found
    assert first.compute(0, 2) == third.compute(1, 2) == "3 3 [0, 100, 200, 300, 400]"


def test_a_fault_of_the_program_is_one_of_the_task(tmp_path: Path) -> None:
    def program(each: Map) -> str:
        raise OSError("the disk failed")

    for _ in range(2):
        with pytest.raises(OSError, match="the disk failed"):
            SharedProgram.find(program, f"{tmp_path}/", 1, 1, 0).compute(0, 0)


def test_memory_of_one_worker_is_told_before_work_begins(
    graph: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "KAMINPAR_PER_ARC", 1000)
    how: dict[str, Any] = {"method": "kaminpar", "cluster": client}
    with pytest.raises(PlanError, match="MB on the smallest worker, whose share is 1/3") as told:
        dgp.assign(graph, 4, memory="100MB", **how)
    memory = re.search(r"[Uu]se (\d+MB) or more", str(told.value.hint))
    assert memory is not None
    assert dgp.assign(graph, 4, memory=memory[1], **how).num_parts == 4


def test_of_unequal_workers_the_smallest_must_have_memory(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "KAMINPAR_PER_ARC", 1000)
    workers = {threads: {"cls": Worker, "options": {"nthreads": threads, "memory_limit": 0}} for threads in (1, 3)}
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    with SpecCluster(workers, scheduler=scheduler) as cluster, Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)
        with pytest.raises(PlanError, match="MB on the smallest worker, whose share is 1/4"):
            dgp.assign(graph, 4, memory="100MB", method="kaminpar", cluster=client)
