"""Read npy files: edges as an array (edges, 2), features as an array of rows; C or Fortran order.

`np.stack([src, dst]).T` is saved in Fortran order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.formats import InputFile
from daskgraphpart.storage.files import file_size
from daskgraphpart.storage.region import Region, read_npy_header

if TYPE_CHECKING:
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.source import Edges, FilePath


def open_edges(path: str, _: str) -> tuple[InputFile, dict[str, np.dtype]]:
    """Open a file of edges; return it with the dtype of IDs."""
    file, dtype, row_shape = open_rows(path)
    if row_shape != (2,):
        expected, shape = "shape (edges, 2): src and dst", f"shape {(file.num_rows, *row_shape)}"
        raise InputFileError("not an array of edges", file=path, expected=expected, found=shape)
    return file, {"": dtype}


def open_rows(path: str) -> tuple[InputFile, np.dtype, tuple[int, ...]]:
    """Open a file of a feature; return it with dtype and row shape."""
    header = read_npy_header(path)
    file = InputFile(path, "numpy", " ", header.shape[0], file_size(path))
    return file, header.dtype.newbyteorder("="), header.shape[1:]


def read_edges(path: FilePath, start: int, stop: int) -> Edges:
    """Read sources and destinations of edges ``[start, stop)``, int64."""
    rows = _read(path, start, stop, None, (2,))
    return rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)


def read_rows(path: FilePath, start: int, stop: int, spec: DataSpec) -> np.ndarray:
    """Read rows ``[start, stop)`` of a feature, in native byte order, C-contiguous."""
    return _read(path, start, stop, spec.dtype, spec.row_shape)


def _read(path: FilePath, start: int, stop: int, dtype: np.dtype | None, row_shape: tuple[int, ...]) -> np.ndarray:
    header = read_npy_header(path)
    native = header.dtype.newbyteorder("=")
    if stop > header.shape[0] or header.shape[1:] != row_shape or dtype not in (None, native):
        raise InputFileError(
            "npy file has changed since it was opened",
            file=path,
            expected=f"at least {stop:,} rows of shape {row_shape}" + (f", {dtype}" if dtype else ""),
            found=f"{header.shape[0]:,} of shape {header.shape[1:]}, {native}",
        )
    in_file = Region(path, header.offset, header.dtype, header.shape)
    rows = _read_fortran(in_file, start, stop) if header.is_fortran else in_file.read(start, stop)
    if rows.dtype == np.bool_:  # any non-zero byte is true; stored as 1
        return np.not_equal(rows.view(np.uint8), 0)
    return rows.astype(native, copy=False)


def _read_fortran(array: Region, start: int, stop: int) -> np.ndarray:
    """Read a stretch of every column: in Fortran order, the first axis runs fastest."""
    num_columns = int(np.prod(array.shape[1:], dtype=np.int64))
    columns = np.empty((num_columns, stop - start), array.dtype)
    column_nbytes = array.num_rows * array.dtype.itemsize
    for number, column in enumerate(columns):
        in_file = Region(array.path, array.offset + number * column_nbytes, array.dtype, (array.num_rows,))
        in_file.read_into(column, start)
    in_file_order = columns.reshape(*reversed(array.shape[1:]), stop - start)
    return np.ascontiguousarray(in_file_order.transpose())
