"""Passes `collect-extra` and `order-extra`: edges that a part holds without owning them (`inner_edge` = 0).

Two kinds: edges from inner nodes to HALO nodes (option `out_edges`), and in-edges of HALO nodes fewer than `num_hops`
hops away. Each is stored once, under the new ID its owner gave it, after the inner edges, in ascending new ID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.edge_runs import Slices
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.bitmap import select_extra
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.region import create_npy, open_npy
from daskgraphpart.storage.runs import ROW, run_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.edge_runs import RunTable
    from daskgraphpart.dispatching.workspace import Workspace

EID = ROW  # the third column of an extra run holds new edge IDs
EXTRA_DTYPE = np.dtype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ExtraUnit:
    """One run by its number: edges of each owner, and the new ID of its first, int64 (parts,)."""

    index: int
    counts: np.ndarray
    first_new_eids: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class ExtraConfig:
    """Files, ranges of new node IDs (parts, 2), which edges are wanted, and the hops whose in-edges are (or 0)."""

    work: Workspace
    ranges: np.ndarray
    out_edges: bool
    member_hops: int


def collect_extra_pass(
    runs: RunTable, book: PartitionBook, config: ExtraConfig
) -> Pass[ExtraUnit, ExtraConfig, np.ndarray]:
    """Plan the pass; a result holds how many edges of the run each part gets, int64 (parts,)."""
    first = runs.first_new_eids(book)
    units = [ExtraUnit(index, runs.counts[index], first[index]) for index in range(len(runs.num_rows))]
    sizes = [int(rows) * 2 * runs.dtype.itemsize for rows in runs.num_rows]
    return Pass("collect-extra", collect_extra, units, config, sizes)


def collect_extra(unit: ExtraUnit, config: ExtraConfig) -> np.ndarray:
    """Write the edges of one run that parts hold without owning them, grouped by part.

    An edge may go to many parts, so the rows of one part at a time are held, at the price of choosing them twice.
    """
    src, dst, _ = open_npy(config.work.run(unit.index)).read()
    starts = np.cumsum(unit.counts) - unit.counts
    eids = np.arange(src.size) + np.repeat(unit.first_new_eids - starts, unit.counts)
    counts = np.array([rows.size for rows in _chosen_rows(src, dst, unit, config)], np.int64)
    total = int(counts.sum())
    with whole_file(config.work.extra(unit.index)) as temporary:
        create_npy(temporary, EXTRA_DTYPE, (3, total))
        columns = [run_column(temporary, EXTRA_DTYPE, total, i) for i in range(3)]
        first = 0
        for rows in _chosen_rows(src, dst, unit, config):
            for region, values in zip(columns, (src, dst, eids), strict=True):
                region.write(values[rows], first)
            first += rows.size
    return counts


def _chosen_rows(src: np.ndarray, dst: np.ndarray, unit: ExtraUnit, config: ExtraConfig) -> Iterable[np.ndarray]:
    if config.member_hops:
        return (_wanted_by(part, src, dst, config) for part in range(len(config.ranges)))
    return _leaving(src, unit.counts, config)


def _wanted_by(part: int, src: np.ndarray, dst: np.ndarray, config: ExtraConfig) -> np.ndarray:
    members = open_npy(config.work.members(part, config.member_hops)).read()
    selected = np.empty(src.size, np.int64)
    low, high = config.ranges[part]
    count = select_extra(src, dst, low, high, members, config.out_edges, selected)
    return selected[:count].copy()


def _leaving(src: np.ndarray, counts: np.ndarray, config: ExtraConfig) -> list[np.ndarray]:
    """Rows that leave their source's part, by that part; one look-up instead of one scan per part."""
    owner_of_src = np.searchsorted(config.ranges[:, 1], src, side="right")
    rows = np.flatnonzero(owner_of_src != np.repeat(np.arange(counts.size), counts))
    owners = owner_of_src[rows].astype(np.uint16)  # numpy sorts 16 bits by radix
    rows = rows[np.argsort(owners, kind="stable")]
    return np.split(rows, np.cumsum(np.bincount(owners, minlength=counts.size))[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class ExtraTable:
    """Edges of each run that each part holds without owning them, and where they begin: int64 (runs, parts)."""

    counts: np.ndarray
    starts: np.ndarray
    num_rows: np.ndarray

    @classmethod
    def from_counts(cls, counts: np.ndarray) -> ExtraTable:
        """Make the table of the results of `collect-extra`."""
        ends = np.cumsum(counts, axis=1)
        return cls(counts, ends - counts, ends[:, -1])

    @property
    def of_parts(self) -> np.ndarray:
        """Edges of each part, int64 (parts,)."""
        held: np.ndarray = self.counts.sum(axis=0)
        return held

    def slices_of(self, part: int) -> Slices:
        """Slices of the extra runs that one part holds."""
        runs = np.flatnonzero(self.counts[:, part])
        nothing = np.zeros(runs.size, np.int64)
        return Slices(runs, self.num_rows[runs], self.starts[runs, part], self.counts[runs, part], nothing, nothing)


# ----------------------------------------------------------------------------- windows of ascending new edge IDs


@dataclass(frozen=True, slots=True, eq=False)
class OrderUnit:
    """The extra edges of one part, spread over the extra runs."""

    part: int
    slices: Slices


@dataclass(frozen=True, slots=True)
class OrderConfig:
    """Files, number of edges of the graph, and how many edges fit into one window."""

    work: Workspace
    num_edges: int
    most_edges: int


def order_extra_pass(
    table: ExtraTable, config: OrderConfig
) -> Pass[OrderUnit, OrderConfig, list[tuple[int, int, int]]]:
    """Plan the pass; a result lists windows (first new edge ID, end, number of edges)."""
    units = [OrderUnit(part, table.slices_of(part)) for part in range(table.of_parts.size)]
    return Pass("order-extra", order_extra, units, config, [8 * unit.slices.num_edges for unit in units])


def order_extra(unit: OrderUnit, config: OrderConfig) -> list[tuple[int, int, int]]:
    """Cut one part's extra edges into windows of new edge IDs that fit into memory.

    Each slice is in ascending ID, so counting a window is one binary search per slice.
    """
    columns = eid_columns(unit.slices, config.work)
    windows: list[tuple[int, int, int]] = []
    pending = [(0, config.num_edges)]
    while pending:
        low, high = pending.pop()
        count = sum(int(stop - start) for start, stop in window_rows(columns, low, high))
        if count > config.most_edges:
            middle = (low + high) // 2
            pending += [(middle, high), (low, middle)]
        elif count:
            windows.append((low, high, count))
    return windows


def eid_columns(slices: Slices, work: Workspace) -> list[np.ndarray]:
    """Memory-mapped new edge IDs of each slice."""
    return [
        run_column(work.extra(index), EXTRA_DTYPE, rows, EID).memmap()[start : start + count]
        for index, rows, start, count in slices.entries()
    ]


def window_rows(columns: Sequence[np.ndarray], low: int, high: int) -> list[tuple[int, int]]:
    """Rows of each slice whose new edge IDs lie in ``[low, high)``."""
    return [(int(start), int(stop)) for start, stop in (np.searchsorted(column, (low, high)) for column in columns)]
