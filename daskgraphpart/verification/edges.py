"""Passes `verify-edges` and `sum-edges`: the local graph of every part, and its owned edges against the input.

Each owned edge is hashed with its original ID and the original IDs of its ends; sums of the hashes, by window of
original IDs, have to be those of the input. So neither side has to be sorted, and nothing is joined. Where sums differ,
the pass `explain-edges` compares a partition of the input edge by edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.kernels.bitmap import empty_bitmap, rank_words
from daskgraphpart.kernels.compare import add_edge_hashes, mark_ends
from daskgraphpart.storage.region import map_npy, open_npy
from daskgraphpart.verification.findings import Finding, wrong_rows
from daskgraphpart.verification.nodes import check_arrays
from daskgraphpart.verification.run import (
    IN_SUMS,
    NUM_WINDOWS,
    ORIGINAL_NIDS,
    Run,
    check_parts,
    opened,
    typed_id,
    window_size,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from daskgraphpart.chunked.partitions import Edges, RowRange
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.part import Part

    LocalEdges: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # local sources, destinations, edge IDs


@dataclass(slots=True, eq=False)
class EdgeSums:
    """What some parts say of their edges."""

    findings: list[Finding]  # what is wrong
    sums: np.ndarray  # uint64 (windows,): hashes of owned edges by original IDs
    out_sums: np.ndarray  # uint64 (parts,): hashes by new IDs of owned edges that begin in each other part
    num_cut: int = 0  # owned edges that begin in HALO nodes


def verify_edges(numbers: tuple[int, ...], run: Run) -> EdgeSums:
    """Check and sum up the edges of some parts."""
    totals = EdgeSums([], np.zeros(NUM_WINDOWS, np.uint64), np.zeros(opened(run).num_parts, np.uint64))
    totals.findings = check_parts(numbers, run, lambda part: _check_edges(part, run, totals))
    return totals


def _check_edges(part: Part, run: Run, totals: EdgeSums) -> Iterator[Finding]:
    yield from check_arrays(part, "edge", run.piece_rows)
    yield from _check_formats(part, run)
    halo = empty_bitmap(part.num_halo_nodes)
    for edges in part.graph.edge_pieces(rows=run.piece_rows):
        yield from _check_ends(part, edges, halo)
        owned = edges[2] < part.num_inner_edges
        src, dst, eids = edges if owned.all() else (of[owned] for of in edges)
        yield from _add_owned(part, (src, dst, eids), run, totals)
    yield from _check_halo_needed(part, halo)


def _check_formats(part: Part, run: Run) -> Iterator[Finding]:
    """Compare sums of hashes of the edges of all formats, and the order of those that are declared sorted."""
    graph, main = part.graph, part.graph.main_format
    if len(graph.formats) == 1 and not any(graph.claims[main]):
        return
    window, sums = window_size(graph.num_edges), np.zeros((len(graph.formats), NUM_WINDOWS), np.uint64)
    for name, of_format in zip(graph.formats, sums, strict=True):
        done, last = 0, (-1, -1)
        for src, dst, eids in graph.edge_pieces(name=name, rows=run.piece_rows):
            add_edge_hashes(src, dst, eids, eids // window, of_format)
            unsorted = _unsorted(graph, name, (src, dst), last)
            what, says = f"{name}: place of edge", "not before the edge in front of it, as the file is declared sorted"
            yield from wrong_rows("formats", "graph.dgl", what, unsorted, done, says, "one that is smaller")
            done, last = done + eids.size, (int(src[-1]), int(dst[-1]))
    for name, differ in zip(graph.formats, sums != sums[[*graph.formats].index(main)], strict=True):
        if differ.any():
            what = f"{name} and {main} hold different edges with local IDs from {window * int(differ.argmax()):,} on"
            yield Finding("formats", "graph.dgl", what)


def _unsorted(graph: GraphFile, name: str, ends: tuple[np.ndarray, np.ndarray], last: tuple[int, int]) -> np.ndarray:
    """Edges that break what the file declares of its order, bool (edges,); DGL crashes on such files."""
    claims = graph.claims[name]
    wrong = np.zeros(ends[0].size, bool)
    if any(claims):
        src_steps, dst_steps = (np.diff(end, prepend=before) for end, before in zip(ends, last, strict=True))
        row_steps, column_steps = (dst_steps, src_steps) if name == "csc" else (src_steps, dst_steps)
        # COO declares its rows, and its columns inside a row; CSR and CSC their columns inside a row
        if name == "coo" and claims[0]:
            wrong |= row_steps < 0
        if claims[-1]:
            wrong |= (row_steps == 0) & (column_steps < 0)
    return wrong


def _check_ends(part: Part, edges: LocalEdges, halo: np.ndarray) -> Iterator[Finding]:
    """Check that both ends are nodes of the part, and that it owns the edge if it owns the destination."""
    src, dst, eids = edges
    bad = int(mark_ends(src, dst, part.graph.num_nodes, part.num_inner_nodes, halo))
    if bad >= 0:
        edge, says = int(eids[bad]), f"local nodes below {part.graph.num_nodes:,}"
        found = f"{src[bad]:,} to {dst[bad]:,}"
        yield Finding("edges", "graph.dgl", f"ends of local edge {edge:,}", None, edge, says, found)
    owned = eids < part.num_inner_edges
    wrong, says = owned != (dst < part.num_inner_nodes), "owned by the part of its destination, and by no other"
    yield from wrong_rows("owners", "graph.dgl", "local destination of local edge", wrong, eids, says, dst)


def _add_owned(part: Part, edges: LocalEdges, run: Run, totals: EdgeSums) -> Iterator[Finding]:
    """Add owned edges to the sums by original IDs, by owner of the source and by destination."""
    src, dst, eids = edges
    book, number = part.book, part.part_id
    new_src = part.graph.node_arrays["_ID"].take(src)
    new_dst, new_eids = dst + book.node_ranges[number, 0, 0], eids + book.edge_ranges[number, 0, 0]
    cut = np.flatnonzero(src >= part.num_inner_nodes)
    totals.num_cut += cut.size
    if run.has_extra:
        owners = np.searchsorted(book.node_ranges[:, -1, 1], new_src[cut], side="right")
        add_edge_hashes(new_src[cut], new_dst[cut], new_eids[cut], owners, totals.out_sums)
        if run.num_hops > 1:
            add_edge_hashes(new_src, new_dst, new_eids, new_dst, map_npy(run.temporary(IN_SUMS)))
    if run.has_originals:
        orig_eids = yield from _original_eids(part, eids, run)
        ends = map(open_npy(run.temporary(ORIGINAL_NIDS)).take, (new_src, new_dst))
        add_edge_hashes(*ends, orig_eids, orig_eids // run.edge_window, totals.sums)
    elif len(book.ntypes) > 1:  # nothing else tells whether the types of the ends are those that the edge type joins
        types = book.map_to_per_etype(new_eids)[0]
        for end, ids in ((0, new_src), (2, new_dst)):
            wanted = np.array([book.ntypes.index(etype.split(":")[end]) for etype in book.etypes])[types]
            found = book.map_to_per_ntype(ids)[0]
            what = "number of the node type at an end of local edge"
            yield from wrong_rows("edges", "graph.dgl", what, found != wanted, eids, wanted, found)


def _original_eids(part: Part, eids: np.ndarray, run: Run) -> Generator[Finding, None, np.ndarray]:
    """Return the original homogeneous IDs of owned local edges; yield a finding if one is no edge of the input."""
    ranges = part.book.edge_ranges[part.part_id] - part.book.edge_ranges[part.part_id, 0, 0]
    types = np.searchsorted(ranges[:, 1], eids, side="right")
    found = np.empty(eids.size, np.int64)
    for type_id in np.unique(types).tolist():
        mine = np.flatnonzero(types == type_id)
        etype, rows = part.book.etypes[type_id], eids[mine] - ranges[type_id, 0]
        ids = part.orig_eid_regions[etype].take(rows).astype(np.int64, copy=False)
        num_edges = run.schema.edge_types[type_id].num_edges
        wrong, says = (ids < 0) | (ids >= num_edges), f"an edge below {num_edges:,}"
        yield from wrong_rows("original IDs", "orig_eids.dgl", f"{etype}: row", wrong, rows, says, ids, etype)
        found[mine] = ids + run.first_edges[type_id]
    return found


def _check_halo_needed(part: Part, words: np.ndarray) -> Iterator[Finding]:
    """Find HALO nodes that no edge of the part ends in; that none is missing follows from the ends of edges."""
    missing = part.num_halo_nodes - int(rank_words(words, np.empty(words.size, np.int64)))
    if missing:
        word = int(np.argmax(words != ~np.uint64(0)))
        bits = np.unpackbits(words[word : word + 1].view(np.uint8), bitorder="little")
        row = part.num_inner_nodes + 64 * word + int(np.argmin(bits))
        new = int(part.graph.node_arrays["_ID"].read(row, row + 1)[0])
        what, says = f"HALO node {row:,}, new ID {new:,}", "an end of an edge of the part"
        yield Finding("HALO nodes", "graph.dgl", what, None, row, says, "no such edge", missing)


def sum_edges(edges: Edges, rows: RowRange, run: Run) -> np.ndarray:
    """Task of the pass `sum-edges`: sums of hashes of a partition of the input, by original IDs."""
    sums = np.zeros(NUM_WINDOWS, np.uint64)
    src, dst, first = _original_ends(edges, rows, run)
    eids = np.arange(first, first + rows.num_rows)
    add_edge_hashes(src, dst, eids, eids // run.edge_window, sums)
    return sums


def _original_ends(edges: Edges, rows: RowRange, run: Run) -> tuple[np.ndarray, np.ndarray, int]:
    """Original homogeneous ends of a partition of the input, and the ID of its first edge."""
    rows.check(len(edges[0]))
    type_id = run.schema.etypes.index(rows.name)
    edge_type = run.schema.edge_types[type_id]
    src, dst = (
        ids + run.first_nodes[run.schema.ntypes.index(ntype)]
        for ids, ntype in zip(edges, (edge_type.src, edge_type.dst), strict=True)
    )
    return src, dst, int(run.first_edges[type_id]) + rows.first_row


def explain_edges(edges: Edges, rows: RowRange, run: Run) -> list[Finding]:
    """Compare the edges of a partition of the input one by one, by original ID, with what all parts own of them."""
    src, dst, first = _original_ends(edges, rows, run)
    expected, times = np.stack([src, dst]), np.zeros(rows.num_rows, np.int64)
    numbers = range(opened(run).num_parts)
    findings = check_parts(numbers, run, lambda part: _differences(part, expected, first, times, run))
    wrong = np.flatnonzero(times != 1)
    if wrong.size:
        row, found = rows.first_row + int(wrong[0]), f"{times[wrong[0]]} times"
        what, count = f"{rows.name}: edge {row:,} of the input", wrong.size
        findings.append(Finding("every edge once", "orig_eids.dgl", what, rows.name, row, "owned once", found, count))
    return findings


def _differences(part: Part, expected: np.ndarray, first: int, times: np.ndarray, run: Run) -> Iterator[Finding]:
    """Count the edges that a part owns of a range of the input; compare their ends, int64 (2, edges)."""
    example, count = None, 0
    new_nids, originals = part.graph.node_arrays["_ID"], open_npy(run.temporary(ORIGINAL_NIDS))
    for src, dst, eids in part.graph.edge_pieces(0, part.num_inner_edges, rows=run.piece_rows):
        ids = yield from _original_eids(part, eids, run)
        mine = np.flatnonzero((ids >= first) & (ids < first + times.size))
        rows = ids[mine] - first
        np.add.at(times, rows, 1)
        ends = np.stack([originals.take(new_nids.take(end[mine])) for end in (src, dst)])
        wrong = np.flatnonzero((ends != expected[:, rows]).any(axis=0))
        count += wrong.size
        if wrong.size and example is None:
            row = int(rows[wrong[0]])
            example = first + row, (expected[:, row], ends[:, wrong[0]])
    if example is not None:
        etype, edge = typed_id(example[0], run.first_edges, run.schema.etypes)
        says = [
            " to ".join("{} {:,}".format(*typed_id(int(end), run.first_nodes, run.schema.ntypes)) for end in ends)
            for ends in example[1]
        ]
        what = f"{etype}: edge {edge:,} of the input"
        yield Finding("edges", "graph.dgl", what, etype, edge, says[0], says[1], count)
