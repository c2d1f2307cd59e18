"""Check a local graph by itself: IDs, flags, types and owners, HALO nodes, formats, ends of edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, rank_words
from daskgraphpart.kernels.compare import add_edge_hashes, mark_ends
from daskgraphpart.verification.findings import Finding, wrong_rows
from daskgraphpart.verification.run import NUM_WINDOWS, Run, pieces, window_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.part import Part

FILE = "graph.dgl"


def check_arrays(part: Part, kind: str, run: Run) -> Iterator[Finding]:
    """Compare IDs, flags, types and owners of all local nodes or edges; owned ones come first."""
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


def check_halo_once(part: Part, run: Run) -> Iterator[Finding]:
    """Find repeated HALO nodes: by their order, or else with a bitmap (N / 8 bytes)."""
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
        what = "HALO nodes are listed twice"
        yield Finding("HALO nodes", FILE, what, expected=says, found=f"{different:,}")


def check_split(part: Part, run: Run) -> Iterator[Finding]:
    """Compare the lists of training, validation and test nodes with the masks of the part."""
    for key, region in part.split_regions.items():
        (ntype, _, mask), ids = key.rpartition("/"), region.memmap()
        marks, done, low = part.node_rows.features[ntype][mask], 0, part.book.part_range(part.part_id, ntype)[0]
        for first, stop in pieces(0, marks.num_rows, run.piece_rows):
            expected = low + first + np.flatnonzero(marks.read(first, stop).reshape(stop - first, -1).any(axis=1))
            if not np.array_equal(ids[done : done + expected.size], expected):
                break
            done += expected.size
        else:
            if done == ids.size:
                continue
        what = f"{key}: differs from the nodes that the mask marks, from entry {done:,} on"
        yield Finding("split", "split_nids.dgl", what, ntype)


def check_formats(part: Part, run: Run) -> Iterator[Finding]:
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
            what, says = (
                f"{name}: row and column in place",
                "not smaller than the one before, because the file claims to be sorted",
            )
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


def check_ends(part: Part, edges: tuple[np.ndarray, np.ndarray, np.ndarray], used: np.ndarray) -> Iterator[Finding]:
    """Check that both ends are nodes of the part, and that it owns the edges of its owned destinations.

    Marks HALO nodes that are ends in the bitmap `used`.
    """
    src, dst, eids = edges
    bad = int(mark_ends(src, dst, part.graph.num_nodes, part.num_inner_nodes, used))
    if bad >= 0:
        edge, says, found = (
            int(eids[bad]),
            f"local nodes below {part.graph.num_nodes:,}",
            f"{src[bad]:,} to {dst[bad]:,}",
        )
        yield Finding("edges", FILE, f"ends of local edge {edge:,}", None, edge, says, found)
    wrong = (eids < part.num_inner_edges) != (dst < part.num_inner_nodes)
    what, says = "local destination of local edge", "owned by the part of its destination, and by no other"
    yield from wrong_rows("owners", FILE, what, wrong, eids, says, dst)


def check_end_types(part: Part, src: np.ndarray, dst: np.ndarray, eids: np.ndarray) -> Iterator[Finding]:
    """Check that the edge type joins the types of the ends, for new IDs; original IDs tell it better."""
    book = part.book
    types = book.map_to_per_etype(eids)[0]
    for end, ids in ((0, src), (2, dst)):
        wanted = np.array([book.ntypes.index(etype.split(":")[end]) for etype in book.etypes])[types]
        found, what = book.map_to_per_ntype(ids)[0], "number of the node type at an end of edge"
        yield from wrong_rows("edges", FILE, what, found != wanted, eids, wanted, found)


def check_halo_used(part: Part, used: np.ndarray) -> Iterator[Finding]:
    """Find HALO nodes without an edge; a missing one would show in the ends of edges."""
    unused = part.num_halo_nodes - _count(used)
    if unused:
        word = int(np.argmax(used != ~np.uint64(0)))
        bits = np.unpackbits(used[word : word + 1].view(np.uint8), bitorder="little")
        row = part.num_inner_nodes + 64 * word + int(np.argmin(bits))
        new = int(part.graph.node_arrays["_ID"].read(row, row + 1)[0])
        what, says = f"HALO node {row:,}, new ID {new:,}", "an end of an edge of the part"
        yield Finding("HALO nodes", FILE, what, None, row, says, "no such edge", unused)


def _count(words: np.ndarray) -> int:
    return int(rank_words(words, np.empty(words.size, np.int64)))
