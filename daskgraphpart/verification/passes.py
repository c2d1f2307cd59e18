"""Passes over the local graphs of parts.

`verify-nodes` writes the original ID of every new node ID; `verify-once` finds every input node in one part;
`verify-edges` hashes owned edges by original ID. `verify-extra` compares edges that a part holds but does not own with
those of their owners: in-edges of HALO nodes, with several hops, and out edges, if stored. It uses sums of hashes from
`verify-edges`: of the in-edges of HALO nodes nearer than the last hop, and of edges that begin in the part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import empty_bitmap
from daskgraphpart.kernels.compare import add_edge_hashes
from daskgraphpart.storage.region import map_npy, open_npy
from daskgraphpart.verification.findings import Finding, wrong_rows
from daskgraphpart.verification.local_graph import (
    check_arrays,
    check_end_types,
    check_ends,
    check_formats,
    check_halo_once,
    check_halo_used,
    check_split,
)
from daskgraphpart.verification.rows import all_edges, original_ends
from daskgraphpart.verification.run import (
    IN_SUMS,
    NUM_WINDOWS,
    SEEN,
    Run,
    check_parts,
    open_parts,
    pieces,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part

MISSING, UNWANTED = "missing out edges", "out edges"
"""Checks that count only if out edges are wanted, or if they are not."""


@dataclass(slots=True, eq=False)
class EdgeSums:
    """Sums over some parts' edges."""

    findings: list[Finding]  # what is wrong
    sums: np.ndarray  # uint64 (windows,): hashes of owned edges by original IDs
    out_sums: np.ndarray  # uint64 (parts,): hashes by new IDs of owned edges that begin in each other part
    num_cut: int = 0  # owned edges that begin in HALO nodes


def verify_nodes(numbers: tuple[int, ...], run: Run) -> list[Finding]:
    """Check the nodes of some parts, and write their original IDs."""
    return check_parts(numbers, run, lambda part: _check_nodes(part, run))


def _check_nodes(part: Part, run: Run) -> Iterator[Finding]:
    yield from check_arrays(part, "node", run)
    yield from check_halo_once(part, run)
    if run.has_originals:
        originals, seen = run.original_nids(), map_npy(run.temporary(SEEN))
        for type_id, first, ids in _originals(part, "node", run):
            yield from _check_originals(part, "node", type_id, first, ids, run)
            ids += run.firsts("node")[type_id]
            originals.write(ids, int(part.book.node_ranges[part.part_id, type_id, 0]) + first)
            seen[ids] = 1
    yield from check_split(part, run)


def _originals(part: Part, kind: str, run: Run) -> Iterator[tuple[int, int, np.ndarray]]:
    """Read a part's original IDs: type ID, first row, type-wise IDs."""
    for type_id, (name, count) in enumerate(part.rows(kind).counts.items()):
        for first, stop in pieces(0, count, run.piece_rows):
            yield type_id, first, part.rows(kind).originals[name].read(first, stop).astype(np.int64)


def _check_originals(part: Part, kind: str, type_id: int, first: int, ids: np.ndarray, run: Run) -> Iterator[Finding]:
    of_type, name = run.types(kind)[type_id], part.rows(kind).ids.names[type_id]
    wrong, what = (ids < 0) | (ids >= of_type.num_rows), f"{name}: original ID of row"
    says, file = f"below {of_type.num_rows:,}", part.rows(kind).originals_file
    yield from wrong_rows("original IDs", file, what, wrong, first, says, ids, name)


def verify_once(unit: tuple[int, int], run: Run) -> list[Finding]:
    """Task of the pass `verify-once`: find input nodes that are in no part, by original homogeneous ID.

    Parts hold as many nodes as the input, so if none is missing, none repeats.
    """
    for first, stop in pieces(*unit, run.piece_rows):
        missing = np.flatnonzero(open_npy(run.temporary(SEEN)).read(first, stop) == 0)
        if missing.size:
            ntype, row = run.typed("node", first + int(missing[0]))
            what = f"{ntype}: node {row:,} of the input is in no part, and another is in two"
            return [Finding("every node once", "orig_nids.dgl", what, kind=ntype, row=row, count=missing.size)]
    return []


def verify_edges(numbers: tuple[int, ...], run: Run) -> EdgeSums:
    """Check the edges of some parts, and sum up the owned ones."""
    totals = EdgeSums([], np.zeros(NUM_WINDOWS, np.uint64), np.zeros(open_parts(run).num_parts, np.uint64))
    totals.findings = check_parts(numbers, run, lambda part: _check_edges(part, run, totals))
    return totals


