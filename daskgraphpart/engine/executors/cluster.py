"""Run calls on a distributed cluster: one made here, or one that is there already.

Workers come and go. A task whose worker has gone is run by another, as distributed does it; what has arrived here is
not asked for again. Small tasks travel several at a time, because each journey costs a few milliseconds, and each
worker has one task in reserve, so that it need not wait for the next.
"""

from __future__ import annotations

import errno
import itertools
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distributed import CancelledError, KilledWorker, as_completed
from distributed.comm import CommClosedError

from daskgraphpart.engine.cluster_config import count_setting, seconds_setting
from daskgraphpart.engine.executors.connect import connect
from daskgraphpart.engine.executors.ready_workers import SharedDirectory, WorkerChecks, wait_for_worker
from daskgraphpart.engine.executors.worker_hosts import WorkerHosts
from daskgraphpart.errors import EnvironmentFaultError, GraphPartError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from distributed import Future

logger = logging.getLogger(__name__)

SMALL_NBYTES = 32 << 20
"""Bytes that tasks travelling together move at most: some ten milliseconds of work, several times a journey."""

MOST_TOGETHER = 8
IN_RESERVE = 2
"""Tasks sent per task that runs."""

PASSING_FAULTS = (
    errno.EIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.EAGAIN,
    errno.ECONNRESET,
    errno.ENOTCONN,
    errno.EHOSTDOWN,
)
"""What network file systems report while a server is away."""

SCHEDULER_IS_GONE = "the dask scheduler is gone"


