"""Move nodes between parts: rebalancing, and k-way Fiduccia-Mattheyses refinement, over one block's rows.

A node has a vector of weights, a part a vector `over` of load minus limit, one entry per constraint. The overload sums
its positive entries, each as a share of its limit; every move of `rebalance_rows` lowers it, and no move of
`refine_rows` raises it. Blocks may run side by side, each with its share of excess and room: the overload is sublinear,
so what falls in each share falls in the sum.

Fiduccia and Mattheyses, DAC 1982; k-way with one queue as in Karypis and Kumar, JPDC 1998. Keys of queued nodes are
upper bounds, kept in constant time per arc and made exact at the top.
"""

from __future__ import annotations

import numpy as np

from daskgraphpart.kernels.clusters import widest_row
from daskgraphpart.kernels.compiled import helper, inlined, kernel

HUB = 512  # a node with more neighbours enters the queue at the start or never


@helper
def _sift_up(heap, places, keys, at):  # type: ignore[no-untyped-def]
    row = np.int64(heap[at])
    while at > 0:
        parent = (at - 1) >> 1
        if keys[heap[parent]] >= keys[row]:
            break
        heap[at] = heap[parent]
        places[heap[at]] = at
        at = parent
    heap[at] = row
    places[row] = at


@helper
def _sift_down(heap, places, keys, at, size):  # type: ignore[no-untyped-def]
    row = np.int64(heap[at])
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] > keys[heap[child]]:
            child += 1
        if keys[heap[child]] <= keys[row]:
            break
        heap[at] = heap[child]
        places[heap[at]] = at
        at = child
    heap[at] = row
    places[row] = at


@helper
def _put(heap, places, keys, size, row, key):  # type: ignore[no-untyped-def]
    """Insert a row or change its key; return the new size."""
    at, old = np.int64(places[row]), keys[row]
    keys[row] = key
    if at < 0:
        heap[size] = row
        _sift_up(heap, places, keys, size)
        return size + 1
    if key > old:
        _sift_up(heap, places, keys, at)
    elif key < old:
        _sift_down(heap, places, keys, at, size)
    return size


@helper
def _pop(heap, places, keys, size):  # type: ignore[no-untyped-def]
    """Remove the top row; return the new size."""
    places[heap[0]] = -1
    size -= 1
    if size > 0:
        heap[0] = heap[size]
        _sift_down(heap, places, keys, np.int64(0), size)
    return size


@inlined
def _bind(row, indptr, indices, weights, first, parts, mine, bound, touched, around):  # type: ignore[no-untyped-def]
    """Add up a row's arc weights by part; return the number of parts, listed in `touched`."""
    start, count = indptr[row], 0
    # gather parts first, so that the processor can wait for many at once
    for i in range(start, indptr[row + 1]):
        # unsigned, since numba tests signed indices for counting from the end
        other = np.uint64(indices[i])
        near = other - np.uint64(first)
        around[i - start] = mine[near] if near < np.uint64(mine.size) else parts[other]
    for i in range(start, indptr[row + 1]):
        part = around[i - start]
        if bound[part] == 0:
            touched[count] = part
            count += 1
        bound[part] += weights[i] if weights.size else 1
    return count


@inlined
def _fits(over, part, node_weights, row):  # type: ignore[no-untyped-def]
    for c in range(over.shape[1]):
        if node_weights[row, c] > 0 and over[part, c] + node_weights[row, c] > 0:
            return False
    return True


@inlined
def _fullness(over, part, shares):  # type: ignore[no-untyped-def]
    fullest = -np.inf
    for c in range(over.shape[1]):
        fullest = max(fullest, over[part, c] * shares[c])
    return fullest


@inlined
def _shift(over, old, new, node_weights, row):  # type: ignore[no-untyped-def]
    for c in range(over.shape[1]):
        over[old, c] -= node_weights[row, c]
        over[new, c] += node_weights[row, c]


@helper
def _best_move(row, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around):  # type: ignore[no-untyped-def]
    """Best neighbouring part with room for a node, -1 if none; and the gain."""
    count = _bind(row, indptr, indices, weights, first, parts, mine, bound, touched, around)
    own, best, best_bound = mine[row], -1, np.int64(0)
    for j in range(count):
        part = touched[j]
        if part == own or bound[part] < best_bound or not _fits(over, part, node_weights, row):
            continue
        if bound[part] > best_bound or _fullness(over, part, shares) < _fullness(over, best, shares):
            best, best_bound = part, bound[part]
    gain = best_bound - bound[own]
    for j in range(count):
        bound[touched[j]] = 0
    return best, gain


