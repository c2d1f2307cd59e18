"""Write a graph or scan as a chunked graph; with a workspace in a store, there."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.runner import Runner, open_runner
from daskgraphpart.graph.companion_files import copy_companions
from daskgraphpart.graph.graph import Graph, read_chunked
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.graph.output import claimed_directory
from daskgraphpart.graph.scan import Scan
from daskgraphpart.graph.scan_job import ScanJob
from daskgraphpart.graph.share_arrays import is_seen_everywhere
from daskgraphpart.graph.write_graph import TASK_MEMORY, ChunkFormat, write_graph
from daskgraphpart.jobs.open_workspace import open_workspace
from daskgraphpart.schema import check_name
from daskgraphpart.storage.files import directory_on_disk
from daskgraphpart.storage.local_store import LOCAL
from daskgraphpart.storage.paths import check_apart, is_url, require_local, resolve_path
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.graph.graph_methods import GraphMethods
    from daskgraphpart.storage.output_lock import OutputLock
    from daskgraphpart.storage.store import WorkspaceStore


@dataclass(frozen=True, slots=True)
class Saving:
    """How a chunked graph is written, and by what; an empty name stays that of the graph."""

    form: ChunkFormat
    name: str
    overwrite: bool
    resources: Resources
    progress: ProgressListener
    store: WorkspaceStore = LOCAL
    claimed: OutputLock | None = None

    def write(self, scan: Scan, out: Path, scratch: Path) -> None:
        """Read a graph and write it to a directory."""
        seen = None if self.store.is_on_disk else out.parent / "tables"
        with ExitStack() as stack:
            with self._runner(self._is_read_by_workers(scan.known), scratch) as runner:
                job = ScanJob(
                    scratch / "tables",
                    runner,
                    lambda paths: stack.enter_context(claimed_directory(out, paths, self.overwrite, self.claimed)),
                    seen=seen,
                )
                graph = scan.read_for(job)
            copy_companions(graph.companions, out)
            schema = replace(graph.schema, name=self.name or graph.schema.name)
            with self._runner(not self.store.is_on_disk and is_seen_everywhere(graph), scratch) as runner:
                write_graph(replace(graph, schema=schema), out, self.form, runner)

    def _is_read_by_workers(self, known: Graph | None) -> bool:
        """Whether workers read what is not read in place: else neither arrays nor local files are sent anywhere."""
        if not self.store.is_on_disk:
            return known is None or is_seen_everywhere(known)
        return known is not None and not all(source.can_seek for source in known.sources)

    @contextmanager
    def _runner(self, has_workers: bool, scratch: Path) -> Iterator[Runner]:
        resources = self.resources if has_workers else replace(self.resources, cluster="threads")
        with open_runner(resources, self.progress, store=self.store) as runner:
            runner.check_shared([("workspace", scratch, "")] if self.store.is_on_disk else [])
            yield runner


def save_graph(
    graph: GraphMethods[Any], out: str | os.PathLike[str], storage_options: Mapping[str, Any] | None, saving: Saving
) -> Graph:
    """Write a graph or scan as a chunked graph; return it, open."""
    check_name(saving.name or "graph", "graph name")
    scan = GraphScan(graph) if isinstance(graph, Graph) else graph
    assert isinstance(scan, Scan), "it is one or the other"
    resources = saving.resources.limited(max(scan.smallest_memory, TASK_MEMORY))
    saving = replace(saving, resources=resources)
    if is_url(resources.workspace):
        place = resolve_path(out, storage_options)
        check_apart(place, scan.paths)
        with open_workspace(resources, place, scan.paths) as store:
            with store.claimed() as (store, claimed), directory_on_disk(store.output) as scratch:
                replace(saving, store=store, claimed=claimed).write(scan, store.output, scratch)
            saving.progress.note(f"store: {store.describe_traffic()}")
    else:
        where = "give a --workspace in the store, too, or a directory"
        directory = require_local(out, "a graph that is written", where).absolute()
        with scratch_directory(resources.workspace or directory.parent) as scratch:
            saving.write(scan, directory, scratch)
    return read_chunked(out, storage_options=storage_options)
