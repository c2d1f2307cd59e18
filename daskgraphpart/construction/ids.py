"""Number nodes in the order of their rows, and find the ends of edges: IDs as DuckDB's tables, ends as npy files."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.output import ID_MAP
from daskgraphpart.chunked.rows import EdgeEnds
from daskgraphpart.construction.tables import INTEGERS, id_place, name, scan
from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.database import read, run, stage_rows, translated_errors
from daskgraphpart.sources.given import ENDS
from daskgraphpart.sources.read_table import count_rows, drop_rows, keep_ids, rank_ids
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import duckdb

    from daskgraphpart.chunked.sources import Rows
    from daskgraphpart.construction.config import Faults
    from daskgraphpart.construction.statistics import Described, TransformColumn
    from daskgraphpart.construction.tables import Table

BYTES_PER_BLOCK = 8 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """IDs of all node types in a database: whether each type's are integers, and the tables that hold them."""

    connection: duckdb.DuckDBPyConnection
    directory: Path
    are_integers: dict[str, bool]
    num_nodes: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def sql_type(self, ntype: str) -> str:
        """Type of the IDs of a node type."""
        return "BIGINT" if self.are_integers[ntype] else "VARCHAR"

    def table(self, of_type: str) -> str:
        """Name of the table of the IDs of a type: those of nodes, or of both ends of edges."""
        return self.names.setdefault(of_type, f"ids{len(self.names)}")

    def numbers(self, ntype: str) -> str:
        """SQL of IDs and the numbers of their nodes."""
        return f"(SELECT id, rowid AS n FROM {self.table(ntype)})"


def kinds_of_ids(tables: Iterable[Table], faults: Faults, *, are_text: bool) -> dict[str, bool]:
    """Tell for each node type whether its IDs are integers; note where tables differ, and IDs that are neither."""
    found: dict[str, tuple[bool, str]] = {}
    for table in (table for table in tables if table.entry.of_type):
        parts = table.entry.of_type.split(":")
        ends = parts[::2] if table.entry.is_edges else parts
        for i, (ntype, column) in enumerate(zip(ends, table.entry.ids, strict=False)):
            if column not in table.types:
                continue
            of_type = table.types[column]
            place, is_integer = id_place(table.entry, i), of_type in INTEGERS and not are_text
            if not are_text and of_type not in (*INTEGERS, "VARCHAR"):
                faults.add(
                    place, "not a column of IDs", file=table.files[0], expected="integers or text", found=of_type
                )
                continue
            before = found.setdefault(ntype, (is_integer, f"{place}, {column!r}"))
            if before[0] != is_integer:
                what = f"IDs of {ntype!r} are integers in one table, and text in another"
                expected = f"{'integers' if before[0] else 'text'}, as in {before[1]}"
                faults.add(place, what, file=table.files[0], expected=expected, found=of_type)
    return {ntype: is_integer for ntype, (is_integer, _) in found.items()}


def read_ids(ids: Ids, table: Table) -> None:
    """Read the IDs of a table, those of nodes or of both ends of edges; null ones are refused."""
    entry, connection = table.entry, ids.connection
    ends = entry.of_type.split(":")[::2] if ":" in entry.of_type else [entry.of_type]
    names = ENDS if len(ends) == 2 else ("id",)
    values = [
        f"CAST({name(c)} AS {ids.sql_type(end)}) AS {n}" for c, end, n in zip(entry.ids, ends, names, strict=True)
    ]
    with translated_errors(table.files[0]):
        run(connection, f"CREATE TABLE {ids.table(entry.of_type)} AS SELECT {', '.join(values)} FROM {table.relation}")
    for i, column in enumerate(names):
        ((row,),) = run(connection, f"SELECT min(rowid) FROM {ids.table(entry.of_type)} WHERE {column} IS NULL")
        if row is not None:
            place, hint = id_place(entry, i), "in CSV, texts such as NA and null are missing values, as pandas has it"
            raise InputFileError("ID is missing", **located(ids, table, row, place), hint=hint)


def check_ids(ids: Ids, table: Table) -> None:
    """Refuse an ID that is there twice."""
    source = ids.table(table.entry.of_type)
    query = f"SELECT id, max(rowid) FROM {source} GROUP BY id HAVING count(*) > 1 ORDER BY 2 LIMIT 1"
    for value, row in run(ids.connection, query):
        where, hint = located(ids, table, row, id_place(table.entry, 0)), "remove one of the rows"
        what, expected, found = "a node is listed twice", "every ID once", f"{value!r} twice"
        raise InputFileError(what, **where, expected=expected, found=found, hint=hint)


