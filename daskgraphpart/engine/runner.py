"""Describe passes, each one task over many units, and run them as dask graphs with readable keys.

A job has one runner. An input mistake is a value in these graphs, so that dask neither retries nor logs it.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import dask
from dask._task_spec import Task

from daskgraphpart.engine.journal import Journal, from_json
from daskgraphpart.engine.local import Graph, Key, LocalScheduler, Scheduler
from daskgraphpart.engine.progress import Progress, ProgressListener, open_progress
from daskgraphpart.engine.resources import Resources, is_on_this_machine
from daskgraphpart.errors import GraphPartError
from daskgraphpart.source import Input, Source
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.local_store import LOCAL
from daskgraphpart.storage.paths import resolve_path

if TYPE_CHECKING:
    from daskgraphpart.storage.store import WorkspaceStore, Writes

WorkT = TypeVar("WorkT")
ConfigT = TypeVar("ConfigT")
ResultT = TypeVar("ResultT")

SMALL_NBYTES = 1 << 20
"""Bytes that the units of one task move together, if they are several."""
MIN_TASKS = 64
"""Tasks that a pass of so many units keeps."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit(Generic[WorkT]):
    """Work of one call of a task, and what to tell about it."""

    work: WorkT  # the task's first argument; an `Input`, or has `block` or `blocks`, if it reads one
    nbytes: int  # bytes it moves, for progress
    num_rows: int = 0  # nodes, edges or rows of features, for progress
    key: str = ""  # node type or canonical edge type, for task keys
    host: str = ""  # machine to run on, by name or address; on a cluster only


@dataclass(frozen=True, slots=True, eq=False)
class Pass(Generic[WorkT, ConfigT, ResultT]):
    """One sweep over the data: independent tasks that may run again, even after being killed half way."""

    name: str  # in progress bars, logs and the dask dashboard; also the module's name
    task: Callable[[WorkT, ConfigT], ResultT]  # module-level and picklable; returns counts
    units: Sequence[Unit[WorkT]]
    config: ConfigT  # shared by all calls: paths, numbers, dtypes
    # dataclasses in results, for the journal; plain values, tuples and arrays need none
    result_types: tuple[type, ...] = ()


class TaskCall:
    """Calls a pass's task on units in turn; opaque to dask, which would search them for collections.

    In an object store, what the task writes at offsets becomes one object of the given name.
    """

    __slots__ = ("config", "name", "store", "task", "works")

    def __init__(
        self, task: Callable[..., Any], works: Sequence[Any], config: Any, store: WorkspaceStore, name: str
    ) -> None:
        self.task, self.works, self.config, self.store, self.name = task, works, config, store, name

    def __call__(self, *partitions: Any) -> tuple[list[Any], list[Writes]] | GraphPartError:
        """Return the task's result for each unit and what it wrote at offsets, or the first of our errors."""
        try:
            self.store.attach()
            with self.store.gathered_writes(self.name) as writes:
                works = [with_inputs(work, iter(partitions)) for work in self.works] if partitions else self.works
                values = [self.task(work, self.config) for work in works]
            return values, writes
        except GraphPartError as fault:
            return fault


def inputs_of(work: Any) -> tuple[Input[Any], ...]:
    """A unit's input: the unit itself, its `block` or `blocks`; a source that is a unit is read by the task."""
    if isinstance(work, Input):
        return (work,)
    if isinstance(work, Source):
        return ()
    if hasattr(work, "block"):
        return () if work.block is None else (work.block,)
    return getattr(work, "blocks", ())


def with_inputs(work: Any, partitions: Iterator[Any]) -> Any:
    """Replace the dask partitions that a unit reads, in order."""
    filled = tuple(
        block if block.partition is None else replace(block, partition=next(partitions)) for block in inputs_of(work)
    )
    if isinstance(work, Input):
        return filled[0]
    return replace(work, block=filled[0]) if hasattr(work, "block") else replace(work, blocks=filled)


