"""Refinement of a graph that fits into memory: V-cycles of clustering inside parts, relief and Fiduccia-Mattheyses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskgraphpart.kernels.arcs import count_coarse_arcs, merge_weighted_arcs, scatter_coarse_arcs
from daskgraphpart.kernels.clusters import (
    add_up,
    apply_clusters,
    join_leftovers,
    number_clusters,
    propose_clusters,
)
from daskgraphpart.kernels.fm import refine_fm, relieve
from daskgraphpart.kernels.moves import cut_of_rows, deal_out, overload

CLUSTER_SHARE = 0.02  # of a part's limit: the most a cluster may weigh
SWEEPS = 4
MOST_PASSES = 8  # of Fiduccia-Mattheyses on one level
LEAST_SHRINKAGE = 0.9
MOST_STAGES = 5  # in which limits that are exceeded are approached
FIRST_ROOM = 0.17  # over a limit: at least, in the first of these stages
LITTLE_EXCESS = 0.05  # over a limit: no stages
OSCILLATION_ROOMS, OSCILLATION_STAGES = (0.3, 0.2, 0.1, 0.05), 3
ONE_SLAB = 62  # shift by which all nodes fall into one slab

BYTES_PER_ARC = 4 + 8 + 40  # neighbour, weight; contraction: keys, weights, arcs before and after merging
BYTES_PER_NODE = 100


class WeightedNodes:
    """What graphs in memory have in common: their nodes.

    Parameters
    ----------
    node_weights : int64 array (nodes, constraints)
    """

    __slots__ = ()
    node_weights: np.ndarray

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return int(self.node_weights.shape[0])

    def loads(self, parts: np.ndarray, num_parts: int) -> np.ndarray:
        """Loads of the parts, int64 (parts, constraints)."""
        loads = np.zeros((num_parts, self.node_weights.shape[1]), np.int64)
        add_up(parts, 0, self.node_weights, loads)
        return loads

    def overload(self, parts: np.ndarray, limits: np.ndarray, num_parts: int) -> float:
        """By how much the parts exceed the limits."""
        return float(overload(self.loads(parts, num_parts), limits))

    def deal_out_rest(self, parts: np.ndarray, num_parts: int, limits: np.ndarray) -> None:
        """Give the nodes that have no part yet to the emptiest parts, the heaviest first, in place."""
        rest = np.flatnonzero(parts < 0)
        if rest.size:
            shares = (self.node_weights[rest] / np.maximum(limits, 1)).max(axis=1)
            order = rest[np.argsort(-shares, kind="stable")]
            deal_out(order, self.node_weights[order], limits, parts, self.loads(parts, num_parts))


@dataclass(frozen=True, slots=True, eq=False)
class Csr(WeightedNodes):
    """A weighted graph in memory.

    Parameters
    ----------
    indptr : int64 array (nodes + 1,)
    indices : int32 array (arcs,)
    weights : int64 array (arcs,)
    node_weights : int64 array (nodes, constraints)
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    node_weights: np.ndarray

    def cut(self, parts: np.ndarray) -> int:
        """Weight of the edges that are cut."""
        return int(cut_of_rows(self.indptr, self.indices, self.weights, 0, parts)[0]) // 2


def refine(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray, cycles: int, seed: int) -> np.ndarray:
    """Restore balance and improve the cut by V-cycles, keeping the best of what they give.

    Parameters
    ----------
    graph : Csr
        The graph.
    parts : int32 array (nodes,)
        Part of each node.
    num_parts : int
        Number of parts.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    cycles : int
        How many V-cycles at most; they end when one gains less than a thousandth.
    seed : int
        Seed.

    Returns
    -------
    int32 array (nodes,)
    """
    if not cycles:
        return parts
    starts = [parts]
    if limits.size > 1:  # which of the two is better cannot be told beforehand
        approached = _approach(graph, parts, num_parts, limits, seed)
        starts += [approached] if approached is not parts else []
    found = [_refine_from(graph, start, num_parts, limits, cycles, seed) for start in starts]
    return min(found, key=lambda each: _value(graph, each, num_parts, limits))


def _refine_from(
    graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray, cycles: int, seed: int
) -> np.ndarray:
    best = parts
    best_value = _value(graph, best, num_parts, limits)
    for cycle in range(cycles):
        parts = _v_cycle(graph, best.copy(), num_parts, limits, (seed + 1) * 1_000_003 + 1009 * cycle)
        value = _value(graph, parts, num_parts, limits)
        small = value[0] >= best_value[0] and value[1] > 0.999 * best_value[1]
        if value < best_value:
            best, best_value = parts, value
        if small:
            break
    return best


def settle(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray, seed: int) -> np.ndarray:
    """Come close to the limits and keep them, with as little work as tells how good a beginning is."""
    parts = _approach(graph, parts, num_parts, limits, seed)
    return _refine_from(graph, parts, num_parts, limits, 1, seed)


