"""Size-constrained label propagation: nodes join the neighbouring cluster with the strongest bond.

Nodes of a block go in turn and see earlier decisions of their block; nodes of other blocks keep the labels of the
round's start. So a block's proposal does not depend on which blocks run at the same time; `apply_clusters` then applies
proposals in node order.
"""

from __future__ import annotations

import numpy as np

from daskgraphpart.kernels.compiled import inlined, kernel

AHEAD = 64  # nodes whose clusters are looked up at a time


@inlined
def _mix(value):  # type: ignore[no-untyped-def]
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


@inlined
def _slot(keys, key, mask):  # type: ignore[no-untyped-def]
    """Slot of a key in a small open-addressing table whose free slots hold -1; all uint64 except keys."""
    slot = ((np.uint64(key) * np.uint64(0x9E3779B1)) >> np.uint64(15)) & mask
    while keys[slot] != key and keys[slot] != -1:
        slot = (slot + np.uint64(1)) & mask
    return slot


def widest_row(indptr: np.ndarray) -> int:
    """Return the largest number of neighbours in a row, at least 1."""
    return int(np.diff(indptr).max(initial=1))


def propose_clusters(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, first: int, labels: np.ndarray, parts: np.ndarray,
    node_weights: np.ndarray, loads: np.ndarray, most: np.ndarray, salt: int | np.integer, active: np.ndarray,
    following: np.ndarray, mine: np.ndarray, preferred: np.ndarray,
) -> None:  # fmt: skip
    """Choose a cluster for each active node of a block ``first, first + 1, ...``; no weights means 1.

    `labels` (all nodes,) are the clusters at the round's start, each named after one of its nodes, and `loads` (all
    nodes, constraints) their weights by label, at most `most`; with `parts` (all nodes,) clusters stay inside parts.
    Of equal bonds, that to the lighter cluster counts, then `salt` decides. `mine` (block,) gets the proposals,
    `preferred` the cluster with the strongest bond, full or not (-1 without neighbours), and `following` is set for
    neighbours of nodes that change.
    """
    widest = widest_row(indptr)
    size = 8
    while size < 2 * widest:
        size *= 2
    _propose(
        indptr, indices, weights, first, labels, parts, node_weights, loads, most, salt, active, following, mine,
        preferred, np.full(size, -1, labels.dtype), np.empty(size, np.int64), np.empty(widest, np.uint64),
        np.zeros((mine.size, most.size), np.int64), np.empty(widest, labels.dtype), np.ones(widest, np.int64),
    )  # fmt: skip


@kernel
def _propose(  # type: ignore[no-untyped-def]
    indptr, indices, weights, first, labels, parts, node_weights, loads, most, salt, active, following, mine, preferred,
    keys, bound, touched, changes, around, strengths,
):  # fmt: skip
    """As `propose_clusters`; `changes` are those of the clusters named after the block's nodes."""
    num_rows, num_constraints = mine.size, most.size
    for row in range(num_rows):
        if not active[row]:
            continue
        start, stop = indptr[row], indptr[row + 1]
        preferred[row] = -1
        # gather labels first, so that the processor can wait for many at once
        near_weights = weights[start:stop] if weights.size else weights
        degree = _labels_around(
            indices[start:stop], near_weights, first, labels, parts, first + row, mine, around, strengths
        )
        if degree == 0:
            continue
        size, count = 8, 0
        while size < 2 * degree:
            size *= 2
        mask = np.uint64(size - 1)
        for i in range(degree):
            slot = _slot(keys, around[i], mask)
            if keys[slot] == -1:
                keys[slot] = around[i]
                bound[slot] = strengths[i]
                touched[count] = slot
                count += 1
            else:
                bound[slot] += strengths[i]
        old, old_bound = np.int64(mine[row]), np.int64(0)
        slot = _slot(keys, old, mask)
        if keys[slot] == old:
            old_bound = bound[slot]
        choice, strongest, choice_tie = np.int64(-1), np.int64(0), np.uint64(0)
        for j in range(count):
            label, strength = np.int64(keys[touched[j]]), bound[touched[j]]
            if strength >= strongest:
                tie = _tie(label, salt, first, num_rows, loads, changes, most)
                if strength > strongest or tie > choice_tie:
                    choice, strongest, choice_tie = label, strength, tie
        best, best_bound, best_tie = old, old_bound, np.uint64(0xFFFFFFFFFFFFFFFF)
        if strongest > old_bound:
            if _has_room(choice, first, num_rows, row, node_weights, loads, changes, most):
                best = choice
            else:  # the strongest with room
                for j in range(count):
                    label, strength = np.int64(keys[touched[j]]), bound[touched[j]]
                    if label == old or strength < best_bound:
                        continue
                    tie = _tie(label, salt, first, num_rows, loads, changes, most)
                    better = strength > best_bound or tie > best_tie
                    if better and _has_room(label, first, num_rows, row, node_weights, loads, changes, most):
                        best, best_bound, best_tie = label, strength, tie
        for j in range(count):
            keys[touched[j]] = -1
        preferred[row] = choice
        if best == old:
            continue
        mine[row] = best
        for label, sign in ((np.int64(old), -1), (best, 1)):
            if 0 <= label - first < num_rows:
                for c in range(num_constraints):
                    changes[label - first, c] += sign * node_weights[row, c]
        for i in range(start, stop):
            following[indices[i]] = True


