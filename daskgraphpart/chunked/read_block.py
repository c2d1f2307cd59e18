"""Read one block, whatever its format: the same functions serve the passes and the lazy collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.npy_header import read_npy_header
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.errors import GraphPartError
    from daskgraphpart.schema import DataSpec, EdgeType

MAX_GAP_NBYTES = 32 << 10  # to read so much takes about as long as to begin another read
READ_NBYTES = 4 << 20


def read_edges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Read type-wise IDs of the sources and destinations of a block, int64; not yet compared with numbers of nodes."""
    if block.format == "csv":
        from daskgraphpart.chunked.read_csv import read_csv_edges

        return read_csv_edges(block)
    if block.format == "parquet":
        from daskgraphpart.chunked.read_parquet import read_parquet_edges

        return read_parquet_edges(block)
    rows = _read_npy(block)
    return rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)


def read_checked_edges(block: Block, edge_type: EdgeType, num_src: int, num_dst: int) -> tuple[np.ndarray, np.ndarray]:
    """Read a block of edges whose ends are nodes."""
    src, dst = read_edges(block)
    check_ends(src, dst, edge_type, num_src, num_dst, file=block.path, first_row=block.row_in_file)
    return src, dst


def read_rows(block: Block, spec: DataSpec) -> np.ndarray:
    """Read a block of rows of a feature: array (rows, *row shape) in the dtype of the spec, C-contiguous."""
    if block.format == "parquet":
        from daskgraphpart.chunked.read_parquet import read_parquet_rows

        return read_parquet_rows(block, spec.dtype, spec.row_shape)
    rows = _read_npy(block)
    if rows.dtype != spec.dtype or rows.shape[1:] != spec.row_shape:
        raise _changed(block, f"{spec.dtype} {spec.row_shape}", f"{rows.dtype} {rows.shape[1:]}")
    return rows


def check_ends(
    src: np.ndarray,
    dst: np.ndarray,
    edge_type: EdgeType,
    num_src: int,
    num_dst: int,
    *,
    file: Any,
    first_row: int,
    error: type[GraphPartError] = InputFileError,
) -> None:
    """Refuse edges that end outside their node type; rows are counted from the first row on in messages."""
    ends = ((src, num_src), (dst, num_dst))
    if all(not ids.size or (ids.min() >= 0 and ids.max() < count) for ids, count in ends):
        return
    bad = [np.flatnonzero((ids < 0) | (ids >= count)) for ids, count in ends]
    row, end = min((int(rows[0]), end) for end, rows in enumerate(bad) if rows.size)
    ids, count = ends[end]
    ntype = (edge_type.src, edge_type.dst)[end]
    raise error(
        f"ID of a {ntype!r} node out of range, in edges of type {edge_type.name!r}",
        file=file,
        place=f"row {first_row + row:,}",
        expected=f"an ID in [0, {count:,})" if count else "no edge, since there is no such node",
        found=f"{int(ids[row]):,}",
        hint="check the number of nodes (num_nodes_per_type in metadata.json); IDs are type-wise and begin at 0",
    )


def _read_npy(block: Block) -> np.ndarray:
    """Read the rows of an npy file in its dtype and native byte order, C-contiguous, whatever its order.

    `np.stack([src, dst]).T` is saved in Fortran order.
    """
    header = read_npy_header(block.path)
    if block.stop > header.shape[0]:
        raise _changed(block, f"at least {block.stop:,} rows", f"{header.shape[0]:,}")
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


def _changed(block: Block, expected: str, found: str) -> InputFileError:
    return InputFileError("npy file has changed since it was opened", file=block.path, expected=expected, found=found)
