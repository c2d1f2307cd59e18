"""Find the ends of edges among the nodes: those of unknown nodes are refused, or dropped with their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.rows import EdgeEnds
from daskgraphpart.readers.compare_ids import (
    are_strangers,
    count_matches,
    do_most_match,
    guess_column,
    guess_spelling,
    match_without_blanks,
    not_listed,
    some_ids,
)
from daskgraphpart.readers.construction.tables import columns_of, id_place, located, name, scan
from daskgraphpart.readers.database import ROWS_PER_BATCH, count_rows, drop_rows, run, stage_rows
from daskgraphpart.readers.table_index import ENDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.readers.construction.tables import Ids, Table
    from daskgraphpart.source import Source
    from daskgraphpart.storage.region import Region


def find_ends(
    ids: Ids, table: Table, nodes: Mapping[str, Table], progress: ProgressListener, *, drop_unknown: bool
) -> tuple[Source, Region | None]:
    """Write the ends of edges; and the numbers of the rows that have both, if some were dropped.

    `nodes` are the tables that list nodes, by type.
    """
    connection, of_edges = ids.connection, ids.table(table.entry.of_type)
    num_rows, int64 = count_rows(connection, of_edges), np.dtype(np.int64)
    ends = list(zip(ENDS, table.entry.ends, strict=True))
    for i, (column, end) in enumerate(ends):
        is_unknown = f"NOT EXISTS (SELECT 1 FROM {ids.table(end)} i WHERE i.id = {of_edges}.{column})"
        query = f"SELECT row, {column} FROM {of_edges} WHERE {is_unknown} ORDER BY 1 LIMIT 1"
        for row, value in run(connection, query):
            _refuse_strangers(ids, table, nodes[end], i)
            listed = f"SELECT id FROM {ids.table(end)}"
            alike = match_without_blanks(connection, f"SELECT {column}::VARCHAR AS id FROM {of_edges}", listed)
            blanks = f"{alike:,} of these IDs are known without blanks around them: remove these" if alike else ""
            if drop_unknown and blanks:
                progress.note(f"{table.entry.of_type}: IDs of {end!r} nodes that have no row: {blanks}")
            if not drop_unknown:
                what, hint = f"an edge of an unknown {end!r} node", "--unknown-nodes drop leaves such edges out"
                where = located(ids, table, row, id_place(table.entry, i))
                hint = f"{blanks}. Or {hint}" if blanks else hint
                raise InputFileError(what, **where, found=repr(value), hint=hint)
        if drop_unknown:
            drop_rows(connection, of_edges, is_unknown)
        if num_rows and not count_rows(connection, of_edges):
            what = f"--unknown-nodes drop leaves none of the {num_rows:,} edges of {table.entry.of_type}"
            hint = f"check {id_place(table.entry, i)} and the IDs of {end!r} nodes"
            raise InputFileError(what, file=table.files[0], place=id_place(table.entry, i), hint=hint)
    numbers = [
        stage_rows(
            connection,
            f"SELECT i.new_id FROM {of_edges} t JOIN {ids.table(end)} i ON t.{column} = i.id ORDER BY t.row",
            str(ids.directory / f"{of_edges}-{column}"),
            int64,
        )
        for column, end in ends
    ]
    if numbers[0].num_rows == num_rows:
        return EdgeEnds(*numbers), None
    dropped = num_rows - numbers[0].num_rows
    progress.note(f"{table.entry.of_type}: {dropped:,} of {num_rows:,} edges, of unknown nodes, were dropped")
    kept = f"SELECT row FROM {of_edges} ORDER BY row"
    return EdgeEnds(*numbers), stage_rows(connection, kept, str(ids.directory / f"{of_edges}-rows"), int64)


def _refuse_strangers(ids: Ids, table: Table, nodes: Table, number: int) -> None:
    """Refuse an end hardly any ID of which is that of a node; guess what was meant."""
    connection, end, of_edges = ids.connection, table.entry.ends[number], ids.table(table.entry.of_type)
    query, listed = f"SELECT {ENDS[number]} AS id FROM {of_edges}", f"SELECT id FROM {ids.table(end)}"
    count, matching = count_matches(connection, query, listed)
    if not are_strangers(connection, count, matching, listed):
        return
    source, dest = (id_place(table.entry, i) for i in range(2))
    is_swapped = table.entry.ends[0] != table.entry.ends[1] and do_most_match(
        connection,
        f"SELECT {ENDS[1 - number]}::VARCHAR AS id FROM {of_edges}",
        f"SELECT id::VARCHAR AS id FROM ({listed})",
    )
    hint = f"the ends seem to be swapped: exchange {source} and {dest}" if is_swapped else None
    hint = hint or guess_spelling(connection, query, listed)
    tries = () if hint else ((table, listed, (source, dest)[number]), (nodes, query, id_place(nodes.entry, 0)))
    for tried, others, place in tries:
        if hint is None and (column := guess_column(connection, _columns(ids, tried), others)):
            hint = f"column {column!r} of {tried.files[0]} seems to hold them: name it as {place}"
    raise InputFileError(
        f"{matching:,} of {count:,} IDs of {end!r} nodes in {table.entry.of_type} are in the table of these nodes",
        file=table.files[0],
        place=id_place(table.entry, number),
        expected=f"IDs such as {some_ids(connection, listed)}, as in {nodes.files[0]}",
        found=some_ids(connection, not_listed(query, listed)),
        hint=hint or f"check {id_place(table.entry, number)} and {id_place(nodes.entry, 0)}",
    )


def _columns(ids: Ids, table: Table) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a table's first file, and their first values, as text."""
    relation = scan(table.entry, table.files[:1])
    for column, kind in columns_of(ids.connection, relation, table.files[0]).items():
        if kind == "VARCHAR" or kind.endswith(("INT", "INTEGER")):
            values = f"SELECT {name(column)}::VARCHAR AS id FROM {relation} LIMIT {ROWS_PER_BATCH}"
            yield column, ids.connection.sql(values).to_arrow_table()
