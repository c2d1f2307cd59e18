"""Number the nodes: by the rank of their IDs, by number or UTF-8 bytes, or by the IDs themselves, which are counted.

The noun `NumberedTables` stages rows by these numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.metadata import ID_MAP
from daskgraphpart.readers.compare_ids import has_blanks, without_blanks
from daskgraphpart.readers.database import count_rows, run, scatter_numbers, stage_rows
from daskgraphpart.readers.rank_ids import rank_ids
from daskgraphpart.readers.tables.describe.columns import STRINGS, shown
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from daskgraphpart.graph.scan_job import ScanJob
    from daskgraphpart.readers.tables.describe.description import Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load

DENSE_BELOW, IDS_PER_EDGE = 2**31, 1000
"""Beyond so many IDs, for each edge and in total, a number of nodes is taken for a mistake."""


def map_ids(load: Load, companions: Path) -> dict[str, int]:
    """Make a table of each node type's IDs, whose row numbers are the new IDs, and write the maps."""
    described = load.described
    for ntype, (kind, _) in load.kinds.items():
        every = select_ids([*described.ends_in_edges(ntype), *((table, 0) for table in described.of_nodes(ntype))])
        kept, old = companions / ID_MAP / f"{ntype}.parquet", described.old_ids.get(ntype)
        num_old = rank_ids(load.connection, ids_table(load, ntype), every, kept, is_text=kind == STRINGS, old=old)
        if described.options.ids_from is not None:
            _warn_old_ids(load, ntype, every, num_old)
        if kind == STRINGS:
            _warn_of_blanks(load, ntype)
        load.progress.advance(1)
    return {ntype: count_rows(load.connection, ids_table(load, ntype)) for ntype in load.kinds}


def _warn_of_blanks(load: Load, ntype: str) -> None:
    """Report IDs with blanks around them."""
    ids, stripped = ids_table(load, ntype), without_blanks("i.id")
    with_blanks = f"{ids} i WHERE {has_blanks('i.id')}"
    ((count, least),) = run(load.connection, f"SELECT count(*), min(id) FROM {with_blanks}")
    if count:  # else nobody needs the join, which may hold all IDs
        is_twin = f"EXISTS (SELECT 1 FROM {ids} o WHERE o.id = {stripped})"
        num_twins = count_rows(load.connection, f"{with_blanks} AND {is_twin}")
        twins = f"; {num_twins:,} of them are nodes without the blanks, too: remove these" if num_twins else ""
        load.progress.note(f"{ntype!r} nodes: {count:,} IDs have blanks around them, such as {shown(least)}{twins}")


def _warn_old_ids(load: Load, ntype: str, every: str, num_old: int) -> None:
    """Report how many nodes keep an earlier graph's IDs, and how many of those no table has."""
    ids = ids_table(load, ntype)
    is_there = f"EXISTS (SELECT 1 FROM ({every}) e WHERE e.id = i.id)"
    query = f"SELECT count(*) FROM {ids} i WHERE new_id < {num_old} AND NOT {is_there}"
    ((num_absent,),) = run(load.connection, query)
    gone = f", {num_absent:,} of them gone and without edges" if num_absent else ""
    num_new = count_rows(load.connection, ids) - num_old
    load.progress.note(f"{ntype!r} nodes: {num_old:,} keep the IDs of the earlier graph{gone}; {num_new:,} are new")


