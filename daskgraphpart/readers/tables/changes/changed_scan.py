"""`ChangedScan`: a graph, or a scan, with changes, some of which read edges."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.graph.scan import ROWS_OF, Scan
from daskgraphpart.graph.transforms.changes import describe_changes, join_changes, outline_changes
from daskgraphpart.graph.transforms.check_changes import check_changes
from daskgraphpart.readers.tables.changes.change_graph import change_graph

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import ScanJob
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChangedScan(Scan):
    """A scan, and changes to make of its graph."""

    before: Scan
    changes: GraphChanges

    @classmethod
    def of_graph(cls, graph: Graph, changes: GraphChanges) -> ChangedScan:
        """Describe changes of a graph that is there."""
        return cls(GraphScan(graph), changes)

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
        """The same as locations."""
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
