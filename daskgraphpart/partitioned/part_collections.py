"""Partitions as lazy dask collections: arrays of features, frames of edges and nodes, staged rows.

Functions import pandas and dask's collections themselves: that takes half a second, and opening partitions needs none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    import dask.array as da
    import pandas as pd

    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.stored_rows import Maps, Reordered, StoredRows
    from daskgraphpart.storage.region import Region

    EdgeMaps: TypeAlias = tuple[StoredRows, StoredRows, StoredRows]
    """Original IDs of sources, destinations and edges of one type, by new type-wise ID."""
    Columns: TypeAlias = Mapping[str, StoredRows | None]
    """Columns beside IDs: features of one number per row; None for the owner of each row."""

BYTES_PER_CHUNK = 16 << 20
EDGES_PER_PARTITION = 2 << 20


def lazy_rows(rows: Any, *, name: bool | None = None) -> da.Array:
    """Wrap sliceable rows in a dask array with chunks of at most 16 MiB; unnamed rows get a unique name."""
    import dask.array as da

    row_nbytes = max(1, int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.dtype.itemsize)
    chunks = (max(1, BYTES_PER_CHUNK // row_nbytes), *rows.shape[1:])
    # one array and no concatenation: dask then passes slices on to the files
    return da.from_array(rows, chunks=chunks, inline_array=True, name=name)


def reordered_array(rows: Reordered) -> da.Array:
    """Dask array of rows in the other order; dask arrays stay lazy."""
    import dask.array as da

    if hasattr(rows.rows, "dask"):
        places = da.from_array(rows.places, chunks=max(rows.rows.chunks[0])) - rows.shift
        with warnings.catch_warnings():  # dask warns that any chunk may need every other
            warnings.simplefilter("ignore", da.PerformanceWarning)
            return rows.rows[places]
    return da.from_array(rows, chunks=(rows.block_rows, *rows.shape[1:]), name=False)


def part_edge_frame(graph: GraphFile, book: PartitionBook, maps: Maps | None = None) -> Any:
    """Dask DataFrame of all edges of a part; see `Part.edges`."""
    columns = {"src": "int64", "dst": "int64", "eid": "int64", "etype": "int64", "inner": "bool"}
    return _frame(_part_edges, range(0, graph.num_edges, EDGES_PER_PARTITION), columns, graph, book, maps)


def typed_edge_frame(
    graphs: Sequence[GraphFile], book: PartitionBook, etype: str, maps: EdgeMaps | None, columns: Columns
) -> Any:
    """Dask DataFrame of all edges of a type, in the order of new edge IDs; see `EdgeView.frame`."""
    type_id, pieces, new_eid = book.etypes.index(etype), [], 0
    local_ranges = book.edge_ranges[:, type_id] - book.edge_ranges[:, :1, 0]
    for part_id, (graph, (low, high)) in enumerate(zip(graphs, local_ranges.tolist(), strict=True)):
        starts = range(low, high, EDGES_PER_PARTITION)
        pieces += [(graph, part_id, i, min(i + EDGES_PER_PARTITION, high), new_eid + i - low) for i in starts]
        new_eid += high - low
    ends = {"src": "int64", "dst": "int64"} | ({} if maps is None else {"eid": "int64"})
    return _frame(_typed_edges, pieces, {**ends, **_dtypes(columns)}, book, maps, columns)


def typed_node_frame(book: PartitionBook, ntype: str, originals: StoredRows | None, columns: Columns) -> Any:
    """Dask DataFrame of all nodes of a type, in the order of new IDs; see `NodeView.frame`."""
    ranges = [(part_id, *book.part_range(part_id, ntype)) for part_id in range(book.num_parts)]
    pieces = [
        (part_id, i, min(i + EDGES_PER_PARTITION, high))
        for part_id, low, high in ranges
        for i in range(low, high, EDGES_PER_PARTITION)
    ]
    return _frame(_typed_nodes, pieces, {"id": "int64", **_dtypes(columns)}, originals, columns)


def _dtypes(columns: Columns) -> dict[str, str]:
    return {name: "int64" if rows is None else rows.dtype.name for name, rows in columns.items()}


def _read(columns: Columns, part_id: int, start: int, stop: int) -> dict[str, np.ndarray]:
    """Read the columns for rows of one part, by new type-wise ID."""
    return {
        name: np.full(stop - start, part_id) if rows is None else rows[start:stop] for name, rows in columns.items()
    }


def _frame(read: Callable[..., pd.DataFrame], pieces: Sequence[Any], columns: dict[str, str], *shared: Any) -> Any:
    import dask.dataframe as dd
    import pandas as pd

    meta = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns.items()})
    if not pieces:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(read, pieces, args=shared, meta=meta, label=read.__name__.strip("_"))


def _part_edges(start: int, graph: GraphFile, book: PartitionBook, maps: Maps | None) -> pd.DataFrame:
    import pandas as pd

    stop = min(start + EDGES_PER_PARTITION, graph.num_edges)
    src, dst = _ends(graph, book, start, stop)
    region = graph.edge_arrays["_ID"]
    eids = region.read(start, stop)
    _check_new_ids(eids, book.edge_ranges, region)
    types, _ = book.map_to_per_etype(eids)
    inner = graph.edge_arrays["inner_edge"].read(start, stop).astype(bool)
    if maps is not None:
        src, dst = (_original(book.map_to_per_ntype(ids), maps[0]) for ids in (src, dst))
        eids = _original(book.map_to_per_etype(eids), maps[1])
    return pd.DataFrame({"src": src, "dst": dst, "eid": eids, "etype": types, "inner": inner})


def _original(typed: tuple[np.ndarray, np.ndarray], of_types: Sequence[StoredRows]) -> np.ndarray:
    """Map new type-wise IDs to original homogeneous IDs."""
    types, ids = typed
    originals, first = np.empty_like(ids), 0
    for type_id, rows in enumerate(of_types):
        mine = types == type_id
        originals[mine] = rows[ids[mine]] + first
        first += len(rows)
    return originals


def _typed_edges(
    piece: tuple[GraphFile, int, int, int, int], book: PartitionBook, maps: EdgeMaps | None, beside: Columns
) -> pd.DataFrame:
    """Read local edges of one type, starting at a new type-wise edge ID."""
    import pandas as pd

    graph, part_id, start, stop, new_eid = piece
    src, dst = (book.map_to_per_ntype(ids)[1] for ids in _ends(graph, book, start, stop))
    others = _read(beside, part_id, new_eid, new_eid + stop - start)
    if maps is None:
        return pd.DataFrame({"src": src, "dst": dst, **others})
    eids = maps[2][new_eid : new_eid + stop - start]
    return pd.DataFrame({"src": maps[0][src], "dst": maps[1][dst], "eid": eids, **others})


def _typed_nodes(piece: tuple[int, int, int], originals: StoredRows | None, beside: Columns) -> pd.DataFrame:
    """Read the nodes of one type that one part owns."""
    import pandas as pd

    part_id, start, stop = piece
    ids = np.arange(start, stop) if originals is None else originals[start:stop]
    return pd.DataFrame({"id": ids, **_read(beside, part_id, start, stop)})


def _ends(graph: GraphFile, book: PartitionBook, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """New homogeneous IDs of the ends of local edges ``[start, stop)``."""
    region = graph.node_arrays["_ID"]
    src, dst = (region.take(ids) for ids in graph.ends(start, stop))
    for ids in (src, dst):
        _check_new_ids(ids, book.node_ranges, region)
    return src, dst


def _check_new_ids(ids: np.ndarray, ranges: np.ndarray, region: Region) -> None:
    """Refuse IDs in a part's file that belong to no part."""
    total = int(ranges.max(initial=0))
    if ids.size and not 0 <= ids.min() <= ids.max() < total:
        raise LayoutError(
            "an ID belongs to no part",
            file=region.path,
            place="_ID",
            expected=f"an ID in [0, {total:,})",
            found=int(ids[(ids < 0) | (ids >= total)][0]),
            hint="copy the part again, or partition the graph again",
        )
