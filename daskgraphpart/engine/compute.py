"""Compute a piece of somebody's dask collection inside a task."""

from __future__ import annotations

from typing import Any

from dask.base import get_scheduler


def compute_piece(piece: Any) -> Any:
    """Return the value of a small dask collection.

    It is computed by the thread that asks, so that as many are in memory as there are tasks; or by the `Client` or
    scheduler the user has made the default, which may hold what the collection refers to.
    """
    return piece.compute(scheduler=get_scheduler() or "synchronous")
