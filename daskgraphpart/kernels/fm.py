"""Refinement in memory: relief of overloaded parts, and the k-way Fiduccia-Mattheyses method with vector constraints.

Fiduccia and Mattheyses, DAC 1982; as a k-way method with a single queue as in Karypis and Kumar, JPDC 1998. Both
keep candidates in one binary heap that finds a node's place in it, so that keys can change.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from daskgraphpart.kernels.moves import _best_relief, _fits, _fullness, _relief, overload

HUB = 512  # neighbours of a moved node with more neighbours than this are not looked at again


@njit(cache=True, nogil=True)
def _sift_up(heap, places, keys, at):  # type: ignore[no-untyped-def]
    node = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if keys[heap[parent]] >= keys[node]:
            break
        heap[at] = heap[parent]
        places[heap[at]] = at
        at = parent
    heap[at] = node
    places[node] = at


@njit(cache=True, nogil=True)
def _sift_down(heap, places, keys, at, size):  # type: ignore[no-untyped-def]
    node = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] > keys[heap[child]]:
            child += 1
        if keys[heap[child]] <= keys[node]:
            break
        heap[at] = heap[child]
        places[heap[at]] = at
        at = child
    heap[at] = node
    places[node] = at


@njit(cache=True, nogil=True)
def _put(heap, places, keys, size, node, key):  # type: ignore[no-untyped-def]
    """Insert a node or change its key; return the size."""
    at = places[node]
    if at < 0:
        keys[node] = key
        heap[size] = node
        _sift_up(heap, places, keys, size)
        return size + 1
    old = keys[node]
    keys[node] = key
    if key > old:
        _sift_up(heap, places, keys, at)
    elif key < old:
        _sift_down(heap, places, keys, at, size)
    return size


@njit(cache=True, nogil=True)
def _remove(heap, places, keys, size, node):  # type: ignore[no-untyped-def]
    """Take a node out; return the size."""
    at = places[node]
    if at < 0:
        return size
    places[node] = -1
    size -= 1
    last = heap[size]
    if at != size:
        heap[at] = last
        places[last] = at
        _sift_up(heap, places, keys, at)
        _sift_down(heap, places, keys, places[last], size)
    return size


@njit(cache=True, nogil=True)
def _best_move(node, indptr, indices, weights, parts, node_weights, loads, limits, bound, touched):  # type: ignore[no-untyped-def]
    """Best neighbouring part that has room for a node, and the gain; -1 if there is none, or the node is inside."""
    old = parts[node]
    count = 0
    for i in range(indptr[node], indptr[node + 1]):
        part = parts[indices[i]]
        if bound[part] == 0:
            touched[count] = part
            count += 1
        bound[part] += weights[i]
    best, best_bound, best_fullness = -1, np.int64(0), 0.0
    for j in range(count):
        part = touched[j]
        if part == old or bound[part] < best_bound or not _fits(loads, part, node_weights, node, limits):
            continue
        fullness = _fullness(loads, part, limits)
        if bound[part] > best_bound or fullness < best_fullness:
            best, best_bound, best_fullness = part, bound[part], fullness
    gain = best_bound - bound[old]
    for j in range(count):
        bound[touched[j]] = 0
    return best, gain


@njit(cache=True, nogil=True)
def refine_fm(indptr, indices, weights, parts, node_weights, loads, limits, patience, most_work):  # type: ignore[no-untyped-def]
    """One pass of moves, best first, each node at most once; moves after the best cut are taken back.

    Parameters
    ----------
    indptr, indices, weights
        The graph, int64 weights.
    parts : int32 array (nodes,)
        Changed.
    node_weights : int64 array (nodes, constraints)
    loads : int64 array (parts, constraints)
        Changed.
    limits : int64 array (constraints,)
    patience : int
        Moves without a better cut after which the pass ends.
    most_work : int
        Arcs that may be looked at.

    Returns
    -------
    int
        By how much the cut fell.
    """
    num_nodes = parts.size
    heap, places = np.empty(num_nodes, np.int32), np.full(num_nodes, -1, np.int32)
    keys = np.empty(num_nodes, np.int64)
    locked = np.zeros(num_nodes, np.bool_)
    bound, touched = np.zeros(loads.shape[0], np.int64), np.empty(loads.shape[0], np.int32)
    log_nodes, log_parts = np.empty(num_nodes, np.int32), np.empty(num_nodes, np.int32)
    size = 0
    for node in range(num_nodes):
        outside = False
        for i in range(indptr[node], indptr[node + 1]):
            if parts[indices[i]] != parts[node]:
                outside = True
                break
        if outside:
            best, gain = _best_move(node, indptr, indices, weights, parts, node_weights, loads, limits, bound, touched)
            if best >= 0:
                size = _put(heap, places, keys, size, node, gain)
    moves, best_moves, total, best_total, work = 0, 0, np.int64(0), np.int64(0), np.int64(0)
    while size > 0 and moves - best_moves < patience and work < most_work:
        node = heap[0]
        best, gain = _best_move(node, indptr, indices, weights, parts, node_weights, loads, limits, bound, touched)
        work += indptr[node + 1] - indptr[node]
        if best < 0:
            size = _remove(heap, places, keys, size, node)
            continue
        if gain < keys[node]:
            size = _put(heap, places, keys, size, node, gain)
            if heap[0] != node:
                continue
        size = _remove(heap, places, keys, size, node)
        locked[node] = True
        old = parts[node]
        log_nodes[moves], log_parts[moves] = node, old
        moves += 1
        parts[node] = best
        for c in range(limits.size):
            loads[old, c] -= node_weights[node, c]
            loads[best, c] += node_weights[node, c]
        total += gain
        if total > best_total:
            best_total, best_moves = total, moves
        for i in range(indptr[node], indptr[node + 1]):
            other = indices[i]
            degree = indptr[other + 1] - indptr[other]
            if locked[other] or degree > HUB:
                continue
            target, gain = _best_move(
                other, indptr, indices, weights, parts, node_weights, loads, limits, bound, touched
            )
            work += degree
            if target >= 0:
                size = _put(heap, places, keys, size, other, gain)
            else:
                size = _remove(heap, places, keys, size, other)
    for i in range(moves - 1, best_moves - 1, -1):
        node, old = log_nodes[i], log_parts[i]
        new = parts[node]
        parts[node] = old
        for c in range(limits.size):
            loads[new, c] -= node_weights[node, c]
            loads[old, c] += node_weights[node, c]
    return best_total


@njit(cache=True, nogil=True)
def _relief_of(node, indptr, indices, weights, parts, node_weights, loads, limits, bound):  # type: ignore[no-untyped-def]
    """Best part to move an overloaded part's node to, and how good that is."""
    for i in range(indptr[node], indptr[node + 1]):
        bound[parts[indices[i]]] += weights[i]
    best, score = _best_relief(node, parts[node], bound, node_weights, loads, limits)
    for i in range(indptr[node], indptr[node + 1]):
        bound[parts[indices[i]]] = 0
    return best, score


