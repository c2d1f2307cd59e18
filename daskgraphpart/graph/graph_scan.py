"""`GraphScan`: a graph that is there already, as the input of a job or of changes."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.graph.metadata import METADATA_FILE
from daskgraphpart.graph.scan import ROWS_OF, Scan
from daskgraphpart.graph.share_arrays import make_seekable, share_arrays
from daskgraphpart.source import describe_views
from daskgraphpart.storage.files import cached_listings, is_file, read_file
from daskgraphpart.storage.paths import Location, to_path
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan_job import ScanJob
    from daskgraphpart.graph.transforms.changes import GraphChanges


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GraphScan(Scan):
    """A graph that needs no reading: its rows stay where they are."""

    graph: Graph

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def known(self) -> Graph:
        return self.graph

    @property
    def files(self) -> list[str]:
        return [str(path) for path in self.paths]

    @property
    def paths(self) -> list[Location]:
        return [*self._metadata, *map(to_path, self.graph.files)]

    @property
    def directory(self) -> Location | None:
        return to_path(self.graph.directory) if self.graph.directory else None

    @property
    def _metadata(self) -> list[Location]:
        return [to_path(self.graph.directory) / METADATA_FILE] if self.graph.directory else []

    def identity(self) -> dict[str, Any]:
        """Describe the graph: checksums of its metadata and schema, and names of collections."""
        with cached_listings(to_path(self.graph.directory)):
            content = b"".join(read_file(path) for path in self._metadata if is_file(path))
        rows = {of.name: self.graph._sources_of(of.name) for of in self.graph.schema.row_types}
        views = [describe_views(source) for sources in rows.values() for source in sources]
        facts: dict[str, Any] = {
            "metadata": zlib.crc32(content + repr(self.files).encode()),
            "schema": [self.name, zlib.crc32(repr((self.graph.schema, views)).encode())],
        }
        tokens = {name: [token for source in sources for token in source.tokens] for name, sources in rows.items()}
        return {**facts, **{f"{ROWS_OF} {name!r}": of for name, of in tokens.items() if of}}

    def read(self, job: ScanJob) -> Graph:
        """Count lines and compute collections; all other rows stay where they are."""
        job.on_open(self.files)
        return make_seekable(self.graph, job.shared, job.runner)

    def stage(self, directory: Path, runner: Runner, edge_weights: tuple[str, ...] = ()) -> Graph:
        """Return the graph; its arrays lie in files of the directory if tasks run in other processes."""
        return share_arrays(self.graph, directory, runner.resources)

    @contextmanager
    def counted(
        self, resources: Resources, edge_weights: tuple[str, ...] = (), progress: Progress | None = None
    ) -> Iterator[Graph]:
        yield self.graph

    @contextmanager
    def open_graph(self, resources: Resources, progress: Progress | None = None) -> Iterator[Graph]:
        """Yield the graph, with its arrays in temporary files if tasks run in other processes."""
        with scratch_directory(resources.workspace or tempfile.gettempdir()) as scratch:
            yield share_arrays(self.graph, scratch / "arrays", resources)

    def outline(self) -> list[tuple[str, str]]:
        return [("graph", line) for line in repr(self.graph).splitlines()[:1]]

    def _viewed(self, changes: GraphChanges) -> Scan:
        return replace(self, graph=self.graph._viewed(changes))

    def _scanned(self, changes: GraphChanges) -> Scan:
        return self.graph._scanned(changes)
