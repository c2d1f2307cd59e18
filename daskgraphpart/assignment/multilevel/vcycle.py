"""The multilevel cycle: coarsen on disk until the graph fits into memory, solve there, project back and refine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel.cluster_nodes import LEAST_SHRINKAGE, SWEEPS, coarsen, largest_clusters
from daskgraphpart.assignment.multilevel.in_memory import BYTES_PER_ARC, BYTES_PER_NODE
from daskgraphpart.assignment.multilevel.initial import partition_level
from daskgraphpart.assignment.multilevel.level import Level, create_parts
from daskgraphpart.assignment.multilevel.move_nodes import (
    deal_out_nodes,
    load_parts,
    project,
    refine_cut,
    release_isolated,
    remove_state,
    restore_balance,
    restrict,
)
from daskgraphpart.assignment.multilevel.refine_held import (
    MOST_ARCS_AT_ONCE,
    HeldConfig,
    can_be_held,
    run_held,
    threads_of,
)
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.moves import overload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.assignment.libraries.call import Candidate
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

MOST_ARCS_IN_MEMORY = MOST_ARCS_AT_ONCE
MOST_LEVELS = 24


def fits_in_memory(level: Level, memory: int) -> bool:
    """Whether a level can be refined in memory."""
    return level.adjacency.num_arcs <= MOST_ARCS_IN_MEMORY and needed_in_memory(level) <= memory


def needed_in_memory(level: Level) -> int:
    """Bytes that refinement in memory takes."""
    per_node = BYTES_PER_NODE + 16 * len(level.weights)
    return level.adjacency.num_arcs * BYTES_PER_ARC + level.num_nodes * per_node


def improve(
    level: Level, parts: Region, num_parts: int, limits: np.ndarray, how: tuple[int, int], runner: Runner
) -> None:
    """Restore balance and improve the cut of any assignment, by one V-cycle that respects it.

    Parameters
    ----------
    level : Level
        The graph.
    parts : Region
        Part of each node, int32; changed. Nodes of no part (-1) are dealt out.
    num_parts : int
        Number of parts.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    how : int and int
        V-cycles in memory, and the seed.
    runner : Runner
        What does the work.
    """
    cycles, seed = how
    if fits_in_memory(level, runner.resources.memory) or can_be_held(level, runner.resources.memory):
        most = tuple(int(limit) for limit in limits)
        config = HeldConfig(level, parts, num_parts, most, cycles, seed, threads_of(runner), MOST_ARCS_IN_MEMORY)
        run_held("refine-in-memory", config, runner)
        return
    # balance is restored on the coarsest graph first, where whole clusters move; single nodes would tear them apart
    overload_of(level, parts, num_parts, limits, runner)
    coarse, clusters = coarsen(
        level,
        _most(level, num_parts, limits, runner.resources.memory),
        (parts, _salt(level, seed), SWEEPS),
        _below(level),
        runner,
    )
    if coarse.num_nodes < LEAST_SHRINKAGE * level.num_nodes:
        coarse_parts = create_parts(coarse, "parts.npy")
        restrict(clusters, parts, coarse_parts, runner)
        improve(coarse, coarse_parts, num_parts, limits, how, runner)
        project(clusters, coarse_parts, parts, runner)
    _remove(coarse)
    refine_blocks(level, parts, num_parts, limits, runner)


def multilevel(
    level: Level,
    num_parts: int,
    limits: np.ndarray,
    candidates: Sequence[Candidate],
    how: tuple[Region, int, int],
    runner: Runner,
) -> Candidate:
    """Partition a graph of any size with memory for its nodes and one block.

    Parameters
    ----------
    level : Level
        The graph.
    num_parts : int
        Number of parts.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    candidates : sequence of Candidate
        What is tried on the coarsest graph.
    how : Region, int and int
        The file of parts to be filled, V-cycles in memory, and the seed.
    runner : Runner
        What does the work.

    Returns
    -------
    Candidate
        What gave the best partition of the coarsest graph.
    """
    parts, cycles, seed = how
    if is_coarse(level, runner):
        return partition_level(level, num_parts, limits, candidates, (cycles, parts), runner)
    coarse, clusters = coarsen(
        level,
        _most(level, num_parts, limits, coarse_memory(runner)),
        (None, _salt(level, seed), SWEEPS),
        _below(level),
        runner,
    )
    if coarse.num_nodes >= LEAST_SHRINKAGE * level.num_nodes or _depth(level) > MOST_LEVELS:
        _remove(coarse)  # nothing that clusters: what is left has to fit
        return partition_level(level, num_parts, limits, candidates[:1], (cycles, parts), runner)
    coarse_parts = create_parts(coarse, "parts.npy")
    taken = multilevel(coarse, num_parts, limits, candidates, (coarse_parts, cycles, seed), runner)
    parts_everywhere(parts, runner)
    project(clusters, coarse_parts, parts, runner)
    _remove(coarse)
    refine_blocks(level, parts, num_parts, limits, runner)
    return taken


def is_coarse(level: Level, runner: Runner) -> bool:
    """Whether a level is small enough for the libraries, as many at one time as there are workers."""
    return fits_in_memory(level, coarse_memory(runner))


def coarse_memory(runner: Runner) -> int:
    """Bytes for one call of a library, two of which may run at one time; the same whatever the number of workers."""
    return runner.resources.memory // 2


def parts_everywhere(parts: Region, runner: Runner) -> None:
    """Mark every node as one of no part."""
    runner.run(Pass("clear-parts", clear_parts, [None], parts, [parts.nbytes]))


def clear_parts(_: None, parts: Region) -> None:
    """Task of the pass `clear-parts`."""
    rows = 1 << 20
    for start in range(0, parts.num_rows, rows):
        parts.write(np.full(min(rows, parts.num_rows - start), -1, np.int32), start)


def overload_of(level: Level, parts: Region, num_parts: int, limits: np.ndarray, runner: Runner) -> float:
    """Deal out nodes of no part; return by how much the limits are exceeded."""
    state = load_parts(level, parts, num_parts, limits, runner)
    deal_out_nodes(state, runner)
    left = float(overload(state.loads.read(), limits))
    remove_state(state)
    return left


def balance(level: Level, parts: Region, num_parts: int, limits: np.ndarray, runner: Runner) -> float:
    """Deal out nodes of no part and restore balance; return the overload that is left."""
    state = load_parts(level, parts, num_parts, limits, runner)
    deal_out_nodes(state, runner)
    left = restore_balance(state, runner)
    if left > 0 and level.adjacency.num_isolated:
        # nodes without neighbours may go anywhere; they are dealt out again around the others
        release_isolated(level, parts, runner)
        state = load_parts(level, parts, num_parts, limits, runner)
        restore_balance(state, runner)
        deal_out_nodes(state, runner)
        left = restore_balance(state, runner)
    remove_state(state)
    return left


def refine_blocks(level: Level, parts: Region, num_parts: int, limits: np.ndarray, runner: Runner) -> None:
    """Deal out nodes of no part, improve the cut, and restore balance."""
    state = load_parts(level, parts, num_parts, limits, runner)
    deal_out_nodes(state, runner)
    refine_cut(state, runner)
    restore_balance(state, runner)
    remove_state(state)


def _most(level: Level, num_parts: int, limits: np.ndarray, memory: int) -> np.ndarray:
    """Largest weight of a cluster: no coarser than it takes to fit into memory, since coarse graphs cut worse."""
    excess = max(level.adjacency.num_arcs / MOST_ARCS_IN_MEMORY, needed_in_memory(level) / memory, 1.0)
    return largest_clusters(limits, num_parts, level.num_nodes, excess)


def _salt(level: Level, seed: int) -> int:
    return (seed + 1) * 1_000_003 + 7919 * _depth(level)


def _depth(level: Level) -> int:
    return Path(level.directory).parts.count("coarse")


def _below(level: Level) -> Path:
    return level.file("coarse")


def _remove(coarse: Level) -> None:
    shutil.rmtree(coarse.directory, ignore_errors=True)
