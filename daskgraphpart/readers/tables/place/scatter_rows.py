"""Bring rows into another order, within a budget of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.readers.tables.describe.fills import filled_dtype
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from daskgraphpart.source import Source


def scatter_rows(rows: Source, new_ids: Region, num_rows: int, fill: Any, path: str, max_bytes: int) -> Region:
    """Bring rows to their new IDs, in a file: sort blocks, then read a range of IDs from each; others get `fill`.

    A single block needs no sorting.

    Holds about four times `max_bytes`.
    """
    dtype = filled_dtype(rows.dtype, str(fill))
    placed = create_npy(f"{path}.npy", dtype, (num_rows, *rows.shape[1:]))
    step = max(1, max_bytes // (8 + placed.row_nbytes))
    if max(rows.shape[0], num_rows) <= step:
        whole = np.full(placed.shape, fill, dtype)
        whole[new_ids.read()] = rows.read(0, rows.shape[0])
        placed.write(whole, 0)
        return placed
    sorted_rows = create_npy(f"{path}-rows.npy", dtype, rows.shape)
    sorted_ids = create_npy(f"{path}-ids.npy", np.int64, rows.shape[:1])
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        ids = new_ids.read(start, stop)
        order = np.argsort(ids, kind="stable")
        sorted_ids.write(ids[order], start)
        sorted_rows.write(rows.read(start, stop)[order], start)
    ids, begins = sorted_ids.memmap(), list(range(0, rows.shape[0], step))  # of what is left of each block
    for first in range(0, num_rows, step):
        last = min(first + step, num_rows)
        block = np.full((last - first, *rows.shape[1:]), fill, dtype)
        for number, start in enumerate(begins):
            stop = start + int(np.searchsorted(ids[start : (number + 1) * step], last))
            block[ids[start:stop] - first] = sorted_rows.read(start, stop)
            begins[number] = stop
        placed.write(block, first)
    return placed
