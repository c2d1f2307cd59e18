"""Write and read `id_map/<ntype>.parquet`; row i is the original ID of node i.

Row groups end after a fixed number of IDs or bytes, so the file does not depend on batches.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.graph.metadata import ID_MAP
from daskgraphpart.graph.output import parquet_writer
from daskgraphpart.graph.read_parquet import open_parquet, row_group_lengths
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.files import is_file
from daskgraphpart.storage.paths import Location, join_path, to_key

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    import pandas as pd


COLUMN = "id"
STRINGS, INTEGERS = "strings", "integers"
"""Kinds of IDs."""
FORMAT_KEY, FORMAT = b"daskgraphpart", b"id map, version 1"
IDS_PER_GROUP, BYTES_PER_GROUP = 1 << 17, 8 << 20
BYTES_PER_ID = 8  # an integer, or the start of a string


def write_id_map(path: Path, batches: Iterable[Any], is_text: bool) -> None:
    """Write a map from Arrow arrays of IDs, in new order."""
    column = pa.string() if is_text else pa.int64()
    schema = pa.schema([(COLUMN, column)], metadata={FORMAT_KEY: FORMAT})
    with whole_file(path) as temporary, parquet_writer(temporary, schema) as writer:
        for ids in _groups(batch.cast(column) for batch in batches):
            writer.write_table(pa.table([ids], schema=schema), row_group_size=IDS_PER_GROUP)


def _groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield IDs in groups that depend on the IDs alone."""
    pending: Any = None
    for batch in batches:
        pending = batch if pending is None else pa.concat_arrays([pending, batch])
        start = 0
        for stop in _group_ends(pending):
            yield pending.slice(start, stop - start)
            start = stop
        pending = pending.slice(start)
    if pending is not None and len(pending):
        yield pending


def _group_ends(ids: Any) -> Iterator[int]:
    """Yield the ends of groups that further IDs cannot change."""
    starts = np.arange(len(ids) + 1, dtype=np.int64) * BYTES_PER_ID
    if pa.types.is_string(ids.type):
        starts[1:] += np.cumsum(np.from_dlpack(pc.binary_length(ids)), dtype=np.int64)  # `to_numpy` imports pandas
    start = 0
    while True:
        by_bytes = int(np.searchsorted(starts, starts[start] + BYTES_PER_GROUP, side="right")) - 1
        stop = max(start + 1, min(start + IDS_PER_GROUP, by_bytes))
        if stop >= len(ids):
            return
        yield stop
        start = stop


def read_id_map(directory: str | os.PathLike[str], ntype: str) -> Any:
    """Read the original IDs of one node type, lazily.

    Parameters
    ----------
    directory : path
        Directory of the chunked graph.
    ntype : str
        Node type.

    Returns
    -------
    dask.dataframe.DataFrame
        Column `id`, int64 or string; the index is the original ID (row number in the graph; not the new ID in
        partitions), with known divisions, so ``.loc[5:9]`` reads little.

    Raises
    ------
    InputFileNotFoundError
        If the node type has no map.
    InputFileError
        If the file is not a map.

    Examples
    --------
    >>> dgp.scan_tables("follows.tsv", map_ids=True).write_chunked("follows")
    Graph 'graph': 3 nodes, 3 edges, 723 B
    type      count  files   size  features
    --------  -----  -----  -----  --------
    _N            3      0    0 B
    _N:_E:_N      3      1  723 B
    >>> dgp.read_id_map("follows", "_N").compute()
        id
    0  ann
    1  bob
    2  cid
    """
    return id_map_frame(Path(directory) / ID_MAP / f"{ntype}.parquet")


def id_map_frame(path: Location) -> Any:
    """Return a dask DataFrame with column `id`, indexed by original ID, with a dask partition per row group."""
    import dask.dataframe as dd

    with _open(path) as file:
        lengths = row_group_lengths(file)
    starts = [0, *accumulate(lengths)]
    meta = _read_group(-1, 0, path=str(path))
    if not lengths:
        return dd.from_pandas(meta, npartitions=1)
    divisions = [*starts[:-1], starts[-1] - 1]
    read = partial(_read_group, path=str(path))
    return dd.from_map(read, range(len(lengths)), starts[:-1], meta=meta, divisions=divisions, label="read-id-map")


