"""Create and open zarr arrays of rows."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.json_file import read_json_object

if TYPE_CHECKING:
    import numpy as np


def create_rows_array(path: str | Path, shape: tuple[int, ...], dtype: np.dtype, chunk_rows: int) -> Any:
    """Create an empty zarr array whose chunks are rows, each in a file of its own, and return it."""
    import zarr

    chunks = (max(1, min(chunk_rows, shape[0])), *(max(1, length) for length in shape[1:]))
    return zarr.create_array(str(path), shape=shape, dtype=dtype, chunks=chunks, compressors=None, overwrite=True)


def refuse_pickles(path: str | Path) -> None:
    """Refuse an array of zarr's format 2 whose chunks are pickles, which are programs that reading them would run.

    Not every release of zarr refuses them in arrays of numbers.
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
    """Open a zarr array for reading."""
    import zarr

    refuse_pickles(path)
    try:
        return zarr.open_array(str(path), mode="r")
    except Exception as fault:  # zarr raises its own errors, KeyError, ValueError, ...
        if getattr(fault, "errno", None) not in (None, errno.ENOENT):
            raise  # the machine's fault, not the file's
        raise InputFileError("not a readable zarr array", file=str(path), found=str(fault)[:200]) from fault
