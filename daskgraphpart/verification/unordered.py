"""Compare partitions with the input where original IDs were not saved, as by `dgl.distributed.partition_graph`.

Nothing tells which node is which, so sums are compared that do not depend on the order: of hashes of the rows of each
feature; of nodes, hashed with their rows and their degrees in each edge type; of edges, hashed with their rows and both
ends. Equal sums mean equal multisets, but once in 2^64. Exchanging nodes that look alike is not a fault then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import read_edges, read_rows
from daskgraphpart.kernels.compare import add_counts, hash_rows, sum_edges, sum_hashes
from daskgraphpart.kernels.hashing import stream_key
from daskgraphpart.storage.region import create_mapped_npy, create_npy, open_npy
from daskgraphpart.verification.edge_pieces import edge_pieces, main_format
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened, read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.verification.edge_pieces import EdgeStripe

INPUT, PARTS = "input", "parts"
WORD = 64


@dataclass(frozen=True, slots=True)
class RowUnit:
    """Rows of one feature: a block of the input, or rows ``[first, stop)`` of a part."""

    kind: str
    type_id: int
    spec: DataSpec
    block: Block | None = None
    part: int = -1
    first: int = 0
    stop: int = 0


def colors(run: Run, side: str, kind: str, type_id: int) -> str:
    """Sum of hashes of every row of a type: by original ID in the input, by new type-wise ID in the parts."""
    return f"{run.scratch}/colors-{side}-{kind}-{type_id}.npy"


def degrees(run: Run, side: str, etype_id: int, end: int) -> str:
    """Edges of a type that begin (end 0) or end (end 1) in each node of the type there."""
    return f"{run.scratch}/degrees-{side}-{etype_id}-{end}.npy"


def end_types(parts: PartitionedGraph, etype_id: int) -> tuple[int, int]:
    """Numbers of the node types an edge type joins."""
    src, _, dst = parts.etypes[etype_id].split(":")
    return parts.ntypes.index(src), parts.ntypes.index(dst)


def create_color_files(run: Run, parts: PartitionedGraph) -> None:
    """Create the files that the passes add to, sparse."""
    for side in (INPUT, PARTS):
        for kind, counts in (("node", run.num_nodes), ("edge", run.num_edges)):
            for type_id, count in enumerate(counts):
                create_npy(colors(run, side, kind, type_id), np.dtype("<u8"), (count,))
        for etype_id in range(len(run.num_edges)):
            for end, ntype_id in enumerate(end_types(parts, etype_id)):
                create_mapped_npy(degrees(run, side, etype_id, end), np.dtype("<u4"), (run.num_nodes[ntype_id],))


def hash_feature(unit: RowUnit, run: Run) -> int:
    """Task of the pass `hash-features`: add hashes of rows to their colors; the sum of the hashes."""
    key = stream_key(0, f"{unit.kind}/{unit.type_id}/{unit.spec.name}")
    if unit.block is not None:
        rows = read_rows(unit.block, unit.spec).astype(unit.spec.stored_dtype, copy=False)
        return _add(rows, key, colors(run, INPUT, unit.kind, unit.type_id), unit.block.first_row)
    part = opened(run.opening).part(unit.part)
    name = (part.book.ntypes if unit.kind == "node" else part.book.etypes)[unit.type_id]
    region = (part.node_regions if unit.kind == "node" else part.edge_regions)[name][unit.spec.name]
    begin = part.book.part_range(unit.part, name)[0]
    rows = region.read(unit.first, unit.stop)
    return _add(rows, key, colors(run, PARTS, unit.kind, unit.type_id), begin + unit.first)


def _add(rows: np.ndarray, key: np.uint64, path: str, first: int) -> int:
    hashes = np.zeros(rows.shape[0], np.uint64)
    hash_rows(np.ascontiguousarray(rows).reshape(rows.shape[0], -1).view(np.uint8), key, hashes)
    region = open_npy(path)
    region.write(region.read(first, first + hashes.size) + hashes, first)
    return int(hashes.sum())


@dataclass(frozen=True, slots=True)
class DegreeUnit:
    """Edges of one type and one of their ends; blocks of the input, or none for those of the parts."""

    etype_id: int
    end: int
    blocks: tuple[Block, ...] | None


def count_degrees(unit: DegreeUnit, run: Run) -> list[Finding]:
    """Task of the pass `count-degrees`: one after another, since any edge may end anywhere."""
    side = PARTS if unit.blocks is None else INPUT
    region = open_npy(degrees(run, side, unit.etype_id, unit.end))
    if not region.num_rows:
        return []
    counts = np.lib.format.open_memmap(region.path, mode="r+")
    if unit.blocks is not None:
        for block in unit.blocks:
            bad = int(add_counts(read_edges(block)[unit.end], counts))
            if bad >= 0:
                return [Finding("input", block.path, f"edge {block.first_row + bad:,} ends in no node")]
        return []
    parts = opened(run.opening)
    wanted = end_types(parts, unit.etype_id)[unit.end]
    for part in parts.parts:
        for ends in _typed_ends(parts, part, unit.etype_id, run):
            types, ids = ends[unit.end]
            wrong = np.flatnonzero(types != wanted)
            if wrong.size:
                etype, found = parts.etypes[unit.etype_id], parts.ntypes[int(types[wrong[0]])]
                what = f"{etype}: an edge has an end of another type"
                file = f"part{part.part_id}/graph.dgl"
                return [
                    Finding("edges", file, what, part.part_id, etype, None, parts.ntypes[wanted], found, wrong.size)
                ]
            add_counts(ids, counts)
    return []


def _typed_ends(
    parts: PartitionedGraph, part: Part, etype_id: int, run: Run
) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], ...]]:
    """Types and new type-wise IDs of both ends of the edges of a type that a part owns."""
    ids, span = part.graph.node_arrays["_ID"].memmap(), (0, part.graph.num_edges)
    ranges = parts.book.edge_ranges[part.part_id]
    low, high = (ranges[etype_id] - ranges[0, 0]).tolist()
    name = main_format(part.graph)
    if name == "coo":  # edges of a type are one stretch
        span = (low, high)
    for _, src, dst, eids in edge_pieces(part.graph, name, span, run.piece_rows):
        mine = (eids >= low) & (eids < high)
        yield tuple(parts.book.map_to_per_ntype(ids[end[mine]]) for end in (src, dst))


def mix_degrees(type_id: int, run: Run) -> list[Finding]:
    """Task of the pass `hash-nodes`: add hashes of the degrees to the colors of a node type, and compare the sums."""
    parts = opened(run.opening)
    sums = []
    for side in (INPUT, PARTS):
        region, total = open_npy(colors(run, side, "node", type_id)), 0
        for first, found in read_pieces(region, 0, region.num_rows, run.piece_rows):
            for etype_id in range(len(run.num_edges)):
                for end, ntype_id in enumerate(end_types(parts, etype_id)):
                    if ntype_id == type_id:
                        counts = open_npy(degrees(run, side, etype_id, end)).read(first, first + found.size)
                        hash_rows(counts[:, None].view(np.uint8), stream_key(end, f"degree/{etype_id}"), found)
            region.write(found, first)
            total += int(sum_hashes(found))
        sums.append(total % 2**WORD)
    if sums[0] == sums[1]:
        return []
    ntype = parts.ntypes[type_id]
    what = f"{ntype}: nodes have other rows or degrees than in the input"
    return [Finding("nodes as a set", "graph.dgl", what, kind=ntype)]


@dataclass(frozen=True, slots=True)
class EdgeUnit:
    """Edges of a type of a block of the input."""

    etype_id: int
    block: Block


def sum_input_edges(unit: EdgeUnit, run: Run) -> int:
    """Task of the pass `sum-input-edges`: sum of hashes of a block's edges."""
    parts = opened(run.opening)
    own = open_npy(colors(run, INPUT, "edge", unit.etype_id))
    rows = own.read(unit.block.first_row, unit.block.first_row + unit.block.num_rows)
    ends = [
        open_npy(colors(run, INPUT, "node", ntype_id)).memmap()[ids]
        for ids, ntype_id in zip(read_edges(unit.block), end_types(parts, unit.etype_id), strict=True)
    ]
    return _sum(ends[0], ends[1], rows)


