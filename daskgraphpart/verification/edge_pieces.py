"""Edges of a part piece by piece, from whichever format is stored, and checks of the formats against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.compare import sum_edges
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened, read_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from daskgraphpart.layouts.dgl_graph_file import GraphFile
    from daskgraphpart.partitioned.graph import PartitionedGraph

SUM_SHIFT = 20
"""Sums are kept for windows of so many bits of edge IDs, to tell where formats differ."""


@dataclass(frozen=True, slots=True)
class EdgeStripe:
    """Edges ``[first, stop)`` of a part, by their places in a format; `number` counts the stripes of a part."""

    part: int
    number: int
    format: str
    first: int
    stop: int


def main_format(graph: GraphFile) -> str:
    """Format the edges are read from."""
    return next(name for name in ("coo", "csc", "csr") if name in graph.formats)


def edge_stripes(
    parts: PartitionedGraph, rows: int, names_of: Callable[[GraphFile], Iterable[str]]
) -> list[EdgeStripe]:
    """Cut the edges of all parts, in the formats that `names_of` lists for a part."""
    return [
        EdgeStripe(part.part_id, i, name, first, min(first + rows, part.graph.num_edges))
        for part in parts.parts
        for name in names_of(part.graph)
        for i, first in enumerate(range(0, part.graph.num_edges, rows))
    ]


def compared_formats(graph: GraphFile) -> list[str]:
    """Formats to compare with each other."""
    return list(graph.formats) if len(graph.formats) > 1 else []


def claimed_formats(graph: GraphFile) -> list[str]:
    """Formats that are said to be sorted."""
    return [name for name, claims in graph.claims.items() if any(claims)]


def edge_pieces(
    graph: GraphFile, name: str, span: tuple[int, int], rows: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Read edges by their places in a format: first place, local sources, local destinations, local edge IDs."""
    first, stop = span
    for start in range(first, stop, rows):
        end = min(start + rows, stop)
        if name == "coo":
            coo = graph.formats["coo"]
            yield start, coo["row"].read(start, end), coo["col"].read(start, end), np.arange(start, end)
            continue
        matrix = graph.formats[name]
        starts = matrix["indptr"].memmap()
        low, high = np.searchsorted(starts, (start, end - 1), side="right")
        ends = matrix["indptr"].read(int(low) - 1, int(high) + 1).clip(start, end)
        heads = np.repeat(np.arange(low - 1, high), np.diff(ends))
        tails = matrix["indices"].read(start, end)
        eids = matrix["data"].read(start, end) if matrix["data"].num_rows else np.arange(start, end)
        yield (start, tails, heads, eids) if name == "csc" else (start, heads, tails, eids)


def verify_row_starts(number: int, run: Run) -> list[Finding]:
    """Task of the pass `verify-row-starts`: whether the row starts of CSR and CSC ascend from 0 to the edges."""
    graph = opened(run.opening).part(number).graph
    findings = []
    for name in graph.formats.keys() - {"coo"}:
        starts, last = graph.formats[name]["indptr"], 0
        bad = None
        for first, piece in read_pieces(starts, 0, starts.num_rows, run.piece_rows):
            falls = np.flatnonzero(np.diff(piece, prepend=last) < 0)
            if falls.size or (first == 0 and piece[0] != 0):
                bad = first + (int(falls[0]) if falls.size else 0)
                break
            last = int(piece[-1])
        if bad is not None or last != graph.num_edges:
            what = f"{name}: row starts do not ascend from 0 to {graph.num_edges:,}"
            row = starts.num_rows - 1 if bad is None else bad
            found = f"{int(starts.read(row, row + 1)[0]):,} for row {row:,}"
            findings.append(Finding("formats", f"part{number}/graph.dgl", what, number, row=row, found=found))
    return findings


@dataclass(frozen=True, slots=True, eq=False)
class FormatSums:
    """Sums of hashes of a stripe's edges, by window of edge IDs, and what is wrong with them."""

    sums: np.ndarray
    findings: Sequence[Finding]


