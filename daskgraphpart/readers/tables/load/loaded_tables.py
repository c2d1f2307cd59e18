"""The noun `Load`: described tables in a database."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from daskgraphpart.readers.database import count_rows, translated_errors
from daskgraphpart.readers.tables.describe.columns import STRINGS
from daskgraphpart.readers.tables.load.long_texts import LongTexts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import duckdb

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.readers.tables.describe.description import Description, OpenFile, Table
    from daskgraphpart.readers.tables.load.feature_file import FeatureFile
    from daskgraphpart.readers.tables.load.plain_edges import PlainEdges


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Tables in a database, each under its name: IDs c0 and c1; features of strings c2, n2 where they cannot be read.

    Long strings of features are keys, of `long_texts`. `no_id` marks rows to drop. `row` is the number of the row:
    nothing else tells the order, as DuckDB promises none beyond a scan. Invalid values are NULL. Other features are in
    files, `staged`, by table and feature.

    `kinds` are of IDs, by node type. `plain` edges, by table, are not in the database. `starts` has the first rows of
    each table's files, and the number of all rows, as read. `memory` is the budget, in bytes.
    """

    described: Description
    kinds: Mapping[str, tuple[str, str]]
    plain: Mapping[str, PlainEdges]
    connection: duckdb.DuckDBPyConnection
    progress: ProgressListener
    directory: Path
    memory: int
    counts_only: bool
    staged: dict[tuple[str, str], list[FeatureFile]] = field(default_factory=dict)
    starts: dict[str, list[int]] = field(default_factory=dict)
    long_texts: LongTexts = field(default_factory=LongTexts)

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

    def locate(self, table: Table, row: int, number: int) -> tuple[OpenFile, str, str | None, str]:
        """Return the file of a value, its place there, its text, None if it is missing, and how to show it."""
        starts = self.starts[table.name]
        index = bisect_right(starts, row) - 1
        file = table.files[index]
        with translated_errors(file.path):
            return file, *file.locate(row - starts[index], number)

    def strings(self, table: Table) -> list[int]:
        """Numbers of the columns that are strings, not IDs."""
        return [i for i in table.numbers if table.kind(i) == STRINGS]

    def files_of(self, table: Table) -> list[FeatureFile]:
        """Files of all features of a table."""
        return [file for feature in table.features for file in self.staged.get((table.name, feature), ())]
