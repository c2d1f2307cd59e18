"""Describe passes, each one task over many units, and run them as dask graphs with readable keys.

A job has one runner, opened once and closed at its end. A mistake in the input is a value in these graphs, so that it
is not tried again or logged.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import dask

from daskgraphpart.engine.journal import Journal, from_json
from daskgraphpart.engine.local import Graph, Key, LocalScheduler
from daskgraphpart.engine.progress import Progress, ProgressListener, open_progress
from daskgraphpart.errors import GraphPartError
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from daskgraphpart.engine.on_cluster import ClusterScheduler
    from daskgraphpart.engine.resources import Resources

WorkT = TypeVar("WorkT")
ConfigT = TypeVar("ConfigT")
ResultT = TypeVar("ResultT")
ValuesT = TypeVar("ValuesT")


@dataclass(frozen=True, slots=True, eq=False)
class Input(Generic[ValuesT]):
    """What a task reads: a function that does, and the partition of a dask collection that it takes, if there is one.

    That partition is computed in the graph of the pass, and the task gets its value in the place of it.
    """

    load: Callable[
        ..., ValuesT
    ]  # module-level, or a `partial` of it; takes the value of the partition, if there is one
    partition: Any = None

    def read(self) -> ValuesT:
        """Read it."""
        return self.load() if self.partition is None else self.load(self.partition)


@dataclass(frozen=True, slots=True, eq=False)
class Unit(Generic[WorkT]):
    """What one call of a task works on, and what is told of it."""

    work: WorkT  # the task's first argument; a dataclass with a field `block` if the task reads an `Input`
    nbytes: int  # bytes it moves, for progress
    num_rows: int = 0  # nodes, edges or rows of features, for progress
    key: str = ""  # node type or canonical edge type, for the keys of tasks
    host: str = ""  # machine on which it has to run, by name or address; on a cluster only


@dataclass(frozen=True, slots=True, eq=False)
class Pass(Generic[WorkT, ConfigT, ResultT]):
    """One sweep over the data: independent tasks that may run again, after they were killed half way as well."""

    name: str  # name in progress bars, logs and the dask dashboard; the name of the module as well
    task: Callable[[WorkT, ConfigT], ResultT]  # module-level and picklable; returns counts
    units: Sequence[Unit[WorkT]]
    config: ConfigT  # what all calls share: paths, numbers, dtypes
    # dataclasses that results are made of, for the journal; plain values, tuples and arrays need none
    result_types: tuple[type, ...] = ()


class TaskCall:
    """Calls the task of a pass on a unit; opaque to dask, which would search the arguments for collections."""

    __slots__ = ("config", "task", "work")

    def __init__(self, task: Callable[..., Any], work: Any, config: Any) -> None:
        self.task, self.work, self.config = task, work, config

    def __call__(self, *partitions: Any) -> Any:
        """Return what the task returns, or the error of ours that it has raised."""
        work = self.work
        if partitions:
            work = replace(work, block=replace(work.block, partition=partitions[0]))
        try:
            return self.task(work, self.config)
        except GraphPartError as fault:
            return fault


def build_graph(pass_: Pass[Any, Any, Any], results: Container[int], token: str) -> tuple[Graph, list[Key]]:
    """Make the dask graph of the units of a pass that have no results, and of the partitions they read; and their keys.

    Keys are like ``("bucket-edges-1a2b3c4d", "author:writes:paper", 17)``. The graph is one dict: to merge the
    graphs of thousands of `Delayed`s takes dask far longer than to run them.
    """
    numbers: dict[tuple[str, ...], Iterator[int]] = defaultdict(count)  # within each type
    keys: list[Key] = []
    graph: Graph = {}
    for i, unit in enumerate(pass_.units):
        of_type = (unit.key,) if unit.key else ()
        key = (f"{pass_.name}-{token}", *of_type, next(numbers[of_type]))
        if i in results:
            continue
        keys.append(key)
        work, partition = unit.work, getattr(getattr(unit.work, "block", None), "partition", None)
        if partition is None:
            graph[key] = (TaskCall(pass_.task, work, pass_.config),)
            continue
        without = replace(work, block=replace(work.block, partition=None))
        call = dask.delayed(TaskCall(pass_.task, without, pass_.config), traverse=False)
        for layer in call(partition, dask_key_name=key).dask.layers.values():
            graph.update(layer)
    return graph, keys


logger = logging.getLogger(__name__)


class Runner:
    """Run passes on a scheduler, note in the journal what is finished, and tell a listener how far they are."""

    def __init__(
        self,
        resources: Resources,
        scheduler: LocalScheduler | ClusterScheduler,
        progress: ProgressListener,
        journal: Journal | None = None,
    ) -> None:
        self.resources = resources
        self.scheduler = scheduler
        self.progress = progress
        self._journal = journal

    def step(self, name: str, work: Callable[[], ResultT], result_types: tuple[type, ...] = ()) -> ResultT:
        """Do something that is journalled as a whole: if it was finished before, only its result is looked up.

        For what the client does itself, such as creating files that tasks fill in.
        """
        journal = self._journal
        if journal is None:
            return work()
        number, finished = journal.begin(name, [0])
        if finished:
            found: ResultT = from_json(finished[0], result_types)
            return found
        self._journal = None
        try:
            result = work()
        finally:
            self._journal = journal
        journal.record(number, 0, result)
        return result

    @contextmanager
    def for_tasks_of(self, nbytes: int) -> Iterator[Runner]:
        """Give a runner whose tasks may hold so many bytes at least: with fewer of them at a time, if need be."""
        resources = self.resources.limited(nbytes)
        if resources == self.resources:
            yield self
            return
        with open_runner(resources, self.progress, self._journal) as runner:
            yield runner

    def run(self, pass_: Pass[WorkT, ConfigT, ResultT]) -> list[ResultT]:
        """Run every unit of a pass that is not finished yet; the results come in the order of the units."""
        if not pass_.units:
            return []
        with environment_faults():
            number, finished = (
                (0, {})
                if self._journal is None
                else self._journal.begin(pass_.name, [unit.nbytes for unit in pass_.units])
            )
            results = {i: from_json(content, pass_.result_types) for i, content in finished.items()}
            if len(results) < len(pass_.units):
                self._run(pass_, results, number)
        return [results[i] for i in range(len(pass_.units))]

    def _run(self, pass_: Pass[Any, Any, Any], results: dict[int, Any], number: int) -> None:
        """Compute the results that are missing of the pass of that number in the journal, and show how far it is."""
        which = [i for i in range(len(pass_.units)) if i not in results]
        if results:
            logger.info("%s: %d of %d units are done", pass_.name, len(results), len(pass_.units))
        started, missing = time.monotonic(), [pass_.units[i] for i in which]

        def done(place: int, result: Any) -> None:
            if isinstance(result, GraphPartError):
                raise result
            i = which[place]
            results[i] = result
            if self._journal is not None:
                self._journal.record(number, i, result)
            self.progress.advance(missing[place].nbytes, missing[place].num_rows)

        # two jobs on one scheduler have different keys, and so have two runs of a pass, even if one was killed
        graph, keys = build_graph(pass_, results, secrets.token_hex(4))
        nbytes, num_rows = sum(unit.nbytes for unit in missing), sum(unit.num_rows for unit in missing)
        self.progress.begin(pass_.name, len(missing), nbytes, num_rows)
        hosts = [unit.host for unit in missing] if missing[0].host else []
        self.scheduler.compute(pass_.name, graph, keys, done, hosts)
        self.progress.end()
        logger.debug("%s: %d units in %.3f s", pass_.name, len(which), time.monotonic() - started)


@contextmanager
def open_runner(
    resources: Resources,
    progress: Progress | None = None,
    journal: Journal | None = None,
    plan: Resources | None = None,
) -> Iterator[Runner]:
    """Open a runner on the scheduler that `resources` names, and close it when done."""
    scheduler: LocalScheduler | ClusterScheduler
    cluster = resources.cluster
    if isinstance(cluster, str) and cluster in ("threads", "processes", "sync"):
        scheduler = LocalScheduler(cluster, resources.workers)
    else:
        from daskgraphpart.engine.on_cluster import ClusterScheduler  # distributed takes half a second to import

        scheduler = ClusterScheduler(cluster, resources.workers)
    try:
        with open_progress(progress) as listener:
            yield Runner(plan or resources, scheduler, listener, journal)
    finally:
        scheduler.close()
