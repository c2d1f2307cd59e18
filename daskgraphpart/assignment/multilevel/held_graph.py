"""The noun `Held`: a level whose blocks are in memory, read once, however often they are swept over.

It takes little more than its files do: 8 bytes per arc, and while it is contracted 20 for each arc between clusters,
before and after sorting; a coarser graph may have nearly as many arcs. The blocks are those of the disk, so that sweeps
go through them in the same rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.adjacency.arc_runs import num_slabs, slab_shift
from daskgraphpart.adjacency.contract import scatter_arcs
from daskgraphpart.adjacency.merge_arcs import most_arcs_of_block
from daskgraphpart.assignment.multilevel.in_memory import Csr, WeightedNodes
from daskgraphpart.kernels.arcs import merge_weighted_arcs
from daskgraphpart.kernels.clusters import add_up
from daskgraphpart.kernels.moves import cut_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from daskgraphpart.assignment.multilevel.level import Level

    Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
    """As the function `map`: it may make its calls side by side, and gives the results in their order."""

BYTES_PER_ARC = 8
BYTES_PER_COARSE_ARC = 8 + 12 + 8  # of the next graph; its arcs scattered by slab, and merged
BYTES_PER_NODE = 60  # labels, proposals, favourites, sizes, parts


class Rows(NamedTuple):
    """Rows of consecutive nodes from `start` on: row starts, neighbours, and weights, none if all are 1."""

    start: int
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray

    @property
    def stop(self) -> int:
        """Node after the last."""
        return self.start + self.indptr.size - 1


@dataclass(frozen=True, slots=True, eq=False)
class Held(WeightedNodes):
    """A weighted graph in memory, as blocks.

    Parameters
    ----------
    blocks : tuple of Rows
        All rows, in the order of nodes.
    node_weights : int64 array (nodes, constraints)
    """

    blocks: tuple[Rows, ...]
    node_weights: np.ndarray

    @property
    def num_arcs(self) -> int:
        """Number of arcs."""
        return sum(block.indices.size for block in self.blocks)

    def isolated(self) -> np.ndarray:
        """Which nodes have no neighbours, bool (nodes,); (0,) if all have some."""
        found = np.concatenate([np.diff(block.indptr) == 0 for block in self.blocks] or [np.empty(0, np.bool_)])
        return found if found.any() else np.empty(0, np.bool_)

    def cut(self, parts: np.ndarray, each: Map) -> int:
        """Weight of the edges that are cut."""

        def of(block: Rows) -> int:
            return int(cut_of_rows(block.indptr, block.indices, block.weights, block.start, parts)[0])

        return sum(each(of, self.blocks)) // 2

    def csr(self) -> Csr:
        """The same graph as one piece."""
        indptr = np.zeros(self.num_nodes + 1, np.int64)
        indices, weights = np.empty(self.num_arcs, np.int32), np.ones(self.num_arcs, np.int64)
        first = 0
        for block in self.blocks:
            last = first + block.indices.size
            indptr[block.start + 1 : block.stop + 1] = block.indptr[1:] + first
            indices[first:last] = block.indices
            if block.weights.size:
                weights[first:last] = block.weights
            first = last
        return Csr(indptr, indices, weights, self.node_weights)


def hold(level: Level, each: Map) -> Held:
    """Read a level into memory."""
    blocks = each(lambda block: Rows(block.start, *block.read()), level.adjacency.blocks)
    return Held(tuple(blocks), level.read_weights(0, level.num_nodes))


def contract_held(graph: Held, clusters: np.ndarray, count: int, each: Map) -> Held:
    """Contract clusters.

    Parameters
    ----------
    graph : Held
        The graph.
    clusters : int32 array (nodes,)
        Coarse node of each node, below `count`; -1 leaves a node out.
    count : int
        Number of coarse nodes.
    each : callable
        What makes calls.
    """
    total = sum(
        each(lambda block: int(block.weights.sum()) if block.weights.size else block.indices.size, graph.blocks)
    )
    dtype = np.dtype(np.int32 if total < 1 << 31 else np.int64)
    runs = list(each(lambda block: scatter_arcs(block, clusters, count, dtype), graph.blocks))
    shift, slabs = slab_shift(count), num_slabs(count)
    table = np.array([counts for counts, _ in runs], np.int64).reshape(len(runs), slabs)
    ends = np.hstack([np.zeros((len(runs), 1), np.int64), np.cumsum(table, axis=1)])

    def merge(span: tuple[int, int]) -> Rows:
        first, last = span
        arcs = np.concatenate([run[ends[i, first] : ends[i, last]] for i, (_, run) in enumerate(runs)])
        start, stop = first << shift, min(last << shift, count)
        indices, weights = np.empty(arcs.shape[0], np.int32), np.empty(arcs.shape[0], dtype)
        indptr = np.empty(stop - start + 1, np.int64)
        done = merge_weighted_arcs(arcs, start, stop, indices, indptr, weights)
        return Rows(start, indptr, indices[:done].copy(), weights[:done].copy())

    blocks = tuple(each(merge, _spans(table.sum(axis=0))))
    node_weights = np.zeros((count, graph.node_weights.shape[1]), np.int64)
    add_up(clusters, 0, graph.node_weights, node_weights)
    return Held(blocks, node_weights)


def _spans(totals: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of slabs that have as many arcs as a block may, or are one slab."""
    most, spans, first, arcs = most_arcs_of_block(int(totals.sum())), [], 0, 0
    for slab, found in enumerate(totals.tolist()):
        if slab > first and arcs + found > most:
            spans.append((first, slab))
            first, arcs = slab, 0
        arcs += found
    return [*spans, (first, totals.size)] if totals.size else spans
