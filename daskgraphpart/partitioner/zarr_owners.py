"""Owners in one-dimensional arrays of zarr."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import AssignmentError
from daskgraphpart.partitioner.assignment import ROWS_PER_BATCH
from daskgraphpart.partitioner.owner_form import OwnerForm, check_integers
from daskgraphpart.partitioner.zarr_chunks import check_chunk_files
from daskgraphpart.storage.zarr_arrays import open_rows_array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.storage.region import Region

MAX_CHUNK_NBYTES = 256 << 20


def read_owners(path: str, num_nodes: int | None) -> Iterator[np.ndarray]:
    """Yield rows in batches; chunks that are missing, damaged or huge are errors."""
    special = next((inner for inner in Path(path).rglob("*") if not (inner.is_file() or inner.is_dir())), None)
    if special is not None:  # opening a pipe would block forever
        raise AssignmentError("not a regular file", file=str(special), hint="remove it, or write the array again")
    array = open_rows_array(path)
    check_integers(path, array)
    if num_nodes not in (None, array.shape[0]):
        expected = f"{num_nodes:,}, one per node"
        raise AssignmentError("wrong number of owners", file=path, expected=expected, found=f"{array.shape[0]:,}")
    num_there = min(array.nchunks_initialized, array.nchunks)
    if num_there < array.nchunks:
        what = "chunks of a zarr array are missing"
        hint = "write the array with fill value -1"
        raise AssignmentError(what, file=path, expected=f"{array.nchunks:,} chunks", found=f"{num_there:,}", hint=hint)
    chunk_nbytes = array.chunks[0] * array.dtype.itemsize
    if chunk_nbytes > MAX_CHUNK_NBYTES:
        what, expected = "chunks of a zarr array are too large to be unpacked", f"at most {MAX_CHUNK_NBYTES:,} bytes"
        raise AssignmentError(what, file=path, expected=expected, found=f"{chunk_nbytes:,}")
    check_chunk_files(array, path)
    for start in range(0, array.shape[0], ROWS_PER_BATCH):
        try:
            yield np.asarray(array[start : start + ROWS_PER_BATCH])
        except (RuntimeError, ValueError, OSError) as fault:
            raise AssignmentError("damaged zarr array", file=path, place=f"row {start:,}") from fault


def write_owners(region: Region, path: str) -> None:
    """Write an int32 array with the fill value -1."""
    import zarr

    shutil.rmtree(path, ignore_errors=True)
    array = zarr.create_array(
        path,
        shape=region.shape,
        dtype=np.dtype("<i4"),
        fill_value=-1,  # no part, so lost chunks show
        chunks=(max(1, min(ROWS_PER_BATCH, region.num_rows)),),
    )
    for start, owners in region.pieces(ROWS_PER_BATCH):
        array[start : start + owners.size] = owners


ZARR = OwnerForm(read_owners, write_owners, is_directory=True)
