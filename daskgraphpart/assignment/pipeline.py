"""From a chunked graph to the owner of every node: adjacency, weights, partition, report."""

from __future__ import annotations

import logging
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.build import build_adjacency
from daskgraphpart.assignment.assignment import Assignment, create_owner_files, owner_dtype
from daskgraphpart.assignment.balance import limits_of, parse_balance
from daskgraphpart.assignment.choose import choose
from daskgraphpart.assignment.options import METHODS, AssignOptions
from daskgraphpart.assignment.owner_parts import fill_parts, read_parts, write_parts
from daskgraphpart.assignment.partition import PartitionConfig, partition_pass
from daskgraphpart.assignment.random import assign_random_pass
from daskgraphpart.assignment.read_files import read_assignment
from daskgraphpart.assignment.report import measure
from daskgraphpart.assignment.trainers import write_trainers
from daskgraphpart.assignment.weigh_nodes import NodeWeights, weigh_nodes
from daskgraphpart.errors import OptionError, PlanError
from daskgraphpart.storage.region import create_files, npy_region
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from daskgraphpart.adjacency.csr_blocks import Adjacency
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """What has to be partitioned: a graph with node weights, of which the first `num_wanted` have to be balanced."""

    adjacency: Adjacency
    weights: NodeWeights
    num_wanted: int
    num_parts: int
    directory: Path

    @property
    def balanced(self) -> NodeWeights:
        """The weights that have to be balanced: those that a node has, and the first, so that there is one."""
        constraints, columns = self.weights.constraints, self.weights.columns
        kept = [i for i in range(self.num_wanted) if constraints[i].total or i == 0]
        return NodeWeights(tuple(constraints[i] for i in kept), tuple(columns[i] for i in kept))


def assign_nodes(
    graph: ChunkedGraph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner, report: bool = True
) -> Assignment:
    """Give every node an owner."""
    started = time.monotonic()
    check_method(options)
    owner_dtype(num_parts)
    options.check_fits(graph.schema, num_parts)
    directory.mkdir(parents=True, exist_ok=True)
    given = _given_owners(graph, num_parts, options, directory, runner)
    num_trainers = options.num_trainers_per_machine
    if given is not None and not (report or options.needs_adjacency or num_trainers > 1):
        return given
    task = _prepare(graph, num_parts * num_trainers, options, directory / "adjacency", runner)
    parts, method, why, need = _partition(task, given, options, runner)
    if options.fill_parts:
        parts = fill_parts(parts, graph.schema, task.num_parts, runner)
    owners = create_owner_files(directory, graph.schema, num_parts, runner)
    write_parts("write-owners", parts, owners, num_trainers, runner)
    wanted = task.num_wanted if given is None or options.balance is not None or options.refine else 0
    measured = measure(task.adjacency, task.weights, parts, task.num_parts, wanted, runner)
    trainers = write_trainers(parts, graph.schema, directory, runner) if num_trainers > 1 else {}
    shutil.rmtree(directory / "adjacency", ignore_errors=True)
    seconds, num_edges = time.monotonic() - started, graph.schema.num_edges
    measured = replace(measured, method=method, why=why, need=need, num_edges=num_edges, seconds=seconds)
    for warning in measured.warnings:
        logger.warning("%s", warning)
    name = given.method if given is not None else options.method
    return Assignment(num_parts, method.split(" ")[0] if name == "auto" else name, owners, measured, trainers)


def check_method(options: AssignOptions) -> None:
    """Check that the method is one of ours, or a directory."""
    if options.method in METHODS or Path(options.method).exists():
        return
    raise OptionError(
        "no such method, and no such directory of owners",
        place="--method",
        expected=f"{', '.join(METHODS)} or a directory that assign has written",
        found=options.method,
        hint="LDG is gone: fennel cuts less in the same time" if options.method == "ldg" else None,
    )


def _given_owners(
    graph: ChunkedGraph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner
) -> Assignment | None:
    """Owners that need no edges: random ones, or those of a file."""
    total, target = num_parts * options.num_trainers_per_machine, directory / "given"
    if options.method == "random":
        owners = create_owner_files(target, graph.schema, total, runner)
        runner.run(assign_random_pass(owners, total, options.seed, options.fill_parts))
        return Assignment(total, "random", owners)
    if options.method in METHODS:
        return None
    if options.num_trainers_per_machine > 1:
        raise OptionError("owners from files have no trainers", place="--method", found=options.method)
    target.mkdir(exist_ok=True)
    return read_assignment(options.method, graph.schema, target, runner, num_parts)


def _prepare(graph: ChunkedGraph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner) -> Task:
    """Build the adjacency and weigh the nodes, for what is balanced and for what is reported."""
    adjacency = build_adjacency(graph, directory, runner)
    wanted = parse_balance(options.wanted_balance, options.imbalance)
    names = {item.name for item in wanted}
    reported = tuple(item for item in parse_balance("nodes,edges", 0.0) if item.name not in names)
    weights = weigh_nodes(graph, (*wanted, *reported), adjacency.in_degrees, directory, runner)
    return Task(adjacency, weights, len(weights.constraints) - len(reported), num_parts, directory)


def _partition(
    task: Task, given: Assignment | None, options: AssignOptions, runner: Runner
) -> tuple[Region, str, str, int]:
    """Find the part of every node: its file, what it comes from, why, and how many bytes that was expected to take."""
    adjacency, resources, balanced = task.adjacency, runner.resources, task.balanced
    parts, start = (
        npy_region(task.directory / f"{n}.npy", np.int32, (adjacency.num_nodes,)) for n in ("parts", "given")
    )
    if given is not None:
        runner.step("create-given", lambda: create_files([start]))
        read_parts(given.owners, start, runner)
        if not options.refine and options.balance is None:
            return start, given.method, "asked for", 0
    limits, choice = limits_of(balanced.constraints, task.num_parts), None
    if given is None and task.num_parts > 1 and adjacency.num_arcs:
        nodes = adjacency.num_nodes - adjacency.num_isolated
        choice = choose(nodes, adjacency.num_arcs, limits.size, options, resources)
        if options.method == "auto":
            runner.progress.note(f"method {choice.method}, needs about {format_size(choice.need)}: {choice.why}")
        if choice.need > resources.memory and choice.method in ("metis", "kaminpar"):
            raise PlanError(
                f"{choice.method} does not fit into the memory budget",
                place="--memory",
                expected=f"about {format_size(choice.need)}",
                found=format_size(resources.memory),
                hint="give more, or use --method multilevel",
            )
    config = PartitionConfig(
        adjacency, balanced.columns, parts, str(task.directory), task.num_parts, tuple(limits.tolist()), choice,
        start if given is not None else None, options, resources.memory, resources.workers,
    )  # fmt: skip
    (taken,) = runner.run(partition_pass(config))
    if given is not None:
        return parts, given.method, "asked for", 0
    if choice is None:
        return parts, options.method, "there is nothing to cut: nodes are assigned to balance", 0
    return parts, taken, choice.why, choice.need
