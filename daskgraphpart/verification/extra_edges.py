"""Pass `verify-extra`: the edges that a part holds without owning them, against those of their owners.

These are in-edges of HALO nodes, if there is more than one hop, and out edges, if they are wanted. Whether they are the
right ones, each once, follows from sums of hashes that `verify-edges` has made of the owned edges: for each HALO node
nearer than the last hop over its in-edges, for the part over the edges that begin in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.compare import add_edge_hashes
from daskgraphpart.storage.region import create_mapped_npy, map_npy, open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, check_parts, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part


@dataclass(frozen=True, slots=True)
class ExtraUnit:
    """Some parts; for each the number of edges that begin in it and others own, and the sum of their hashes."""

    parts: tuple[int, ...]
    out_counts: tuple[int, ...]
    out_sums: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExtraEdges:
    """What was found; `out` are findings that count only if out edges are wanted, `unwanted` if they are not."""

    findings: list[Finding]
    out: list[Finding]
    unwanted: list[Finding]


def verify_extra(unit: ExtraUnit, run: Run) -> ExtraEdges:
    """Check the extra edges of some parts."""
    found = ExtraEdges([], [], [])
    expected = dict(zip(unit.parts, zip(unit.out_counts, unit.out_sums, strict=True), strict=True))
    found.findings.extend(check_parts(unit.parts, run, lambda part: _check(part, run, expected[part.part_id], found)))
    return found


def extra_findings(results: list[ExtraEdges], out_edges: bool | None) -> list[Finding]:
    """List what is wrong, given whether out edges are wanted; None if all parts shall have them, or none."""
    wanted = any(found.unwanted for found in results) if out_edges is None else out_edges
    findings = [finding for found in results for finding in found.findings]
    return findings + [finding for found in results for finding in (found.out if wanted else found.unwanted)]


def _check(part: Part, run: Run, expected: tuple[int, int], found: ExtraEdges) -> Iterator[Finding]:
    members = _members(part, run)
    near = None
    if members.any():
        near = create_mapped_npy(f"{run.scratch}/near-{part.part_id}.npy", np.uint64, members.shape).path
    sums = np.zeros(1, np.uint64)
    num_out = num_far = num_other = 0
    new_nids, new_eids = part.graph.node_arrays["_ID"], part.graph.edge_arrays["_ID"]
    inner = part.num_inner_nodes
    for src, dst, eids in part.graph.edge_pieces(part.num_inner_edges, rows=run.piece_rows):
        ends, ids = (new_nids.take(src), new_nids.take(dst)), new_eids.take(eids)
        leaves, is_near = src < inner, members[dst - inner]
        add_edge_hashes(ends[0][leaves], ends[1][leaves], ids[leaves], np.zeros(leaves.sum(), np.int64), sums)
        num_out += int(leaves.sum())
        num_far += int((leaves & ~is_near).sum())
        num_other += int((~leaves & ~is_near).sum())
        if near is not None:
            halo = (dst - inner)[is_near]
            mapped = map_npy(near)
            add_edge_hashes(ends[0][is_near], ends[1][is_near], ids[is_near], halo, mapped)
    file, number = f"part{part.part_id}/graph.dgl", part.part_id
    if num_other:
        what = "edges beside these of the part, of its HALO nodes, and those that begin in it"
        yield Finding("extra edges", file, what, number, expected="0", found=f"{num_other:,}")
    if near is not None:
        yield from _check_near(part, run, members, near)
    if (num_out, int(sums[0])) != expected:
        what = "edges that begin in the part and end outside"
        says = f"{num_out:,}" if num_out != expected[0] else "as many, but others or one of them twice"
        found.out.append(Finding("extra edges", file, what, number, expected=f"{expected[0]:,}", found=says))
    if num_far:
        what = "edges that begin in the part and end outside"
        found.unwanted.append(Finding("extra edges", file, what, number, expected="0", found=f"{num_far:,}"))


def _members(part: Part, run: Run) -> np.ndarray:
    """HALO nodes nearer than the last hop, whose in-edges the part has to hold: bool (HALO nodes,)."""
    inner, graph = part.num_inner_nodes, part.graph
    members = np.zeros(part.num_halo_nodes, bool)
    if run.num_hops == 1:
        return members
    for src, _, _ in graph.edge_pieces(0, part.num_inner_edges, rows=run.piece_rows):
        members[src[src >= inner] - inner] = True
    for _ in range(run.num_hops - 2):
        grown = members.copy()
        for src, dst, _ in graph.edge_pieces(part.num_inner_edges, rows=run.piece_rows):
            reached = src[members[dst - inner]]
            grown[reached[reached >= inner] - inner] = True
        members = grown
    return members


def _check_near(part: Part, run: Run, members: np.ndarray, near: str) -> Iterator[Finding]:
    """Compare the sum of the in-edges of each member with that of its owner."""
    in_sums, sums, new_nids = open_npy(run.in_sums_path), open_npy(near), part.graph.node_arrays["_ID"]
    wrong, example = 0, -1
    for first, stop in pieces(0, members.size, run.piece_rows):
        ids = new_nids.read(part.num_inner_nodes + first, part.num_inner_nodes + stop)
        differ = np.flatnonzero(members[first:stop] & (in_sums.take(ids) != sums.read(first, stop)))
        if differ.size and example < 0:
            example = part.num_inner_nodes + first + int(differ[0])
        wrong += differ.size
    if wrong:
        new = int(new_nids.read(example, example + 1)[0])
        yield Finding(
            "extra edges", f"part{part.part_id}/graph.dgl",
            f"in-edges of HALO nodes: those of local node {example:,}, new ID {new:,}", part.part_id, row=example,
            expected="all that its owner has, each once", found="others", count=wrong,
        )  # fmt: skip
