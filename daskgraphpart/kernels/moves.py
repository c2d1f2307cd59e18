"""Moves of nodes between parts: label propagation by blocks, and the Fiduccia-Mattheyses method in memory.

Every node has a vector of weights, every part a vector of loads, and there is one limit per constraint. A move never
makes a part exceed a limit that it kept; how far limits are exceeded altogether is called the overload.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _fits(loads, part, node_weights, row, limits):  # type: ignore[no-untyped-def]
    for c in range(limits.size):
        weight = node_weights[row, c]
        if weight > 0 and loads[part, c] + weight > limits[c]:
            return False
    return True


@njit(cache=True, nogil=True, inline="always")
def _fullness(loads, part, limits):  # type: ignore[no-untyped-def]
    fullest = 0.0
    for c in range(limits.size):
        fullest = max(fullest, loads[part, c] / max(1.0, float(limits[c])))
    return fullest


@njit(cache=True, nogil=True)
def overload(loads, limits):  # type: ignore[no-untyped-def]
    """By how much the parts exceed the limits altogether, each as a share of its limit."""
    total = 0.0
    for part in range(loads.shape[0]):
        for c in range(limits.size):
            if loads[part, c] > limits[c]:
                total += (loads[part, c] - limits[c]) / max(1.0, float(limits[c]))
    return total


@njit(cache=True, nogil=True, inline="always")
def _relief(loads, old, new, node_weights, row, limits):  # type: ignore[no-untyped-def]
    """By how much the overload falls if the node moves."""
    relief = 0.0
    for c in range(limits.size):
        weight, limit = node_weights[row, c], limits[c]
        if weight == 0:
            continue
        share = 1.0 / max(1.0, float(limit))
        relief += (max(0, loads[old, c] - limit) - max(0, loads[old, c] - weight - limit)) * share
        relief -= (max(0, loads[new, c] + weight - limit) - max(0, loads[new, c] - limit)) * share
    return relief


@njit(cache=True, nogil=True)
def propose_moves(indptr, indices, weights, first, parts, node_weights, loads, limits, mine):  # type: ignore[no-untyped-def]
    """Move nodes of a block to the part that cuts least, one after another.

    Parameters
    ----------
    indptr, indices, weights
        Rows of nodes ``first, first + 1, ...``; no weights means 1.
    first : int
        First node of the block.
    parts : int32 array (all nodes,)
        Part of each node when the round began.
    node_weights : int64 array (block, constraints)
    loads : int64 array (parts, constraints)
        Loads of the parts when the round began; changed by the block's own moves.
    limits : int64 array (constraints,)
    mine : int32 array (block,)
        Parts of the block's nodes; replaced by what is proposed.
    """
    num_rows = indptr.size - 1
    bound = np.zeros(loads.shape[0], np.int64)
    touched = np.empty(loads.shape[0], np.int32)
    for row in range(num_rows):
        old = mine[row]
        count = 0
        for i in range(indptr[row], indptr[row + 1]):
            other = indices[i]
            near = other - first
            part = mine[near] if 0 <= near < num_rows else parts[other]
            if bound[part] == 0:
                touched[count] = part
                count += 1
            bound[part] += weights[i] if weights.size else 1
        best, best_bound = old, bound[old]
        if count > 1 or (count == 1 and touched[0] != old):
            for j in range(count):
                part = touched[j]
                if part == old or bound[part] < best_bound or not _fits(loads, part, node_weights, row, limits):
                    continue
                if bound[part] > best_bound:
                    best, best_bound = part, bound[part]
                elif _fullness(loads, part, limits) < _fullness(loads, best, limits) - 0.01:
                    best = part
        for j in range(count):
            bound[touched[j]] = 0
        if best != old:
            mine[row] = best
            for c in range(limits.size):
                loads[old, c] -= node_weights[row, c]
                loads[best, c] += node_weights[row, c]


@njit(cache=True, nogil=True)
def apply_moves(first, proposals, node_weights, limits, parts, loads):  # type: ignore[no-untyped-def]
    """Let proposed moves take effect, one node after another, as long as limits are kept.

    Parameters
    ----------
    first : int
        First node.
    proposals : int32 array (nodes of the round,)
    node_weights : int64 array (nodes of the round, constraints)
    limits : int64 array (constraints,)
    parts : int32 array (all nodes,), changed
    loads : int64 array (parts, constraints), changed

    Returns
    -------
    int
        How many nodes moved.
    """
    moved = 0
    for row in range(proposals.size):
        old, new = parts[first + row], proposals[row]
        if new != old and _fits(loads, new, node_weights, row, limits):
            parts[first + row] = new
            moved += 1
            for c in range(limits.size):
                loads[old, c] -= node_weights[row, c]
                loads[new, c] += node_weights[row, c]
    return moved


@njit(cache=True, nogil=True)
def _best_relief(row, old, bound, node_weights, loads, limits):  # type: ignore[no-untyped-def]
    """Best part to move an overloaded part's node to, and how good that is; -1 if no move helps."""
    best, best_score = -1, -np.inf
    for part in range(loads.shape[0]):
        if part == old:
            continue
        relief = _relief(loads, old, part, node_weights, row, limits)
        if relief <= 1e-12:
            continue
        gain = float(bound[part] - bound[old])
        # among moves that cost, the cheapest per relief; equal ones go where there is most room
        score = gain * relief if gain > 0 else (gain - 1e-3) / relief
        score -= 1e-6 * _fullness(loads, part, limits)
        if score > best_score:
            best, best_score = part, score
    return best, best_score