def refine_rows(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, first: int, parts: np.ndarray, mine: np.ndarray,
    node_weights: np.ndarray, over: np.ndarray, shares: np.ndarray, active: np.ndarray, following: np.ndarray,
    fixed: np.ndarray, patience: int,
) -> int:  # fmt: skip
    """Move nodes of a block, best first and each at most once; undo what follows the smallest cut.

    Rows are nodes ``first, first + 1, ...``; no weights means 1. `parts` (all nodes,) applies to other blocks, `mine`
    (block,) to this one; changes it and `over` (parts, constraints), loads minus limits; `shares` are one over each
    limit. `active` nodes may begin; `following` is set for moved nodes and their neighbours. `fixed` nodes, (block,),
    or empty for none, stay. Ends after `patience` moves without a smaller cut; returns by how much the cut fell.
    """
    locked = fixed.copy() if fixed.size else np.zeros(mine.size, np.bool_)
    log_rows, log_parts = np.empty(mine.size, np.int32), np.empty(mine.size, np.int32)
    gain: int = _refine(
        indptr, indices, weights, first, parts, mine, node_weights, over, shares, *_bonds(indptr, parts, over),
        *_queue(mine), active, following, patience, locked, log_rows, log_parts,
    )  # fmt: skip
    return gain


@kernel
def _refine(  # type: ignore[no-untyped-def]
    indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around,
    heap, places, keys, active, following, patience, locked, log_rows, log_parts,
):  # fmt: skip
    rows, size = mine.size, np.int64(0)
    for row in range(rows):
        if not active[row] or locked[row]:
            continue
        best, gain = _best_move(
            row, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around
        )
        if best >= 0:
            size = _put(heap, places, keys, size, row, float(gain))
    moves, best_moves, total, best_total = 0, 0, np.int64(0), np.int64(0)
    while size > 0 and moves - best_moves < patience:
        top = np.int64(heap[0])
        best, gain = _best_move(
            top, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around
        )
        if best >= 0 and gain < keys[top]:
            _put(heap, places, keys, size, top, float(gain))
            if heap[0] != top:
                continue
        size = _pop(heap, places, keys, size)
        if best < 0:
            continue
        old = mine[top]
        locked[top] = True
        log_rows[moves], log_parts[moves] = top, old
        moves += 1
        mine[top] = best
        _shift(over, old, best, node_weights, top)
        total += gain
        if total > best_total:
            best_total, best_moves = total, moves
        for i in range(indptr[top], indptr[top + 1]):
            near = indices[i] - first
            if near < 0 or near >= rows or locked[near]:
                continue
            if places[near] >= 0:
                weight = weights[i] if weights.size else 1
                change = -weight if mine[near] == best else (2 * weight if mine[near] == old else weight)
                size = _put(heap, places, keys, size, near, keys[near] + change)
            elif indptr[near + 1] - indptr[near] <= HUB:
                target, gain = _best_move(
                    near, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound,
                    touched, around,
                )  # fmt: skip
                if target >= 0:
                    size = _put(heap, places, keys, size, near, float(gain))
    for j in range(moves - 1, best_moves - 1, -1):
        _shift(over, mine[log_rows[j]], log_parts[j], node_weights, log_rows[j])
        mine[log_rows[j]] = log_parts[j]
    for j in range(best_moves):
        following[first + log_rows[j]] = True
        for i in range(indptr[log_rows[j]], indptr[log_rows[j] + 1]):
            following[indices[i]] = True
    return best_total


