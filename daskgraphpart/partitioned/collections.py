"""Lazy dask views of partitions: arrays over memory-mapped regions, frames of edges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dgl_layout.graph_file import GraphFile
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


def part_edge_frame(graph: GraphFile, book: PartitionBook) -> Any:
    """Dask DataFrame of all edges of a part; see `Part.edges`."""
    columns = {"src": "int64", "dst": "int64", "eid": "int64", "etype": "int64", "inner": "bool"}
    return _frame(
        [
            partial(_part_edges, graph, book, start, min(start + EDGES_PER_PARTITION, graph.num_edges))
            for start in range(0, graph.num_edges, EDGES_PER_PARTITION)
        ],
        columns,
    )


def typed_edge_frame(graphs: Sequence[GraphFile], book: PartitionBook, etype: str) -> Any:
    """Dask DataFrame of all edges of a type, `src` and `dst` as new type-wise IDs, in the order of new edge IDs."""
    type_id = book.etypes.index(etype)
    reads = []
    for part_id, graph in enumerate(graphs):
        low, high = (book.edge_ranges[part_id, type_id] - book.edge_ranges[part_id, 0, 0]).tolist()
        reads += [
            partial(_typed_edges, graph, book, start, min(start + EDGES_PER_PARTITION, high))
            for start in range(low, high, EDGES_PER_PARTITION)
        ]
    return _frame(reads, {"src": "int64", "dst": "int64"})


def _frame(reads: Sequence[Any], columns: dict[str, str]) -> Any:
    meta = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns.items()})
    if not reads:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(_call, reads, meta=meta, label="read-partition-edges")


def _call(read: Any) -> pd.DataFrame:
    frame: pd.DataFrame = read()
    return frame


def _part_edges(graph: GraphFile, book: PartitionBook, start: int, stop: int) -> pd.DataFrame:
    src, dst = _ends(graph, start, stop)
    eids = graph.edge_arrays["_ID"].read(start, stop)
    types, _ = book.map_to_per_etype(eids)
    inner = graph.edge_arrays["inner_edge"].read(start, stop).astype(bool)
    return pd.DataFrame({"src": src, "dst": dst, "eid": eids, "etype": types, "inner": inner})


def _typed_edges(graph: GraphFile, book: PartitionBook, start: int, stop: int) -> pd.DataFrame:
    src, dst = (book.map_to_per_ntype(ids)[1] for ids in _ends(graph, start, stop))
    return pd.DataFrame({"src": src, "dst": dst})


def _ends(graph: GraphFile, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """New homogeneous IDs of the ends of local edges ``[start, stop)``."""
    new_nids = graph.node_arrays["_ID"].memmap()
    src, dst = (new_nids[ids] for ids in _local_ends(graph, start, stop))
    return src, dst


def _local_ends(graph: GraphFile, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    if "coo" in graph.formats:
        return graph.formats["coo"]["row"].read(start, stop), graph.formats["coo"]["col"].read(start, stop)
    name = "csc" if "csc" in graph.formats else "csr"
    matrix = graph.formats[name]
    # edge IDs are scattered over the matrix, so all of it is looked through; without any they are the places
    eids = matrix["data"].memmap() if matrix["data"].num_rows else np.arange(matrix["indices"].num_rows)
    places = np.flatnonzero((eids >= start) & (eids < stop))
    places = places[np.argsort(eids[places])]
    rows = np.searchsorted(matrix["indptr"].memmap(), places, side="right") - 1
    columns = matrix["indices"].memmap()[places]
    return (columns, rows) if name == "csc" else (rows, columns)
