"""Bring features into the order of nodes and edges: columns of tables, masks from lists, rows of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.rows import ConstantRows, KeptRows
from daskgraphpart.readers.database import drop_rows, first_twice, run
from daskgraphpart.readers.tables.describe.columns import STRINGS, shown
from daskgraphpart.readers.tables.describe.description import check_row_count
from daskgraphpart.readers.tables.describe.fills import filled_dtype
from daskgraphpart.readers.tables.place.node_ids import ids_table
from daskgraphpart.readers.tables.place.scatter_rows import scatter_rows
from daskgraphpart.readers.tables.place.stage_feature import code_of_missing, stage_feature
from daskgraphpart.readers.tables.place.strangers import refuse_strange_rows
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.readers.tables.describe.description import Table
    from daskgraphpart.readers.tables.place.placement import Placement
    from daskgraphpart.source import Source


def place_table(placement: Placement, table: Table) -> dict[str, Source]:
    """Place a table's features, in its own order or by its node IDs."""
    if table.mask:
        _check_mask(placement, table)
        ones = ConstantRows(np.dtype(bool), (placement.new_ids(table, 0).num_rows,), 1)
        return {table.mask: _scatter(placement, table, table.mask, ones, 0)}
    kept = placement.kept(table) if table.features else None
    features = {name: stage_feature(placement, table, name, kept) for name in table.features}
    if not table.ends:
        return place_rows(placement, table.of_type, features, table.files[0].path)
    return features if len(table.ends) == 2 else _scatter_all(placement, table, features)


def place_rows(placement: Placement, of_type: str, features: Mapping[str, Source], path: str = "") -> dict[str, Source]:
    """Place rows that follow edges, a list of nodes, or node IDs."""
    load, described = placement.load, placement.load.described
    table = described.ordered(of_type)
    expected = placement.num_nodes[of_type] if table is None else load.num_read(table)
    for name, rows in features.items():
        check_row_count(described, of_type, name, [path] if path else rows.paths, rows.shape[0], expected)
    if table is None:
        return dict(features)
    if (kept := placement.kept(table)) is not None:
        features = {name: KeptRows(rows, kept) for name, rows in features.items()}
    return _scatter_all(placement, table, features) if len(table.ends) == 1 else dict(features)


def _check_mask(placement: Placement, table: Table) -> None:
    """Refuse, or drop, a mask's IDs that are no nodes."""
    load, ntype = placement.load, table.of_type
    is_unknown = f"c0 >= {placement.num_nodes[ntype]}"
    if load.described.options.map_ids:
        is_unknown = f"NOT EXISTS (SELECT 1 FROM {ids_table(load, ntype)} i WHERE i.id = {table.name}.c0)"
    ((is_known,),) = run(load.connection, f"SELECT NOT EXISTS (SELECT 1 FROM {table.name} WHERE {is_unknown})")
    if is_known:
        return
    if load.described.options.map_ids:
        refuse_strange_rows(load, table)
    if load.described.options.unknown_nodes == "drop":
        drop_rows(load.connection, table.name, is_unknown)
    ((row,),) = run(load.connection, f"SELECT min(row) FROM {table.name} WHERE {is_unknown}")
    if row is not None:
        file, place, _, shown_value = load.locate(table, row, 0)
        what, hint = f"mask {table.mask!r} lists an unknown {ntype!r} node", "skip it by --unknown-nodes drop"
        raise InputFileError(what, file=file.path, place=place, found=shown_value, hint=hint)


def _check_list(placement: Placement, table: Table) -> None:
    """Refuse a table that has a node twice, if features follow it."""
    value = first_twice(placement.load.connection, table.name, "c0")
    if value is not None:
        what, expected = f"a {table.of_type!r} node is listed twice", "every ID once, since features follow the list"
        raise InputFileError(what, file=table.files[0].path, expected=expected, found=shown(value))


def _scatter_all(placement: Placement, table: Table, features: Mapping[str, Source]) -> dict[str, Source]:
    """Bring rows into node order by a table's IDs; nodes without a row get the fill value."""
    if not features:
        return {}
    load = placement.load
    _check_list(placement, table)
    missing = placement.num_nodes[table.of_type] - load.num_rows(table)
    if missing:
        refuse_strange_rows(load, table)
    _check_rows(placement, table, features, missing)
    fills: dict[str, Any] = {}
    for name in features if missing else ():
        is_text = table.kind_of(name) == STRINGS
        fills[name] = code_of_missing(load, table, name) if is_text else load.described.fill(table, name)
    return {name: _scatter(placement, table, name, rows, fills.get(name, 0)) for name, rows in features.items()}


def _scatter(placement: Placement, table: Table, name: str, rows: Source, fill: Any) -> Region:
    num_nodes = placement.num_nodes[table.of_type]
    if placement.counts_only:
        return Region("", 0, filled_dtype(rows.dtype, str(fill)), (num_nodes, *rows.shape[1:]))
    ids = placement.new_ids(table, 0)
    return scatter_rows(rows, ids, num_nodes, fill, f"{ids.path}-{name}", placement.memory // 16)


def _check_rows(placement: Placement, table: Table, features: Mapping[str, Source], missing: int) -> None:
    """Refuse features that lack rows of some nodes, unless they are filled."""
    described, of_type = placement.load.described, table.of_type
    numbers = [name for name in features if table.kind_of(name) != STRINGS] if missing else []
    lacking = [name for name in numbers if described.fill(table, name) is None]
    if lacking:
        what = f"{of_type!r} nodes without a row: {missing:,} of {placement.num_nodes[of_type]:,}"
        place = f"feature{'s' if lacking[1:] else ''} {', '.join(map(repr, lacking))}"
        fills = " ".join(f"--fill {name}=VALUE" for name in lacking)
        gives = "gives them one" if len(lacking) == 1 else "give them one each"
        other = "Drop unlisted nodes by --unknown-nodes drop"
        if missing * 2 > placement.num_nodes[of_type]:
            other = "If that is not what you expect, check the columns of IDs"
        if described.options.ids_from is not None:
            other = "Nodes of the earlier graph that are gone are among them"
        raise InputFileError(what, file=table.files[0].path, place=place, hint=f"{fills} {gives}. {other}")
