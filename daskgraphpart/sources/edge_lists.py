"""Turn edge lists into rows of a chunked graph: IDs as they are, or mapped to 0, 1, 2, ... in their order by SQL.

The new ID of a node is the rank of its original ID among all IDs of its type, by number or by UTF-8 bytes. Nothing
depends on memory or threads: tables keep the order of files and rows, and every query says its order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from daskgraphpart.chunked.output import ID_MAP
from daskgraphpart.chunked.rows import EdgeRows, JoinedRows
from daskgraphpart.chunked.write_graph import GraphRows
from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import INTEGERS, STRINGS, shown
from daskgraphpart.sources.database import read, run, stage_batches, translated_errors
from daskgraphpart.sources.edge_list_inputs import check_rows, kinds_of_ids
from daskgraphpart.sources.id_map import write_id_map
from daskgraphpart.sources.read_table import TableReading
from daskgraphpart.sources.text_table import TextTable
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.sources.edge_list_inputs import Inputs, Table
    from daskgraphpart.sources.edge_list_options import ReadOptions
    from daskgraphpart.storage.region import Region

DENSE_BELOW, IDS_PER_EDGE = 2**31, 1000
"""Beyond so many IDs, for each edge and in total, a number of nodes is taken for a mistake."""


@dataclass(frozen=True, slots=True, eq=False)
class EdgeListJob:
    """What a job needs: input, options, a database, a directory for temporary files, bytes of memory, a listener."""

    inputs: Inputs
    options: ReadOptions
    connection: duckdb.DuckDBPyConnection
    directory: Path
    memory: int
    progress: ProgressListener

    def run(self, name: str, out: Path) -> GraphRows:
        """Read, check and map everything; also write the maps of IDs. Rows then lie in temporary files."""
        self._show_begin("read-edges", [table for tables in self.inputs.edges.values() for table in tables])
        edges, edge_data, num_nodes = self._mapped(out) if self.options.map_ids else self._dense()
        for etype, features in self.inputs.edge_data.items():
            for feature, rows in features.items():
                check_rows(rows, feature, etype, edges[etype].shape[0], "one row for each edge, in their order")
                edge_data[etype][feature] = rows
        node_data = {ntype: self._node_data(ntype, count) for ntype, count in num_nodes.items()}
        return GraphRows(name, num_nodes, edges, {**node_data, **edge_data})

    # ------------------------------------------------------------------------------------------------------ dense IDs

    def _dense(self) -> tuple[dict[str, Rows], dict[str, dict[str, Rows]], dict[str, int]]:
        edges: dict[str, Rows] = {}
        edge_data: dict[str, dict[str, Rows]] = {}
        largest: dict[str, tuple[int, str]] = {}
        num_edges: dict[str, int] = {}
        for number, (etype, tables) in enumerate(self.inputs.edges.items()):
            ntypes, parts, features = etype.split(":")[::2], [], []
            for i, table in enumerate(tables):
                reading = TableReading(
                    self.connection, table, str(self.directory / f"edges-{number}-{i}"), ntypes, self.inputs.num_nodes
                )
                (src, dst), of_table = reading.stage((INTEGERS, INTEGERS))
                self.progress.advance(table.nbytes)
                parts.append(EdgeRows(src, dst))
                features.append(of_table)
                for ntype, most in zip(ntypes, reading.largest, strict=True):
                    largest[ntype] = max(largest.get(ntype, (-1, "")), (most, table.path))
                    num_edges[ntype] = num_edges.get(ntype, 0) + src.num_rows
            edges[etype] = JoinedRows(tuple(parts))
            edge_data[etype] = _joined_features(tables[0], features)
        self.progress.end()
        counts = {}
        for ntype in self.inputs.ntypes:
            most, path = largest.get(ntype, (-1, ""))
            known = self.inputs.num_nodes.get(ntype)
            if known is None and most >= max(DENSE_BELOW, IDS_PER_EDGE * num_edges.get(ntype, 0)):
                raise InputFileError(
                    f"IDs of {ntype!r} nodes are sparse",
                    file=path,
                    expected="IDs from 0 with few gaps",
                    found=f"{most:,} as the largest ID of {num_edges.get(ntype, 0):,} edges",
                    hint=f"use --map-ids, or say --num-nodes {ntype}={most + 1} if there are so many nodes",
                )
            counts[ntype] = most + 1 if known is None else known
        return edges, edge_data, counts

    # ----------------------------------------------------------------------------------------------------- mapped IDs

    def _mapped(self, out: Path) -> tuple[dict[str, Rows], dict[str, dict[str, Rows]], dict[str, int]]:
        kinds = kinds_of_ids(self.inputs, self.options.id_type)
        edge_data: dict[str, dict[str, Rows]] = {}
        sources: dict[str, list[str]] = {ntype: [] for ntype in kinds}
        for number, (etype, tables) in enumerate(self.inputs.edges.items()):
            ntypes = etype.split(":")[::2]
            self._insert(f"edges_{number}", tables, [kinds[ntype] for ntype in ntypes])
            for i, ntype in enumerate(ntypes):
                sources[ntype].append(f"SELECT c{i} AS id FROM edges_{number}")
            edge_data[etype] = self._features_of(tables, f"edges-{number}")
        self.progress.end()
        for number, (ntype, tables) in enumerate(self.inputs.nodes.items()):
            self._insert(f"nodes_{number}", tables, [kinds[ntype]])
            sources[ntype].append(f"SELECT c0 AS id FROM nodes_{number}")
        (out / ID_MAP).mkdir()
        counts, edges = {}, {}
        self._show_begin("map-ids", range(len(kinds) + len(self.inputs.edges)))
        for number, (ntype, kind) in enumerate(kinds.items()):
            self._rank(f"ids_{number}", " UNION ALL ".join(sources[ntype]) or "SELECT 0::BIGINT AS id WHERE false")
            counts[ntype] = self._value(f"SELECT count(*) FROM ids_{number}")
            with translated_errors(str(self.directory)):
                ids = (batch.column(0) for batch in read(self.connection, f"SELECT id FROM ids_{number}"))
                write_id_map(out / ID_MAP / f"{ntype}.parquet", ids, is_text=kind == STRINGS)
            self.progress.advance(1)
        for number, etype in enumerate(self.inputs.edges):
            ends = (self._new_ids(f"edges_{number}", i, ntype) for i, ntype in enumerate(etype.split(":")[::2]))
            edges[etype] = EdgeRows(*ends)
            self._run(f"DROP TABLE edges_{number}")
            self.progress.advance(1)
        self.progress.end()
        return dict(edges), edge_data, counts

    def _rank(self, name: str, every: str) -> None:
        """Make a table of the different IDs in their order, so that the row of each is its new ID."""
        try:
            run(
                self.connection,
                f"CREATE TABLE {name} AS SELECT id FROM (SELECT DISTINCT id FROM ({every})) ORDER BY id",
            )
        except duckdb.OutOfMemoryException:  # hashing needs room for the different ones; sorting does not
            self._run(f"CREATE TABLE sorted AS SELECT id FROM ({every}) ORDER BY id")
            previous = "SELECT id, lag(id) OVER () AS previous FROM sorted"
            self._run(f"CREATE TABLE {name} AS SELECT id FROM ({previous}) WHERE previous IS DISTINCT FROM id")
            self._run("DROP TABLE sorted")

    def _insert(self, name: str, tables: Sequence[Table], kinds: Sequence[str]) -> None:
        """Fill a table with the IDs of all files, in their order; refuse the first that is not what it should be."""
        types = ", ".join(f"c{i} {'VARCHAR' if kind == STRINGS else 'BIGINT'}" for i, kind in enumerate(kinds))
        self._run(f"CREATE TABLE {name} ({types})")
        id_type, is_null = self.options.id_type, " OR ".join(f"c{i} IS NULL" for i in range(len(kinds)))
        wanted = {"integer": "integer ID", "string": "ID", "auto": "ID as others"}[id_type]
        first = 0
        for table in tables:
            with translated_errors(table.path):
                if isinstance(table, TextTable):
                    run(self.connection, f"INSERT INTO {name} {table.query(kinds, id_type, 0)}")
                else:
                    self._insert_batches(name, table.batches(kinds, 0))
                bad = self._value(f"SELECT min(rowid) FROM {name} WHERE rowid >= {first} AND ({is_null})")
                if bad is not None:
                    column = self._value(f"SELECT (c0 IS NOT NULL)::INTEGER FROM {name} WHERE rowid = {bad}")
                    raise table.explain(self.connection, bad - first, column, wanted)
                first = self._value(f"SELECT count(*) FROM {name}")
            self.progress.advance(table.nbytes)

    def _insert_batches(self, name: str, batches: Iterator[Any]) -> None:
        for batch in batches:
            self.connection.register("batch", pa.table(batch))
            run(self.connection, f"INSERT INTO {name} SELECT * FROM batch")
            self.connection.unregister("batch")

    def _new_ids(self, name: str, column: int, ntype: str) -> Region:
        """Look up the new IDs of a column, in the order of its rows."""
        ids = f"ids_{self.inputs.ntypes.index(ntype)}"
        query = f"SELECT i.rowid FROM {name} t JOIN {ids} i ON t.c{column} = i.id ORDER BY t.rowid"
        path = str(self.directory / f"{name}-{column}")
        with translated_errors(path):
            return stage_batches(read(self.connection, query), [path], [np.dtype(np.int64)])[0]

    def _features_of(self, tables: Sequence[Table], path: str) -> dict[str, Rows]:
        """Read the columns of features of edges whose IDs are mapped."""
        found = []
        for i, table in enumerate(tables):
            reading = TableReading(self.connection, table.without_ids(), str(self.directory / f"{path}-{i}"))
            found.append(reading.stage(())[1])
        return _joined_features(tables[0], found)

    # ---------------------------------------------------------------------------------------------- features of nodes

    def _node_data(self, ntype: str, num_nodes: int) -> dict[str, Rows]:
        """Features of a node type in the order of new IDs."""
        features = self.inputs.node_data.get(ntype, {})
        is_listed = ntype in self.inputs.nodes
        number = list(self.inputs.nodes).index(ntype) if is_listed else -1
        for name, rows in features.items():
            if is_listed:
                listed = self._value(f"SELECT count(*) FROM nodes_{number}")
                check_rows(rows, name, ntype, listed, "rows follow the list given to --nodes")
            elif self.options.map_ids:
                hint = "rows are taken in the order of the sorted IDs; --nodes gives another order, and more nodes"
                check_rows(rows, name, ntype, num_nodes, hint)
            else:
                hint = f"say --num-nodes {ntype}={rows.shape[0]} if some nodes have no edges"
                check_rows(rows, name, ntype, num_nodes, hint)
        if not (features and is_listed):
            return dict(features)
        self._check_list(ntype, number)
        new_ids = self._new_ids(f"nodes_{number}", 0, ntype)
        at_once, named = self.memory // 8, enumerate(features.items())
        return {
            name: _sort_rows(rows, new_ids, str(self.directory / f"rows-{number}-{i}"), at_once)
            for i, (name, rows) in named
        }

    def _check_list(self, ntype: str, number: int) -> None:
        """Refuse a list of nodes that does not name every node once, if features follow it."""
        path, nodes, ids = self.inputs.nodes[ntype][0].path, f"nodes_{number}", f"ids_{self.inputs.ntypes.index(ntype)}"
        repeated = self._value(f"SELECT min(c0) FROM (SELECT c0 FROM {nodes} GROUP BY c0 HAVING count(*) > 1)")
        if repeated is not None:
            raise InputFileError(
                f"a {ntype!r} node is listed twice",
                file=path,
                expected="every ID once, since rows of --node-data follow the list",
                found=_show(repeated),
            )
        missing = self._value(f"SELECT min(id) FROM {ids} i ANTI JOIN {nodes} n ON i.id = n.c0")
        if missing is not None:
            raise InputFileError(
                f"a {ntype!r} node of the edges is not in the list of nodes",
                file=path,
                expected="every ID, since rows of --node-data follow the list",
                found=f"no {_show(missing)}",
            )

    def _run(self, statement: str) -> None:
        with translated_errors(str(self.directory)):
            run(self.connection, statement)

    def _value(self, query: str) -> Any:
        """Return the one value of a query."""
        with translated_errors(str(self.directory)):
            (batch,) = read(self.connection, query)
            return batch.column(0)[0].as_py()

    def _show_begin(self, name: str, units: Sequence[Any]) -> None:
        self.progress.begin(name, len(units), sum(getattr(unit, "nbytes", 1) for unit in units))


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


def _joined_features(table: Table, parts: Sequence[Sequence[Rows]]) -> dict[str, Rows]:
    """Join the features of all files of an edge type; files without rows have no say in the dtype."""
    found: dict[str, Rows] = {}
    for i, column in enumerate(table.columns[2:]):
        rows = [part[i] for part in parts]
        filled = [part for part in rows if part.shape[0]] or rows[:1]
        if len({part.shape[1:] for part in filled}) > 1:
            raise InputFileError(f"column {column.name!r} differs in shape between files", file=table.path)
        found[column.name] = JoinedRows(tuple(filled))
    return found


def _show(value: int | str) -> str:
    return str(value) if isinstance(value, int) else shown(value)
