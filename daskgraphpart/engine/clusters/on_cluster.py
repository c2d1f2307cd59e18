"""Compute tasks on a dask.distributed cluster, whose workers may come and go."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import shutil
import socket
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dask import get_annotations
from dask.optimization import cull
from distributed import Client, Future, KilledWorker, Worker, WorkerPlugin
from distributed.comm import CommClosedError, get_address_host

from daskgraphpart.engine.clusters.cluster_names import active_client, resolve_elsewhere
from daskgraphpart.engine.clusters.connect import asking_scheduler, cluster_size, connect, wait_for_worker
from daskgraphpart.engine.settings import read_settings
from daskgraphpart.errors import EnvironmentFaultError
from daskgraphpart.units import format_number, format_size

if TYPE_CHECKING:
    from daskgraphpart.engine.local import Graph, Key
    from daskgraphpart.storage.store import WorkspaceStore

__all__ = ["ClusterScheduler", "active_client", "cluster_size", "resolve_elsewhere"]

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_SEE = 5.0
"""How long a network file system may take to show to one machine what another has written."""
WITNESS_NBYTES = 1 << 20
CONNECTION_LOST = "the connection was lost"


class ClusterScheduler:
    """A resolved cluster, and how many tasks it runs at a time."""

    def __init__(self, cluster: Any, workers: int) -> None:
        self._workers = workers
        self._settings = read_settings()
        self._plugin = f"daskgraphpart-{uuid.uuid4().hex}"
        with contextlib.ExitStack() as stack:
            self._client: Client = stack.enter_context(connect(cluster, workers))
            with asking_scheduler():
                wait_for_worker(self._client)
            self._stack = stack.pop_all()

    @property
    def processes(self) -> int:
        """Worker processes that are there now."""
        return max(1, len(self._threads()))

    @property
    def shares(self) -> int:
        """How many times the threads of the smallest worker all of them are, and so is memory."""
        threads = self._threads() or [1]
        return -(-sum(threads) // min(threads))

    @asking_scheduler()
    def _threads(self) -> list[int]:
        return [*self._nthreads().values()]

    def _nthreads(self) -> dict[str, int]:
        """Threads by the address of their worker; a client that lost its scheduler has none to ask."""
        if self._client.status == "closed":
            raise CommClosedError(CONNECTION_LOST)
        return dict(self._client.nthreads())

    @asking_scheduler()
    def check_shared(self, directories: Sequence[tuple[str, Path, str]], store: WorkspaceStore) -> None:
        """Check that all workers, also later ones, see directories as this process does."""
        self._stack.callback(self._unregister)
        try:
            try:
                self._client.register_plugin(SharedDirectories(directories, store), name=self._plugin)
            except CommClosedError:  # a worker was lost while it was asked
                wait_for_worker(self._client)
                self._client.register_plugin(SharedDirectories(directories, store), name=self._plugin)
        except CommClosedError as fault:
            what, hint = "workers were lost while the job began", "look at their logs"
            raise EnvironmentFaultError(what, option="cluster", found=str(fault), hint=hint) from fault
        except ImportError as fault:
            raise EnvironmentFaultError(
                "a worker lacks a package",
                option="cluster",
                found=str(fault),
                hint="start workers in the environment of the client",
            ) from fault

    def compute(
        self, name: str, graph: Graph, keys: Sequence[Key], on_done: Callable[[int, Any], None], hosts: Sequence[str]
    ) -> None:
        """Compute these keys of a graph; calls `on_done` with the index and result of each."""
        try:
            with asking_scheduler(name):
                self._compute(graph, keys, on_done, hosts)
        except KilledWorker as fault:
            raise EnvironmentFaultError(
                "every worker that ran this task died",
                place=name,
                found=f"{format_number(fault.allowed_failures + 1, 'worker')}, last {fault.last_worker.address}",
                hint="if they ran out of memory, give fewer --workers, a smaller --memory, or workers more memory. "
                "If they were preempted, raise distributed.scheduler.allowed-failures",
            ) from fault

    def _compute(
        self, graph: Graph, keys: Sequence[Key], on_done: Callable[[int, Any], None], hosts: Sequence[str]
    ) -> None:
        under_way: dict[Future, int] = {}
        waiting = iter(range(len(keys)))
        done: queue.SimpleQueue[Future] = queue.SimpleQueue()

        def submit(count: int) -> None:
            by_host: dict[str, list[int]] = {}
            for i in itertools.islice(waiting, count):
                by_host.setdefault(hosts[i] if hosts else "", []).append(i)
            for host, indexes in by_host.items():
                futures = self._submit(graph, [keys[i] for i in indexes], host)
                under_way.update(zip(futures, indexes, strict=True))
                for future in futures:
                    future.add_done_callback(done.put)

        try:
            # as if gone for so long that connect-timeout is left of worker-timeout
            gone = time.monotonic() + self._settings.connect_timeout - self._settings.worker_timeout
            last_seen = dict.fromkeys(hosts, gone)
            while not self._have_workers(last_seen):
                time.sleep(0.1)
            submit(self._max_tasks(len(keys)))
            while under_way:
                futures = self._next_done(done, last_seen)
                submit(len(futures))
                for future, result in zip(futures, self._client.gather(futures), strict=True):
                    on_done(under_way.pop(future), result)
        finally:
            if under_way and self._client.status == "running":
                self._client.cancel(list(under_way), force=True)

    def close(self) -> None:
        """Leave the cluster as it was; end it if we started it."""
        self._stack.close()

    def _submit(self, graph: Graph, keys: list[Key], host: str) -> list[Future]:
        # workers that come later may run a task, but only on its machine
        where = {"workers": [host, *_resolve(host)], "allow_other_workers": False} if host else {}
        retries = get_annotations().get("retries", self._settings.retries)  # the client itself has the rest
        futures: list[Future] = self._client.get(cull(graph, keys)[0], keys, sync=False, retries=retries, **where)
        return futures

    def _next_done(self, done: queue.SimpleQueue[Future], last_seen: dict[str, float]) -> list[Future]:
        while True:
            with contextlib.suppress(queue.Empty):
                return [done.get(timeout=SECONDS_BETWEEN_LOOKS), *(done.get() for _ in range(done.qsize()))]
            if self._client.status != "running":
                raise CommClosedError(CONNECTION_LOST)
            self._have_workers(last_seen)

    def _have_workers(self, last_seen: dict[str, float]) -> bool:
        """Whether all of these machines have workers; waits for missing ones."""
        there = {host: _resolve(host) for host in map(get_address_host, self._nthreads())} if last_seen else {}
        missing = [host for host in last_seen if not any(_resolve(host) & addresses for addresses in there.values())]
        now = time.monotonic()
        last_seen.update((host, now) for host in last_seen.keys() - set(missing))
        lost = [host for host in missing if now - last_seen[host] > self._settings.worker_timeout]
        if lost:
            raise EnvironmentFaultError(
                f"the cluster has no worker on {', '.join(lost)}",
                option="cluster",
                found=f"workers on {', '.join(sorted(there))}" if there else "no workers",
                hint="start `dask worker --host ADDRESS` there, with the address from the file of machines",
            )
        return not missing

    def _max_tasks(self, num_tasks: int) -> int:
        """Tasks to send at a time: all, unless the cluster has more threads than tasks may run."""
        return num_tasks if sum(self._nthreads().values()) <= self._workers else self._workers

    def _unregister(self) -> None:
        if self._client.status == "running":
            with contextlib.suppress(OSError, ValueError, KeyError):  # the scheduler may be gone
                self._client.unregister_worker_plugin(self._plugin)


def _resolve(host: str) -> set[str]:
    """All addresses of a machine; its name alone if unknown."""
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return {host}
    return {str(address[0]) for *_, address in addresses}


class SharedDirectories(WorkerPlugin):  # type: ignore[misc]
    """Check directories before a worker's first task; turn away workers that do not see them.

    Each has a word for it, its path, and the name of a file with unique and constant first bytes; without a name, it is
    only read.
    """

    def __init__(self, directories: Sequence[tuple[str, Path, str]], store: WorkspaceStore) -> None:
        self.store, self.version = store, _version()
        self.directories = [
            (what, str(path), witness, _first_bytes(str(path), witness)) for what, path, witness in directories
        ]

    def setup(self, worker: Worker) -> None:
        """Refuse this worker if it does not see all, or has another version; keep copies in its own directory."""
        if self.version != _version():
            raise EnvironmentFaultError(
                f"a worker on host {socket.gethostname()} has another version of daskgraphpart than the client",
                option="cluster",
                expected=self.version,
                found=_version(),
                hint="start workers in the environment of the client",
            )
        _check_disk(self.store.disk_nbytes(worker.state.nthreads), worker)
        self.store.attach(worker.local_directory)
        for what, path, witness, content in self.directories:
            deadline = time.monotonic() + SECONDS_TO_SEE
            while not (os.path.isdir(path) and _first_bytes(path, witness).startswith(content)):
                if time.monotonic() > deadline:
                    raise EnvironmentFaultError(
                        f"a worker on host {socket.gethostname()} does not see the {what} of the client",
                        file=path,
                        hint="keep input, output and --workspace on a file system that all workers share",
                    )
                time.sleep(0.1)

    def teardown(self, worker: Worker) -> None:
        """Delete copies of files."""
        del worker
        self.store.forget()


def _version() -> str:
    return str(sys.modules["daskgraphpart"].__version__)


def _check_disk(needed: int, worker: Worker) -> None:
    """Refuse a worker whose disk is too small for copies of files that lie in a store."""
    free = shutil.disk_usage(worker.local_directory).free
    if free < needed:
        raise EnvironmentFaultError(
            f"the local disk of a worker on host {socket.gethostname()} is too small for this job",
            file=worker.local_directory,
            expected=f"at least {format_size(needed)} free",
            found=format_size(free),
            hint="start workers with `dask worker --local-directory` on a larger disk",
        )


def _first_bytes(directory: str, witness: str) -> bytes:
    """First bytes of a file in a directory; none without the file."""
    if witness:
        with contextlib.suppress(OSError), open(os.path.join(directory, witness), "rb") as file:
            return file.read(WITNESS_NBYTES)
    return b""
