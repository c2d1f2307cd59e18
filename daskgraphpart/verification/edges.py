"""Passes `verify-edges` and `sum-edges`: the local graph of every part, and its owned edges against the input.

Each owned edge is hashed with its original ID and the original IDs of its ends; sums of the hashes, by window of
original IDs, have to be those of the input. So neither side has to be sorted, and nothing is joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import empty_bitmap, rank_words
from daskgraphpart.kernels.compare import add_edge_hashes, mark_ends
from daskgraphpart.storage.region import map_npy, open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import (
    NUM_WINDOWS,
    Run,
    check_parts,
    column_findings,
    differing_windows,
    opened,
    pieces,
    window_size,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.chunked.partitions import Edges, RowRange
    from daskgraphpart.layouts.dgl_graph_file import GraphFile
    from daskgraphpart.partitioned.part import Part


@dataclass(frozen=True, slots=True, eq=False)
class EdgeSums:
    """What some parts say of their edges."""

    findings: list[Finding]  # what is wrong
    sums: np.ndarray  # uint64 (windows,): hashes of owned edges by original IDs
    num_cut: int  # owned edges that begin in HALO nodes
    # (n,): parts in which these begin, the number of edges for each, and the sum of their hashes by new IDs
    owners: np.ndarray
    out_counts: np.ndarray
    out_sums: np.ndarray


@dataclass(slots=True, eq=False)
class _Totals:
    sums: np.ndarray
    out_counts: np.ndarray
    out_sums: np.ndarray
    num_cut: int = 0


def verify_edges(numbers: tuple[int, ...], run: Run) -> EdgeSums:
    """Check and sum up the edges of some parts."""
    parts = opened(run)
    totals = _Totals(
        np.zeros(NUM_WINDOWS, np.uint64), np.zeros(parts.num_parts, np.int64), np.zeros(parts.num_parts, np.uint64)
    )
    findings = check_parts(numbers, run, lambda part: _check_edges(part, run, totals))
    owners = np.flatnonzero(totals.out_counts)
    return EdgeSums(
        findings, totals.sums, totals.num_cut, owners, totals.out_counts[owners], totals.out_sums[owners]
    )  # fmt: skip


def _check_edges(part: Part, run: Run, totals: _Totals) -> Iterator[Finding]:
    for first, stop in pieces(0, part.graph.num_edges, run.piece_rows):
        found = [*_check_arrays(part, first, stop)]
        yield from found
        if found:
            return
    found = [*_check_formats(part, run)]
    yield from found
    if found:
        return
    halo = empty_bitmap(part.num_halo_nodes)
    for src, dst, eids in part.graph.edge_pieces(rows=run.piece_rows):
        found = [*_check_ends(part, src, dst, eids, halo)]
        yield from found
        if found:
            return
        owned = eids < part.num_inner_edges
        edges = (src, dst, eids) if owned.all() else (src[owned], dst[owned], eids[owned])
        found = [*_add_owned(part, edges, run, totals)]
        yield from found
        if found:
            return
    yield from _check_halo_needed(part, halo)


def _check_arrays(part: Part, first: int, stop: int) -> Iterator[Finding]:
    """Compare IDs, flags and types of local edges ``[first, stop)``."""
    book, arrays, number = part.book, part.graph.edge_arrays, part.part_id
    low, high = int(book.edge_ranges[number, 0, 0]), int(book.edge_ranges[number, -1, 1])
    ids, local = arrays["_ID"].read(first, stop), np.arange(first, stop)
    inner = local < high - low
    wrong = np.where(inner, ids != low + local, (ids < 0) | (ids >= book.edge_ranges[-1, -1, 1]))
    wrong |= ~inner & (ids >= low) & (ids < high)
    if wrong.any():
        i = int(np.argmax(wrong))
        yield Finding(
            "edge arrays", f"part{number}/graph.dgl", f"ID of local edge {first + i:,}", number, row=first + i,
            expected=f"{low + first + i:,}" if inner[i] else "an edge of another part", found=f"{ids[i]:,}",
            count=int(wrong.sum()),
        )  # fmt: skip
        return
    columns: dict[str, np.ndarray] = {"inner_edge": inner.astype(np.int64)}
    if "_TYPE" in arrays:
        columns["_TYPE"] = book.map_to_per_etype(ids)[0]
    yield from column_findings("edge arrays", "edge", number, (first, stop), columns, arrays)


def _check_formats(part: Part, run: Run) -> Iterator[Finding]:
    """Compare sums of hashes of the edges of all formats, and the order of those that are declared sorted."""
    graph, number = part.graph, part.part_id
    window, sums = window_size(graph.num_edges), {}
    if len(graph.formats) == 1 and not any(graph.claims[graph.main_format]):
        return
    for name in graph.formats:
        sums[name] = np.zeros(NUM_WINDOWS, np.uint64)
        done, last = 0, (-1, -1)
        for src, dst, eids in graph.edge_pieces(name=name, rows=run.piece_rows):
            add_edge_hashes(src, dst, eids, eids // window, sums[name])
            place = _first_unsorted(graph, name, (src, dst), last)
            if place >= 0:
                what = f"{name}: declared sorted, but edge {done + place:,} is smaller than the one before"
                yield Finding("formats", f"part{number}/graph.dgl", what, number, row=done + place)
                return
            done, last = done + eids.size, (int(src[-1]), int(dst[-1]))
    for name, found in sums.items():
        differ = differing_windows(sums[graph.main_format], found, window, graph.num_edges)
        if differ:
            what = f"{name} and {graph.main_format} hold different edges with local IDs from {differ[0][0]:,} on"
            yield Finding("formats", f"part{number}/graph.dgl", what, number)


def _first_unsorted(graph: GraphFile, name: str, ends: tuple[np.ndarray, np.ndarray], last: tuple[int, int]) -> int:
    """Place of the first edge that breaks what the file declares of its order, or -1; DGL crashes on such files."""
    claims = graph.claims[name]
    if not any(claims):
        return -1
    src_steps, dst_steps = (np.diff(end, prepend=before) for end, before in zip(ends, last, strict=True))
    row_steps, column_steps = (dst_steps, src_steps) if name == "csc" else (src_steps, dst_steps)
    # COO declares its rows, and its columns inside a row; CSR and CSC their columns inside a row
    wrong = np.zeros(row_steps.size, bool)
    if name == "coo" and claims[0]:
        wrong |= row_steps < 0
    if claims[-1]:
        wrong |= (row_steps == 0) & (column_steps < 0)
    return int(np.argmax(wrong)) if wrong.any() else -1


def _check_ends(part: Part, src: np.ndarray, dst: np.ndarray, eids: np.ndarray, halo: np.ndarray) -> Iterator[Finding]:
    """Check that both ends are nodes of the part, and that it owns the edge if it owns the destination."""
    file = f"part{part.part_id}/graph.dgl"
    bad = int(mark_ends(src, dst, part.graph.num_nodes, part.num_inner_nodes, halo))
    if bad >= 0:
        yield Finding(
            "edges", file, f"ends of local edge {eids[bad]:,}", part.part_id, row=int(eids[bad]),
            expected=f"local nodes below {part.graph.num_nodes:,}", found=f"{src[bad]:,} to {dst[bad]:,}",
        )  # fmt: skip
        return
    owned = eids < part.num_inner_edges
    wrong = owned != (dst < part.num_inner_nodes)
    if wrong.any():
        i = int(np.argmax(wrong))
        yield Finding(
            "owners", file, f"local edge {eids[i]:,} from local node {src[i]:,} to {dst[i]:,}",
            part.part_id, row=int(eids[i]), expected="owned by the part of its destination",
            found="inner" if owned[i] else "not inner", count=int(wrong.sum()),
        )  # fmt: skip


def _add_owned(
    part: Part, edges: tuple[np.ndarray, np.ndarray, np.ndarray], run: Run, totals: _Totals
) -> Iterator[Finding]:
    """Add owned edges to the sums by original IDs, by owner of the source and by destination."""
    src, dst, eids = edges
    ranges = part.book.edge_ranges[part.part_id]
    new_src = part.graph.node_arrays["_ID"].take(src)
    new_dst, new_eids = dst + part.book.node_ranges[part.part_id, 0, 0], eids + ranges[0, 0]
    cut = np.flatnonzero(src >= part.num_inner_nodes)
    totals.num_cut += cut.size
    if run.has_extra:
        owners = np.searchsorted(part.book.node_ranges[:, -1, 1], new_src[cut], side="right")
        totals.out_counts += np.bincount(owners, minlength=totals.out_counts.size)
        add_edge_hashes(new_src[cut], new_dst[cut], new_eids[cut], owners, totals.out_sums)
    if run.has_extra and run.num_hops > 1:
        in_sums = map_npy(run.in_sums_path)
        add_edge_hashes(new_src, new_dst, new_eids, new_dst, in_sums)
    if not run.has_originals:
        yield from _check_types_of_ends(part, (new_src, new_dst, eids))
        return
    orig_eids, fault = original_eids(part, eids, run)
    if fault is not None:
        yield fault
        return
    originals = open_npy(run.original_nids_path)
    add_edge_hashes(
        originals.take(new_src), originals.take(new_dst), orig_eids, orig_eids // run.edge_window, totals.sums
    )  # fmt: skip


def original_eids(part: Part, eids: np.ndarray, run: Run) -> tuple[np.ndarray, Finding | None]:
    """Original homogeneous IDs of owned local edges; a finding if one is no edge of the input."""
    ranges = part.book.edge_ranges[part.part_id]
    ends = ranges[:, 1] - ranges[0, 0]
    types = np.searchsorted(ends, eids, side="right")
    found = np.empty(eids.size, np.int64)
    for type_id in np.unique(types).tolist():
        mine = np.flatnonzero(types == type_id)
        etype, rows = part.book.etypes[type_id], eids[mine] - (ranges[type_id, 0] - ranges[0, 0])
        ids = part.orig_eid_regions[etype].take(rows).astype(np.int64, copy=False)
        bad = np.flatnonzero((ids < 0) | (ids >= run.num_edges[type_id]))
        if bad.size:
            row = int(rows[bad[0]])
            return found, Finding(
                "original IDs", f"part{part.part_id}/orig_eids.dgl", f"{etype}: row {row:,}", part.part_id, etype, row,
                f"an edge below {run.num_edges[type_id]:,}", f"{ids[bad[0]]:,}", bad.size,
            )  # fmt: skip
        found[mine] = ids + run.first_edges[type_id]
    return found, None


def _check_types_of_ends(part: Part, edges: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Iterator[Finding]:
    """Compare the types of new ends with those that the edge type joins, where nothing else tells them apart."""
    book = part.book
    if len(book.ntypes) == 1:
        return
    types = book.map_to_per_etype(edges[2] + book.edge_ranges[part.part_id, 0, 0])[0]
    for end, ids in ((0, edges[0]), (2, edges[1])):
        wanted = np.array([book.ntypes.index(etype.split(":")[end]) for etype in book.etypes])[types]
        found = book.map_to_per_ntype(ids)[0]
        wrong = np.flatnonzero(found != wanted)
        if wrong.size:
            i = int(wrong[0])
            yield Finding(
                "edges", f"part{part.part_id}/graph.dgl", f"type of an end of local edge {edges[2][i]:,}",
                part.part_id, book.etypes[types[i]], int(edges[2][i]),
                book.ntypes[wanted[i]], book.ntypes[found[i]], wrong.size,
            )  # fmt: skip


def _check_halo_needed(part: Part, words: np.ndarray) -> Iterator[Finding]:
    """Find HALO nodes that no edge of the part ends in; that none is missing follows from the ends of edges."""
    missing = part.num_halo_nodes - int(rank_words(words, np.empty(words.size, np.int64)))
    if not missing:
        return
    bits = np.unpackbits(words[words != ~np.uint64(0)][:1].view(np.uint8), bitorder="little")
    row = part.num_inner_nodes + 64 * int(np.argmax(words != ~np.uint64(0))) + int(np.argmin(bits))
    new = int(part.graph.node_arrays["_ID"].read(row, row + 1)[0])
    yield Finding(
        "HALO nodes", f"part{part.part_id}/graph.dgl", f"HALO node {row:,}, new ID {new:,}", part.part_id, row=row,
        expected="an end of an edge of the part", found="no such edge", count=missing,
    )  # fmt: skip


def sum_edges(edges: Edges, rows: RowRange, run: Run) -> np.ndarray:
    """Task of the pass `sum-edges`: sums of hashes of a partition of the input, by original IDs."""
    sums = np.zeros(NUM_WINDOWS, np.uint64)
    src, dst, first = input_edges(edges, rows, run)
    eids = first + np.arange(rows.num_rows)
    add_edge_hashes(src, dst, eids, eids // run.edge_window, sums)
    return sums


def input_edges(edges: Edges, rows: RowRange, run: Run) -> tuple[np.ndarray, np.ndarray, int]:
    """Original homogeneous ends of a partition of the input, and the ID of its first edge."""
    rows.check(len(edges[0]))
    type_id = run.schema.etypes.index(rows.name)
    edge_type = run.schema.edge_types[type_id]
    src, dst = (
        ids + run.first_nodes[run.schema.ntypes.index(ntype)]
        for ids, ntype in zip(edges, (edge_type.src, edge_type.dst), strict=True)
    )
    return src, dst, int(run.first_edges[type_id]) + rows.first_row
