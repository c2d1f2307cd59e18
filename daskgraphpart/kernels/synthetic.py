"""Draw synthetic edges and features: each value a function of (stream, index), so chunks do not matter.

`key` names the stream; ``first, first + 1, ...`` are the indices of values to fill in.
"""

from __future__ import annotations

import math

from numba import uint64

from daskgraphpart.kernels.compiled import inlined, kernel
from daskgraphpart.kernels.hashing import GOLDEN, splitmix64


@kernel
def rmat_edges(key, first, num_nodes, thresholds, src, dst):  # type: ignore[no-untyped-def]
    """Draw edges from `first` on of a power-law graph (Chakrabarti, Zhan and Faloutsos 2004).

    Each level of the recursion compares 16 random bits with `thresholds`, the cumulative probabilities of the quadrants
    (a, a + b, a + b + c) of 2^16. Edges with an end not below `num_nodes` are drawn again.
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


@kernel
def skewed_ids(key, first, num_nodes, skew, ids):  # type: ignore[no-untyped-def]
    """Draw node IDs ``floor(num_nodes * u ** skew)``: 1 is uniform; above, degrees follow a power law."""
    for i in range(ids.size):
        word = splitmix64(key + uint64(first + i) * uint64(GOLDEN))
        share = (word >> uint64(11)) * (1.0 / 9007199254740992.0)
        ids[i] = min(num_nodes - 1, int(num_nodes * share**skew))


@kernel
def uniform_floats(key, first, out):  # type: ignore[no-untyped-def]
    """Draw float32 numbers in [0, 1), two from 64 random bits; `first` is even."""
    scale = 1.0 / 16777216.0
    for i in range(0, out.size, 2):
        word = splitmix64(key + uint64((first + i) >> 1) * uint64(GOLDEN))
        out[i] = (word >> uint64(40)) * scale
        if i + 1 < out.size:
            out[i + 1] = (word & uint64(0xFFFFFF)) * scale


@kernel
def uniform_shares(key, numbers, out):  # type: ignore[no-untyped-def]
    """Draw a float64 in [0, 1) for each of `numbers`."""
    for i in range(out.size):
        out[i] = _unit(splitmix64(key + uint64(numbers[i]) * uint64(GOLDEN)))


@inlined
def _unit(word):  # type: ignore[no-untyped-def]
    return float(word >> uint64(11)) * (1.0 / (1 << 53))


@kernel
def community_edges(key, first, num_nodes, num_communities, inside, step, src, dst):  # type: ignore[no-untyped-def]
    """Draw edges from `first` on, a share `inside` of them in communities; degrees are skewed, IDs scattered.

    Community c holds the positions from ``n (c / C)^2`` on, so sizes grow with c; a multiplication with `step` modulo
    n, coprime to n, maps positions to IDs, so IDs do not reveal communities.
    """
    for i in range(src.size):
        state = splitmix64(key + uint64(first + i) * uint64(GOLDEN))
        state += uint64(GOLDEN)
        place = min(num_nodes - 1, int(num_nodes * _unit(splitmix64(state))))
        community = int(num_communities * math.sqrt(place / num_nodes))
        low = int(num_nodes * (community / num_communities) ** 2)
        high = min(num_nodes, max(low + 1, int(num_nodes * ((community + 1) / num_communities) ** 2)))
        state += uint64(GOLDEN)
        source = low + int((high - low) * _unit(splitmix64(state)) ** 2)
        state += uint64(GOLDEN)
        if _unit(splitmix64(state)) >= inside:
            low, high = 0, num_nodes
        state += uint64(GOLDEN)
        target = low + int((high - low) * _unit(splitmix64(state)) ** 2)
        src[i] = source * step % num_nodes
        dst[i] = target * step % num_nodes


def scatter_step(num_nodes: int) -> int:
    """Find a step coprime to the number of nodes, about 0.618 of it; below 2**31 so that products fit."""
    step = max(1, int(num_nodes * 0.6180339887) % (2**31))
    while math.gcd(step, num_nodes) != 1:
        step += 1
    return step


def number_of_communities(num_nodes: int) -> int:
    """Number of communities, for 1,000 nodes on average."""
    return max(1, math.ceil(num_nodes / 1000))
