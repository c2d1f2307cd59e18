"""The lazy views: dask frames of edges and dask arrays of features, over the blocks and readers that the passes use."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.blocks import cut_bytes, cut_rows
from daskgraphpart.chunked.read_block import check_ids, read_edges, read_rows
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd

    from daskgraphpart.chunked.blocks import Block, InputFile
    from daskgraphpart.schema import DataSpec, EdgeType

EDGES_PER_PARTITION = 4 << 20
BYTES_PER_PARTITION = 64 << 20


def edge_frame(files: Sequence[InputFile], edge_type: EdgeType, num_src: int, num_dst: int) -> Any:
    """Dask DataFrame of the edges of one type, with int64 columns `src` and `dst`.

    The partitions of npy and parquet files have known divisions (the edge IDs are the index); CSV files are not read to
    count their lines, so theirs are unknown and the index begins at 0 in each partition.
    """
    import dask.dataframe as dd
    import pandas as pd

    is_csv = bool(files) and files[0].format == "csv"
    blocks = cut_bytes(files, BYTES_PER_PARTITION // 2) if is_csv else cut_rows(files, EDGES_PER_PARTITION)
    meta = pd.DataFrame({"src": pd.Series(dtype="int64"), "dst": pd.Series(dtype="int64")})
    if not blocks:
        return dd.from_pandas(meta, npartitions=1)
    read = partial(_read_frame, edge_type=edge_type, num_src=num_src, num_dst=num_dst)
    divisions = None if is_csv else [*(block.first_row for block in blocks), edge_type.num_edges - 1]
    return dd.from_map(read, blocks, meta=meta, divisions=divisions, label="read-edges")


def _read_frame(block: Block, edge_type: EdgeType, num_src: int, num_dst: int) -> pd.DataFrame:
    import pandas as pd

    if block.num_rows < 0:
        from daskgraphpart.chunked.scan_edges import count_rows

        block = replace(block, first_row=0, num_rows=count_rows(block))

    def checked(block: Block) -> tuple[np.ndarray, np.ndarray]:
        src, dst = read_edges(block)
        check_ids(src, dst, num_src, num_dst, block, edge_type)
        return src, dst

    try:
        src, dst = checked(block)
    except InputFileError:
        if block.row_in_file >= 0:
            raise
        # which row of the file it is costs a scan of all before it, so it is asked only when something is wrong
        from daskgraphpart.chunked.scan_edges import count_rows_before

        src, dst = checked(replace(block, row_in_file=count_rows_before(block)))
    return pd.DataFrame({"src": src, "dst": dst}, index=pd.RangeIndex(block.first_row, block.first_row + len(src)))


def data_array(spec: DataSpec, files: Sequence[InputFile]) -> Any:
    """Dask array of one feature, one row per node or edge, in chunks of at most 64 MiB."""
    import dask
    import dask.array as da

    blocks = cut_rows(files, max(1, BYTES_PER_PARTITION // max(1, spec.row_nbytes)))
    if not blocks:
        return da.zeros((0, *spec.row_shape), dtype=spec.dtype)
    read = dask.delayed(partial(_read_array, spec=spec), name="read-rows", pure=True)
    arrays = [
        da.from_delayed(read(block), shape=(block.num_rows, *spec.row_shape), dtype=spec.dtype) for block in blocks
    ]
    return da.concatenate(arrays, axis=0)


def _read_array(block: Block, spec: DataSpec) -> np.ndarray:
    return read_rows(block, spec)
