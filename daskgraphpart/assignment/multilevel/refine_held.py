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
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.assignment.multilevel.held_graph import Held
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

LITTLE_OVERLOAD = 0.01  # of its limit for each part on average: single nodes can mend it; beyond, clusters must move
LITTLE_LOSS = 1.02  # of the cut, for balance restored by single moves
MOST_ATTEMPTS = 4  # at balance, by V-cycles with other clusters
TIGHTENING = 0.005  # of the limits, for each further attempt
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
        V-cycles on the coarsest graph, and the seed.
    threads : int
        How many threads the task may use; the result does not depend on it.
    most_arcs : int
        Of a graph whose nodes are moved one by one.
    refines : bool
        Whether a repair improves the cut where there is little to repair.
    gives_up : bool
        Whether a repair leaves the parts as they were if single moves cost much.
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
    gives_up: bool = False


def needed_to_hold(num_nodes: int, num_arcs: int, num_constraints: int) -> int:
    """Bytes that a V-cycle of a graph in memory takes."""
    return num_arcs * held_graph.BYTES_PER_ARC + num_nodes * (held_graph.BYTES_PER_NODE + 24 * num_constraints)


def can_be_held(level: Level, memory: int) -> bool:
    """Whether a level can be improved in memory."""
    arcs = level.adjacency.num_arcs
    return arcs <= MOST_ARCS_HELD and needed_to_hold(level.num_nodes, arcs, len(level.weights)) <= memory


def run_held(task: str, config: HeldConfig, runner: Runner) -> float:
    """Run `refine-in-memory` or `repair-in-memory`; return what the latter does, the overload that is left or -1."""
    does = refine_task if task == "refine-in-memory" else repair_task
    size = config.level.adjacency.nbytes
    return float(runner.run(Pass(task, does, [None], config, [size], is_repeatable=False))[0])


def threads_of(runner: Runner) -> int:
    """Threads that a single task may use: those of all tasks, where they are threads."""
    return runner.resources.workers if runner.resources.cluster == "threads" else 1


@contextmanager
def _held(config: HeldConfig) -> Iterator[tuple[Held, np.ndarray, Sweeper]]:
    """Read a level with its parts, which are written at the end."""
    with ThreadPoolExecutor(config.threads) as pool:
        sweeper = Sweeper(config.num_parts, np.array(config.limits, np.int64), pool.map, config.most_arcs)
        graph, parts = hold(config.level, pool.map), config.parts.read()
        yield graph, parts, sweeper
        writable(config.parts)[:] = parts


def refine_task(_: None, config: HeldConfig) -> float:
    """Deal out nodes of no part, restore balance and improve the cut by a V-cycle."""
    with _held(config) as (graph, parts, sweeper):
        parts[:] = sweeper.v_cycle(graph, parts.copy(), config.cycles, config.seed)
    return 0.0


def repair_task(_: None, config: HeldConfig) -> float:
    """Mend what a library gave; return the overload that is left, or -1 if it gives up.

    A library with one constraint gives up more for several than it has won if much must be moved. Single moves are
    tried first: if they cost little, nothing else is.
    """
    with _held(config) as (graph, parts, sweeper):
        given = parts.copy()
        sweeper.deal_out_rest(graph, parts)
        is_far_off = graph.overload(parts, sweeper.limits, config.num_parts) > LITTLE_OVERLOAD * config.num_parts
        cut = graph.cut(parts, sweeper.each) if is_far_off else 0
        if is_far_off or (len(config.limits) > 1 and config.refines):
            sweeper.move(graph, parts)
        left = sweeper.balance(graph, parts)
        if is_far_off and (left > 0.0 or graph.cut(parts, sweeper.each) > LITTLE_LOSS * cut):
            if config.gives_up:
                parts[:] = given
                return -1.0
            parts[:] = sweeper.better_by_v_cycle(graph, parts, config.cycles, config.seed)
        for attempt in range(MOST_ATTEMPTS):
            left = sweeper.balance(graph, parts)
            if left == 0.0:
                break
            # tighter limits make the room that single moves did not find
            tighter = sweeper.tightened(TIGHTENING * (attempt + 1))
            parts[:] = tighter.v_cycle(graph, parts.copy(), 1, config.seed + 1 + attempt)
    return left
