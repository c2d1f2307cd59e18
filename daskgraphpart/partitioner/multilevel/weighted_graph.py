"""The noun `WeightedGraph`: a weighted graph as CSR blocks, in memory or on disk."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.clusters import add_up
from daskgraphpart.kernels.move_nodes import cut_of_rows
from daskgraphpart.partitioner.adjacency.csr_blocks import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.partitioner.adjacency.csr_blocks import Block, Piece
    from daskgraphpart.partitioner.multilevel.side_by_side import Map

MOST_ARCS_OF_ONE_BLOCK = 1 << 23  # per block in memory; a larger graph is worked on by blocks side by side
PIECE_ARCS = 1 << 16  # of what one thread works on at a time
ROUNDS = 4  # of a sweep over all pieces
SPAN = 1 << 16  # nodes


@dataclass(frozen=True, slots=True, eq=False)
class WeightedGraph:
    """A weighted undirected graph: blocks in node order, and a column of node weights per constraint.

    All arc weights sum to at most `total_weight`. Nodes in `fixed`, bool (nodes,) or (0,) for none, keep their parts.
    Sweeps work on `pieces` of the blocks, or on blocks if there are none.
    """

    blocks: Sequence[Block]
    columns: tuple[np.ndarray, ...]
    total_weight: int
    fixed: np.ndarray = field(default_factory=lambda: np.empty(0, np.bool_))
    pieces: Sequence[Piece] = ()

    def on_disk(self) -> WeightedGraph:
        """Return the graph with blocks on this machine's disk, copied there if they lie elsewhere."""
        return replace(self, blocks=[block.on_disk() for block in self.blocks])

    def cut_up(self, each: Map) -> WeightedGraph:
        """Cut the blocks into pieces of few arcs, so that each is soon done."""
        cuts = each.share(lambda block: block.on_disk().cuts(PIECE_ARCS), self.blocks)
        pieces = [
            block.stretch(*first, *last)
            for block, of_block in zip(self.blocks, cuts, strict=True)
            for first, last in pairwise(of_block.tolist())
        ]
        return replace(self, pieces=pieces)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return int(self.columns[0].size)

    @property
    def num_arcs(self) -> int:
        """Number of arcs, twice the number of edges."""
        return sum(block.num_arcs for block in self.blocks)

    def node_weights(self, start: int, stop: int) -> np.ndarray:
        """Weights of the nodes ``start, ..., stop - 1``, int64 (nodes, constraints)."""
        return np.stack([column[start:stop] for column in self.columns], axis=1, dtype=np.int64)

    def rounds(self, most: int = ROUNDS) -> Iterator[Sequence[Piece]]:
        """Group pieces into rounds; those of a round run side by side without seeing each other's moves.

        What a piece is, and the number of rounds, depend on the graph alone, so the number of workers does not change
        results. A round's pieces lie far apart, so that neighbours with near IDs see each other's moves.
        """
        pieces = self.pieces or self.blocks
        count = min(most, len(pieces))
        for first in range(count):
            yield pieces[first::count]

    def loads(self, parts: np.ndarray, num_parts: int, each: Map) -> np.ndarray:
        """Weight of each part, int64 (parts, constraints), without nodes of no part (-1)."""

        def loads_of(span: tuple[int, int]) -> np.ndarray:
            loads = np.zeros((num_parts, len(self.columns)), np.int64)
            add_up(parts, span[0], self.node_weights(*span), loads)
            return loads

        total: np.ndarray = sum(
            each.share(loads_of, spans(self.num_nodes)), np.zeros((num_parts, len(self.columns)), np.int64)
        )
        return total

    def cut(self, parts: np.ndarray, each: Map) -> int:
        """Weight of the cut edges."""

        def cut_of(piece: Piece) -> int:
            return int(cut_of_rows(*piece.read(), piece.start, parts, 0)[0])

        return int(sum(each.share(cut_of, self.pieces or self.blocks))) // 2


def spans(num_nodes: int, size: int = SPAN) -> Iterator[tuple[int, int]]:
    """Cut a range of nodes into spans of bounded size."""
    for start in range(0, num_nodes, size):
        yield start, min(start + size, num_nodes)


def project(of_clusters: np.ndarray, clusters: np.ndarray, each: Map) -> np.ndarray:
    """Return what each node's cluster has."""
    of_nodes = np.empty(clusters.size, of_clusters.dtype)

    def fill(span: tuple[int, int]) -> None:
        of_nodes[slice(*span)] = of_clusters[clusters[slice(*span)]]

    each(fill, spans(clusters.size))
    return of_nodes


def hold(graph: WeightedGraph, each: Map) -> tuple[WeightedGraph, np.ndarray]:
    """Read a graph into memory without isolated nodes.

    Arrays: returns int64 (kept nodes,).
    """
    blocks = each(lambda block: Rows(block.start, *block.read()), graph.blocks)
    degrees = np.concatenate([np.diff(block.indptr) for block in blocks]) if blocks else np.empty(0, np.int64)
    kept = np.flatnonzero(degrees)
    numbers = np.cumsum(degrees > 0, dtype=np.int32) - np.int32(1)
    is_whole = kept.size == degrees.size

    def renumber(block: Rows) -> Rows:
        ends = block.indptr[1:][np.diff(block.indptr) > 0]
        start = int(np.searchsorted(kept, block.start))
        indices = block.indices if is_whole else numbers[block.indices]
        return Rows(
            start, np.concatenate([block.indptr[:1], ends]), indices.astype(np.int32, copy=False), block.weights
        )

    blocks = each(renumber, blocks)
    columns = tuple(np.array(column if is_whole else column[kept]) for column in graph.columns)
    if sum(block.num_arcs for block in blocks) <= MOST_ARCS_OF_ONE_BLOCK:
        blocks = [_join(blocks)]
    return WeightedGraph(blocks, columns, graph.total_weight), kept


def _join(blocks: Sequence[Rows]) -> Rows:
    if len(blocks) == 1:
        return blocks[0]
    firsts = np.cumsum([0, *(block.num_arcs for block in blocks)])
    indptr = [block.indptr[:-1] + first for block, first in zip(blocks, firsts, strict=False)]
    weights = np.empty(0, np.int32)
    if any(block.weights.size for block in blocks):
        weights = np.concatenate([b.weights if b.weights.size else np.ones(b.num_arcs, np.int32) for b in blocks])
    indices = np.concatenate([block.indices for block in blocks] or [np.empty(0, np.int32)])
    return Rows(0, np.concatenate([*indptr, firsts[-1:]]), indices, weights)
