"""Passes `verify-nodes` and `verify-once`: local nodes, HALO nodes, every node of the input in one part.

The first writes the original ID of every new node ID, by which `verify-edges` compares edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, rank_words
from daskgraphpart.storage.region import map_npy, open_npy
from daskgraphpart.verification.findings import Finding, wrong_rows
from daskgraphpart.verification.run import ORIGINAL_NIDS, SEEN, Run, check_parts, pieces, typed_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part


def verify_nodes(numbers: tuple[int, ...], run: Run) -> list[Finding]:
    """Check the nodes of some parts, and write where they come from."""
    return check_parts(numbers, run, lambda part: _check_nodes(part, run))


def _check_nodes(part: Part, run: Run) -> Iterator[Finding]:
    yield from check_arrays(part, "node", run.piece_rows)
    yield from _check_halo_once(part, run)
    if run.has_originals:
        yield from _write_originals(part, run)
    for key, ids in part.split_nids.items():
        yield from _check_split(part, key, ids, run)


def check_arrays(part: Part, kind: str, piece_rows: int) -> Iterator[Finding]:
    """Compare IDs, flags, types and owners of all local nodes or edges of a part; owned ones come first."""
    book, number, file = part.book, part.part_id, "graph.dgl"
    ranges = book.node_ranges if kind == "node" else book.edge_ranges
    arrays = part.graph.node_arrays if kind == "node" else part.graph.edge_arrays
    num_rows = part.graph.num_nodes if kind == "node" else part.graph.num_edges
    if not num_rows:
        return
    low, high, total = int(ranges[number, 0, 0]), int(ranges[number, -1, 1]), int(ranges[-1, -1, 1])
    for first, stop in (*pieces(0, high - low, piece_rows), *pieces(high - low, num_rows, piece_rows)):
        is_inner = first < high - low
        ids = arrays["_ID"].read(first, stop)
        if is_inner:
            expected = np.arange(low + first, low + stop)
            yield from wrong_rows("IDs", file, f"ID of local {kind}", ids != expected, first, expected, ids)
        else:
            wrong = (ids < 0) | (ids >= total) | ((ids >= low) & (ids < high))
            yield from wrong_rows("IDs", file, f"ID of local {kind}", wrong, first, f"a {kind} of another part", ids)
        columns = {f"inner_{kind}": np.full(ids.size, int(is_inner))}
        if "_TYPE" in arrays:
            columns["_TYPE"] = (book.map_to_per_ntype if kind == "node" else book.map_to_per_etype)(ids)[0]
        if kind == "node" and "part_id" in arrays:
            columns["part_id"] = book.nid2partid(ids)
        for name, values in columns.items():
            given = arrays[name].read(first, stop)
            yield from wrong_rows("arrays", file, f"{name} of local {kind}", given != values, first, values, given)


def _check_halo_once(part: Part, run: Run) -> Iterator[Finding]:
    """Find HALO nodes that are there twice: by their order, or with a bitmap (N / 8 bytes) where there is none."""
    last, ascending, ids = -1, True, part.graph.node_arrays["_ID"]
    halo = [*pieces(part.num_inner_nodes, part.graph.num_nodes, run.piece_rows)]
    for first, stop in halo:
        piece = ids.read(first, stop)
        ascending &= bool((np.diff(piece, prepend=last) > 0).all())
        last = int(piece[-1])
    if ascending:
        return
    words = empty_bitmap(run.schema.num_nodes)
    for first, stop in halo:
        add_foreign(ids.read(first, stop), 0, 0, words)
    different = int(rank_words(words, np.empty(words.size, np.int64)))
    if different != part.num_halo_nodes:
        yield Finding(
            "HALO nodes", "graph.dgl", "HALO nodes are there twice",
            expected=f"{part.num_halo_nodes:,} different", found=f"{different:,}",
        )  # fmt: skip


def _write_originals(part: Part, run: Run) -> Iterator[Finding]:
    """Write original homogeneous IDs by new ID, and mark them as seen."""
    originals = open_npy(run.temporary(ORIGINAL_NIDS))
    for type_id, (low, high) in enumerate(part.book.node_ranges[part.part_id].tolist()):
        ntype, num_nodes = part.book.ntypes[type_id], run.schema.node_types[type_id].num_nodes
        for first, stop in pieces(0, high - low, run.piece_rows):
            ids = part.orig_nid_regions[ntype].read(first, stop).astype(np.int64, copy=False)
            wrong, what, says = (
                (ids < 0) | (ids >= num_nodes),
                f"{ntype}: original ID of new node",
                f"below {num_nodes:,}",
            )
            yield from wrong_rows("original IDs", "orig_nids.dgl", what, wrong, low + first, says, ids, ntype)
            ids = ids + run.first_nodes[type_id]
            originals.write(ids, low + first)
            map_npy(run.temporary(SEEN))[ids] = 1


def _check_split(part: Part, key: str, ids: np.ndarray, run: Run) -> Iterator[Finding]:
    """Compare a list of training, validation or test nodes with the mask of the part."""
    ntype, _, mask = key.rpartition("/")
    marks, done, low = part.node_regions[ntype][mask], 0, part.book.part_range(part.part_id, ntype)[0]
    for first, stop in pieces(0, marks.num_rows, run.piece_rows):
        expected = low + first + np.flatnonzero(marks.read(first, stop).reshape(stop - first, -1).any(axis=1))
        if not np.array_equal(ids[done : done + expected.size], expected):
            break
        done += expected.size
    else:
        if done == ids.size:
            return
    yield Finding("split", "split_nids.dgl", f"{key}: not the nodes that the mask marks, from entry {done:,} on", ntype)


def verify_once(unit: tuple[int, int], run: Run) -> list[Finding]:
    """Task of the pass `verify-once`: find nodes of the input that are in no part, by original homogeneous ID.

    There are as many nodes in the parts as in the input, so if none is missing, none is there twice.
    """
    for first, stop in pieces(*unit, run.piece_rows):
        missing = np.flatnonzero(open_npy(run.temporary(SEEN)).read(first, stop) == 0)
        if missing.size:
            ntype, row = typed_id(first + int(missing[0]), run.first_nodes, run.schema.ntypes)
            what = f"{ntype}: node {row:,} of the input is in no part, and another in two"
            return [Finding("every node once", "orig_nids.dgl", what, kind=ntype, row=row, count=missing.size)]
    return []
