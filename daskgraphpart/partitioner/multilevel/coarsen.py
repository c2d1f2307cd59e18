"""Coarsen a graph: cluster by size-constrained label propagation over its blocks, then contract."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.arcs import merge_arcs, split_coarse_arcs
from daskgraphpart.kernels.clusters import (
    add_up,
    apply_clusters,
    match_two_hops,
    note_company,
    number_clusters,
    propose_clusters,
)
from daskgraphpart.partitioner.adjacency.build_adjacency import group_ranges
from daskgraphpart.partitioner.adjacency.csr_blocks import Rows, max_arcs_of_block, write_block
from daskgraphpart.partitioner.adjacency.split_edges import range_shift
from daskgraphpart.partitioner.multilevel.weighted_graph import MOST_ARCS_OF_ONE_BLOCK, WeightedGraph, spans
from daskgraphpart.storage.region import Region, create_npy, id_dtype

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import Block, Piece
    from daskgraphpart.partitioner.multilevel.side_by_side import Map

CLUSTER_SWEEPS = 5
SETTLED = 0.02  # of the nodes; when fewer move, a further sweep is not worth its time


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
    labels, loads = np.empty(n, id_dtype(n)), np.empty((n, len(graph.columns)), np.int64)
    preferred, active, following = np.empty_like(labels), np.empty(n, np.bool_), np.empty(n, np.bool_)
    sets = np.empty(0, np.int32) if inside is None else inside

    def begin(span: tuple[int, int]) -> None:
        nodes = slice(*span)
        labels[nodes], loads[nodes] = np.arange(*span), graph.node_weights(*span)
        active[nodes], following[nodes] = True, False

    def propose(piece: Piece) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the nodes that want to move, the clusters they chose, and their weights."""
        span = slice(piece.start, piece.stop)
        if not active[span].any():
            return None
        mine, weights = labels[span].copy(), graph.node_weights(piece.start, piece.stop)
        propose_clusters(
            *piece.read(), piece.start, labels, sets, weights, loads, most, seed, active[span], following, mine,
            preferred[span],
        )  # fmt: skip
        moving = np.flatnonzero(mine != labels[span])
        return moving + piece.start, mine[moving], weights[moving]

    each(begin, spans(n))

    for _ in range(sweeps):
        moved = 0
        for pieces in graph.rounds():
            for proposed in each(propose, pieces):
                if proposed is not None:
                    moved += apply_clusters(*proposed, most, labels, loads)
        if moved < SETTLED * n:
            break
        # revisit only nodes whose neighbours have moved
        active[:], following[:] = following, False
    has_company = active
    has_company[:] = False
    each(lambda span: note_company(*span, labels, has_company), spans(n))
    waiting = np.full(n + int(sets.max(initial=0)) + 1, -1, labels.dtype)
    for start, stop in spans(n):
        weights = graph.node_weights(start, stop)
        match_two_hops(start, preferred[start:stop], weights, most, has_company, waiting, sets, labels, loads)
    waiting[:] = -1
    return labels, int(number_clusters(labels, waiting))


def contract(
    graph: WeightedGraph, clusters: np.ndarray, count: int, each: Map, directory: Path | None = None
) -> WeightedGraph:
    """Turn clusters into nodes; add up arcs between them and weights inside them.

    With a directory, blocks and the runs merged into them are files instead of arrays.
    """
    dtype = np.dtype(np.int32 if graph.total_weight < 1 << 31 else np.int64)
    shift = range_shift(count, graph.num_arcs)
    num_ranges = -(-count >> shift)

    def scatter(numbered: tuple[int, Block]) -> tuple[np.ndarray, np.ndarray | Region]:
        index, block = numbered
        indptr, indices, weights = block.read()
        starts = np.empty(num_ranges + 1, np.int64)
        arcs = np.empty((block.num_arcs, 3), np.promote_types(id_dtype(count), dtype))
        split_coarse_arcs(indptr, indices, weights, block.start, clusters, shift, starts, arcs)
        arcs = arcs[: starts[-1]]
        if directory is None:
            return starts, arcs.copy()
        run = create_npy(directory / f"run-{index}.npy", arcs.dtype, arcs.shape)
        run.write(arcs, 0)
        return starts, run

    runs = each(scatter, enumerate(graph.blocks))
    ends = np.array([starts for starts, _ in runs], np.int64).reshape(len(runs), num_ranges + 1)

    def merge(span: tuple[int, int]) -> Block:
        first, last = span
        pieces = [(run, int(ends[i, first]), int(ends[i, last])) for i, (_, run) in enumerate(runs)]
        arcs = np.concatenate([r.read(a, b) if isinstance(r, Region) else r[a:b] for r, a, b in pieces])
        start, stop = first << shift, min(last << shift, count)
        indices, weights = np.empty(arcs.shape[0], id_dtype(count)), np.empty(arcs.shape[0], dtype)
        indptr = np.empty(stop - start + 1, np.int64)
        done = merge_arcs(arcs, start, stop, indices, indptr, weights, np.empty(0, np.int64))
        if directory is None:
            return Rows(start, indptr, indices[:done].copy(), weights[:done].copy())
        return write_block(str(directory / f"block-{first}.csr"), start, indptr, indices[:done], weights[:done])

    totals = np.diff(ends, axis=1).sum(axis=0).tolist()
    is_one = directory is None and sum(totals) <= MOST_ARCS_OF_ONE_BLOCK
    limit = sum(totals) if is_one else max_arcs_of_block(sum(totals))
    blocks = each(merge, group_ranges(totals, [0] * num_ranges, limit))
    each(lambda run: Path(run.path).unlink(), [run for _, run in runs if isinstance(run, Region)])
    columns = tuple(each(lambda column: _contract_column(column, clusters, count), graph.columns))
    coarse = WeightedGraph(blocks, columns, graph.total_weight)
    return coarse if directory is None else coarse.cut_up(each)


def _contract_column(column: np.ndarray, clusters: np.ndarray, count: int) -> np.ndarray:
    sums = np.zeros((count, 1), np.int64)
    for start, stop in spans(column.size):
        add_up(clusters, start, np.array(column[start:stop, None]), sums)
    return sums[:, 0]
