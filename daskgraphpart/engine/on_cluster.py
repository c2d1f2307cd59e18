"""Compute tasks on a cluster of dask.distributed, whose workers may come and go."""

from __future__ import annotations

import contextlib
import itertools
import queue
import socket
import time
import uuid
from typing import TYPE_CHECKING, Any

from distributed import CancelledError, KilledWorker
from distributed.comm import CommClosedError, get_address_host

from daskgraphpart.engine.connect import connect, wait_for_worker
from daskgraphpart.engine.settings import count_setting, seconds_setting
from daskgraphpart.engine.shared_directories import SharedDirectory, register
from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dask.delayed import Delayed
    from distributed import Client, Future

SECONDS_BETWEEN_LOOKS = 0.5


class ClusterScheduler:
    """The scheduler of a cluster, as `resolve_cluster` gives it, and so many tasks that run on it at one time."""

    def __init__(self, cluster: Any, workers: int) -> None:
        self._workers = workers
        self._retries = count_setting("retries", 0) or 0
        self._plugin = f"daskgraphpart-{uuid.uuid4().hex}"
        self._stack = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            self._client: Client = stack.enter_context(connect(cluster, workers))
            wait_for_worker(self._client)
            self._stack = stack.pop_all()

    def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        """Check that all workers see directories as this process does, those that come later as well."""
        self._stack.callback(self._unregister)
        register(self._client, [SharedDirectory.seen_here(*directory) for directory in directories], self._plugin)

    def check_hosts(self, hosts: Sequence[str], file: str) -> None:
        """Check that each machine has a worker; those that were started just now may still be on their way."""
        deadline = time.monotonic() + seconds_setting("connect-timeout")
        while missing := [host for host in hosts if not self._addresses_on(host)]:
            if time.monotonic() >= deadline:
                there = sorted({get_address_host(address) for address in self._client.nthreads()})
                raise EnvironmentFaultError(
                    f"the cluster has no worker on {', '.join(missing)}",
                    file=file,
                    expected="a worker on the machine of every line",
                    found=f"workers on {', '.join(there)}" if there else "no workers",
                    hint="start dask worker there, with --host and the address in the file",
                )
            time.sleep(0.1)

    def compute(
        self,
        name: str,
        tasks: Sequence[Delayed],
        on_done: Callable[[int, Any], None],
        hosts: Sequence[str],
    ) -> None:
        """Compute all tasks of a pass; `on_done` is called with the index and the result of each."""
        under_way: dict[Future, int] = {}
        waiting = iter(range(len(tasks)))
        done: queue.SimpleQueue[Future] = queue.SimpleQueue()

        def submit(count: int) -> None:
            indexes = list(itertools.islice(waiting, count))
            futures = self._submit([tasks[i] for i in indexes], [hosts[i] for i in indexes] if hosts else [])
            under_way.update(zip(futures, indexes, strict=True))
            for future in futures:
                future.add_done_callback(done.put)

        try:
            submit(self._max_tasks(len(tasks)))
            while under_way:
                futures = self._next_done(done, set(hosts))
                submit(len(futures))
                for future, result in zip(futures, self._client.gather(futures), strict=True):
                    on_done(under_way.pop(future), result)
        except (CancelledError, CommClosedError) as fault:
            raise EnvironmentFaultError("the dask scheduler is gone", place=name, found=str(fault)) from fault
        except BaseException as fault:
            if self._client.status == "running":
                self._client.cancel(list(under_way), force=True)
            if isinstance(fault, KilledWorker):
                raise _deadly(name, fault) from fault
            raise

    def close(self) -> None:
        """Leave the cluster as it was; end it if it was made here."""
        self._stack.close()

    def _submit(self, tasks: Sequence[Delayed], hosts: Sequence[str]) -> list[Future]:
        how = {"retries": self._retries, "optimize_graph": False}
        if not hosts:
            return list(self._client.compute(tasks, **how))
        # a worker that comes later may run a task as well, if it is on that machine; none elsewhere may
        return [
            self._client.compute(task, workers=[host, *_resolve(host)], allow_other_workers=False, **how)
            for task, host in zip(tasks, hosts, strict=True)
        ]

    def _next_done(self, done: queue.SimpleQueue[Future], hosts: set[str]) -> list[Future]:
        """Wait for futures that are done; a machine that has lost its last worker is waited for."""
        patience, seen = seconds_setting("worker-timeout"), dict.fromkeys(hosts, time.monotonic())
        while True:
            with contextlib.suppress(queue.Empty):
                return [done.get(timeout=SECONDS_BETWEEN_LOOKS), *(done.get() for _ in range(done.qsize()))]
            if self._client.status != "running":
                raise CommClosedError("the connection was lost")
            seen.update((host, time.monotonic()) for host in hosts if self._addresses_on(host))
            lost = [host for host in hosts if time.monotonic() - seen[host] > patience]
            if lost:
                raise EnvironmentFaultError(
                    f"the last worker on {', '.join(lost)} is gone",
                    place="--cluster",
                    found=f"no other after {patience:.0f} s",
                    hint="start dask worker there again",
                )

    def _max_tasks(self, num_tasks: int) -> int:
        """Tasks to send at a time: all, unless the cluster has more threads than tasks may run at one time."""
        return num_tasks if sum(self._client.nthreads().values()) <= self._workers else self._workers

    def _addresses_on(self, host: str) -> list[str]:
        """Workers on a machine: those whose address is, or resolves to, one of the machine's."""
        wanted = _resolve(host)
        return [address for address in self._client.nthreads() if wanted & _resolve(get_address_host(address))]

    def _unregister(self) -> None:
        if self._client.status == "running":
            with contextlib.suppress(OSError, ValueError, KeyError):  # the scheduler may be gone
                self._client.unregister_worker_plugin(self._plugin)


def _resolve(host: str) -> set[str]:
    """All addresses of a machine; its name alone if nobody knows them."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return {host}
    return {str(address[0]) for *_, address in found}


def _deadly(name: str, fault: KilledWorker) -> EnvironmentFaultError:
    return EnvironmentFaultError(
        "workers died of one task, again and again",
        place=name,
        found=f"{fault.allowed_failures + 1} workers, the last of them {fault.last_worker.address}",
        hint="if the system or a memory limit killed them, give fewer --workers, a smaller --memory, or workers more "
        "memory; if they were preempted, raise distributed.scheduler.allowed-failures",
    )
