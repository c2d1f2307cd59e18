"""Nodes that edges and features name, and lists of nodes do not: added, dropped with their rows, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.database import count_rows, drop_rows, run
from daskgraphpart.readers.tables.describe.columns import shown
from daskgraphpart.readers.tables.place.node_ids import select_ids

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.description import Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load
    from daskgraphpart.readers.tables.place.placement import Placement

ROWS_AT_ONCE = 1 << 20
IDS_OF_STRANGERS = 100
"""If at most one in so many IDs of an end, or of the list, is in the other, they do not belong together."""


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


def settle_unknown(load: Load, ntype: str) -> Unknown:
    """Count IDs of edges and features that no list of nodes has; refuse them, or drop their rows if requested."""
    is_unknown = f"NOT EXISTS (SELECT 1 FROM ({_listed(load, ntype)}) n WHERE n.id = {{0}}.{{1}})"
    edges, features = load.described.ends_in_edges(ntype), _beside(load, ntype)
    if not edges and not features:
        return Unknown(0)
    # one join for all tables: each would hold the list in memory
    tables = [
        f"SELECT c{i} AS id, {len(table.ends) == 2} AS is_edge FROM {table.name}" for table, i in (*edges, *features)
    ]
    unknown_ends = f"({' UNION ALL '.join(tables)}) e WHERE {is_unknown.format('e', 'id')}"
    counts = "count(DISTINCT id), count(DISTINCT id) FILTER (is_edge), min(id)"
    ((count, of_edges, least),) = run(load.connection, f"SELECT {counts} FROM {unknown_ends}")
    if count and load.described.options.unknown_nodes != "drop":
        refuse_strangers(load, ntype)
    if count and load.described.options.unknown_nodes == "error":
        where = " or ".join([*(["edges"] if edges else []), *(["features"] if features else [])])
        raise InputFileError(
            f"{where} have IDs of {ntype!r} nodes that the list of nodes lacks",
            file=load.described.lists(ntype)[0].files[0].path,
            found=f"{count:,}, such as {shown(least)}",
            hint="add these nodes by --unknown-nodes add, or drop their rows by --unknown-nodes drop",
        )
    if not count or load.described.options.unknown_nodes == "add":
        return Unknown(int(count), int(of_edges))
    dropped = [0, 0]
    for table, i in (*edges, *features):
        before = count_rows(load.connection, table.name)
        drop_rows(load.connection, table.name, is_unknown.format(table.name, f"c{i}"))
        dropped[len(table.ends) == 1] += before - count_rows(load.connection, table.name)
    return Unknown(int(count), int(of_edges), *dropped)


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


def refuse_strangers(load: Load, ntype: str) -> None:
    """Refuse an end of edges hardly any ID of which is in the list of nodes; before rows are dropped."""
    listed = _listed(load, ntype)
    is_listed = f"EXISTS (SELECT 1 FROM ({listed}) n WHERE n.id = e.id)"
    nodes = load.described.lists(ntype)[0]
    for table in load.described.of_edges:
        numbers = [i for i, end in enumerate(table.ends) if end == ntype]
        every = " UNION ".join(f"SELECT DISTINCT c{i} AS id FROM {table.name} WHERE c{i} IS NOT NULL" for i in numbers)
        if not numbers:
            continue
        query = f"SELECT count(*), count(*) FILTER ({is_listed}) FROM ({every}) e"
        ((count, matching),) = run(load.connection, query)
        num_listed = count_rows(load.connection, f"(SELECT DISTINCT id FROM ({listed}))")
        if not count or matching * IDS_OF_STRANGERS > min(count, num_listed):
            continue
        names = " and ".join(repr(table.column(i).name) for i in numbers)
        listed_ids, ids = (_some_ids(load, of) for of in (listed, f"SELECT id FROM ({every}) e WHERE NOT {is_listed}"))
        raise InputFileError(
            f"{matching:,} of {count:,} IDs of {ntype!r} nodes in {table.of_type} are in the list of these nodes",
            file=table.files[0].path,
            place=f"column {names}",
            expected=f"IDs such as {listed_ids}, as in {nodes.files[0].path}, column {nodes.column(0).name!r}",
            found=ids,
            hint=_guess(load, table, numbers[0], listed),
        )


def _some_ids(load: Load, query: str) -> str:
    values = run(load.connection, f"SELECT DISTINCT id FROM ({query}) WHERE id IS NOT NULL ORDER BY id LIMIT 3")
    return ", ".join(shown(value) for (value,) in values) or "none"


def _guess(load: Load, table: Table, i: int, listed: str) -> str:
    """Try what would make the IDs of an end match the list: the other end, blanks, and the case of letters."""
    src, dst = (column.name for column in table.files[0].columns[:2])

    def share(column: str, wrap: str) -> float:
        of_list = f"SELECT {wrap.format('id')} AS id FROM ({listed})"
        query = f"SELECT count(*), count(*) FILTER (id IN ({of_list})) FROM (SELECT DISTINCT {column} AS id"
        ((count, matching),) = run(load.connection, f"{query} FROM {table.name})")
        return float(matching / count) if count else 0.0

    text = f"c{i}::VARCHAR"
    tries = (
        (f"c{1 - i}::VARCHAR", "id::VARCHAR", f"the ends seem to be swapped: --columns {dst},{src}"),
        (f"trim({text}, ' ' || chr(9))", "trim(id::VARCHAR, ' ' || chr(9))", "IDs differ by blanks: remove these"),
        (f"lower({text})", "lower(id::VARCHAR)", "IDs differ by upper and lower case: spell them alike"),
        (f"TRY_CAST({text} AS BIGINT)", "TRY_CAST(id::VARCHAR AS BIGINT)",
         "IDs differ by the spelling of numbers: --id-type integer takes them as numbers"),
    )  # fmt: skip
    for column, wrap, hint in tries if table.ends[0] != table.ends[1] else tries[1:]:
        if share(column, wrap.replace("id::VARCHAR", "{0}::VARCHAR", 1)) * 2 > 1:
            return hint
    return "name the columns of IDs: --edges FILE:SRC,DST and --nodes FILE:COLUMN"


def tell_unknown(placement: Placement, ntype: str, unknown: Unknown) -> None:
    """Report IDs missing from the list of nodes, and listed nodes without edges."""
    load, num_nodes = placement.load, placement.num_nodes[ntype]
    has_edge = np.zeros(num_nodes, bool)
    for table, i in load.described.ends_in_edges(ntype):
        ids = placement.new_ids(table, i)
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
    load.progress.note(f"{ntype!r} nodes: {text}; listed nodes without an edge: {alone:,} of {listed:,}")


def _beside(load: Load, ntype: str) -> list[tuple[Table, int]]:
    """Columns of features with IDs of a node type that has a list, by table and number."""
    lists = load.described.lists(ntype)
    return [(table, 0) for table in load.described.of_nodes(ntype) if table not in lists]


def _listed(load: Load, ntype: str) -> str:
    return select_ids((table, 0) for table in load.described.lists(ntype))
