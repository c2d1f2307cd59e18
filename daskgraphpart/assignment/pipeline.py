"""From a chunked graph to the owner of every node: adjacency, weights, method, balance, report."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.build import build_adjacency
from daskgraphpart.assignment.assignment import Assignment, create_owner_files, owner_dtype
from daskgraphpart.assignment.balance import limits_of, parse_balance
from daskgraphpart.assignment.choose import Choice, choose, coarse_candidates
from daskgraphpart.assignment.coarsened import partition_coarsened
from daskgraphpart.assignment.fill_parts import fill_parts
from daskgraphpart.assignment.hierarchy import write_trainers
from daskgraphpart.assignment.methods.random import assign_random_pass
from daskgraphpart.assignment.methods.streaming import DEFAULT_PASSES, stream_level
from daskgraphpart.assignment.multilevel.combine import KEPT, can_be_combined, combine
from daskgraphpart.assignment.multilevel.initial import partition_level, run_libraries, try_starts
from daskgraphpart.assignment.multilevel.level import Level, create_parts
from daskgraphpart.assignment.multilevel.move_nodes import (
    deal_out_nodes,
    load_parts,
    measure_cut,
    remove_state,
    restore_balance,
)
from daskgraphpart.assignment.multilevel.refine_held import (
    LITTLE_LOSS,
    LITTLE_OVERLOAD,
    HeldConfig,
    can_be_held,
    run_held,
    threads_of,
)
from daskgraphpart.assignment.multilevel.vcycle import (
    balance,
    improve,
    multilevel,
    overload_of,
    parts_everywhere,
    refine_blocks,
)
from daskgraphpart.assignment.options import METHODS, AssignOptions
from daskgraphpart.assignment.owner_parts import read_owners, write_owners
from daskgraphpart.assignment.read_files import read_assignment
from daskgraphpart.assignment.report import AssignReport, Balance
from daskgraphpart.assignment.skewed import BY_DEGREE, partition_skewed
from daskgraphpart.assignment.weigh_nodes import NodeWeights, weigh_nodes
from daskgraphpart.errors import OptionError, PlanError
from daskgraphpart.storage.region import npy_region
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

logger = logging.getLogger(__name__)

REFINE_CYCLES = 4  # V-cycles in memory at most, where an assignment is refined
MOST_ATTEMPTS = 4  # at balance, by V-cycles with other clusters
TIGHTENING = 0.005  # of the limits, for each further attempt
MOST_ARCS_TO_COMBINE = 30_000_000  # beyond, it takes too long
HUBS = "most edges are among the nodes of highest degree, so that filling parts by degree cuts far less than KaMinPar"
SOLVING = "solve-"  # begin of the name of a directory
MULTILEVEL_CYCLES = 2  # V-cycles on disk after the first


@dataclass(frozen=True, slots=True)
class Task:
    """What has to be solved: a weighted graph, into how many parts, within which limits.

    Parameters
    ----------
    level : Level
        The graph, with the weights of the constraints.
    num_wanted : int
        How many of the reported weights must be balanced, the first ones.
    reported : NodeWeights
        All weights.
    num_parts : int
        Number of parts, those of trainers.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    options : AssignOptions
        How.
    """

    level: Level
    num_wanted: int
    reported: NodeWeights
    num_parts: int
    limits: np.ndarray
    options: AssignOptions


def assign_nodes(
    graph: ChunkedGraph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner, report: bool = True
) -> Assignment:
    """Give every node an owner.

    Parameters
    ----------
    graph : ChunkedGraph
        The graph.
    num_parts : int
        Number of parts.
    options : AssignOptions
        How.
    directory : Path
        For owner files and everything temporary; made if need be.
    runner : Runner
        What does the work.
    report : bool
        Whether random owners, and those from files, are measured as well, which reads all edges.

    Returns
    -------
    Assignment
        With a report, unless edges were not read.

    Raises
    ------
    OptionError
        If the method or the number of parts is impossible for this graph.
    AssignmentError
        If owners that are read do not fit the graph.
    PlanError
        If the memory does not suffice for the method.
    """
    started = time.monotonic()
    check_method(options)
    owner_dtype(num_parts)
    options.check_fits(graph.schema, num_parts)
    directory.mkdir(parents=True, exist_ok=True)
    given = _given_owners(graph, num_parts, options, directory, runner)
    if given is not None and not (report or options.needs_adjacency or options.num_trainers_per_machine > 1):
        return given
    task = prepare_task(graph, num_parts * options.num_trainers_per_machine, options, directory / "adjacency", runner)
    parts = npy_region(task.level.file("parts.npy"), np.int32, (task.level.num_nodes,))
    # these passes change files in place, so that none can be done again alone
    method, why, need = runner.step("solve", lambda: _solve_apart(task, given, parts, graph.schema, runner))
    owners = create_owner_files(directory, graph.schema, num_parts, runner)
    write_owners(parts, owners, options.num_trainers_per_machine, runner)
    how = (method, why, need)
    measured = runner.step("measure", lambda: _measure(task, parts, how, runner), (AssignReport, Balance))
    trainers = write_trainers(parts, graph.schema, directory, runner) if options.num_trainers_per_machine > 1 else {}
    shutil.rmtree(directory / "adjacency", ignore_errors=True)
    short = method.split(" ")[0].rstrip(",")
    name = given.method if given is not None else short if options.method == "auto" else options.method
    measured = replace(measured, num_edges=graph.schema.num_edges, seconds=time.monotonic() - started)
    for warning in measured.warnings:
        logger.warning("%s", warning)
    return Assignment(num_parts, name, owners, measured, trainers)


def check_method(options: AssignOptions) -> None:
    """Check that the method is one of ours, or a directory.

    Raises
    ------
    OptionError
        If it is neither.
    """
    if options.method not in METHODS and not Path(options.method).exists():
        raise OptionError(
            "no such method, and no such directory of owners",
            place="--method",
            expected=f"{', '.join(METHODS)} or a directory that assign has written",
            found=options.method,
        )


def _given_owners(
    graph: ChunkedGraph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner
) -> Assignment | None:
    """Owners that need no edges: random ones, or those of a file."""
    total = num_parts * options.num_trainers_per_machine
    if options.method == "random":
        target = directory / "given"
        owners = create_owner_files(target, graph.schema, total, runner)
        runner.run(assign_random_pass(owners, total, options.seed, options.fill_parts))
        return Assignment(total, "random", owners)
    if options.method in METHODS:
        return None
    if options.num_trainers_per_machine > 1:
        raise OptionError("owners from files have no trainers", place="--method", found=options.method)
    (directory / "given").mkdir(exist_ok=True)
    return read_assignment(options.method, graph.schema, directory / "given", runner, num_parts)


def prepare_task(graph: ChunkedGraph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner) -> Task:
    """Build the adjacency and weigh the nodes."""
    built = build_adjacency(graph, directory, runner)
    wishes = parse_balance(options.wanted_balance, options.imbalance)
    names = {wish.name for wish in wishes}
    measured = tuple(wish for wish in parse_balance("nodes,edges", 0.0) if wish.name not in names)
    weights = weigh_nodes(graph, (*wishes, *measured), built.in_degrees, directory, runner)
    count = len(weights.constraints) - len(measured)
    # what no node has needs no balance; the first stays, so that there is one
    kept = [i for i in range(count) if weights.constraints[i].total or i == 0]
    constraints = tuple(weights.constraints[i] for i in kept)
    plain = len(kept) == 1 and constraints[0].total == graph.schema.num_nodes and constraints[0].largest == 1
    level = Level(built.adjacency, tuple(weights.columns[i] for i in kept), str(directory), plain)
    return Task(level, count, weights, num_parts, limits_of(constraints, num_parts), options)


def _solve_apart(
    task: Task, given: Assignment | None, parts: Region, schema: GraphSchema, runner: Runner
) -> tuple[str, str, int]:
    """Solve in a new directory, so that nothing is met there that an earlier attempt has left, or still writes."""
    for old in Path(task.level.directory).glob(f"{SOLVING}*"):
        shutil.rmtree(old, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=SOLVING, dir=task.level.directory))
    apart = replace(task, level=replace(task.level, directory=str(scratch)))
    mine = create_parts(apart.level, "parts.npy")
    how = _solve(apart, given, mine, runner)
    if task.options.fill_parts:
        fill_parts(mine, schema, task.num_parts, runner)
    Path(mine.path).replace(parts.path)
    shutil.rmtree(scratch, ignore_errors=True)
    return how


def _solve(task: Task, given: Assignment | None, parts: Region, runner: Runner) -> tuple[str, str, int]:
    """Fill in the part of every node; return the method, why it was taken, and what it needs."""
    level, options = task.level, task.options
    how: tuple[str, str, int]
    if task.num_parts == 1 or level.adjacency.num_arcs == 0:
        parts_everywhere(parts, runner)
        balance(level, parts, task.num_parts, task.limits, runner)
        how = (options.method, "there is nothing to cut: nodes are dealt out to balance", 0)
    elif given is not None:
        read_owners(given.owners, parts, runner)
        how = (given.method, "asked for", 0)
    else:
        choice = choose(level, task.num_parts, options, runner.resources)
        runner.note(f"method {choice.method}, needs about {format_size(choice.need)}: {choice.why}")
        if choice.need > 4 * runner.resources.memory and options.method in ("metis", "kaminpar"):
            raise PlanError(
                f"{options.method} does not fit into the memory budget",
                place="--memory",
                expected=f"about {format_size(choice.need)}",
                found=format_size(runner.resources.memory),
                hint="give more, or use --method multilevel",
            )
        how = _run_choice(task, choice, parts, runner)
    if options.refine or (given is not None and options.balance is not None):
        if options.refine:
            improve(level, parts, task.num_parts, task.limits, (REFINE_CYCLES, options.seed), runner)
        else:
            balance(level, parts, task.num_parts, task.limits, runner)
    return how


def _run_choice(task: Task, choice: Choice, parts: Region, runner: Runner) -> tuple[str, str, int]:
    level, num_parts, limits, options = task.level, task.num_parts, task.limits, task.options
    taken: object
    if choice.method == "multilevel":
        taken = multilevel(level, num_parts, limits, choice.candidates, (parts, choice.cycles, options.seed), runner)
        for cycle in range(MULTILEVEL_CYCLES):
            improve(level, parts, num_parts, limits, (1, options.seed + 1 + cycle), runner)
        return f"multilevel, coarsest graph by {taken}", choice.why, choice.need
    if choice.candidates:
        if choice.method == "skewed":
            quick, thorough = choice.candidates
            taken = partition_skewed(level, limits, (quick, thorough), (num_parts, parts), runner)
        elif choice.method == "coarsened":
            quick, thorough = choice.candidates
            taken = partition_coarsened(level, limits, (quick, thorough), (num_parts, parts), runner)
        elif choice.method == "combined":
            taken = _combine_calls(task, choice, parts, runner)
        else:
            taken = partition_level(level, num_parts, limits, choice.candidates, (choice.cycles, parts), runner)
        taken = _repair(task, taken, parts, runner)
        why = HUBS if taken == BY_DEGREE else choice.why
        return (choice.method if options.method != "auto" else str(taken)), why, choice.need
    return _stream(task, choice, parts, runner)


def _combine_calls(task: Task, choice: Choice, parts: Region, runner: Runner) -> str:
    """Combine the best of what several calls give."""
    level, num_parts, limits = task.level, task.num_parts, task.limits
    if choice.cycles:
        found = try_starts(level, num_parts, limits, choice.candidates, runner, choice.cycles)[:KEPT]
    else:
        found = run_libraries(level, num_parts, limits, choice.candidates, runner)
    pool = [npy_region(result.path, np.int32, (level.num_nodes,)) for result in found]
    return combine(level, num_parts, limits, (pool, parts, task.options.seed), runner)


def _repair(task: Task, taken: object, parts: Region, runner: Runner) -> object:
    """Deal out what a library has left, restore balance and refine; return what has given the parts that are left.

    A library with one constraint gives up more for several than it has won if much must be moved. Single moves are
    tried first: if they cost little, nothing else is.
    """
    level, num_parts, limits, options = task.level, task.num_parts, task.limits, task.options
    if not _is_mended(task, parts, runner):
        if options.method == "auto":
            taken = _better_of(task, taken, parts, runner)
        else:
            improve(level, parts, num_parts, limits, (1, options.seed), runner)
    for attempt in range(MOST_ATTEMPTS):
        if balance(level, parts, num_parts, limits, runner) == 0.0:
            break
        # tighter limits make the room that single moves did not find
        tighter = np.maximum(limits - (limits * TIGHTENING * (attempt + 1)).astype(np.int64), 1)
        improve(level, parts, num_parts, tighter, (1, options.seed + 1 + attempt), runner)
    return taken


def _is_mended(task: Task, parts: Region, runner: Runner) -> bool:
    """Restore balance by moves of single nodes; return whether that sufficed and cost little, or little was amiss.

    If it did not, a V-cycle follows in memory, unless there is too little of it, or another method is to be tried.
    """
    level, num_parts, limits, options = task.level, task.num_parts, task.limits, task.options
    refines, memory = options.method != "metis", runner.resources.memory
    if len(limits) == 1 and overload_of(level, parts, num_parts, limits, runner) == 0.0:
        return True  # there is nothing to repair, and the graph need not be read
    if can_be_held(level, memory, by_cycle=False):
        most = tuple(int(limit) for limit in limits)
        cycles = int(options.method != "auto" and can_be_held(level, memory))
        config = HeldConfig(level, parts, num_parts, most, cycles, options.seed, threads_of(runner), refines=refines)
        return run_held("repair-in-memory", config, runner)
    is_far_off = overload_of(level, parts, num_parts, limits, runner) > LITTLE_OVERLOAD * num_parts
    cut = measure_cut(level, parts, runner)[0] if is_far_off else 0
    if is_far_off or (len(limits) > 1 and refines):
        refine_blocks(level, parts, num_parts, limits, runner)
    left = balance(level, parts, num_parts, limits, runner) if is_far_off else 0.0
    return not is_far_off or (left == 0.0 and measure_cut(level, parts, runner)[0] <= LITTLE_LOSS * cut)


def _better_of(task: Task, taken: object, parts: Region, runner: Runner) -> object:
    """Partition with all constraints known from the start, and take that if it is better."""
    level, num_parts, limits, options = task.level, task.num_parts, task.limits, task.options
    if level.adjacency.num_arcs <= MOST_ARCS_TO_COMBINE and can_be_combined(level, runner.resources.memory):
        return combine(level, num_parts, limits, ([parts], parts, options.seed), runner)
    others = create_parts(level, "others.npy")
    multilevel(level, num_parts, limits, coarse_candidates(options)[:2], (others, 1, options.seed), runner)
    for each in (parts, others):
        balance(level, each, num_parts, limits, runner)
    values = [
        (overload_of(level, each, num_parts, limits, runner), measure_cut(level, each, runner)[0])
        for each in (parts, others)
    ]
    if values[1] < values[0]:
        Path(others.path).replace(parts.path)
        taken = "multilevel"
    improve(level, parts, num_parts, limits, (1, options.seed + 1), runner)
    return taken


def _stream(task: Task, choice: Choice, parts: Region, runner: Runner) -> tuple[str, str, int]:
    level, num_parts, limits, options = task.level, task.num_parts, task.limits, task.options
    parts_everywhere(parts, runner)
    state = load_parts(level, parts, num_parts, limits, runner)
    passes = options.passes or DEFAULT_PASSES[choice.method]
    stream_level(state, choice.method, passes, runner)
    deal_out_nodes(state, runner)
    restore_balance(state, runner)
    remove_state(state)
    return f"{choice.method} ({passes} pass{'es' * (passes > 1)})", choice.why, choice.need


def _measure(task: Task, parts: Region, how: tuple[str, str, int], runner: Runner) -> AssignReport:
    """Measure the parts."""
    everything = Level(task.level.adjacency, task.reported.columns, task.level.directory)
    constraints = task.reported.constraints
    state = load_parts(everything, parts, task.num_parts, limits_of(constraints, task.num_parts), runner)
    loads = state.loads.read()
    remove_state(state)
    cut, volume = measure_cut(task.level, parts, runner)
    wanted = task.options.balance is not None or task.options.method in METHODS[:-1] or task.options.refine
    balances = []
    for i, constraint in enumerate(constraints):
        average = max(constraint.total / task.num_parts, 1e-9)
        is_wanted = wanted and i < task.num_wanted
        allowed = constraint.limit(task.num_parts) / average if is_wanted else None
        balances.append(Balance(constraint.name, float(loads[:, i].max()) / average, allowed))
    method, why, need = how
    return AssignReport(
        method, why, task.num_parts, cut, 0, volume, task.level.num_nodes, tuple(balances), need, 0.0
    )  # fmt: skip
