"""Count the edges of a part at its nodes: in-degrees of own nodes, uses of halo nodes as sources."""

from __future__ import annotations

from daskgraphpart.kernels.compiled import kernel


@kernel
def count_ends(src, dst, types, sizes, first, counts, cut):  # type: ignore[no-untyped-def]
    """Count own edges at local nodes from `first` on: own nodes as destinations, halo nodes as sources.

    `sizes` are the part's own nodes and all its nodes; adds the edges from halo nodes of the range to `cut` (edge
    types,). Returns the first edge that does not lead from a node of the part to an inner one, or -1.
    """
    num_inner, num_nodes = sizes
    stop = first + counts.size
    for i in range(src.size):
        begin = src[i]
        end = dst[i]
        if begin < 0 or begin >= num_nodes or end < 0 or end >= num_inner:
            return i
        if first <= end < stop:
            counts[end - first] += 1
        if begin >= num_inner and first <= begin < stop:
            counts[begin - first] += 1
            cut[types[i]] += 1
    return -1
