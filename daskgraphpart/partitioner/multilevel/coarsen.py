"""Coarsen a graph: cluster by size-constrained label propagation over its blocks, then contract."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.arcs import merge_arcs, split_coarse_arcs
from daskgraphpart.kernels.clusters import (
    add_up,
    apply_clusters,
    match_two_hops,
    number_clusters,
    propose_clusters,
)
from daskgraphpart.partitioner.adjacency.adjacency_sizes import max_arcs_of_block
from daskgraphpart.partitioner.adjacency.build_adjacency import group_ranges
from daskgraphpart.partitioner.adjacency.csr_blocks import CsrBlock, Rows, write_block
from daskgraphpart.partitioner.adjacency.split_edges import range_shift
from daskgraphpart.partitioner.multilevel.weighted_graph import MOST_ARCS_OF_ONE_BLOCK, WeightedGraph, spans
from daskgraphpart.storage.files import delete_files
from daskgraphpart.storage.region import id_dtype, npy_region, save_npy

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.partitioner.adjacency.csr_blocks import Block, Piece
    from daskgraphpart.partitioner.multilevel.side_by_side import Map

COARSE_BLOCKS = 64  # of a coarser graph, to be contracted side by side
CLUSTER_SWEEPS = 5
SETTLED = 0.02  # of the nodes; when fewer move, or are without company, a further sweep is not worth its time
MOST_UNITS = (1 << 15) - 2  # of a cluster's weight: two bytes hold one more, for a node that is too heavy


def cluster(
    graph: WeightedGraph,
    most: np.ndarray,
    inside: np.ndarray | None,
    seed: int,
    each: Map,
    sweeps: int = CLUSTER_SWEEPS,
) -> tuple[np.ndarray, int]:
    """Cluster the nodes: cluster of each node, int32 or int64 (nodes,), and how many there are.

    No cluster of several nodes weighs more than `most`, int64 (constraints,), or crosses the sets in `inside`, int32
    (nodes,).
    """
    n = graph.num_nodes
    unit = np.maximum(1, -(-most // MOST_UNITS))
    labels, loads = np.empty(n, id_dtype(n)), np.empty((n, len(graph.columns)), np.int16)
    sets = np.empty(0, np.int32) if inside is None else inside
    clusters = Clusters(graph, unit, most // unit, labels, loads, sets, seed)
    each(clusters.begin, spans(n))
    active, following = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    for _ in range(sweeps):
        moved = 0
        for pieces in graph.rounds():
            calls = [(piece, active, following) for piece in pieces]
            for proposed in each.share(clusters.propose, calls, following):
                if proposed is not None:
                    moved += apply_clusters(*proposed, clusters.most, labels, loads)[0]
        if moved < SETTLED * n:
            break
        # revisit only nodes whose neighbours have moved
        active[:], following[:] = following, False
    single, active[:] = active, True
    each(partial(_note_company, labels, single), spans(n))
    calls = [(piece, single, following) for piece in graph.pieces or graph.blocks]
    is_worth_it = not graph.pieces or np.count_nonzero(single) >= SETTLED * n
    singles = each.share(clusters.prefer, calls) if is_worth_it else ()
    del calls, active, following, single
    waiting = np.full(n + int(sets.max(initial=0)) + 1, -1, labels.dtype)
    for of_piece in filter(None, singles):
        match_two_hops(*of_piece, clusters.most, waiting, sets, labels, loads)
    waiting[:] = -1
    return labels, int(number_clusters(labels, waiting))


def _note_company(labels: np.ndarray, single: np.ndarray, span: tuple[int, int]) -> None:
    """Note that nodes of a span in clusters named after others are not single, nor are those others."""
    joined = (mine := labels[slice(*span)]) != np.arange(*span, dtype=labels.dtype)
    single[slice(*span)][joined] = single[mine[joined]] = False


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters of all nodes by label, and their weights in units, int16 (nodes, constraints)."""

    graph: WeightedGraph
    unit: np.ndarray
    most: np.ndarray  # units of a cluster
    labels: np.ndarray
    loads: np.ndarray
    sets: np.ndarray
    seed: int

    def weights(self, start: int, stop: int) -> np.ndarray:
        """Weights of nodes in units, rounded up; what fits nowhere weighs one too much."""
        columns = zip(self.graph.columns, self.unit, self.most, strict=True)
        # by numbers, since numpy divides by an array of them in three times the time
        units = [np.minimum((column[start:stop] + (unit - 1)) // unit, most + 1) for column, unit, most in columns]
        return np.stack(units, axis=1, dtype=np.int16, casting="unsafe")

    def begin(self, span: tuple[int, int]) -> None:
        """Make each node a cluster."""
        self.labels[slice(*span)], self.loads[slice(*span)] = np.arange(*span), self.weights(*span)

    def propose(self, call: tuple[Piece, np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """Return the nodes that want to move, the clusters they chose, and their weights."""
        piece, active, _ = call
        if not active[piece.start : piece.stop].any():
            return None
        mine, _, weights = self._choose(*call)
        moving = np.flatnonzero(mine != self.labels[piece.start : piece.stop])
        return (moving + piece.start).astype(mine.dtype), mine[moving], weights[moving]

    def prefer(self, call: tuple[Piece, np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """Return the single nodes, the clusters they prefer, full or not, and their weights."""
        piece, single, _ = call
        nodes = np.flatnonzero(single[piece.start : piece.stop])
        if nodes.size == 0:
            return None
        _, preferred, weights = self._choose(*call)
        return (nodes + piece.start).astype(preferred.dtype), preferred[nodes], weights[nodes]

    def _choose(self, piece: Piece, active: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the clusters that a piece's nodes choose, those that active ones prefer, and the nodes' weights."""
        span = slice(piece.start, piece.stop)
        weights, mine = self.weights(piece.start, piece.stop), self.labels[span].copy()
        preferred = np.empty_like(mine)
        propose_clusters(
            *piece.read(), piece.start, self.labels, self.sets, weights, self.loads, self.most, self.seed,
            active[span], following, mine, preferred,
        )  # fmt: skip
        return mine, preferred, weights


def contract(
    graph: WeightedGraph, clusters: np.ndarray, count: int, each: Map, directory: Path | None = None
) -> WeightedGraph:
    """Turn clusters into nodes; add up arcs between them and weights inside them.

    With a directory, blocks and the runs merged into them are files instead of arrays.
    """
    dtype = np.dtype(np.int32 if graph.total_weight < 1 << 31 else np.int64)
    shift = range_shift(count, graph.num_arcs)
    num_ranges = -(-count >> shift)

    def scatter(numbered: tuple[int, Block]) -> tuple[np.ndarray, np.ndarray | None]:
        index, block = numbered
        indptr, indices, weights = block.on_disk().read()
        starts = np.empty(num_ranges + 1, np.int64)
        arcs = np.empty((block.num_arcs, 3), np.promote_types(id_dtype(count), dtype))
        split_coarse_arcs(indptr, indices, weights, block.start, clusters, shift, starts, arcs)
        arcs = arcs[: starts[-1]]
        if directory is None:
            return starts, arcs.copy()
        save_npy(path_of_run(index), arcs)
        return starts, None

    def path_of_run(index: int) -> str:
        return f"{directory}/run-{index}.npy"

    scattered = list(each.share(scatter, [*enumerate(graph.blocks)]))
    ends = np.array([starts for starts, _ in scattered], np.int64).reshape(len(scattered), num_ranges + 1)
    wide = np.promote_types(id_dtype(count), dtype)
    in_memory = [arcs for _, arcs in scattered]
    runs = [npy_region(path_of_run(i), wide, (int(starts[-1]), 3)) for i, starts in enumerate(ends) if directory]

    def read(index: int, first: int, last: int) -> np.ndarray:
        arcs = in_memory[index]
        return runs[index].read(first, last) if arcs is None else np.asarray(arcs[first:last])

    def merge(span: tuple[int, int]) -> Block:
        first, last = span
        arcs = np.concatenate([read(i, int(ends[i, first]), int(ends[i, last])) for i in range(len(in_memory))])
        start, stop = first << shift, min(last << shift, count)
        indices, weights = np.empty(arcs.shape[0], id_dtype(count)), np.empty(arcs.shape[0], dtype)
        indptr = np.empty(stop - start + 1, np.int64)
        done = merge_arcs(arcs, start, stop, indices, indptr, weights, np.empty(0, np.int64))
        if directory is None:
            return Rows(start, indptr, indices[:done].copy(), weights[:done].copy())
        return write_block(str(directory / f"block-{first}.csr"), start, indptr, indices[:done], weights[:done])

    totals = np.diff(ends, axis=1).sum(axis=0).tolist()
    is_one = directory is None and sum(totals) <= MOST_ARCS_OF_ONE_BLOCK
    limit = sum(totals) if is_one else max_arcs_of_block(sum(totals), COARSE_BLOCKS)
    merged = each.share(merge, group_ranges(totals, [0] * num_ranges, limit))
    blocks = [block if isinstance(block, CsrBlock) else Rows(*block) for block in merged]
    if directory is not None:
        each(lambda index: delete_files([path_of_run(index)]), range(len(scattered)))
    columns = tuple(each(lambda column: _contract_column(column, clusters, count), graph.columns))
    coarse = WeightedGraph(blocks, columns, graph.total_weight)
    return coarse if directory is None else coarse.cut_up(each)


def _contract_column(column: np.ndarray, clusters: np.ndarray, count: int) -> np.ndarray:
    sums = np.zeros((count, 1), np.int64)
    for start, stop in spans(column.size):
        add_up(clusters, start, column[start:stop, None].astype(np.int64), sums)
    narrow: np.ndarray = sums[:, 0].astype(id_dtype(int(sums.max(initial=0)) + 1))
    return narrow
