"""Bring the rows of a feature into the order of new IDs: into ranges of them first, then into order inside each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.storage.region import Region


def sort_rows(rows: Rows, new_ids: Region, path: str, max_bytes: int) -> Region:
    """Sort rows by their new IDs, every one of which there is once; some four times `max_bytes` are held."""
    num_rows = rows.shape[0]
    sorted_rows = create_npy(f"{path}.npy", rows.dtype, rows.shape)
    range_rows = max(1, max_bytes // (8 + sorted_rows.row_nbytes))
    ids_there = create_npy(f"{path}-ids.npy", np.int64, (num_rows,))
    starts = range(0, num_rows, range_rows)
    places = np.array(starts, np.int64)  # where the next row of each range goes
    for start in starts:
        stop = min(start + range_rows, num_rows)
        ids, block = new_ids.read(start, stop), rows.read(start, stop)
        order = np.argsort(ids, kind="stable")
        bounds = np.searchsorted(ids[order], [*starts, num_rows])
        for i in np.flatnonzero(np.diff(bounds)):
            chosen = order[bounds[i] : bounds[i + 1]]
            sorted_rows.write(block[chosen], int(places[i]))
            ids_there.write(ids[chosen], int(places[i]))
            places[i] += len(chosen)
    for start in starts:
        stop = min(start + range_rows, num_rows)
        sorted_rows.write(sorted_rows.read(start, stop)[np.argsort(ids_there.read(start, stop))], start)
    return sorted_rows
