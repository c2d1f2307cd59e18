"""Pass `trace-edges`: the edges of parts by original IDs, grouped by the block of the input they should be in.

A join of parts and input for which neither must be sorted: what a part holds is written in runs, one slice for each
block, and `verify-edges` reads each block of the input once, with its slices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.kernels.bitmap import empty_bitmap
from daskgraphpart.kernels.compare import find_blocks, mark_ends, trace_edges
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.region import create_npy, open_npy
from daskgraphpart.verification.edge_pieces import EdgeStripe, edge_pieces
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened, type_slices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.partitioned.part import Part

OWNED, EXTRA = "owned", "extra"


@dataclass(frozen=True, slots=True, eq=False)
class TraceConfig:
    """What all stripes share.

    Parameters
    ----------
    run : Run
        The run.
    starts : int64 array (blocks,)
        First original homogeneous edge ID of every block of the input.
    num_columns : int
        Columns of the traced edges: row in the block, original source, original destination and, if edges have data,
        new edge ID; 0 if there are no original IDs.
    """

    run: Run
    starts: np.ndarray
    num_columns: int


@dataclass(frozen=True, slots=True, eq=False)
class TracedRun:
    """One file of traced edges: which blocks they are of, and how many of each, in the order of the file."""

    part: int
    path: str
    kind: str
    blocks: np.ndarray
    counts: np.ndarray


@dataclass(slots=True)
class Traced:
    """What was found in one stripe.

    Parameters
    ----------
    findings : list of Finding
        What is wrong.
    runs : list of TracedRun
        The edges.
    out_counts : int64 array (parts,)
        Owned edges that begin in each other part.
    num_extra, num_out : int
        Edges that the part holds without owning them, and those of them that begin in the part.
    """

    out_counts: np.ndarray
    findings: list[Finding] = field(default_factory=list)
    runs: list[TracedRun] = field(default_factory=list)
    num_extra: int = 0
    num_out: int = 0


def trace_stripe(unit: EdgeStripe, config: TraceConfig) -> Traced:
    """Check and trace one stripe."""
    run = config.run
    parts = opened(run.opening)
    part = parts.part(unit.part)
    traced = Traced(np.zeros(parts.num_parts, np.int64))
    words = empty_bitmap(part.num_halo_nodes)
    for number, (first, src, dst, eids) in enumerate(
        edge_pieces(part.graph, unit.format, (unit.first, unit.stop), run.piece_rows)
    ):
        fault = _fault_of_ends(part, (first, src, dst, eids), words)
        if fault is not None:
            traced.findings.append(fault)
            return traced
        owned = eids < part.num_inner_edges
        traced.findings += _fault_of_owner(part, src, dst, eids, owned)
        _count_sources(parts, part, src, owned, traced)
        if not config.num_columns:
            continue
        for kind, mine in ((OWNED, owned), (EXTRA, ~owned)):
            if mine.all():
                chosen = (src, dst, eids)
            elif mine.any():
                chosen = (src[mine], dst[mine], eids[mine])
            else:
                continue
            path = run.traced(unit.part, unit.number, number, kind)
            _write_traced(parts, part, chosen, (path, kind), config, traced)
    create_npy(run.halo(unit.part, unit.number), words.dtype, words.shape).write(words, 0)
    return traced


def _fault_of_ends(
    part: Part, edges: tuple[int, np.ndarray, np.ndarray, np.ndarray], words: np.ndarray
) -> Finding | None:
    first, src, dst, eids = edges
    graph, file = part.graph, f"part{part.part_id}/graph.dgl"
    bad = int(mark_ends(src, dst, graph.num_nodes, part.num_inner_nodes, words))
    if bad >= 0:
        return Finding(
            "edges", file, f"ends of the edge in place {first + bad:,}", part.part_id, row=first + bad,
            expected=f"local nodes below {graph.num_nodes:,}", found=f"{src[bad]:,} to {dst[bad]:,}",
        )  # fmt: skip
    if eids.size and (eids.min() < 0 or eids.max() >= graph.num_edges):
        bad = int(np.argmax((eids < 0) | (eids >= graph.num_edges)))
        return Finding(
            "edges", file, f"ID of the edge in place {first + bad:,}", part.part_id, row=first + bad,
            expected=f"a local edge below {graph.num_edges:,}", found=f"{eids[bad]:,}",
        )  # fmt: skip
    return None


def _fault_of_owner(
    part: Part, src: np.ndarray, dst: np.ndarray, eids: np.ndarray, owned: np.ndarray
) -> Iterator[Finding]:
    wrong = owned != (dst < part.num_inner_nodes)
    if wrong.any():
        i = int(np.argmax(wrong))
        yield Finding(
            "owners", f"part{part.part_id}/graph.dgl",
            f"local edge {eids[i]:,} from local node {src[i]:,} to {dst[i]:,}", part.part_id, row=int(eids[i]),
            expected="owned by the part of its destination", found="inner" if owned[i] else "not inner",
            count=int(wrong.sum()),
        )  # fmt: skip


def _count_sources(parts: PartitionedGraph, part: Part, src: np.ndarray, owned: np.ndarray, traced: Traced) -> None:
    """Count the owned edges that begin in each other part: with out edges, that is what those hold of them."""
    traced.num_extra += int(owned.size - np.count_nonzero(owned))
    traced.num_out += int(np.count_nonzero(~owned & (src < part.num_inner_nodes)))
    halo = src[owned & (src >= part.num_inner_nodes)]
    ids = part.graph.node_arrays["_ID"].memmap()[halo]
    owners = np.searchsorted(parts.book.node_ranges[:, -1, 1], ids, side="right")
    traced.out_counts += np.bincount(owners, minlength=parts.num_parts)[: parts.num_parts]


def _write_traced(
    parts: PartitionedGraph,
    part: Part,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    where: tuple[str, str],
    config: TraceConfig,
    traced: Traced,
) -> None:
    (src, dst, eids), (path, kind), run = edges, where, config.run
    new_ids = part.graph.edge_arrays["_ID"].memmap()
    is_slice = bool((np.diff(eids) == 1).all())
    new = np.array(new_ids[eids[0] : eids[0] + eids.size]) if is_slice else new_ids[eids]
    ids, fault = (_owned_ids if kind == OWNED else _extra_ids)(parts, part, new, run)
    if fault is not None:
        traced.findings.append(fault)
        return
    blocks, counts = np.empty(ids.size, np.int32), np.zeros(config.starts.size, np.int64)
    find_blocks(ids, config.starts, int(run.first_edges[-1]), blocks, counts)
    columns = np.empty((config.num_columns, ids.size), run.eid_dtype)
    local = open_npy(run.local(part.part_id)).memmap()
    trace_edges((src, dst), ids, new, local, config.starts, blocks, group_starts(counts)[:-1], columns)
    create_npy(path, columns.dtype, columns.shape).write(columns, 0)
    present = np.flatnonzero(counts)
    traced.runs.append(TracedRun(part.part_id, path, kind, present, counts[present]))


def _owned_ids(parts: PartitionedGraph, part: Part, new: np.ndarray, run: Run) -> tuple[np.ndarray, Finding | None]:
    """Original homogeneous IDs of edges that a part owns."""
    del parts
    ranges = part.book.edge_ranges[part.part_id]
    low, high = int(ranges[0, 0]), int(ranges[-1, 1])
    if (new < low).any() or (new >= high).any():  # verify-edge-arrays has told
        return new, Finding("edges", f"part{part.part_id}/graph.dgl", "IDs of owned edges", part.part_id)
    return _ids_in_part(part, new, run)


def _extra_ids(parts: PartitionedGraph, part: Part, new: np.ndarray, run: Run) -> tuple[np.ndarray, Finding | None]:
    """Original homogeneous IDs of edges that other parts own: those know."""
    owners = np.searchsorted(parts.book.edge_ranges[:, -1, 1], new, side="right")
    ids = np.empty(new.size, np.int64)
    for owner in np.unique(owners).tolist():
        if owner >= parts.num_parts or owner == part.part_id or new.min() < 0:
            return ids, Finding("edges", f"part{part.part_id}/graph.dgl", "IDs of extra edges", part.part_id)
        mine = owners == owner
        ids[mine], fault = _ids_in_part(parts.part(owner), new[mine], run)
        if fault is not None:
            return ids, fault
    return ids, None


def _ids_in_part(part: Part, new: np.ndarray, run: Run) -> tuple[np.ndarray, Finding | None]:
    ranges = part.book.edge_ranges[part.part_id]
    ends, local = ranges[:, 1] - ranges[0, 0], new - ranges[0, 0]
    ids = np.empty(new.size, np.int64)
    is_slice = bool((np.diff(new) == 1).all())
    slices: list[tuple[int, Any]]
    if is_slice:
        slices = [(t, slice(a - local[0], b - local[0])) for t, a, b in type_slices(ends, local[0], local[-1] + 1)]
    else:
        types = np.searchsorted(ends, local, side="right")
        slices = [(t, np.flatnonzero(types == t)) for t in np.unique(types).tolist()]
    for type_id, where in slices:
        etype = part.book.etypes[type_id]
        begin, region = int(ends[type_id - 1]) if type_id else 0, part.orig_eid_regions[etype]
        rows = local[where] - begin
        found = region.read(int(rows[0]), int(rows[-1]) + 1) if is_slice else region.memmap()[rows]
        bad = np.flatnonzero((found < 0) | (found >= run.num_edges[type_id]))
        if bad.size:
            row = int(rows[bad[0]])
            fault = Finding(
                "original IDs", f"part{part.part_id}/orig_eids.dgl", f"{etype}: row {row:,}", part.part_id, etype, row,
                f"an edge below {run.num_edges[type_id]:,}", f"{found[bad[0]]:,}", bad.size,
            )  # fmt: skip
            return ids, fault
        ids[where] = found + run.first_edges[type_id]
    return ids, None
