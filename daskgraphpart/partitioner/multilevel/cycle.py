"""The V-cycle: coarsen inside the parts, then restore balance and improve the cut level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.partitioner.multilevel.coarsen import cluster, contract
from daskgraphpart.partitioner.multilevel.refine import refine
from daskgraphpart.partitioner.multilevel.weighted_graph import project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.partitioner.multilevel.refine import Limits
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph

CLUSTER_SHARE, CLUSTER_NODES = 0.02, 32  # most that a cluster may weigh: share of a part's limit, and average nodes
LEAST_SHRINKAGE = 0.9
NODES_PER_PART, LEAST_NODES = 40, 2000  # of the coarsest graph


def v_cycle(
    graph: WeightedGraph,
    starts: Sequence[np.ndarray],
    limits: Limits,
    seed: int,
    each: Map,
    coarsest: int | None = None,
) -> np.ndarray:
    """Run one V-cycle from given partitions; return the parts, int32 (nodes,).

    Nodes that any of the partitions separates stay separate while coarsening. The best partition of the coarsest level
    goes on. This combines what the partitions agree on. Graphs of at most `coarsest` nodes are coarsened no further.
    """
    coarsest = coarsest or max(LEAST_NODES, NODES_PER_PART * limits.num_parts)
    if graph.num_nodes > coarsest:
        clusters, count = cluster(graph, largest_clusters(graph, limits), overlay(starts, limits), seed, each)
        if count < LEAST_SHRINKAGE * graph.num_nodes:
            coarse_starts = np.empty((len(starts), count), np.int32)
            coarse_starts[:, clusters] = starts
            coarse = contract(graph, clusters, count, each)
            parts = project(v_cycle(coarse, list(coarse_starts), limits, seed + 101, each, coarsest), clusters, each)
            refine(graph, parts, limits, each)
            return parts
    candidates = [start.copy() for start in starts]
    for start in candidates:
        refine(graph, start, limits, each)
    return min(candidates, key=lambda parts: limits.value(graph, parts, each))


def overlay(starts: Sequence[np.ndarray], limits: Limits) -> np.ndarray:
    """Number the sets of nodes that share a part in all partitions, int32 (nodes,)."""
    sets = starts[0]
    for parts in starts[1:]:
        pairs = sets.astype(np.int64) * limits.num_parts + parts
        sets = np.unique(pairs, return_inverse=True)[1].astype(np.int32)
    return sets


def largest_clusters(graph: WeightedGraph, limits: Limits, num_nodes: float = CLUSTER_NODES) -> np.ndarray:
    """Most that a cluster may weigh, int64 (constraints,): a small share of a part, and so many average nodes.

    The latter is of the first constraint alone, since hubs, which weigh much in edges, would stay without company.
    """
    most = limits.most * CLUSTER_SHARE
    most[0] = min(most[0], graph.columns[0].sum() / max(1, graph.num_nodes) * num_nodes)
    return np.maximum(most.astype(np.int64), 1)
