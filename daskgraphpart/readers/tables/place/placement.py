"""The noun `Placement`: loaded tables whose nodes have numbers, and where their rows are staged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.readers.database import run, stage_rows
from daskgraphpart.readers.tables.place.node_ids import ids_table
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.graph.scan import ScanJob
    from daskgraphpart.readers.tables.describe.description import Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Loaded tables, numbers of nodes by type, directories, and memory in bytes."""

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

    def new_ids(self, table: Table, column: int) -> Region:
        """Write a column's new IDs to a file, once, in row order."""
        name = table.name
        if (name, column) not in self.staged:
            query = f"SELECT c{column} FROM {name} ORDER BY row"
            if self.load.described.options.map_ids and not self.counts_only:
                ids = ids_table(self.load, table.ends[column])
                query = f"SELECT i.new_id FROM {name} t JOIN {ids} i ON t.c{column} = i.id ORDER BY t.row"
            self.staged[name, column] = self.stage(query, self.path(f"{name}-c{column}"), np.dtype(np.int64))
        return self.staged[name, column]

    def kept(self, table: Table) -> Region | None:
        """Write the numbers of a table's rows that are left to a file, once; None if none was dropped."""
        if self.load.num_rows(table) == self.load.num_read(table):
            return None
        if (table.name, -1) not in self.staged:
            query = f"SELECT row FROM {table.name} ORDER BY row"
            self.staged[table.name, -1] = self.stage(query, self.path(f"{table.name}-kept"), np.dtype(np.int64))
        return self.staged[table.name, -1]
