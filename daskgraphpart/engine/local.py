"""Compute tasks on dask's threaded, process or synchronous scheduler."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from dask.callbacks import Callback

from daskgraphpart.engine.malloc import use_one_arena
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from daskgraphpart.engine.plan import Graph, Key


class LocalScheduler:
    """One of dask's own schedulers, by its function and not by its name: a name makes dask import distributed first."""

    def __init__(self, name: str, workers: int) -> None:
        self._pool: Executor | None = None
        if name == "threads":
            from dask.threaded import get

            use_one_arena()
            self._pool = ThreadPoolExecutor(workers, thread_name_prefix="daskgraphpart")
        elif name == "processes":
            from dask.multiprocessing import get

            # one pool for all passes, because a process takes a second to start
            self._pool = ProcessPoolExecutor(
                workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent
            )
        else:
            from dask.local import get_sync as get
        self._get: Callable[..., Any] = get

    def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        """Do nothing: the workers are on this machine."""

    def compute(
        self, name: str, graph: Graph, keys: Sequence[Key], on_done: Callable[[int, Any], None], hosts: Sequence[str]
    ) -> None:
        """Compute these keys of a graph; `on_done` is called with the index and the result of each."""
        assert not hosts, "no scheduler of this machine knows another"
        index = {key: i for i, key in enumerate(keys)}

        def posttask(key: Any, result: Any, *_: Any) -> None:
            if key in index:
                on_done(index[key], result)

        try:
            with Callback(posttask=posttask):
                self._get(graph, list(keys), pool=self._pool, optimize_graph=False)
        except BrokenExecutor as fault:
            raise EnvironmentFaultError(
                "a worker process died",
                place=name,
                hint="if the system killed it for want of memory, give fewer --workers",
            ) from fault

    def close(self) -> None:
        """Wait for tasks that are still running after a failure, and end the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when its parent does, and not by Ctrl-C, which a terminal sends to all: the parent obeys it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "the initializer of a pool runs in its processes"

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
