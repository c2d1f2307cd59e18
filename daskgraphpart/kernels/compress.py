"""Counting sort of edges by their row: the core of CSR and CSC."""

from __future__ import annotations

from daskgraphpart.kernels.compiled import njit


@njit(cache=True, nogil=True)
def count_keys(keys, first_key, width, counts):  # type: ignore[no-untyped-def]
    """Add to `counts` the int64 `keys` in buckets of `width` keys; bucket 0 begins at `first_key`."""
    for i in range(keys.size):
        counts[(keys[i] - first_key) // width] += 1


@njit(cache=True, nogil=True)
def scatter_by_bucket(keys, others, eids, width, cursors, run):  # type: ignore[no-untyped-def]
    """Group (key, other end, edge ID) stably by bucket of the key into `run`, int64 (3, n); `cursors` move on."""
    for i in range(keys.size):
        bucket = keys[i] // width
        place = cursors[bucket]
        cursors[bucket] = place + 1
        run[0, place] = keys[i]
        run[1, place] = others[i]
        run[2, place] = eids[i]


@njit(cache=True, nogil=True)
def scatter_window(keys, others, eids, first_key, cursors, window, out_others, out_eids):  # type: ignore[no-untyped-def]
    """Put edges at their places in a window ``[start, stop)`` of the order sorted by key.

    `cursors` hold the next place of each key from `first_key` on, and move on; the outputs have the length of the
    window.
    """
    start, stop = window
    for i in range(keys.size):
        key = keys[i] - first_key
        place = cursors[key]
        cursors[key] = place + 1
        if start <= place < stop:
            out_others[place - start] = others[i]
            out_eids[place - start] = eids[i]
