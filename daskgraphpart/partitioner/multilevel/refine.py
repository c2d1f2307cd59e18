"""Restore balance and improve the cut by moving single nodes: pieces of the graph side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.kernels.move_nodes import assign_greedily, overload, rebalance_rows, refine_rows
from daskgraphpart.partitioner.multilevel.weighted_graph import spans
from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import Piece
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph

MAX_REBALANCES = 6
EAGERNESS = 8  # times the share of excess and room that a piece may use in one more try to balance
BOLDNESS = 8  # times its share of room that a piece may use; few need it, and what exceeds a limit is not applied
REFINE_SWEEPS = 16
SETTLED = 0.02  # of what the best sweep gained; when one gains less, a further one is not worth its time
NOTHING = 1e-12  # of overload
SPANS_AT_ONCE = 64  # of nodes that get parts side by side
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

    def times(self, factor: float) -> Limits:
        """Return limits of so many times these."""
        return Limits(self.num_parts, np.maximum((self.most * factor).astype(np.int64), 1))

    def over(self, loads: np.ndarray) -> np.ndarray:
        """Loads minus limits, float64 (parts, constraints)."""
        over: np.ndarray = (loads - self.most).astype(np.float64)
        return over

    def excess(self, loads: np.ndarray) -> float:
        """Sum of overloads, each as a share of its limit."""
        return float(overload(self.over(loads), self.shares))

    def overload(self, graph: WeightedGraph, parts: np.ndarray, each: Map) -> float:
        """Sum of overloads, each as a share of its limit."""
        return round(self.excess(graph.loads(parts, self.num_parts, each)), 9)

    def value(self, graph: WeightedGraph, parts: np.ndarray, each: Map) -> tuple[float, int]:
        """Rank parts, least best: overload, then cut."""
        return self.overload(graph, parts, each), graph.cut(parts, each)


def refine(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map, sweeps: int = REFINE_SWEEPS) -> None:
    """Assign nodes of no part (-1), restore balance and improve the cut; in place."""
    assign_rest(graph, parts, limits, each)
    rebalance(graph, parts, limits, each)
    improve(graph, parts, limits, each, sweeps)


def rebalance(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map) -> float:
    """Move nodes out of overloaded parts, a share per piece, in place; return the remaining overload.

    Pieces move more than their share in later sweeps, but only what lowers the overload is applied.
    """

    def move(piece: Piece) -> tuple[np.ndarray, ...]:
        span = slice(piece.start, piece.stop)
        mine, counts = parts[span].copy(), np.bincount(parts[span], minlength=limits.num_parts)
        excess, room = (counts / np.maximum(remaining, 1))[:, None], (piece.stop - piece.start) / rest
        over = limits.over(loads)
        over *= np.minimum(1, np.where(over > 0, excess, room) * eagerness)
        before, weights = over.copy(), graph.node_weights(piece.start, piece.stop)
        rebalance_rows(*piece.read(), piece.start, parts, mine, weights, over, limits.shares, graph.fixed[span])
        return *Moves.of(parts[span], mine, over - before), counts

    loads = graph.loads(parts, limits.num_parts, each)
    left, eagerness = limits.excess(loads), 1
    for _ in range(MAX_REBALANCES if left > NOTHING else 0):
        # nodes of each part, and all nodes, in the rounds to come
        remaining, rest = np.bincount(parts, minlength=limits.num_parts), graph.num_nodes
        for pieces in graph.rounds():
            if limits.excess(loads) <= NOTHING:
                return 0.0
            for piece, (*moved, counts) in zip(pieces, each.share(move, pieces), strict=True):
                moves = Moves(*moved)
                remaining -= counts
                rest -= piece.stop - piece.start
                if moves.change.any() and limits.excess(loads + moves.change) < limits.excess(loads):
                    moves.apply(piece, parts, loads)
        before, left = left, limits.excess(loads)
        if left >= before and eagerness >= len(graph.pieces):
            break
        eagerness *= EAGERNESS
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

    def move(call: tuple[Piece, int]) -> tuple[int, *tuple[np.ndarray, ...]] | None:
        piece, count = call
        span = slice(piece.start, piece.stop)
        begin = active[span]
        if not begin.any():
            return None
        mine, over = narrow[span].copy(), limits.over(loads) * min(1, BOLDNESS / count)
        before, weights = over.copy(), graph.node_weights(piece.start, piece.stop)
        gain = refine_rows(
            *piece.read(), piece.start, narrow, mine, weights, over, limits.shares, begin, following,
            graph.fixed[span], max(200, mine.size // PATIENCE),
        )  # fmt: skip
        return int(gain), *Moves.of(narrow[span], mine, over - before)

    for _ in range(sweeps):
        gained = 0
        for pieces in graph.rounds():
            calls, excess = [(piece, len(pieces)) for piece in pieces], limits.excess(loads)
            for piece, proposal in zip(pieces, each.share(move, calls, following), strict=True):
                if proposal is not None and proposal[0]:
                    gain, moves = proposal[0], Moves(*proposal[1:])
                    if limits.excess(loads + moves.change) <= excess:
                        moves.apply(piece, narrow, loads)
                        gained += gain
                    else:  # again in the next sweep
                        following[piece.start : piece.stop] |= active[piece.start : piece.stop]
        active[:], following[:], highest = following, False, max(highest, gained)
        if gained <= SETTLED * highest:
            break
    parts[:] = narrow


class Moves(NamedTuple):
    """Rows of a piece that move, their new parts, and by how much the loads change, int64 (parts, constraints)."""

    rows: np.ndarray
    parts: np.ndarray
    change: np.ndarray

    @classmethod
    def of(cls, before: np.ndarray, parts: np.ndarray, change: np.ndarray) -> Moves:
        """Compare parts of a piece; take a kernel's changes, whole numbers up to rounding."""
        rows = np.flatnonzero(before != parts)
        return cls(rows.astype(id_dtype(parts.size)), parts[rows], np.rint(change).astype(np.int64))

    def apply(self, piece: Piece, parts: np.ndarray, loads: np.ndarray) -> None:
        """Change parts and loads."""
        parts[piece.start : piece.stop][self.rows] = self.parts
        loads += self.change


def assign_rest(graph: WeightedGraph, parts: np.ndarray, limits: Limits, each: Map) -> None:
    """Give nodes without a part to the parts with most room, heaviest of each span first, in place."""
    if parts.min(initial=0) >= 0:
        return
    over, shares = limits.over(graph.loads(parts, limits.num_parts, each)), limits.shares

    def place(call: tuple[tuple[int, int], int]) -> np.ndarray:
        span, count = call
        nodes = np.flatnonzero(parts[slice(*span)] < 0)
        weights, mine = graph.node_weights(*span)[nodes], over / count
        order, before = np.argsort(-(weights * shares).max(axis=1), kind="stable"), mine.copy()
        assign_greedily(nodes[order] + span[0], weights[order], mine, shares, parts)
        change: np.ndarray = mine - before
        return change

    waiting = spans(graph.num_nodes)
    while some := list(islice(waiting, SPANS_AT_ONCE)):
        over += sum(each(place, [(span, len(some)) for span in some]))
