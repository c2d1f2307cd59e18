"""Passes `verify-nodes`, `verify-once` and `verify-edges`: local graphs, and every node of the input in one part.

The first writes the original ID of every new node ID, by which the last hashes the owned edges.
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
    ORIGINAL_NIDS,
    SEEN,
    Run,
    check_parts,
    open_parts,
    pieces,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part


@dataclass(slots=True, eq=False)
class EdgeSums:
    """What some parts say of their edges."""

    findings: list[Finding]  # what is wrong
    sums: np.ndarray  # uint64 (windows,): hashes of owned edges by original IDs
    out_sums: np.ndarray  # uint64 (parts,): hashes by new IDs of owned edges that begin in each other part
    num_cut: int = 0  # owned edges that begin in HALO nodes


def verify_nodes(numbers: tuple[int, ...], run: Run) -> list[Finding]:
    """Check the nodes of some parts, and write where they come from."""
    return check_parts(numbers, run, lambda part: _check_nodes(part, run))


def _check_nodes(part: Part, run: Run) -> Iterator[Finding]:
    yield from check_arrays(part, "node", run)
    yield from check_halo_once(part, run)
    if run.has_originals:
        originals, seen = open_npy(run.temporary(ORIGINAL_NIDS)), map_npy(run.temporary(SEEN))
        for type_id, first, ids in _originals(part, "node", run):
            yield from _check_originals(part, "node", type_id, first, ids, run)
            ids += run.firsts("node")[type_id]
            originals.write(ids, int(part.book.node_ranges[part.part_id, type_id, 0]) + first)
            seen[ids] = 1
    yield from check_split(part, run)


def _originals(part: Part, kind: str, run: Run) -> Iterator[tuple[int, int, np.ndarray]]:
    """Read the original IDs of a part: number of their type, first row, type-wise IDs."""
    for type_id, (name, count) in enumerate(part.rows(kind).counts.items()):
        for first, stop in pieces(0, count, run.piece_rows):
            yield type_id, first, part.rows(kind).originals[name].read(first, stop).astype(np.int64)


def _check_originals(part: Part, kind: str, type_id: int, first: int, ids: np.ndarray, run: Run) -> Iterator[Finding]:
    of_type, name = run.types(kind)[type_id], part.rows(kind).ids.names[type_id]
    wrong, what = (ids < 0) | (ids >= of_type.num_rows), f"{name}: original ID of row"
    says, file = f"below {of_type.num_rows:,}", part.rows(kind).originals_file
    yield from wrong_rows("original IDs", file, what, wrong, first, says, ids, name)


def verify_once(unit: tuple[int, int], run: Run) -> list[Finding]:
    """Task of the pass `verify-once`: find nodes of the input that are in no part, by original homogeneous ID.

    There are as many nodes in the parts as in the input, so if none is missing, none is there twice.
    """
    for first, stop in pieces(*unit, run.piece_rows):
        missing = np.flatnonzero(open_npy(run.temporary(SEEN)).read(first, stop) == 0)
        if missing.size:
            ntype, row = run.typed("node", first + int(missing[0]))
            what = f"{ntype}: node {row:,} of the input is in no part, and another one is in two"
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
    """Add owned edges to the sums by original IDs, by owner of the source and by destination."""
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
