"""Passes `verify-nodes`, `map-nodes` and `verify-once`: arrays of local nodes, and every node exactly once.

The first writes the original ID of every new ID and the new ID of every original ID, in any order; the second finds
nodes that are there twice, and writes for each part the original ID of every local node; the third what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, rank_words
from daskgraphpart.kernels.compare import scatter_ids
from daskgraphpart.storage.region import create_mapped_npy, create_npy, open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened, read_pieces, type_slices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.partitioned.part import Part


@dataclass(frozen=True, slots=True)
class NodeStripe:
    """Local nodes ``[first, stop)`` of a part; all of them inner, or all HALO nodes of the part."""

    part: int
    first: int
    stop: int
    is_inner: bool


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """The run, and whether there are original IDs."""

    run: Run
    has_originals: bool


def create_node_files(run: Run, parts: PartitionedGraph) -> None:
    """Create the files that the passes fill, sparse."""
    create_npy(run.originals, run.nid_dtype, (sum(run.num_nodes),))
    for type_id, count in enumerate(run.num_nodes):
        create_mapped_npy(run.places(type_id), run.nid_dtype, (count,))
    for part in parts.parts:
        create_npy(run.local(part.part_id), run.nid_dtype, (part.graph.num_nodes,))


def node_stripes(parts: PartitionedGraph, rows: int) -> list[NodeStripe]:
    """Cut the local nodes of all parts."""
    stripes = []
    for part in parts.parts:
        inner = part.num_inner_nodes
        starts = range(0, inner, rows)
        stripes += [NodeStripe(part.part_id, first, min(first + rows, inner), True) for first in starts]
        if part.graph.num_nodes > inner:
            stripes.append(NodeStripe(part.part_id, inner, part.graph.num_nodes, False))
    return stripes


def verify_nodes(unit: NodeStripe, config: NodeConfig) -> list[Finding]:
    """Check the arrays of local nodes, and write where inner nodes come from."""
    parts = opened(config.run.opening)
    part = parts.part(unit.part)
    findings = [*_arrays(part, unit, config.run)]
    if not findings and not unit.is_inner:
        findings += _halo_once(part, unit, config.run)
    if unit.is_inner and config.has_originals:
        findings += _keep_originals(part, unit, config.run)
    return findings


def _arrays(part: Part, unit: NodeStripe, run: Run) -> Iterator[Finding]:
    book, file = part.book, f"part{unit.part}/graph.dgl"
    low, total = int(book.node_ranges[unit.part, 0, 0]), int(book.node_ranges[-1, -1, 1])
    arrays = part.graph.node_arrays
    for first, ids in read_pieces(arrays["_ID"], unit.first, unit.stop, run.piece_rows):
        stop = first + ids.size
        if unit.is_inner:
            expected, what = low + np.arange(first, stop), "ID of inner node"
            wrong = ids != expected
        else:
            what = "ID of HALO node"
            wrong = (ids < 0) | (ids >= total) | ((ids >= low) & (ids < low + part.num_inner_nodes))
        if wrong.any():
            row = int(np.argmax(wrong))
            says = f"{low + first + row:,}" if unit.is_inner else f"a node of another part, below {total:,}"
            yield Finding(
                "nodes", file, f"{what} {first + row:,}", unit.part, row=first + row,
                expected=says, found=f"{ids[row]:,}", count=int(wrong.sum()),
            )  # fmt: skip
            return
        columns = {"inner_node": np.full(ids.size, int(unit.is_inner))}
        if "_TYPE" in arrays:
            columns["_TYPE"] = book.map_to_per_ntype(ids)[0]
        if "part_id" in arrays:
            columns["part_id"] = book.nid2partid(ids)
        for name, values in columns.items():
            given = arrays[name].read(first, stop)
            differ = np.flatnonzero(given != values)
            if differ.size:
                row = int(differ[0])
                yield Finding(
                    "nodes", file, f"{name} of local node {first + row:,}", unit.part, row=first + row,
                    expected=str(values[row]), found=str(given[row]), count=differ.size,
                )  # fmt: skip


def _halo_once(part: Part, unit: NodeStripe, run: Run) -> Iterator[Finding]:
    """Find HALO nodes that are there twice: by their order, or with a bitmap (N / 8 bytes) where there is none."""
    last, ascending = -1, True
    ids = part.graph.node_arrays["_ID"]
    for _, piece in read_pieces(ids, unit.first, unit.stop, run.piece_rows):
        ascending &= bool(piece[0] > last) and bool((np.diff(piece) > 0).all())
        last = int(piece[-1])
    if ascending:
        return
    words = empty_bitmap(sum(run.num_nodes))
    for _, piece in read_pieces(ids, unit.first, unit.stop, run.piece_rows):
        add_foreign(piece, 0, 0, words)
    different = int(rank_words(words, np.empty(words.size, np.int64)))
    if different != unit.stop - unit.first:
        yield Finding(
            "HALO nodes", f"part{unit.part}/graph.dgl", "HALO nodes are there twice", unit.part,
            expected=f"{unit.stop - unit.first:,} different", found=f"{different:,}",
        )  # fmt: skip


def _pieces_by_type(part: Part, unit: NodeStripe, run: Run) -> Iterator[tuple[int, int, np.ndarray]]:
    """Original type-wise IDs of a stripe: node type, first local row, IDs."""
    ranges = part.book.node_ranges[unit.part]
    ends = ranges[:, 1] - ranges[0, 0]
    for start in range(unit.first, unit.stop, run.piece_rows):
        for type_id, first, stop in type_slices(ends, start, min(start + run.piece_rows, unit.stop)):
            begin = int(ends[type_id - 1]) if type_id else 0
            region = part.orig_nid_regions[part.book.ntypes[type_id]]
            yield type_id, first, region.read(first - begin, stop - begin).astype(np.int64, copy=False)


def _keep_originals(part: Part, unit: NodeStripe, run: Run) -> Iterator[Finding]:
    low, firsts = int(part.book.node_ranges[unit.part, 0, 0]), run.first_nodes
    originals, local = open_npy(run.originals), open_npy(run.local(unit.part))
    for type_id, first, ids in _pieces_by_type(part, unit, run):
        places = np.lib.format.open_memmap(run.places(type_id), mode="r+") if run.num_nodes[type_id] else None
        bad, count = scatter_ids(ids, low + first, np.empty(0, run.nid_dtype) if places is None else places)
        if count:
            ntype = part.book.ntypes[type_id]
            what = f"{ntype}: original ID of new node {low + first + bad:,}"
            yield Finding(
                "original IDs", f"part{unit.part}/orig_nids.dgl", what, unit.part, ntype, low + first + int(bad),
                f"below {run.num_nodes[type_id]:,}", f"{ids[bad]:,}", int(count),
            )  # fmt: skip
            ids = np.clip(ids, 0, max(0, run.num_nodes[type_id] - 1))
        originals.write(ids + firsts[type_id], low + first)
        local.write(ids + firsts[type_id], first)


def map_nodes(unit: NodeStripe, config: NodeConfig) -> list[Finding]:
    """Find inner nodes whose original ID another node has too; write the original IDs of HALO nodes."""
    run = config.run
    part = opened(run.opening).part(unit.part)
    if unit.is_inner:
        return [*_taken_twice(part, unit, run)]
    originals, local = open_npy(run.originals).memmap(), open_npy(run.local(unit.part))
    for first, ids in read_pieces(part.graph.node_arrays["_ID"], unit.first, unit.stop, run.piece_rows):
        local.write(originals[ids], first)
    return []


def _taken_twice(part: Part, unit: NodeStripe, run: Run) -> Iterator[Finding]:
    low = int(part.book.node_ranges[unit.part, 0, 0])
    for type_id, first, ids in _pieces_by_type(part, unit, run):
        places = open_npy(run.places(type_id)).memmap()
        new = places[ids].astype(np.int64) - 1
        differ = np.flatnonzero(new != low + first + np.arange(ids.size))
        if differ.size:
            row, ntype = int(differ[0]), part.book.ntypes[type_id]
            yield Finding(
                "every node once", f"part{unit.part}/orig_nids.dgl",
                f"{ntype}: node {ids[row]:,} of the input is new node {low + first + row:,} and new node {new[row]:,}",
                unit.part, ntype, low + first + row, count=differ.size,
            )  # fmt: skip
            return


@dataclass(frozen=True, slots=True)
class OnceStripe:
    """Original IDs ``[first, stop)`` of a node type."""

    type_id: int
    first: int
    stop: int


def verify_once(unit: OnceStripe, config: NodeConfig) -> list[Finding]:
    """Find nodes of the input that no part owns."""
    run = config.run
    ntype = opened(run.opening).ntypes[unit.type_id]
    for first, places in read_pieces(open_npy(run.places(unit.type_id)), unit.first, unit.stop, run.piece_rows):
        missing = np.flatnonzero(places == 0)
        if missing.size:
            node = first + int(missing[0])
            what = f"{ntype}: node {node:,} of the input is in no part"
            return [Finding("every node once", "orig_nids.dgl", what, kind=ntype, row=node, count=missing.size)]
    return []