@njit(cache=True, nogil=True)
def relieve(indptr, indices, weights, parts, node_weights, loads, limits, most_work):  # type: ignore[no-untyped-def]
    """Move nodes out of overloaded parts, at the least loss of cut per relief, until no move helps.

    Neighbours of a node that has moved are looked at again, so that what moves grows from the border on and is not
    picked from everywhere.

    Parameters
    ----------
    indptr, indices, weights, parts, node_weights, loads, limits
        As in `refine_fm`.
    most_work : int
        Arcs that may be looked at because neighbours have moved.

    Returns
    -------
    float
        The overload that is left.
    """
    num_nodes, num_parts = parts.size, loads.shape[0]
    heap, places = np.empty(num_nodes, np.int32), np.full(num_nodes, -1, np.int32)
    keys = np.empty(num_nodes, np.float64)
    bound = np.zeros(num_parts, np.int64)
    size, work = 0, np.int64(0)
    if overload(loads, limits) == 0.0:
        return 0.0
    for node in range(num_nodes):
        old = parts[node]
        over = False
        for c in range(limits.size):
            over |= loads[old, c] > limits[c] and node_weights[node, c] > 0
        if not over:
            continue
        best, score = _relief_of(node, indptr, indices, weights, parts, node_weights, loads, limits, bound)
        if best >= 0:
            size = _put(heap, places, keys, size, node, score)
    while size > 0:
        node = heap[0]
        old = parts[node]
        best, score = _relief_of(node, indptr, indices, weights, parts, node_weights, loads, limits, bound)
        if best < 0:
            size = _remove(heap, places, keys, size, node)
            continue
        if score < keys[node] * (1.001 if keys[node] < 0 else 0.999) - 1e-9:
            size = _put(heap, places, keys, size, node, score)
            if heap[0] != node:
                continue
        size = _remove(heap, places, keys, size, node)
        if _relief(loads, old, best, node_weights, node, limits) <= 1e-12:
            continue
        parts[node] = best
        for c in range(limits.size):
            loads[old, c] -= node_weights[node, c]
            loads[best, c] += node_weights[node, c]
        if overload(loads, limits) == 0.0:
            break
        for i in range(indptr[node], indptr[node + 1]):
            other = indices[i]
            degree = indptr[other + 1] - indptr[other]
            if places[other] < 0 or degree > HUB or work >= most_work:
                continue
            work += degree
            best, score = _relief_of(other, indptr, indices, weights, parts, node_weights, loads, limits, bound)
            if best >= 0:
                size = _put(heap, places, keys, size, other, score)
            else:
                size = _remove(heap, places, keys, size, other)
    return overload(loads, limits)
