"""Count in which edges of a part its nodes are: in-degrees of inner nodes, uses of HALO nodes as sources."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def count_ends(src, dst, types, sizes, first, counts, cut):  # type: ignore[no-untyped-def]
    """Add owned edges to the counts of a range of local nodes.

    An inner node is counted for every edge that ends in it, a HALO node for every edge that begins in it.

    Parameters
    ----------
    src, dst : int64 array (edges,)
        Local IDs.
    types : int64 array (edges,)
        Number of the edge type.
    sizes : tuple of int
        Inner nodes of the part, and all its nodes.
    first : int
        Local ID of the node that ``counts[0]`` is for.
    counts : uint32 or int64 array (nodes of the range,)
        Added to.
    cut : int64 array (edge types,)
        Edges that begin in a HALO node of the range; added to.

    Returns
    -------
    int
        The first edge that does not begin in a node of the part and end in an inner one, or -1.
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
