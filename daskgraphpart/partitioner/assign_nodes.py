"""From a chunked graph to the owner of every node: adjacency, weights, partition, report."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.errors import OptionError, choose_from
from daskgraphpart.method import find_method
from daskgraphpart.partitioner.assign_options import GUESTS, METHODS, AssignOptions, check_weights
from daskgraphpart.partitioner.assignment import Owners, create_owner_files, owner_dtype
from daskgraphpart.partitioner.choose import PACKAGES, need_library
from daskgraphpart.partitioner.owner_parts import assign_counted
from daskgraphpart.partitioner.training.training import read_training
from daskgraphpart.storage.files import make_directory

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.extend.extend_owners import ExtendOwners

    ReadOwners: TypeAlias = Callable[[Path, Graph, Path, Runner, int | None], Owners]


logger = logging.getLogger(__name__)


def assign_nodes(
    graph: Graph,
    num_parts: int,
    options: AssignOptions,
    directory: Path,
    runner: Runner,
    *,
    read_owners: ReadOwners,
    report: bool = True,
) -> Owners:
    """Give every node an owner, by options that are checked; `read_owners` reads those of a directory."""
    if (start := find_start(options)) is not None:
        options = start.keep_objective(options)
        check_assignable(options, graph, num_parts)
    make_directory(directory)
    given = _given_owners(graph, num_parts, options, directory, runner, read_owners)
    old = None if start is None else start.place(graph, num_parts, directory / "given", runner)
    if given is not None and options.edge_weight and options.keeps_owners:
        logger.warning("--edge-weight has no effect on %s owners; assign measures their cut by it", given.method)
    needs_edges = report or options.needs_adjacency or options.num_trainers_per_machine > 1
    if given is not None and not needs_edges:
        return given
    from daskgraphpart.partitioner.partition_nodes import partition_nodes  # random owners need none of it

    return partition_nodes(graph, num_parts, options, given, old, directory, runner)


def find_start(options: AssignOptions) -> ExtendOwners | None:
    """Return the owners of an earlier graph that the options extend, if any."""
    if options.extend is None:
        return None
    from daskgraphpart.partitioner.extend.extend_owners import ExtendOwners  # imports DuckDB, for few jobs

    return ExtendOwners(options)


def check_wanted(options: AssignOptions, num_parts: int) -> None:
    """Check what needs no graph: the number of parts, the method, and files."""
    owner_dtype(num_parts)
    check_method(options)
    if options.method in PACKAGES:
        need_library(options.method)
    elif options.is_named:
        find_method(options)  # imports it
    for item in options.constraints:
        item.check(None)
    if (start := find_start(options)) is not None:
        start.check_parts(num_parts)


def check_assignable(options: AssignOptions, graph: Graph, num_parts: int) -> None:
    """Check what needs no edges: the same, features, and what a graph can become."""
    check_wanted(options, num_parts)
    options.check_fits(graph.schema, num_parts)
    for item in options.constraints:
        item.check(graph)
    if options.edge_weight:
        check_weights(graph, options.edge_weight)
    if options.fanouts:
        read_training(options, graph.schema)
    if (start := find_start(options)) is not None:
        start.check_graph(graph, num_parts)


def check_method(options: AssignOptions) -> None:
    """Check that the method is there, or is a directory."""
    if not options.is_named and not Path(options.method).exists():
        hint = f"{choose_from((*METHODS, *GUESTS), options.method)}, or give a directory that `assign` wrote"
        if options.method == "ldg":
            hint = "use fennel, which cuts fewer edges in the same time"
        raise OptionError(f"unknown method {options.method!r}", hint=hint)


def _given_owners(
    graph: Graph,
    num_parts: int,
    options: AssignOptions,
    directory: Path,
    runner: Runner,
    read_owners: ReadOwners,
) -> Owners | None:
    """Owners that need no edges: by counts, such as random ones, or from a file."""
    total, target = num_parts * options.num_trainers_per_machine, directory / "given"
    if options.counts_nodes:
        owners = create_owner_files(target, graph.schema, total, runner)
        assign_counted(owners, graph.schema, total, options, runner)
        return Owners(total, str(options.method), owners)
    if options.is_named:
        return None
    if options.num_trainers_per_machine > 1:
        what = f"the owners in {options.method} have no trainers"
        raise OptionError(what, option="num_trainers_per_machine", hint="leave it out, or choose another --method")
    make_directory(target)
    return read_owners(Path(options.method), graph, target, runner, num_parts)
