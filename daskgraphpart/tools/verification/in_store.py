"""Open what `verify` compares where machines share a store, and no disk."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.dispatching.job import smallest_task_memory
from daskgraphpart.jobs.job_inputs import input_paths
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.jobs import OutputDirectory, open_job
from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import Location


def smallest_memory(schema: GraphSchema) -> int:
    """Least memory of a task: two bitmaps over the nodes, as for hops."""
    return smallest_task_memory(schema, DispatchOptions(num_hops=2))


@contextmanager
def open_graph_in_store(
    scan: Scan, config: Location, resources: Resources, listener: ProgressListener
) -> Iterator[tuple[Graph, Runner]]:
    """Yield the graph, and a runner with a workspace in the store; every run starts over."""
    from daskgraphpart.jobs.open_workspace import open_workspace  # imports fsspec

    with open_workspace(resources, config, input_paths(scan), is_output=False) as store:
        known = 0 if scan.known is None else scan.known.schema.num_nodes
        store.note_needs(known * id_dtype(known).itemsize, 0, 0)  # original IDs are looked up
        smallest = scan.smallest_memory if scan.known is None else smallest_memory(scan.known.schema)
        own = replace(resources.limited(smallest), workspace=store.root)
        run = JobOptions(own, restart=True, progress=listener, can_continue=False)
        place = OutputDirectory(store.output, store.root, lambda _: None, lambda: None)
        with open_job(place, scan, {"command": "verify"}, run) as (work, runner):
            graph = scan.stage(Path(work.root) / "tables", runner)
            with runner.for_tasks_of(smallest_memory(graph.schema)) as limited:
                yield graph, limited
        listener.note(f"store: {store.describe_traffic()}")
