"""Pass `write-id-map`: row i of `id_map/<ntype>.parquet` is the original ID of node i.

Row groups end after so many IDs or bytes, whatever the buckets were, so that the file is always the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.output import ID_MAP
from daskgraphpart.chunked.write_pieces import parquet_writer
from daskgraphpart.chunking.edge_lists.keys import (
    BYTES_PER_KEY,
    STRINGS,
    Keys,
    StringKeys,
    concatenate_keys,
    slice_keys,
    to_arrow,
)
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.atomic import publish, temporary_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.chunking.edge_lists.keys import KeyFile
    from daskgraphpart.chunking.edge_lists.merge_ids import IdMap

COLUMN = "id"
FORMAT_KEY, FORMAT = b"daskgraphpart", b"id map, version 1"
IDS_PER_GROUP, BYTES_PER_GROUP = 1 << 17, 8 << 20


@dataclass(frozen=True, slots=True)
class MapUnit:
    """The map of one node type."""

    path: str
    buckets: tuple[KeyFile, ...]


def write_id_map_pass(out: str, maps: Mapping[str, IdMap]) -> Pass[MapUnit, None, None]:
    """Make the pass; the files are named after the node types, whose names can be names of files."""
    units = [MapUnit(f"{out}/{ID_MAP}/{ntype}.parquet", id_map.buckets) for ntype, id_map in maps.items()]
    sizes = [sum(bucket.nbytes for bucket in unit.buckets) for unit in units]
    return Pass("write-id-map", write_id_map, units, None, sizes)


def write_id_map(unit: MapUnit, _: None) -> None:
    """Write the map of one node type."""
    import pyarrow as pa

    is_text = any(bucket.kind == STRINGS for bucket in unit.buckets if bucket.num_keys)
    column = pa.string() if is_text else pa.int64()
    schema = pa.schema([(COLUMN, column)], metadata={FORMAT_KEY: FORMAT})
    with parquet_writer(temporary_path(unit.path), schema) as writer:
        for keys in _groups(unit.buckets):
            table = pa.table([to_arrow(keys).cast(column)], schema=schema)
            writer.write_table(table, row_group_size=IDS_PER_GROUP)
    publish(unit.path)


def _groups(buckets: tuple[KeyFile, ...]) -> Iterator[Keys]:
    """Keys of all buckets in groups whose ends depend on nothing but the keys."""
    pending: Any = None
    for bucket in buckets:
        if not bucket.num_keys:
            continue
        keys = bucket.read()
        pending = keys if pending is None or not len(pending) else concatenate_keys([pending, keys])
        start = 0
        for stop in _group_ends(pending):
            yield slice_keys(pending, start, stop)
            start = stop
        pending = slice_keys(pending, start, len(pending))
    if pending is not None and len(pending):
        yield pending


def _group_ends(keys: Keys) -> Iterator[int]:
    """Ends of the groups that more keys would not change."""
    starts = np.arange(len(keys) + 1, dtype=np.int64) * BYTES_PER_KEY
    if isinstance(keys, StringKeys):
        starts += keys.offsets
    start = 0
    while True:
        by_bytes = int(np.searchsorted(starts, starts[start] + BYTES_PER_GROUP, side="right")) - 1
        stop = max(start + 1, min(start + IDS_PER_GROUP, by_bytes))
        if stop >= len(keys):
            return
        yield stop
        start = stop
