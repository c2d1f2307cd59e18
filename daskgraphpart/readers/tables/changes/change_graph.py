"""Make changes of a graph that read its edges: split edge types, drop edges, add self-loops.

Every source is rows by now. Sorted or filtered edges, and their features, go through files of a temporary directory.
Edges keep their order within a type, and neither memory nor the cut of rows changes the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.errors import OptionError
from daskgraphpart.graph.companion_files import codes_name
from daskgraphpart.graph.formats import check_ends
from daskgraphpart.graph.output import EDGES_PER_PIECE
from daskgraphpart.graph.rows import KeptRows, SlicedRows
from daskgraphpart.graph.transforms.change_views import append_loops, copy_codes, remove_codes
from daskgraphpart.graph.transforms.check_changes import split_column, split_feature
from daskgraphpart.ids.id_map import id_map_frame
from daskgraphpart.readers.database import insert_batches, open_database, run, stage_rows, translated_errors
from daskgraphpart.readers.tables.place.place_features import scatter_rows
from daskgraphpart.schema import by_plain_name, check_name, parse_edge_type
from daskgraphpart.storage.paths import to_path

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.graph.graph_sources import GraphSources, Select, Selected
    from daskgraphpart.graph.scan_job import ScanJob
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.source import FilePath, Source

_KEY = ("v", "src", "dst")
_SCHEMA = pa.schema([(name, pa.int64()) for name in (*_KEY, "r")])
MAX_SPLIT = 10_000
"""Edge types that one may be split into: each is a directory of every later job, and a key in its configs."""
MOST_SHOWN = 3


@contextmanager
def opened_selection(changes: GraphChanges, job: ScanJob) -> Iterator[Select]:
    """Yield what makes the changes that read edges; files go to the directory of the job."""
    directory, resources = job.directory / "changes", job.runner.resources.limited(SMALLEST_DATABASE_MEMORY)
    directory.mkdir()
    with open_database(directory, resources) as connection:
        how = directory, resources.memory, job.runner.progress
        yield lambda graph, companions: _Selection(connection, changes, companions, *how).of_graph(graph)


@dataclass(frozen=True, slots=True, eq=False)
class _Selection:
    """Sorts edges by value of a column, and selects some; `companions` are files beside the graph, `memory` bytes."""

    connection: duckdb.DuckDBPyConnection
    changes: GraphChanges
    companions: dict[str, FilePath]
    directory: Path
    memory: int
    progress: ProgressListener

    def of_graph(self, graph: GraphSources) -> Selected:
        """Split edge types, drop self-loops and repeated edges, add self-loops; return edges and features."""
        edges: dict[str, Source] = {}
        data = {ntype: dict(graph.data_sources.get(ntype, {})) for ntype in graph.schema.ntypes}
        sizes = {etype: 16 * rows.shape[0] for etype, rows in graph.edge_sources.items()}
        self.progress.begin("change-edges", len(sizes), sum(sizes.values()))
        for etype, rows in graph.edge_sources.items():
            features = dict(graph.data_sources.get(etype, {}))
            column = split_feature(self.changes, etype)
            values = None if column is None else features.pop(column)
            src, relation, dst = etype.split(":")
            has_loops = src == dst and self.changes.removes_loops(etype)
            if values is None and not has_loops and not self.changes.removes_repeats(etype):
                edges[etype], data[etype] = rows, features
            else:
                self._sort(graph, etype, values)
                names = [relation] if column is None else self._relations(etype, column)
                path = str(self.directory / f"edges-{len(data)}")
                staged = self._stage(path, features, column is not None)
                for name, (chosen, with_them) in zip(names, staged, strict=True):
                    split_name = f"{src}:{name}:{dst}"
                    if split_name in edges or (split_name != etype and split_name in sizes):
                        raise OptionError("the edge type exists already", option="edge_types_from", found=split_name)
                    if src == dst and self.changes.adds_loops(etype):
                        chosen, with_them = append_loops(chosen, with_them, graph.schema.node_type(src).num_nodes)
                    edges[split_name], data[split_name] = chosen, with_them
                    copy_codes(self.companions, etype, split_name)
                if column is not None and relation not in names:
                    remove_codes(self.companions, etype)
            if column is not None:
                self.progress.note(f"{etype}: split by {split_column(self.changes, etype)!r} into {len(names):,}")
            self.progress.advance(sizes[etype])
        self.progress.end()
        return edges, data

    def _sort(self, graph: GraphSources, etype: str, values: Source | None) -> None:
        """Fill the table `kept` with values v, ends and numbers r of the edges to keep."""
        if values is not None and (values.dtype.kind not in "biu" or len(values.shape) > 1):
            what, expected = f"edges of type {etype!r} cannot be split", "a column of integers or strings"
            kind = f"{values.dtype.name} of shape {values.shape}"
            raise OptionError(what, option="edge_types_from", expected=expected, found=kind)
        before = graph.edge_sources[etype].shape[0]
        query = "SELECT *, 1 AS times FROM batches"
        has_repeats = self.changes.removes_repeats(etype)
        if has_repeats:
            key = ", ".join(_KEY)
            query = f"SELECT {key}, min(r) AS r, count(*) AS times FROM batches GROUP BY {key}"
        with translated_errors(str(self.directory)):
            statement = f"CREATE OR REPLACE TABLE kept AS {query}"
            insert_batches(self.connection, statement, _SCHEMA, self._batches(graph, etype, values))
            ((kept, count),) = run(self.connection, "SELECT count(*), coalesce(sum(times), 0)::BIGINT FROM kept")
        removed = [f"self-loops: {before - count:,}"] if self.changes.removes_loops(etype) else []
        removed += [f"repeated edges: {count - kept:,}"] if has_repeats else []
        if removed:
            self.progress.note(f"{etype}, {before:,} edges; removed {', '.join(removed)}")

    def _batches(self, graph: GraphSources, etype: str, values: Source | None) -> Iterator[Any]:
        edges = graph.edge_sources[etype]  # collections are staged by now
        edge_type = parse_edge_type(etype, edges.shape[0])
        num_src, num_dst = (graph.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        without_loops = self.changes.removes_loops(etype) and edge_type.src == edge_type.dst
        for start in range(0, edges.shape[0], EDGES_PER_PIECE):
            piece = edges.read(start, min(start + EDGES_PER_PIECE, edges.shape[0]))
            src, dst, rows = *piece.T, np.arange(start, start + len(piece))
            check_ends(src, dst, edge_type, num_src, num_dst, file=None, first_row=start, error=OptionError)
            of_value = np.zeros(len(piece), np.int64) if values is None else values.read(start, start + len(piece))
            columns = [of_value.astype(np.int64, copy=False), src, dst, rows]
            chosen = src != dst if without_loops else slice(None)
            arrays = [pa.array(np.ascontiguousarray(column[chosen])) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    def _relations(self, etype: str, column: str) -> list[str]:
        """Names of the relations: the values, or what they stand for if they are codes."""
        values = [value for (value,) in run(self.connection, "SELECT DISTINCT v FROM kept ORDER BY v LIMIT 10001")]
        if len(values) > MAX_SPLIT:
            what, number = f"edges of type {etype!r}: too many values for relations", f"more than {MAX_SPLIT:,}"
            raise OptionError(what, option="edge_types_from", expected=f"at most {MAX_SPLIT:,}", found=number)
        categories = self.companions.pop(codes_name(etype, column), None)
        names = list(map(str, values))
        if categories is not None:
            texts = id_map_frame(to_path(categories))["id"].compute(scheduler="sync").tolist()
            names = [texts[value] for value in values]
        plain = by_plain_name(names, f"relations of {etype}")
        if renamed := [f"{before!r} is {name}" for name, before in plain.items() if before != name]:
            more = f", and {len(renamed) - MOST_SHOWN:,} more" if renamed[MOST_SHOWN:] else ""
            shown = ", ".join(renamed[:MOST_SHOWN])
            self.progress.note(f"relations of {etype} get names that files can hold: {shown}{more}")
        for name in plain:
            check_name(name, f"relation of {etype},", OptionError, place="--edge-types-from")
        return [*plain]

    def _stage(
        self, path: str, features: Mapping[str, Source], is_split: bool
    ) -> Iterator[tuple[Source, dict[str, Source]]]:
        """Write the kept edges to a file; yield those of each value with their features."""
        int64 = np.dtype(np.int64)
        edges = stage_rows(self.connection, "SELECT src, dst FROM kept ORDER BY v, r", path, int64, (2,))
        counts = run(self.connection, "SELECT count(*) FROM kept GROUP BY v ORDER BY v")
        counts = counts if is_split else [(edges.num_rows,)]
        placed: dict[str, Source] = {}
        if features:
            numbers = stage_rows(self.connection, "SELECT r FROM kept ORDER BY r", f"{path}-numbers", int64)
            placed = {name: KeptRows(rows, numbers) for name, rows in features.items()}
        if features and len(counts) > 1:
            place = "SELECT row_number() OVER (ORDER BY v, r) - 1 AS place, r FROM kept"
            query = f"SELECT place FROM ({place}) ORDER BY r"
            places = stage_rows(self.connection, query, f"{path}-places", int64)
            for i, (name, rows) in enumerate(placed.items()):
                placed[name] = scatter_rows(rows, places, edges.num_rows, 0, f"{path}-{i}", self.memory // 16)
        ends = list(itertools.accumulate(count for (count,) in counts))
        for start, stop in zip([0, *ends], ends, strict=False):
            of_value: dict[str, Source] = {n: SlicedRows(rows, start, stop) for n, rows in placed.items()}
            yield SlicedRows(edges, start, stop), of_value
