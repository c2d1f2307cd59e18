"""Run passes as dask graphs: one runner per job, opened once and closed at its end."""

from __future__ import annotations

import logging
import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.journal import from_json
from daskgraphpart.engine.local import LocalScheduler
from daskgraphpart.engine.plan import build_graph
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.errors import GraphPartError
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
