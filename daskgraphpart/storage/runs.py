"""Runs: one block's edges grouped by owner, in a plain npy array of three rows (columns of the edge table).

Row 0 holds new source IDs, row 1 new destination IDs, row 2 the edge's row in its block. Each owner's edges are one
slice of all three, so any part can read its own with three small reads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import Region, create_npy, save_npy

if TYPE_CHECKING:
    from pathlib import Path

HEADER_NBYTES = 128  # an npy header of version 1.0 with a short shape is padded to this

SOURCE, DESTINATION, ROW = 0, 1, 2


def write_run(path: str | Path, columns: np.ndarray) -> None:
    """Write an array of shape (3, n)."""
    assert columns.shape[0] == 3, "a run has three columns"
    save_npy(path, columns)


def create_run(path: str | Path, dtype: np.dtype, num_rows: int) -> Region:
    """Create the sparse file of a run whose columns are written later."""
    region = create_npy(path, dtype, (3, num_rows))
    assert region.offset == HEADER_NBYTES, "npy headers changed their size"
    return region


def run_column(path: str | Path, dtype: np.dtype, num_rows: int, column: int) -> Region:
    """Region of one column of a run, without reading its header."""
    offset = HEADER_NBYTES + column * num_rows * dtype.itemsize
    return Region(os.fspath(path), offset, dtype, (num_rows,))


def id_dtype(num_ids: int) -> np.dtype:
    """Smallest signed dtype for IDs below `num_ids`: int32 where it holds them, else int64."""
    return np.dtype(np.int32) if num_ids < 2**31 else np.dtype(np.int64)