class ClusterExecutor:
    """Calls on the workers of a cluster.

    Parameters
    ----------
    cluster : str, Client or Cluster
        As in `Resources`, resolved; not one of the schedulers without distributed.
    workers : int
        Calls that run at one time.

    Raises
    ------
    EnvironmentFaultError
        If the scheduler cannot be reached, or no worker comes.
    OptionError
        If the address is none, or the configuration of a job queue is not there.
    """

    repeats_tasks = True

    def __init__(self, cluster: Any, workers: int) -> None:
        self._workers = workers
        self._retries = count_setting("retries", 0) or 0
        self._numbers = itertools.count(time.time_ns())  # a key that was used before could find an old result
        self._connection = connect(cluster, workers)
        self._client = self._connection.client
        self._checks: WorkerChecks | None = None
        self._hosts = WorkerHosts(self._client)
        try:
            wait_for_worker(self._client)
        except BaseException:
            self.close()
            raise

    @property
    def calls_at_once(self) -> int:
        """Calls that may be under way, begun or not."""
        return IN_RESERVE * self._workers * MOST_TOGETHER

    def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        """Check that all workers, also those that come later, see directories as this process does.

        Parameters
        ----------
        directories : sequence of (str, Path, str)
            As in `Runner.check_shared`.

        Raises
        ------
        EnvironmentFaultError
            If one does not, or may not write there.
        """
        self._checks = WorkerChecks(self._client, [SharedDirectory.seen_here(*directory) for directory in directories])

    def check_hosts(self, hosts: Sequence[str], file: str) -> None:
        """Check that each machine has a worker; those that were started just now may still be on their way.

        Parameters
        ----------
        hosts : sequence of str
            Names or addresses of machines.
        file : str
            Where they are listed.

        Raises
        ------
        EnvironmentFaultError
            If one has none, after `daskgraphpart.worker-timeout` where workers were asked for here (jobs stand in a
            queue), else after `daskgraphpart.connect-timeout`.
        """
        patience = "connect-timeout" if self._connection.cluster is None else "worker-timeout"
        try:
            self._hosts.wait(hosts, file, seconds_setting(patience))
        except CommClosedError as fault:
            raise EnvironmentFaultError(SCHEDULER_IS_GONE, place="--cluster", found=str(fault)) from fault

    def map(self, name: str, calls: Sequence[Callable[[], Any]], on_done: Callable[[int, Any], None]) -> list[Any]:
        """Make all calls; the results come in the order of the calls.

        A task whose worker dies is run again by another; one that several workers died of ends the job.

        Raises
        ------
        EnvironmentFaultError
            If several workers die of one task, or the scheduler is lost.
        """
        number = next(self._numbers)
        waiting = iter(
            [_Batch(f"{name}-{number}-{i:06d}", i, together) for i, together in _batches(calls, self._workers)]
        )
        under_way: dict[Future, _Batch] = {}
        results: list[Any] = [None] * len(calls)
        try:
            self._submit(itertools.islice(waiting, self._most_tasks()), under_way)
            finished = as_completed(list(under_way), loop=self._client.loop, with_results=True, raise_errors=False)
            for future, result in self._as_they_come(finished, under_way):
                batch = under_way.pop(future)
                if future.status == "finished":
                    for i, of_call in enumerate(result, batch.first):
                        results[i] = of_call
                        on_done(i, of_call)
                    future.release()
                    finished.update(self._submit(itertools.islice(waiting, 1), under_way))
                else:
                    finished.update(self._submit([self._again(batch, future, result)], under_way))
        except (CancelledError, CommClosedError) as fault:
            raise EnvironmentFaultError(SCHEDULER_IS_GONE, place=name, found=str(fault)) from fault
        except BaseException as fault:
            if self._client.status == "running":
                self._client.cancel(list(under_way), force=True)
            if isinstance(fault, KilledWorker):
                raise _deadly(name, fault) from fault
            raise
        return results

    def _as_they_come(self, finished: as_completed, under_way: Mapping[Future, _Batch]) -> Iterator[tuple[Future, Any]]:
        """Futures that are done, with their results; of those of a lost scheduler or machine some would never be."""
        while not finished.is_empty():
            while not finished.has_ready():
                if self._client.status != "running":
                    raise CommClosedError("the connection was lost")
                self._hosts.check_still_there({batch.host for batch in under_way.values() if batch.host})
                with finished.thread_condition:
                    finished.thread_condition.wait(0.1)
            yield next(finished)

    def _most_tasks(self) -> int:
        """Tasks to send at a time: no more than may run, if the cluster would run them all."""
        if self._connection.cluster is not None:
            return IN_RESERVE * self._workers  # it has as many threads as we want
        threads = sum(worker["nthreads"] for worker in self._client.scheduler_info()["workers"].values())
        return self._workers if threads > self._workers else IN_RESERVE * self._workers

    def _submit(self, batches: Iterator[_Batch] | list[_Batch], under_way: dict[Future, _Batch]) -> list[Future]:
        sent = {}
        for batch in batches:
            # a worker that comes later may run it as well, if it is on that machine; none elsewhere may
            where = {"workers": self._hosts.spellings(batch.host), "allow_other_workers": False} if batch.host else {}
            sent[self._client.submit(batch, key=batch.key, pure=False, **where)] = batch
        under_way.update(sent)
        return list(sent)

    def _again(self, batch: _Batch, future: Future, result: Any) -> _Batch:
        """Return a failed task under another key, if its fault may pass; raise what it raised if not."""
        if isinstance(result, BaseException):  # the scheduler, or somebody else, has cancelled it
            raise result
        if future.cancelled():  # with the connection, after its result had come
            raise CancelledError(future.key)
        _, fault, traceback = result
        may_pass = (
            isinstance(fault, OSError) and not isinstance(fault, GraphPartError) and fault.errno in PASSING_FAULTS
        )
        if not may_pass or batch.attempt > self._retries or not batch.is_repeatable:
            raise fault.with_traceback(traceback)
        logger.warning("%s: %s; trying again (%d of %d)", future.key, fault, batch.attempt, self._retries)
        return _Batch(f"{batch.key}-{batch.attempt}", batch.first, batch.calls, batch.attempt + 1)

    def close(self) -> None:
        """Leave the cluster; end it if it was made here."""
        if self._checks is not None:
            self._checks.remove()
        self._connection.close()


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Calls that travel together: one task of the cluster.

    Parameters
    ----------
    key : str
        Of the task.
    first : int
        Index of the first call.
    calls : sequence of callable
        Consecutive calls.
    attempt : int
        How often it was sent.
    """

    key: str
    first: int
    calls: Sequence[Callable[[], Any]]
    attempt: int = 1

    @property
    def host(self) -> str:
        """Machine they have to run on, the same for all; empty if any may."""
        return _host_of(self.calls[0])

    @property
    def is_repeatable(self) -> bool:
        """Whether the calls may be made again."""
        return all(getattr(call, "is_repeatable", True) for call in self.calls)

    def __call__(self) -> list[Any]:
        return [call() for call in self.calls]


def _batches(calls: Sequence[Callable[[], Any]], workers: int) -> Iterator[tuple[int, Sequence[Callable[[], Any]]]]:
    """Cut calls into runs that travel together, each with the index of its first; large ones travel alone."""
    most = max(1, min(MOST_TOGETHER, len(calls) // (2 * IN_RESERVE * workers)))  # work for all, to the end
    first, nbytes = 0, 0
    for i, call in enumerate(calls):
        size = getattr(call, "nbytes", SMALL_NBYTES) if getattr(call, "is_repeatable", True) else SMALL_NBYTES
        is_elsewhere = _host_of(call) != _host_of(calls[first])
        if i > first and (is_elsewhere or i - first >= most or nbytes + size > SMALL_NBYTES):
            yield first, calls[first:i]
            first, nbytes = i, 0
        nbytes += size
    if calls:
        yield first, calls[first:]


def _host_of(call: Callable[[], Any]) -> str:
    return str(getattr(call, "host", ""))


def _deadly(name: str, fault: KilledWorker) -> EnvironmentFaultError:
    return EnvironmentFaultError(
        "workers died of one task, again and again",
        place=name,
        found=f"{fault.allowed_failures + 1} workers, the last of them {fault.last_worker.address}",
        hint="if the system or a memory limit killed them, give fewer --workers, a smaller --memory, or workers more "
        "memory; if they were preempted, raise distributed.scheduler.allowed-failures",
    )
