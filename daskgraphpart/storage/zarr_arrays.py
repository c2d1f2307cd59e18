"""Blocks of rows as zarr (v3) arrays: one array and one file per block, readable in part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.atomic import whole_directory
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.json_file import read_json_object


def write_rows_array(path: str | Path, rows: np.ndarray, chunk_rows: int) -> None:
    """Write rows to a new zarr array.

    Parameters
    ----------
    path : path
        Directory of the array, which appears when it is whole; one that is there already has the same rows, and stays.
    rows : numpy.ndarray
        Rows along the first axis.
    chunk_rows : int
        Rows that can be read alone. The chunks lie in one shard, hence in one file.
    """
    import zarr

    num_rows = rows.shape[0]
    chunk_rows = max(1, min(chunk_rows, num_rows))
    chunks = (chunk_rows, *rows.shape[1:])
    shard_rows = -(-max(num_rows, 1) // chunk_rows) * chunk_rows
    with whole_directory(path) as temporary:
        array = zarr.create_array(
            temporary,
            shape=rows.shape,
            dtype=rows.dtype,
            chunks=chunks,
            shards=(shard_rows, *rows.shape[1:]),
            compressors=None,  # features hardly compress, and what is written is read once, soon
        )
        if num_rows:
            array[:] = rows


def read_rows_array(path: str | Path, start: int, stop: int) -> np.ndarray:
    """Read rows ``[start, stop)`` of a zarr array."""
    import zarr

    with attach_path_to_error(path):
        return np.ascontiguousarray(zarr.open_array(str(path), mode="r")[start:stop])


def create_rows_array(path: str | Path, shape: tuple[int, ...], dtype: np.dtype, chunk_rows: int) -> Any:
    """Create an empty zarr array whose chunks are rows, each in a file of its own, and return it."""
    import zarr

    chunks = (max(1, min(chunk_rows, shape[0])), *(max(1, length) for length in shape[1:]))
    return zarr.create_array(str(path), shape=shape, dtype=dtype, chunks=chunks, compressors=None, overwrite=True)


def refuse_pickles(path: str | Path) -> None:
    """Refuse an array of zarr's format 2 whose chunks are pickles, which are programs that reading them would run.

    Not every release of zarr refuses them in arrays of numbers.

    Raises
    ------
    InputFileError
        If a codec is one.
    """
    header = Path(path) / ".zarray"
    if not header.is_file():
        return
    content = read_json_object(header, InputFileError)
    filters = content.get("filters")
    codecs = [content.get("compressor"), *(filters if isinstance(filters, list) else ())]
    if any(isinstance(codec, dict) and codec.get("id") == "pickle" for codec in codecs):
        raise InputFileError(
            "zarr array of pickled objects, which are never loaded", file=str(header), expected="plain numbers"
        )


def open_rows_array(path: str | Path) -> Any:
    """Open a zarr array for reading.

    Raises
    ------
    InputFileError
        If it is none, or holds pickled objects.
    """
    import zarr

    refuse_pickles(path)
    try:
        return zarr.open_array(str(path), mode="r")
    except Exception as fault:  # zarr raises its own errors, KeyError, ValueError, ...
        raise InputFileError("not a zarr array", file=str(path), found=str(fault)[:200]) from fault
