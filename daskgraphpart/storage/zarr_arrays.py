"""Zarr arrays of rows, as users have them."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.json_file import read_json_object

if TYPE_CHECKING:
    import numpy as np


def create_rows_array(path: str | Path, shape: tuple[int, ...], dtype: np.dtype, chunk_rows: int) -> Any:
    """Create an empty zarr array with zarr chunks of rows, each in its own file."""
    import zarr

    chunks = (max(1, min(chunk_rows, shape[0])), *(max(1, length) for length in shape[1:]))
    return zarr.create_array(str(path), shape=shape, dtype=dtype, chunks=chunks, compressors=None, overwrite=True)


def refuse_pickles(path: str | Path) -> None:
    """Refuse an array of zarr format 2 with pickled chunks, which could run code.

    Not every release of zarr refuses them in arrays of numbers.
    """
    header = Path(path) / ".zarray"
    if not header.is_file():
        return
    content = read_json_object(header, InputFileError)
    filters = content.get("filters")
    codecs = [content.get("compressor"), *(filters if isinstance(filters, list) else ())]
    if any(isinstance(codec, dict) and codec.get("id") == "pickle" for codec in codecs):
        raise InputFileError("pickled zarr arrays are never loaded", file=str(header), expected="plain numbers")


def open_rows_array(path: str | Path) -> Any:
    """Open a zarr array for reading."""
    import zarr

    refuse_pickles(path)
    try:
        array = zarr.open_array(str(path), mode="r")
        chunks = array.chunks
    except Exception as fault:  # zarr raises its own errors, KeyError, ValueError, ...
        if getattr(fault, "errno", None) not in (None, errno.ENOENT):
            raise  # the machine's fault, not the file's
        raise InputFileError("not a readable zarr array", file=str(path), found=str(fault)[:200]) from fault
    if 0 in chunks:  # zarr divides by it
        raise InputFileError("not a readable zarr array", file=str(path), found=f"chunks of shape {chunks}")
    return array