def oscillate(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray, rounds: int, seed: int) -> np.ndarray:
    """Loosen limits and tighten them again, several times, and return the best parts: tight limits hold moves up."""
    best, best_value = parts, _value(graph, parts, num_parts, limits)
    for number in range(rounds):
        salt = (seed + 1) * 1_000_003 + 10_007 * number
        parts, room = best, OSCILLATION_ROOMS[number % len(OSCILLATION_ROOMS)]
        # all limits, or each of them more than the others
        share = np.full(limits.size, 1.0 if number % (limits.size + 1) == 0 else 0.3)
        share[number % (limits.size + 1) - 1] = 1.0
        for stage in range(OSCILLATION_STAGES):
            relaxed = np.ceil(limits * (1 + room * share)).astype(np.int64)
            parts = _v_cycle(graph, parts.copy(), num_parts, relaxed, salt + 1009 * stage)
            room /= 2
        parts = _v_cycle(graph, parts.copy(), num_parts, limits, salt - 1009)
        value = _value(graph, parts, num_parts, limits)
        if value < best_value:
            best, best_value = parts, value
    return best


def _approach(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray, seed: int) -> np.ndarray:
    """Come close to limits of several constraints in stages: with room to move, the cut falls while balance improves.

    Limits that are exceeded are loosened to what there is, or a little more, and tightened by half in each stage.
    """
    shares = graph.loads(parts, num_parts).max(axis=0) / np.maximum(limits, 1)
    if limits.size == 1 or shares.max() <= 1 + LITTLE_EXCESS:
        return parts
    room = np.where(shares > 1 + LITTLE_EXCESS, np.maximum(shares - 1, FIRST_ROOM), 0.0)
    for stage in range(MOST_STAGES):
        if room.max() <= LITTLE_EXCESS:
            break
        relaxed = np.ceil(limits * (1 + room)).astype(np.int64)
        parts = _v_cycle(graph, parts.copy(), num_parts, relaxed, (seed + 1) * 1_000_003 - 1009 * (stage + 1))
        room /= 2
    return parts


def _value(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray) -> tuple[float, int]:
    return round(graph.overload(parts, limits, num_parts), 9), graph.cut(parts)


def _v_cycle(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray, salt: int) -> np.ndarray:
    if graph.num_nodes > max(2000, 40 * num_parts):
        clusters, count = _cluster(graph, parts, limits, salt)
        if count < LEAST_SHRINKAGE * graph.num_nodes:
            coarse = contract(graph, clusters, count)
            coarse_parts = np.empty(count, np.int32)
            coarse_parts[clusters] = parts
            coarse_parts = _v_cycle(coarse, coarse_parts, num_parts, limits, salt + 101)
            parts = coarse_parts[clusters]
    return refine_level(graph, parts, num_parts, limits)


def refine_level(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray) -> np.ndarray:
    """Restore balance and improve the cut by moves of single nodes, in place; return the parts."""
    loads = graph.loads(parts, num_parts)
    args = (graph.indptr, graph.indices, graph.weights, parts, graph.node_weights, loads, limits)
    patience, most_work = max(200, graph.num_nodes // 50), 20 * graph.indices.size + 1000
    relieve(*args, most_work)
    for _ in range(MOST_PASSES):
        if refine_fm(*args, patience, most_work) <= 0:
            break
    return parts


def _cluster(graph: Csr, parts: np.ndarray, limits: np.ndarray, salt: int) -> tuple[np.ndarray, int]:
    """Cluster the nodes inside their parts: cluster of each node, int32 (nodes,), and how many there are."""
    n, node_weights = graph.num_nodes, graph.node_weights
    most = np.maximum((limits * CLUSTER_SHARE).astype(np.int64), node_weights.max(axis=0, initial=0))
    labels, loads, favorites = np.arange(n, dtype=np.int32), node_weights.copy(), np.empty(n, np.int32)
    for sweep in range(SWEEPS):
        mine = labels.copy()
        propose_clusters(
            graph.indptr, graph.indices, graph.weights, 0, labels, parts, node_weights, loads, most,
            (salt + sweep) & 0x7FFFFFFF, mine, favorites,
        )  # fmt: skip
        if apply_clusters(0, mine, node_weights, most, labels, loads) < 0.02 * n:
            break
    sizes = np.bincount(labels, minlength=n).astype(np.int32)
    waiting = np.full(n, -1, np.int32)
    join_leftovers(0, favorites, node_weights, most, sizes, waiting, parts, labels, loads)
    waiting[:] = -1
    return labels, int(number_clusters(labels, np.empty(0, np.bool_), waiting))


def contract(graph: Csr, clusters: np.ndarray, count: int) -> Csr:
    """Contract clusters; `clusters` is int32 (nodes,) below `count`."""
    total = np.zeros(1, np.int64)
    count_coarse_arcs(graph.indptr, graph.indices, 0, clusters, ONE_SLAB, total)
    arcs = np.empty((total[0], 3), np.int32 if graph.weights.sum() < 1 << 31 else np.int64)
    cursors = np.zeros(1, np.int64)
    scatter_coarse_arcs(graph.indptr, graph.indices, graph.weights, 0, clusters, ONE_SLAB, cursors, arcs)
    indices, indptr, weights = np.empty(total[0], np.int32), np.empty(count + 1, np.int64), np.empty(total[0], np.int64)
    done = merge_weighted_arcs(arcs, 0, count, indices, indptr, weights)
    node_weights = np.zeros((count, graph.node_weights.shape[1]), np.int64)
    add_up(clusters, 0, graph.node_weights, node_weights)
    return Csr(indptr, indices[:done].copy(), weights[:done].copy(), node_weights)
