"""The table of runs: what every part owns of every block of edges, and which IDs that gives. Pure.

New edge IDs follow (part, edge type, original ID), so inside a part the slices of its runs, taken in the order of
edge types and blocks, hold consecutive local edge IDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.offsets import exclusive_sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.book import PartitionBook


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """All runs of a graph, by edge type and block."""

    etype_ids: np.ndarray  # int64 (runs,): edge type of each run; ascending
    first_rows: np.ndarray  # int64 (runs,): original type-wise ID of the first edge of the run's block
    num_rows: np.ndarray  # int64 (runs,): edges of each run
    counts: np.ndarray  # int64 (runs, parts): edges of each run that each part owns
    dtype: np.dtype  # of the runs' columns

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return int(self.counts.shape[1])

    @property
    def edges_of_parts(self) -> np.ndarray:
        """Edges that each part owns, int64 (parts,)."""
        owned: np.ndarray = self.counts.sum(axis=0, dtype=np.int64)
        return owned

    def counts_by_type(self, num_etypes: int) -> np.ndarray:
        """Edges by part and edge type, int64 (parts, edge types)."""
        table = np.zeros((self.num_parts, num_etypes), np.int64)
        np.add.at(table.T, self.etype_ids, self.counts)
        return table

    def starts(self) -> np.ndarray:
        """Where each part's slice of each run begins, int64 (runs, parts)."""
        sums: np.ndarray = np.cumsum(self.counts, axis=1) - self.counts
        return sums

    def first_new_eids(self, book: PartitionBook) -> np.ndarray:
        """New ID of each part's first edge of each run, int64 (runs, parts)."""
        first = np.empty_like(self.counts)
        for type_id in range(len(book.etypes)):
            mine = self.etype_ids == type_id
            first[mine] = book.edge_ranges[:, type_id, 0] + exclusive_sums(self.counts[mine])
        return first

    def slices_of_parts(self) -> list[Slices]:
        """Slices of the runs that hold edges of each part, in the order of their new IDs."""
        found, all_starts = [], self.starts()
        for part in range(self.num_parts):
            runs = np.flatnonzero(self.counts[:, part])
            starts, counts = all_starts[runs, part], self.counts[runs, part]
            found.append(Slices(runs, self.num_rows[runs], starts, counts, self.first_rows[runs], self.etype_ids[runs]))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Consecutive rows of some runs; all fields are int64 arrays with one entry per slice."""

    runs: np.ndarray  # number of the run, which names its file
    run_rows: np.ndarray  # rows of the whole run
    starts: np.ndarray  # first row and number of rows of the slice
    counts: np.ndarray
    first_rows: np.ndarray  # original type-wise ID of the first edge of the run's block
    etype_ids: np.ndarray  # edge type

    @property
    def num_edges(self) -> int:
        """Edges of all slices."""
        return int(self.counts.sum())

    def entries(self) -> Iterator[tuple[int, int, int, int]]:
        """Number of the run, its rows, first row and number of rows of each slice."""
        columns = (self.runs, self.run_rows, self.starts, self.counts)
        yield from zip(*(column.tolist() for column in columns), strict=True)

    def cut(self, most_edges: int) -> Sequence[Slices]:
        """Cut into consecutive groups of at most `most_edges` edges; slices that are larger are split."""
        pieces = np.maximum(1, -(-self.counts // most_edges))
        index = np.repeat(np.arange(self.runs.size), pieces)
        within = np.arange(index.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        starts = self.starts[index] + within * most_edges
        counts = np.minimum(most_edges, self.counts[index] - within * most_edges)
        split = Slices(
            self.runs[index], self.run_rows[index], starts, counts, self.first_rows[index], self.etype_ids[index]
        )
        return [split.take(group) for group in _groups(counts, most_edges)]

    def take(self, which: slice) -> Slices:
        """Return some of the slices."""
        fields = (self.runs, self.run_rows, self.starts, self.counts, self.first_rows, self.etype_ids)
        return Slices(*(field[which] for field in fields))


def _groups(counts: np.ndarray, most: int) -> list[slice]:
    """Consecutive groups of entries whose sums stay at or below `most`, greedily."""
    ends = np.cumsum(counts)
    groups, first, done = [], 0, 0
    while first < counts.size:
        last = max(first + 1, int(np.searchsorted(ends, done + most, side="right")))
        groups.append(slice(first, last))
        first, done = last, int(ends[last - 1])
    return groups
