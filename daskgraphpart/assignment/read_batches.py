"""Read the owners of a node type batch by batch, int64, from a file of any form."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.directory import ROWS_PER_BATCH
from daskgraphpart.chunked.open_parquet import open_parquet
from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import open_npy
from daskgraphpart.storage.zarr_arrays import refuse_pickles

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHUNK_NBYTES = 256 << 20


def read_batches(path: str, form: str, num_nodes: int) -> Iterator[np.ndarray]:
    """Yield the owners of a file; whether they are parts is for the caller to see."""
    try:
        if form == "zarr":
            yield from _read_zarr(path, num_nodes)
        else:
            yield from {"txt": _read_txt, "npy": _read_npy, "parquet": _read_parquet}[form](path)
    except InputFileNotFoundError:
        raise
    except InputFileError as fault:
        details = {name: getattr(fault, name) for name in ("place", "expected", "found", "hint")}
        raise AssignmentError(fault.what, file=path, **details) from fault


def _read_txt(path: str) -> Iterator[np.ndarray]:
    import pyarrow as pa
    from pyarrow import csv

    if not os.path.getsize(path):  # which Arrow refuses
        return
    try:
        with attach_path_to_error(path):
            yield from (
                batch.column(0).to_numpy()
                for batch in csv.open_csv(
                    path,
                    read_options=csv.ReadOptions(column_names=["owner"], block_size=4 << 20, use_threads=False),
                    convert_options=csv.ConvertOptions(column_types={"owner": pa.int64()}, null_values=[]),
                )
            )
    except pa.ArrowInvalid as fault:
        raise AssignmentError(
            "not one integer per line", file=path, found=str(fault).splitlines()[0], hint="remove headers and blanks"
        ) from fault


def _read_npy(path: str) -> Iterator[np.ndarray]:
    region = open_npy(path)
    _check_integers(path, region.dtype, region.shape)
    for start in range(0, region.num_rows, ROWS_PER_BATCH):
        yield _as_int64(region.read(start, min(start + ROWS_PER_BATCH, region.num_rows)))


def _read_parquet(path: str) -> Iterator[np.ndarray]:
    import pyarrow as pa

    with open_parquet(path) as file:
        schema = file.schema_arrow
        if len(schema) != 1 or not pa.types.is_integer(schema.field(0).type):
            raise AssignmentError("not one column of integers", file=path, found=f"columns {schema.names}")
        for batch in file.iter_batches(ROWS_PER_BATCH, use_threads=False):
            if batch.column(0).null_count:
                raise AssignmentError("owners are missing", file=path, found=f"{batch.column(0).null_count} nulls")
            yield _as_int64(batch.column(0).to_numpy())


def _read_zarr(path: str, num_nodes: int) -> Iterator[np.ndarray]:
    import zarr

    special = next((inner for inner in Path(path).rglob("*") if not (inner.is_file() or inner.is_dir())), None)
    if special is not None:  # opening a pipe would wait for ever
        raise AssignmentError("not a regular file", file=str(special), hint="remove it, or write the array again")
    refuse_pickles(path)
    try:
        array = zarr.open_array(path, mode="r")
    except (OSError, ValueError, KeyError, TypeError) as fault:
        if getattr(fault, "errno", None) not in (None, errno.ENOENT):
            raise  # the machine's fault, not the file's
        raise AssignmentError("not a readable zarr array", file=path, found=str(fault)) from fault
    _check_integers(path, array.dtype, array.shape)
    if array.shape[0] != num_nodes:
        raise AssignmentError(
            "wrong number of owners", file=path, expected=f"{num_nodes:,}, one per node", found=f"{array.shape[0]:,}"
        )
    num_missing = array.nchunks - array.nchunks_initialized
    if num_missing > 0:
        raise AssignmentError(
            "chunks of a zarr array are missing, and would be read as its fill value",
            file=path,
            expected=f"{array.nchunks:,} chunks",
            found=f"{array.nchunks - num_missing:,}",
            hint="write it with a fill value that is no part, such as -1",
        )
    if array.chunks[0] * array.dtype.itemsize > MAX_CHUNK_NBYTES:
        raise AssignmentError(
            "chunks of a zarr array are too large to be unpacked",
            file=path,
            expected=f"at most {MAX_CHUNK_NBYTES:,} bytes",
            found=f"{array.chunks[0] * array.dtype.itemsize:,}",
        )
    for start in range(0, array.shape[0], ROWS_PER_BATCH):
        try:
            owners = np.asarray(array[start : start + ROWS_PER_BATCH])
        except (RuntimeError, ValueError, OSError) as fault:
            raise AssignmentError("damaged zarr array", file=path, place=f"row {start:,}") from fault
        yield _as_int64(owners)


def _check_integers(path: str, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    if dtype.kind not in "iu" or len(shape) != 1:
        raise AssignmentError("not a one-dimensional array of integers", file=path, found=f"{dtype} of shape {shape}")


def _as_int64(owners: np.ndarray) -> np.ndarray:
    """Convert integers of any kind; those beyond int64 become negative, which is no part either."""
    return owners.astype(np.int64)
