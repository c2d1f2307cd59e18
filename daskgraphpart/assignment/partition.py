"""Pass `partition-graph`: the part of every node, by one task with as many threads as the job has workers.

The task works on arrays of all nodes at random, which machines cannot share; what it reads from disk are blocks of the
adjacency. It changes none of its inputs, so that it can be repeated.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.choose import BLOCK_NBYTES, coarse_arcs, needs
from daskgraphpart.assignment.multilevel.graph import Graph
from daskgraphpart.assignment.multilevel.refine import Limits, assign_rest, rebalance
from daskgraphpart.assignment.multilevel.stream import FENNEL_PASSES, stream
from daskgraphpart.assignment.solve import Solver
from daskgraphpart.engine.malloc import give_memory_back
from daskgraphpart.storage.region import save_npy

if TYPE_CHECKING:
    from daskgraphpart.adjacency.csr_blocks import Adjacency
    from daskgraphpart.assignment.choose import Choice
    from daskgraphpart.assignment.multilevel.graph import Map
    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.assignment.weigh_nodes import NodeWeights
    from daskgraphpart.storage.region import Region

REFINE_CYCLES = 4  # V-cycles at most, where an assignment is refined


@dataclass(frozen=True, slots=True)
class Problem:
    """A graph with node weights, of which the first `num_wanted` have to be balanced, and a directory for files."""

    adjacency: Adjacency
    weights: NodeWeights
    num_wanted: int
    num_parts: int
    directory: Path

    @property
    def balanced(self) -> list[int]:
        """Numbers of the weights to be balanced: those that a node has, and the first, so that there is one."""
        return [i for i in range(self.num_wanted) if self.weights.constraints[i].total or i == 0]


@dataclass(frozen=True, slots=True)
class PartitionConfig:
    """What is partitioned, and how.

    Without a choice there is nothing to cut, or parts are given (`start`, int32) and have to be balanced or refined.
    """

    problem: Problem
    options: AssignOptions
    memory: int
    workers: int
    choice: Choice | None
    start: Region | None
    parts: Region  # where the parts go


def partition_graph(_: None, config: PartitionConfig) -> str:
    """Find the part of every node and write them; return what they come from."""
    give_memory_back()  # to the libraries
    threads = min(config.workers, len(os.sched_getaffinity(0)), max(1, config.memory // BLOCK_NBYTES))
    problem, balanced = config.problem, config.problem.balanced
    columns = tuple(problem.weights.columns[i].memmap() for i in balanced)
    graph = Graph(problem.adjacency.blocks, columns, problem.adjacency.total_weight)
    most = [problem.weights.constraints[i].limit(problem.num_parts) for i in balanced]
    limits = Limits(problem.num_parts, np.array(most, np.int64))
    scratch = Path(tempfile.mkdtemp(prefix="partition-", dir=problem.directory))
    with ThreadPoolExecutor(threads) as pool:
        parts, taken = _partition(graph, limits, config, scratch, pool.map if threads > 1 else map)
    shutil.rmtree(scratch, ignore_errors=True)
    save_npy(config.parts.path, parts)
    return taken


def _partition(
    graph: Graph, limits: Limits, config: PartitionConfig, directory: Path, each: Map
) -> tuple[np.ndarray, str]:
    options, choice = config.options, config.choice
    given = None if config.start is None else config.start.read()
    is_fennel = choice is not None and choice.method == "fennel"
    taken = "given"
    if given is None and (choice is None or is_fennel):
        passes = options.passes or FENNEL_PASSES
        num_isolated = config.problem.adjacency.num_isolated
        given = stream(graph, limits, passes, num_isolated) if is_fennel else np.full(graph.num_nodes, -1, np.int32)
        taken = f"fennel ({passes} pass{'es' * (passes > 1)})"
        assign_rest(graph, given, limits)
        rebalance(graph, given, limits, each)
    if given is not None and not options.refine:
        if taken == "given":
            rebalance(graph, given, limits, each)
        return given, taken
    need = needs(graph.num_nodes, graph.num_arcs, len(graph.columns), options)
    fits = need["graph"] <= config.memory and not (choice and choice.method == "multilevel")
    solver = Solver(
        limits,
        calls=choice.calls if choice is not None else (),
        refines=choice is not None and choice.method in ("auto", "multilevel"),
        cycles=REFINE_CYCLES if options.runs_cycles else 0,
        most_arcs=graph.num_arcs if fits else coarse_arcs(config.memory),
        moves_nodes=options.effort == "fast",
        seed=options.seed,
        is_side_by_side=sum(need[library] for library in ("metis", "kaminpar")) <= config.memory,
        directory=directory,
        each=each,
    )
    parts, found = solver.partition(graph, given)
    if given is not None:
        return min(given, parts, key=lambda these: limits.value(graph, these, each)), taken
    return parts, f"multilevel, coarsest graph by {found}" if choice and choice.method == "multilevel" else found
