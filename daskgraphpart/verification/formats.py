"""Pass `verify-formats`: edge arrays of each part, and whether COO, CSR and CSC hold the same edges.

Where COO is not stored it is rebuilt in the scratch directory, for `verify-edges`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import create_npy, open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.nodes import read_pieces
from daskgraphpart.verification.opened import Run, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.region import Region

ROWS_PER_READ = 1 << 18


def verify_formats(number: int, run: Run) -> list[Finding]:
    """Check the edge arrays and formats of one part."""
    parts = opened(run)
    part, book = parts.part(number), parts.book
    owned = int((book.edge_ranges[number, :, 1] - book.edge_ranges[number, :, 0]).sum())
    first_eid = int(book.edge_ranges[number, 0, 0]) if len(book.etypes) else 0
    findings = [*_edge_arrays(part, number, owned, first_eid)]
    if findings:
        return findings
    compressed = [name for name in ("csc", "csr") if name in part.graph.formats]
    if "coo" not in part.graph.formats:
        for end in ("row", "col"):
            create_npy(_rebuilt(run.scratch, number, end), np.dtype("<i8"), (part.graph.num_edges,))
        _rebuild(part.graph.formats[compressed[0]], compressed[0], coo_regions(part, number, run.scratch))
    row, col = coo_regions(part, number, run.scratch)
    for name in compressed:
        findings += _same_edges(part, number, name, (row, col))
    findings += _ends_in_range(part, number, (row, col))
    return findings


def coo_regions(part: Part, number: int, scratch: str) -> tuple[Region, Region]:
    """Local sources and destinations of a part's edges, stored or rebuilt."""
    if "coo" in part.graph.formats:
        return part.graph.formats["coo"]["row"], part.graph.formats["coo"]["col"]
    return open_npy(_rebuilt(scratch, number, "row")), open_npy(_rebuilt(scratch, number, "col"))


def _rebuilt(scratch: str, number: int, end: str) -> str:
    return f"{scratch}/{number}-{end}.npy"


def _edge_arrays(part: Part, number: int, owned: int, first_eid: int) -> Iterator[Finding]:
    file, last = f"part{number}/graph.dgl", -1
    for first, ids in read_pieces(part.graph.edge_arrays["_ID"]):
        inner = part.graph.edge_arrays["inner_edge"].read(first, first + ids.size).astype(bool)
        local = np.arange(first, first + ids.size)
        bad = np.flatnonzero((inner != (local < owned)) | ((local < owned) & (ids != first_eid + local)))
        extra = ids[local >= owned]
        if bad.size:
            row = int(bad[0])
            yield Finding(
                "inner edges", file, f"local edge {first + row:,} has ID {ids[row]:,} and inner_edge {int(inner[row])}"
            )
            return
        if extra.size and (extra[0] <= last or (np.diff(extra) <= 0).any()):
            yield Finding("extra edges", file, f"IDs do not ascend near local edge {first:,}")
            return
        last = int(extra[-1]) if extra.size else last


def _row_blocks(matrix: Mapping[str, Region]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows, columns and edge IDs of a CSR, piece by piece."""
    indptr, done = matrix["indptr"], 0
    num_edges = matrix["indices"].num_rows
    row = 0
    while row < indptr.num_rows - 1:
        stop = min(row + ROWS_PER_READ, indptr.num_rows - 1)
        ends = indptr.read(row, stop + 1)
        if ends[0] != done or (np.diff(ends) < 0).any() or ends[-1] > num_edges:
            raise ValueError(f"indptr is not ascending near row {row:,}")
        for first in range(int(ends[0]), int(ends[-1]), ROWS_PER_READ):
            last = min(first + ROWS_PER_READ, int(ends[-1]))
            rows = np.searchsorted(ends, np.arange(first, last), side="right") - 1 + row
            yield rows, matrix["indices"].read(first, last), matrix["data"].read(first, last)
        row, done = stop, int(ends[-1])
    if done != num_edges:
        raise ValueError(f"indptr ends at {done:,}, there are {num_edges:,} edges")


def _rebuild(matrix: Mapping[str, Region], name: str, coo: tuple[Region, Region]) -> None:
    targets = [np.lib.format.open_memmap(region.path, mode="r+") for region in coo]
    for rows, columns, eids in _row_blocks(matrix):
        src, dst = (columns, rows) if name == "csc" else (rows, columns)
        inside = (eids >= 0) & (eids < targets[0].size)
        targets[0][eids[inside]] = src[inside]
        targets[1][eids[inside]] = dst[inside]


def _same_edges(part: Part, number: int, name: str, coo: tuple[Region, Region]) -> Iterator[Finding]:
    file = f"part{number}/graph.dgl"
    row, col = (region.memmap() for region in coo)
    seen = np.zeros(row.size, bool)
    try:
        for rows, columns, eids in _row_blocks(part.graph.formats[name]):
            src, dst = (columns, rows) if name == "csc" else (rows, columns)
            if eids.min() < 0 or eids.max() >= row.size:
                yield Finding("formats", file, f"{name}: edge IDs out of range")
                return
            wrong = np.flatnonzero((row[eids] != src) | (col[eids] != dst) | seen[eids])
            if wrong.size:
                yield Finding(
                    "formats",
                    file,
                    f"{name}: local edge {eids[wrong[0]]:,} is not the edge of the other formats, or is there twice",
                )
                return
            seen[eids] = True
    except ValueError as fault:
        yield Finding("formats", file, f"{name}: {fault}")
        return
    if not seen.all():
        yield Finding("formats", file, f"{name}: local edge {int(np.argmin(seen)):,} is missing")


def _ends_in_range(part: Part, number: int, coo: tuple[Region, Region]) -> Iterator[Finding]:
    for region in coo:
        for first, ids in read_pieces(region):
            bad = np.flatnonzero((ids < 0) | (ids >= part.graph.num_nodes))
            if bad.size:
                what = f"local edge {first + bad[0]:,} ends in local node {ids[bad[0]]:,} of {part.graph.num_nodes:,}"
                yield Finding("edges", f"part{number}/graph.dgl", what)
                return
