"""Read files of owners batch by batch: one reader per form, each gives int64 arrays."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.open_parquet import open_parquet
from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import open_npy
from daskgraphpart.storage.zarr_arrays import refuse_pickles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS_PER_BATCH = 1 << 20


def read_txt(path: str) -> Iterator[np.ndarray]:
    """One integer per line."""
    import pyarrow as pa
    from pyarrow import csv

    with attach_path_to_error(path), open(path, "rb") as file:
        if not file.read(1):
            return
    try:
        with attach_path_to_error(path):
            reader = csv.open_csv(
                path,
                read_options=csv.ReadOptions(column_names=["owner"], block_size=4 << 20, use_threads=False),
                convert_options=csv.ConvertOptions(column_types={"owner": pa.int64()}, null_values=[]),
            )
            for batch in reader:
                yield batch.column(0).to_numpy()
    except pa.ArrowInvalid as fault:
        raise AssignmentError(
            "not one integer per line", file=path, found=str(fault).splitlines()[0], hint="remove headers and blanks"
        ) from fault


def read_npy(path: str) -> Iterator[np.ndarray]:
    """A one-dimensional array of integers."""
    region = open_npy(path)
    _check_integers(path, region.dtype, region.shape)
    for start in range(0, region.num_rows, ROWS_PER_BATCH):
        yield region.read(start, min(start + ROWS_PER_BATCH, region.num_rows)).astype(np.int64)


def read_parquet(path: str) -> Iterator[np.ndarray]:
    """One column of integers."""
    import pyarrow as pa

    try:
        with open_parquet(path) as file:
            schema = file.schema_arrow
            if len(schema) != 1 or not pa.types.is_integer(schema.field(0).type):
                raise AssignmentError("not one column of integers", file=path, found=f"columns {schema.names}")
            for batch in file.iter_batches(ROWS_PER_BATCH, use_threads=False):
                if batch.column(0).null_count:
                    raise AssignmentError("owners are missing", file=path, found=f"{batch.column(0).null_count} nulls")
                yield batch.column(0).to_numpy().astype(np.int64)
    except InputFileNotFoundError:
        raise
    except InputFileError as fault:
        raise AssignmentError(
            fault.what, file=path, place=fault.place, expected=fault.expected, found=fault.found, hint=fault.hint
        ) from fault


def read_zarr(path: str) -> Iterator[np.ndarray]:
    """A one-dimensional zarr array of integers."""
    import zarr

    refuse_pickles(path)
    try:
        array = zarr.open_array(path, mode="r")
    except (OSError, ValueError, KeyError) as fault:
        if getattr(fault, "errno", None) not in (None, errno.ENOENT):
            raise  # the machine's fault, not the file's
        raise AssignmentError("not a readable zarr array", file=path, found=str(fault)) from fault
    _check_integers(path, array.dtype, array.shape)
    for start in range(0, array.shape[0], ROWS_PER_BATCH):
        try:
            owners = np.asarray(array[start : start + ROWS_PER_BATCH])
        except (RuntimeError, ValueError, OSError) as fault:
            raise AssignmentError("damaged zarr array", file=path, place=f"row {start:,}") from fault
        yield owners.astype(np.int64)


def _check_integers(path: str, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    if dtype.kind not in "iu" or len(shape) != 1:
        raise AssignmentError("not a one-dimensional array of integers", file=path, found=f"{dtype} of shape {shape}")


OWNER_READERS: dict[str, Callable[[str], Iterator[np.ndarray]]] = {
    "txt": read_txt,
    "npy": read_npy,
    "parquet": read_parquet,
    "zarr": read_zarr,
}
