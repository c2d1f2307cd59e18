"""Show partitions as lazy dask collections: arrays over regions of files, frames of edges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from upath import UPath

from daskgraphpart.errors import LayoutError
from daskgraphpart.partitioned.stored_rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph_file import GraphFile
    from daskgraphpart.partitioned.original_order import OriginalOrder
    from daskgraphpart.storage.region import Region

    Maps: TypeAlias = tuple[Sequence[StoredRows], Sequence[StoredRows]]

BYTES_PER_CHUNK = 64 << 20
BYTES_PER_REMOTE_CHUNK = 16 << 20
EDGES_PER_PARTITION = 2 << 20


def joined_array(regions: Sequence[Region]) -> da.Array:
    """Dask array over the rows of several regions, one after another, in chunks of at most 64 MiB (remote: 16)."""
    rows = _JoinedRows(regions)
    counts: list[int] = []
    for region in regions:
        chunk_nbytes = BYTES_PER_REMOTE_CHUNK if isinstance(region.path, UPath) else BYTES_PER_CHUNK
        whole, rest = divmod(region.num_rows, max(1, chunk_nbytes // max(1, region.row_nbytes)))
        counts += [max(1, chunk_nbytes // max(1, region.row_nbytes))] * whole + [rest] * bool(rest)
    return da.from_array(rows, chunks=(tuple(counts) or (0,), *rows.shape[1:]), inline_array=True)


class _JoinedRows:
    """Rows of several regions, of which dask takes slices; those of local files are memory maps."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self.stored = StoredRows("rows", regions)
        self.shape, self.dtype, self.ndim = self.stored.shape, self.stored.dtype, len(self.stored.shape)

    def __dask_tokenize__(self) -> list[tuple[str, int, str, tuple[int, ...]]]:
        return [(str(of.path), of.offset, of.dtype.str, of.shape) for of in self.stored.regions]

    def __getitem__(self, where: Any) -> np.ndarray:
        """Index the first axis, and what comes of it the others."""
        first, *rest = where if isinstance(where, tuple) else (where,)
        if not isinstance(first, slice):
            rows: np.ndarray = self.stored[first]
            return rows[(slice(None),) * np.ndim(first) + tuple(rest)]
        return self.stored.view(first)[(slice(None), *rest)]


def in_original_order(rows: Any, order: OriginalOrder) -> da.Array:
    """Dask array of rows in original order, from rows in new order; one chunk per block of original IDs."""
    pieces = []
    for number in range(order.num_blocks):
        start, stop = order.block(number)
        if not hasattr(rows, "dask"):
            piece = dask.delayed(order.gather)(dask.delayed(_Opaque(rows)), number)
        elif order.inverse is not None:
            piece = dask.delayed(order.place)(rows[order.new_ids(number)], number)
        else:
            runs = [rows[low:high] for low, high in order.runs(number)]
            piece = dask.delayed(order.place)(da.concatenate(runs), number)
        pieces.append(da.from_delayed(piece, shape=(stop - start, *rows.shape[1:]), dtype=rows.dtype))
    return _concatenated(pieces, rows)


