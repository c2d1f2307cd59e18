"""Bring features into the order of nodes and edges: columns of tables, masks from lists, rows of files.

Edge weights that partitioners cannot take are refused here, by file, line and column.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.rows import ArrayRows, ConstantRows, KeptRows
from daskgraphpart.readers.database import drop_rows, first_twice, read, run
from daskgraphpart.readers.tables.describe.columns import BYTES, STRINGS, VECTORS, filled_dtype, shown
from daskgraphpart.readers.tables.describe.description import Table, check_row_count
from daskgraphpart.readers.tables.load.feature_file import staged_rows
from daskgraphpart.readers.tables.place.node_ids import NumberedTables, ids_table
from daskgraphpart.readers.tables.place.stage_feature import code_of_missing, stage_feature
from daskgraphpart.readers.tables.place.unknown_nodes import refuse_strange_rows
from daskgraphpart.schema import EDGE_WEIGHT
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.load.loaded_tables import Load
    from daskgraphpart.source import Source


def place_table(numbered: NumberedTables, table: Table) -> dict[str, Source]:
    """Place a table's features, in its own order or by its node IDs."""
    if table.mask:
        _check_mask(numbered, table)
        ones = ConstantRows(np.dtype(bool), (numbered.new_ids(table, 0).num_rows,), 1)
        return {table.mask: _scatter(numbered, table, table.mask, ones, 0)}
    kept = numbered.kept(table) if table.features else None
    features = {name: stage_feature(numbered, table, name, kept) for name in table.features}
    if not table.ends:
        return place_rows(numbered, table.of_type, features, table.files[0].path)
    return features if len(table.ends) == 2 else _scatter_all(numbered, table, features)


def place_rows(
    numbered: NumberedTables, of_type: str, features: Mapping[str, Source], path: str = ""
) -> dict[str, Source]:
    """Place rows that follow edges, a list of nodes, or node IDs."""
    load, described = numbered.load, numbered.load.described
    table = described.ordered(of_type)
    expected = numbered.num_nodes[of_type] if table is None else load.num_read(table)
    for name, rows in features.items():
        check_row_count(described, of_type, name, [path] if path else rows.paths, rows.shape[0], expected)
    if table is None:
        return dict(features)
    if (kept := numbered.kept(table)) is not None:
        features = {name: KeptRows(rows, kept) for name, rows in features.items()}
    return _scatter_all(numbered, table, features) if len(table.ends) == 1 else dict(features)


def _check_mask(numbered: NumberedTables, table: Table) -> None:
    """Refuse flags in place of a mask's IDs; refuse, or drop, IDs that are no nodes."""
    load, ntype = numbered.load, table.of_type
    flags = f"SELECT count(*) > 2 AND min(c0) >= 0 AND max(c0) <= 1 FROM {table.name}"
    if load.kinds[ntype][0] != STRINGS and run(load.connection, flags)[0][0]:
        what = f"mask {table.mask!r} lists nothing but 0 and 1"
        hint = f"give flags by --node-data {ntype}/{table.mask}=FILE"
        raise InputFileError(what, file=table.files[0].path, expected="every ID once", hint=hint)
    is_unknown = f"c0 >= {numbered.num_nodes[ntype]}"
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


def _check_list(numbered: NumberedTables, table: Table) -> None:
    """Refuse a table that has a node twice, if features follow it."""
    value = first_twice(numbered.load.connection, table.name, "c0")
    if value is not None:
        what, expected = f"a {table.of_type!r} node is listed twice", "every ID once, since features follow the list"
        raise InputFileError(what, file=table.files[0].path, expected=expected, found=shown(value))


def _scatter_all(numbered: NumberedTables, table: Table, features: Mapping[str, Source]) -> dict[str, Source]:
    """Bring rows into node order by a table's IDs; nodes without a row get the fill value."""
    if not features:
        return {}
    load = numbered.load
    _check_list(numbered, table)
    missing = numbered.num_nodes[table.of_type] - load.num_rows(table)
    if missing:
        refuse_strange_rows(load, table)
    _check_rows(numbered, table, features, missing)
    fills: dict[str, Any] = {}
    for name in features if missing else ():
        is_text = table.kind_of(name) == STRINGS
        fills[name] = code_of_missing(load, table, name) if is_text else load.described.fill(table, name)
    return {name: _scatter(numbered, table, name, rows, fills.get(name, 0)) for name, rows in features.items()}


