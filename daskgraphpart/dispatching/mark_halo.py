"""Pass `mark-halo`: which foreign nodes each part holds.

A bitmap over the new ID space, N / 8 bytes: membership without sorting or hashing. Those of all parts lie in one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.edge_runs import DESTINATION, EXTRA_DTYPE, SOURCE, Slices, reads_of, run_column
from daskgraphpart.dispatching.part_graph import GraphConfig, ranks_of
from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap

if TYPE_CHECKING:
    import numpy as np


ROWS_PER_READ = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class HaloUnit:
    """One part: its range of new node IDs, the edges it owns, and its extra edges."""

    part: int
    low: int
    high: int
    owned: Slices
    extra: Slices


def mark_halo(unit: HaloUnit, config: GraphConfig) -> tuple[int, int]:
    """Write the bitmap of one part's halo nodes; return how many there are, and the cut edges the part owns."""
    words = empty_bitmap(config.num_nodes)
    num_cut_edges = 0
    for run, run_rows, start, count in reads_of(unit.owned):
        for (src,) in read_columns(config.work.file("runs", run), config.run_dtype, run_rows, (SOURCE,), start, count):
            num_cut_edges += add_foreign(src, unit.low, unit.high, words)
    for run, run_rows, start, count in reads_of(unit.extra):
        for ends in read_columns(
            config.work.file("extra", run), EXTRA_DTYPE, run_rows, (SOURCE, DESTINATION), start, count
        ):
            for ids in ends:
                add_foreign(ids, unit.low, unit.high, words)
    config.halo.row(unit.part).write(words, 0)
    return ranks_of(words, config.num_nodes)[1], int(num_cut_edges)


def read_columns(
    path: str, dtype: np.dtype, run_rows: int, columns: tuple[int, ...], start: int, count: int
) -> Iterator[tuple[np.ndarray, ...]]:
    """Read columns of a slice of a run in pieces."""
    regions = [run_column(path, dtype, run_rows, column) for column in columns]
    for first in range(start, start + count, ROWS_PER_READ):
        yield tuple(region.read(first, min(first + ROWS_PER_READ, start + count)) for region in regions)