def in_new_order(rows: Any, order: OriginalOrder) -> da.Array:
    """Dask array of rows in new order, from rows in original order; chunks end where parts end."""
    pieces = []
    # a chunk needs rows from all over the input: as many as fit into a block of it
    rows_per_read = max(1, order.block_rows // max(1, len(order.originals)))
    for region in order.originals:
        for start in range(0, region.num_rows, rows_per_read):
            stop = min(start + rows_per_read, region.num_rows)
            ids = region.read(start, stop)
            if hasattr(rows, "dask"):
                low, high = (int(ids.min()), int(ids.max()) + 1) if order.inverse is None else (0, order.num_rows)
                piece = dask.delayed(_take)(rows[low:high], region, (start, stop), low)
            else:
                piece = dask.delayed(_take)(dask.delayed(_Opaque(rows)), region, (start, stop), 0)
            pieces.append(da.from_delayed(piece, shape=(stop - start, *rows.shape[1:]), dtype=rows.dtype))
    return _concatenated(pieces, rows)


def _concatenated(pieces: Sequence[da.Array], rows: Any) -> da.Array:
    return da.concatenate(pieces) if pieces else da.zeros(rows.shape, dtype=rows.dtype)


class _Opaque:
    """Rows that dask neither copies nor looks into."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __getitem__(self, where: Any) -> np.ndarray:
        taken: np.ndarray = self.rows[where]
        return taken


def _take(rows: Any, region: Region, where: tuple[int, int], low: int) -> np.ndarray:
    taken: np.ndarray = rows[region.read(*where) - low]
    return taken


def part_edge_frame(graph: GraphFile, book: PartitionBook, maps: Maps | None = None) -> Any:
    """Dask DataFrame of all edges of a part; see `Part.edges`."""
    columns = {"src": "int64", "dst": "int64", "eid": "int64", "etype": "int64", "inner": "bool"}
    return _frame(
        [
            partial(_part_edges, graph, book, maps, start, min(start + EDGES_PER_PARTITION, graph.num_edges))
            for start in range(0, graph.num_edges, EDGES_PER_PARTITION)
        ],
        columns,
    )


def typed_edge_frame(
    graphs: Sequence[GraphFile],
    book: PartitionBook,
    etype: str,
    maps: tuple[StoredRows, StoredRows, StoredRows] | None = None,
) -> Any:
    """Dask DataFrame of all edges of a type, in the order of new edge IDs; see `EdgeView.frame`."""
    ranges, reads, before = book.edge_ranges[:, book.etypes.index(etype)], [], 0
    for part_id, graph in enumerate(graphs):
        low, high = (ranges[part_id] - book.edge_ranges[part_id, 0, 0]).tolist()
        eids, before = before - low, before + high - low
        reads += [
            partial(_typed_edges, graph, book, maps, (start, min(start + EDGES_PER_PARTITION, high)), eids)
            for start in range(low, high, EDGES_PER_PARTITION)
        ]
    columns = {"src": "int64", "dst": "int64"}
    return _frame(reads, columns if maps is None else {**columns, "eid": "int64"})


def _frame(reads: Sequence[Any], columns: dict[str, str]) -> Any:
    meta = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns.items()})
    if not reads:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(_call, reads, meta=meta, label="read-partition-edges")


def _call(read: Any) -> pd.DataFrame:
    frame: pd.DataFrame = read()
    return frame


def _part_edges(graph: GraphFile, book: PartitionBook, maps: Maps | None, start: int, stop: int) -> pd.DataFrame:
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
    """Original homogeneous IDs of type-wise new IDs."""
    types, ids = typed
    found, first = np.empty_like(ids), 0
    for type_id, rows in enumerate(of_types):
        mine = types == type_id
        found[mine] = rows[ids[mine]] + first
        first += len(rows)
    return found


def _typed_edges(
    graph: GraphFile,
    book: PartitionBook,
    maps: tuple[StoredRows, StoredRows, StoredRows] | None,
    edges: tuple[int, int],
    shift: int,
) -> pd.DataFrame:
    src, dst = (book.map_to_per_ntype(ids)[1] for ids in _ends(graph, book, *edges))
    if maps is None:
        return pd.DataFrame({"src": src, "dst": dst})
    eids = maps[2][edges[0] + shift : edges[1] + shift]
    return pd.DataFrame({"src": maps[0][src], "dst": maps[1][dst], "eid": eids})


def _ends(graph: GraphFile, book: PartitionBook, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """New homogeneous IDs of the ends of local edges ``[start, stop)``."""
    region = graph.node_arrays["_ID"]
    src, dst = (region.take(ids) for ids in graph.ends(start, stop))
    for ids in (src, dst):
        _check_new_ids(ids, book.node_ranges, region)
    return src, dst


def _check_new_ids(ids: np.ndarray, ranges: np.ndarray, region: Region) -> None:
    """Refuse homogeneous IDs in a part's file that no part owns."""
    total = int(ranges.max(initial=0))
    if ids.size and not 0 <= ids.min() <= ids.max() < total:
        raise LayoutError(
            "an ID that is in no part",
            file=region.path,
            place="_ID",
            expected=f"an ID in [0, {total:,})",
            found=int(ids[(ids < 0) | (ids >= total)][0]),
            hint="copy the part again, or make the partitions again",
        )
