"""Lazy collections: dask frames of edges and dask arrays of features, over the passes' readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.settings import parse_size
from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.graph.dask_sources import DaskRows, ends_of_frame
from daskgraphpart.graph.rows import ReversedEdges
from daskgraphpart.graph.sources import CsvEdges, read_edges

if TYPE_CHECKING:
    import pandas as pd

    from daskgraphpart.graph.read_csv import Lines
    from daskgraphpart.schema import DataSpec, EdgeType
    from daskgraphpart.source import Block

NBYTES_PER_EDGE = 16
NBYTES_PER_PARTITION = 64 << 20


def edge_frame(source: Any, edge_type: EdgeType, num_src: int, num_dst: int, blocksize: int | str | None = None) -> Any:
    """Dask DataFrame of one type's edges: int64 columns `src` and `dst`, checked on computing.

    The index has edge IDs, with known divisions but for the user's own dask frames. CSV lines are not counted for it:
    there divisions are unknown, and the index begins at 0 in each dask partition.
    """
    import dask
    import dask.dataframe as dd
    import pandas as pd

    ends: dict[str, Any] = {"edge_type": edge_type, "num_src": num_src, "num_dst": num_dst}
    if isinstance(source, DaskRows):
        first_rows = pd.DataFrame({"first_row": np.cumsum((0, *(source.lengths or ())))[:-1]})
        places = dd.from_pandas(first_rows, npartitions=len(first_rows))
        check = partial(_check_frame, name=source.name, **ends)
        frame = source.collection.clear_divisions()  # of the user's index
        return frame.map_partitions(check, places, meta=empty_edges(), align_dataframes=False)
    if not source.can_seek and source.inputs:
        return _frame_of_views(source, edge_type, num_src, num_dst, blocksize)
    is_text = isinstance(source, CsvEdges)
    default = NBYTES_PER_PARTITION // 2 if is_text else NBYTES_PER_PARTITION  # an edge as text takes less than 16 bytes
    nbytes = parse_size(blocksize, "blocksize") if isinstance(blocksize, str) else blocksize or default
    blocks: list[Any] = source.lines(nbytes) if is_text else source.blocks(max(1, nbytes // NBYTES_PER_EDGE))
    if not blocks:
        return dd.from_pandas(empty_edges(), npartitions=1)
    read = partial(_read_lines if is_text else _read_block, **ends)
    divisions = None if is_text else [*(block.first_row for block in blocks), edge_type.num_edges - 1]
    with dask.config.set({"dataframe.convert-string": False}):  # no strings here; the conversion would take the name
        return dd.from_map(read, blocks, meta=empty_edges(), divisions=divisions, label="read-edges")


def _frame_of_views(source: Any, edge_type: EdgeType, num_src: int, num_dst: int, blocksize: int | str | None) -> Any:
    """Dask DataFrame of joined or reversed edges in text or a user's frames, whose lines or rows are not numbered."""
    import dask.dataframe as dd

    if isinstance(source, ReversedEdges):
        other = replace(edge_type, src=edge_type.dst, dst=edge_type.src)
        return edge_frame(source.rows, other, num_dst, num_src, blocksize).map_partitions(_swap, meta=empty_edges())
    frames = [edge_frame(one, edge_type, num_src, num_dst, blocksize) for one in source.inputs]
    return dd.concat([frame.clear_divisions() for frame in frames])


def _swap(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"src": "dst", "dst": "src"})[["src", "dst"]]


