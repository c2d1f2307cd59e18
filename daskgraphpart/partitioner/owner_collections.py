"""Show owners as lazy dask collections: arrays, frames with IDs, and edges with owners."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import numpy as np
import pandas as pd

from daskgraphpart.graph.collections import data_array
from daskgraphpart.graph.dask_sources import DaskRows
from daskgraphpart.ids.id_map import id_map_frame
from daskgraphpart.kernels.owner_sort import look_up_owners
from daskgraphpart.schema import DataSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region

ROWS_PER_CHUNK = 8 << 20


def owner_array(region: Region) -> Any:
    """Dask array of the owners in a file."""
    return data_array(DataSpec("owner", region.dtype), region)


def owner_frame(region: Region, id_map: Location | None) -> Any:
    """Dask DataFrame of IDs (the user's own if mapped) and owners."""
    if id_map is not None:
        frame = id_map_frame(id_map)
        meta = frame._meta.assign(owner=region.read(0, 0))
        return frame.map_partitions(_with_owners_of_rows, region, meta=meta).reset_index(drop=True)
    meta = pd.DataFrame({"id": np.empty(0, np.int64), "owner": region.read(0, 0)})
    starts = range(0, region.num_rows, ROWS_PER_CHUNK)
    if not starts:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(partial(_read_rows, region=region), starts, meta=meta, label="read-owners")


def owned_edges(graph: Graph, files: Mapping[str, Region], num_parts: int, etype: str) -> Any:
    """Dask DataFrame of the edges of a type with their owners and scalar features."""
    edge_type, frame = graph.schema.edge_type(etype), graph.edges[etype]
    owners, num_src = files[edge_type.dst], graph.schema.node_type(edge_type.src).num_nodes
    names = [of.name for of in edge_type.data if not of.row_shape and of.name not in frame.columns]
    lengths = _lengths_of(frame, graph.edge_sources[etype]) if names else ()
    arrays = {name: graph.edge_data[etype][name].rechunk((lengths,)) for name in names if name != "owner"}
    meta = {"src": np.int64, "dst": np.int64, "owner": owners.dtype} | {n: of.dtype for n, of in arrays.items()}
    features = [dd.from_dask_array(rows, columns=name) for name, rows in arrays.items()]
    join = partial(join_owners, owners=owners, num_src=num_src, num_parts=num_parts)
    return frame.map_partitions(join, *features, meta=meta, align_dataframes=False)


def _lengths_of(frame: Any, source: Any) -> tuple[int, ...]:
    """Rows of each dask partition of a graph's edges; text is read for it."""
    if isinstance(source, DaskRows):
        return source.lengths or ()
    if frame.known_divisions:
        *starts, last = frame.divisions
        return tuple(np.diff([*starts, last + 1]).tolist())
    return tuple(frame.map_partitions(len).compute().tolist())


def join_owners(
    edges: pd.DataFrame, *features: pd.Series, owners: Region, num_src: int, num_parts: int
) -> pd.DataFrame:
    """Add the owners of edges to a dask partition, as the pass `bucket-edges` finds them, and features."""
    src, dst = edges["src"].to_numpy(), edges["dst"].to_numpy()
    of_edges, counts = np.empty(dst.size, owners.dtype), np.zeros(num_parts, np.int64)
    look_up_owners(src, dst, num_src, owners.memmap(), of_edges, counts)
    return edges.assign(owner=of_edges, **{str(rows.name): rows.to_numpy() for rows in features})


def _with_owners_of_rows(ids: pd.DataFrame, region: Region) -> pd.DataFrame:
    first = int(ids.index[0]) if len(ids) else 0
    return ids.assign(owner=region.read(first, first + len(ids)))


def _read_rows(start: int, region: Region) -> pd.DataFrame:
    owners = region.read(start, min(start + ROWS_PER_CHUNK, region.num_rows))
    return pd.DataFrame({"id": np.arange(start, start + len(owners)), "owner": owners})
