"""Partition the graph in one way or several: adjacency, weights, the parts, their measures; keep the best."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import OptionError
from daskgraphpart.partitioner.adjacency.build_adjacency import build_adjacency
from daskgraphpart.partitioner.adjacency.weigh_edges import count_cut_edges
from daskgraphpart.partitioner.assign_options import METHODS, AssignOptions
from daskgraphpart.partitioner.assign_report import AssignReport, WeightedCut, measure
from daskgraphpart.partitioner.assignment import Assignment, create_owner_files
from daskgraphpart.partitioner.balance import parse_balance
from daskgraphpart.partitioner.choose import LIBRARY_NAMES, MOST_TRIES, Way, choose, list_ways
from daskgraphpart.partitioner.find_method import find_method
from daskgraphpart.partitioner.owner_parts import fill_parts, read_parts, write_parts
from daskgraphpart.partitioner.partition_pass import (
    PartitionConfig,
    Problem,
    is_shared,
    partition_graph,
    partition_together,
)
from daskgraphpart.partitioner.trainers import write_trainers
from daskgraphpart.partitioner.training.training_graph import TrainingGraph, read_training_graph
from daskgraphpart.partitioner.weigh_nodes import weigh_nodes
from daskgraphpart.storage.files import delete_tree, make_directory
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency
    from daskgraphpart.partitioner.extend.match_nodes import OldParts
    from daskgraphpart.partitioner.training.predict_rows import PredictedRows
    from daskgraphpart.partitioner.weigh_nodes import WeightColumn
    from daskgraphpart.schema import GraphSchema


logger = logging.getLogger(__name__)

SAME = 0.02  # share of rows that makes no difference


def partition_nodes(
    graph: Graph,
    num_parts: int,
    options: AssignOptions,
    given: Assignment | None,
    old: OldParts | None,
    directory: Path,
    runner: Runner,
) -> Assignment:
    """Give every node an owner: as given and perhaps improved, as in the old parts of an earlier graph, or anew."""
    started = time.monotonic()
    num_trainers = options.num_trainers_per_machine
    total = num_parts * num_trainers
    training = None
    if options.fanouts:
        training = read_training_graph(graph, total, options, directory / "training", runner)
    tried = []
    for number, way in enumerate(list_ways(options, graph.schema.num_edges, num_parts)):
        place = directory / f"adjacency-{number}"
        problem = _prepare(graph, total, way, place, runner, training)
        solved = _partition(graph.schema, problem, given, old, way.options, runner)
        tried.append(Tried(way, problem, solved, None if training is None else training.predict(solved.parts, runner)))
    best, said = tried[0], ""
    if len(tried) > 1 and training is not None:
        best, said = choose_tried(_all_tried(graph, tried, training, runner))
    parts, method = best.solved.parts, best.solved.method
    if options.fill_parts:
        parts = fill_parts(parts, graph.schema, total, runner)
    owners = create_owner_files(directory, graph.schema, num_parts, runner)
    write_parts("write-owners", parts, owners, num_trainers, runner)
    is_kept = given is not None and options.keeps_owners
    measured = _measure(graph, best, parts, training, runner, is_kept=is_kept)
    trainers = {}
    if num_trainers > 1:
        trainers = write_trainers(parts, graph.schema, directory, runner)
    for done in [directory / "training", *(one.problem.directory for one in tried)]:
        delete_tree(done)
    why = f"{measured.why or method}; {said}" if said else measured.why
    measured = replace(measured, why=why, seconds=time.monotonic() - started)
    for warning in measured.warnings:
        logger.warning("%s", warning)
    name = str(options.method) if given is None else given.method
    return Assignment(
        num_parts,
        method.split(" ")[0].rstrip(",") if name == "auto" else name,
        owners,
        measured,
        trainers,
        training=options.training,
    )


def _measure(
    graph: Graph, tried: Tried, parts: Region, training: TrainingGraph | None, runner: Runner, *, is_kept: bool
) -> AssignReport:
    """Measure parts; limits hold unless owners were kept as given."""
    problem, (_, method, why, need) = tried.problem, tried.solved
    cut, volume, balances = measure(problem, parts, 0 if is_kept else problem.num_wanted, runner)
    unit, input_weight, weighted = problem.adjacency.weight_unit, problem.adjacency.input_weight, None
    if tried.way.weights is not None and training is not None:
        cut = training.count_cut_edges(parts, runner)
    elif unit is not None:
        weighted = WeightedCut(cut * unit, input_weight * unit)
        cut = count_cut_edges(graph, parts, runner)
    num_nodes, num_edges = graph.schema.num_nodes, graph.schema.num_edges
    return AssignReport(
        method, why, problem.num_parts, cut, num_edges, volume, num_nodes, balances, need, 0.0, weighted, tried.rows
    )


class Solved(NamedTuple):
    """Parts of all nodes, what made them and why, and the memory that was expected."""

    parts: Region
    method: str
    why: str
    need: int


class Tried(NamedTuple):
    """A way, and where it led: with the fan-outs of training, also to rows that are fetched."""

    way: Way
    problem: Problem
    solved: Solved
    rows: PredictedRows | None

    @property
    def num_fetched(self) -> int:
        """Rows that an epoch is predicted to fetch."""
        return 0 if self.rows is None else self.rows.num_fetched

    @property
    def busiest(self) -> float:
        """Work of the part with the most over the average."""
        return 1.0 if self.rows is None else self.rows.busiest

    @property
    def most_work(self) -> float:
        """The limit of `busiest`, with room for chance, if the options have one."""
        tolerances = [item.tolerance for item in self.way.options.constraints if item.name == "work"]
        return (1 + SAME) * (1 + min(tolerances, default=math.inf))


def _all_tried(graph: Graph, tried: Sequence[Tried], training: TrainingGraph, runner: Runner) -> list[Tried]:
    """Add parts with more even work to those that were tried, of which the first cuts the fewest edges."""
    known, limit = list(tried[:1]), tried[-1].most_work
    for one in sorted(tried[1:], key=lambda one: one.num_fetched):
        if all(other.busiest > limit or other.num_fetched > one.num_fetched for other in known):
            known += [one, *_more_even(graph, one, limit, training, runner)]
    return known


def choose_tried(tried: Sequence[Tried]) -> tuple[Tried, str]:
    """Choose the fewest rows, times what work exceeds its limit by; say what they save.

    The cut, which comes first, stays where it is as good.
    """
    most_work = tried[-1].most_work

    def cost(one: Tried) -> float:
        return (one.num_fetched + 1) * max(1.0, one.busiest / most_work)

    cut, best = tried[0], min(tried, key=cost)
    if cost(best) > (1 - SAME) * cost(cut):
        return cut, "edges are cut, because their weights in training would not save rows"
    ratio = (best.num_fetched + 1) / (cut.num_fetched + 1)
    rows = f"{abs(1 - ratio):.0%} {'more' if ratio > 1 else 'fewer'} rows than"
    if abs(1 - ratio) <= SAME:
        rows = "as many rows as"
    why = f"edges weigh what training fetches: {rows} with the fewest cut edges"
    return best, f"{why}, and more even work" if cut.busiest > (1 + SAME) * best.busiest else why


def _more_even(graph: Graph, tried: Tried, limit: float, training: TrainingGraph, runner: Runner) -> Iterator[Tried]:
    """Balance work as it is sampled, until it keeps its limit: nobody expects what a batch meets twice."""
    (way, base, *_) = tried
    for number in range(MOST_TRIES):
        if tried.busiest <= limit or tried.rows is None:
            break
        directory, start = base.directory / f"sampled-{number}", tried.solved.parts
        make_directory(directory)
        known = training.weigh_sampled(start, tried.rows, runner)
        problem = _weigh(graph, base.num_parts, way.options, base.adjacency, training, known, directory, runner)
        parts = npy_region(directory / "parts.npy", np.int32, start.shape)
        refined = replace(way.options, refine=True)
        _find_parts(graph.schema, problem, refined, start, parts, runner, asks=False)
        yield (tried := Tried(way, problem, tried.solved._replace(parts=parts), training.predict(parts, runner)))


def _prepare(
    graph: Graph, num_parts: int, way: Way, directory: Path, runner: Runner, training: TrainingGraph | None
) -> Problem:
    """Build the adjacency and weigh nodes, for balance and report."""
    if training is None or way.weights is None:
        adjacency = build_adjacency(graph, directory, runner, way.options.edge_weight)
    else:
        adjacency = training.weigh(way.weights, directory, runner)
    known = {} if training is None else training.columns
    return _weigh(graph, num_parts, way.options, adjacency, training, known, directory, runner)


def _weigh(
    graph: Graph,
    num_parts: int,
    options: AssignOptions,
    adjacency: Adjacency,
    training: TrainingGraph | None,
    known: Mapping[str, WeightColumn],
    directory: Path,
    runner: Runner,
) -> Problem:
    """Weigh nodes, for balance and report."""
    wanted = options.constraints if training is None else training.constraints(options.constraints)
    names = {item.name for item in wanted}
    reported = tuple(item for item in parse_balance("nodes=0,edges") if item.name not in names)
    weights = weigh_nodes(graph, (*wanted, *reported), adjacency.in_degrees, directory, runner, known=known)
    num_wanted = len(weights.constraints) - len(reported)
    if graph.schema.num_nodes and not any(constraint.total for constraint in weights.constraints[:num_wanted]):
        place, hint = f"--balance {','.join(item.name for item in wanted)}", "add nodes to --balance"
        raise OptionError("nothing to balance: no node has a weight", place=place, hint=hint)
    return Problem(adjacency, weights, num_wanted, num_parts, directory)


def _partition(
    schema: GraphSchema,
    problem: Problem,
    given: Assignment | None,
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
    taken = _find_parts(schema, problem, options, begin, parts, runner, asks=asks)
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


def _find_parts(
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
