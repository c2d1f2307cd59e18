"""Extend an assignment to new nodes: old ones stay, new ones follow their edges.

The old nodes of a part count as one node, which keeps the graph small. It is coarsened, its coarsest nodes are streamed
to parts, and every level is refined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.move_nodes import gains_of_rows
from daskgraphpart.partitioner.multilevel.coarsen import cluster, contract
from daskgraphpart.partitioner.multilevel.cycle import LEAST_NODES, LEAST_SHRINKAGE, NODES_PER_PART, largest_clusters
from daskgraphpart.partitioner.multilevel.refine import refine
from daskgraphpart.partitioner.multilevel.stream import stream
from daskgraphpart.storage.files import make_directory
from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.partitioner.adjacency.csr_blocks import Block
    from daskgraphpart.partitioner.multilevel.refine import Limits
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph


MAX_ARCS_IN_MEMORY = 1 << 21  # which take less than METIS on the coarsest graph of others
UNLIMITED = 1000  # times the limits, which no part reaches


def extend(
    graph: WeightedGraph, old: np.ndarray, limits: Limits, may_move: float, seed: int, directory: Path, each: Map
) -> tuple[np.ndarray, str]:
    """Assign the nodes without a part (-1); return all parts, and how many old nodes moved.

    Of the old nodes, only the share `may_move` moves: those that shrink the cut most.
    """
    is_old, num_parts = old >= 0, limits.num_parts
    num_old = int(np.count_nonzero(is_old))
    count = num_parts + old.size - num_old
    clusters = old.astype(id_dtype(count))
    clusters[~is_old] = np.arange(num_parts, count)
    known = np.full(count, -1, np.int32)
    known[:num_parts] = np.arange(num_parts)
    # rows of old nodes that stay are not needed
    blocks = [block for block in graph.blocks if not is_old[block.start : block.stop].all()]
    small = _contract(replace(graph, blocks=blocks or graph.blocks[:1]), clusters, count, directory, each)
    parts = _assign_new(small, known, limits, seed, directory, each)[clusters]
    if most := int(may_move * num_old):
        moving = _best_to_move(graph, parts, limits, each)
        fixed = is_old.copy()
        fixed[moving[is_old[moving]][:most]] = False
        refine(replace(graph, fixed=fixed), parts, limits, each)
    moved = int(np.count_nonzero(parts[is_old] != old[is_old]))
    return parts, f"{moved:,} moved"


def _assign_new(
    graph: WeightedGraph, known: np.ndarray, limits: Limits, seed: int, directory: Path, each: Map
) -> np.ndarray:
    """Assign nodes without a part (-1); the others stay.

    Each level keeps the better of two balanced and refined assignments: the coarser graph's, and one that streams nodes
    to their neighbours regardless of limits, so that rebalancing moves those that lose least.
    """
    fixed, coarse_parts = replace(graph, fixed=known >= 0), None
    if graph.num_nodes > max(LEAST_NODES, NODES_PER_PART * limits.num_parts):
        sets = np.where(known < 0, limits.num_parts, known).astype(np.int32)
        clusters, count = cluster(graph, largest_clusters(graph, limits), sets, seed, each)
        if count < LEAST_SHRINKAGE * graph.num_nodes:
            of_clusters = np.empty(count, np.int32)
            of_clusters[clusters] = known
            coarse = _contract(graph, clusters, count, directory / "coarse", each)
            coarse_parts = _assign_new(coarse, of_clusters, limits, seed + 1, directory / "coarse", each)[clusters]
    no_limits = replace(limits, most=np.minimum(limits.most.astype(np.float64) * UNLIMITED, 2.0**62).astype(np.int64))
    starts = [stream(fixed, limits, 1, each, given=known) if coarse_parts is None else coarse_parts]
    starts.append(stream(fixed, no_limits, 1, each, given=known))
    for parts in starts:
        refine(fixed, parts, limits, each)
    return min(starts, key=lambda parts: limits.value(fixed, parts, each))


def _contract(graph: WeightedGraph, clusters: np.ndarray, count: int, directory: Path, each: Map) -> WeightedGraph:
    """Contract a graph, on disk unless it is small: memory must not change results."""
    make_directory(directory)
    return contract(graph, clusters, count, each, directory if graph.num_arcs > MAX_ARCS_IN_MEMORY else None)


def _best_to_move(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map) -> np.ndarray:
    """Nodes with neighbours in other parts that have room, largest gain first."""
    over = limits.over(graph.loads(parts, limits.num_parts, each))

    def gains_of(block: Block) -> np.ndarray:
        mine, weights = parts[block.start : block.stop], graph.node_weights(block.start, block.stop)
        gains: np.ndarray = gains_of_rows(*block.read(), block.start, parts, mine, weights, over, limits.shares)
        return gains

    gains = np.concatenate([*each.share(gains_of, graph.blocks)])
    candidates = np.flatnonzero(gains > np.iinfo(np.int64).min)
    best: np.ndarray = candidates[np.argsort(-gains[candidates], kind="stable")]
    return best
