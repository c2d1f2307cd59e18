"""Arcs of an adjacency: both directions of every edge, grouped by node range, sorted and merged by row.

An arc is a row (node, neighbour), or (node, neighbour, weight), so that a group is one stream instead of three. A
neighbour stored as its bitwise complement (negative) means that the edge points at the node; this counts in-degrees
without another column.
"""

from __future__ import annotations

import numpy as np

from daskgraphpart.kernels.compiled import inlined, kernel

MOST_DIGIT_BITS = 12  # per digit: counts stay in the nearest cache


@kernel
def count_edge_arcs(src, dst, firsts, shift, counts):  # type: ignore[no-untyped-def]
    """Add a block's arcs (edges int64, in range) to `counts` by range of ``2 ** shift`` nodes.

    `firsts` are the homogeneous IDs of the first node of the source and destination type.
    """
    for i in range(src.size):
        s, d = src[i] + firsts[0], dst[i] + firsts[1]
        counts[d >> shift] += 1
        if s != d:
            counts[s >> shift] += 1


@kernel
def scatter_edge_arcs(src, dst, weights, firsts, shift, cursors, arcs):  # type: ignore[no-untyped-def]
    """Write a block's arcs to `arcs`, grouped by node range at `cursors`, which move on.

    `arcs` is (arcs, 2), or (arcs, 3) with `weights`. A self-loop gives one arc, which counts as in-degree.
    """
    for i in range(src.size):
        s, d = src[i] + firsts[0], dst[i] + firsts[1]
        place = cursors[d >> shift]
        cursors[d >> shift] = place + 1
        arcs[place, 0] = d
        arcs[place, 1] = ~s
        if weights.size:
            arcs[place, 2] = weights[i]
        if s != d:
            place = cursors[s >> shift]
            cursors[s >> shift] = place + 1
            arcs[place, 0] = s
            arcs[place, 1] = d
            if weights.size:
                arcs[place, 2] = weights[i]


def merge_arcs(
    arcs: np.ndarray, first: int, last: int, rows: np.ndarray, indptr: np.ndarray, weights: np.ndarray,
    in_degrees: np.ndarray,
) -> int:  # fmt: skip
    """Sort the arcs of nodes ``[first, last)`` by row and neighbour, and add up weights of parallel ones.

    `arcs` (arcs, 2 or 3) may hold other nodes' arcs, which are skipped; it is overwritten. Fills `rows` (neighbours,
    ascending in each row), `indptr` (nodes + 1,), `weights`, and `in_degrees` (of negative neighbours, with
    self-loops); returns the number of merged arcs. Sorting by neighbours' digits, lowest first, and then by row takes a
    third of the time of sorting each row.
    """
    starts, cursors = np.zeros(last - first + 1, np.int64), np.empty(last - first, np.int64)
    counts = np.empty(1 << MOST_DIGIT_BITS, np.int64)
    done: int = _merge(
        arcs, np.empty_like(arcs), first, last, rows, indptr, weights, in_degrees, starts, cursors, counts
    )
    return done


@kernel
def _merge(arcs, other, first, last, rows, indptr, weights, in_degrees, starts, cursors, counts):  # type: ignore[no-untyped-def]
    num_nodes, width = last - first, arcs.shape[1]
    kept, highest = 0, np.int64(0)
    for i in range(arcs.shape[0]):
        node, neighbor = arcs[i, 0], arcs[i, 1]
        if node < first or node >= last:
            continue
        if neighbor < 0:
            in_degrees[node - first] += 1
            neighbor = ~neighbor
        if neighbor != node:
            starts[node - first + 1] += 1
            arcs[kept, 0], arcs[kept, 1] = node, neighbor
            if width == 3:
                arcs[kept, 2] = arcs[i, 2]
            highest = max(highest, neighbor)
            kept += 1
    for row in range(num_nodes):
        cursors[row] = starts[row]
        starts[row + 1] += starts[row]
    ordered = _sort_by_neighbor(arcs, other, kept, highest, counts)
    for i in range(kept):
        row = ordered[i, 0] - first
        place = cursors[row]
        cursors[row] = place + 1
        rows[place] = ordered[i, 1]
        weights[place] = ordered[i, 2] if width == 3 else 1
    done = 0
    indptr[0] = 0
    for row in range(num_nodes):
        previous = -1
        for i in range(starts[row], starts[row + 1]):
            neighbor, weight = rows[i], weights[i]
            if neighbor == previous:
                weights[done - 1] += weight
            else:
                rows[done], weights[done] = neighbor, weight
                previous = neighbor
                done += 1
        indptr[row + 1] = done
    return done


@inlined
def _sort_by_neighbor(arcs, other, num_arcs, highest, counts):  # type: ignore[no-untyped-def]
    """Sort the first arcs by their neighbours' digits, lowest first; return the array that holds them."""
    bits = 0
    while highest >> bits:
        bits += 1
    digits = -(-bits // MOST_DIGIT_BITS)
    bits = -(-bits // max(1, digits))
    mask = (1 << bits) - 1
    for digit in range(digits):
        shift = digit * bits
        counts[:] = 0
        for i in range(num_arcs):
            counts[(arcs[i, 1] >> shift) & mask] += 1
        total = 0
        for value in range(1 << bits):
            total, counts[value] = total + counts[value], total
        for i in range(num_arcs):
            value = (arcs[i, 1] >> shift) & mask
            place = counts[value]
            counts[value] = place + 1
            other[place, 0], other[place, 1] = arcs[i, 0], arcs[i, 1]
            if arcs.shape[1] == 3:
                other[place, 2] = arcs[i, 2]
        arcs, other = other, arcs
    return arcs


def split_coarse_arcs(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, first: int, clusters: np.ndarray, shift: int,
    starts: np.ndarray, arcs: np.ndarray,
) -> None:  # fmt: skip
    """Write arcs between clusters to `arcs` (arcs of the block, 3), by range of ``2 ** shift`` clusters.

    Rows are nodes ``first, first + 1, ...``; `clusters` has each node's cluster; without `weights` each is 1. Fills
    `starts` (ranges + 1,) with the beginning of each range.
    """
    starts[:] = 0
    _split(indptr, indices, weights, first, clusters, shift, starts, np.empty(starts.size - 1, np.int64), arcs)


@kernel
def _split(indptr, indices, weights, first, clusters, shift, starts, cursors, arcs):  # type: ignore[no-untyped-def]
    for row in range(indptr.size - 1):
        starts[(clusters[first + row] >> shift) + 1] += indptr[row + 1] - indptr[row]
    for number in range(cursors.size):
        cursors[number] = starts[number]
        starts[number + 1] += starts[number]
    for row in range(indptr.size - 1):
        cluster = clusters[first + row]
        place = cursors[cluster >> shift]
        for i in range(indptr[row], indptr[row + 1]):
            other = clusters[np.uint64(indices[i])]
            arcs[place, 0] = cluster
            arcs[place, 1] = other
            arcs[place, 2] = weights[i] if weights.size else 1
            place += other != cluster  # else the next arc takes its place
        cursors[cluster >> shift] = place
    # ranges had room for all arcs of their nodes, also those inside clusters
    done = 0
    for number in range(cursors.size):
        begin, starts[number] = starts[number], done
        for place in range(begin, cursors[number]):
            for column in range(3):
                arcs[done, column] = arcs[place, column]
            done += 1
    starts[-1] = done
