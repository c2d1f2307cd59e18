"""Run passes on a dask scheduler: one runner per job, opened once and closed at its end."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.executors.local import LocalExecutor
from daskgraphpart.engine.progress import SilentProgress
from daskgraphpart.storage.atomic import environment_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

    from daskgraphpart.engine.plan import ConfigT, Pass, ResultT, UnitT
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources

    class Executor(Protocol):
        """Calls a task for every unit, in any order, and returns the results in the order of the units."""

        def map(self, name: str, calls: Sequence[Callable[[], Any]], on_done: Callable[[int], None]) -> list[Any]:
            """Make all calls; `on_done` is told the index of each that has ended."""

        def close(self) -> None:
            """Give up what the executor holds."""


logger = logging.getLogger(__name__)


class Runner:
    """Resources, an executor and somebody who is told how far things are.

    Parameters
    ----------
    resources : Resources
        What the job may use.
    executor : Executor
        What calls the tasks.
    progress : Progress
        What is told.
    """

    def __init__(self, resources: Resources, executor: Executor, progress: Progress) -> None:
        self.resources = resources
        self.seconds: dict[str, float] = {}
        self._executor = executor
        self._progress = progress

    def note(self, text: str) -> None:
        """Tell the user something while the job runs."""
        self._progress.note(text)

    def run_in_turn(self, name: str, passes: Sequence[Pass[Any, Any, Any]]) -> list[list[Any]]:
        """Run several passes one after another, shown as one; the results of each, in the order of its units.

        For work whose steps depend on each other, such as the rounds of a label propagation.
        """
        started = time.monotonic()
        self._progress.begin(name, sum(len(p.units) for p in passes), sum(sum(p.unit_nbytes) for p in passes))
        with environment_faults():
            results = [self._call(pass_) for pass_ in passes]
        self._progress.end()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started
        return results

    def run(self, pass_: Pass[UnitT, ConfigT, ResultT]) -> list[ResultT]:
        """Run every unit of a pass; the results come in the order of the units.

        Raises
        ------
        EnvironmentFaultError
            If the disk is full or a file may not be written.
        Exception
            Whatever error of ours a task raised.
        """
        if not pass_.units:
            return []
        started = time.monotonic()
        self._progress.begin(pass_.name, len(pass_.units), sum(pass_.unit_nbytes))
        with environment_faults():
            results: list[ResultT] = self._call(pass_)
        self._progress.end()
        seconds = time.monotonic() - started
        self.seconds[pass_.name] = self.seconds.get(pass_.name, 0.0) + seconds
        logger.debug("%s: %d units in %.3f s", pass_.name, len(pass_.units), seconds)
        return results

    def _call(self, pass_: Pass[Any, Any, Any]) -> list[Any]:
        calls = [_Call(pass_.task, unit, pass_.config) for unit in pass_.units]
        return self._executor.map(pass_.name, calls, lambda i: self._progress.advance(pass_.unit_nbytes[i]))


class _Call:
    """A task bound to its unit; unlike a partial it is opaque to dask, which would search the arguments for graphs."""

    __slots__ = ("config", "task", "unit")

    def __init__(self, task: Callable[[Any, Any], Any], unit: Any, config: Any) -> None:
        self.task, self.unit, self.config = task, unit, config

    def __call__(self) -> Any:
        return self.task(self.unit, self.config)


@contextmanager
def open_runner(resources: Resources, progress: Progress | None = None) -> Iterator[Runner]:
    """Open a runner on the scheduler that `resources` names, and close it when done.

    Parameters
    ----------
    resources : Resources
        What the job may use.
    progress : Progress, optional
        Default: nothing is shown.

    Yields
    ------
    Runner
    """
    executor: Executor
    if resources.cluster in ("threads", "processes", "sync"):
        executor = LocalExecutor(resources.cluster, resources.workers)
    else:
        # distributed takes half a second to import
        from daskgraphpart.engine.executors.cluster import ClusterExecutor

        executor = ClusterExecutor(resources.cluster, resources.workers)
    try:
        yield Runner(resources, executor, progress or SilentProgress())
    finally:
        executor.close()
