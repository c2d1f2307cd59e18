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
    from daskgraphpart.partitioner.adjacency.csr_blocks import Piece
    from daskgraphpart.partitioner.multilevel.refine import Limits
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph

FENNEL_PASSES = 3
STREAM_ROUNDS = 64  # of pieces that do not see each other's nodes; so many cut about as if nodes came in turn
RESTREAM_ROUNDS = 8  # or as many as there are parts, if nodes have some to begin with
# the full price would scatter the first nodes over empty parts; later passes press harder, as Nishimura and Ugander
# advise
FIRST_PRICE, PRICE_GROWTH = 0.2, 2.0
# full parts would turn away nodes that belong there, so all passes but the last may exceed limits, the first by this
# share
FIRST_ROOM = 0.02


def stream(
    graph: WeightedGraph,
    limits: Limits,
    passes: int,
    each: Map,
    num_isolated: int = 0,
    given: np.ndarray | None = None,
    done: int = 0,
) -> np.ndarray:
    """Assign all nodes with neighbours in ID order, in one or several passes; the others get -1.

    Fixed nodes keep their `given` parts, int32 (nodes,), which may be those of the passes `done`.
    """
    parts = np.full(graph.num_nodes, -1, np.int32) if given is None else given.copy()
    loads = graph.loads(parts, limits.num_parts, each)
    # Fennel's alpha, m sqrt(k) / n^1.5, times the square root of a full part's size n / k: edges per node
    alpha = graph.total_weight / 2 / max(1, graph.num_nodes - num_isolated)

    def assign(call: tuple[Piece, int]) -> Moves:
        piece, count = call
        nodes = slice(piece.start, piece.stop)
        mine, weights, own_loads = parts[nodes].copy(), graph.node_weights(piece.start, piece.stop), loads.copy()
        fixed = graph.fixed[nodes]
        if not (fixed.size and fixed.all()):
            rows = piece.read()
            stream_nodes(*rows, piece.start, parts, mine, weights, own_loads, most, price, fixed, count)
        return Moves.of(parts[nodes], mine, (own_loads - loads) // count)

    rounds = STREAM_ROUNDS
    if given is not None and np.count_nonzero(given < 0) <= num_isolated:
        # each piece is told that the others of its round do as it does: together they are a part at most
        rounds = min(max(RESTREAM_ROUNDS, limits.num_parts), rounds)
    for number in range(done, passes):
        room = FIRST_ROOM * (passes - 1 - number) / max(1, passes - 1)
        most, price = (limits.most * (1 + room)).astype(np.int64), alpha * FIRST_PRICE * PRICE_GROWTH**number
        for pieces in graph.rounds(rounds):
            calls = [(piece, len(pieces)) for piece in pieces]
            for piece, moves in zip(pieces, each.share(assign, calls), strict=True):
                Moves(*moves).apply(piece, parts, loads)
    return parts