def find_map(given: Location, ntype: str) -> Location | None:
    """Find a node type's map: in a graph, in its directory ``id_map``, or itself; None if nowhere."""
    name = f"{ntype}.parquet"
    paths = [given, *(join_path(given, below) for below in (name, f"{ID_MAP}/{name}"))]
    return next((path for path in paths if is_file(path)), None)


def read_map_header(path: Location) -> tuple[str, int]:
    """Read a map's kind of IDs, strings or integers, and their number."""
    with _open(path) as file:
        kind = STRINGS if pa.types.is_string(file.schema_arrow.field(COLUMN).type) else INTEGERS
        return kind, file.metadata.num_rows


def id_batches(path: Location | None, num_nodes: int, max_rows: int) -> Iterator[Any]:
    """Yield the Arrow type of a map's IDs, then all IDs in batches; without a map, numbers."""
    if path is None:
        yield pa.int64()
        for start in range(0, num_nodes, max_rows):
            yield pa.array(np.arange(start, min(start + max_rows, num_nodes)))
        return
    with _open(path) as file:
        if file.metadata.num_rows != num_nodes:
            count = f"{file.metadata.num_rows:,}"
            raise InputFileError(
                "this ID map belongs to another graph", file=path, expected=f"{num_nodes:,} IDs", found=count
            )
        yield file.schema_arrow.field(COLUMN).type
        for batch in file.iter_batches(max_rows, columns=[COLUMN], use_threads=False):
            yield batch.column(0)


def take_ids(path: Location, rows: np.ndarray) -> np.ndarray:
    """Return the IDs of some rows of a map, int64 or strings."""
    taken: np.ndarray = take_column(path, rows).to_numpy(zero_copy_only=False)
    return taken


def mean_bytes(path: Location) -> int:
    """Return the bytes of a map's IDs on average, in memory."""
    with _open(path) as file:
        about = file.metadata
        nbytes = sum(int(about.row_group(i).total_byte_size) for i in range(about.num_row_groups))
        return BYTES_PER_ID + nbytes // max(1, int(about.num_rows))


def take_column(path: Location, rows: np.ndarray) -> Any:
    """Return the IDs of some rows of a map, as Arrow integers or strings; reads the row groups that have them."""
    with _open(path) as file:
        ends = np.cumsum(row_group_lengths(file), dtype=np.int64)
        if rows.size and not 0 <= rows.min() <= rows.max() < file.metadata.num_rows:
            count = f"{file.metadata.num_rows:,}"
            raise InputFileError("this ID map belongs to another graph", file=str(path), found=f"{count} IDs")
        chunks, places = [pa.array([], file.schema_arrow.field(COLUMN).type)], [np.empty(0, np.int64)]
        groups = np.searchsorted(ends, rows, side="right")
        for group in np.unique(groups).tolist():
            ids = file.read_row_group(group, columns=[COLUMN], use_threads=False).column(0)
            mine, first = np.flatnonzero(groups == group), int(ends[group]) - len(ids)
            chunks.append(ids.combine_chunks().take(pa.array(rows[mine] - first)))
            places.append(mine)
    order = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_arrays(chunks).take(pa.array(order))


@contextmanager
def _open(path: Location) -> Iterator[Any]:
    if not is_file(path):
        hint = "write one by `build --map-ids`"
        raise InputFileNotFoundError("no ID map", file=str(path), hint=hint)
    with open_parquet(to_key(path)) as file:
        format_name = (file.metadata.metadata or {}).get(FORMAT_KEY)
        if format_name != FORMAT:
            raise InputFileError("not an ID map", file=str(path), expected=FORMAT.decode(), found=format_name)
        yield file


def _read_group(group: int, first: int, path: str) -> pd.DataFrame:
    """Read a row group, or nothing (-1); its first ID is that of node `first`."""
    import pandas as pd

    types = {pa.string(): pd.StringDtype("pyarrow"), pa.large_string(): pd.StringDtype("pyarrow")}
    with open_parquet(path) as file:
        table = file.read_row_groups([group] if group >= 0 else [], columns=[COLUMN], use_threads=False)
    frame: pd.DataFrame = table.to_pandas(types_mapper=types.get)
    frame.index = pd.RangeIndex(first, first + len(frame))
    return frame