def sum_part_edges(unit: EdgeStripe, run: Run) -> list[int]:
    """Task of the pass `sum-part-edges`: sums of hashes of a stripe's owned edges, by type.

    Two more sums follow: of hashes of all local edge IDs, and of the places, which must have the same.
    """
    parts = opened(run.opening)
    part = parts.part(unit.part)
    ids, sums = part.graph.node_arrays["_ID"].memmap(), [0] * (len(parts.etypes) + 2)
    ranges = parts.book.edge_ranges[unit.part]
    ends_of_types = ranges[:, 1] - ranges[0, 0]
    for first, src, dst, eids in edge_pieces(part.graph, unit.format, (unit.first, unit.stop), run.piece_rows):
        types = np.searchsorted(ends_of_types, eids, side="right")
        for etype_id, etype in enumerate(parts.etypes):
            mine = types == etype_id
            rows = eids[mine] - (ranges[etype_id, 0] - ranges[0, 0]) + parts.book.part_range(unit.part, etype)[0]
            found = [
                open_npy(colors(run, PARTS, "node", ntype_id)).memmap()[parts.book.map_to_per_ntype(ids[end[mine]])[1]]
                for end, ntype_id in zip((src, dst), end_types(parts, etype_id), strict=True)
            ]
            sums[etype_id] += _sum(found[0], found[1], open_npy(colors(run, PARTS, "edge", etype_id)).memmap()[rows])
        for i, numbers in enumerate((eids, np.arange(first, first + eids.size))):
            sums[len(parts.etypes) + i] += int(sum_hashes(numbers.astype(np.uint64)))
    return [total % 2**WORD for total in sums]