def _check_edges(part: Part, run: Run, totals: EdgeSums) -> Iterator[Finding]:
    yield from check_arrays(part, "edge", run)
    yield from check_formats(part, run)
    if run.has_originals:
        for type_id, first, ids in _originals(part, "edge", run):
            yield from _check_originals(part, "edge", type_id, first, ids, run)
    used = empty_bitmap(part.num_halo_nodes)
    for edges in part.graph.edge_pieces(rows=run.piece_rows):
        yield from check_ends(part, edges, used)
        owned = edges[2] < part.num_inner_edges
        src, dst, eids = edges if owned.all() else (of[owned] for of in edges)
        yield from _add_owned(part, src, dst, eids, run, totals)
    yield from check_halo_used(part, used)


def _add_owned(
    part: Part, src: np.ndarray, dst: np.ndarray, eids: np.ndarray, run: Run, totals: EdgeSums
) -> Iterator[Finding]:
    """Add owned edges to the sums by original ID, by owner of the source and by destination."""
    book, number = part.book, part.part_id
    cut = np.flatnonzero(src >= part.num_inner_nodes)
    totals.num_cut += cut.size
    if run.has_originals:
        all_edges(run).add(*original_ends(part, src, dst, eids, run), totals.sums)
    if not run.has_extra and (run.has_originals or len(book.ntypes) == 1):
        return
    new_src, new_dst = part.graph.node_arrays["_ID"].take(src), dst + book.nodes.part_range(number)[0]
    new_eids = eids + book.edges.part_range(number)[0]
    if run.has_extra:
        owners = book.nid2partid(new_src[cut])
        add_edge_hashes(new_src[cut], new_dst[cut], new_eids[cut], owners, totals.out_sums)
        if run.num_hops > 1:
            add_edge_hashes(new_src, new_dst, new_eids, new_dst, map_npy(run.temporary(IN_SUMS)))
    if not run.has_originals:
        yield from check_end_types(part, new_src, new_dst, new_eids)


def verify_extra(numbers: tuple[int, ...], config: tuple[Run, np.ndarray]) -> list[Finding]:
    """Check the extra edges of some parts.

    The config has, for each part, the sum of hashes of edges that begin in it but belong to others, uint64 (parts,).
    """
    run, out_sums = config
    return check_parts(numbers, run, lambda part: _check_extra(part, run, out_sums[part.part_id]), limit=None)


def _check_extra(part: Part, run: Run, out_sum: np.uint64) -> Iterator[Finding]:
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
        what = "edges that neither end in the part or its HALO nodes, nor begin in it"
        yield Finding("extra edges", "graph.dgl", what, expected="0", found=f"{num_other:,}")
    if run.num_hops > 1 and sums[1] != _in_sum(part, run, near):
        what = "in-edges of HALO nodes nearer than the last hop"
        yield Finding("extra edges", "graph.dgl", what, expected=says, found="others")
    if sums[2] != out_sum:
        yield Finding(MISSING, "graph.dgl", leaving, expected=says, found="others")
    if num_far:
        yield Finding(UNWANTED, "graph.dgl", leaving, expected="0", found=f"{num_far:,}")


def _near(part: Part, run: Run) -> np.ndarray:
    """HALO nodes nearer than the last hop, whose in-edges the part must hold: bool (HALO nodes,)."""
    inner, near = part.num_inner_nodes, np.zeros(part.num_halo_nodes, bool)
    for hop in range(run.num_hops - 1):
        grown, (first, stop) = near.copy(), (part.num_inner_edges, None) if hop else (0, part.num_inner_edges)
        for src, dst, _ in part.graph.edge_pieces(first, stop, rows=run.piece_rows):
            reached = src[near[dst - inner]] if hop else src
            grown[reached[reached >= inner] - inner] = True
        if np.array_equal(near, grown):  # a damaged config may claim billions of hops
            break
        near = grown
    return near


def _in_sum(part: Part, run: Run, near: np.ndarray) -> np.uint64:
    """Sum of the hashes of these HALO nodes' in-edges, from their owners."""
    in_sums, new_nids, total = open_npy(run.temporary(IN_SUMS)), part.graph.node_arrays["_ID"], np.zeros(1, np.uint64)
    for first, stop in pieces(0, near.size, run.piece_rows):
        ids = new_nids.read(part.num_inner_nodes + first, part.num_inner_nodes + stop)
        total += in_sums.take(ids[near[first:stop]]).sum(dtype=np.uint64)
    return np.uint64(total[0])
