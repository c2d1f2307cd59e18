"""The V-cycle: coarsen inside the parts, restore balance and improve the cut on every level from the coarsest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel.coarsen import cluster, contract
from daskgraphpart.assignment.multilevel.refine import refine

if TYPE_CHECKING:
    from daskgraphpart.assignment.multilevel.graph import Graph, Map
    from daskgraphpart.assignment.multilevel.refine import Limits

CLUSTER_SHARE, CLUSTER_NODES = 0.02, 32  # of a part's limit, and times the average node: the most a cluster may weigh
LEAST_SHRINKAGE = 0.9
NODES_PER_PART, LEAST_NODES = 40, 2000  # of the coarsest graph


def v_cycle(
    graph: Graph, parts: np.ndarray, limits: Limits, seed: int, each: Map, inside: np.ndarray | None = None
) -> np.ndarray:
    """Return the parts that one V-cycle makes of given ones.

    Clusters stay inside parts, or inside the sets of nodes that `inside` tells, int32 (nodes,), each of which is in one
    part. With the overlay of two partitions this combines them.
    """
    parts, inside = parts.copy(), parts if inside is None else inside
    if graph.num_nodes > max(LEAST_NODES, NODES_PER_PART * limits.num_parts):
        clusters, count = cluster(graph, largest_clusters(graph, limits), inside, seed, each)
        if count < LEAST_SHRINKAGE * graph.num_nodes:
            coarse_parts, coarse_inside = np.empty((2, count), np.int32)
            coarse_parts[clusters], coarse_inside[clusters] = parts, inside
            coarse = contract(graph, clusters, count, each)
            parts = v_cycle(coarse, coarse_parts, limits, seed + 101, each, coarse_inside)[clusters]
    refine(graph, parts, limits, each)
    return parts


def largest_clusters(graph: Graph, limits: Limits) -> np.ndarray:
    """Most that a cluster may weigh, int64 (constraints,): some average nodes, and never much of a part."""
    averages = np.array([column.sum() for column in graph.columns]) / max(1, graph.num_nodes)
    most: np.ndarray = np.minimum(limits.most * CLUSTER_SHARE, averages * CLUSTER_NODES)
    return np.maximum(most.astype(np.int64), 1)
