"""Fennel over the blocks of a graph, with restreaming; holds the parts of nodes and one block.

Tsourakakis, Gkantsidis, Radunovic and Vojnovic, "FENNEL" (WSDM 2014), with gamma = 1.5; Nishimura and Ugander,
"Restreaming graph partitioning" (KDD 2013). With several constraints, the fullest counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.streaming import stream_nodes
from daskgraphpart.partitioner.multilevel.refine import Moves

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import Rows, Stretch
    from daskgraphpart.partitioner.multilevel.refine import Limits
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph

FENNEL_PASSES = 3
STRETCH_ARCS = 1 << 16
MOST_SIDE_BY_SIDE, LEAST_ROUNDS = 16, 64
"""Stretches that do not see each other's nodes; so many rounds, for the graph's cut to be that of streaming in turn."""
# the full price would scatter the first nodes over empty parts; later passes press harder, as Nishimura and Ugander
# advise
FIRST_PRICE, PRICE_GROWTH = 0.2, 2.0
# full parts would turn away nodes that belong there, so all passes but the last may exceed limits, the first by this
# share
FIRST_ROOM = 0.02


def stream(
    graph: WeightedGraph, limits: Limits, passes: int, each: Map, num_isolated: int = 0, given: np.ndarray | None = None
) -> np.ndarray:
    """Assign all nodes with neighbours in ID order, in one or several passes; the others get -1.

    Fixed nodes keep their `given` parts, int32 (nodes,).
    """
    parts = np.full(graph.num_nodes, -1, np.int32) if given is None else given.copy()
    loads = graph.loads(parts, limits.num_parts, each)
    # Fennel's alpha, m sqrt(k) / n^1.5, times the square root of a full part's size n / k: edges per node
    alpha = graph.total_weight / 2 / max(1, graph.num_nodes - num_isolated)

    stretches = [stretch for block in graph.blocks for stretch in block.stretches(STRETCH_ARCS)]
    width = max(1, min(MOST_SIDE_BY_SIDE, len(stretches) // LEAST_ROUNDS))

    rounds = -(-len(stretches) // width)

    def assign(call: tuple[Rows | Stretch, int]) -> Moves:
        stretch, count = call
        nodes = slice(stretch.start, stretch.stop)
        mine, weights, own_loads = parts[nodes].copy(), graph.node_weights(stretch.start, stretch.stop), loads.copy()
        fixed = graph.fixed[nodes]
        if not (fixed.size and fixed.all()):
            rows = stretch.read()
            stream_nodes(*rows, stretch.start, parts, mine, weights, own_loads, most, price, fixed, count)
        return Moves(mine, (own_loads - loads) // count)

    for number in range(passes):
        room = FIRST_ROOM * (passes - 1 - number) / max(1, passes - 1)
        most, price = (limits.most * (1 + room)).astype(np.int64), alpha * FIRST_PRICE * PRICE_GROWTH**number
        for first in range(rounds):
            now = stretches[first::rounds]
            for stretch, moves in zip(now, each(assign, [(stretch, len(now)) for stretch in now]), strict=True):
                moves.apply(stretch, parts, loads)
    return parts
