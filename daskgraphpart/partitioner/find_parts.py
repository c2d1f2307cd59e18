"""Find the part of every node in one way: adjacency, weights of nodes, parts by a method or from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import OptionError
from daskgraphpart.method import find_method
from daskgraphpart.partitioner.adjacency.build_adjacency import build_adjacency
from daskgraphpart.partitioner.assign_options import METHODS, AssignOptions
from daskgraphpart.partitioner.balance import parse_balance
from daskgraphpart.partitioner.choose import LIBRARY_NAMES, Way, choose
from daskgraphpart.partitioner.owner_parts import read_parts
from daskgraphpart.partitioner.partition_pass import (
    PartitionConfig,
    Problem,
    is_shared,
    partition_graph,
    partition_together,
)
from daskgraphpart.partitioner.weigh_nodes import weigh_nodes
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency
    from daskgraphpart.partitioner.assignment import Owners
    from daskgraphpart.partitioner.balance import BalanceConstraint
    from daskgraphpart.partitioner.extend.match_nodes import OldParts
    from daskgraphpart.partitioner.training.training_graph import TrainingGraph
    from daskgraphpart.partitioner.weigh_nodes import WeightColumn
    from daskgraphpart.schema import GraphSchema


class Solved(NamedTuple):
    """Parts of all nodes, what made them and why, and the memory that was expected."""

    parts: Region
    method: str
    why: str
    need: int


def prepare(
    graph: Graph, num_parts: int, way: Way, directory: Path, runner: Runner, training: TrainingGraph | None
) -> Problem:
    """Build the adjacency and weigh nodes, for balance and report."""
    if training is None or way.weights is None:
        adjacency = build_adjacency(graph, directory, runner, way.options.edge_weight)
    else:
        adjacency = training.weigh(way.weights, directory, runner)
    known = {} if training is None else training.columns
    return weigh(graph, num_parts, way.options.constraints, adjacency, training, known, directory, runner)


def weigh(
    graph: Graph,
    num_parts: int,
    items: tuple[BalanceConstraint, ...],
    adjacency: Adjacency,
    training: TrainingGraph | None,
    known: Mapping[str, WeightColumn],
    directory: Path,
    runner: Runner,
) -> Problem:
    """Weigh nodes, for balance and report."""
    wanted = items if training is None else training.constraints(items)
    names = {item.name for item in wanted}
    reported = tuple(item for item in parse_balance("nodes=0,edges") if item.name not in names)
    weights = weigh_nodes(graph, (*wanted, *reported), adjacency.in_degrees, directory, runner, known=known)
    num_wanted = len(weights.constraints) - len(reported)
    if graph.schema.num_nodes and not any(constraint.total for constraint in weights.constraints[:num_wanted]):
        place, hint = f"--balance {','.join(item.name for item in wanted)}", "add nodes to --balance"
        raise OptionError("nothing to balance: no node has a weight", place=place, hint=hint)
    return Problem(adjacency, weights, num_wanted, num_parts, directory)


def partition(
    schema: GraphSchema,
    problem: Problem,
    given: Owners | None,
    old: OldParts | None,
    options: AssignOptions,
    runner: Runner,
) -> Solved:
    """Find the part of every node."""
    adjacency = problem.adjacency
    parts, start = (
        npy_region(problem.directory / f"{n}.npy", np.int32, (adjacency.num_nodes,)) for n in ("parts", "given")
    )
    if given is not None:
        runner.step("create-given", lambda: create_files([start]))
        read_parts(given.files, start, runner)
        if options.keeps_owners:
            return Solved(start, given.method, "", 0)
    asks = given is None and old is None and problem.num_parts > 1 and adjacency.num_arcs > 0
    begin = old.parts if old is not None else start if given is not None else None
    taken = find_parts(schema, problem, options, begin, parts, runner, asks=asks)
    if given is not None:
        return Solved(parts, given.method, "", 0)
    if old is not None:
        return Solved(parts, f"extend ({old.matched}; {taken})", "", 0)
    if not asks:
        why = f"{options.method}: nothing to cut, so the parts are only balanced"
        return Solved(parts, str(options.method), why, 0)
    sizes = adjacency.num_nodes - adjacency.num_isolated, adjacency.num_arcs, len(problem.balanced)
    if options.method not in METHODS:
        return Solved(parts, taken, "", find_method(options).memory(*sizes))
    choice, kept = choose(*sizes, options), taken.partition(" ")[0]
    is_one_of_several = choice.method == "auto" and len(choice.whole + choice.coarse) > 1 and kept in LIBRARY_NAMES
    kept = f"; kept {LIBRARY_NAMES[kept]}'s result" if is_one_of_several else ""
    return Solved(parts, taken, choice.why + kept, choice.need)


def find_parts(
    schema: GraphSchema,
    problem: Problem,
    options: AssignOptions,
    begin: Region | None,
    parts: Region,
    runner: Runner,
    *,
    asks: bool,
) -> str:
    """Write the part of every node, asking the method or changing the parts to begin with; return how."""
    resources = runner.resources
    config = PartitionConfig(schema, problem, options, resources.memory, resources.workers, asks, begin, parts)
    if is_shared(config, runner):
        return partition_together(config, runner)
    (taken,) = runner.run(Pass("partition-graph", partition_graph, [Unit(None, problem.adjacency.nbytes)], config))
    return taken