def located(ids: Ids, table: Table, row: int, place: str) -> dict[str, Any]:
    """Return the file and the row of a row of all files, from 1, for errors."""

    def count(path: str) -> int:
        return count_rows(ids.connection, scan(table.entry, (path,), table.types))

    ends = list(accumulate(count(path) for path in table.files))
    index = min(bisect_right(ends, row), len(ends) - 1)
    first = ends[index - 1] if index else 0
    return {"file": table.files[index], "place": f"{place}, row {row - first + 1:,}"}


def finish_nodes(ids: Ids, out: Path, etypes: Sequence[str]) -> None:
    """Collect the IDs of node types that only edges have, in their order; write maps of the IDs of all types."""
    for ntype in sorted(ids.are_integers):
        kept, is_text = out / ID_MAP / f"{ntype}.parquet", not ids.are_integers[ntype]
        if ntype in ids.names:
            keep_ids(ids.connection, ids.table(ntype), kept, is_text=is_text)
        else:
            ends = [
                f"SELECT {column} AS id FROM {ids.table(etype)}"
                for etype in etypes
                for column, end in zip(ENDS, etype.split(":")[::2], strict=True)
                if end == ntype
            ]
            rank_ids(ids.connection, ids.table(ntype), " UNION ALL ".join(ends), kept, is_text=is_text)
        ids.num_nodes[ntype] = count_rows(ids.connection, ids.table(ntype))


def find_ends(ids: Ids, table: Table, *, drop_unknown: bool) -> tuple[Rows, Region | None]:
    """Write the ends of edges; and the numbers of the rows that have both, if some were dropped."""
    connection, name = ids.connection, ids.table(table.entry.of_type)
    num_rows, int64 = count_rows(connection, name), np.dtype(np.int64)
    ends = list(zip(ENDS, table.entry.of_type.split(":")[::2], strict=True))
    for i, (column, end) in enumerate(ends):
        is_unknown = f"NOT EXISTS (SELECT 1 FROM {ids.table(end)} i WHERE i.id = {name}.{column})"
        if drop_unknown:
            drop_rows(connection, name, is_unknown)
            continue
        for row, value in run(connection, f"SELECT rowid, {column} FROM {name} WHERE {is_unknown} ORDER BY 1 LIMIT 1"):
            what, hint = f"an edge of an unknown {end!r} node", "--unknown-nodes drop leaves such edges out"
            where = located(ids, table, row, id_place(table.entry, i))
            raise InputFileError(what, **where, found=repr(value), hint=hint)
    numbers = [
        stage_rows(
            connection,
            f"SELECT i.rowid FROM {name} t JOIN {ids.table(end)} i ON t.{column} = i.id ORDER BY t.rowid",
            str(ids.directory / f"{name}-{column}"),
            int64,
        )
        for column, end in ends
    ]
    if numbers[0].num_rows == num_rows:
        return EdgeEnds(*numbers), None
    kept = f"SELECT row FROM {name} ORDER BY rowid"
    return EdgeEnds(*numbers), stage_rows(connection, kept, str(ids.directory / f"{name}-rows"), int64)


def write_hard_negatives(ids: Ids, described: Described, column: TransformColumn, ntype: str, path: Path) -> Region:
    """Write the nodes that cells list, int64 (edges, longest list): unknown IDs are left out, -1 fills the rows."""
    region = create_npy(path, np.dtype(np.int64), (described.num_rows, column.width))
    source = f"SELECT {column.sql} AS x FROM {described.table.relation}"
    run(ids.connection, f"CREATE TABLE listed AS {source}")
    pairs = "SELECT unnest(x) AS id, generate_subscripts(x, 1) AS i, rowid AS row FROM listed"
    is_same = f"try_cast(p.id AS {ids.sql_type(ntype)}) = d.id"
    query = (
        f"SELECT p.row AS row, d.n AS n, row_number() OVER (PARTITION BY p.row ORDER BY p.i) - 1 AS place "
        f"FROM ({pairs}) p JOIN {ids.numbers(ntype)} d ON {is_same} ORDER BY p.row, place"
    )
    step = max(1, BYTES_PER_BLOCK // max(8, region.row_nbytes))
    for start in range(0, region.num_rows, step):
        region.write(np.full((min(step, region.num_rows - start), column.width), -1), start)
    for batch in read(ids.connection, query):
        rows, nodes, places = (batch.column(i).to_numpy(zero_copy_only=False) for i in range(3))
        for start in range(int(rows[0]), int(rows[-1]) + 1, step):
            stop = min(start + step, region.num_rows)
            block = region.read(start, stop)
            is_here = (rows >= start) & (rows < stop)
            block[rows[is_here] - start, places[is_here]] = nodes[is_here]
            region.write(block, start)
    run(ids.connection, "DROP TABLE listed")
    return region
