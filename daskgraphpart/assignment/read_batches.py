"""Read the owners of a node type in batches, int64, from any form of file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.assignment import ROWS_PER_BATCH
from daskgraphpart.chunked.read_parquet import open_parquet
from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import open_npy
from daskgraphpart.storage.zarr_arrays import open_rows_array
from daskgraphpart.storage.zarr_chunks import check_chunk_files

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHUNK_NBYTES = 256 << 20


def read_batches(path: str, form: str, num_nodes: int | None) -> Iterator[np.ndarray]:
    """Yield the owners in a file; the caller checks their range and number."""
    read = {"txt": _read_txt, "npy": _read_npy, "parquet": _read_parquet, "zarr": _read_zarr}[form]
    try:
        for owners in read(path, num_nodes):
            # beyond int64 they turn negative, which is no part either
            yield owners.astype(np.int64, copy=False)
    except InputFileNotFoundError:
        raise
    except InputFileError as fault:
        raise fault.restated(AssignmentError, file=path) from fault


def _read_txt(path: str, _: int | None) -> Iterator[np.ndarray]:
    import pyarrow as pa
    from pyarrow import csv

    if not os.path.getsize(path):  # Arrow refuses empty files
        return
    reading = csv.ReadOptions(column_names=["owner"], block_size=4 << 20, use_threads=False)
    conversion = csv.ConvertOptions(column_types={"owner": pa.int64()}, null_values=[])
    try:
        with attach_path_to_error(path):
            for batch in csv.open_csv(path, reading, convert_options=conversion):
                yield batch.column(0).to_numpy()
    except pa.ArrowInvalid as fault:
        found, hint = str(fault).splitlines()[0], "remove headers and blanks"
        raise AssignmentError("not one integer per line", file=path, found=found, hint=hint) from fault


def _read_npy(path: str, _: int | None) -> Iterator[np.ndarray]:
    region = open_npy(path)
    _check_integers(path, region)
    for _, rows in region.pieces(ROWS_PER_BATCH):
        yield rows


def _read_parquet(path: str, _: int | None) -> Iterator[np.ndarray]:
    import pyarrow as pa

    with open_parquet(path) as file:
        schema = file.schema_arrow
        if len(schema) != 1 or not pa.types.is_integer(schema.field(0).type):
            raise AssignmentError("not one column of integers", file=path, found=f"columns {schema.names}")
        for batch in file.iter_batches(ROWS_PER_BATCH, use_threads=False):
            if batch.column(0).null_count:
                raise AssignmentError("owners are missing", file=path, found=f"{batch.column(0).null_count} nulls")
            yield batch.column(0).to_numpy()


def _read_zarr(path: str, num_nodes: int | None) -> Iterator[np.ndarray]:
    special = next((inner for inner in Path(path).rglob("*") if not (inner.is_file() or inner.is_dir())), None)
    if special is not None:  # opening a pipe would block forever
        raise AssignmentError("not a regular file", file=str(special), hint="remove it, or write the array again")
    array = open_rows_array(path)
    _check_integers(path, array)
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


def _check_integers(path: str, rows: Any) -> None:
    if rows.dtype.kind not in "iu" or len(rows.shape) != 1:
        found = f"{rows.dtype} of shape {rows.shape}"
        raise AssignmentError("not a one-dimensional array of integers", file=path, found=found)
