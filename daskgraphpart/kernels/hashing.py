"""Counter-based random numbers: functions of (seed, stream, index), never of the drawing order."""

from __future__ import annotations

import numpy as np
from numba import uint64

from daskgraphpart.kernels.compiled import inlined, kernel

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: the step from one state of SplitMix to the next."""


@inlined
def splitmix64(value):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (Steele, Lea and Flood 2014, the finaliser of SplitMix)."""
    value = (value ^ (value >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> uint64(27))) * uint64(0x94D049BB133111EB)
    return value ^ (value >> uint64(31))


@kernel
def uniform_ints(key, first, bound, out):  # type: ignore[no-untyped-def]
    """Draw integers in ``[0, bound)``, bound at most 2^32: the high 32 bits, scaled, without division."""
    for i in range(out.size):
        word = splitmix64(key + uint64(first + i) * uint64(GOLDEN))
        out[i] = (word >> uint64(32)) * uint64(bound) >> uint64(32)


@kernel
def distinct_words(key, first, out):  # type: ignore[no-untyped-def]
    """Draw 64 bits each, no two of them equal, since scrambling is a bijection."""
    for i in range(out.size):
        out[i] = splitmix64(key + uint64(first + i) * uint64(GOLDEN))


def stream_key(seed: int, stream: str) -> np.uint64:
    """Name a stream of random numbers: equal for equal seed and name, on every machine."""
    key = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        for byte in stream.encode():
            key = (key ^ np.uint64(byte)) * np.uint64(0x100000001B3) + np.uint64(GOLDEN)
            key ^= key >> np.uint64(29)
    return key


def stream_key_of(key: np.uint64, number: int) -> np.uint64:
    """Key of a stream of random numbers below another: of an epoch, a batch, a hop."""
    return stream_key(int(key), str(number))
