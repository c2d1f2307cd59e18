"""Synthetic edges and features: every value a function of (stream, index), so that chunks do not matter."""

from __future__ import annotations

from numba import njit, uint64

from daskgraphpart.kernels.hashing import splitmix64

GOLDEN = 0x9E3779B97F4A7C15


@njit(cache=True, nogil=True)
def rmat_edges(key, first, num_nodes, thresholds, src, dst):  # type: ignore[no-untyped-def]
    """Draw edges of a power-law graph (Chakrabarti, Zhan and Faloutsos 2004).

    Each level of the recursion takes 16 random bits. Where an end is not below `num_nodes` the edge is drawn again.

    Parameters
    ----------
    key : uint64
        Names the stream.
    first : int
        Index of the first edge.
    num_nodes : int
        Number of nodes; need not be a power of two.
    thresholds : tuple of three int
        Cumulative probabilities of the quadrants (a, a + b, a + b + c) of 2^16.
    src, dst : int64 array (edges,)
        Filled.
    """
    levels = 0
    while (1 << levels) < num_nodes:
        levels += 1
    first_third, half, second_third = thresholds
    for i in range(src.size):
        state = splitmix64(key + uint64(first + i) * uint64(GOLDEN))
        row = column = num_nodes
        while row >= num_nodes or column >= num_nodes:
            row = column = 0
            word = uint64(0)
            for level in range(levels):
                if level & 3 == 0:
                    state += uint64(GOLDEN)
                    word = splitmix64(state)
                draw = word & uint64(0xFFFF)
                word >>= uint64(16)
                row = (row << 1) | (draw >= half)
                column = (column << 1) | ((draw >= first_third and draw < half) or draw >= second_third)
        src[i] = row
        dst[i] = column


@njit(cache=True, nogil=True)
def skewed_ids(key, first, num_nodes, skew, ids):  # type: ignore[no-untyped-def]
    """Draw node IDs, low ones more often the larger `skew` is: ``floor(num_nodes * u ** skew)``.

    Parameters
    ----------
    key : uint64
        Names the stream.
    first : int
        Index of the first.
    num_nodes : int
    skew : float
        1 is uniform; above, degrees follow a power law with exponent ``1 + 1 / (skew - 1) + 1``.
    ids : int64 array
        Filled.
    """
    for i in range(ids.size):
        word = splitmix64(key + uint64(first + i) * uint64(GOLDEN))
        share = (word >> uint64(11)) * (1.0 / 9007199254740992.0)
        ids[i] = min(num_nodes - 1, int(num_nodes * share**skew))


@njit(cache=True, nogil=True)
def uniform_floats(key, first, out):  # type: ignore[no-untyped-def]
    """Draw numbers in [0, 1), two from each 64 random bits.

    Parameters
    ----------
    key : uint64
        Names the stream.
    first : int
        Index of the first number; even.
    out : float32 array (n,)
        Filled.
    """
    scale = 1.0 / 16777216.0
    for i in range(0, out.size, 2):
        word = splitmix64(key + uint64((first + i) >> 1) * uint64(GOLDEN))
        out[i] = (word >> uint64(40)) * scale
        if i + 1 < out.size:
            out[i + 1] = (word & uint64(0xFFFFFF)) * scale


@njit(cache=True, nogil=True)
def uniform_ints(key, first, bound, out):  # type: ignore[no-untyped-def]
    """Draw integers in ``[0, bound)``, bound below 2^32.

    Parameters
    ----------
    key : uint64
        Names the stream.
    first : int
        Index of the first.
    bound : int
    out : int64 array (n,)
        Filled.
    """
    for i in range(out.size):
        word = splitmix64(key + uint64(first + i) * uint64(GOLDEN))
        out[i] = (word >> uint64(32)) * uint64(bound) >> uint64(32)
