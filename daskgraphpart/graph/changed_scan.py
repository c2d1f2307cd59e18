"""`ChangedScan`: a graph or scan, and changes to make of it once it is read."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.graph.scan import ROWS_OF, Scan
from daskgraphpart.graph.transforms.change_views import add_reverse_types, cast_features, double_edges
from daskgraphpart.graph.transforms.changes import GraphChanges, describe_changes, join_changes, outline_changes
from daskgraphpart.graph.transforms.check_changes import check_changes

if TYPE_CHECKING:
    from daskgraphpart.graph.graph_sources import Select
    from daskgraphpart.graph.scan_job import ScanJob
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChangedScan(Scan):
    """A scan, and changes to make of its graph."""

    before: Scan
    changes: GraphChanges

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self.before.name

    @property
    def files(self) -> list[str]:
        """All files of the graph before."""
        return self.before.files

    @property
    def paths(self) -> list[Location]:
        """Locations of all files of the graph before."""
        return self.before.paths

    @property
    def source_types(self) -> tuple[type, ...]:
        """Those of the graph before."""
        return self.before.source_types

    @property
    def maps_ids(self) -> bool:
        """Whether nodes are in the order of their IDs, which nobody has seen yet."""
        return self.before.maps_ids

    @property
    def smallest_memory(self) -> int:
        """Bytes without which nothing can be read."""
        return max(SMALLEST_DATABASE_MEMORY, self.before.smallest_memory)

    def identity(self) -> dict[str, Any]:
        """Describe the changes, and the graph before: its rows in memory by name, the rest by a checksum."""
        before = self.before.identity()
        rows = {what: before.pop(what) for what in [*before] if what.startswith(ROWS_OF)}
        return {**describe_changes(self.changes), **rows, "before": zlib.crc32(repr(sorted(before.items())).encode())}

    def read(self, job: ScanJob) -> Graph:
        """Read the graph before, and change it."""
        inner = job.inner("before")
        graph = self.before.read(replace(inner, counts_only=job.counts_only and not self.changes.read_edges))
        check_changes(self.changes, graph.schema.ntypes, graph.schema.etypes, graph.data_sources)
        return change_graph(graph, self.changes, job)

    def outline(self) -> list[tuple[str, str]]:
        """Say what is known of the graph before, and which changes follow."""
        return [*self.before.outline(), *outline_changes(self.changes)]

    def _scanned(self, changes: GraphChanges) -> Scan:
        joined = join_changes(self.changes, changes)
        return ChangedScan(self, changes) if joined is None else replace(self, changes=joined)


def change_given(given: Any, changes: GraphChanges) -> Graph | Scan:
    """Change a graph, or describe changes that read edges or are of a scan."""
    if not isinstance(given, Graph):
        return ChangedScan(given, changes)
    check_changes(changes, given.schema.ntypes, given.schema.etypes, given.data_sources)
    return ChangedScan(GraphScan(given), changes) if changes.read_edges else _changed(given, changes)


def change_graph(graph: Graph, changes: GraphChanges, job: ScanJob) -> Graph:
    """Return the changed graph; files go to the directory of the job."""
    if not changes.read_edges:
        return _changed(graph, changes)
    from daskgraphpart.readers.tables.changes.change_graph import opened_selection  # imports duckdb

    with opened_selection(changes, job) as select:
        return _changed(graph, changes, select)


def _changed(graph: Graph, changes: GraphChanges, select: Select | None = None) -> Graph:
    """Return the changed graph; `select` makes the changes that read edges, and may change companions."""
    ntypes, edges, companions = graph.schema.ntypes, dict(graph.edge_sources), dict(graph.companions)
    data = cast_features(changes, graph.data_sources)
    double_edges(changes, ntypes, edges, data)
    if select is not None:
        edges, data = select(replace(graph, edge_sources=edges, data_sources=data), companions)
    edges = add_reverse_types(changes, ntypes, edges, data, companions)
    counts = {of.name: of.num_nodes for of in graph.schema.node_types}
    return replace(graph_of(graph.name, counts, edges, data), raw_ids=graph.raw_ids, companions=companions)
