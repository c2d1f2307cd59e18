"""Pass `verify-edges`: every edge of a block of the input, once, in the part that owns its destination."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.book import canonical_tuple
from daskgraphpart.chunked.read_block import check_ids, read_edges
from daskgraphpart.kernels.compare import compare_edges
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.schema import EdgeType
from daskgraphpart.storage.region import Region, open_npy
from daskgraphpart.storage.runs import HEADER_NBYTES
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened
from daskgraphpart.verification.trace import EXTRA, OWNED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.verification.trace import TracedRun


@dataclass(frozen=True, slots=True)
class Slice:
    """Edges ``[start, start + count)`` of a run of `num_rows` traced edges."""

    part: int
    path: str
    kind: str
    num_rows: int
    start: int
    count: int

    def columns(self, dtype: np.dtype, number: int) -> tuple[np.ndarray, ...]:
        """Read the first `number` columns."""
        size = self.num_rows * dtype.itemsize
        regions = (Region(self.path, HEADER_NBYTES + i * size, dtype, (self.num_rows,)) for i in range(number))
        return tuple(region.read(self.start, self.start + self.count) for region in regions)


@dataclass(frozen=True, slots=True)
class EdgeCheck:
    """One block of the input, and what parts hold of it; edges with data have their new IDs kept."""

    type_id: int
    block: Block
    slices: tuple[Slice, ...]
    has_data: bool


def slices_of_blocks(runs: Sequence[TracedRun], num_blocks: int) -> list[list[Slice]]:
    """List for each block the slices of all runs."""
    found: list[list[Slice]] = [[] for _ in range(num_blocks)]
    for run in runs:
        starts = group_starts(run.counts)
        for block, start, count in zip(run.blocks.tolist(), starts.tolist(), run.counts.tolist(), strict=False):
            found[block].append(Slice(run.part, run.path, run.kind, int(starts[-1]), start, count))
    return found


def verify_edges(unit: EdgeCheck, run: Run) -> list[Finding]:
    """Compare one block with what the parts say of its edges."""
    etype = opened(run.opening).etypes[unit.type_id]
    expected = _expected(unit, run)
    findings: list[Finding] = []
    times = np.zeros(unit.block.num_rows, np.uint8)
    new_eids = np.zeros(unit.block.num_rows if unit.has_data else 0, run.eid_dtype)
    of_kind: dict[str, list[Slice]] = {OWNED: [], EXTRA: []}
    for piece in unit.slices:
        of_kind[piece.kind].append(piece)
    for piece in of_kind[OWNED]:
        columns = piece.columns(run.eid_dtype, 4 if unit.has_data else 3)
        findings += _differences(unit, run, piece, columns[:3], (expected, times))
        if unit.has_data:
            new_eids[columns[0]] = columns[3]
    wrong = np.flatnonzero(times != 1)
    if wrong.size:
        row = unit.block.first_row + int(wrong[0])
        what = f"{etype}: edge {row:,} of the input"
        findings.append(
            Finding(
                "every edge once",
                "orig_eids.dgl",
                what,
                kind=etype,
                row=row,
                expected="owned once",
                found=f"{times[wrong[0]]} times",
                count=wrong.size,
            )
        )
    findings += _extra(unit, run, of_kind[EXTRA], expected)
    if unit.has_data:
        open_npy(run.new_eids(unit.type_id)).write(new_eids, unit.block.first_row)
    return findings


def _expected(unit: EdgeCheck, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Original homogeneous ends of the edges of a block."""
    src, dst = read_edges(unit.block)
    parts = opened(run.opening)
    edge_type = EdgeType(*canonical_tuple(parts.etypes[unit.type_id]), run.num_edges[unit.type_id])
    of_src, of_dst = (parts.ntypes.index(ntype) for ntype in (edge_type.src, edge_type.dst))
    check_ids(src, dst, run.num_nodes[of_src], run.num_nodes[of_dst], unit.block, edge_type)
    return src + run.first_nodes[of_src], dst + run.first_nodes[of_dst]


def _extra(
    unit: EdgeCheck, run: Run, slices: Sequence[Slice], expected: tuple[np.ndarray, np.ndarray]
) -> Iterator[Finding]:
    """Compare edges that parts hold without owning them; no part may hold one twice."""
    of_part = defaultdict(list)
    for piece in slices:
        of_part[piece.part].append(piece)
    for part, pieces in of_part.items():
        times = np.zeros(unit.block.num_rows, np.uint8)
        for piece in pieces:
            yield from _differences(unit, run, piece, piece.columns(run.eid_dtype, 3), (expected, times))
        twice = np.flatnonzero(times > 1)
        if twice.size:
            row = unit.block.first_row + int(twice[0])
            what = f"edge {row:,} of the input is there {times[twice[0]]} times"
            yield Finding("extra edges", f"part{part}/graph.dgl", what, part, row=row, count=twice.size)


def _differences(
    unit: EdgeCheck,
    run: Run,
    piece: Slice,
    columns: tuple[np.ndarray, ...],
    against: tuple[tuple[np.ndarray, np.ndarray], np.ndarray],
) -> Iterator[Finding]:
    expected, times = against
    first, count = compare_edges(columns, expected, times)
    if first >= 0:
        parts = opened(run.opening)
        row = int(columns[0][first])
        ends = [
            " to ".join(_named(int(ids[i]), parts.ntypes, run) for ids in found)
            for found, i in ((expected, row), (columns[1:], first))
        ]
        number = unit.block.first_row + row
        yield Finding(
            "edges", f"part{piece.part}/graph.dgl", f"{parts.etypes[unit.type_id]}: edge {number:,} of the input",
            piece.part, parts.etypes[unit.type_id], number, ends[0], ends[1], int(count),
        )  # fmt: skip


def _named(node: int, ntypes: Sequence[str], run: Run) -> str:
    """Original homogeneous ID as the user knows it."""
    type_id = int(np.searchsorted(run.first_nodes, node, side="right")) - 1
    return f"{ntypes[type_id]} {node - int(run.first_nodes[type_id]):,}"