def sum_formats(unit: EdgeStripe, run: Run) -> FormatSums:
    """Task of the pass `verify-formats`: sum up hashes of edges, and check what is claimed to be sorted."""
    graph = opened(run.opening).part(unit.part).graph
    sums = np.zeros((graph.num_edges >> SUM_SHIFT) + 1, np.uint64)
    findings: list[Finding] = []
    for first, src, dst, eids in edge_pieces(graph, unit.format, (unit.first, unit.stop), run.piece_rows):
        bad = int(sum_edges(src, dst, eids, SUM_SHIFT, sums))
        if bad >= 0 and not findings:
            findings.append(
                Finding(
                    "formats",
                    f"part{unit.part}/graph.dgl",
                    f"{unit.format}: edge ID in place {first + bad:,}",
                    unit.part,
                    row=first + bad,
                    expected=f"below {graph.num_edges:,}",
                    found=f"{eids[bad]:,}",
                )
            )
    return FormatSums(sums, findings)


def claim_findings(unit: EdgeStripe, run: Run) -> list[Finding]:
    """Task of the pass `verify-claims`: whether edges that a file calls sorted are; DGL crashes if they are not."""
    graph = opened(run.opening).part(unit.part).graph
    claims = graph.claims[unit.format]
    last = (-1, -1)
    # one edge earlier: the last of the stripe before
    for first, src, dst, _ in edge_pieces(graph, unit.format, (max(0, unit.first - 1), unit.stop), run.piece_rows):
        rows, columns = (dst, src) if unit.format == "csc" else (src, dst)
        row_steps, column_steps = np.diff(rows, prepend=last[0]), np.diff(columns, prepend=last[1])
        # COO claims rows, and columns inside rows; CSR and CSC columns inside rows, their rows are sorted anyway
        wrong = np.zeros(rows.size, bool)
        if unit.format == "coo" and claims[0]:
            wrong |= row_steps < 0
        if claims[-1]:
            wrong |= (row_steps == 0) & (column_steps < 0)
        if wrong.any():
            place = first + int(np.argmax(wrong))
            what = f"{unit.format}: said to be sorted, but edge {place:,} is smaller than the one before"
            return [Finding("formats", f"part{unit.part}/graph.dgl", what, unit.part, row=place)]
        last = (int(rows[-1]), int(columns[-1]))
    return []


def compare_sums(units: Sequence[EdgeStripe], results: Sequence[FormatSums], run: Run) -> Iterator[Finding]:
    """Compare the sums of the formats of each part, and find an edge that differs."""
    totals: dict[tuple[int, str], np.ndarray] = {}
    for unit, result in zip(units, results, strict=True):
        yield from result.findings
        key = (unit.part, unit.format)
        totals[key] = totals[key] + result.sums if key in totals else result.sums.copy()
    for (number, name), sums in totals.items():
        graph = opened(run.opening).part(number).graph
        main = main_format(graph)
        differ = np.flatnonzero(sums != totals[number, main])
        if differ.size:
            example = _example(graph, (main, name), int(differ[0]), run)
            what = f"{name} and {main} hold different edges: {example}"
            yield Finding("formats", f"part{number}/graph.dgl", what, number)


def _example(graph: GraphFile, names: tuple[str, str], window: int, run: Run) -> str:
    """Compare two formats edge by edge, for the IDs of one window."""
    low = window << SUM_SHIFT
    size = min(1 << SUM_SHIFT, graph.num_edges - low)
    found = []
    for name in names:
        table = np.full((3, max(size, 0)), -1)
        table[2] = 0
        for _, src, dst, eids in edge_pieces(graph, name, (0, graph.num_edges), run.piece_rows):
            mine = (eids >= low) & (eids < low + size)
            table[0, eids[mine] - low], table[1, eids[mine] - low] = src[mine], dst[mine]
            np.add.at(table[2], eids[mine] - low, 1)
        found.append(table)
    differ = np.flatnonzero((found[0] != found[1]).any(axis=0))
    if not differ.size:
        return f"edge IDs out of range beside {low:,}"
    edge = int(differ[0])
    ends = [f"{table[0, edge]:,} to {table[1, edge]:,} ({table[2, edge]} times)" for table in found]
    return f"local edge {low + edge:,} is {ends[0]} in {names[0]}, {ends[1]} in {names[1]}"
