"""Restore balance and improve the cut by moving single nodes, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.kernels.clusters import add_up
from daskgraphpart.kernels.move_nodes import assign_greedily, overload, rebalance_rows, refine_rows
from daskgraphpart.partitioner.multilevel.weighted_graph import spans

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import Block, Stretch
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph

MAX_REBALANCES = 6
REFINE_SWEEPS = 16
SETTLED = 0.02  # of what the best sweep gained; when one gains less, a further one is not worth its time
NOTHING = 1e-12  # of overload
SPANS_AT_ONCE = 4  # whose nodes are sorted and held
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

    def overload(self, graph: WeightedGraph, parts: np.ndarray, each: Map) -> float:
        """Sum of overloads, each as a share of its limit."""
        return round(float(overload(self.over(graph.loads(parts, self.num_parts, each)), self.shares)), 9)

    def value(self, graph: WeightedGraph, parts: np.ndarray, each: Map) -> tuple[float, int]:
        """Rank parts, least best: overload, then cut."""
        return self.overload(graph, parts, each), graph.cut(parts, self.num_parts, each)


def refine(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map, sweeps: int = REFINE_SWEEPS) -> None:
    """Assign nodes of no part (-1), restore balance and improve the cut; in place."""
    assign_rest(graph, parts, limits, each)
    rebalance(graph, parts, limits, each)
    improve(graph, parts, limits, each, sweeps)


def rebalance(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map) -> float:
    """Move nodes out of overloaded parts, a share per block, in place; return the remaining overload."""

    def move(call: tuple[Block, np.ndarray]) -> Moves:
        block, over = call
        mine, weights = parts[block.start : block.stop].copy(), graph.node_weights(block.start, block.stop)
        fixed = graph.fixed[block.start : block.stop]
        rebalance_rows(*block.read(), block.start, parts, mine, weights, over, limits.shares, fixed)
        return Moves.between(parts[block.start : block.stop], mine, weights, limits.num_parts)

    loads = graph.loads(parts, limits.num_parts, each)
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
            moved = each(move, calls)
            remaining -= np.bincount(parts[blocks[0].start : blocks[-1].stop], minlength=limits.num_parts)
            rest -= blocks[-1].stop - blocks[0].start
            for block, moves in zip(blocks, moved, strict=True):
                moves.apply(block, parts, loads)
        before, left = left, float(overload(limits.over(loads), limits.shares))
        if left >= before:
            break
    return left


def improve(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map, sweeps: int = REFINE_SWEEPS) -> None:
    """Move nodes to neighbouring parts that have room, best first, sweep by sweep while the cut falls; in place.

    After the first sweep, only moved nodes and their neighbours start.
    """
    loads, highest = graph.loads(parts, limits.num_parts, each), 0
    active, following = np.ones(graph.num_nodes, np.bool_), np.zeros(graph.num_nodes, np.bool_)
    if graph.fixed.size:
        active &= ~graph.fixed
    # random lookups: the smaller the array, the more of it fits in cache
    narrow = parts.astype(np.min_scalar_type(-limits.num_parts))

    def move(call: tuple[Block, int]) -> tuple[int, Moves] | None:
        block, num_blocks = call
        begin = active[block.start : block.stop]
        if not begin.any():
            return None
        mine = narrow[block.start : block.stop].copy()
        over, patience = limits.over(loads) / num_blocks, max(200, mine.size // PATIENCE)
        weights, fixed = graph.node_weights(block.start, block.stop), graph.fixed[block.start : block.stop]
        gain = refine_rows(
            *block.read(), block.start, narrow, mine, weights, over, limits.shares, begin, following, fixed, patience
        )
        return int(gain), Moves.between(narrow[block.start : block.stop], mine, weights, limits.num_parts)

    for _ in range(sweeps):
        gained = 0
        for blocks in graph.rounds():
            moved = each(move, [(block, len(blocks)) for block in blocks])
            for block, proposal in zip(blocks, moved, strict=True):
                if proposal is not None:
                    gain, moves = proposal
                    moves.apply(block, narrow, loads)
                    gained += gain
        active[:], following[:], highest = following, False, max(highest, gained)
        if gained <= SETTLED * highest:
            break
    parts[:] = narrow


class Moves(NamedTuple):
    """New parts of a block's nodes, and by how much the loads change, int64 (parts, constraints)."""

    parts: np.ndarray
    change: np.ndarray

    @classmethod
    def between(cls, old: np.ndarray, new: np.ndarray, weights: np.ndarray, num_parts: int) -> Moves:
        """Compare old and new parts of nodes with `weights`."""
        change, moved = np.zeros((num_parts, weights.shape[1]), np.int64), np.flatnonzero(old != new)
        weights = weights[moved]
        # cast, for the kernel needs no second signature
        add_up(new[moved].astype(np.int32, copy=False), 0, weights, change)
        add_up(old[moved].astype(np.int32, copy=False), 0, -weights, change)
        return cls(new, change)

    def apply(self, block: Block | Stretch, parts: np.ndarray, loads: np.ndarray) -> None:
        """Change parts and loads."""
        parts[block.start : block.stop] = self.parts
        loads += self.change


def assign_rest(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map) -> None:
    """Give nodes without a part to the parts with most room, heaviest first, in place."""
    if parts.min(initial=0) >= 0:
        return
    over, shares = limits.over(graph.loads(parts, limits.num_parts, each)), limits.shares

    def heaviest_first(span: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        nodes = np.flatnonzero(parts[slice(*span)] < 0)
        weights = graph.node_weights(*span)[nodes]
        order = np.argsort(-(weights * shares).max(axis=1), kind="stable")
        return nodes[order] + span[0], weights[order]

    waiting = spans(graph.num_nodes)
    while some := list(islice(waiting, SPANS_AT_ONCE)):
        for nodes, weights in each(heaviest_first, some):
            assign_greedily(nodes, weights, over, shares, parts)
