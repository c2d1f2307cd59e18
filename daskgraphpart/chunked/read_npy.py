"""Read blocks of npy files, in C or Fortran order (`np.stack([src, dst]).T` is saved in the latter)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.npy_header import read_npy_header
from daskgraphpart.storage.region import Region

MAX_GAP_NBYTES = 32 << 10  # to read so much takes about as long as to begin another read
READ_NBYTES = 4 << 20

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block


def read_npy_rows(block: Block) -> np.ndarray:
    """Read the rows of a block, in the dtype of the file and native byte order, C-contiguous."""
    header = read_npy_header(block.path)
    if block.stop > header.shape[0]:
        raise InputFileError(
            "npy file has changed since it was opened",
            file=block.path,
            expected=f"at least {block.stop:,} rows",
            found=f"{header.shape[0]:,}",
        )
    if not header.is_fortran:
        rows = Region(block.path, header.offset, header.dtype, header.shape).read(block.start, block.stop)
    else:
        rows = _read_fortran(block, header.offset, header.dtype, header.shape)
    if rows.dtype == np.bool_:  # any byte but 0 is true; it is stored as 1
        return np.not_equal(rows.view(np.uint8), 0)
    return rows.astype(header.dtype.newbyteorder("="), copy=False)


def _read_fortran(block: Block, offset: int, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Read one stretch of every column: the first axis runs fastest in the file."""
    num_columns = int(np.prod(shape[1:], dtype=np.int64))
    columns = np.empty((num_columns, block.stop - block.start), dtype)
    in_file = Region(block.path, offset, dtype, (num_columns, shape[0]))
    if in_file.row_nbytes <= MAX_GAP_NBYTES:  # many short columns: fewer reads, of more than is wanted
        step = max(1, READ_NBYTES // max(1, in_file.row_nbytes))
        for first in range(0, num_columns, step):
            stop = min(first + step, num_columns)
            columns[first:stop] = in_file.read(first, stop)[:, block.start : block.stop]
    else:
        for number, column in enumerate(columns):
            start = offset + number * in_file.row_nbytes
            Region(block.path, start, dtype, (shape[0],)).read_into(column, block.start)
    in_file_order = columns.reshape(*reversed(shape[1:]), block.stop - block.start)
    return np.ascontiguousarray(in_file_order.transpose())
