"""Reorder rows of a node or edge type: of all parts, with users' own IDs and text beside them, or of one part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.tools.reorder import row_files
from daskgraphpart.tools.reorder.own_ids import own_of_originals, places_of_text
from daskgraphpart.tools.reorder.reorder import reorder

if TYPE_CHECKING:
    from daskgraphpart.partitioned.stored_part import StoredPart
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions
    from daskgraphpart.storage.paths import AnyPath


def reorder_type(
    partitions: StoredPartitions,
    kind: str | tuple[str, str, str],
    rows: Any,
    out: Path | None,
    *,
    id_map: AnyPath | None = None,
    largest: bool = False,
    decode: str | None = None,
    **how: Any,
) -> Any:
    """Bring rows of a type into the other order; `how` are further arguments of `reorder`."""
    view = partitions.nodes[kind] if kind in partitions.ntypes else partitions.edges[kind]  # type: ignore[index]
    is_table, path, categories = out is not None and out.suffix == ".parquet", None, None
    if id_map is not None and not is_table and decode is None:
        what = "only parquet output has a column for original IDs"
        raise OptionError(what, option="id_map", expected="an output that ends in .parquet", found=out)
    if decode is not None and out is not None and not is_table:
        what = "only parquet output has a column for text"
        raise OptionError(what, option="decode", expected="an output that ends in .parquet", found=out)
    if is_table and how["to_original"] and (id_map is not None or kind in partitions.ntypes):
        path = row_files.find_id_map(
            id_map, str(kind), partitions.config, partitions.name, confined=partitions.is_confined
        )
    if decode is not None:
        rows = row_files.codes_of(row_files.open_rows(rows, len(view), view.name), "--decode")
        categories = row_files.find_categories(view.name, view.data, decode, places_of_text(partitions, id_map))
    elif largest:
        rows = row_files.largest_column(row_files.open_rows(rows, len(view), view.name), "--largest")
    return reorder(rows, view.original_ids, out, legend=row_files.Legend(path, categories), **how)


def reorder_part(
    part: StoredPart, kind: str | tuple[str, str, str], rows: Any, id_map: AnyPath | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return own nodes or edges of a part in input order: their IDs, and their rows."""
    name = part.resolve_type(kind)
    ids = part.original_ids[name].compute(scheduler="sync")
    values = np.asarray(row_files.open_rows(rows, len(ids), f"{name} in part {part.part_id}")[:])
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    return own_of_originals(part.whole, name, ids, id_map) if name in part.book.ntypes else ids, values[order]
