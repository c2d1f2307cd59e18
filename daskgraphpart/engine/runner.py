"""Run passes on a dask scheduler: one runner per job, opened once and closed at its end."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.executors import fork_server
from daskgraphpart.engine.executors.local import LocalExecutor
from daskgraphpart.engine.journal_values import from_json, to_json
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.errors import EnvironmentFaultError
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Protocol

    from daskgraphpart.engine.journal import Journal
    from daskgraphpart.engine.plan import ConfigT, Pass, ResultT, UnitT
    from daskgraphpart.engine.progress import Progress, ProgressListener
    from daskgraphpart.engine.resources import Resources

    class Executor(Protocol):
        """Calls a task for every unit, in any order, and returns the results in the order of the units.

        `repeats_tasks` tells whether a task whose worker dies is given to another.
        """

        repeats_tasks: bool

        @property
        def calls_at_once(self) -> int:
            """How many calls may have begun while an earlier one has not ended."""

        def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
            """Check that workers see directories as this process does."""

        def check_hosts(self, hosts: Sequence[str], file: str) -> None:
            """Check that each machine has a worker."""

        def map(self, name: str, calls: Sequence[Callable[[], Any]], on_done: Callable[[int, Any], None]) -> list[Any]:
            """Make all calls; `on_done` is told the index and the result of each that has ended."""

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
    progress : ProgressListener
        Who is told.
    journal : Journal, optional
        Where finished units are noted, and looked up when the job is continued.
    """

    def __init__(
        self, resources: Resources, executor: Executor, progress: ProgressListener, journal: Journal | None = None
    ) -> None:
        self.resources = resources
        self.seconds: dict[str, float] = {}
        self.scratch = None if journal is None else str(journal.path.parent)
        self._executor = executor
        self._progress = progress
        self._journal = journal

    @property
    def units_at_once(self) -> int:
        """Units of a pass that may have begun while an earlier one has not ended."""
        return self._executor.calls_at_once

    def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        """Check that all workers see directories as this process does, and may write where this one does.

        Parameters
        ----------
        directories : sequence of (str, Path, str)
            What each is, its path, and a file in it that no other directory has like this; no file for what is only
            read.

        Raises
        ------
        EnvironmentFaultError
            If a worker of a cluster does not.
        """
        self._executor.check_shared(directories)

    def check_hosts(self, hosts: Sequence[str], file: str) -> None:
        """Check that each machine has a worker, for passes with `unit_hosts`.

        Parameters
        ----------
        hosts : sequence of str
            Names or addresses of machines.
        file : str
            Where they are listed, for the message.

        Raises
        ------
        EnvironmentFaultError
            If one has none.
        OptionError
            If tasks do not run on a cluster at all.
        """
        self._executor.check_hosts(hosts, file)

    def note(self, text: str) -> None:
        """Tell the user something while the job runs."""
        self._progress.note(text)

    def step(self, name: str, work: Callable[[], ResultT], result_types: tuple[type, ...] = ()) -> ResultT:
        """Do something that is journalled as a whole: if it was finished before, only its result is looked up.

        For what the client does itself, such as creating files that tasks fill in, and for passes that change files
        in place, so that one of them cannot be done again without those before it.

        Parameters
        ----------
        name : str
            Name in the journal.
        work : callable
            What is done. It may run passes, which are not journalled one by one, and may be begun several times.
        result_types : tuple of type
            As in `Pass`.

        Returns
        -------
        object
            What `work` returned, then or now.
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

    def run_in_turn(self, name: str, passes: Sequence[Pass[Any, Any, Any]]) -> list[list[Any]]:
        """Run several passes one after another, shown as one; the results of each, in the order of its units.

        For work whose steps depend on each other, such as the rounds of a label propagation. They are not journalled,
        and so belong inside a `step`.
        """
        assert self._journal is None, f"{name} changes files in place and has to be part of a step"
        started = time.monotonic()
        num_rows = [sum(p.unit_num_rows) for p in passes]
        nbytes = sum(sum(p.unit_nbytes) for p in passes)
        self._progress.begin(name, sum(len(p.units) for p in passes), nbytes, sum(num_rows) if all(num_rows) else 0)
        with environment_faults():
            results = [self._call(pass_, range(len(pass_.units)), lambda *_: None) for pass_ in passes]
        self._progress.end()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started
        return results

    def run(self, pass_: Pass[UnitT, ConfigT, ResultT]) -> list[ResultT]:
        """Run every unit of a pass that is not finished yet; the results come in the order of the units.

        Raises
        ------
        EnvironmentFaultError
            If the disk is full or a file may not be written.
        Exception
            Whatever error of ours a task raised.
        """
        if not pass_.units:
            return []
        with environment_faults():
            if self._journal is None:
                return self._run(pass_, range(len(pass_.units)), lambda *_: None)
            journal, entry = self._journal, self._journal.begin(pass_.name, pass_.unit_nbytes)
            missing = [i for i in range(len(pass_.units)) if i not in entry.finished]
            found = {i: from_json(content, pass_.result_types) for i, content in entry.finished.items()}
            if missing:
                called = self._run(pass_, missing, lambda i, result: journal.record(entry, i, to_json(result)))
                found.update(zip(missing, called, strict=True))
            return [found[i] for i in range(len(pass_.units))]

    def _run(self, pass_: Pass[Any, Any, Any], which: Sequence[int], on_done: Callable[[int, Any], None]) -> list[Any]:
        """Run some units; `on_done` is told the index and the result of each."""
        if len(which) < len(pass_.units):
            logger.info("%s: %d of %d units are done", pass_.name, len(pass_.units) - len(which), len(pass_.units))
        started = time.monotonic()
        nbytes, num_rows = (sum(sizes[i] for i in which) for sizes in (pass_.unit_nbytes, pass_.unit_num_rows))
        self._progress.begin(pass_.name, len(which), nbytes, num_rows)
        results = self._call(pass_, which, on_done)
        self._progress.end()
        seconds = time.monotonic() - started
        self.seconds[pass_.name] = self.seconds.get(pass_.name, 0.0) + seconds
        logger.debug("%s: %d units in %.3f s", pass_.name, len(which), seconds)
        return results

    def _call(self, pass_: Pass[Any, Any, Any], which: Sequence[int], on_done: Callable[[int, Any], None]) -> list[Any]:
        num_rows = pass_.unit_num_rows

        def done(place: int, result: Any) -> None:
            on_done(which[place], result)
            self._progress.advance(pass_.unit_nbytes[which[place]], num_rows[which[place]])

        assert pass_.is_repeatable or self._journal is None, f"{pass_.name} has to be part of a step"
        hosts = pass_.unit_hosts or [""] * len(pass_.units)
        calls = [_Call(pass_.task, pass_.units[i], pass_.config, int(pass_.unit_nbytes[i]), hosts[i]) for i in which]
        if pass_.is_repeatable or not self._executor.repeats_tasks:
            return self._executor.map(pass_.name, calls, done)
        with tempfile.TemporaryDirectory(prefix="begun-", dir=self.scratch) as begun:
            guarded = [_OnceCall(call, f"{begun}/{i}") for i, call in zip(which, calls, strict=True)]
            return self._executor.map(pass_.name, guarded, done)


class _Call:
    """A task bound to its unit; unlike a partial it is opaque to dask, which would search the arguments for graphs."""

    __slots__ = ("config", "host", "nbytes", "task", "unit")
    is_repeatable = True

    def __init__(self, task: Callable[[Any, Any], Any], unit: Any, config: Any, nbytes: int, host: str = "") -> None:
        self.task, self.unit, self.config, self.nbytes, self.host = task, unit, config, nbytes, host

    def __call__(self) -> Any:
        return self.task(self.unit, self.config)


class _OnceCall:
    """A call that refuses to be made a second time, told by a file; for tasks that are not repeatable."""

    __slots__ = ("call", "flag")
    is_repeatable = False

    def __init__(self, call: _Call, flag: str) -> None:
        self.call, self.flag = call, flag

    def __call__(self) -> Any:
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        except FileExistsError:
            raise EnvironmentFaultError(
                "a worker died while it changed files in place", place=self.call.task.__name__
            ) from None
        return self.call()


@contextmanager
def open_runner(
    resources: Resources,
    progress: Progress | None = None,
    journal: Journal | None = None,
    plan: Resources | None = None,
) -> Iterator[Runner]:
    """Open a runner on the scheduler that `resources` names, and close it when done.

    Parameters
    ----------
    resources : Resources
        What the job may use.
    progress : ProgressListener or str, optional
        As `open_progress` takes it; default: nothing is shown.
    journal : Journal, optional
        Of a job that can be continued.
    plan : Resources, optional
        What the work is cut for, if that is not what it may use now: the resources of the run that began the job.

    Yields
    ------
    Runner
    """
    executor: Executor
    cluster = resources.cluster
    if isinstance(cluster, str) and cluster in ("threads", "processes", "sync"):
        executor = LocalExecutor(cluster, resources.workers)
    else:
        if cluster == "local":
            fork_server.begin()  # it imports while this process imports distributed, which takes half a second
        from daskgraphpart.engine.executors.cluster import ClusterExecutor

        executor = ClusterExecutor(cluster, resources.workers)
    try:
        with open_progress(progress) as listener:
            yield Runner(plan or resources, executor, listener, journal)
    finally:
        executor.close()
