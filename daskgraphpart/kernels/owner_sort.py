"""Counting and stable grouping by owner: this package's look-up join and group-by.

All kernels keep the original order inside each owner, which makes every (block, owner) pair one contiguous range of the
output.
"""

from __future__ import annotations

import numpy as np

from daskgraphpart.kernels.compiled import kernel

EDGES_PER_LOOK_UP = 4096
"""Edges whose new IDs stay in the nearest cache until they are written."""


@kernel
def count_owners(owners, num_parts, counts):  # type: ignore[no-untyped-def]
    """Add each owner's rows to `counts`; return the first row with an owner not below `num_parts`, or -1."""
    for i in range(owners.size):
        owner = owners[i]
        if owner >= num_parts:
            return i
        counts[owner] += 1
    return -1


@kernel
def rank_rows(owners, cursors, new_ids):  # type: ignore[no-untyped-def]
    """Give each row its owner's next new ID: `cursors`, int64 (parts,), which move on."""
    for i in range(owners.size):
        owner = owners[i]
        new_ids[i] = cursors[owner]
        cursors[owner] += 1


@kernel
def group_positions(owners, cursors, positions):  # type: ignore[no-untyped-def]
    """List rows grouped by owner, ascending in each group, at `cursors`, which move on."""
    for i in range(owners.size):
        owner = owners[i]
        positions[cursors[owner]] = i
        cursors[owner] += 1


@kernel
def look_up_owners(src, dst, num_src, owner_of_dst, owners, counts):  # type: ignore[no-untyped-def]
    """Look up each edge's owner, its destination's, and add to `counts`, int64 (parts,).

    Returns the first edge with an end out of range, or -1; `src` and `dst` are int64 type-wise IDs.
    """
    num_dst = owner_of_dst.size
    for i in range(src.size):
        end = dst[i]
        if end < 0 or end >= num_dst or src[i] < 0 or src[i] >= num_src:
            return i
        owner = owner_of_dst[end]
        owners[i] = owner
        counts[owner] += 1
    return -1


@kernel
def look_up(ids, values, looked_up):  # type: ignore[no-untyped-def]
    """Look up values of non-negative IDs; a bare loop overlaps many lookups."""
    for i in range(ids.size):
        looked_up[i] = values[np.uint64(ids[i])]


def scatter_edges(
    ends: tuple[np.ndarray, np.ndarray],
    new_ids: tuple[np.ndarray, np.ndarray],
    owners: np.ndarray,
    cursors: np.ndarray,
    run: np.ndarray,
) -> None:
    """Write (new source ID, new destination ID, row in the block) of edges to `run` (3, edges), grouped by owner.

    `ends` and `new_ids` are pairs: type-wise IDs of sources and destinations, and their types' maps to new IDs;
    `cursors` are where each owner's group begins, and move on.
    """
    _scatter(*ends, *new_ids, owners, cursors, np.empty((2, EDGES_PER_LOOK_UP), run.dtype), run)


@kernel
def _scatter(src, dst, new_src, new_dst, owners, cursors, looked_up, run):  # type: ignore[no-untyped-def]
    for first in range(0, src.size, EDGES_PER_LOOK_UP):
        stop = min(first + EDGES_PER_LOOK_UP, src.size)
        look_up(src[first:stop], new_src, looked_up[0])
        look_up(dst[first:stop], new_dst, looked_up[1])
        for i in range(stop - first):
            owner = owners[first + i]
            place = cursors[owner]
            cursors[owner] = place + 1
            run[0, place] = looked_up[0, i]
            run[1, place] = looked_up[1, i]
            run[2, place] = first + i


def group_by_owner(owners: np.ndarray, num_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """List rows grouped by owner, ascending in each group; also the rows per owner, int64 (num_parts,)."""
    counts = np.zeros(num_parts, np.int64)
    count_owners(owners, num_parts, counts)
    positions = np.empty(owners.size, np.int64)
    group_positions(owners, group_starts(counts)[:-1], positions)
    return positions, counts


def group_starts(counts: np.ndarray) -> np.ndarray:
    """Start of each owner's group: the exclusive prefix sum, one longer than `counts`."""
    starts = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts
