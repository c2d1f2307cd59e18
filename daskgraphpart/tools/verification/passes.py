"""Passes over the local graphs of parts: IDs, flags, types and owners, halo nodes, formats, ends of edges.

`verify-nodes` writes the original ID of every new node ID, and `verify-once` finds nodes of the input that are not
among them. `verify-edges` hashes own edges by original ID.
`verify-extra` compares edges that a part holds but does not own with those of their owners: in-edges of halo nodes,
with several hops, and out edges, if stored. It uses sums of hashes from `verify-edges`: of the in-edges of halo nodes
nearer than the last hop, and of edges that begin in the part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, rank_words
from daskgraphpart.kernels.sum_hashes import add_edge_hashes, mark_ends
from daskgraphpart.storage.files import directory_on_disk, workspace_store
from daskgraphpart.storage.region import create_npy, map_npy
from daskgraphpart.tools.verification.findings import Finding, wrong_rows
from daskgraphpart.tools.verification.row_sums import NUM_WINDOWS, all_edges, original_ends, window_size
from daskgraphpart.tools.verification.verify_run import IN_SUMS, Run, check_parts, open_parts, pieces

if TYPE_CHECKING:
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.stored_part import StoredPart


MISSING, UNWANTED = "missing out edges", "out edges"
"""Checks that count only if out edges are wanted, or if they are not."""


@dataclass(slots=True, eq=False)
class EdgeSums:
    """Sums over some parts' edges."""

    findings: list[Finding]  # what is wrong
    sums: np.ndarray  # uint64 (windows,): hashes of own edges by original IDs
    out_sums: np.ndarray  # uint64 (parts,): hashes by new IDs of own edges that begin in each other part
    num_cut: int = 0  # own edges that begin in halo nodes


def verify_nodes(numbers: tuple[int, ...], run: Run) -> list[Finding]:
    """Check the nodes of some parts, and write their original IDs."""
    return check_parts(numbers, run, lambda part: _check_nodes(part, run))


def _check_nodes(part: StoredPart, run: Run) -> Iterator[Finding]:
    yield from check_arrays(part, "node", run)
    yield from check_halo_once(part, run)
    if run.has_originals:
        originals = run.original_nids()
        for type_id, first, ids in _originals(part, "node", run):
            yield from _check_originals(part, "node", type_id, first, ids, run)
            ids += run.firsts("node")[type_id]
            originals.write(ids, int(part.book.node_ranges[part.part_id, type_id, 0]) + first)
    yield from check_split(part, run)


def _originals(part: StoredPart, kind: str, run: Run) -> Iterator[tuple[int, int, np.ndarray]]:
    """Read a part's original IDs: type ID, first row, type-wise IDs."""
    for type_id, name in enumerate(part.rows(kind).ids.names):
        for first, ids in part.rows(kind).originals[name].pieces(run.piece_rows):
            yield type_id, first, ids.astype(np.int64)


def _check_originals(
    part: StoredPart, kind: str, type_id: int, first: int, ids: np.ndarray, run: Run
) -> Iterator[Finding]:
    of_type, name = run.types(kind)[type_id], part.rows(kind).ids.names[type_id]
    wrong, what = (ids < 0) | (ids >= of_type.num_rows), f"{name}: original ID of row"
    says, file = f"below {of_type.num_rows:,}", part.rows(kind).originals_file
    yield from wrong_rows("original IDs", file, what, wrong, first, says, ids, name)


def verify_once(_: None, run: Run) -> list[Finding]:
    """Task of the pass `verify-once`: find input nodes that are in no part.

    Parts hold as many nodes as the input, so if none is missing, none repeats. The set of all nodes takes N / 8 bytes.
    """
    seen, firsts = empty_bitmap(run.schema.num_nodes), run.firsts("node").tolist()
    findings: list[Finding] = []
    for _first, ids in run.original_nids().pieces(run.piece_rows):
        add_foreign(ids, 0, 0, seen)
    for ntype, (low, high) in zip(run.schema.ntypes, pairwise(firsts), strict=True):
        for first, stop in pieces(low, high, run.piece_rows):
            bits = np.unpackbits(seen[first // 64 : -(-stop // 64)].view(np.uint8), bitorder="little")
            missing, what = bits[first % 64 :][: stop - first] == 0, f"{ntype}: node of the input"
            says = "in a part", "none, and another in two"
            findings += wrong_rows("every node once", "orig_nids.dgl", what, missing, first - low, *says, ntype)
    return findings


def verify_edges(numbers: tuple[int, ...], run: Run) -> EdgeSums:
    """Check the edges of some parts, and sum up the own ones."""
    totals = EdgeSums([], np.zeros(NUM_WINDOWS, np.uint64), np.zeros(open_parts(run).num_parts, np.uint64))
    totals.findings = check_parts(numbers, run, lambda part: _check_edges(part, run, totals))
    return totals


def _check_edges(part: StoredPart, run: Run, totals: EdgeSums) -> Iterator[Finding]:
    yield from check_arrays(part, "edge", run)
    yield from check_formats(part, run)
    if run.has_originals:
        for type_id, first, ids in _originals(part, "edge", run):
            yield from _check_originals(part, "edge", type_id, first, ids, run)
    used = empty_bitmap(part.num_halo_nodes)
    with _in_sums_of(part, run) as in_sums:
        for edges in part.graph.edge_pieces(rows=run.piece_rows):
            yield from check_ends(part, edges, used)
            owned = edges[2] < part.num_inner_edges
            src, dst, eids = edges if owned.all() else (of[owned] for of in edges)
            yield from _add_owned(part, src, dst, eids, run, totals, in_sums)
    yield from check_halo_used(part, used)


@contextmanager
def _in_sums_of(part: StoredPart, run: Run) -> Iterator[np.ndarray]:
    """Yield the sums of the in-edges of a part's own nodes, from zero: uint64 (nodes,); none with one hop."""
    if run.num_hops <= 1:
        yield np.empty(0, np.uint64)
        return
    of_all, (low, high) = run.in_sums(), part.book.nodes.part_range(part.part_id)
    if workspace_store(run.scratch).is_on_disk:
        sums = map_npy(run.temporary(IN_SUMS))[low:high]
        sums[:] = 0  # a killed worker may have added to them
        yield sums
        return
    with directory_on_disk(run.scratch) as here:
        mine = create_npy(here / "sums.npy", np.uint64, (high - low,), is_mapped=True)
        yield map_npy(here / "sums.npy")
        for first, sums in mine.pieces(run.piece_rows):
            of_all.write(sums, low + first)


def _add_owned(
    part: StoredPart,
    src: np.ndarray,
    dst: np.ndarray,
    eids: np.ndarray,
    run: Run,
    totals: EdgeSums,
    in_sums: np.ndarray,
) -> Iterator[Finding]:
    """Add own edges to the sums by original ID, by owner of the source and by destination."""
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
            add_edge_hashes(new_src, new_dst, new_eids, dst, in_sums)
    if not run.has_originals:
        yield from check_end_types(part, new_src, new_dst, new_eids)


def verify_extra(numbers: tuple[int, ...], config: tuple[Run, np.ndarray]) -> list[Finding]:
    """Check the extra edges of some parts.

    The config has, for each part, the sum of hashes of edges that begin in it but belong to others, uint64 (parts,).
    """
    run, out_sums = config
    return check_parts(numbers, run, lambda part: _check_extra(part, run, out_sums[part.part_id]), limit=None)


def _check_extra(part: StoredPart, run: Run, out_sum: np.uint64) -> Iterator[Finding]:
    inner, near = part.num_inner_nodes, _near(part, run)
    # hashes of edges that are neither, of in-edges of near halo nodes, and of edges that begin in the part
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
        what = "edges that neither end in the part or its halo nodes, nor begin in it"
        yield Finding("extra edges", "graph.dgl", what, expected="0", found=f"{num_other:,}")
    if run.num_hops > 1 and sums[1] != _in_sum(part, run, near):
        what = "in-edges of halo nodes nearer than the last hop"
        yield Finding("extra edges", "graph.dgl", what, expected=says, found="others")
    if sums[2] != out_sum:
        yield Finding(MISSING, "graph.dgl", leaving, expected=says, found="others")
    if num_far:
        yield Finding(UNWANTED, "graph.dgl", leaving, expected="0", found=f"{num_far:,}")


def _near(part: StoredPart, run: Run) -> np.ndarray:
    """Halo nodes nearer than the last hop, whose in-edges the part must hold: bool (halo nodes,)."""
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


def _in_sum(part: StoredPart, run: Run, near: np.ndarray) -> np.uint64:
    """Sum of the hashes of these halo nodes' in-edges, from their owners."""
    in_sums, new_nids, total = run.in_sums(), part.graph.node_arrays["_ID"], np.zeros(1, np.uint64)
    for first, stop in pieces(0, near.size, run.piece_rows):
        ids = new_nids.read(part.num_inner_nodes + first, part.num_inner_nodes + stop)
        total += in_sums.take(ids[near[first:stop]]).sum(dtype=np.uint64)
    return np.uint64(total[0])


FILE = "graph.dgl"


def check_arrays(part: StoredPart, kind: str, run: Run) -> Iterator[Finding]:
    """Compare IDs, flags, types and owners of all local nodes or edges; own ones come first."""
    rows = part.rows(kind)
    num_inner, total = rows.num_inner, int(rows.ids.ranges.max(initial=0))
    low = rows.ids.part_range(part.part_id)[0]
    for first, stop in (*pieces(0, num_inner, run.piece_rows), *pieces(num_inner, rows.num_local, run.piece_rows)):
        is_inner = first < num_inner
        ids, expected = rows.arrays["_ID"].read(first, stop), np.arange(low + first, low + stop)
        if is_inner:
            yield from wrong_rows("IDs", FILE, f"ID of local {kind}", ids != expected, first, expected, ids)
        else:
            wrong = (ids < 0) | (ids >= total) | ((ids >= low) & (ids < low + num_inner))
            yield from wrong_rows("IDs", FILE, f"ID of local {kind}", wrong, first, f"a {kind} of another part", ids)
        columns = {f"inner_{kind}": np.full(ids.size, int(is_inner))}
        if "_TYPE" in rows.arrays:
            columns["_TYPE"] = rows.ids.per_type(ids)[0]
        if "part_id" in rows.arrays and kind == "node":
            columns["part_id"] = rows.ids.part_of(ids)
        for name, values in columns.items():
            given = rows.arrays[name].read(first, stop)
            yield from wrong_rows("arrays", FILE, f"{name} of local {kind}", given != values, first, values, given)


def check_halo_once(part: StoredPart, run: Run) -> Iterator[Finding]:
    """Find repeated halo nodes: by their order, or else with a bitmap (N / 8 bytes)."""
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
    different, says = _count(words), f"{part.num_halo_nodes:,} different"
    if different != part.num_halo_nodes:
        what = "halo nodes are listed twice"
        yield Finding("halo nodes", FILE, what, expected=says, found=f"{different:,}")


def check_split(part: StoredPart, run: Run) -> Iterator[Finding]:
    """Compare the lists of training, validation and test nodes with the masks of the part."""
    for key, region in part.split_regions.items():
        (ntype, _, mask), ids = key.rpartition("/"), region.memmap()
        marks, done, low = part.node_rows.features[ntype][mask], 0, part.book.part_range(part.part_id, ntype)[0]
        for first, rows in marks.pieces(run.piece_rows):
            expected = low + first + np.flatnonzero(rows.reshape(len(rows), -1).any(axis=1))
            if not np.array_equal(ids[done : done + expected.size], expected):
                break
            done += expected.size
        else:
            if done == ids.size:
                continue
        what = f"{key}: differs from the nodes that the mask marks, from entry {done:,} on"
        yield Finding("split", "split_nids.dgl", what, ntype)


def check_formats(part: StoredPart, run: Run) -> Iterator[Finding]:
    """Compare sums of hashes of the edges in all formats, and check claimed orders."""
    graph, main = part.graph, part.graph.main_format
    if len(graph.formats) == 1 and not any(graph.claims[main]):
        return
    window, sums = window_size(graph.num_edges), np.zeros((len(graph.formats), NUM_WINDOWS), np.uint64)
    for name, of_format in zip(graph.formats, sums, strict=True):
        done, last = 0, (-1, -1)
        for src, dst, eids in graph.edge_pieces(name=name, rows=run.piece_rows):
            add_edge_hashes(src, dst, eids, eids // window, of_format)
            unsorted = _unsorted(graph, name, (src, dst), last)
            what = f"{name}: row and column in place"
            says = "not smaller than the one before, because the file claims to be sorted"
            yield from wrong_rows("formats", FILE, what, unsorted, done, says, "smaller ones")
            done, last = done + eids.size, (int(src[-1]), int(dst[-1]))
    for name, differ in zip(graph.formats, sums != sums[[*graph.formats].index(main)], strict=True):
        if differ.any():
            what = f"{name} and {main} differ in edges with local IDs from {window * int(differ.argmax()):,} on"
            yield Finding("formats", FILE, what)


def _unsorted(graph: GraphFile, name: str, ends: tuple[np.ndarray, np.ndarray], last: tuple[int, int]) -> np.ndarray:
    """Edges that break the file's claimed order, bool (edges,); DGL crashes on such files."""
    claims = graph.claims[name]
    src_steps, dst_steps = (np.diff(end, prepend=before) for end, before in zip(ends, last, strict=True))
    row_steps, column_steps = (dst_steps, src_steps) if name == "csc" else (src_steps, dst_steps)
    # COO claims its rows, and columns inside a row; CSR and CSC columns inside a row
    wrong = (row_steps < 0) & (name == "coo" and claims[0])
    unsorted: np.ndarray = wrong | ((row_steps == 0) & (column_steps < 0) & claims[-1])
    return unsorted


def check_ends(
    part: StoredPart, edges: tuple[np.ndarray, np.ndarray, np.ndarray], used: np.ndarray
) -> Iterator[Finding]:
    """Check that both ends are nodes of the part, and that it owns the edges of its own destinations.

    Marks halo nodes that are ends in the bitmap `used`.
    """
    src, dst, eids = edges
    bad = int(mark_ends(src, dst, part.graph.num_nodes, part.num_inner_nodes, used))
    if bad >= 0:
        edge = int(eids[bad])
        says = f"local nodes below {part.graph.num_nodes:,}"
        actual = f"{src[bad]:,} to {dst[bad]:,}"
        yield Finding("edges", FILE, f"ends of local edge {edge:,}", None, edge, says, actual)
    wrong = (eids < part.num_inner_edges) != (dst < part.num_inner_nodes)
    what, says = "local destination of local edge", "owned by the part of its destination, and by no other"
    yield from wrong_rows("owners", FILE, what, wrong, eids, says, dst)


def check_end_types(part: StoredPart, src: np.ndarray, dst: np.ndarray, eids: np.ndarray) -> Iterator[Finding]:
    """Check that the edge type joins the types of the ends, for new IDs; original IDs tell it better."""
    book = part.book
    types = book.map_to_per_etype(eids)[0]
    for end, ids in ((0, src), (2, dst)):
        wanted = np.array([book.ntypes.index(etype.split(":")[end]) for etype in book.etypes])[types]
        actual, what = book.map_to_per_ntype(ids)[0], "number of the node type at an end of edge"
        yield from wrong_rows("edges", FILE, what, actual != wanted, eids, wanted, actual)


def check_halo_used(part: StoredPart, used: np.ndarray) -> Iterator[Finding]:
    """Find halo nodes without an edge; a missing one would show in the ends of edges."""
    unused = part.num_halo_nodes - _count(used)
    if unused:
        word = int(np.argmax(used != ~np.uint64(0)))
        bits = np.unpackbits(used[word : word + 1].view(np.uint8), bitorder="little")
        row = part.num_inner_nodes + 64 * word + int(np.argmin(bits))
        new = int(part.graph.node_arrays["_ID"].read(row, row + 1)[0])
        what, says = f"halo node {row:,}, new ID {new:,}", "an end of an edge of the part"
        yield Finding("halo nodes", FILE, what, None, row, says, "no such edge", unused)


def _count(words: np.ndarray) -> int:
    return int(rank_words(words, np.empty(words.size, np.int64)))