def _sum(src: np.ndarray, dst: np.ndarray, rows: np.ndarray) -> int:
    total = np.zeros(1, np.uint64)
    # any 64 bits serve as ends; the edge ID decides on the sum, so it is the same for all
    mixed = np.ascontiguousarray(src) + np.left_shift(np.ascontiguousarray(rows), np.uint64(1))
    sum_edges(mixed, np.ascontiguousarray(dst), np.zeros(rows.size, np.int64), 0, total)
    return int(total[0])


def extra_ends(unit: EdgeStripe, run: Run) -> list[Finding]:
    """Task of the pass `verify-extra`: edges that a part holds without owning them, against those of their owners."""
    parts = opened(run.opening)
    part = parts.part(unit.part)
    ids, new = part.graph.node_arrays["_ID"].memmap(), part.graph.edge_arrays["_ID"].memmap()
    for _, src, dst, eids in edge_pieces(part.graph, unit.format, (unit.first, unit.stop), run.piece_rows):
        mine = np.flatnonzero(eids >= part.num_inner_edges)
        numbers = np.asarray(new[eids[mine]])
        owners = np.searchsorted(parts.book.edge_ranges[:, -1, 1], numbers, side="right")
        for owner in np.unique(owners).tolist():
            other, of_owner = parts.part(owner), mine[owners == owner]
            if "coo" not in other.graph.formats:
                continue  # edges of CSR and CSC cannot be looked up by ID
            local = numbers[owners == owner] - parts.book.edge_ranges[owner, 0, 0]
            other_ids = other.graph.node_arrays["_ID"].memmap()
            wrong = np.zeros(local.size, bool)
            for end, key in ((src, "row"), (dst, "col")):
                wrong |= ids[end[of_owner]] != other_ids[other.graph.formats["coo"][key].memmap()[local]]
            if wrong.any():
                edge = int(eids[of_owner[np.argmax(wrong)]])
                what = f"local edge {edge:,} is not the edge of that ID in part {owner}"
                file = f"part{unit.part}/graph.dgl"
                return [Finding("extra edges", file, what, unit.part, row=edge, count=int(wrong.sum()))]
    return []
