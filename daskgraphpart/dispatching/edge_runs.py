"""The table of runs: what every part holds of every block of edges, and which IDs that gives. Pure.

New edge IDs follow (part, edge type, original ID), so inside a part the slices of its runs, taken in the order of
edge types and blocks, hold consecutive local edge IDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.dispatching.offsets import exclusive_sums

if TYPE_CHECKING:
    from collections.abc import Iterable

    from daskgraphpart.book import PartitionBook

SLICE = np.dtype([(name, np.int64) for name in ("run", "run_rows", "start", "count", "first_row", "etype_id")])
"""Consecutive rows of a run: number and rows of the whole run; first row and number of rows of the slice; original
type-wise ID of the first edge of the run's block; edge type."""
Slices: TypeAlias = np.ndarray
"""Array (slices,) of dtype `SLICE`."""


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """All runs of a graph, by edge type and block."""

    etype_ids: np.ndarray  # int64 (runs,): edge type of each run; ascending
    first_rows: np.ndarray  # int64 (runs,): original type-wise ID of the first edge of the run's block
    num_rows: np.ndarray  # int64 (runs,): edges of each run
    counts: np.ndarray  # int64 (runs, parts): edges of each run that each part holds

    @property
    def edges_of_parts(self) -> np.ndarray:
        """Edges that each part holds, int64 (parts,)."""
        held: np.ndarray = self.counts.sum(axis=0, dtype=np.int64)
        return held

    def counts_by_type(self, num_etypes: int) -> np.ndarray:
        """Edges by part and edge type, int64 (parts, edge types)."""
        table = np.zeros((self.counts.shape[1], num_etypes), np.int64)
        np.add.at(table.T, self.etype_ids, self.counts)
        return table

    def first_new_eids(self, book: PartitionBook) -> np.ndarray:
        """New ID of each part's first edge of each run, int64 (runs, parts)."""
        first = np.empty_like(self.counts)
        for type_id in range(len(book.etypes)):
            mine = self.etype_ids == type_id
            first[mine] = book.edge_ranges[:, type_id, 0] + exclusive_sums(self.counts[mine])
        return first

    def slices_of_parts(self) -> list[Slices]:
        """Slices of the runs that hold edges of each part, in the order of runs."""
        found, starts = [], np.cumsum(self.counts, axis=1) - self.counts
        for counts, first in zip(self.counts.T, starts.T, strict=True):
            runs = np.flatnonzero(counts)
            slices = np.empty(runs.size, SLICE)
            slices["run"], slices["run_rows"] = runs, self.num_rows[runs]
            slices["start"], slices["count"] = first[runs], counts[runs]
            slices["first_row"], slices["etype_id"] = self.first_rows[runs], self.etype_ids[runs]
            found.append(slices)
        return found


def places_of(slices: Slices) -> Iterable[tuple[int, int, int, int]]:
    """Number of the run, its rows, first row and number of rows of each slice."""
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
