"""Counting sort of edges by their row: the core of CSR and CSC."""

from __future__ import annotations

from daskgraphpart.kernels.compiled import kernel


@kernel
def count_keys(keys, first_key, bits, counts):  # type: ignore[no-untyped-def]
    """Add keys to `counts` by bucket of ``2**bits`` keys; bucket 0 begins at `first_key`."""
    for i in range(keys.size):
        counts[(keys[i] - first_key) >> bits] += 1


@kernel
def scatter_by_bucket(keys, others, bits, cursors, edges):  # type: ignore[no-untyped-def]
    """Group (key, other end, number) of edges stably by bucket of the key into `edges` (n, 3); `cursors` move on."""
    for i in range(keys.size):
        bucket = keys[i] >> bits
        place = cursors[bucket]
        cursors[bucket] = place + 1
        edges[place, 0] = keys[i]
        edges[place, 1] = others[i]
        edges[place, 2] = i


@kernel
def place_by_key(keys, first_key, cursors, places):  # type: ignore[no-untyped-def]
    """Find each edge's position in key order; `cursors` hold the next position of each key, and move on."""
    for i in range(keys.size):
        key = keys[i] - first_key
        places[i] = cursors[key]
        cursors[key] += 1


@kernel
def scatter(values, places, first, out):  # type: ignore[no-untyped-def]
    """Put values at their positions in `out`, which begins at position `first`."""
    for i in range(values.size):
        place = places[i] - first
        if 0 <= place < out.size:
            out[place] = values[i]
