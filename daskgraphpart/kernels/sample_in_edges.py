"""Sample in-edges of a whole graph in CSC, whose columns are sorted by edge type: chances, and draws."""

from __future__ import annotations

from numba import int64

from daskgraphpart.kernels.compiled import inlined, kernel
from daskgraphpart.kernels.sample import draw_distinct, stream_of


@inlined
def _end_of_type(etypes, first, stop):  # type: ignore[no-untyped-def]
    """Position after the in-edges in ``[first, stop)`` that have the type of the first; all without `etypes`."""
    low, high = first + 1, stop
    if etypes.size == 0:
        low = stop
    while low < high:
        middle = (low + high) >> 1
        if etypes[middle] > etypes[first]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def chances_of_picks(indptr, etypes, fanouts, chances):  # type: ignore[no-untyped-def]
    """Fill `chances`, float64 (edges,), with those of each in-edge to be picked when its node is sampled.

    `indptr` counts from 0; `etypes` (edges,) are numbers of types, ascending in each column, or (0,) if there is one;
    `fanouts`, int64 (edge types,), are in-edges to pick, all if negative.
    """
    for row in range(indptr.size - 1):
        first, stop = indptr[row], indptr[row + 1]
        while first < stop:
            end = _end_of_type(etypes, first, stop)
            fanout = fanouts[etypes[first] if etypes.size else 0]
            chance = 1.0
            if 0 <= fanout < end - first:
                chance = fanout / (end - first)
            for i in range(first, end):
                chances[i] = chance
            first = end


@kernel
def pick_sources(nodes, indptr, sources, etypes, fanouts, key, out):  # type: ignore[no-untyped-def]
    """Pick in-edges of nodes without replacement, and write their sources to `out`; return how many.

    The picks at a node depend on the key, the node and the edge type.
    """
    done = 0
    for node in nodes:
        first, stop = indptr[node], indptr[node + 1]
        while first < stop:
            end = _end_of_type(etypes, first, stop)
            etype = int64(etypes[first]) if etypes.size else 0
            fanout, degree = fanouts[etype], end - first
            if fanout < 0 or degree <= fanout:
                for i in range(first, end):
                    out[done] = sources[i]
                    done += 1
            else:
                draw_distinct(stream_of(key, node, etype), degree, out, done, fanout)
                for _ in range(fanout):
                    out[done] = sources[first + out[done]]
                    done += 1
            first = end
    return done
