"""Arcs of an adjacency: both directions of every edge, grouped by slabs of nodes, then sorted and merged by row.

An arc is a pair (node, neighbour). A neighbour that is stored as its bitwise complement (a negative number) tells that
the edge points at the node; that is how in-degrees are counted while the adjacency is built, with no extra column.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_DIGIT_BITS = 11  # of a number that is sorted by its digits: counts of all digits stay in the nearest cache


@njit(cache=True, nogil=True)
def count_edge_arcs(src, dst, firsts, shift, counts):  # type: ignore[no-untyped-def]
    """Count the arcs of a block of edges by slab.

    Parameters
    ----------
    src, dst : int64 array (edges,)
        Type-wise IDs, in range.
    firsts : tuple of two int
        Homogeneous ID of the first node of the source and destination type.
    shift : int
        A slab holds ``2 ** shift`` nodes.
    counts : int64 array (slabs,)
        Added to.
    """
    for i in range(src.size):
        s, d = src[i] + firsts[0], dst[i] + firsts[1]
        counts[d >> shift] += 1
        if s != d:
            counts[s >> shift] += 1


@njit(cache=True, nogil=True)
def scatter_edge_arcs(src, dst, firsts, shift, cursors, arcs):  # type: ignore[no-untyped-def]
    """Write the arcs of a block of edges grouped by slab.

    Parameters
    ----------
    src, dst, firsts, shift
        As in `count_edge_arcs`.
    cursors : int64 array (slabs,)
        Where each slab's group begins; moved on.
    arcs : int32 or int64 array (2, arcs)
        Filled with nodes and neighbours; a self-loop gives the one arc that counts for the in-degree.
    """
    for i in range(src.size):
        s, d = src[i] + firsts[0], dst[i] + firsts[1]
        place = cursors[d >> shift]
        cursors[d >> shift] = place + 1
        arcs[0, place] = d
        arcs[1, place] = ~s
        if s != d:
            place = cursors[s >> shift]
            cursors[s >> shift] = place + 1
            arcs[0, place] = s
            arcs[1, place] = d


@njit(cache=True, nogil=True)
def _digit_bits(highest):  # type: ignore[no-untyped-def]
    """Into how many digits of how many bits numbers up to `highest` are cut to be sorted."""
    bits = 0
    while highest >> bits:
        bits += 1
    digits = -(-bits // MOST_DIGIT_BITS)
    return digits, -(-bits // max(1, digits))


@njit(cache=True, nogil=True)
def merge_arcs(nodes, neighbors, first, last, rows, indptr, weights, in_degrees):  # type: ignore[no-untyped-def]
    """Sort the arcs of nodes ``[first, last)`` by row and neighbour, and merge parallel ones.

    Arcs are sorted by the digits of their neighbours, the lowest first, and then by row, which takes a third of the
    time that sorting each row does.

    Parameters
    ----------
    nodes, neighbors : int32 or int64 array (arcs,)
        Arcs in any order; those of other nodes are skipped. Overwritten: work space.
    first, last : int
        Range of nodes.
    rows : array of the same dtype (arcs,)
        Filled with the merged neighbours of all rows, ascending inside each.
    indptr : int64 array (nodes + 1,)
        Filled with where each row begins.
    weights : int32 array (arcs,)
        Filled with how many arcs were merged into each.
    in_degrees : int64 array (nodes,)
        Filled with the number of edges that point at each node, self-loops included.

    Returns
    -------
    int
        Number of merged arcs.
    """
    num_nodes = last - first
    starts = np.zeros(num_nodes + 1, np.int64)
    kept, highest = 0, 0
    for i in range(nodes.size):
        node, neighbor = nodes[i], neighbors[i]
        if node < first or node >= last:
            continue
        if neighbor < 0:
            in_degrees[node - first] += 1
            neighbor = ~neighbor
        if neighbor != node:
            starts[node - first + 1] += 1
            nodes[kept], neighbors[kept] = node, neighbor
            highest = max(highest, neighbor)
            kept += 1
    for row in range(num_nodes):
        starts[row + 1] += starts[row]
    digits, bits = _digit_bits(highest)
    other_nodes, other_neighbors = np.empty_like(nodes[:kept]), np.empty_like(neighbors[:kept])
    mask, counts = (1 << bits) - 1, np.empty(1 << bits, np.int64)
    for digit in range(digits):
        _count_digits(neighbors[:kept], digit * bits, mask, counts)
        for i in range(kept):
            value = (neighbors[i] >> (digit * bits)) & mask
            place = counts[value]
            counts[value] = place + 1
            other_nodes[place], other_neighbors[place] = nodes[i], neighbors[i]
        nodes, other_nodes = other_nodes, nodes
        neighbors, other_neighbors = other_neighbors, neighbors
    cursors = starts[:num_nodes].copy()
    for i in range(kept):
        row = nodes[i] - first
        rows[cursors[row]] = neighbors[i]
        cursors[row] += 1
    done = 0
    indptr[0] = 0
    for row in range(num_nodes):
        start, stop = starts[row], starts[row + 1]
        previous = -1
        for i in range(start, stop):
            neighbor = rows[i]
            if neighbor == previous:
                weights[done - 1] += 1
            else:
                rows[done] = neighbor
                weights[done] = 1
                previous = neighbor
                done += 1
        indptr[row + 1] = done
    return done


@njit(cache=True, nogil=True)
def _count_digits(values, shift, mask, counts):  # type: ignore[no-untyped-def]
    """Fill `counts` with where the group of each digit begins."""
    counts[:] = 0
    for i in range(values.size):
        counts[(values[i] >> shift) & mask] += 1
    total = 0
    for digit in range(counts.size):
        count = counts[digit]
        counts[digit] = total
        total += count


@njit(cache=True, nogil=True)
def count_coarse_arcs(indptr, indices, first, clusters, shift, counts):  # type: ignore[no-untyped-def]
    """Count the arcs between different clusters by slab of coarse nodes.

    Parameters
    ----------
    indptr, indices
        Rows of nodes ``first, first + 1, ...``.
    first : int
        First node of the rows.
    clusters : int32 or int64 array (all nodes,)
        Coarse node of each node, or -1 for one that is left out.
    shift : int
        A slab holds ``2 ** shift`` coarse nodes.
    counts : int64 array (slabs,)
        Added to.
    """
    for row in range(indptr.size - 1):
        cluster = clusters[first + row]
        if cluster < 0:
            continue
        for i in range(indptr[row], indptr[row + 1]):
            other = clusters[indices[i]]
            if other >= 0 and other != cluster:
                counts[cluster >> shift] += 1


@njit(cache=True, nogil=True)
def scatter_coarse_arcs(indptr, indices, weights, first, clusters, shift, cursors, arcs, arc_weights):  # type: ignore[no-untyped-def]
    """Write the arcs between different clusters grouped by slab of coarse nodes.

    Parameters
    ----------
    indptr, indices, first, clusters, shift
        As in `count_coarse_arcs`.
    weights : int32 or int64 array (arcs,) or (0,)
        Weights of the arcs; none means 1.
    cursors : int64 array (slabs,)
        Where each slab's group begins; moved on.
    arcs : int32 or int64 array (2, coarse arcs)
        Filled with coarse nodes and neighbours.
    arc_weights : int32 or int64 array (coarse arcs,)
        Filled.
    """
    for row in range(indptr.size - 1):
        cluster = clusters[first + row]
        if cluster < 0:
            continue
        for i in range(indptr[row], indptr[row + 1]):
            other = clusters[indices[i]]
            if other >= 0 and other != cluster:
                place = cursors[cluster >> shift]
                cursors[cluster >> shift] = place + 1
                arcs[0, place] = cluster
                arcs[1, place] = other
                arc_weights[place] = weights[i] if weights.size else 1


@njit(cache=True, nogil=True)
def merge_weighted_arcs(nodes, neighbors, arc_weights, first, last, rows, indptr, weights):  # type: ignore[no-untyped-def]
    """Sort weighted arcs of nodes ``[first, last)`` by row and neighbour, and add up parallel ones.

    Parameters
    ----------
    nodes, neighbors, first, last, rows, indptr
        As in `merge_arcs`; no neighbour is negative, none is the node itself.
    arc_weights : int32 or int64 array (arcs,)
        Weight of each arc. Overwritten.
    weights : int64 array (arcs,)
        Filled with the sums.

    Returns
    -------
    int
        Number of merged arcs.
    """
    num_nodes = last - first
    starts = np.zeros(num_nodes + 1, np.int64)
    kept, highest = 0, 0
    for i in range(nodes.size):
        node = nodes[i]
        if first <= node < last:
            starts[node - first + 1] += 1
            nodes[kept], neighbors[kept], arc_weights[kept] = node, neighbors[i], arc_weights[i]
            highest = max(highest, neighbors[i])
            kept += 1
    for row in range(num_nodes):
        starts[row + 1] += starts[row]
    digits, bits = _digit_bits(highest)
    other_nodes, other_neighbors = np.empty_like(nodes[:kept]), np.empty_like(neighbors[:kept])
    other_weights = np.empty_like(arc_weights[:kept])
    mask, counts = (1 << bits) - 1, np.empty(1 << bits, np.int64)
    for digit in range(digits):
        _count_digits(neighbors[:kept], digit * bits, mask, counts)
        for i in range(kept):
            value = (neighbors[i] >> (digit * bits)) & mask
            place = counts[value]
            counts[value] = place + 1
            other_nodes[place], other_neighbors[place] = nodes[i], neighbors[i]
            other_weights[place] = arc_weights[i]
        nodes, other_nodes = other_nodes, nodes
        neighbors, other_neighbors = other_neighbors, neighbors
        arc_weights, other_weights = other_weights, arc_weights
    cursors = starts[:num_nodes].copy()
    for i in range(kept):
        row = nodes[i] - first
        place = cursors[row]
        cursors[row] = place + 1
        rows[place], weights[place] = neighbors[i], arc_weights[i]
    done = 0
    indptr[0] = 0
    for row in range(num_nodes):
        start, stop = starts[row], starts[row + 1]
        previous = -1
        for i in range(start, stop):
            neighbor, weight = rows[i], weights[i]
            if neighbor == previous:
                weights[done - 1] += weight
            else:
                rows[done], weights[done] = neighbor, weight
                previous = neighbor
                done += 1
        indptr[row + 1] = done
    return done


@njit(cache=True, nogil=True)
def count_nodes(nodes, first, counts):  # type: ignore[no-untyped-def]
    """Add the number of arcs of each node from `first` on to `counts`."""
    for i in range(nodes.size):
        counts[nodes[i] - first] += 1
