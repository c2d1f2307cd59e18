"""Graphs, jobs and what is lazy do in dask what a user of dask expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin
from graphs import file_hashes

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IDS = np.arange(60)
ETYPE = "_N:_E:_N"


def lazy_graph() -> dgp.Graph:
    frame = dd.from_pandas(pd.DataFrame({"src": IDS, "dst": np.roll(IDS, 1)}), 3)
    return dgp.from_edges(frame, num_nodes=60, node_data={"x": da.from_array(IDS, chunks=20)})


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """One thread, so that a task which waits for another waits for ever."""
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", resources={"GPU": 1}
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_graph_is_no_collection_and_is_handed_on_as_it_is() -> None:
    for graph in (lazy_graph(), lazy_graph().with_reverse_edges()):
        assert not dask.is_dask_collection(graph)
        assert dask.compute(graph)[0] is graph
        assert dask.persist(graph)[0] is graph
    assert dask.compute(scan := lazy_graph().without_duplicates())[0] is scan
    assert not dask.is_dask_collection(scan)


def test_what_is_lazy_is_computed_and_persisted_as_elsewhere(client: Client, tmp_path: Path) -> None:
    graph = lazy_graph()
    assignment = dgp.assign(graph, 2, method="random", cluster="sync")
    parts = dgp.dispatch(graph, assignment, tmp_path / "parts", cluster="sync")
    lazy = (
        graph.edges[ETYPE], graph.node_data["_N"]["x"], assignment.owners["_N"], assignment.to_frame("_N"),
        assignment.with_owners(graph)[ETYPE], parts.node_data["_N"]["x"], parts.original_ids["_N"],
        parts.part(0).edges(), parts.nodes["_N"].frame("x", part=True), parts.part(0).original_ids["_N"],
    )  # fmt: skip
    for collection in lazy:
        assert dask.is_dask_collection(collection)
        assert len(dict(collection.__dask_graph__()))  # what visualize() draws
        expected, found = collection.compute(scheduler="sync"), client.compute(collection).result()
        assert np.array_equal(np.asarray(expected), np.asarray(found))
        assert np.array_equal(np.asarray(collection.persist().compute()), np.asarray(found))


class Seen(SchedulerPlugin):  # type: ignore[misc]
    """Notes the annotations of all tasks."""

    def __init__(self) -> None:
        self.found: dict[str, set[Any]] = {}

    def update_graph(self, *_: Any, annotations: dict[str, dict[Any, Any]], **__: Any) -> None:
        for name, by_key in annotations.items():
            self.found.setdefault(name, set()).update(map(str, by_key.values()))


def test_annotations_reach_the_tasks_of_a_job(client: Client, tmp_path: Path) -> None:
    scheduler, seen = client.cluster.scheduler, Seen()
    scheduler.add_plugin(seen, name="seen")
    try:
        with dask.annotate(priority=7, retries=4, resources={"GPU": 1}):
            dgp.partition((IDS, np.roll(IDS, 1)), tmp_path / "parts", 2, method="random")
    finally:
        client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.plugins.pop("seen", None))
    assert seen.found["priority"] == {"7"}
    assert seen.found["retries"] == {"4"}
    assert seen.found["resources"] == {"{'GPU': 1}"}


@pytest.mark.parametrize("make", [lazy_graph, lambda: lazy_graph().with_reverse_edges()], ids=["lazy", "changed"])
def test_a_job_is_a_delayed_function_on_a_cluster_and_on_threads(make: Any, client: Client, tmp_path: Path) -> None:
    dgp.partition(make(), tmp_path / "expected", 2, method="random", cluster="sync")
    job = dask.delayed(dgp.partition)
    on_cluster = client.compute(job(make(), tmp_path / "cluster", 2, method="random")).result(timeout=120)
    assert on_cluster.verify(make(), cluster="sync").ok
    job(make(), tmp_path / "threads", 2, method="random").compute(scheduler="threads")
    for out in ("cluster", "threads"):
        assert file_hashes(tmp_path / out) == file_hashes(tmp_path / "expected")


def test_an_assignment_goes_through_delayed_functions(tmp_path: Path) -> None:
    graph = lazy_graph()
    assignment = dask.delayed(dgp.assign)(graph, 2, method="random")
    parts = dask.delayed(dgp.dispatch)(graph, assignment, tmp_path / "parts").compute(scheduler="threads")
    assert parts.num_parts == 2
