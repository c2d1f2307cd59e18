"""Runs of arcs: one block's arcs grouped by node range; a range has ``2 ** shift`` nodes.

There are about a thousand ranges whatever the graph's size, so the counts of all runs are a small table, and the arcs
of consecutive ranges are one slice of each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import Region, save_npy

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG2_SLABS = 10
ARCS_PER_READ = 1 << 20


def range_shift(num_nodes: int) -> int:
    """Binary logarithm of the nodes of one node range."""
    return max(0, (num_nodes - 1).bit_length() - LOG2_SLABS) if num_nodes else 0


def num_node_ranges(num_nodes: int) -> int:
    """Number of node ranges."""
    return -(-num_nodes >> range_shift(num_nodes)) if num_nodes else 0


@dataclass(frozen=True, slots=True, eq=False)
class ArcRuns:
    """All runs of one adjacency: `arcs-<run>.npy` of shape (arcs, 2), and how many arcs each has in each node range.

    `dtype` is that of nodes and neighbours, `counts` an int64 array (runs, node ranges).
    """

    directory: str
    num_nodes: int
    dtype: np.dtype
    counts: np.ndarray

    def slices(self, first_range: int, last_range: int) -> Iterator[tuple[int, int, int]]:
        """Go through the runs that have arcs in ranges ``[first, last)``: run, first row, last row; bounded pieces."""
        starts = self.counts[:, :first_range].sum(axis=1)
        lengths = self.counts[:, first_range:last_range].sum(axis=1)
        for run in np.flatnonzero(lengths):
            start, stop = int(starts[run]), int(starts[run] + lengths[run])
            for first in range(start, stop, ARCS_PER_READ):
                yield int(run), first, min(stop, first + ARCS_PER_READ)


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive arcs of one run: its file, and rows."""

    path: str
    start: int
    stop: int

    @property
    def num_arcs(self) -> int:
        """Number of arcs."""
        return self.stop - self.start

    def read_into(self, arcs: np.ndarray) -> None:
        """Fill an array of that many arcs."""
        Region(self.path, _HEADER_NBYTES, arcs.dtype, (self.stop, arcs.shape[1])).read_into(arcs, self.start)


def slices_of(runs: ArcRuns, first_range: int, last_range: int) -> list[Slice]:
    """Slices of all runs in node ranges ``[first, last)``, with their files."""
    found = runs.slices(first_range, last_range)
    return [Slice(_run_path(runs.directory, run), start, stop) for run, start, stop in found]


def write_run(directory: str, index: int, arcs: np.ndarray) -> None:
    """Write a run."""
    save_npy(_run_path(directory, index), arcs)


def _run_path(directory: str, index: int) -> str:
    return f"{directory}/arcs-{index:06d}.npy"


_HEADER_NBYTES = 128  # an npy header of version 1.0 with a short shape is padded to this
