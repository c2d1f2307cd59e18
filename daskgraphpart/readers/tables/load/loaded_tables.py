"""The noun `Load`: described tables in a database."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from daskgraphpart.readers.database import count_rows, run, translated_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.readers.tables.describe.description import Description, OpenFile, Table
    from daskgraphpart.readers.tables.load.plain_edges import PlainEdges


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Tables in a database, each under its name: IDs c0 and c1; features as floats c2 and integers n2, and so on.

    Vectors are c2 alone; strings have n2 where they cannot be read; `no_id` marks rows to drop. `row` is the number of
    the row: nothing else tells the order, as DuckDB promises none beyond a scan. Invalid values are NULL.

    `kinds` are of IDs, by node type. `plain` edges, by table, are not in the database. `starts` has the first rows of
    each table's files, and the number of all rows, as read.
    """

    described: Description
    kinds: Mapping[str, tuple[str, str]]
    plain: Mapping[str, PlainEdges]
    connection: duckdb.DuckDBPyConnection
    progress: ProgressListener
    starts: dict[str, list[int]] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """The tables that are in the database."""
        return [table for table in self.described.tables if table.name not in self.plain]

    def num_read(self, table: Table) -> int:
        """Number of rows of a table's files."""
        return self.plain[table.name].num_rows if table.name in self.plain else self.starts[table.name][-1]

    def num_rows(self, table: Table) -> int:
        """Count the rows of a table that are left."""
        return self.plain[table.name].num_rows if table.name in self.plain else count_rows(self.connection, table.name)

    def locate(self, table: Table, row: int, number: int) -> tuple[OpenFile, str, str | None]:
        """Return the file of a value, its place there and its text; None if it is missing."""
        starts = self.starts[table.name]
        index = bisect_right(starts, row) - 1
        file = table.files[index]
        with translated_errors(file.path):
            return file, *file.locate(row - starts[index], number)

    def width(self, table: Table, number: int) -> int:
        """Length of a column's vectors, from the first that is not missing."""
        query = f"SELECT len(c{number}) FROM {table.name} WHERE c{number} IS NOT NULL ORDER BY row LIMIT 1"
        lengths = run(self.connection, query)
        return int(lengths[0][0] or 0) if lengths else 0
