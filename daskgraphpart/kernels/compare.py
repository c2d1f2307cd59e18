"""Compare the edges of parts with those of the input: find, trace back, compare, and sum up without order."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from daskgraphpart.kernels.hashing import splitmix64


@njit(cache=True, nogil=True)
def find_blocks(ids, starts, total, blocks, counts):  # type: ignore[no-untyped-def]
    """Find the block of each ID.

    Parameters
    ----------
    ids : int64 array (n,)
    starts : int64 array (blocks,)
        First ID of each block, ascending from 0.
    total : int
        Number of IDs there are.
    blocks : int32 array (n,)
        Filled.
    counts : int64 array (blocks,)
        Added to.

    Returns
    -------
    int
        The first ID that is not in ``[0, total)``, by place, or -1.
    """
    block = 0
    for i in range(ids.size):
        wanted = ids[i]
        if wanted < 0 or wanted >= total:
            return i
        if wanted < starts[block] or (block + 1 < starts.size and wanted >= starts[block + 1]):
            block, high = 0, starts.size
            while high - block > 1:
                middle = (block + high) // 2
                if starts[middle] <= wanted:
                    block = middle
                else:
                    high = middle
        blocks[i] = block
        counts[block] += 1
    return -1


@njit(cache=True, nogil=True)
def trace_edges(ends, ids, new_ids, originals, starts, blocks, cursors, run):  # type: ignore[no-untyped-def]
    """Write edges by original IDs, grouped by block of the input.

    Parameters
    ----------
    ends : tuple of two int64 arrays (edges,)
        Local sources and destinations.
    ids, new_ids : int64 array (edges,)
        Original and new edge IDs.
    originals : int32 or int64 array
        Original ID of every local node.
    starts : int64 array (blocks,)
        First original edge ID of each block.
    blocks : int32 array (edges,)
        Block of each edge.
    cursors : int64 array (blocks,)
        Where the edges of each block begin; moved on.
    run : int32 or int64 array (3 or 4, edges)
        Filled with row in the block, original source, original destination and, if it has the rows, new edge ID.
    """
    src, dst = ends
    for i in range(ids.size):
        block = blocks[i]
        place = cursors[block]
        cursors[block] = place + 1
        run[0, place] = ids[i] - starts[block]
        run[1, place] = originals[src[i]]
        run[2, place] = originals[dst[i]]
        if run.shape[0] == 4:
            run[3, place] = new_ids[i]


@njit(cache=True, nogil=True)
def mark_ends(src, dst, num_nodes, num_inner, words):  # type: ignore[no-untyped-def]
    """Mark the HALO nodes that edges end in.

    Parameters
    ----------
    src, dst : int64 array (edges,)
        Local IDs.
    num_nodes, num_inner : int
        Nodes of the part, and those it owns, which come first.
    words : uint64 array
        Bitmap of the HALO nodes, changed.

    Returns
    -------
    int
        The first edge that ends in no node of the part, or -1.
    """
    for i in range(src.size):
        for node in (src[i], dst[i]):
            if node < 0 or node >= num_nodes:
                return i
            if node >= num_inner:
                halo = node - num_inner
                words[halo >> 6] |= np.uint64(1) << np.uint64(halo & 63)
    return -1


@njit(cache=True, nogil=True)
def compare_edges(run, expected, times):  # type: ignore[no-untyped-def]
    """Compare traced edges with those of a block.

    Parameters
    ----------
    run : tuple of three arrays (edges,)
        Row in the block, original source, original destination.
    expected : tuple of two int64 arrays (rows,)
        Sources and destinations of the block.
    times : uint8 array (rows,)
        How often each row was there; added to, up to 255.

    Returns
    -------
    (int, int)
        The first edge that is not that of the input, or -1, and how many are not.
    """
    rows, src, dst = run
    expected_src, expected_dst = expected
    first, wrong = -1, 0
    for i in range(rows.size):
        row = rows[i]
        if times[row] < 255:
            times[row] += 1
        if src[i] != expected_src[row] or dst[i] != expected_dst[row]:
            wrong += 1
            if first < 0:
                first = i
    return first, wrong


@njit(cache=True, nogil=True)
def sum_edges(src, dst, eids, shift, sums):  # type: ignore[no-untyped-def]
    """Add up hashes of edges: equal for equal sets of edges in whatever order, and else different but once in 2^64.

    Parameters
    ----------
    src, dst, eids : int64 array (edges,)
        Local ends and edge IDs; ends may be uint64 as well.
    shift : int
        Edges ``[i << shift, (i + 1) << shift)`` are summed in ``sums[i]``.
    sums : uint64 array
        Added to.

    Returns
    -------
    int
        The first edge whose ID is out of range, or -1.
    """
    for i in range(eids.size):
        if eids[i] < 0 or (eids[i] >> shift) >= sums.size:
            return i
        word = splitmix64(splitmix64(splitmix64(uint64(eids[i]) + uint64(1)) + uint64(src[i])) + uint64(dst[i]))
        sums[eids[i] >> shift] += word
    return -1


@njit(cache=True, nogil=True)
def scatter_ids(ids, first, places):  # type: ignore[no-untyped-def]
    """Write ``places[ids[i]] = first + i + 1``; IDs out of range are left out.

    Parameters
    ----------
    ids : int64 array (n,)
    first : int
    places : int32 or int64 array
        Changed.

    Returns
    -------
    (int, int)
        The first ID out of range, by place, or -1, and how many there are.
    """
    bad, count = -1, 0
    for i in range(ids.size):
        if ids[i] < 0 or ids[i] >= places.size:
            count += 1
            if bad < 0:
                bad = i
        else:
            places[ids[i]] = first + i + 1
    return bad, count


@njit(cache=True, nogil=True)
def first_unequal(a, b):  # type: ignore[no-untyped-def]
    """Compare two tables of bytes, row by row.

    Parameters
    ----------
    a, b : uint8 array (rows, bytes)

    Returns
    -------
    (int, int)
        The first row that differs, or -1, and how many do.
    """
    first, count = -1, 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] != b[i, j]:
                count += 1
                if first < 0:
                    first = i
                break
    return first, count


@njit(cache=True, nogil=True)
def hash_rows(rows, key, hashes):  # type: ignore[no-untyped-def]
    """Add a hash of each row to `hashes`.

    Parameters
    ----------
    rows : uint8 array (rows, bytes)
    key : uint64
        Names the feature.
    hashes : uint64 array (rows,)
        Added to.
    """
    for i in range(rows.shape[0]):
        word = splitmix64(key)
        for first in range(0, rows.shape[1], 8):
            piece = uint64(0)
            for j in range(first, min(first + 8, rows.shape[1])):
                piece = (piece << uint64(8)) | uint64(rows[i, j])
            word = splitmix64(word + piece)
        hashes[i] += word


@njit(cache=True, nogil=True)
def add_counts(ids, counts):  # type: ignore[no-untyped-def]
    """Count how often each ID is there.

    Parameters
    ----------
    ids : int64 array (n,)
    counts : uint32 array
        Added to.

    Returns
    -------
    int
        The first ID out of range, by place, or -1.
    """
    for i in range(ids.size):
        if ids[i] < 0 or ids[i] >= counts.size:
            return i
        counts[ids[i]] += np.uint32(1)
    return -1


@njit(cache=True, nogil=True)
def sum_hashes(words):  # type: ignore[no-untyped-def]
    """Sum of scrambled words, modulo 2^64.

    Parameters
    ----------
    words : uint64 array (n,)

    Returns
    -------
    uint64
    """
    total = uint64(0)
    for i in range(words.size):
        total += splitmix64(words[i] + uint64(0x9E3779B97F4A7C15))
    return total
