"""The noun `Job`: what tables are read with, the tables of IDs in their order, new IDs in files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from daskgraphpart.sources.database import read, run, stage_rows
from daskgraphpart.sources.id_map import write_id_map

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.sources.edge_list_inputs import Inputs
    from daskgraphpart.sources.tables import TableGroup
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Input, kinds of IDs by node type, a database, directories for temporary files and output, memory, a listener.

    `memory` is bytes.
    """

    inputs: Inputs
    kinds: Mapping[str, tuple[str, str]]
    connection: duckdb.DuckDBPyConnection
    directory: Path
    out: Path
    memory: int
    progress: ProgressListener
    staged: dict[tuple[str, int], Region] = field(default_factory=dict)

    def new_ids(self, group: TableGroup, column: int) -> Region:
        """Write the new IDs of a column into a file, once, in the order of its rows."""
        name = group.name
        if (name, column) not in self.staged:
            query = f"SELECT c{column} FROM {name}"
            if self.inputs.options.map_ids:
                ids = self.ids(group.ends[column])
                query = f"SELECT i.rowid FROM {name} t JOIN {ids} i ON t.c{column} = i.id ORDER BY t.rowid"
            path = str(self.directory / f"{name}-c{column}")
            self.staged[name, column] = stage_rows(self.connection, query, path, np.dtype(np.int64))
        return self.staged[name, column]

    def ids(self, ntype: str) -> str:
        """Name of the table of the IDs of a node type, if they are mapped."""
        return f"ids_{list(self.inputs.num_nodes).index(ntype)}"

    def fill(self, of_type: str, feature: str) -> str | None:
        """Return what takes the place of missing values of a feature; None if nothing does."""
        fill = self.inputs.options.fills
        return fill.get(f"{of_type}:{feature}", fill.get(feature, fill.get("")))

    def rank(self, name: str, every: str, kept: Path, *, is_text: bool) -> None:
        """Make a table of the different IDs in their order, so that the row of each is its new ID; keep them."""
        distinct = f"SELECT DISTINCT id FROM ({every})"
        try:
            run(self.connection, f"CREATE TABLE {name} AS SELECT id FROM ({distinct}) ORDER BY id")
        except duckdb.OutOfMemoryException:  # hashing needs room for the different ones; sorting does not
            run(self.connection, f"CREATE TABLE sorted AS SELECT id FROM ({every}) ORDER BY id")
            previous = "SELECT id, lag(id) OVER () AS previous FROM sorted"
            run(
                self.connection,
                f"CREATE TABLE {name} AS SELECT id FROM ({previous}) WHERE previous IS DISTINCT FROM id",
            )
            run(self.connection, "DROP TABLE sorted")
        kept.parent.mkdir(parents=True, exist_ok=True)
        ids = (batch.column(0) for batch in read(self.connection, f"SELECT id FROM {name}"))
        write_id_map(kept, ids, is_text=is_text)

    def count_rows(self, name: str) -> int:
        """Count the rows of a table."""
        ((count,),) = run(self.connection, f"SELECT count(*) FROM {name}")
        return int(count)
