"""Run calls on dask's threaded, process or synchronous scheduler."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from dask.base import named_schedulers
from dask.callbacks import Callback

from daskgraphpart.engine.cluster_names import needs_cluster
from daskgraphpart.engine.executors.orphans import die_with
from daskgraphpart.engine.malloc import use_one_arena
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class LocalExecutor:
    """Calls on this machine.

    Parameters
    ----------
    scheduler : str
        ``"threads"``, ``"processes"`` or ``"sync"``.
    workers : int
        Calls that run at one time.
    """

    repeats_tasks = False

    def __init__(self, scheduler: str, workers: int) -> None:
        self._scheduler = scheduler
        self.calls_at_once = 4 * workers
        self._pool: Executor | None = None
        if scheduler == "threads":
            use_one_arena()
            self._pool = ThreadPoolExecutor(workers, thread_name_prefix="daskgraphpart")
        elif scheduler == "processes":
            # fork is not safe beside threads; one pool for all passes, because a process takes a second to start
            self._pool = ProcessPoolExecutor(
                workers, multiprocessing.get_context("spawn"), initializer=die_with, initargs=(os.getpid(),)
            )

    def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        """Do nothing: the workers are on this machine."""

    def check_hosts(self, hosts: Sequence[str], file: str) -> None:
        """Refuse: there is no machine but this one.

        Raises
        ------
        OptionError
            Always.
        """
        raise needs_cluster(self._scheduler, file)

    def map(self, name: str, calls: Sequence[Callable[[], Any]], on_done: Callable[[int, Any], None]) -> list[Any]:
        """Make all calls; the results come in the order of the calls.

        Raises
        ------
        EnvironmentFaultError
            If a worker process dies.
        """
        assert not any(getattr(call, "host", "") for call in calls), f"{name} needs workers on certain machines"
        keys = [f"{name}-{i:06d}" for i in range(len(calls))]
        index = {key: i for i, key in enumerate(keys)}
        # a graph as the scheduler takes it: to build it from delayed objects takes longer than to run small tasks
        tasks = {key: (call,) for key, call in zip(keys, calls, strict=True)}

        def posttask(key: Any, result: Any, *_: Any) -> None:
            on_done(index[key], result)

        try:
            # by its name, dask would import distributed first, which takes half a second and 90 MB
            scheduler = named_schedulers[self._scheduler]
            with Callback(posttask=posttask):
                return list(scheduler(tasks, keys, pool=self._pool, optimize_graph=False))
        except BrokenExecutor as fault:
            raise EnvironmentFaultError(
                "a worker process died",
                place=name,
                hint="if the system killed it for want of memory, give fewer --workers",
            ) from fault

    def close(self) -> None:
        """Wait for calls that are still running after a failure, and end the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
