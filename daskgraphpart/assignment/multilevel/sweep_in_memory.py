"""Sweeps over a graph that is held in memory: clusters, moves, relief, and the V-cycle that is made of them.

They do what the passes `cluster-nodes`, `refine-cut` and `restore-balance` do over blocks on disk, round by round. How
many sweeps there are depends on the data, but no longer how many bytes are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel.cluster_nodes import LEAST_SHRINKAGE, largest_clusters
from daskgraphpart.assignment.multilevel.held_graph import Held, Rows, contract_held
from daskgraphpart.assignment.multilevel.in_memory import refine
from daskgraphpart.assignment.multilevel.level import rounds_of
from daskgraphpart.assignment.multilevel.move_nodes import MOST_RELIEFS
from daskgraphpart.kernels.clusters import apply_clusters, join_leftovers, number_clusters, propose_clusters
from daskgraphpart.kernels.moves import apply_moves, apply_relief, overload, propose_moves, propose_relief

if TYPE_CHECKING:
    from collections.abc import Callable

    from daskgraphpart.assignment.multilevel.held_graph import Map

MOST_CLUSTER_SWEEPS = 4
CLUSTERS_SETTLED = 0.02  # of the nodes; when fewer move, a further sweep is not worth its time
MOST_MOVE_SWEEPS = 5
MOVES_SETTLED = 0.002
MOST_OSCILLATIONS = 2
LOOSENED = 1.03  # times the limits, so that a node can leave a full part after another has come
OSCILLATED = 0.998  # of the cut; when less is won, a further oscillation is not worth its time


@dataclass(frozen=True, slots=True, eq=False)
class Sweeper:
    """What all sweeps share.

    Parameters
    ----------
    num_parts : int
        Number of parts.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    each : callable
        What makes calls, side by side.
    most_arcs : int
        Of a graph whose nodes are moved one by one, the best first.
    """

    num_parts: int
    limits: np.ndarray
    each: Map
    most_arcs: int

    def in_rounds(
        self,
        graph: Held,
        propose: Callable[[Rows], np.ndarray],
        settle: Callable[[int, np.ndarray, np.ndarray], int],
    ) -> int:
        """Have what all blocks of a round propose take effect, round by round; return how many nodes moved."""
        moved = 0
        for first, last in rounds_of(len(graph.blocks)):
            blocks = graph.blocks[first:last]
            for block, mine in zip(blocks, list(self.each(propose, blocks)), strict=True):
                moved += settle(block.start, mine, graph.node_weights[block.start : block.stop])
        return moved

    def move(self, graph: Held, parts: np.ndarray) -> None:
        """Move nodes to the part that cuts least, sweep by sweep, until little changes; in place."""
        loads = graph.loads(parts, self.num_parts)

        def propose(block: Rows) -> np.ndarray:
            mine, weights = parts[block.start : block.stop].copy(), graph.node_weights[block.start : block.stop]
            propose_moves(
                block.indptr, block.indices, block.weights, block.start, parts, weights, loads.copy(), self.limits, mine
            )
            return mine

        def settle(start: int, mine: np.ndarray, weights: np.ndarray) -> int:
            return int(apply_moves(start, mine, weights, self.limits, parts, loads))

        for _ in range(MOST_MOVE_SWEEPS):
            if self.in_rounds(graph, propose, settle) < MOVES_SETTLED * graph.num_nodes:
                break

    def relieve(self, graph: Held, parts: np.ndarray) -> float:
        """Move nodes out of overloaded parts, the cheapest first; return the overload that is left."""
        loads = graph.loads(parts, self.num_parts)

        def propose(block: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            size = block.stop - block.start
            targets, scores = np.empty(size, np.int32), np.zeros(size, np.float64)
            weights = graph.node_weights[block.start : block.stop]
            propose_relief(
                block.indptr, block.indices, block.weights, block.start, parts, weights, loads, self.limits, targets,
                scores,
            )  # fmt: skip
            rows = np.flatnonzero(targets >= 0)
            return rows + block.start, targets[rows], scores[rows]

        left = float(overload(loads, self.limits))
        for _ in range(MOST_RELIEFS):
            if left == 0.0:
                break
            found = list(self.each(propose, graph.blocks))
            nodes, targets, scores = (np.concatenate(column) for column in zip(*found, strict=True))
            order = np.argsort(-scores, kind="stable")
            nodes, targets = nodes[order], targets[order]
            apply_relief(nodes, targets, graph.node_weights[nodes], self.limits, parts, loads)
            before, left = left, float(overload(loads, self.limits))
            if left >= before:
                break
        return left

    def balance(self, graph: Held, parts: np.ndarray) -> float:
        """Deal out nodes of no part and restore balance; return the overload that is left."""
        graph.deal_out_rest(parts, self.num_parts, self.limits)
        left = self.relieve(graph, parts)
        isolated = graph.isolated()
        if left > 0 and isolated.size:
            # nodes without neighbours may go anywhere; they are dealt out again around the others
            parts[isolated] = -1
            self.relieve(graph, parts)
            graph.deal_out_rest(parts, self.num_parts, self.limits)
            left = self.relieve(graph, parts)
        return left

    def cluster(self, graph: Held, parts: np.ndarray, salt: int) -> tuple[np.ndarray, int]:
        """Cluster the nodes inside their parts: cluster of each node or -1, int32 (nodes,), and how many there are."""
        n, node_weights = graph.num_nodes, graph.node_weights
        most = largest_clusters(self.limits, self.num_parts, n, max(graph.num_arcs / self.most_arcs, 1.0))
        labels, loads, favorites = np.arange(n, dtype=np.int32), node_weights.copy(), np.empty(n, np.int32)

        def propose(block: Rows) -> np.ndarray:
            mine, span = labels[block.start : block.stop].copy(), slice(block.start, block.stop)
            propose_clusters(
                block.indptr, block.indices, block.weights, block.start, labels, parts, node_weights[span], loads, most,
                salt & 0x7FFFFFFF, mine, favorites[span],
            )  # fmt: skip
            return mine

        def settle(start: int, mine: np.ndarray, weights: np.ndarray) -> int:
            return int(apply_clusters(start, mine, weights, most, labels, loads))

        for _ in range(MOST_CLUSTER_SWEEPS):
            if self.in_rounds(graph, propose, settle) < CLUSTERS_SETTLED * n:
                break
        sizes, waiting = np.bincount(labels, minlength=n).astype(np.int32), np.full(n, -1, np.int32)
        join_leftovers(0, favorites, node_weights, most, sizes, waiting, parts, labels, loads)
        waiting[:] = -1
        return labels, int(number_clusters(labels, graph.isolated(), waiting))

    def v_cycle(self, graph: Held, parts: np.ndarray, cycles: int, seed: int, depth: int = 0) -> np.ndarray:
        """Restore balance and improve the cut by one V-cycle that respects the parts; return the new ones.

        On the coarsest graph there are `cycles` more, by moves one by one.
        """
        graph.deal_out_rest(parts, self.num_parts, self.limits)
        if graph.num_arcs <= self.most_arcs:
            return refine(graph.csr(), parts, self.num_parts, self.limits, cycles, seed)
        # balance is restored on the coarsest graph first, where whole clusters move; single nodes would tear them apart
        given = parts.copy()
        clusters, count = self.cluster(graph, parts, (seed + 1) * 1_000_003 + 7919 * depth)
        if count < LEAST_SHRINKAGE * graph.num_nodes:
            inside = clusters >= 0
            coarse_parts = np.empty(count, np.int32)
            coarse_parts[clusters[inside]] = parts[inside]
            coarse = contract_held(graph, clusters, count, self.each)
            coarse_parts = self.v_cycle(coarse, coarse_parts, cycles, seed, depth + 1)
            parts[inside] = coarse_parts[clusters[inside]]
        self.move(graph, parts)
        left = self.relieve(graph, parts)
        # coarser graphs lack the nodes without neighbours, so that what is balanced there need not be balanced here
        return parts if left <= graph.overload(given, self.limits, self.num_parts) else given

    def value(self, graph: Held, parts: np.ndarray) -> tuple[float, int]:
        """What parts are worth, the less the better: overload, then cut."""
        return round(graph.overload(parts, self.limits, self.num_parts), 9), graph.cut(parts, self.each)

    def improve(self, graph: Held, parts: np.ndarray, cycles: int, seed: int) -> bool:
        """Replace the parts by what a V-cycle makes of them if that is better; return whether it is."""
        found = self.v_cycle(graph, parts.copy(), cycles, seed)
        is_better = self.value(graph, found) < self.value(graph, parts)
        if is_better:
            parts[:] = found
        return is_better

    def mend(self, graph: Held, parts: np.ndarray) -> tuple[float, int]:
        """Restore balance and improve the cut by single moves, in place; return the value of what they give.

        Moves beyond the limits, and the way back, find exchanges that no move within the limits begins.
        """
        self.balance(graph, parts)
        self.move(graph, parts)
        self.balance(graph, parts)
        value = self.value(graph, parts)
        loosened = replace(self, limits=(self.limits * LOOSENED).astype(np.int64))
        for _ in range(MOST_OSCILLATIONS):
            further, before = parts.copy(), value
            for sweeper in (loosened, self):
                sweeper.move(graph, further)
                self.balance(graph, further)
            if (after := self.value(graph, further)) < value:
                value, parts[:] = after, further
            if after[1] > OSCILLATED * before[1]:
                break
        return value
