"""The lazy collections: dask frames of edges and dask arrays of features, over the readers that the passes use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.blocks import Block, InputFile, cut_bytes, cut_rows
from daskgraphpart.chunked.formats import check_ends, read_edges, read_rows
from daskgraphpart.errors import InputFileError
from daskgraphpart.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from daskgraphpart.schema import DataSpec, EdgeType

NBYTES_PER_EDGE = 16
NBYTES_PER_PARTITION = 64 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Collections:
    """The user's collections: frames of edges with the length of each partition, arrays by type and feature."""

    edges: Mapping[str, Any]
    edge_lengths: Mapping[str, tuple[int, ...]]
    data: Mapping[str, Mapping[str, Any]]

    def array(self, type_name: str, feature: str) -> Any | None:
        """Array of one feature of a node or edge type; None if it is not one of these."""
        return self.data.get(type_name, {}).get(feature)

    @property
    def token(self) -> str:
        """What dask knows these collections by: the same for the same graphs of tasks."""
        from dask.base import tokenize

        return str(tokenize(self.edges, self.data))


def edge_frame(
    files: Sequence[InputFile], edge_type: EdgeType, num_src: int, num_dst: int, blocksize: int | str | None = None
) -> Any:
    """Dask DataFrame of the edges of one type, with int64 columns `src` and `dst`.

    The partitions of npy and parquet files have known divisions (the edge IDs are the index); CSV files are not read to
    count their lines, so theirs are unknown and the index begins at 0 in each partition.
    """
    import dask
    import dask.dataframe as dd

    is_csv = bool(files) and files[0].format == "csv"
    default = NBYTES_PER_PARTITION // 2 if is_csv else NBYTES_PER_PARTITION  # an edge as text takes less than 16 bytes
    nbytes = parse_size(blocksize) if isinstance(blocksize, str) else blocksize or default
    blocks = cut_bytes(files, nbytes) if is_csv else cut_rows(files, nbytes // NBYTES_PER_EDGE)
    if not blocks:
        return dd.from_pandas(empty_edges(), npartitions=1)
    read = partial(_read_frame, edge_type=edge_type, num_src=num_src, num_dst=num_dst)
    divisions = None if is_csv else [*(block.first_row for block in blocks), edge_type.num_edges - 1]
    with dask.config.set({"dataframe.convert-string": False}):  # there are no strings; the step would take the name
        return dd.from_map(read, blocks, meta=empty_edges(), divisions=divisions, label="read-edges")


def checked_frame(frame: Any, edge_type: EdgeType, num_src: int, num_dst: int) -> Any:
    """Frame of the user's with int64 columns `src` and `dst`, whose edges are checked when it is computed."""
    return frame.map_partitions(_check_frame, edge_type, num_src, num_dst, meta=empty_edges())


def data_array(spec: DataSpec, files: Sequence[InputFile]) -> Any:
    """Dask array of one feature, one row per node or edge, in chunks of at most 64 MiB."""
    import dask
    import dask.array as da

    blocks = cut_rows(files, max(1, NBYTES_PER_PARTITION // max(1, spec.row_nbytes)))
    if not blocks:
        return da.zeros((0, *spec.row_shape), dtype=spec.dtype)
    read = dask.delayed(partial(read_rows, spec=spec), name="read-rows", pure=True)
    arrays = [
        da.from_delayed(read(block), shape=(block.num_rows, *spec.row_shape), dtype=spec.dtype) for block in blocks
    ]
    return da.concatenate(arrays, axis=0)


def edges_as_frame(src: np.ndarray, dst: np.ndarray, first_row: int = 0) -> pd.DataFrame:
    """Frame of edges that shares the memory of two columns."""
    import pandas as pd

    index = pd.RangeIndex(first_row, first_row + len(src))
    return pd.DataFrame({"src": src, "dst": dst}, index=index, copy=False)


def empty_edges() -> pd.DataFrame:
    """Frame of edges without rows: what dask calls the meta."""
    return edges_as_frame(np.empty(0, np.int64), np.empty(0, np.int64))


def check_frame(
    frame: pd.DataFrame, edge_type: EdgeType, num_src: int, num_dst: int, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a partition of a user's frame as int64, or refuse it with the first row that is no edge."""
    name = f"partition {number} of {edge_type.name!r}"
    columns = [(column, frame[column].to_numpy()) for column in ("src", "dst")]
    for column, ids in columns:
        if ids.dtype.kind not in "iu":
            found, hint = f"dtype {frame[column].dtype}", "IDs are integers, none missing"
            raise InputFileError(
                "not IDs of nodes", file=name, place=column, expected="integers", found=found, hint=hint
            )
    src, dst = (ids.astype(np.int64, copy=False) for _, ids in columns)
    check_ends(src, dst, edge_type, num_src, num_dst, file=name, first_row=0)
    return src, dst


def _read_frame(block: Block, edge_type: EdgeType, num_src: int, num_dst: int) -> pd.DataFrame:
    if block.num_rows < 0:
        from daskgraphpart.chunked.read_csv import count_rows

        block = replace(block, first_row=0, num_rows=count_rows(block))
    try:
        src, dst = read_edges(block, edge_type, num_src, num_dst)
    except InputFileError:
        if block.row_in_file >= 0:
            raise
        # which row of the file it is costs a scan of all before it, so it is asked only when something is wrong
        from daskgraphpart.chunked.read_csv import count_rows_before

        src, dst = read_edges(replace(block, row_in_file=count_rows_before(block)), edge_type, num_src, num_dst)
    return edges_as_frame(src, dst, block.first_row)


def _check_frame(
    frame: pd.DataFrame, edge_type: EdgeType, num_src: int, num_dst: int, partition_info: dict[str, Any] | None = None
) -> pd.DataFrame:
    number = partition_info["number"] if partition_info else 0
    return edges_as_frame(*check_frame(frame, edge_type, num_src, num_dst, number))