def count_ids(load: Load) -> dict[str, int]:
    """Return numbers of nodes with unmapped IDs: as given, rows of a feature, or largest ID plus one."""
    counts, described = {}, load.described
    for ntype, known in described.num_nodes.items():
        columns = described.ends_in_edges(ntype) + [(table, 0) for table in described.of_nodes(ntype)]
        limits_of = [(*_limits(load, g, i), g) for g, i in columns]
        limits_of = [limits for limits in limits_of if limits[0] is not None]
        most, _, table = max(limits_of, key=lambda limits: int(limits[0]), default=(-1, 0, None))
        if known is None and described.ordered(ntype) is None:
            rows = [rows.shape[0] for rows in described.rows.get(ntype, {}).values()]
            rows += [load.num_read(table) for table in described.tables if (table.of_type, table.ends) == (ntype, ())]
            known = rows[0] if rows else None
        num_edges = sum(load.num_read(table) for table, _ in columns)
        if known is None and most >= max(DENSE_BELOW, IDS_PER_EDGE * num_edges):
            raise InputFileError(
                f"IDs of {ntype!r} nodes are sparse",
                file=table.files[0].path,
                place=f"or another file of {table.of_type}" if len(table.files) > 1 else None,
                expected="IDs from 0 with few gaps",
                found=f"{most:,} as the largest ID of {num_edges:,} edges",
                hint=f"add --map-ids, or give --num-nodes {ntype}={most + 1} if there are that many nodes",
            )
        begins_at_1 = min((least for _, least, _ in limits_of), default=0) == 1
        if known is not None and most >= known:
            what, expected = f"ID of a {ntype!r} node out of range", f"IDs from 0 and below {known:,}"
            hint = (
                "if IDs begin at 1, add --map-ids" if begins_at_1 else "check --num-nodes, or the rows of --node-data"
            )
            raise InputFileError(what, file=table.files[0].path, expected=expected, found=f"{most:,}", hint=hint)
        if begins_at_1:
            text = f"{table.files[0].path}: no {ntype!r} node has ID 0, and the highest ID is {most:,}"
            load.progress.note(f"{text}; if IDs begin at 1, map them (map_ids): else node 0 has no edges")
        counts[ntype] = most + 1 if known is None else known
        load.progress.advance(1)
    return counts


def _limits(load: Load, table: Table, number: int) -> tuple[Any, ...]:
    """Largest and smallest ID in a column; None if empty."""
    if (plain := load.plain.get(table.name)) is not None:
        return plain.limits[number] if plain.num_rows else (None, None)
    (limits,) = run(load.connection, f"SELECT max(c{number}), min(c{number}) FROM {table.name}")
    return tuple(limits)


def ids_table(load: Load, ntype: str) -> str:
    """Name the table of a node type's IDs, if mapped."""
    return f"ids_{list(load.described.num_nodes).index(ntype)}"


def select_ids(columns: Iterable[tuple[Table, int]]) -> str:
    """Return a query of all IDs in columns."""
    return " UNION ALL ".join(f"SELECT c{i} AS id FROM {table.name}" for table, i in columns)


@dataclass(frozen=True, slots=True, eq=False)
class NumberedTables:
    """Loaded tables whose nodes have numbers, counted by type; where rows are staged; memory in bytes."""

    load: Load
    num_nodes: Mapping[str, int]
    job: ScanJob
    memory: int
    counts_only: bool
    staged: dict[tuple[str, int], Region] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """Return where rows of this name are staged."""
        return str(self.job.directory / name)

    def stage(self, query: str, path: str, dtype: np.dtype, row_shape: tuple[int, ...] = ()) -> Region:
        """Write a query's rows to a file, if they are wanted."""
        connection = self.load.connection
        if not self.counts_only:
            return stage_rows(connection, query, path, dtype, row_shape)
        ((count,),) = run(connection, f"SELECT count(*) FROM ({query})")
        return Region(path, 0, dtype, (count, *row_shape))

    def remove_staged(self, table: Table, feature: str) -> None:
        """Delete a feature's rows in the order of its table, which those in the order of nodes replace."""
        for number in table.features.get(feature, ()):
            Path(self.path(f"{table.name}-{number}")).unlink(missing_ok=True)

    def new_ids(self, table: Table, column: int) -> Region:
        """Write a column's new IDs to a file, once, in row order."""
        name, load, path = table.name, self.load, self.path(f"{table.name}-c{column}")
        if (name, column) not in self.staged:
            if load.described.options.map_ids and not self.counts_only:
                query = f"SELECT t.row, i.new_id FROM {name} t JOIN {ids_table(load, table.ends[column])} i"
                query += f" ON t.c{column} = i.id"
                rows = scatter_numbers(load.connection, query, path, load.num_rows(table), self.kept(table))
            else:
                rows = self.stage(f"SELECT c{column} FROM {name} ORDER BY row", path, np.dtype(np.int64))
            self.staged[name, column] = rows
        return self.staged[name, column]

    def kept(self, table: Table) -> Region | None:
        """Write the numbers of a table's rows that are left to a file, once; None if none was dropped."""
        if self.load.num_rows(table) == self.load.num_read(table):
            return None
        if (table.name, -1) not in self.staged:
            query = f"SELECT row FROM {table.name} ORDER BY row"
            self.staged[table.name, -1] = self.stage(query, self.path(f"{table.name}-kept"), np.dtype(np.int64))
        return self.staged[table.name, -1]