def data_array(spec: DataSpec, source: Any) -> Any:
    """Dask array of one feature, one row per node or edge, in chunks of at most 64 MiB; a user's own stays as it is."""
    import dask
    import dask.array as da

    if isinstance(source, DaskRows):
        return source.collection
    blocks = source.blocks(max(1, NBYTES_PER_PARTITION // max(1, spec.row_nbytes)))
    if not blocks:
        return da.zeros((0, *spec.row_shape), dtype=spec.dtype)
    read = dask.delayed(_call, name="read-rows", pure=True)
    arrays = [
        da.from_delayed(read(block.load, block.partition), shape=(block.num_rows, *spec.row_shape), dtype=spec.dtype)
        for block in blocks
    ]
    return da.concatenate(arrays, axis=0)


def _call(read: Any, partition: Any) -> Any:
    return read() if partition is None else read(partition)


def edges_as_frame(src: np.ndarray, dst: np.ndarray, first_row: int = 0) -> pd.DataFrame:
    """Wrap two columns as a frame of edges, without a copy."""
    import pandas as pd

    index = pd.RangeIndex(first_row, first_row + len(src))
    return pd.DataFrame({"src": src, "dst": dst}, index=index, copy=False)


def empty_edges() -> pd.DataFrame:
    """Empty frame of edges: dask's meta."""
    return edges_as_frame(np.empty(0, np.int64), np.empty(0, np.int64))


def _read_block(block: Block[Any], **ends: Any) -> pd.DataFrame:
    edges = read_edges(read=block.load, where=(block.file, block.row_in_file), **ends)
    return edges_as_frame(*edges, block.first_row)


def _read_lines(lines: Lines, **ends: Any) -> pd.DataFrame:
    num_rows = lines.count()

    def read(row_in_file: int) -> pd.DataFrame:
        load = partial(lines.read, num_rows, row_in_file)
        return edges_as_frame(*read_edges(read=load, where=(lines.path, row_in_file), **ends))

    try:
        return read(0)
    except InputFileError:
        # finding the row in the file takes a scan, so only for faults
        step = max(1, lines.stop - lines.start)
        before = [(start, min(start + step, lines.start)) for start in range(0, lines.start, step)]
        return read(sum(replace(lines, start=start, stop=stop).count() for start, stop in before))


def _check_frame(frame: pd.DataFrame, place: pd.DataFrame, name: str, **ends: Any) -> pd.DataFrame:
    where = f"partition {place.index[0]} of {name!r}"
    edges = read_edges(frame, read=partial(ends_of_frame, name=where), where=(where, 0), **ends)
    return edges_as_frame(*edges, int(place.first_row.iloc[0]))


def array_of(rows: Any, what: str, lengths: tuple[int, ...] | None) -> Any:
    """Return a feature as a dask array with known chunks; each partition of a series or frame becomes one."""
    import dask
    import dask.array as da

    if lengths is None:
        if not rows.shape:
            raise OptionError(f"{what}: not rows", expected="one row per node or edge", found="a single value")
        return rows.compute_chunk_sizes() if np.isnan(rows.shape[0]) else rows
    empty = np.asarray(rows._meta)
    if empty.dtype.kind not in "biuf":
        kind, hint = getattr(rows, "dtype", empty.dtype), "leave it out, or turn it into numbers"
        raise OptionError(f"{what}: not numbers", expected="integers, floats or bools", found=kind, hint=hint)
    chunks = [
        da.from_delayed(dask.delayed(np.asarray, pure=True)(partition), (length, *empty.shape[1:]), empty.dtype)
        for partition, length in zip(rows.to_delayed(), lengths, strict=True)
    ]
    return da.concatenate(chunks)


def join_frames(frames: list[Any]) -> Any:
    """Return frames of dask and pandas, at least one of dask, as one."""
    import dask.dataframe as dd

    return dd.concat([frame if hasattr(frame, "dask") else dd.from_pandas(frame, npartitions=1) for frame in frames])


def frame_of_arrays(src: Any, dst: Any, as_ids: Callable[[Any, str], np.ndarray], what: str) -> Any:
    """Return a dask frame of edges from two columns, at least one in dask; `as_ids` makes IDs of a chunk."""
    import dask.array as da
    import dask.dataframe as dd

    columns = [da.asanyarray(end) for end in (src, dst)]
    columns = [end.compute_chunk_sizes() if np.isnan(end.shape[0]) else end for end in columns]
    if columns[0].shape != columns[1].shape or columns[0].ndim != 1:
        shapes = [end.shape for end in columns]
        raise OptionError(f"edges of type {what!r}: not as many sources as destinations", found=shapes)
    ends = [
        end.rechunk(columns[0].chunks).map_blocks(as_ids, f"{what}, {name}", dtype=np.int64)
        for end, name in zip(columns, ("sources", "destinations"), strict=True)
    ]
    return dd.from_dask_array(da.stack(ends, axis=1), columns=["src", "dst"])
