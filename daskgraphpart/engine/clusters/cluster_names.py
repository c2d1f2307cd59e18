"""Resolve clusters that are not of this machine: queues, addresses, scheduler files, and objects of distributed."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import suppress
from typing import Any

from daskgraphpart.errors import MissingPackageError, OptionError
from daskgraphpart.extras import how_to_install

CLOSED = ("closing", "closed", "failed")  # states of a client, or of a cluster, that does not come back
SYNCHRONOUS_HINT = "make it with asynchronous=False, or give its address as cluster"


def resolve_elsewhere(cluster: Any, others: str) -> Any:
    """Check a cluster that is not of this machine; an error names the `others`, too."""
    if isinstance(cluster, str):
        if is_scheduler_file(cluster) or ":" in cluster or job_queue(cluster):
            return cluster
    elif "distributed" in sys.modules:
        from distributed import Client
        from distributed.deploy import Cluster

        if isinstance(cluster, Client | Cluster):
            if cluster.asynchronous:
                raise OptionError(
                    "an asynchronous client or cluster cannot be used",
                    place="cluster",
                    hint=SYNCHRONOUS_HINT,
                )
            if getattr(cluster.status, "name", cluster.status) in CLOSED:
                what, hint = "the client or cluster is closed", "start a new one, and give that"
                raise OptionError(what, place="cluster", found=repr(cluster), hint=hint)
            return cluster
    shown = cluster if isinstance(cluster, str) else type(cluster).__name__
    raise OptionError(
        f"unknown cluster {shown!r}",
        hint=f"choose from {others}, a queueing system of dask-jobqueue (slurm, pbs, ...), "
        "the address of a dask scheduler (tcp://host:port), or a scheduler file (*.json)",
    )


def job_queue(name: str) -> Any:
    """dask-jobqueue's class of that name, such as `SLURMCluster` for ``"slurm"``; None if unknown."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue
    except ImportError as fault:
        raise MissingPackageError(
            "dask-jobqueue is not installed",
            option="cluster",
            place=name,
            hint=f"{how_to_install('jobqueue')}, if this is a queueing system",
        ) from fault
    finally:
        # importing it makes Ctrl-C exit with code 0
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
    kinds = {kind.removesuffix("Cluster").lower(): kind for kind in dir(dask_jobqueue) if kind.endswith("Cluster")}
    return getattr(dask_jobqueue, kinds[name]) if name in kinds else None


def is_scheduler_file(cluster: str) -> bool:
    """Whether this names a scheduler file."""
    return cluster.endswith(".json")


def active_client() -> Any:
    """The newest open client, perhaps an asynchronous one; None if there is none, or we are in a task.

    A task that waits for others on its own cluster blocks a thread, and may wait forever.
    """
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client, get_worker

    with suppress(ValueError):
        get_worker()
        return None
    try:
        client = default_client()
    except ValueError:
        return None
    return client if client.status == "running" else None