def gains_of_rows(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, first: int, parts: np.ndarray, mine: np.ndarray,
    node_weights: np.ndarray, over: np.ndarray, shares: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return by how much the cut falls for each of a block's nodes if it moves; the lowest integer if it cannot."""
    gains = np.empty(mine.size, np.int64)
    bonds = _bonds(indptr, parts, over)
    _find_gains(indptr, indices, weights, first, parts, mine, node_weights, over, shares, *bonds, gains)
    return gains


@kernel
def _find_gains(  # type: ignore[no-untyped-def]
    indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around, gains
):
    for row in range(mine.size):
        best, gain = _best_move(
            row, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around
        )
        gains[row] = gain if best >= 0 else np.iinfo(np.int64).min


@inlined
def _overload_drop(over, old, new, node_weights, row, shares):  # type: ignore[no-untyped-def]
    """By how much the overload falls if the node moves."""
    drop = 0.0
    for c in range(over.shape[1]):
        weight = node_weights[row, c]
        if weight > 0:
            drop += (max(0.0, over[old, c]) - max(0.0, over[old, c] - weight)) * shares[c]
            drop -= (max(0.0, over[new, c] + weight) - max(0.0, over[new, c])) * shares[c]
    return drop


@helper
def _best_relief(row, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around):  # type: ignore[no-untyped-def]
    """Best part for a node of an overloaded part, -1 if no move helps; and how good it is."""
    count = _bind(row, indptr, indices, weights, first, parts, mine, bound, touched, around)
    own, best, best_score = mine[row], -1, -np.inf
    for part in range(over.shape[0]):
        drop = _overload_drop(over, own, part, node_weights, row, shares) if part != own else 0.0
        if drop <= 1e-12:
            continue
        gain = float(bound[part] - bound[own])
        # among moves that cost, the cheapest per drop; ties go to the most room
        score = gain * drop if gain > 0 else (gain - 1e-3) / drop
        score -= 1e-6 * _fullness(over, part, shares)
        if score > best_score:
            best, best_score = part, score
    for j in range(count):
        bound[touched[j]] = 0
    return best, best_score


def rebalance_rows(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, first: int, parts: np.ndarray, mine: np.ndarray,
    node_weights: np.ndarray, over: np.ndarray, shares: np.ndarray, fixed: np.ndarray,
) -> None:  # fmt: skip
    """Move nodes of a block out of overloaded parts, at the least loss of cut per drop, while moves help.

    Looks again at neighbours of moved nodes, so moves grow from the border. Parameters as in `refine_rows`.
    """
    _rebalance(
        indptr, indices, weights, first, parts, mine, node_weights, over, shares, *_bonds(indptr, parts, over),
        *_queue(mine), fixed, overload(over, shares),
    )  # fmt: skip


@kernel
def _rebalance(  # type: ignore[no-untyped-def]
    indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around,
    heap, places, keys, fixed, left,
):  # fmt: skip
    rows, size = mine.size, np.int64(0)
    for row in range(rows):
        own, is_over = mine[row], False
        for c in range(over.shape[1]):
            is_over |= over[own, c] > 0 and node_weights[row, c] > 0
        if is_over and not (fixed.size and fixed[row]):
            best, score = _best_relief(
                row, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around
            )
            if best >= 0:
                size = _put(heap, places, keys, size, row, score)
    while size > 0 and left > 1e-12:
        top = np.int64(heap[0])
        best, score = _best_relief(
            top, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around
        )
        if best >= 0 and score < keys[top] * (1.001 if keys[top] < 0 else 0.999) - 1e-9:
            _put(heap, places, keys, size, top, score)
            if heap[0] != top:
                continue
        size = _pop(heap, places, keys, size)
        if best < 0:
            continue
        left -= _overload_drop(over, mine[top], best, node_weights, top, shares)
        _shift(over, mine[top], best, node_weights, top)
        mine[top] = best
        for i in range(indptr[top], indptr[top + 1]):
            near = indices[i] - first
            if near < 0 or near >= rows or places[near] < 0 or indptr[near + 1] - indptr[near] > HUB:
                continue
            best, score = _best_relief(
                near, indptr, indices, weights, first, parts, mine, node_weights, over, shares, bound, touched, around
            )
            if best >= 0:
                size = _put(heap, places, keys, size, near, score)


def overload(over: np.ndarray, shares: np.ndarray) -> float:
    """Sum of overloads, each as a share of its limit."""
    # in order, for the same float everywhere; np.sum adds in groups
    return float(np.cumsum(np.maximum(0.0, over) * shares)[-1])


def _bonds(indptr: np.ndarray, parts: np.ndarray, over: np.ndarray) -> tuple[np.ndarray, ...]:
    """Work space to bind nodes to parts: bonds, the parts that have some, and parts of a node's neighbours."""
    num_parts = over.shape[0]
    around = np.empty(widest_row(indptr), parts.dtype)
    return np.zeros(num_parts, np.int64), np.empty(num_parts, np.int32), around


def _queue(mine: np.ndarray) -> tuple[np.ndarray, ...]:
    """Room for a queue of a block's rows: heap, each row's place in it or -1, keys."""
    rows = mine.size
    return np.empty(rows, np.int32), np.full(rows, -1, np.int32), np.empty(rows, np.float64)


@kernel
def assign_greedily(nodes, node_weights, over, shares, parts):  # type: ignore[no-untyped-def]
    """Give nodes without neighbours to the parts with most room; changes `over` and `parts`."""
    for i in range(nodes.size):
        best, best_fullness = 0, np.inf
        for part in range(over.shape[0]):
            fullest = -np.inf
            for c in range(over.shape[1]):
                if node_weights[i, c] > 0:
                    fullest = max(fullest, (over[part, c] + node_weights[i, c]) * shares[c])
            if fullest < best_fullness:
                best, best_fullness = part, fullest
        parts[nodes[i]] = best
        for c in range(over.shape[1]):
            over[best, c] += node_weights[i, c]


def cut_of_rows(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, first: int, parts: np.ndarray, num_parts: int
) -> tuple[int, int]:
    """Weight of a block's cut arcs, and the number of foreign parts that its nodes see in all.

    The first counts both directions of an edge; the second, over all blocks, is the communication volume, or 0, in a
    fifth of the time, if `num_parts` is 0.
    """
    parts = parts.view()
    parts.flags.writeable = False  # one signature, also for parts in files
    cut, volume = _cut(indptr, indices, weights, first, parts, np.full(num_parts, -1))
    return cut, volume


@kernel
def _cut(indptr, indices, weights, first, parts, seen):  # type: ignore[no-untyped-def]
    cut, volume = np.int64(0), np.int64(0)
    for row in range(indptr.size - 1):
        own, before = parts[first + row], cut
        for i in range(indptr[row], indptr[row + 1]):
            cut += (weights[i] if weights.size else 1) * (parts[np.uint64(indices[i])] != own)  # no branch to guess
        for i in range(indptr[row], indptr[row + 1] if seen.size and cut > before else indptr[row]):
            part = parts[indices[i]]
            if part != own and seen[part] != row:
                seen[part] = row
                volume += 1
    return cut, volume
