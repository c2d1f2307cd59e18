"""Run calls on a distributed cluster: one made here, or one that is there already."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

from distributed import CancelledError, Client, KilledWorker, LocalCluster, as_completed
from distributed.comm import CommClosedError

from daskgraphpart.engine.executors import orphans
from daskgraphpart.errors import EnvironmentFaultError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SECONDS_TO_CONNECT = "30s"


class ClusterExecutor:
    """Calls on the workers of a cluster.

    Parameters
    ----------
    cluster : str
        ``"local"`` starts a `distributed.LocalCluster`; anything else is the address of a scheduler.
    workers : int
        Worker processes of the local cluster, one thread each.

    Raises
    ------
    EnvironmentFaultError
        If the scheduler cannot be reached.
    """

    repeats_tasks = True

    def __init__(self, cluster: str, workers: int) -> None:
        self._cluster: LocalCluster | None = None
        self._numbers = itertools.count(time.time_ns())
        if cluster == "local":
            # our own budget bounds the memory; distributed's limit would count the page cache of mapped files as well
            self._cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=":0",
                preload=[orphans.__name__],
            )
            self._client = Client(self._cluster)
            return
        try:
            self._client = Client(cluster, timeout=SECONDS_TO_CONNECT)
        except ValueError as fault:
            raise OptionError(
                "not the address of a scheduler", place="--cluster", expected="tcp://host:port", found=cluster
            ) from fault
        except OSError as fault:
            raise EnvironmentFaultError(
                "no dask scheduler answers",
                place=cluster,
                found=str(fault),
                hint="check the address given to --cluster",
            ) from fault

    def map(self, name: str, calls: Sequence[Callable[[], Any]], on_done: Callable[[int, Any], None]) -> list[Any]:
        """Make all calls; the results come in the order of the calls.

        A task whose worker dies is run again by another; one that several workers died of ends the job.

        Raises
        ------
        EnvironmentFaultError
            If several workers die of one task, or the scheduler is lost.
        """
        number = next(self._numbers)  # a key that was used before could find an old result
        keys = [f"{name}-{number}-{i:06d}" for i in range(len(calls))]
        futures = [self._client.submit(call, key=key, pure=False) for key, call in zip(keys, calls, strict=True)]
        index = {future.key: i for i, future in enumerate(futures)}
        results: list[Any] = [None] * len(futures)
        try:
            for future, result in as_completed(futures, with_results=True):
                i = index[future.key]
                results[i] = result
                on_done(i, result)
                future.release()
        except (CancelledError, CommClosedError) as fault:
            raise EnvironmentFaultError("the dask scheduler is gone", place=name, found=str(fault)) from fault
        except BaseException as fault:
            self._client.cancel(futures)
            if not isinstance(fault, KilledWorker):
                raise
            raise EnvironmentFaultError(
                "workers died of one task, again and again",
                place=name,
                hint="if the system killed them for want of memory, give fewer --workers",
            ) from fault
        return results

    def close(self) -> None:
        """Leave the cluster; end it if it was made here."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
