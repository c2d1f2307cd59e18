"""Find repeated (source, destination) pairs by hashing: no sort is needed, and the first of each pair stays."""

from __future__ import annotations

import numpy as np
from numba import uint64

from daskgraphpart.kernels.compiled import njit
from daskgraphpart.kernels.hashing import splitmix64

SLOTS_PER_PAIR = 2
"""Slots of the hash table for each pair, before rounding up to a power of two."""


@njit(cache=True, nogil=True, inline="always")
def hash_pair(src, dst):  # type: ignore[no-untyped-def]
    """Scramble a pair into 64 bits; the two ends play different parts."""
    return splitmix64(splitmix64(uint64(src) + uint64(0x9E3779B97F4A7C15)) + uint64(dst))


@njit(cache=True, nogil=True)
def bucket_pairs(src, dst, num_buckets, buckets):  # type: ignore[no-untyped-def]
    """Give each pair one of `num_buckets` buckets; equal pairs get equal buckets, and others are spread evenly."""
    for i in range(src.size):
        # the high half: mark_repeats looks at the low one, which would leave most slots of its table empty
        buckets[i] = (hash_pair(src[i], dst[i]) >> uint64(32)) % uint64(num_buckets)


@njit(cache=True, nogil=True)
def mark_repeats(src, dst, removed, table):  # type: ignore[no-untyped-def]
    """Mark every pair that was there before by 1 in `removed`; those marked already are passed over.

    `table` is work space that `empty_table` makes.
    """
    last = table.size - 1
    for i in range(src.size):
        if removed[i]:
            continue
        slot = np.int64(hash_pair(src[i], dst[i]) & uint64(last))
        while True:
            other = table[slot]
            if other < 0:
                table[slot] = i
                break
            if src[other] == src[i] and dst[other] == dst[i]:
                removed[i] = 1
                break
            slot = (slot + 1) & last


def empty_table(num_pairs: int) -> np.ndarray:
    """Make an empty hash table for so many pairs: at most ``4 * SLOTS_PER_PAIR`` entries of 4 bytes for each."""
    slots = 1 << max(4, (SLOTS_PER_PAIR * num_pairs - 1).bit_length())
    return np.full(slots, -1, np.int32 if num_pairs < 2**31 else np.int64)