def _scatter(numbered: NumberedTables, table: Table, name: str, rows: Source, fill: Any) -> Region:
    num_nodes = numbered.num_nodes[table.of_type]
    if numbered.counts_only:
        return Region("", 0, filled_dtype(rows.dtype, str(fill)), (num_nodes, *rows.shape[1:]))
    ids = numbered.new_ids(table, 0)
    placed = scatter_rows(rows, ids, num_nodes, fill, f"{ids.path}-{name}", numbered.memory // 16)
    numbered.remove_staged(table, name)
    return placed


def _check_rows(numbered: NumberedTables, table: Table, features: Mapping[str, Source], missing: int) -> None:
    """Refuse features that lack rows of some nodes, unless they are filled."""
    described, of_type = numbered.load.described, table.of_type
    numbers = [name for name in features if table.kind_of(name) != STRINGS] if missing else []
    lacking = [name for name in numbers if described.fill(table, name) is None]
    if lacking:
        what = f"{of_type!r} nodes without a row: {missing:,} of {numbered.num_nodes[of_type]:,}"
        place = f"feature{'s' if lacking[1:] else ''} {', '.join(map(repr, lacking))}"
        fills = " ".join(f"--fill {name}=VALUE" for name in lacking)
        gives = "gives them one" if len(lacking) == 1 else "give them one each"
        other = "Drop unlisted nodes by --unknown-nodes drop"
        if missing * 2 > numbered.num_nodes[of_type]:
            other = "If that is not what you expect, check the columns of IDs"
        if described.options.ids_from is not None:
            other = "Nodes of the earlier graph that are gone are among them"
        raise InputFileError(what, file=table.files[0].path, place=place, hint=f"{fills} {gives}. {other}")


def find_bad_weights(load: Load, weights: Sequence[str]) -> Iterator[InputFileError]:
    """Yield an error for each weight, ``ETYPE/FEATURE``, with bad values.

    Weights of types that are yet to be split or to lose edges are left to the pass that weighs edges.
    """
    if load.described.changes.read_edges:
        return
    etypes = load.described.etypes
    for where in weights:
        etype, _, feature = where.rpartition("/")
        etype = etypes[0] if not etype and len(etypes) == 1 else etype
        for table in load.described.tables:
            if table.of_type == etype and feature in table.features and not _lost_rows(load, table):
                yield from _faults(load, table, feature)


def _lost_rows(load: Load, table: Table) -> bool:
    """Whether a table follows edges of which some were dropped."""
    edges = load.described.ordered(table.of_type)
    return edges is not None and edges is not table and load.num_rows(edges) != load.num_read(edges)


def _faults(load: Load, table: Table, feature: str) -> Iterator[InputFileError]:
    number, *others = table.features[feature]
    if others or table.kind(number) in (STRINGS, BYTES, VECTORS):
        return  # no weight at all
    weights, row, count = staged_rows(table, feature, load.staged[table.name, feature]), 0, 0
    for batch in read(load.connection, f"SELECT row FROM {table.name} ORDER BY row"):
        rows = batch.column(0).to_numpy()
        values = KeptRows(weights, ArrayRows(rows)).read(0, len(rows))
        is_bad = ~((values > 0) & np.isfinite(values))
        row = row if count else int(rows[is_bad.argmax()])
        count += int(np.count_nonzero(is_bad))
    if count:
        file, place, text, shown_weight = load.locate(table, row, number)
        shown_weight += f", filled with {load.described.fill(table, feature)}" if text is None else ""
        shown_weight += f", and {count - 1:,} more of {load.num_read(table):,} rows" if count > 1 else ""
        what = f"invalid edge weight: {table.of_type}/{feature}"
        yield InputFileError(what, file=file.path, place=place, expected=EDGE_WEIGHT, found=shown_weight)


def scatter_rows(rows: Source, new_ids: Region, num_rows: int, fill: Any, path: str, max_bytes: int) -> Region:
    """Bring rows to their new IDs, in a file: sort blocks, then read a range of IDs from each; others get `fill`.

    A single block needs no sorting. Holds about four times `max_bytes`.
    """
    dtype = filled_dtype(rows.dtype, str(fill))
    placed = create_npy(f"{path}.npy", dtype, (num_rows, *rows.shape[1:]))
    step = max(1, max_bytes // (8 + placed.row_nbytes))
    if max(rows.shape[0], num_rows) <= step:
        whole = np.full(placed.shape, fill, dtype)
        whole[new_ids.read()] = rows.read(0, rows.shape[0])
        placed.write(whole, 0)
        return placed
    sorted_rows = create_npy(f"{path}-rows.npy", dtype, rows.shape)
    sorted_ids = create_npy(f"{path}-ids.npy", np.int64, rows.shape[:1])
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        ids = new_ids.read(start, stop)
        order = np.argsort(ids, kind="stable")
        sorted_ids.write(ids[order], start)
        sorted_rows.write(rows.read(start, stop)[order], start)
    ids, begins = sorted_ids.memmap(), list(range(0, rows.shape[0], step))  # of what is left of each block
    for first in range(0, num_rows, step):
        last = min(first + step, num_rows)
        block = np.full((last - first, *rows.shape[1:]), fill, dtype)
        for number, start in enumerate(begins):
            stop = start + int(np.searchsorted(ids[start : (number + 1) * step], last))
            block[ids[start:stop] - first] = sorted_rows.read(start, stop)
            begins[number] = stop
        placed.write(block, first)
    for used in (sorted_rows, sorted_ids):
        os.unlink(used.path)
    return placed
