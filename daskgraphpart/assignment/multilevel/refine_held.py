"""Passes `refine-in-memory` and `repair-in-memory`: one task that reads a level once and does the rest in memory.

So the bytes of a job are known beforehand, while how often the sweeps over blocks on disk would read the graph is not.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel import held_graph
from daskgraphpart.assignment.multilevel.held_graph import hold
from daskgraphpart.assignment.multilevel.level import Level, writable
from daskgraphpart.assignment.multilevel.sweep_in_memory import Sweeper
from daskgraphpart.engine.malloc import give_memory_back
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.assignment.multilevel.held_graph import Held
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

LITTLE_OVERLOAD = 0.01  # of its limit for each part on average: single nodes can mend it; beyond, clusters must move
LITTLE_LOSS = 1.02  # of the cut, for balance restored by single moves
MOST_ARCS_HELD = 1 << 28  # beyond, what one task does takes too long, whatever the memory
MOST_ARCS_AT_ONCE = 1 << 22  # beyond this sweeps by all cores are faster than moves one by one


@dataclass(frozen=True, slots=True)
class HeldConfig:
    """What is done to a level in memory.

    Parameters
    ----------
    level : Level
        The graph.
    parts : Region
        Part of each node, int32; changed. Nodes of no part (-1) are dealt out.
    num_parts : int
        Number of parts.
    limits : tuple of int
        Most that a part may weigh.
    cycles, seed : int
        V-cycles on the coarsest graph, none if there is no memory for it, and the seed.
    threads : int
        How many threads the task may use; the result does not depend on it.
    most_arcs : int
        Of a graph whose nodes are moved one by one.
    refines : bool
        Whether a repair improves the cut where there is little to repair.
    """

    level: Level
    parts: Region
    num_parts: int
    limits: tuple[int, ...]
    cycles: int
    seed: int
    threads: int
    most_arcs: int = MOST_ARCS_AT_ONCE
    refines: bool = True


def needed_to_sweep(num_nodes: int, num_arcs: int, num_constraints: int) -> int:
    """Bytes that a graph in memory takes, with its parts and what is proposed for them."""
    return num_arcs * held_graph.BYTES_PER_ARC + num_nodes * (held_graph.BYTES_PER_NODE + 24 * num_constraints)


def needed_to_cycle(num_nodes: int, num_arcs: int, num_constraints: int) -> int:
    """Bytes that a V-cycle of a graph in memory takes."""
    return needed_to_sweep(num_nodes, num_arcs, num_constraints) + num_arcs * held_graph.BYTES_PER_COARSE_ARC


def can_be_held(level: Level, memory: int, by_cycle: bool = True) -> bool:
    """Whether a level can be improved in memory: by a V-cycle, or by sweeps alone."""
    arcs, needed = level.adjacency.num_arcs, needed_to_cycle if by_cycle else needed_to_sweep
    return arcs <= MOST_ARCS_HELD and needed(level.num_nodes, arcs, len(level.weights)) <= memory


def run_held(task: str, config: HeldConfig, runner: Runner) -> bool:
    """Run `refine-in-memory` or `repair-in-memory`; return what it returns."""
    does = refine_task if task == "refine-in-memory" else repair_task
    size = config.level.adjacency.nbytes
    return bool(runner.run(Pass(task, does, [None], config, [size], is_repeatable=False))[0])


def threads_of(runner: Runner) -> int:
    """Threads that a single task may use: those of all tasks, where they are threads."""
    return runner.resources.workers if runner.resources.cluster == "threads" else 1


@contextmanager
def _held(config: HeldConfig) -> Iterator[tuple[Held, np.ndarray, Sweeper]]:
    """Read a level with its parts, which are written at the end."""
    give_memory_back()
    with ThreadPoolExecutor(config.threads) as pool:
        sweeper = Sweeper(config.num_parts, np.array(config.limits, np.int64), pool.map, config.most_arcs)
        graph, parts = hold(config.level, pool.map), config.parts.read()
        yield graph, parts, sweeper
        writable(config.parts)[:] = parts


def refine_task(_: None, config: HeldConfig) -> bool:
    """Deal out nodes of no part, restore balance and improve the cut by a V-cycle; return whether that has helped."""
    with _held(config) as (graph, parts, sweeper):
        graph.deal_out_rest(parts, config.num_parts, sweeper.limits)
        return sweeper.improve(graph, parts, config.cycles, config.seed)


def repair_task(_: None, config: HeldConfig) -> bool:
    """Deal out nodes of no part and restore balance, by single moves if they suffice and cost little, or by a V-cycle.

    Returns whether that was done: without `cycles`, if single moves do not suffice, parts are left as they were.
    """
    with _held(config) as (graph, parts, sweeper):
        given = parts.copy()
        graph.deal_out_rest(parts, config.num_parts, sweeper.limits)
        is_far_off = graph.overload(parts, sweeper.limits, config.num_parts) > LITTLE_OVERLOAD * config.num_parts
        if not is_far_off:
            if len(config.limits) > 1 and config.refines:
                sweeper.move(graph, parts)
            sweeper.balance(graph, parts)
            return True
        cut = graph.cut(parts, sweeper.each)
        left, after = sweeper.mend(graph, parts)
        if left == 0.0 and after <= LITTLE_LOSS * cut:
            return True
        if not config.cycles:
            parts[:] = given
            return False
        sweeper.improve(graph, parts, config.cycles, config.seed)
        return True
