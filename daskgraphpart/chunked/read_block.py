"""Read one block, whatever its format: the same functions serve the passes and the lazy collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.schema import DataSpec, EdgeType


def read_edges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Read type-wise IDs of the sources and destinations of a block, int64; not yet compared with numbers of nodes."""
    if block.format == "csv":
        from daskgraphpart.chunked.read_csv import read_csv_edges

        return read_csv_edges(block)
    if block.format == "parquet":
        from daskgraphpart.chunked.read_parquet import read_parquet_edges

        return read_parquet_edges(block)
    from daskgraphpart.chunked.read_npy import read_npy_rows

    rows = read_npy_rows(block)
    return rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)


def read_checked_edges(block: Block, edge_type: EdgeType, num_src: int, num_dst: int) -> tuple[np.ndarray, np.ndarray]:
    """Read a block of edges whose ends are nodes."""
    src, dst = read_edges(block)
    check_ids(src, dst, num_src, num_dst, block, edge_type)
    return src, dst


def read_rows(block: Block, spec: DataSpec) -> np.ndarray:
    """Read a block of rows of a feature: array (rows, *row shape) in the dtype of the spec, C-contiguous."""
    if block.format == "parquet":
        from daskgraphpart.chunked.read_parquet import read_parquet_rows

        return read_parquet_rows(block, spec.dtype, spec.row_shape)
    from daskgraphpart.chunked.read_npy import read_npy_rows

    rows = read_npy_rows(block)
    if rows.dtype != spec.dtype or rows.shape[1:] != spec.row_shape:
        raise InputFileError(
            "npy file has changed since it was opened",
            file=block.path,
            expected=f"{spec.dtype} rows of shape {spec.row_shape}",
            found=f"{rows.dtype} rows of shape {rows.shape[1:]}",
        )
    return rows


def check_ids(src: np.ndarray, dst: np.ndarray, num_src: int, num_dst: int, block: Block, edge_type: EdgeType) -> None:
    """Refuse edges that end outside their node type."""
    ends = ((src, num_src), (dst, num_dst))
    if all(not ids.size or (ids.min() >= 0 and ids.max() < count) for ids, count in ends):
        return
    bad_src, bad_dst = (np.flatnonzero((ids < 0) | (ids >= n)) for ids, n in ends)
    at_src = bad_src.size > 0 and not (bad_dst.size and bad_dst[0] < bad_src[0])
    row = int(bad_src[0] if at_src else bad_dst[0])
    ids, count, ntype = (src, num_src, edge_type.src) if at_src else (dst, num_dst, edge_type.dst)
    raise InputFileError(
        f"ID of a {ntype!r} node out of range, in edges of type {edge_type.name!r}",
        file=block.path,
        place=f"row {block.row_in_file + row:,}",
        expected=f"an ID in [0, {count:,})" if count else "no edge, since there is no such node",
        found=f"{int(ids[row]):,}",
        hint="check num_nodes_per_type (or per_chunk) in metadata.json; IDs are type-wise and begin at 0",
    )
