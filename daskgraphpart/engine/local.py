"""Compute tasks on dask's threaded, process or synchronous scheduler, and tune malloc (glibc)."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dask.callbacks import Callback

from daskgraphpart.errors import EnvironmentFaultError, OptionError

if TYPE_CHECKING:
    from daskgraphpart.storage.store import WorkspaceStore

Key: TypeAlias = tuple[str | int, ...]
Graph: TypeAlias = dict[Any, Any]
_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1  # malloc.h
BLOCK_NBYTES = 32 << 20  # malloc's maximum for this option
KEPT_NBYTES = 64 << 20
SCRIPT_HINT = "in a script, put the call below `if __name__ == '__main__':`, as processes import it"


class Scheduler(Protocol):
    """What computes tasks, on this machine or others."""

    @property
    def processes(self) -> int:
        """Worker processes that can share a task that holds much memory: 1 on this machine."""

    @property
    def shares(self) -> int:
        """How many shares of memory and threads there are, if the smallest process has one."""

    def check_shared(self, directories: Sequence[tuple[str, Path, str]], store: WorkspaceStore) -> None:
        """Check that all workers see directories as this process does, and give them the store of the workspace.

        Each has a word for it, its path, and the name of a file with unique and constant first bytes; without a name,
        it is only read.
        """

    def compute(
        self, name: str, graph: Graph, keys: Sequence[Key], on_done: Callable[[int, Any], None], hosts: Sequence[str]
    ) -> None:
        """Compute these keys of a graph; calls `on_done` with the index and result of each."""

    def close(self) -> None:
        """Wait for running tasks, and end the workers that this started."""


class LocalScheduler(Scheduler):
    """One of dask's own schedulers, by function: by name, dask would import distributed first."""

    processes = shares = 1

    def __init__(self, name: str, workers: int) -> None:
        self._pool: Executor | None = None
        if name == "threads":
            from dask.threaded import get

            use_one_arena()
            self._pool = ThreadPoolExecutor(workers, thread_name_prefix="daskgraphpart")
        elif name == "processes":
            from dask.multiprocessing import get

            check_can_start_processes()
            # one pool for all passes: a process takes a second to start
            self._pool = ProcessPoolExecutor(
                workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent
            )
        else:
            from dask.local import get_sync as get
        self._get: Callable[..., Any] = get

    def check_shared(self, directories: Sequence[tuple[str, Path, str]], store: WorkspaceStore) -> None:
        """Do nothing: workers on this machine share its directories."""

    def compute(
        self, name: str, graph: Graph, keys: Sequence[Key], on_done: Callable[[int, Any], None], hosts: Sequence[str]
    ) -> None:
        """Compute these keys of a graph; calls `on_done` with the index and result of each."""
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
                hint=f"if it ran out of memory, give fewer --workers; {SCRIPT_HINT}",
            ) from fault

    def close(self) -> None:
        """Wait for tasks still running after a failure, and end the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def check_can_start_processes() -> None:
    """Refuse to start worker processes from one that may have none."""
    if multiprocessing.current_process().daemon:
        what = "this process cannot start workers: it is itself one of a multiprocessing.Pool, a DataLoader or dask"
        raise OptionError(what, option="cluster", hint="give --cluster threads, or call this outside of it")


def _end_with_parent() -> None:
    """End this process with its parent, but not by Ctrl-C, which a terminal sends to all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "the initializer of a pool runs in its processes"

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def use_one_arena() -> None:
    """Let all threads allocate from one arena: `partition` of 10 M edges takes 345 MB instead of 412, and no more time.

    Tasks make few, large requests, so threads hardly contend. Pieces as large as a block come from the arena, too, and
    some free memory stays for the next task: getting cleared pages from the system takes longer than reading a block,
    and threads contend for it.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_ARENA_MAX, 1)
        set_option(_M_MMAP_THRESHOLD, BLOCK_NBYTES)
        set_option(_M_TRIM_THRESHOLD, KEPT_NBYTES)


def give_memory_back() -> None:
    """Return this process's free memory to the system."""
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
