"""Synthetic edges of a graph with communities: what partitioners can find, unlike in an R-MAT graph."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from daskgraphpart.kernels.hashing import splitmix64

GOLDEN = 0x9E3779B97F4A7C15


@njit(cache=True, nogil=True, inline="always")
def _unit(word):  # type: ignore[no-untyped-def]
    return float(word >> uint64(11)) * (1.0 / (1 << 53))


@njit(cache=True, nogil=True)
def community_edges(key, first, num_nodes, num_communities, inside, step, src, dst):  # type: ignore[no-untyped-def]
    """Draw edges, most of them inside communities, with skewed degrees; IDs are scattered.

    Community c holds the places from ``n (c / C)^2`` on, so sizes grow with c; a node's place is mapped to its ID by
    a multiplication modulo n, so IDs tell nothing of communities.

    Parameters
    ----------
    key : uint64
        Names the stream.
    first : int
        Index of the first edge.
    num_nodes, num_communities : int
    inside : float
        Share of edges inside communities.
    step : int
        Coprime to the number of nodes.
    src, dst : int64 array (edges,)
        Filled.
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
    """Find a step coprime to a number of nodes, about 0.618 of it; below 2**31 so that products fit."""
    step = max(1, int(num_nodes * 0.6180339887) % (2**31))
    while math.gcd(step, num_nodes) != 1:
        step += 1
    return step


def number_of_communities(num_nodes: int) -> int:
    """Take communities of 1,000 nodes on average."""
    return max(1, int(np.ceil(num_nodes / 1000)))
