"""Run passes as dask graphs: one runner per job, opened once and closed at its end."""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.journal_values import from_json, to_json
from daskgraphpart.engine.local import LocalScheduler
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.tasks import Call, delay
from daskgraphpart.errors import GraphPartError
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dask.delayed import Delayed

    from daskgraphpart.engine.journal import Journal
    from daskgraphpart.engine.on_cluster import ClusterScheduler
    from daskgraphpart.engine.plan import ConfigT, Pass, ResultT, UnitT
    from daskgraphpart.engine.progress import Progress, ProgressListener
    from daskgraphpart.engine.resources import Resources

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
        self.seconds: dict[str, float] = {}
        # of this run: a task of a run that was killed, which a worker may still have, is none of the next
        self._token = secrets.token_hex(4)
        self._times: Counter[str] = Counter()
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
        entry = journal.begin(name, [0])
        if entry.finished:
            found: ResultT = from_json(entry.finished[0], result_types)
            return found
        self._journal = None
        try:
            result = work()
        finally:
            self._journal = journal
        journal.record(entry, 0, to_json(result))
        return result

    def run(self, pass_: Pass[UnitT, ConfigT, ResultT]) -> list[ResultT]:
        """Run every unit of a pass that is not finished yet; the results come in the order of the units."""
        if not pass_.units:
            return []
        with environment_faults():
            if self._journal is None:
                return self._run(pass_, range(len(pass_.units)), lambda *_: None)
            journal, entry = self._journal, self._journal.begin(pass_.name, pass_.unit_nbytes)
            missing = [i for i in range(len(pass_.units)) if i not in entry.finished]
            found = {i: from_json(content, pass_.result_types) for i, content in entry.finished.items()}
            if missing:
                computed = self._run(pass_, missing, lambda i, result: journal.record(entry, i, to_json(result)))
                found.update(zip(missing, computed, strict=True))
            return [found[i] for i in range(len(pass_.units))]

    def _run(self, pass_: Pass[Any, Any, Any], which: Sequence[int], on_done: Callable[[int, Any], None]) -> list[Any]:
        """Compute some units and show it; `on_done` is called with the index and the result of each."""
        if len(which) < len(pass_.units):
            logger.info("%s: %d of %d units are done", pass_.name, len(pass_.units) - len(which), len(pass_.units))
        started, unit_num_rows = time.monotonic(), pass_.unit_num_rows
        nbytes, num_rows = (sum(sizes[i] for i in which) for sizes in (pass_.unit_nbytes, unit_num_rows))
        results: list[Any] = [None] * len(which)

        def done(place: int, result: Any) -> None:
            if isinstance(result, GraphPartError):
                raise result
            results[place] = result
            on_done(which[place], result)
            self.progress.advance(pass_.unit_nbytes[which[place]], unit_num_rows[which[place]])

        hosts = [pass_.unit_hosts[i] for i in which] if pass_.unit_hosts else []
        self.progress.begin(pass_.name, len(which), nbytes, num_rows)
        self.scheduler.compute(pass_.name, self._tasks(pass_, which), done, hosts)
        self.progress.end()
        seconds = time.monotonic() - started
        self.seconds[pass_.name] = self.seconds.get(pass_.name, 0.0) + seconds
        logger.debug("%s: %d units in %.3f s", pass_.name, len(which), seconds)
        return results

    def _tasks(self, pass_: Pass[Any, Any, Any], which: Sequence[int]) -> list[Delayed]:
        """Tasks of some units; two jobs on one scheduler, and two runs of a pass in one job, have different keys."""
        self._times[pass_.name] += 1
        identity = f"{self._token} {pass_.name} {self._times[pass_.name]}"
        keys = pass_.keys(hashlib.sha256(identity.encode()).hexdigest()[:8])
        tasks = []
        for i in which:
            arguments: tuple[Any, ...] = (pass_.units[i], pass_.config)
            partitions: list[Delayed] = []
            if pass_.partitions is not None and pass_.partitions[i] is not None:
                partitions = [pass_.partitions[i]]
            elif pass_.partitions is not None:
                arguments = (None, *arguments)
            tasks.append(delay(keys[i], Call(pass_.task, *arguments), partitions))
        return tasks


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
