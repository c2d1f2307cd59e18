"""Runs: one block's edges grouped by owner, in a plain npy array of three rows.

Row 0 holds new source IDs, row 1 new destination IDs, row 2 the edge's row in its block. Each owner's edges are one
slice of all three, so a part reads its own with three small reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import Region, npy_region, save_npy

if TYPE_CHECKING:
    from pathlib import Path

SOURCE, DESTINATION, ROW = 0, 1, 2
EXTRA_DTYPE = np.dtype(np.int64)
"""Of runs of edges that parts hold without owning them; their third row is new edge IDs."""


def write_run(path: str | Path, columns: np.ndarray) -> None:
    """Write an array of shape (3, n)."""
    assert columns.shape[0] == 3, "a run has three columns"
    save_npy(path, columns)


def run_column(path: str | Path, dtype: np.dtype, num_rows: int, column: int) -> Region:
    """Region of one column of a run, without reading its header."""
    return npy_region(path, dtype, (3, num_rows)).row(column)


def id_dtype(num_ids: int) -> np.dtype:
    """Smallest signed dtype for IDs below `num_ids`: int32 or int64."""
    return np.dtype(np.int32) if num_ids < 2**31 else np.dtype(np.int64)
