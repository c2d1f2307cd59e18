"""Pass `partition-graph`: the part of every node, by one task with a thread per worker, or by all workers of a cluster.

The chosen method is asked; ours give a small graph to libraries, and coarsen a larger one first. One task has arrays of
all nodes; from disk it reads blocks of the adjacency. On a cluster, each worker has some of these arrays, and each call
that workers share is a round of tasks: units of the journal, so that a lost worker costs its share of one, and a run
that is resumed goes on with the next. Tasks leave their inputs alone, so that they can run twice.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.local import give_memory_back
from daskgraphpart.engine.resources import usable_cores
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.method import MethodJob, find_method
from daskgraphpart.partitioner.assign_options import METHODS
from daskgraphpart.partitioner.choose import SHARED_ARCS, block_nbytes, can_share
from daskgraphpart.partitioner.multilevel.by_workers import SharedProgram
from daskgraphpart.partitioner.multilevel.refine import Limits
from daskgraphpart.partitioner.multilevel.side_by_side import by_threads
from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph
from daskgraphpart.partitioner.solver import Solver
from daskgraphpart.storage.files import directory_on_disk, make_directory
from daskgraphpart.storage.region import save_npy

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
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


@dataclass(frozen=True, slots=True)
class ShareConfig:
    """What to partition, with memory and threads of the smallest worker; names of files to exchange; a round."""

    config: PartitionConfig
    path: str
    shares: int
    number: int


def is_shared(config: PartitionConfig, runner: Runner) -> bool:
    """Whether there are workers to share the work, and a method and a graph for that."""
    adjacency, num_balanced = config.problem.adjacency, len(config.problem.balanced)
    if runner.scheduler.processes == 1:
        return False
    if not config.asks_method:
        return adjacency.num_arcs > SHARED_ARCS
    return can_share(adjacency.num_nodes, adjacency.num_arcs, num_balanced, config.options)


def partition_together(config: PartitionConfig, runner: Runner) -> str:
    """Run rounds until the method has found the part of every node; return how."""
    directory = config.problem.directory / "rounds"
    make_directory(directory)
    run, shares = runner.step("count-workers", lambda: (secrets.token_hex(4), runner.scheduler.processes))
    nbytes, of_smallest = config.problem.adjacency.nbytes, runner.scheduler.shares
    config = replace(config, memory=config.memory // of_smallest, workers=max(1, config.workers // of_smallest))
    with runner.as_one("partition-graph", nbytes) as quiet:
        for number in count():
            units = [Unit(share, nbytes) for share in range(shares)]
            together = ShareConfig(config, f"{directory}/{run}-", shares, number)
            ended = quiet.run(Pass("partition-graph", share_round, units, together))
            if ended[0] is not None:
                return ended[0]
    raise AssertionError("rounds end")


def share_round(share: int, together: ShareConfig) -> str | None:
    """Do a share of a round; return how parts were found if that was done before."""
    config = together.config
    fit = config.memory // max(1, block_nbytes(config.problem.adjacency.num_arcs))
    threads = max(1, min(config.workers, fit))  # each reads a block
    program = partial(_find_parts, config)
    of_process = SharedProgram.find(program, together.path, together.shares, threads, together.number)
    return of_process.compute(share, together.number)


def _find_parts(config: PartitionConfig, each: Map) -> str:
    """Find and write the part of every node, as each worker does; return how."""
    problem, memory = config.problem, config.memory
    graph, limits = problem.graph().cut_up(each), Limits(problem.num_parts, problem.limits)
    solver = Solver(
        config.options,
        limits,
        problem.directory,
        each,
        memory,
        problem.adjacency.num_isolated,
        problem.is_impossible,
        2 * config.schema.num_edges,
    )
    parts, taken = solver.solve(graph) if config.asks_method else solver.change(graph, config.start)
    each.share(lambda path: save_npy(path, parts), [config.parts.path])
    return taken
