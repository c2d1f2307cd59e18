"""Sets of node IDs as bitmaps with ranks: halo membership and local IDs without sorting or hashing.

Bit ``i % 64`` of word ``i // 64`` stands for ID ``i``. A member's rank, its position among all members, is the number
of members in earlier words plus those below it in its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from daskgraphpart.kernels.compiled import kernel


@intrinsic  # type: ignore[untyped-decorator]
def _popcount(_context: Any, word: Any) -> Any:
    """One machine instruction; numba has no name for it."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@kernel
def add_foreign(ids, low, high, words):  # type: ignore[no-untyped-def]
    """Add the IDs outside ``[low, high)`` to the set `words`; return their number, repetitions included."""
    foreign = np.int64(0)
    for i in range(ids.size):
        node = np.int64(ids[i])
        # no branch, which would be mispredicted
        is_foreign = np.uint64(node < low) | np.uint64(node >= high)
        words[np.uint64(node >> 6)] |= is_foreign << np.uint64(node & 63)
        foreign += np.int64(is_foreign)
    return foreign


@kernel
def add_sources_of_members(src, dst, low, high, members, words):  # type: ignore[no-untyped-def]
    """Add to `words` the sources outside ``[low, high)`` of edges that end inside or in `members`: one more hop."""
    for i in range(src.size):
        end = np.int64(dst[i])
        if low <= end < high or members[end >> 6] >> np.uint64(end & 63) & np.uint64(1):
            node = np.int64(src[i])
            if node < low or node >= high:
                words[node >> 6] |= np.uint64(1) << np.uint64(node & 63)


@kernel
def select_extra(src, dst, low, high, members, out_edges, selected):  # type: ignore[no-untyped-def]
    """List the edges that a part of nodes ``[low, high)`` holds but does not own; return their number.

    They end in a member (another hop; `members` is empty for none), or, with `out_edges`, begin in the part and end
    outside. Fills `selected` from the front.
    """
    count = 0
    for i in range(src.size):
        end = np.int64(dst[i])
        if low <= end < high:
            continue
        node = np.int64(src[i])
        wanted = out_edges and low <= node < high
        if not wanted and members.size:
            wanted = (members[end >> 6] >> np.uint64(end & 63) & np.uint64(1)) != 0
        if wanted:
            selected[count] = i
            count += 1
    return count


@kernel
def rank_words(words, ranks):  # type: ignore[no-untyped-def]
    """Count the members before each word into `ranks`; return the total."""
    total = np.int64(0)
    for i in range(words.size):
        ranks[i] = total
        total += np.int64(_popcount(words[i]))
    return total


@kernel
def list_members(words, first_word, out):  # type: ignore[no-untyped-def]
    """List the members of a bitmap's words from `first_word` on, ascending; return their number."""
    count = 0
    for i in range(words.size):
        word = words[i]
        base = (first_word + i) << 6
        while word:
            lowest = word & (~word + np.uint64(1))
            out[count] = base + np.int64(_popcount(lowest - np.uint64(1)))
            count += 1
            word ^= lowest
    return count


@kernel
def local_ids(ids, low, high, words, ranks, out):  # type: ignore[no-untyped-def]
    """Turn new IDs into local IDs of a part: own nodes ``[low, high)``, then halo nodes, ascending.

    `words` and `ranks` are the bitmap of its halo nodes, and the members before each word.
    """
    inner = high - low
    for i in range(ids.size):
        node = np.int64(ids[i])
        word = np.uint64(node >> 6)
        # also for own nodes: a branch would be mispredicted
        below = words[word] & ((np.uint64(1) << np.uint64(node & 63)) - np.uint64(1))
        halo = inner + ranks[word] + np.int64(_popcount(below))
        out[i] = node - low if low <= node < high else halo


def empty_bitmap(num_ids: int) -> np.ndarray:
    """Empty bitmap for this many IDs."""
    return np.zeros(-(-num_ids // 64), np.uint64)
