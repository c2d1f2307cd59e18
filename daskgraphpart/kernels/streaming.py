"""Fennel: nodes get their parts in turn, by the parts of their neighbours."""

from __future__ import annotations

import numpy as np

from daskgraphpart.kernels.clusters import widest_row
from daskgraphpart.kernels.compiled import inlined, kernel


def stream_nodes(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, first: int, parts: np.ndarray, mine: np.ndarray,
    node_weights: np.ndarray, loads: np.ndarray, limits: np.ndarray, alpha: float, fixed: np.ndarray,
    num_blocks: int,
) -> None:  # fmt: skip
    """Assign the nodes ``first, first + 1, ...`` of a block, perhaps again; no weights means 1.

    `fixed` nodes, (block,), or empty for none, stay. Reads `parts` (all nodes,), -1 for none yet, and changes `mine`,
    those of the block, and `loads` (parts, constraints): by `num_blocks` times what a node weighs, since so many blocks
    run side by side, and are assumed to do alike. Keeps `limits` if possible. A part's price, ``alpha * 1.5 *
    sqrt(fullness)`` in units of edge weight, reduces a node's bond to it; with several constraints, it is the mean over
    what the node weighs in each compared with the average.
    """
    num_parts = loads.shape[0]
    sizes = np.maximum(limits, 1).astype(np.float64)
    # price of a unit of each weight in a full part: the average node pays alpha * 1.5 in all
    prices = alpha * 1.5 / limits.size * (parts.size / num_parts) / sizes
    shares = loads / sizes
    _stream(
        indptr, indices, weights, first, parts, mine, node_weights, loads, limits, fixed, num_blocks, sizes, prices,
        shares.max(axis=1, initial=0.0), np.sqrt(shares), np.zeros(num_parts, np.int64),
        np.empty(widest_row(indptr), np.int32),
    )  # fmt: skip


@kernel
def _stream(  # type: ignore[no-untyped-def]
    indptr, indices, weights, first, parts, mine, node_weights, loads, limits, fixed, num_blocks, sizes, prices,
    fullness, roots, bound, around,
):  # fmt: skip
    num_parts = loads.shape[0]
    for row in range(indptr.size - 1):
        if indptr[row] == indptr[row + 1] or (fixed.size and fixed[row]):
            continue  # no neighbours: assigned at the end
        old = mine[row]
        if old >= 0:
            for c in range(limits.size):
                loads[old, c] -= num_blocks * node_weights[row, c]
            _fill(old, loads, sizes, fullness, roots)
        start, count = indptr[row], indptr[row + 1] - indptr[row]
        for i in range(count):
            # unsigned, since numba tests signed indices for counting from the end
            other = np.uint64(indices[start + i])
            near = other - np.uint64(first)
            around[i] = mine[near] if near < np.uint64(mine.size) else parts[other]
        for i in range(count):
            if around[i] >= 0:
                bound[around[i]] += weights[start + i] if weights.size else 1
        best, best_score, emptiest = -1, -np.inf, 0
        for part in range(num_parts):
            if fullness[part] < fullness[emptiest]:
                emptiest = part
            score = float(bound[part])
            for c in range(limits.size):
                score -= prices[c] * node_weights[row, c] * roots[part, c]
            better = score > best_score or (score == best_score and fullness[part] < fullness[best])
            if not better:
                continue
            fits = True
            for c in range(limits.size):
                fits = fits and (
                    node_weights[row, c] == 0 or loads[part, c] + num_blocks * node_weights[row, c] <= limits[c]
                )
            if fits:
                best, best_score = part, score
        if best < 0:
            best = emptiest
        mine[row] = best
        for c in range(limits.size):
            loads[best, c] += num_blocks * node_weights[row, c]
        _fill(best, loads, sizes, fullness, roots)
        for i in range(count):
            if around[i] >= 0:
                bound[around[i]] = 0


@inlined
def _fill(part, loads, sizes, fullness, roots):  # type: ignore[no-untyped-def]
    """Note how full a part is, and the square roots in its price."""
    fullness[part] = 0.0
    for c in range(sizes.size):
        share = loads[part, c] / sizes[c]
        fullness[part], roots[part, c] = max(fullness[part], share), np.sqrt(share)
