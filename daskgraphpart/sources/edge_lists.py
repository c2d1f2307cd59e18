"""Turn edge lists into rows of a chunked graph: IDs as they are, or mapped to 0, 1, 2, ... in their order by SQL.

The new ID of a node is the rank of its original ID among all IDs of its type, by number or by UTF-8 bytes. Nothing
depends on memory or threads: tables keep the order of files and rows, and every query says its order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from daskgraphpart.chunked.output import ID_MAP
from daskgraphpart.chunked.rows import edge_rows
from daskgraphpart.chunked.write_graph import GraphRows
from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import STRINGS, shown
from daskgraphpart.sources.database import read, run, stage_column
from daskgraphpart.sources.edge_list_inputs import check_feature_rows, kinds_of_ids
from daskgraphpart.sources.id_map import write_id_map
from daskgraphpart.sources.read_table import TableReader
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.sources.edge_list_inputs import Inputs
    from daskgraphpart.storage.region import Region

DENSE_BELOW, IDS_PER_EDGE = 2**31, 1000
"""Beyond so many IDs, for each edge and in total, a number of nodes is taken for a mistake."""


@dataclass(frozen=True, slots=True, eq=False)
class EdgeListJob:
    """What a job needs: input, a database, a directory for temporary files, bytes of memory, a listener."""

    inputs: Inputs
    connection: duckdb.DuckDBPyConnection
    directory: Path
    memory: int
    progress: ProgressListener

    def run(self, name: str, out: Path) -> GraphRows:
        """Read, check and map everything; also write the maps of IDs. Rows then lie in temporary files."""
        inputs, kinds = self.inputs, kinds_of_ids(self.inputs)
        sizes = [os.path.getsize(t.path) for of in (*inputs.edges.values(), *inputs.nodes.values()) for t in of]
        self.progress.begin("read-edges", len(sizes), sum(sizes))
        reader = TableReader(inputs, self.connection, self.directory, self.progress)
        edge_data = {
            etype: reader.read(f"edges_{number}", of, etype.split(":")[::2], kinds)
            for number, (etype, of) in enumerate(inputs.edges.items())
        }
        for number, (ntype, of) in enumerate(inputs.nodes.items()):
            reader.read(f"nodes_{number}", of, [ntype], kinds)
        self.progress.end()
        steps = len(kinds) + len(edge_data)
        self.progress.begin("map-ids" if inputs.options.map_ids else "stage-edges", steps, steps)
        num_nodes = self._rank_ids(kinds, out) if inputs.options.map_ids else self._count_ids()
        edges: dict[str, Rows] = {}
        for number, etype in enumerate(edge_data):
            edges[etype] = edge_rows(
                *(self._stage_ids(f"edges_{number}", i, end) for i, end in enumerate(_ends(etype)))
            )
            run(self.connection, f"DROP TABLE edges_{number}")
            edge_data[etype] |= inputs.edge_data.get(etype, {})
            self.progress.advance(1)
        self.progress.end()
        listed = {ntype: self._count_rows(f"nodes_{number}") for number, ntype in enumerate(inputs.nodes)}
        check_feature_rows(inputs, {**num_nodes, **listed, **{etype: rows.shape[0] for etype, rows in edges.items()}})
        node_data = {ntype: self._node_data(ntype) for ntype in num_nodes}
        return GraphRows(name, num_nodes, edges, {**node_data, **edge_data})

    def _count_ids(self) -> dict[str, int]:
        """Number of nodes of each type whose IDs are not mapped: what was given, or else the largest ID and one."""
        largest: dict[str, tuple[int, str]] = {}
        num_edges = dict.fromkeys(self.inputs.num_nodes, 0)
        for number, etype in enumerate(self.inputs.edges):
            query = f"SELECT count(*), coalesce(max(c0), -1), coalesce(max(c1), -1) FROM edges_{number}"
            ((count, *both),) = run(self.connection, query)
            for ntype, most in zip(_ends(etype), both, strict=True):
                largest[ntype] = max(largest.get(ntype, (-1, "")), (most, etype))
                num_edges[ntype] += count
        counts = {}
        for ntype, known in self.inputs.num_nodes.items():
            most, etype = largest.get(ntype, (-1, ""))
            if known is None and most >= max(DENSE_BELOW, IDS_PER_EDGE * num_edges[ntype]):
                raise InputFileError(
                    f"IDs of {ntype!r} nodes are sparse",
                    file=self.inputs.edges[etype][0].path,
                    place=f"or another file of {etype}" if len(self.inputs.edges[etype]) > 1 else None,
                    expected="IDs from 0 with few gaps",
                    found=f"{most:,} as the largest ID of {num_edges[ntype]:,} edges",
                    hint=f"use --map-ids, or say --num-nodes {ntype}={most + 1} if there are so many nodes",
                )
            counts[ntype] = most + 1 if known is None else known
            self.progress.advance(1)
        return counts

    def _rank_ids(self, kinds: Mapping[str, tuple[str, str]], out: Path) -> dict[str, int]:
        """Make a table `ids` of each node type, whose row numbers are the new IDs, and write the maps of IDs."""
        sources: dict[str, list[str]] = {ntype: [] for ntype in kinds}
        for number, etype in enumerate(self.inputs.edges):
            for i, ntype in enumerate(_ends(etype)):
                sources[ntype].append(f"SELECT c{i} AS id FROM edges_{number}")
        for number, ntype in enumerate(self.inputs.nodes):
            sources[ntype].append(f"SELECT c0 AS id FROM nodes_{number}")
        (out / ID_MAP).mkdir()
        for ntype, (kind, _) in kinds.items():
            self._rank(self._ids(ntype), " UNION ALL ".join(sources[ntype]))
            ids = (batch.column(0) for batch in read(self.connection, f"SELECT id FROM {self._ids(ntype)}"))
            write_id_map(out / ID_MAP / f"{ntype}.parquet", ids, is_text=kind == STRINGS)
            self.progress.advance(1)
        return {ntype: self._count_rows(self._ids(ntype)) for ntype in kinds}

    def _rank(self, name: str, every: str) -> None:
        """Make a table of the different IDs in their order, so that the row of each is its new ID."""
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

    def _stage_ids(self, name: str, column: int, ntype: str) -> Region:
        """Write the new IDs of a column into a file, in the order of its rows."""
        query = f"SELECT c{column} FROM {name}"
        if self.inputs.options.map_ids:
            query = f"SELECT i.rowid FROM {name} t JOIN {self._ids(ntype)} i ON t.c{column} = i.id ORDER BY t.rowid"
        return stage_column(self.connection, query, str(self.directory / f"{name}-c{column}"), np.dtype(np.int64))

    def _ids(self, ntype: str) -> str:
        return f"ids_{list(self.inputs.num_nodes).index(ntype)}"

    def _count_rows(self, name: str) -> int:
        ((count,),) = run(self.connection, f"SELECT count(*) FROM {name}")
        return int(count)

    # ---------------------------------------------------------------------------------------------- features of nodes

    def _node_data(self, ntype: str) -> dict[str, Rows]:
        """Features of a node type in the order of new IDs, whether or not they follow a list of nodes."""
        features = self.inputs.node_data.get(ntype, {})
        if not features or ntype not in self.inputs.nodes:
            return dict(features)
        name = f"nodes_{list(self.inputs.nodes).index(ntype)}"
        self._check_list(ntype, name)
        new_ids = self._stage_ids(name, 0, ntype)
        return {
            feature: _sort_rows(rows, new_ids, str(self.directory / f"{name}-rows-{i}"), self.memory // 8)
            for i, (feature, rows) in enumerate(features.items())
        }

    def _check_list(self, ntype: str, name: str) -> None:
        """Refuse a list of nodes that does not name every node once, if features follow it."""
        twice = f"SELECT min(c0) FROM (SELECT c0 FROM {name} GROUP BY c0 HAVING count(*) > 1)"
        missing = f"SELECT min(id) FROM {self._ids(ntype)} i ANTI JOIN {name} n ON i.id = n.c0"
        for query, what, found in (
            (twice, f"a {ntype!r} node is listed twice", ""),
            (missing, f"a {ntype!r} node of the edges is not in the list of nodes", "no "),
        ):
            ((value,),) = run(self.connection, query)
            if value is not None:
                expected = "every ID once, since rows of --node-data follow the list"
                found += shown(value) if isinstance(value, str) else str(value)
                raise InputFileError(what, file=self.inputs.nodes[ntype][0].path, expected=expected, found=found)


def _ends(etype: str) -> list[str]:
    """Node types of sources and destinations."""
    return etype.split(":")[::2]


def _sort_rows(rows: Rows, new_ids: Region, path: str, max_bytes: int) -> Region:
    """Sort rows by their new IDs, every one of which there is once: into ranges of IDs, then inside each.

    Some four times `max_bytes` are held.
    """
    num_rows = rows.shape[0]
    sorted_rows = create_npy(f"{path}.npy", rows.dtype, rows.shape)
    range_rows = max(1, max_bytes // (8 + sorted_rows.row_nbytes))
    ids_there = create_npy(f"{path}-ids.npy", np.int64, (num_rows,))
    starts = range(0, num_rows, range_rows)
    places = np.array(starts, np.int64)  # where the next row of each range goes
    for start in starts:
        stop = min(start + range_rows, num_rows)
        ids, block = new_ids.read(start, stop), rows.read(start, stop)
        order = np.argsort(ids, kind="stable")
        bounds = np.searchsorted(ids[order], [*starts, num_rows])
        for i in np.flatnonzero(np.diff(bounds)):
            chosen = order[bounds[i] : bounds[i + 1]]
            sorted_rows.write(block[chosen], int(places[i]))
            ids_there.write(ids[chosen], int(places[i]))
            places[i] += len(chosen)
    for start in starts:
        stop = min(start + range_rows, num_rows)
        sorted_rows.write(sorted_rows.read(start, stop)[np.argsort(ids_there.read(start, stop))], start)
    return sorted_rows
