"""Pass `verify-extra`: the edges that a part holds without owning them, against those of their owners.

These are in-edges of HALO nodes, if there is more than one hop, and out edges, if they are wanted. Whether they are the
right ones, each once, follows from sums of hashes that `verify-edges` has made of the owned edges: over the in-edges of
the HALO nodes nearer than the last hop, and over the edges that begin in the part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.compare import add_edge_hashes
from daskgraphpart.storage.region import open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.run import IN_SUMS, Run, check_parts, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part

MISSING, UNWANTED = "missing out edges", "out edges"
"""Checks that count only if out edges are wanted, or if they are not."""


def verify_extra(numbers: tuple[int, ...], config: tuple[Run, np.ndarray]) -> list[Finding]:
    """Check the extra edges of some parts.

    The config has, for each part, the sum of the hashes of the edges that begin in it and others own, uint64 (parts,).
    """
    run, out_sums = config
    return check_parts(numbers, run, lambda part: _check(part, run, out_sums[part.part_id]), limit=None)


def _check(part: Part, run: Run, out_sum: np.uint64) -> Iterator[Finding]:
    inner, near = part.num_inner_nodes, _near(part, run)
    # hashes of edges that are neither, of in-edges of near HALO nodes, and of edges that begin in the part
    sums, num_far, num_other = np.zeros(3, np.uint64), 0, 0
    new_nids, new_eids = part.graph.node_arrays["_ID"], part.graph.edge_arrays["_ID"]
    for src, dst, eids in part.graph.edge_pieces(part.num_inner_edges, rows=run.piece_rows):
        ends, ids = (new_nids.take(src), new_nids.take(dst)), new_eids.take(eids)
        leaves, is_near = src < inner, near[dst - inner]
        add_edge_hashes(*ends, ids, is_near.astype(np.int64), sums)
        add_edge_hashes(*ends, ids, 2 * leaves.astype(np.int64), sums)
        num_far += int((leaves & ~is_near).sum())
        num_other += int((~leaves & ~is_near).sum())
    leaving, says = "edges that begin in the part and end outside", "those of their owners, each once"
    if num_other:
        what = "edges other than those of the part, those of its HALO nodes, and those that begin in it"
        yield Finding("extra edges", "graph.dgl", what, expected="0", found=f"{num_other:,}")
    if run.num_hops > 1 and sums[1] != _in_sum(part, run, near):
        what = "in-edges of HALO nodes nearer than the last hop"
        yield Finding("extra edges", "graph.dgl", what, expected=says, found="others")
    if sums[2] != out_sum:
        yield Finding(MISSING, "graph.dgl", leaving, expected=says, found="others")
    if num_far:
        yield Finding(UNWANTED, "graph.dgl", leaving, expected="0", found=f"{num_far:,}")


def _near(part: Part, run: Run) -> np.ndarray:
    """HALO nodes nearer than the last hop, whose in-edges the part has to hold: bool (HALO nodes,)."""
    inner, near = part.num_inner_nodes, np.zeros(part.num_halo_nodes, bool)
    for hop in range(run.num_hops - 1):
        grown, (first, stop) = near.copy(), (part.num_inner_edges, None) if hop else (0, part.num_inner_edges)
        for src, dst, _ in part.graph.edge_pieces(first, stop, rows=run.piece_rows):
            reached = src[near[dst - inner]] if hop else src
            grown[reached[reached >= inner] - inner] = True
        if np.array_equal(near, grown):  # a damaged config may say that there are billions of hops
            break
        near = grown
    return near


def _in_sum(part: Part, run: Run, near: np.ndarray) -> np.uint64:
    """Sum of the hashes of the in-edges that the owners of these HALO nodes have."""
    in_sums, new_nids, total = open_npy(run.temporary(IN_SUMS)), part.graph.node_arrays["_ID"], np.zeros(1, np.uint64)
    for first, stop in pieces(0, near.size, run.piece_rows):
        ids = new_nids.read(part.num_inner_nodes + first, part.num_inner_nodes + stop)
        total += in_sums.take(ids[near[first:stop]]).sum(dtype=np.uint64)
    return np.uint64(total[0])
