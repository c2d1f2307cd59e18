"""Restore balance and improve the cut by moving single nodes, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel.graph import spans
from daskgraphpart.kernels.refine import assign_greedily, overload, rebalance_rows, refine_rows

if TYPE_CHECKING:
    from daskgraphpart.adjacency.csr_blocks import Block
    from daskgraphpart.assignment.multilevel.graph import Graph, Map

MAX_REBALANCES = 6
REFINE_SWEEPS = 16
SETTLED = 0.02  # of what the best sweep gained; when one gains less, a further one is not worth its time
NOTHING = 1e-12  # of overload
PATIENCE = 50  # stop a pass after this share of nodes moved without a better cut


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Most that each part may weigh, int64 (constraints,), and the number of parts."""

    num_parts: int
    most: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """One over each limit."""
        shares: np.ndarray = 1.0 / np.maximum(self.most, 1)
        return shares

    def over(self, loads: np.ndarray) -> np.ndarray:
        """Loads minus limits, float64 (parts, constraints)."""
        over: np.ndarray = (loads - self.most).astype(np.float64)
        return over

    def overload(self, graph: Graph, parts: np.ndarray) -> float:
        """Sum of overloads, each as a share of its limit."""
        return round(float(overload(self.over(graph.loads(parts, self.num_parts)), self.shares)), 9)

    def value(self, graph: Graph, parts: np.ndarray, each: Map) -> tuple[float, int]:
        """Rank parts, least best: overload, then cut."""
        return self.overload(graph, parts), graph.cut(parts, self.num_parts, each)


def refine(graph: Graph, parts: np.ndarray, limits: Limits, each: Map, sweeps: int = REFINE_SWEEPS) -> None:
    """Assign nodes of no part (-1), restore balance and improve the cut; in place."""
    assign_rest(graph, parts, limits)
    rebalance(graph, parts, limits, each)
    improve(graph, parts, limits, each, sweeps)


def rebalance(graph: Graph, parts: np.ndarray, limits: Limits, each: Map) -> float:
    """Move nodes out of overloaded parts, a share per block, in place; return the remaining overload."""

    def move(call: tuple[Block, np.ndarray]) -> np.ndarray:
        block, over = call
        mine, weights = parts[block.start : block.stop].copy(), graph.node_weights(block.start, block.stop)
        fixed = graph.fixed[block.start : block.stop]
        rebalance_rows(*block.read(), block.start, parts, mine, weights, over, limits.shares, fixed)
        return mine

    loads = graph.loads(parts, limits.num_parts)
    left = float(overload(limits.over(loads), limits.shares))
    for number in range(MAX_REBALANCES):
        if left <= NOTHING:
            break
        # nodes of each part, and all nodes, in the blocks to come
        remaining, rest = np.bincount(parts, minlength=limits.num_parts), graph.num_nodes
        for blocks in graph.rounds() if number == 0 else ([block] for block in graph.blocks):
            over, calls = limits.over(loads), []
            if overload(over, limits.shares) <= NOTHING:
                break
            for block in blocks:
                counts = np.bincount(parts[block.start : block.stop], minlength=limits.num_parts)
                excess, room = (counts / np.maximum(remaining, 1))[:, None], (block.stop - block.start) / rest
                # little remains after the first round: the first blocks that can take it all do
                share = over if number else np.where(over > 0, over * excess, over * room)
                calls.append((block, share))
            moved = list(each(move, calls))
            remaining -= np.bincount(parts[blocks[0].start : blocks[-1].stop], minlength=limits.num_parts)
            rest -= blocks[-1].stop - blocks[0].start
            for block, mine in zip(blocks, moved, strict=True):
                _take(graph, block, mine, parts, loads)
        before, left = left, float(overload(limits.over(loads), limits.shares))
        if left >= before:
            break
    return left


def improve(graph: Graph, parts: np.ndarray, limits: Limits, each: Map, sweeps: int = REFINE_SWEEPS) -> None:
    """Move nodes to neighbouring parts that have room, best first, sweep by sweep while the cut falls; in place.

    After the first sweep, only moved nodes and their neighbours start.
    """
    loads, highest = graph.loads(parts, limits.num_parts), 0
    active, following = np.ones(graph.num_nodes, np.bool_), np.zeros(graph.num_nodes, np.bool_)
    if graph.fixed.size:
        active &= ~graph.fixed
    # random lookups: the smaller the array, the more of it fits in cache
    narrow = parts.astype(np.min_scalar_type(-limits.num_parts))

    def move(call: tuple[Block, int]) -> tuple[int, np.ndarray]:
        block, num_blocks = call
        mine, begin = narrow[block.start : block.stop].copy(), active[block.start : block.stop]
        if not begin.any():
            return 0, mine
        over, patience = limits.over(loads) / num_blocks, max(200, mine.size // PATIENCE)
        weights, fixed = graph.node_weights(block.start, block.stop), graph.fixed[block.start : block.stop]
        gain = refine_rows(
            *block.read(), block.start, narrow, mine, weights, over, limits.shares, begin, following, fixed, patience
        )
        return int(gain), mine

    for _ in range(sweeps):
        gained = 0
        for blocks in graph.rounds():
            moved = list(each(move, [(block, len(blocks)) for block in blocks]))
            for block, (gain, mine) in zip(blocks, moved, strict=True):
                _take(graph, block, mine, narrow, loads)
                gained += gain
        active[:], following[:], highest = following, False, max(highest, gained)
        if gained <= SETTLED * highest:
            break
    parts[:] = narrow


def _take(graph: Graph, block: Block, mine: np.ndarray, parts: np.ndarray, loads: np.ndarray) -> None:
    moved = np.flatnonzero(mine != parts[block.start : block.stop])
    if moved.size:
        weights = graph.node_weights(block.start, block.stop)[moved]
        np.subtract.at(loads, parts[moved + block.start], weights)
        np.add.at(loads, mine[moved], weights)
        parts[block.start : block.stop] = mine


def assign_rest(graph: Graph, parts: np.ndarray, limits: Limits) -> None:
    """Give nodes without a part to the parts with most room, heaviest first, in place."""
    over, shares = limits.over(graph.loads(parts, limits.num_parts)), limits.shares
    for start, stop in spans(graph.num_nodes):
        nodes = np.flatnonzero(parts[start:stop] < 0)
        weights = graph.node_weights(start, stop)[nodes]
        order = np.argsort(-(weights * shares).max(axis=1), kind="stable") if nodes.size else nodes
        assign_greedily(nodes[order] + start, weights[order], over, shares, parts)
