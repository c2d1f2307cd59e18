"""Write a graph as a chunked graph: count its lines, compute its collections, copy what goes with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from daskgraphpart.chunked.beside import copy_beside
from daskgraphpart.chunked.output import claimed_directory
from daskgraphpart.chunked.partitions import count_lines
from daskgraphpart.chunked.stage_collections import BYTES_PER_BLOCK, stage_collections
from daskgraphpart.chunked.write_graph import ChunkFormat, write_graph
from daskgraphpart.engine.runner import Runner, open_runner
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.engine.resources import Resources


@dataclass(frozen=True, slots=True)
class Saving:
    """Where a chunked graph is written, how, and by what; an empty name stays that of the graph."""

    out: Path
    form: ChunkFormat
    name: str
    overwrite: bool
    resources: Resources
    progress: ProgressListener

    def threads(self) -> AbstractContextManager[Runner]:
        """Open a runner of threads, to send neither arrays nor local files anywhere."""
        return open_runner(replace(self.resources, cluster="threads"), self.progress)

    def scratch(self) -> AbstractContextManager[Path]:
        """Make a directory for temporary files."""
        return scratch_directory(self.resources.workspace or self.out.parent)

    def write(self, graph: Graph, runner: Runner) -> Path:
        """Write a graph of which any range of rows can be read, and the files beside it; return the metadata file."""
        copy_beside(graph.beside, self.out)
        schema = replace(graph.schema, name=self.name or graph.schema.name)
        return write_graph(replace(graph, schema=schema), self.out, self.form, runner)


def save_graph(graph: Graph, saving: Saving) -> Path:
    """Write a graph, from this process; the cluster only computes collections. Return the metadata file."""
    with saving.scratch() as scratch, claimed_directory(saving.out, map(str, graph.files), saving.overwrite):
        with saving.threads() as runner:
            graph = count_lines(graph, BYTES_PER_BLOCK, runner)
        if not all(source.can_seek for source in graph.sources):  # no cluster for nothing
            with open_runner(saving.resources, saving.progress) as runner:
                runner.scheduler.check_shared([("workspace", scratch, "")])
                graph = stage_collections(graph, scratch, runner)
        with saving.threads() as runner:
            return saving.write(graph, runner)