def share_tasks(sizes: Sequence[int], limit: int) -> list[range]:
    """Group small consecutive pieces of work into tasks.

    A task costs a tenth of a millisecond, too much for thousands of small types. A group stays below the limit in size;
    but at least `MIN_TASKS` tasks stay, for workers to share and the journal to note.
    """
    most = -(-len(sizes) // MIN_TASKS)
    starts, total = [0] if sizes else [], 0
    for number, size in enumerate(sizes):
        if number > starts[-1] and (total + size > limit or number - starts[-1] >= most):
            starts.append(number)
            total = 0
        total += size
    return [*map(range, starts, [*starts[1:], len(sizes)])]


def build_graph(
    pass_: Pass[Any, Any, Any], results: Container[int], token: str, store: WorkspaceStore
) -> tuple[Graph, dict[Key, Sequence[int]]]:
    """Make the dask graph of units without results, and of the dask partitions they read.

    Also returns the units of each key. A key is like ``("bucket-edges-1a2b3c4d", "author:writes:paper", 17)``; a group
    has the first unit's, and their number. It is one dict: dask takes far longer to merge thousands of `Delayed` than
    to run them.
    """
    numbers: dict[tuple[str, ...], Iterator[int]] = defaultdict(count)  # within each type
    keys = []
    for unit in pass_.units:
        of_type = (unit.key,) if unit.key else ()
        keys.append((f"{pass_.name}-{token}", *of_type, next(numbers[of_type])))
    missing = [i for i in range(len(pass_.units)) if i not in results]
    # data computed for a unit stays until the unit is done, and machines do not share tasks
    sizes = [SMALL_NBYTES + 1 if _is_alone(pass_.units[i]) else pass_.units[i].nbytes for i in missing]
    graph: Graph = {}
    units: dict[Key, Sequence[int]] = {}
    for shared in share_tasks(sizes, SMALL_NBYTES):
        mine = missing[shared.start : shared.stop]
        key: Key = keys[mine[0]] if len(mine) == 1 else (*keys[mine[0]], len(mine))
        units[key] = mine
        works, written = [pass_.units[i].work for i in mine], f"{pass_.name}-{token}/{mine[0]}"
        partitions = [block.partition for block in inputs_of(works[0]) if block.partition is not None]
        if not partitions:
            graph[key] = Task(key, TaskCall(pass_.task, works, pass_.config, store, written))
            continue
        works = [with_inputs(works[0], repeat("computed before"))]
        call = TaskCall(pass_.task, works, pass_.config, store, written)
        delayed = dask.delayed(call, traverse=False)(*partitions, dask_key_name=key)
        for layer in delayed.dask.layers.values():
            graph.update(layer)
    return graph, units


def _is_alone(unit: Unit[Any]) -> bool:
    """Whether a unit has its own task, however small."""
    return bool(unit.host) or any(block.partition is not None for block in inputs_of(unit.work))


logger = logging.getLogger(__name__)


class Runner:
    """Run passes on a scheduler, record finished units in the journal, and report progress."""

    def __init__(
        self,
        resources: Resources,
        scheduler: Scheduler,
        progress: ProgressListener,
        journal: Journal | None = None,
        store: WorkspaceStore = LOCAL,
    ) -> None:
        self.store = store
        self.resources = resources
        self.scheduler = scheduler
        self.progress = progress
        self._journal = journal

    def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        """Check that all workers see directories as this process does; see `Scheduler`."""
        self.scheduler.check_shared(directories, self.store)

    def step(
        self,
        name: str,
        work: Callable[[], ResultT],
        result_types: tuple[type, ...] = (),
        open_url: Callable[[str], Any] = resolve_path,
    ) -> ResultT:
        """Do something journalled as a whole; if it was finished before, look up the result.

        For the client's own work, such as creating files for tasks to fill. Files in stores are opened by `open_url`.
        """
        journal = self._journal
        if journal is None:
            return work()
        number, finished = journal.begin(name, [0])
        if finished:
            value: ResultT = from_json(finished[0], result_types, open_url=open_url)
            return value
        self._journal = None
        try:
            with self.store.gathered_writes(f"{name}-{number}-{secrets.token_hex(4)}") as gathered:
                result = work()
        finally:
            self._journal = journal
        journal.record(number, {0: result}, self.store.settle(gathered))
        self._settle(number)
        return result

    @property
    def shares(self) -> int:
        """Into how many shares of the smallest worker the memory is divided; one on this machine."""
        return 1 if is_on_this_machine(self.resources.cluster) else self.scheduler.shares

    @contextmanager
    def for_tasks_of(self, nbytes: int, largest: int = 0) -> Iterator[Runner]:
        """Give a runner whose tasks may hold so many bytes, and one `largest`, with fewer at a time if need be."""
        resources = self.resources.limited(nbytes, largest, self.shares)
        if resources == self.resources:
            yield self
            return
        with open_runner(resources, self.progress, self._journal, store=self.store) as runner:
            yield runner

    @contextmanager
    def as_one(self, name: str, nbytes: int) -> Iterator[Runner]:
        """Give a runner of several passes that progress shows as one of so many bytes."""
        self.progress.begin(name, 1, nbytes)
        with open_progress(False) as silent:
            yield Runner(self.resources, self.scheduler, silent, self._journal, self.store)
        self.progress.advance(nbytes)
        self.progress.end()

    @contextmanager
    def on_this_machine(self) -> Iterator[Runner]:
        """Give a runner whose tasks see the disk of this machine: threads here if machines share none."""
        if self.store.is_on_disk:
            yield self
            return
        with open_runner(replace(self.resources, cluster="threads"), self.progress) as runner:
            yield runner

    def run(self, pass_: Pass[WorkT, ConfigT, ResultT]) -> list[ResultT]:
        """Run every unfinished unit of a pass; results are in the order of units."""
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
            self._settle(number)
        return [results[i] for i in range(len(pass_.units))]

    def _run(self, pass_: Pass[Any, Any, Any], results: dict[int, Any], number: int) -> None:
        """Compute a pass's missing results, under its number in the journal, and show progress."""
        if results:
            logger.info("%s: %d of %d units are done", pass_.name, len(results), len(pass_.units))
        # two jobs on one scheduler have different keys, as do two runs of a pass
        graph, tasks = build_graph(pass_, results, secrets.token_hex(4), self.store.at_pass(number))
        started, which = time.monotonic(), [*tasks.values()]

        def done(place: int, outcome: Any) -> None:
            if isinstance(outcome, GraphPartError):
                raise outcome
            values, gathered = outcome
            writes = self.store.settle(gathered)
            finished = dict(zip(which[place], values, strict=True))
            results.update(finished)
            if self._journal is not None:
                self._journal.record(number, finished, writes)
            for i in finished:
                self.progress.advance(pass_.units[i].nbytes, pass_.units[i].num_rows)

        missing = [pass_.units[i] for of_task in which for i in of_task]
        nbytes, num_rows = sum(unit.nbytes for unit in missing), sum(unit.num_rows for unit in missing)
        self.progress.begin(pass_.name, len(missing), nbytes, num_rows)
        hosts = [unit.host for unit in missing] if missing[0].host else []
        self.scheduler.compute(pass_.name, graph, [*tasks], done, hosts)
        self.progress.end()
        logger.debug("%s: %d units in %.3f s", pass_.name, len(missing), time.monotonic() - started)

    def _settle(self, number: int) -> None:
        """Let what a finished pass wrote outlive this process, and let later passes find it."""
        if self._journal is None:
            return
        self._journal.flush()
        if writes := self._journal.take_writes(number):
            self.store.add_writes(number, writes)
            self._journal.note_indexed(number)
        self.store.at_pass(number + 1).attach()


@contextmanager
def open_runner(
    resources: Resources,
    progress: Progress | None = None,
    journal: Journal | None = None,
    plan: Resources | None = None,
    store: WorkspaceStore = LOCAL,
) -> Iterator[Runner]:
    """Open a runner on the scheduler in `resources`, and close it when done."""
    cluster = resources.cluster
    is_local = isinstance(cluster, str) and cluster in ("threads", "processes", "sync")
    kind = LocalScheduler if is_local else _cluster_scheduler
    scheduler: Scheduler = kind(cluster, resources.workers)
    try:
        with open_progress(progress) as listener:
            yield Runner(plan or resources, scheduler, listener, journal, store)
    finally:
        scheduler.close()


def _cluster_scheduler(cluster: Any, workers: int) -> Scheduler:
    from daskgraphpart.engine.clusters.on_cluster import ClusterScheduler  # imports distributed

    return ClusterScheduler(cluster, workers)
