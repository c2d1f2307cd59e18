"""Compute a piece of somebody's dask collection inside a task."""

from __future__ import annotations

import sys
from typing import Any

from dask.base import get_scheduler


def compute_piece(piece: Any) -> Any:
    """Return the value of a small dask collection.

    It is computed by the thread that asks, so that as many are in memory as there are tasks; or by the `Client` or
    scheduler the user has made the default, which may hold what the collection refers to. On a worker of a cluster only
    what refers to results that the cluster holds is given to the scheduler, and the worker's thread is left meanwhile:
    otherwise tasks that wait for their pieces could take all threads, so that nothing would compute the pieces.
    """
    if not _is_on_worker():
        return piece.compute(scheduler=get_scheduler() or "synchronous")
    from distributed import futures_of, worker_client

    if not futures_of(piece):
        return piece.compute(scheduler="synchronous")
    with worker_client() as client:
        return piece.compute(scheduler=client)


def _is_on_worker() -> bool:
    """Whether this thread runs a task of distributed; a process that has not imported it does not."""
    if "distributed" not in sys.modules:
        return False
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True
