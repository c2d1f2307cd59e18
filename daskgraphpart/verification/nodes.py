"""Passes `verify-nodes` and `verify-once`: local nodes, HALO nodes, every node of the input in one part.

The first writes the original ID of every new node ID, by which `verify-edges` compares edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, rank_words
from daskgraphpart.storage.region import map_npy, open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, check_parts, column_findings, opened, pieces, type_pieces, typed_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part


def verify_nodes(numbers: tuple[int, ...], run: Run) -> list[Finding]:
    """Check the nodes of some parts, and write where they come from."""
    return check_parts(numbers, run, lambda part: _check_nodes(part, run))


def _check_nodes(part: Part, run: Run) -> Iterator[Finding]:
    inner, total = part.num_inner_nodes, part.graph.num_nodes
    for first, stop in (*pieces(0, inner, run.piece_rows), *pieces(inner, total, run.piece_rows)):
        found = [*_check_arrays(part, first, stop)]
        yield from found
        if found:
            return
    yield from _check_halo_once(part, run)
    if run.has_originals:
        yield from _write_originals(part, run)


def _check_arrays(part: Part, first: int, stop: int) -> Iterator[Finding]:
    """Compare IDs, flags, types and owners of local nodes ``[first, stop)``, all of them inner or all HALO nodes."""
    book, number, arrays = part.book, part.part_id, part.graph.node_arrays
    low, total = int(book.node_ranges[number, 0, 0]), int(book.node_ranges[-1, -1, 1])
    is_inner = first < part.num_inner_nodes
    ids = arrays["_ID"].read(first, stop)
    if is_inner:
        wrong = ids != low + np.arange(first, stop)
    else:
        wrong = (ids < 0) | (ids >= total) | ((ids >= low) & (ids < low + part.num_inner_nodes))
    columns = {"inner_node": np.full(ids.size, int(is_inner))}
    if wrong.any():
        row = int(np.argmax(wrong))
        expected = f"{low + first + row:,}" if is_inner else f"a node of another part, below {total:,}"
        yield Finding(
            "nodes", f"part{number}/graph.dgl", f"ID of {'inner' if is_inner else 'HALO'} node {first + row:,}", number,
            row=first + row, expected=expected, found=f"{ids[row]:,}", count=int(wrong.sum()),
        )  # fmt: skip
        return
    if "_TYPE" in arrays:
        columns["_TYPE"] = book.map_to_per_ntype(ids)[0]
    if "part_id" in arrays:
        columns["part_id"] = book.nid2partid(ids)
    yield from column_findings("nodes", "node", number, (first, stop), columns, arrays)


def _check_halo_once(part: Part, run: Run) -> Iterator[Finding]:
    """Find HALO nodes that are there twice: by their order, or with a bitmap (N / 8 bytes) where there is none."""
    last, ascending, ids = -1, True, part.graph.node_arrays["_ID"]
    halo = [*pieces(part.num_inner_nodes, part.graph.num_nodes, run.piece_rows)]
    for first, stop in halo:
        piece = ids.read(first, stop)
        ascending &= bool(piece[0] > last) and bool((np.diff(piece) > 0).all())
        last = int(piece[-1])
    if ascending:
        return
    words = empty_bitmap(sum(run.num_nodes))
    for first, stop in halo:
        add_foreign(ids.read(first, stop), 0, 0, words)
    different = int(rank_words(words, np.empty(words.size, np.int64)))
    if different != part.num_halo_nodes:
        yield Finding(
            "HALO nodes", f"part{part.part_id}/graph.dgl", "HALO nodes are there twice", part.part_id,
            expected=f"{part.num_halo_nodes:,} different", found=f"{different:,}",
        )  # fmt: skip


def _write_originals(part: Part, run: Run) -> Iterator[Finding]:
    """Write original homogeneous IDs by new ID, and mark them as seen."""
    ranges, originals = part.book.node_ranges[part.part_id], open_npy(run.original_nids_path)
    for type_id, first, stop in type_pieces(ranges, run.piece_rows):
        ntype, low = part.book.ntypes[type_id], int(ranges[type_id, 0])
        ids = part.orig_nid_regions[ntype].read(first, stop).astype(np.int64, copy=False)
        bad = np.flatnonzero((ids < 0) | (ids >= run.num_nodes[type_id]))
        if bad.size:
            row = low + first + int(bad[0])
            what = f"{ntype}: original ID of new node {row:,}"
            yield Finding(
                "original IDs", f"part{part.part_id}/orig_nids.dgl", what, part.part_id, ntype, row,
                f"below {run.num_nodes[type_id]:,}", f"{ids[bad[0]]:,}", bad.size,
            )  # fmt: skip
            return
        ids = ids + run.first_nodes[type_id]
        originals.write(ids, low + first)
        map_npy(run.seen_path)[ids] = 1


def verify_once(unit: tuple[int, int], run: Run) -> list[Finding]:
    """Task of the pass `verify-once`: find nodes of the input that are in no part, by original homogeneous ID.

    There are as many nodes in the parts as in the input, so if none is missing, none is there twice.
    """
    for first, stop in pieces(*unit, run.piece_rows):
        missing = np.flatnonzero(open_npy(run.seen_path).read(first, stop) == 0)
        if missing.size:
            ntype, row = typed_id(first + int(missing[0]), run.first_nodes, opened(run).ntypes)
            what = f"{ntype}: node {row:,} of the input is in no part, and another in two"
            return [Finding("every node once", "orig_nids.dgl", what, kind=ntype, row=row, count=missing.size)]
    return []
