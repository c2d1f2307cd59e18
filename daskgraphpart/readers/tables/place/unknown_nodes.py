"""Nodes that edges and features name, and lists of nodes do not: added, dropped with their rows, or refused.

So is a column of IDs hardly any of which are those of other tables, with a guess what was meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.compare_ids import (
    IDS_OF_STRANGERS,
    are_strangers,
    count_matches,
    do_most_match,
    guess_column,
    guess_spelling,
    match_without_blanks,
    not_listed,
    some_ids,
)
from daskgraphpart.readers.database import count_rows, drop_rows, run
from daskgraphpart.readers.tables.describe.columns import STRINGS
from daskgraphpart.readers.tables.place.node_ids import NumberedTables, select_ids
from daskgraphpart.schema import plain_name
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.description import OpenFile, Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load

ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Unknown:
    """IDs that no list of nodes has, those of edges among them, and the rows dropped for them: edges, and features."""

    num_ids: int
    num_of_edges: int = 0
    num_edges: int = 0
    num_rows: int = 0

    def __str__(self) -> str:
        dropped = [f"{self.num_edges:,} edges"] if self.num_edges else []
        dropped += [f"{self.num_rows:,} rows of features"] if self.num_rows else []
        return f"{' and '.join(dropped)} were dropped" if dropped else "these nodes were added"


def resolve_unknown(load: Load, ntype: str) -> Unknown:
    """Count IDs of edges and features that no list of nodes has; refuse them, or drop their rows if requested."""
    is_unknown = f"NOT EXISTS (SELECT 1 FROM ({_listed(load, ntype)}) n WHERE n.id = {{0}}.{{1}})"
    edges, features = load.described.ends_in_edges(ntype), _feature_columns(load, ntype)
    if not edges and not features:
        return Unknown(0)
    # one join for all tables: each would hold the list in memory
    tables = [
        f"SELECT c{i} AS id, {len(table.ends) == 2} AS is_edge FROM {table.name}" for table, i in (*edges, *features)
    ]
    unknown_ends = f"({' UNION ALL '.join(tables)}) e WHERE {is_unknown.format('e', 'id')}"
    counts = "count(DISTINCT id), count(DISTINCT id) FILTER (is_edge)"
    ((count, of_edges),) = run(load.connection, f"SELECT {counts} FROM {unknown_ends}")
    if count and load.described.options.unknown_nodes != "drop":
        refuse_strangers(load, ntype)
    alike = _warn_of_blanks(load, ntype, " UNION ALL ".join(tables)) if count else ""
    if count and load.described.options.unknown_nodes == "error":
        file, place, shown_value = _first_unknown(load, (*edges, *features), is_unknown)
        raise InputFileError(
            f"the list of {ntype!r} nodes lacks {format_number(count, 'ID')}",
            file=file.path,
            place=place,
            expected=f"an ID in {load.described.lists(ntype)[0].files[0].path}",
            found=shown_value,
            hint=f"{alike}add these nodes by --unknown-nodes add, or drop their rows by --unknown-nodes drop",
        )
    if not count or load.described.options.unknown_nodes == "add":
        return Unknown(int(count), int(of_edges))
    dropped = [0, 0]
    for table, i in (*edges, *features):
        before = count_rows(load.connection, table.name)
        drop_rows(load.connection, table.name, is_unknown.format(table.name, f"c{i}"))
        dropped[len(table.ends) == 1] += before - count_rows(load.connection, table.name)
    return Unknown(int(count), int(of_edges), *dropped)


def _first_unknown(load: Load, columns: Sequence[tuple[Table, int]], is_unknown: str) -> tuple[OpenFile, str, str]:
    """Return the file of the first unknown ID, its place there, and how to show it."""
    for table, i in columns:
        condition = is_unknown.format(table.name, f"c{i}")
        ((row,),) = run(load.connection, f"SELECT min(row) FROM {table.name} WHERE {condition}")
        if row is not None:
            file, place, _, shown_value = load.locate(table, row, i)
            return file, place, shown_value
    raise AssertionError("all IDs are known")


def _warn_of_blanks(load: Load, ntype: str, tables: str) -> str:
    """Report how many unknown IDs are those of listed nodes, but for blanks around them."""
    num_alike = 0
    if load.kinds[ntype][0] == STRINGS:
        num_alike = match_without_blanks(load.connection, f"SELECT id FROM ({tables})", _listed(load, ntype))
    if not num_alike:
        return ""
    text = f"{num_alike:,} of these IDs are in the list without blanks around them: remove these"
    load.progress.note(f"{ntype!r} nodes: IDs that are not in the list: {text}")
    return f"{text}. Or "


def refuse_lost_edges(load: Load) -> None:
    """Refuse tables that lost all of their edges with unknown nodes."""
    for table in load.described.of_edges if load.described.options.unknown_nodes == "drop" else ():
        if table.name in load.plain or load.num_rows(table) or not load.num_read(table):
            continue
        raise InputFileError(
            f"--unknown-nodes drop leaves none of the {load.num_read(table):,} edges of {table.of_type}",
            file=table.files[0].path,
            hint="check the columns of the ends and of the lists of nodes, or leave this edge type out",
        )


def warn_unknown_ids(numbered: NumberedTables, ntype: str, unknown: Unknown) -> None:
    """Report IDs missing from the list of nodes, and listed nodes without edges."""
    load, num_nodes = numbered.load, numbered.num_nodes[ntype]
    has_edge = np.zeros(num_nodes, bool)
    for table, i in load.described.ends_in_edges(ntype):
        ids = numbered.new_ids(table, i)
        for start in range(0, ids.num_rows, ROWS_AT_ONCE):
            has_edge[ids.read(start, min(start + ROWS_AT_ONCE, ids.num_rows))] = True
    is_added = load.described.options.unknown_nodes == "add"
    added = unknown.num_ids if is_added else 0
    has_edge_added = unknown.num_of_edges if is_added else 0
    listed = num_nodes - added
    if not load.described.options.map_ids or ntype in load.described.old_ids:
        ((listed,),) = run(load.connection, f"SELECT count(DISTINCT id) FROM ({_listed(load, ntype)})")
    alone = listed - (int(np.count_nonzero(has_edge)) - has_edge_added)
    text = f"IDs that are not in the list: {unknown.num_ids:,}" + (f" ({unknown})" if unknown.num_ids else "")
    text += f"; listed nodes without an edge: {alone:,} of {listed:,}" if load.described.of_edges else ""
    load.progress.note(f"{ntype!r} nodes: {text}")


def _feature_columns(load: Load, ntype: str) -> list[tuple[Table, int]]:
    """Columns of features with IDs of a node type that has a list, by table and number."""
    lists = load.described.lists(ntype)
    return [(table, 0) for table in load.described.of_nodes(ntype) if table not in lists]


def _listed(load: Load, ntype: str) -> str:
    return select_ids((table, 0) for table in load.described.lists(ntype))


def refuse_strangers(load: Load, ntype: str) -> None:
    """Refuse an end of edges, or features, hardly any ID of which is in the list of nodes; before rows are dropped."""
    lists = load.described.lists(ntype)
    for table in load.described.of_edges:
        numbers = [i for i, end in enumerate(table.ends) if end == ntype]
        for i in numbers:
            # of two ends of one type, a small one may be new nodes as a whole
            at_least = IDS_OF_STRANGERS if numbers[1:] else 1
            _compare(load, table, [i], lists, at_least)
        if numbers[1:]:
            _compare(load, table, numbers, lists)
    for table in load.described.of_nodes(ntype):
        if table not in lists:
            _compare(load, table, [0], lists)


def refuse_strange_rows(load: Load, table: Table) -> None:
    """Refuse features, or a mask, hardly any ID of which is in edges or the list of nodes."""
    described, ntype = load.described, table.of_type
    others = [other for other in described.of_nodes(ntype) if other is not table and (other.is_list or table.mask)]
    columns = [*described.ends_in_edges(ntype), *((other, 0) for other in others)]
    if columns and not table.is_list and described.options.ids_from is None:  # nodes that are gone may have rows
        _compare(load, table, [0], [other for other, _ in columns], columns=columns)


def _compare(
    load: Load, table: Table, numbers: list[int], others: list[Table], at_least: int = 1,
    columns: list[tuple[Table, int]] | None = None,
) -> None:  # fmt: skip
    connection, ntype = load.connection, table.ends[numbers[0]]
    columns = columns or [(other, 0) for other in others]
    ids, listed = select_ids((table, i) for i in numbers), select_ids(columns)
    count, matching = count_matches(connection, ids, listed)
    if count < at_least or not are_strangers(connection, count, matching, listed):
        return
    other, number = columns[0]
    is_list = len(other.ends) == 1
    where = "in the list of these nodes" if is_list else "in other tables"
    of_table = table.of_type if len(table.ends) == 2 else f"mask {table.mask!r}" if table.mask else "features"
    names = " and ".join(repr(table.column(i).name) for i in numbers)
    raise InputFileError(
        f"{matching:,} of {count:,} IDs of {ntype!r} nodes in {of_table} are {where}",
        file=table.files[0].path,
        place=f"column {names}",
        expected=f"IDs such as {some_ids(connection, listed)}, as in {other.files[0].path}, column "
        f"{other.column(number).name!r}",
        found=some_ids(connection, not_listed(ids, listed)),
        hint=_guess(load, table, numbers, other, listed),
    )


def _guess(load: Load, table: Table, numbers: list[int], other: Table, listed: str) -> str:
    """Try what would make the IDs match: the other end, blanks, case, another column of either table."""
    connection, ids, i = load.connection, select_ids((table, i) for i in numbers), numbers[0]
    names = [plain_name(column.name) for column in table.files[0].columns[: len(table.ends)]]
    is_one = len(load.described.etypes) == 1
    if len(names) == 2 and table.ends[0] != table.ends[1]:
        far = f"SELECT c{1 - i}::VARCHAR AS id FROM {table.name}"
        if do_most_match(connection, far, f"SELECT id::VARCHAR AS id FROM ({listed})"):
            words = f"--endpoints {names[1]},{names[0]}" if is_one else f"--edges FILE:{names[1]},{names[0]}"
            return f"the ends seem to be swapped: {words}"
    if hint := guess_spelling(connection, ids, listed):
        return hint
    file, path = table.files[0], Path(table.files[0].path).name
    if name := guess_column(connection, file.other_columns(), listed):
        names[i if len(names) == 2 else 0] = plain_name(name)
        columns = ",".join(names)
        words = f"--endpoints {columns}" if len(names) == 2 and is_one else f"{path}:{columns}"
        return f"column {plain_name(name)!r} of this table seems to hold them: {words}"
    name = guess_column(connection, other.files[0].other_columns(), ids) if len(other.ends) == 1 else None
    if name:
        path = Path(other.files[0].path).name
        return f"column {plain_name(name)!r} of {path} seems to hold these IDs: {path}:{plain_name(name)}"
    return "name the columns of IDs: --edges FILE:SRC,DST and --nodes FILE:COLUMN"
