"""Runs of edges, and their table: how many edges each part holds of every block, and the IDs that follow.

A run is the edges of a block, or of small consecutive ones, grouped by owner, in a plain npy array of three rows: new
source IDs, new destination IDs, and the edge's row in its block. Each owner's edges are one slice of all three, so a
part reads its own with three small reads.

New edge IDs follow (part, edge type, original ID), so a part's slices of runs, in order of edge types and blocks, hold
consecutive local edge IDs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.dispatching.offsets import exclusive_sums
from daskgraphpart.storage.region import Region, npy_region

if TYPE_CHECKING:
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.ids.book import PartitionBook

SOURCE, DESTINATION, ROW = 0, 1, 2
ROWS_PER_READ = 1 << 18
EXTRA_DTYPE = np.dtype(np.int64)
"""Of runs of edges that parts hold without owning them; their third row is new edge IDs."""
SLICE = np.dtype([(name, np.int64) for name in ("run", "run_rows", "start", "count", "first_row", "etype_id")])
"""Consecutive rows of a run: number and rows of the whole run; first row and number of rows of the slice; original
type-wise ID of the first edge of the block that they are of; edge type."""
Slices: TypeAlias = np.ndarray
"""Array (slices,) of dtype `SLICE`."""


@dataclass(frozen=True, slots=True, eq=False)
class EdgeRunIndex:
    """All blocks of edges, by edge type and ID, and the runs that hold them."""

    runs: np.ndarray  # int64 (blocks,): run of each block, ascending
    etype_ids: np.ndarray  # int64 (blocks,): edge type, ascending
    first_rows: np.ndarray  # int64 (blocks,): original type-wise ID of the first edge
    counts: np.ndarray  # int64 (blocks, parts): edges that each part holds

    @property
    def edges_of_parts(self) -> np.ndarray:
        """Edges that each part holds, int64 (parts,)."""
        held: np.ndarray = self.counts.sum(axis=0, dtype=np.int64)
        return held

    @property
    def run_rows(self) -> np.ndarray:
        """Edges of each run, int64 (runs,)."""
        return np.bincount(self.runs, self.counts.sum(axis=1)).astype(np.int64)

    def counts_by_type(self, num_etypes: int) -> np.ndarray:
        """Edges by part and edge type, int64 (parts, edge types)."""
        table = np.zeros((self.counts.shape[1], num_etypes), np.int64)
        np.add.at(table.T, self.etype_ids, self.counts)
        return table

    def first_new_eids(self, book: PartitionBook) -> np.ndarray:
        """New ID of each part's first edge of each block, int64 (blocks, parts)."""
        before = exclusive_sums(self.counts)
        of_type = np.searchsorted(self.etype_ids, self.etype_ids)  # first block of the same type
        first: np.ndarray = book.edge_ranges[:, self.etype_ids, 0].T + before - before[of_type]
        return first

    def by_run(self, of_blocks: np.ndarray) -> list[np.ndarray]:
        """Split rows of blocks by run."""
        return np.split(of_blocks, np.flatnonzero(np.diff(self.runs)) + 1) if len(self.runs) else []

    def slices_of_parts(self) -> list[Slices]:
        """Slices of runs with each part's edges, in block order."""
        if not self.runs.size:
            return [np.empty(0, SLICE)] * self.counts.shape[1]
        by_part, starts = [], np.concatenate([starts_in_run(counts) for counts in self.by_run(self.counts)])
        run_rows = self.run_rows
        for counts, first in zip(self.counts.T, starts.T, strict=True):
            blocks = np.flatnonzero(counts)
            slices = np.empty(blocks.size, SLICE)
            slices["run"], slices["run_rows"] = self.runs[blocks], run_rows[self.runs[blocks]]
            slices["start"], slices["count"] = first[blocks], counts[blocks]
            slices["first_row"], slices["etype_id"] = self.first_rows[blocks], self.etype_ids[blocks]
            by_part.append(slices)
        return by_part


