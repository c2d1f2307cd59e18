"""Partition the graph in one way or several; measure the best parts, and write their owners."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.partitioner.adjacency.weigh_edges import count_cut_edges
from daskgraphpart.partitioner.assign_report import AssignReport, WeightedCut, measure
from daskgraphpart.partitioner.assignment import Owners, create_owner_files
from daskgraphpart.partitioner.choose import list_ways
from daskgraphpart.partitioner.find_parts import partition, prepare
from daskgraphpart.partitioner.owner_parts import fill_parts, write_parts
from daskgraphpart.partitioner.trainers import write_trainers
from daskgraphpart.partitioner.training.training_graph import TrainingGraph, read_training_graph
from daskgraphpart.partitioner.try_ways import Tried, choose_tried, even_out
from daskgraphpart.storage.files import delete_tree

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.extend.match_nodes import OldParts
    from daskgraphpart.storage.region import Region


logger = logging.getLogger(__name__)


def partition_nodes(
    graph: Graph,
    num_parts: int,
    options: AssignOptions,
    given: Owners | None,
    old: OldParts | None,
    directory: Path,
    runner: Runner,
) -> Owners:
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
        problem = prepare(graph, total, way, place, runner, training)
        solved = partition(graph.schema, problem, given, old, way.options, runner)
        tried.append(Tried(way, problem, solved, None if training is None else training.predict(solved.parts, runner)))
    best, said = tried[0], ""
    if len(tried) > 1 and training is not None:
        best, said = choose_tried(even_out(graph, tried, training, runner))
    parts, method = best.solved.parts, best.solved.method
    if options.fill_parts:
        parts = fill_parts(parts, graph.schema, total, runner)
    owners = create_owner_files(directory, graph.schema, num_parts, runner)
    write_parts("write-owners", parts, owners, num_trainers, runner)
    is_kept = given is not None and options.keeps_owners
    measured = _measure(graph, best, parts, training, runner, is_kept=is_kept)
    if training is not None and best.rows is not None:
        rows = training.predict_well(parts, best.rows, directory / "training" / "told", runner)
        measured = replace(measured, rows=rows)
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
    return Owners(
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
        method, why, problem.num_parts, cut, num_edges, volume, num_nodes, balances, need, 0.0, weighted
    )
