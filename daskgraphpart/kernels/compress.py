"""Counting sort of edges by their row: the core of CSR and CSC."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def count_keys(keys, first_key, width, counts):  # type: ignore[no-untyped-def]
    """Count keys by buckets of equal width.

    Parameters
    ----------
    keys : int64 array (n,)
    first_key : int
        First key of bucket 0.
    width : int
        Keys per bucket.
    counts : int64 array
        Added to.
    """
    for i in range(keys.size):
        counts[(keys[i] - first_key) // width] += 1


@njit(cache=True, nogil=True)
def scatter_by_bucket(keys, others, eids, width, cursors, run):  # type: ignore[no-untyped-def]
    """Group (key, other end, edge ID) triples by bucket of the key, stably.

    Parameters
    ----------
    keys, others, eids : int64 array (n,)
    width : int
        Keys per bucket.
    cursors : int64 array (buckets,)
        Where each bucket begins; moved on.
    run : int64 array (3, n)
        Filled.
    """
    for i in range(keys.size):
        bucket = keys[i] // width
        place = cursors[bucket]
        cursors[bucket] = place + 1
        run[0, place] = keys[i]
        run[1, place] = others[i]
        run[2, place] = eids[i]


@njit(cache=True, nogil=True)
def scatter_window(keys, others, eids, first_key, cursors, window, out_others, out_eids):  # type: ignore[no-untyped-def]
    """Put edges at their places in a window of the sorted order.

    Parameters
    ----------
    keys, others, eids : int64 array (n,)
    first_key : int
        Key of ``cursors[0]``.
    cursors : int64 array (keys,)
        Next place of each key, counted from the first edge of the key range; moved on.
    window : tuple of two int
        Places ``[start, stop)`` that are kept.
    out_others, out_eids : int64 array (stop - start,)
        Filled where places fall into the window.
    """
    start, stop = window
    for i in range(keys.size):
        key = keys[i] - first_key
        place = cursors[key]
        cursors[key] = place + 1
        if start <= place < stop:
            out_others[place - start] = others[i]
            out_eids[place - start] = eids[i]
