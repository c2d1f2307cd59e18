"""Lazy dask views of partitions: arrays over memory-mapped regions, frames of edges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.partitioned.graph import Part
    from daskgraphpart.storage.region import Region

BYTES_PER_CHUNK = 64 << 20
EDGES_PER_PARTITION = 2 << 20


def joined_array(regions: Sequence[Region]) -> da.Array:
    """Dask array over the rows of several regions, one after another, in chunks of at most 64 MiB."""
    pieces = []
    for region in regions:
        at_once = max(1, BYTES_PER_CHUNK // max(1, region.row_nbytes))
        for start in range(0, region.num_rows, at_once):
            stop = min(start + at_once, region.num_rows)
            # the rows stay a memory map: taking a few of them reads no others
            read = dask.delayed(_map_rows, pure=True)(region, start, stop)
            pieces.append(da.from_delayed(read, shape=(stop - start, *region.shape[1:]), dtype=region.dtype))
    if not pieces:
        return da.zeros((0, *regions[0].shape[1:]), dtype=regions[0].dtype)
    return da.concatenate(pieces, axis=0)


def _map_rows(region: Region, start: int, stop: int) -> np.ndarray:
    rows: np.ndarray = region.memmap()[start:stop]
    return rows


def part_edge_frame(part: Part) -> Any:
    """Dask DataFrame of all edges of a part; see `Part.edges`."""
    columns = {"src": "int64", "dst": "int64", "eid": "int64", "etype": "int64", "inner": "bool"}
    return _frame(
        [
            partial(_part_edges, part, start, min(start + EDGES_PER_PARTITION, part.graph.num_edges))
            for start in range(0, part.graph.num_edges, EDGES_PER_PARTITION)
        ],
        columns,
    )


def typed_edge_frame(parts: Sequence[Part], book: PartitionBook, etype: str) -> Any:
    """Dask DataFrame of all edges of a type, `src` and `dst` as new type-wise IDs, in the order of new edge IDs."""
    type_id = book.etypes.index(etype)
    reads = []
    for part in parts:
        first_eid = int(book.edge_ranges[part.part_id, 0, 0])
        low, high = (int(end) - first_eid for end in book.edge_ranges[part.part_id, type_id])
        for start in range(low, high, EDGES_PER_PARTITION):
            reads.append(partial(_typed_edges, part, start, min(start + EDGES_PER_PARTITION, high)))
    return _frame(reads, {"src": "int64", "dst": "int64"})


def _frame(reads: Sequence[Any], columns: dict[str, str]) -> Any:
    meta = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns.items()})
    if not reads:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(_call, reads, meta=meta, label="read-partition-edges")


def _call(read: Any) -> pd.DataFrame:
    frame: pd.DataFrame = read()
    return frame


def _part_edges(part: Part, start: int, stop: int) -> pd.DataFrame:
    src, dst = _ends(part, start, stop)
    eids = part.graph.edge_arrays["_ID"].read(start, stop)
    types, _ = part.book.map_to_per_etype(eids)
    inner = part.graph.edge_arrays["inner_edge"].read(start, stop).astype(bool)
    return pd.DataFrame({"src": src, "dst": dst, "eid": eids, "etype": types, "inner": inner})


def _typed_edges(part: Part, start: int, stop: int) -> pd.DataFrame:
    src, dst = (part.book.map_to_per_ntype(ids)[1] for ids in _ends(part, start, stop))
    return pd.DataFrame({"src": src, "dst": dst})


def _ends(part: Part, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """New homogeneous IDs of the ends of local edges ``[start, stop)``."""
    new_nids = part.graph.node_arrays["_ID"].memmap()
    src, dst = (new_nids[ids] for ids in _local_ends(part, start, stop))
    return src, dst


def _local_ends(part: Part, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    formats = part.graph.formats
    if "coo" in formats:
        return formats["coo"]["row"].read(start, stop), formats["coo"]["col"].read(start, stop)
    name = "csc" if "csc" in formats else "csr"
    if name not in formats:
        raise LayoutError("graph without edges in any format", file=str(part.graph_path))
    matrix = formats[name]
    # edge IDs are scattered over the matrix, so all of it is looked through
    eids = matrix["data"].memmap() if matrix["data"].num_rows else np.arange(matrix["indices"].num_rows)
    places = np.flatnonzero((eids >= start) & (eids < stop))
    places = places[np.argsort(eids[places])]
    rows = np.searchsorted(matrix["indptr"].memmap(), places, side="right") - 1
    columns = matrix["indices"].memmap()[places]
    return (columns, rows) if name == "csc" else (rows, columns)
