"""Look up users' own IDs of nodes, and new IDs of their own ones, by original IDs and the recorded ID map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError
from daskgraphpart.ids.id_map import id_batches, read_map_header, take_ids
from daskgraphpart.ids.ranges import as_ids
from daskgraphpart.storage.paths import AnyPath, Location, resolve_path
from daskgraphpart.tools.reorder.row_files import find_id_map, recorded_maps

if TYPE_CHECKING:
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions

ROWS_AT_ONCE = 1 << 20
MOST_SHOWN = 3


def own_ids_of(partitions: StoredPartitions, ntype: str, new_ids: Any, id_map: AnyPath | None = None) -> Any:
    """Return the users' own IDs of nodes, in the shape of their new type-wise IDs; lazily of dask's collections."""
    if hasattr(new_ids, "dask"):
        return _lazily(own_ids_of, partitions, ntype, new_ids, id_map)
    ids = as_ids(new_ids)
    originals: np.ndarray = np.asarray(partitions.nodes[ntype].original_ids[ids])
    return own_of_originals(partitions, ntype, originals, id_map)


def own_of_originals(
    partitions: StoredPartitions, ntype: str, originals: np.ndarray, id_map: AnyPath | None = None
) -> np.ndarray:
    """Return the users' own IDs by original IDs; without a map, these."""
    path = _map_of(partitions, ntype, id_map)
    return originals if path is None else take_ids(path, originals.reshape(-1)).reshape(originals.shape)


def _lazily(
    look_up: Callable[..., np.ndarray], partitions: StoredPartitions, ntype: str, ids: Any, id_map: AnyPath | None
) -> Any:
    """Look up the IDs of a dask array, or of a series of a dask frame."""
    import pandas as pd

    dtype: Any = np.dtype(np.int64)
    if look_up is own_ids_of:
        dtype = own_of_originals(partitions, ntype, np.empty(0, np.int64), id_map).dtype
    if hasattr(ids, "map_blocks"):
        return ids.map_blocks(lambda block: look_up(partitions, ntype, block, id_map), dtype=dtype)

    def of_partition(series: Any) -> Any:
        return pd.Series(look_up(partitions, ntype, series, id_map), series.index, dtype, series.name)

    return ids.map_partitions(of_partition, meta=pd.Series([], dtype=dtype, name=ids.name))


def new_ids_of(partitions: StoredPartitions, ntype: str, own_ids: Any, id_map: AnyPath | None = None) -> Any:
    """Return the new type-wise IDs of nodes, int64, in the shape of the users' own IDs; lazily of collections."""
    if hasattr(own_ids, "dask"):
        return _lazily(new_ids_of, partitions, ntype, own_ids, id_map)
    wanted = np.asarray(own_ids)
    flat = wanted.reshape(-1)
    originals = _originals(partitions, ntype, flat, _map_of(partitions, ntype, id_map))
    if (unknown := np.flatnonzero(originals < 0)).size:
        shown = ", ".join(map(repr, flat[unknown[:MOST_SHOWN]].tolist()))
        what = f"{unknown.size:,} of {flat.size:,} IDs are of no {ntype!r} node"
        raise IdOutOfRangeError(what, found=shown, hint="give your own IDs, as in the tables")
    order, new = np.argsort(originals, kind="stable"), np.empty(flat.size, np.int64)
    places = partitions.nodes[ntype].original_ids
    for start in range(0, len(places), ROWS_AT_ONCE):
        rows = np.asarray(places[start : start + ROWS_AT_ONCE])
        by_original = np.argsort(rows, kind="stable")
        low = np.searchsorted(rows[by_original], originals[order])
        low[low == rows.size] = 0
        there = rows[by_original[low]] == originals[order]
        new[order[there]] = start + by_original[low[there]]
    return new.reshape(wanted.shape)


def _originals(partitions: StoredPartitions, ntype: str, own_ids: np.ndarray, path: Location | None) -> np.ndarray:
    """Return original IDs, int64, -1 for own IDs that no node has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    num_nodes = partitions.num_nodes(ntype)
    originals = np.full(own_ids.size, -1, np.int64)
    if path is None:
        ids = as_ids(own_ids)
        is_node = (ids >= 0) & (ids < num_nodes)
        originals[is_node] = ids[is_node]
        return originals
    batches = id_batches(path, read_map_header(path)[1], ROWS_AT_ONCE)
    kind = next(batches)
    try:
        wanted = pa.array(own_ids.tolist(), kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as fault:
        what = f"the IDs of {ntype!r} nodes are of type {kind}"
        raise IdOutOfRangeError(what, found=own_ids.dtype.name) from fault
    start = 0
    for batch in batches:
        places = pc.index_in(wanted, value_set=batch)
        is_there = places.is_valid().to_numpy(zero_copy_only=False)
        originals[is_there] = start + places.drop_null().to_numpy()
        start += len(batch)
    return originals


def _map_of(partitions: StoredPartitions, ntype: str, given: AnyPath | None) -> Location | None:
    """Return a given map or the recorded one, which is compared with its checksum once per opening."""
    if given is not None:
        return find_id_map(given, ntype, partitions.config, partitions.name, confined=partitions.is_confined)
    return _located(partitions.config, partitions.name, ntype, partitions.is_confined, partitions.state)


@lru_cache(maxsize=256)
def _located(config: Location, name: str, ntype: str, confined: bool, _: Any) -> Location | None:
    return find_id_map(None, ntype, config, name, confined=confined)


def places_of_text(partitions: StoredPartitions, id_map: AnyPath | None) -> Iterator[Location]:
    """Directories that may have the text of codes: the partitions, and the graph that was partitioned."""
    parent = partitions.config.parent
    yield parent
    if id_map is not None:
        given = resolve_path(id_map)
        yield given
        yield given.parent
    elif recorded := recorded_maps(partitions.config, partitions.name, confined=partitions.is_confined):
        yield recorded[0].parent
