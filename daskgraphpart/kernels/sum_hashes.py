"""Sum up hashes of edges and rows: equal sums mean equal multisets in any order, except once in 2^64."""

from __future__ import annotations

import numpy as np
from numba import uint64

from daskgraphpart.kernels.compiled import kernel
from daskgraphpart.kernels.hashing import splitmix64

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xD6E8FEB86659FD93)


@kernel
def add_edge_hashes(src, dst, eids, bins, sums):  # type: ignore[no-untyped-def]
    """Add a hash of each edge, its ends and its ID, to ``sums[bins[i]]``; all are integer arrays (edges,)."""
    for i in range(eids.size):
        word = splitmix64(uint64(eids[i]) + _STEP) + uint64(src[i])
        word = splitmix64(word + _STEP) + uint64(dst[i])
        sums[bins[i]] += splitmix64(word + _STEP)


@kernel
def add_row_hashes(rows, ids, bins, sums):  # type: ignore[no-untyped-def]
    """Add a hash of each row and its ID to ``sums[bins[i]]``.

    Rows are unsigned words, (rows, words); each word enters by a bijection, so any difference shows.
    """
    for i in range(ids.size):
        word = splitmix64(uint64(ids[i]) + _STEP)
        for j in range(rows.shape[1]):
            word = (word + uint64(rows[i, j])) * _FACTOR
            word ^= word >> uint64(32)
        sums[bins[i]] += splitmix64(word + _STEP)


@kernel
def mark_ends(src, dst, num_nodes, num_inner, words):  # type: ignore[no-untyped-def]
    """Mark the halo nodes in which edges end; return the first edge with an end outside ``[0, num_nodes)``, or -1.

    `words` is a bitmap of the part's halo nodes, which follow its `num_inner` own nodes.
    """
    for i in range(src.size):
        for node in (src[i], dst[i]):
            if node < 0 or node >= num_nodes:
                return i
            if node >= num_inner:
                halo = node - num_inner
                words[halo >> 6] |= np.uint64(1) << np.uint64(halo & 63)
    return -1
