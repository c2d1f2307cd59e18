"""Build the adjacency of a chunked graph, out of core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.merge_arcs import merge_runs
from daskgraphpart.adjacency.split_edges import split_edges_of
from daskgraphpart.storage.region import create_files, npy_region
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.adjacency.csr_blocks import Adjacency
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class HomogeneousGraph:
    """What partitioners see of a chunked graph."""

    # symmetrised, merged, without self-loops; the weight of an edge is how many edges of the input it stands for
    adjacency: Adjacency
    # edges of the input that point at each node, self-loops and parallel edges included, int64 (nodes,)
    in_degrees: Region


def build_adjacency(graph: ChunkedGraph, directory: Path, runner: Runner) -> HomogeneousGraph:
    """Read all edges once and write CSR blocks."""
    directory.mkdir(parents=True, exist_ok=True)
    in_degrees = npy_region(directory / "in_degrees.npy", np.int64, (graph.schema.num_nodes,))
    runner.step("create-in-degrees", lambda: create_files([in_degrees]))
    runs = split_edges_of(graph, directory, runner)
    return HomogeneousGraph(merge_runs(runs, directory, in_degrees, runner), in_degrees)


def adjacency_nbytes(schema: GraphSchema) -> int:
    """Bytes of CSR blocks and in-degrees: an upper bound, which parallel edges and self-loops undercut."""
    return 16 * schema.num_nodes + 4 * id_dtype(schema.num_nodes).itemsize * schema.num_edges


def workspace_nbytes(schema: GraphSchema) -> int:
    """Bytes of temporary files at their peak: the CSR blocks beside the arcs they are merged from."""
    return adjacency_nbytes(schema) + 4 * id_dtype(schema.num_nodes).itemsize * schema.num_edges
