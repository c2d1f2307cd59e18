"""Pass `partition-graph`: the part of every node, by one task with a thread per worker.

The chosen method is asked; ours give a small graph to libraries, and coarsen a larger one first. The task needs random
access to arrays of all nodes, which machines cannot share; from disk it reads blocks of the adjacency. It leaves its
inputs alone, so that it can run twice. Memory and workers say how many threads run, and nothing else.
"""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.local import give_memory_back
from daskgraphpart.engine.resources import usable_cores
from daskgraphpart.method import MethodJob
from daskgraphpart.partitioner.assign_options import METHODS
from daskgraphpart.partitioner.choose import block_nbytes
from daskgraphpart.partitioner.find_method import find_method
from daskgraphpart.partitioner.multilevel.side_by_side import by_threads
from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph
from daskgraphpart.partitioner.solver import Solver
from daskgraphpart.storage.files import directory_on_disk
from daskgraphpart.storage.region import save_npy

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.weigh_nodes import NodeWeights
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class Problem:
    """A graph with node weights, the first `num_wanted` to be balanced, and a directory for files."""

    adjacency: Adjacency
    weights: NodeWeights
    num_wanted: int
    num_parts: int
    directory: Path

    @property
    def balanced(self) -> list[int]:
        """Numbers of the weights to balance: those that some node has, and always the first."""
        return [i for i in range(self.num_wanted) if self.weights.constraints[i].total or i == 0]

    @property
    def limits(self) -> np.ndarray:
        """Most that a part may weigh, int64 (constraints,)."""
        return np.array([self.weights.constraints[i].limit(self.num_parts) for i in self.balanced], np.int64)

    def graph(self) -> WeightedGraph:
        """Return the graph with its node weights."""
        columns = tuple(self.weights.columns[i].memmap() for i in self.balanced)
        return WeightedGraph(self.adjacency.blocks, columns, self.adjacency.total_weight)

    @property
    def is_impossible(self) -> bool:
        """Whether one node weighs more than a part may."""
        return any(self.weights.constraints[i].warn_of_node(self.num_parts) for i in self.balanced)


@dataclass(frozen=True, slots=True)
class PartitionConfig:
    """What to partition, and how.

    If no method is asked, there is nothing to cut, or `start` (int32) has parts to balance or refine; or parts of some
    nodes, with -1 for those to assign.
    """

    schema: GraphSchema
    problem: Problem
    options: AssignOptions
    memory: int
    workers: int
    asks_method: bool
    start: Region | None
    parts: Region  # the output


def partition_graph(_: None, config: PartitionConfig) -> str:
    """Find and write the part of every node; return how."""
    give_memory_back()  # for the libraries
    block = block_nbytes(config.problem.adjacency.num_arcs)
    threads = min(config.workers, usable_cores(), max(1, config.memory // max(1, block)))
    problem = config.problem
    graph = problem.graph().on_disk()
    with directory_on_disk(problem.directory) as directory, ThreadPoolExecutor(threads) as pool:
        scratch = Path(tempfile.mkdtemp(prefix="partition-", dir=directory))
        graph = graph.cut_up(by_threads(pool, threads))
        job = MethodJob(
            config.schema, problem.num_parts, config.options.seed, range(graph.num_nodes), graph, problem.limits,
            problem.adjacency.num_isolated, problem.is_impossible, scratch, config.memory, threads,
        )  # fmt: skip
        parts, taken = _partition(job, graph, config, pool)
        shutil.rmtree(scratch, ignore_errors=True)
    save_npy(config.parts.path, parts)
    return taken


def _partition(
    job: MethodJob, graph: WeightedGraph, config: PartitionConfig, pool: ThreadPoolExecutor
) -> tuple[np.ndarray, str]:
    """Return the part of each node, int32 (nodes,), and its source; improves given parts."""
    options, solver = config.options, Solver.of(config.options, job, pool)
    if not config.asks_method:
        return solver.change(graph, config.start)
    parts = find_method(options).owners(job)
    if options.refine and options.method not in METHODS:  # ours refine by themselves
        parts = solver.improve(graph, parts)
    return parts, job.told[-1] if job.told else str(options.method)