@inlined
def _tie(label, salt, first, num_rows, loads, changes, most):  # type: ignore[no-untyped-def]
    """Rank a cluster among equal ones: the emptier the higher, for hubs gather what has nothing in common."""
    near, room = label - first, 1.0
    for c in range(most.size):
        load = loads[label, c]
        if 0 <= near < num_rows:
            load += changes[near, c]
        room = min(room, 1.0 - load / max(1, most[c]))
    return (np.uint64(max(room, 0.0) * 0x7FFFFFFF) << np.uint64(32)) | (_mix(label ^ salt) >> np.uint64(32))


@inlined
def _has_room(label, first, num_rows, row, node_weights, loads, changes, most):  # type: ignore[no-untyped-def]
    """Whether a cluster, with the block's changes, has room for a row's node."""
    near, fits = label - first, True
    for c in range(most.size):
        load = loads[label, c] + node_weights[row, c]
        if 0 <= near < num_rows:
            load += changes[near, c]
        fits = fits and load <= most[c]
    return fits


@inlined
def _labels_around(neighbors, weights, first, labels, parts, node, mine, around, strengths):  # type: ignore[no-untyped-def]
    """Fill in labels and weights of a node's neighbours within its part; return their number."""
    if parts.size == 0:
        for i in range(neighbors.size):
            # unsigned, since numba tests signed indices for counting from the end
            other = np.uint64(neighbors[i])
            near = other - np.uint64(first)
            around[i] = mine[near] if near < np.uint64(mine.size) else labels[other]
        for i in range(weights.size):
            strengths[i] = weights[i]
        return neighbors.size
    count, part = 0, parts[node]
    for i in range(neighbors.size):
        other = np.uint64(neighbors[i])
        if parts[other] == part:
            near = other - np.uint64(first)
            around[count] = mine[near] if near < np.uint64(mine.size) else labels[other]
            strengths[count] = weights[i] if weights.size else 1
            count += 1
    return count


@kernel
def apply_clusters(nodes, chosen, node_weights, most, labels, loads):  # type: ignore[no-untyped-def]
    """Move nodes to the clusters they chose, in turn, unless one gets too heavy; return how many move.

    Also returns the sum of the loads looked up ahead: the compiler leaves out what nobody gets.
    """
    moved, ahead = 0, np.int64(0)
    for first in range(0, nodes.size, AHEAD):
        last = min(first + AHEAD, nodes.size)
        # look up loads first, so that the processor can wait for many at once: a third of the time
        for row in range(first, last):
            ahead += loads[chosen[row], 0] + loads[labels[nodes[row]], 0]
        for row in range(first, last):
            old, new = labels[nodes[row]], chosen[row]
            # an emptied cluster stays empty: two nodes that chose each other's would swap forever
            fits, empty = True, True
            for c in range(most.size):
                empty = empty and loads[new, c] == 0
                fits = fits and loads[new, c] + node_weights[row, c] <= most[c]
            if fits and not empty:
                labels[nodes[row]] = new
                moved += 1
                for c in range(most.size):
                    loads[old, c] -= node_weights[row, c]
                    loads[new, c] += node_weights[row, c]
    return moved, ahead


@kernel
def match_two_hops(nodes, preferred, node_weights, most, waiting, parts, labels, loads):  # type: ignore[no-untyped-def]
    """Join single nodes whose preferred cluster is full with others that prefer the same one.

    Nodes without neighbours join each other. `waiting` (all nodes and parts, or all nodes and 1) has, for each
    preferred cluster and for isolated nodes of each part, the cluster that waits for company, or -1. Changes `labels`,
    `loads` and `waiting`.
    """
    for row in range(nodes.size):
        node, choice = np.int64(nodes[row]), np.int64(preferred[row])
        own = node
        if choice == own:
            continue
        if choice < 0:
            choice = labels.size + (parts[node] if parts.size else 0)
        host = waiting[choice]
        fits = host >= 0 and host != own and (parts.size == 0 or parts[host] == parts[node])
        for c in range(most.size):
            fits = fits and loads[host, c] + node_weights[row, c] <= most[c]
        if not fits:
            waiting[choice] = own
            continue
        labels[node] = host
        for c in range(most.size):
            loads[own, c] -= node_weights[row, c]
            loads[host, c] += node_weights[row, c]


@kernel
def number_clusters(labels, numbers):  # type: ignore[no-untyped-def]
    """Number the clusters in order of their first nodes, in place; return their number.

    `numbers`, like labels, is work space filled with -1.
    """
    count = 0
    for node in range(labels.size):
        label = labels[node]
        if numbers[label] < 0:
            numbers[label] = count
            count += 1
        labels[node] = numbers[label]
    return count


@kernel
def add_up(clusters, first, node_weights, loads):  # type: ignore[no-untyped-def]
    """Add the weights of nodes ``first, first + 1, ...`` to their clusters; skips -1."""
    for row in range(node_weights.shape[0]):
        cluster = clusters[first + row]
        if cluster >= 0:
            for c in range(node_weights.shape[1]):
                loads[cluster, c] += node_weights[row, c]
