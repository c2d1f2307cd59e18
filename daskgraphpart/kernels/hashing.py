"""Counter-based random numbers: a function of (seed, stream, index), never of the order they are asked for."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64


@njit(cache=True, nogil=True, inline="always")
def splitmix64(value):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (Steele, Lea and Flood 2014, the finaliser of SplitMix)."""
    value = (value ^ (value >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> uint64(27))) * uint64(0x94D049BB133111EB)
    return value ^ (value >> uint64(31))


@njit(cache=True, nogil=True)
def random_owners(key, first, num_parts, owners):  # type: ignore[no-untyped-def]
    """Draw an owner for each row, uniformly.

    Parameters
    ----------
    key : uint64
        Names the stream (seed and node type).
    first : int
        ID of the first row.
    num_parts : int
    owners : uint8 or uint16 array (rows,)
        Filled.
    """
    for i in range(owners.size):
        word = splitmix64(key + uint64(first + i) * uint64(0x9E3779B97F4A7C15))
        # the high 32 bits, scaled: no division, bias below num_parts / 2^32
        owners[i] = (word >> uint64(32)) * uint64(num_parts) >> uint64(32)


def stream_key(seed: int, stream: str) -> np.uint64:
    """Name a stream of random numbers: equal for equal seed and name, on every machine."""
    key = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        for byte in stream.encode():
            key = (key ^ np.uint64(byte)) * np.uint64(0x100000001B3) + np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
    return key
