"""Runs of arcs: one block's arcs grouped by slab, a slab being a range of ``2 ** shift`` nodes.

There are about a thousand slabs whatever the graph's size, so the counts of all runs are a small table, and the arcs
of any range of slabs are one slice of each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import Region, save_npy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOG2_SLABS = 10
ARCS_PER_READ = 1 << 20


def slab_shift(num_nodes: int) -> int:
    """Binary logarithm of the nodes of one slab."""
    return max(0, (num_nodes - 1).bit_length() - LOG2_SLABS) if num_nodes else 0


def num_slabs(num_nodes: int) -> int:
    """Number of slabs."""
    return -(-num_nodes >> slab_shift(num_nodes)) if num_nodes else 0


@dataclass(frozen=True, slots=True, eq=False)
class ArcRuns:
    """All runs of one adjacency.

    Parameters
    ----------
    directory : str
        Where the files are: `arcs-<run>.npy` of shape (2, arcs), and `weights-<run>.npy` if arcs have weights.
    num_nodes : int
        Number of nodes.
    dtype : numpy.dtype
        Of nodes and neighbours: int32 or int64.
    weight_dtype : numpy.dtype or None
        Of the arcs' weights: int32 or int64; None if they have none.
    counts : int64 array (runs, slabs)
        Arcs of each run in each slab.
    """

    directory: str
    num_nodes: int
    dtype: np.dtype
    weight_dtype: np.dtype | None
    counts: np.ndarray

    def slices(self, first_slab: int, last_slab: int) -> Iterator[tuple[int, int, int]]:
        """Go through the runs that have arcs in slabs ``[first, last)``: run, first row, last row; bounded pieces."""
        starts = self.counts[:, :first_slab].sum(axis=1)
        lengths = self.counts[:, first_slab:last_slab].sum(axis=1)
        for run in np.flatnonzero(lengths):
            start, stop = int(starts[run]), int(starts[run] + lengths[run])
            for first in range(start, stop, ARCS_PER_READ):
                yield int(run), first, min(stop, first + ARCS_PER_READ)


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive arcs of one run.

    Parameters
    ----------
    path, weight_path : str
        Files of the run; no weights if empty.
    run_rows : int
        Arcs of the whole run.
    start, stop : int
        Rows.
    """

    path: str
    weight_path: str
    run_rows: int
    start: int
    stop: int

    def nodes(self, dtype: np.dtype) -> np.ndarray:
        """Read the nodes."""
        return _column(self.path, dtype, self.run_rows, 0).read(self.start, self.stop)

    def neighbors(self, dtype: np.dtype) -> np.ndarray:
        """Read the neighbours."""
        return _column(self.path, dtype, self.run_rows, 1).read(self.start, self.stop)

    def weights(self, dtype: np.dtype) -> np.ndarray:
        """Read the weights."""
        return _column(self.weight_path, dtype, self.run_rows, 0).read(self.start, self.stop)


def slices_of(runs: ArcRuns, first_slab: int, last_slab: int) -> list[Slice]:
    """Slices of all runs in slabs ``[first, last)``, with their files."""
    rows = runs.counts.sum(axis=1)
    return [
        Slice(
            run_path(runs.directory, run),
            weights_path(runs.directory, run) if runs.weight_dtype else "",
            int(rows[run]),
            start,
            stop,
        )
        for run, start, stop in runs.slices(first_slab, last_slab)
    ]


def run_path(directory: str | Path, index: int) -> str:
    """File of a run's nodes and neighbours."""
    return f"{directory}/arcs-{index:06d}.npy"


def weights_path(directory: str | Path, index: int) -> str:
    """File of a run's weights."""
    return f"{directory}/weights-{index:06d}.npy"


def write_run(directory: str, index: int, arcs: np.ndarray, weights: np.ndarray | None) -> None:
    """Write a run."""
    save_npy(run_path(directory, index), arcs)
    if weights is not None:
        save_npy(weights_path(directory, index), weights)


_HEADER_NBYTES = 128  # an npy header of version 1.0 with a short shape is padded to this


def _column(path: str, dtype: np.dtype, num_rows: int, column: int) -> Region:
    return Region(path, _HEADER_NBYTES + column * num_rows * dtype.itemsize, dtype, (num_rows,))
