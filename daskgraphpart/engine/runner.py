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
from dataclasses import dataclass
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

    from dask.delayed import Delayed

    from daskgraphpart.engine.on_cluster import ClusterScheduler
    from daskgraphpart.engine.resources import Resources

UnitT = TypeVar("UnitT")
ConfigT = TypeVar("ConfigT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Pass(Generic[UnitT, ConfigT, ResultT]):
    """One sweep over the data: independent tasks that may run again, after they were killed half way as well."""

    name: str  # name in progress bars, logs and the dask dashboard; the name of the module as well
    # module-level, picklable function of a unit and the config, or of a partition, a unit and the config. It returns
    # counts
    task: Callable[..., ResultT]
    units: Sequence[UnitT]  # what the task is called with
    config: ConfigT  # what all calls share: paths, numbers, dtypes
    unit_nbytes: Sequence[int]  # bytes each unit moves, for progress
    # dataclasses that results are made of, for the journal; plain values, tuples and arrays need none
    result_types: tuple[type, ...] = ()
    unit_hosts: Sequence[str] | None = None  # machine on which each has to run, by name or address; on a cluster only
    # partition of a lazy collection for each unit; the task gets its value, computed in the same graph, or None
    partitions: Sequence[Any] | None = None
    unit_types: Sequence[str] | None = None  # node type or canonical edge type of each unit, for the keys of its tasks
    unit_num_rows: Sequence[int] | None = None  # nodes, edges or rows of features of each unit, for progress

    def __post_init__(self) -> None:
        for per_unit in (self.unit_nbytes, self.unit_hosts, self.partitions, self.unit_types, self.unit_num_rows):
            assert per_unit is None or len(per_unit) == len(self.units), f"{self.name}: one value per unit"


class Call:
    """A function bound to its last arguments, opaque to dask, which would search those of a partial for collections."""

    __slots__ = ("arguments", "task")

    def __init__(self, task: Callable[..., Any], *arguments: Any) -> None:
        self.task, self.arguments = task, arguments

    def __call__(self, *partitions: Any) -> Any:
        """Return what the function returns, or the error of ours that it or the task of a partition has raised."""
        for value in partitions:
            if isinstance(value, GraphPartError):
                return value
        try:
            return self.task(*partitions, *self.arguments)
        except GraphPartError as fault:
            return fault


def delay(key: Key, call: Callable[..., Any], partitions: Sequence[Delayed] = ()) -> Delayed:
    """Make the task of that key, which calls with the values of partitions."""
    return dask.delayed(call, traverse=False)(*partitions, dask_key_name=key)


def build_graph(pass_: Pass[Any, Any, Any], results: Container[int], token: str) -> tuple[Graph, list[Key]]:
    """Make the dask graph of the units of a pass that have no results, and of their partitions; and the units' keys.

    Keys are like ``("bucket-edges-1a2b3c4d", "author:writes:paper", 17)``. The graph is one dict: to merge the
    graphs of thousands of `Delayed`s takes dask far longer than to run them.
    """
    numbers: dict[tuple[str, ...], Iterator[int]] = defaultdict(count)  # within each type
    keys: list[Key] = []
    layers: Graph = {}
    for i, unit in enumerate(pass_.units):
        of_type = () if pass_.unit_types is None else (pass_.unit_types[i],)
        key = (f"{pass_.name}-{token}", *of_type, next(numbers[of_type]))
        if i not in results:
            partition = None if pass_.partitions is None else pass_.partitions[i]
            none = () if partition is not None or pass_.partitions is None else (None,)
            call = Call(pass_.task, *none, unit, pass_.config)
            layers.update(delay(key, call, () if partition is None else (partition,)).dask.layers)
            keys.append(key)
    graph: Graph = {}
    for layer in layers.values():
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

    def run(self, pass_: Pass[UnitT, ConfigT, ResultT]) -> list[ResultT]:
        """Run every unit of a pass that is not finished yet; the results come in the order of the units."""
        if not pass_.units:
            return []
        with environment_faults():
            number, finished = (0, {}) if self._journal is None else self._journal.begin(pass_.name, pass_.unit_nbytes)
            results = {i: from_json(content, pass_.result_types) for i, content in finished.items()}
            if len(results) < len(pass_.units):
                self._run(pass_, results, number)
        return [results[i] for i in range(len(pass_.units))]

    def _run(self, pass_: Pass[Any, Any, Any], results: dict[int, Any], number: int) -> None:
        """Compute the results that are missing of the pass of that number in the journal, and show how far it is."""
        which = [i for i in range(len(pass_.units)) if i not in results]
        if results:
            logger.info("%s: %d of %d units are done", pass_.name, len(results), len(pass_.units))
        started, num_rows = time.monotonic(), pass_.unit_num_rows or [0] * len(pass_.units)

        def done(place: int, result: Any) -> None:
            if isinstance(result, GraphPartError):
                raise result
            i = which[place]
            results[i] = result
            if self._journal is not None:
                self._journal.record(number, i, result)
            self.progress.advance(pass_.unit_nbytes[i], num_rows[i])

        # two jobs on one scheduler have different keys, and so have two runs of a pass, even if one was killed
        graph, keys = build_graph(pass_, results, secrets.token_hex(4))
        hosts = [pass_.unit_hosts[i] for i in which] if pass_.unit_hosts else []
        nbytes, all_rows = (sum(sizes[i] for i in which) for sizes in (pass_.unit_nbytes, num_rows))
        self.progress.begin(pass_.name, len(which), nbytes, all_rows)
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