@njit(cache=True, nogil=True)
def propose_relief(indptr, indices, weights, first, parts, node_weights, loads, limits, targets, scores):  # type: ignore[no-untyped-def]
    """For each node of an overloaded part the best move that lowers the overload.

    Parameters
    ----------
    indptr, indices, weights, first, parts, node_weights, loads, limits
        As in `propose_moves`; loads are not changed.
    targets : int32 array (block,)
        Filled with the part to move to, or -1.
    scores : float64 array (block,)
        Filled with how good the move is.
    """
    num_parts = loads.shape[0]
    bound = np.zeros(num_parts, np.int64)
    overloaded = np.zeros(num_parts, np.bool_)
    for part in range(num_parts):
        for c in range(limits.size):
            overloaded[part] |= loads[part, c] > limits[c]
    for row in range(indptr.size - 1):
        targets[row] = -1
        old = parts[first + row]
        if old < 0 or not overloaded[old]:
            continue
        for i in range(indptr[row], indptr[row + 1]):
            bound[parts[indices[i]]] += weights[i] if weights.size else 1
        targets[row], scores[row] = _best_relief(row, old, bound, node_weights, loads, limits)
        for i in range(indptr[row], indptr[row + 1]):
            bound[parts[indices[i]]] = 0


@njit(cache=True, nogil=True)
def apply_relief(nodes, targets, node_weights, limits, parts, loads):  # type: ignore[no-untyped-def]
    """Make moves that lower the overload, in the order given.

    Parameters
    ----------
    nodes, targets : int64 and int32 array (moves,)
    node_weights : int64 array (moves, constraints)
    limits, parts, loads
        As in `apply_moves`.

    Returns
    -------
    int
        How many nodes moved.
    """
    moved = 0
    for i in range(nodes.size):
        old, new = parts[nodes[i]], targets[i]
        if _relief(loads, old, new, node_weights, i, limits) > 1e-12:
            parts[nodes[i]] = new
            moved += 1
            for c in range(limits.size):
                loads[old, c] -= node_weights[i, c]
                loads[new, c] += node_weights[i, c]
    return moved


@njit(cache=True, nogil=True)
def deal_out(nodes, node_weights, limits, parts, loads):  # type: ignore[no-untyped-def]
    """Give nodes without neighbours to the emptiest parts.

    Parameters
    ----------
    nodes : int64 array (nodes,)
    node_weights : int64 array (nodes, constraints)
    limits : int64 array (constraints,)
    parts : int32 array (all nodes,), changed
    loads : int64 array (parts, constraints), changed
    """
    num_parts = loads.shape[0]
    for i in range(nodes.size):
        best, best_fullness = 0, np.inf
        for part in range(num_parts):
            fullest = 0.0
            for c in range(limits.size):
                if node_weights[i, c] > 0:
                    fullest = max(fullest, (loads[part, c] + node_weights[i, c]) / max(1.0, float(limits[c])))
            if fullest < best_fullness:
                best, best_fullness = part, fullest
        parts[nodes[i]] = best
        for c in range(limits.size):
            loads[best, c] += node_weights[i, c]


@njit(cache=True, nogil=True)
def cut_of_rows(indptr, indices, weights, first, parts):  # type: ignore[no-untyped-def]
    """Weight of the arcs of a block that are cut, and how many foreign parts its nodes see in all.

    The first is summed over both directions of an edge; the second, over all blocks, is the communication volume.
    """
    cut, volume = np.int64(0), np.int64(0)
    num_parts = 0
    for i in range(parts.size):
        num_parts = max(num_parts, parts[i] + 1)
    seen = np.full(num_parts, -1, np.int64)
    for row in range(indptr.size - 1):
        own = parts[first + row]
        for i in range(indptr[row], indptr[row + 1]):
            part = parts[indices[i]]
            if part != own:
                cut += weights[i] if weights.size else 1
                if seen[part] != row:
                    seen[part] = row
                    volume += 1
    return cut, volume