def starts_in_run(counts: np.ndarray) -> np.ndarray:
    """Where each part's edges of each block begin in a run of these blocks, int64 (blocks, parts)."""
    ends = np.cumsum(counts.T).reshape(counts.shape[::-1]).T  # a part's edges are together, in block order
    return np.ascontiguousarray(ends - counts)


def reads_of(slices: Slices) -> Iterable[tuple[int, int, int, int]]:
    """Places of slices like `places_of`, with consecutive ones joined."""
    if not slices.size:
        return []
    ends = slices["start"] + slices["count"]
    follows = (slices["run"][1:] == slices["run"][:-1]) & (slices["start"][1:] == ends[:-1])
    first = np.flatnonzero(np.append(True, ~follows))
    joined = slices[first]
    joined["count"] = np.add.reduceat(slices["count"], first)
    return places_of(joined)


def places_of(slices: Slices) -> Iterable[tuple[int, int, int, int]]:
    """Run number, its rows, first row and row count of each slice."""
    places: list[tuple[int, int, int, int]] = slices[["run", "run_rows", "start", "count"]].tolist()
    return places


def cut_slices(slices: Slices, max_edges: int) -> list[Slices]:
    """Cut slices into consecutive groups of `max_edges` edges; the last may have fewer."""
    ends = np.cumsum(slices["count"])
    full = np.arange(max_edges, ends.max(initial=0), max_edges)
    stops = np.union1d(ends, full)
    whole = np.searchsorted(ends, stops)
    cut = slices[whole]
    cut["count"] = np.diff(stops, prepend=0)
    cut["start"] += stops - cut["count"] - (ends - slices["count"])[whole]
    return np.split(cut, np.searchsorted(stops, full, side="right")) if cut.size else []


def run_column(path: str, dtype: np.dtype, num_rows: int, column: int) -> Region:
    """Region of one column of a run, without reading its header."""
    return npy_region(path, dtype, (3, num_rows)).row(column)


def read_columns(
    path: str, dtype: np.dtype, run_rows: int, columns: tuple[int, ...], start: int, count: int
) -> Iterator[tuple[np.ndarray, ...]]:
    """Read columns of a slice of a run in pieces."""
    regions = [run_column(path, dtype, run_rows, column) for column in columns]
    for first in range(start, start + count, ROWS_PER_READ):
        yield tuple(region.read(first, min(first + ROWS_PER_READ, start + count)) for region in regions)


def read_window(slices: Slices, window: tuple[int, int], work: Workspace) -> tuple[np.ndarray, ...]:
    """Read new IDs of sources, destinations and edges of a part's extra edges in a window, by ascending edge ID."""
    columns: list[list[np.ndarray]] = [[], [], []]
    windows = window_rows(eid_columns(slices, work), *window)
    for (run, run_rows, first, _), (start, stop) in zip(places_of(slices), windows, strict=True):
        for column, values in enumerate(columns):
            region = run_column(work.file("extra", run), EXTRA_DTYPE, run_rows, column)
            values.append(region.read(first + start, first + stop))
    src, dst, eids = (np.concatenate(values) for values in columns)
    order = np.argsort(eids)
    return src[order], dst[order], eids[order]


def eid_columns(slices: Slices, work: Workspace) -> list[np.ndarray]:
    """Memory-mapped new edge IDs of each slice."""
    return [
        run_column(work.file("extra", run), EXTRA_DTYPE, run_rows, ROW).memmap()[start : start + count]
        for run, run_rows, start, count in places_of(slices)
    ]


def window_rows(columns: Sequence[np.ndarray], low: int, high: int) -> list[tuple[int, int]]:
    """Rows of each slice with new edge IDs in ``[low, high)``."""
    return [(int(start), int(stop)) for start, stop in (np.searchsorted(column, (low, high)) for column in columns)]
