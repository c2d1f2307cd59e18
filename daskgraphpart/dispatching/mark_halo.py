"""Passes `mark-halo` and `follow-hops`: which foreign nodes each part holds.

A bitmap over the new ID space, N / 8 bytes, with the number of members before each word: membership and local IDs
without sorting or hashing. Local IDs are inner nodes in new-ID order, then HALO nodes in ascending new-ID order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.bitmap import add_foreign, add_sources_of_members, empty_bitmap, rank_words
from daskgraphpart.storage.region import open_npy, save_npy
from daskgraphpart.storage.runs import DESTINATION, SOURCE, id_dtype, run_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.dispatching.edge_runs import RunTable, Slices
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.storage.region import Region

ROWS_PER_READ = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class HaloUnit:
    """One part: its range of new node IDs, the edges it owns, and those it holds without owning them."""

    part: int
    low: int
    high: int
    owned: Slices
    extra: Slices | None = None


@dataclass(frozen=True, slots=True)
class HaloConfig:
    """Files, the size of the ID space, and the dtype of the runs."""

    work: Workspace
    num_nodes: int
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class HaloResult:
    """HALO nodes of one part, and the edges it owns whose source is foreign."""

    num_halo_nodes: int
    num_cut_edges: int


def mark_halo_pass(units: Sequence[HaloUnit], config: HaloConfig) -> Pass[HaloUnit, HaloConfig, HaloResult]:
    """Plan the pass."""
    sizes = [unit.owned.num_edges * config.dtype.itemsize for unit in units]
    return Pass("mark-halo", mark_halo, units, config, sizes, (HaloResult,))


def mark_halo(unit: HaloUnit, config: HaloConfig) -> HaloResult:
    """Write bitmap and ranks of one part's HALO nodes."""
    words = empty_bitmap(config.num_nodes)
    cut = 0
    for index, rows, start, count in unit.owned.entries():
        for ids in _pieces(run_column(config.work.run(index), config.dtype, rows, SOURCE), start, count):
            cut += add_foreign(ids, unit.low, unit.high, words)
    if unit.extra is not None:
        for index, rows, start, count in unit.extra.entries():
            for column in (SOURCE, DESTINATION):
                region = run_column(config.work.extra(index), np.dtype(np.int64), rows, column)
                for ids in _pieces(region, start, count):
                    add_foreign(ids, unit.low, unit.high, words)
    # counts of HALO nodes stay below the number of nodes
    ranks = np.empty(words.size, id_dtype(config.num_nodes))
    num_halo = rank_words(words, ranks)
    save_npy(config.work.halo_words(unit.part), words)
    save_npy(config.work.halo_ranks(unit.part), ranks)
    return HaloResult(int(num_halo), int(cut))


@dataclass(frozen=True, slots=True)
class HopUnit:
    """Some parts whose bitmaps fit into memory together: (part, low, high) of each."""

    parts: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class HopConfig:
    """Files, the size of the ID space, all runs, and how many hops out the nodes are that are added."""

    work: Workspace
    num_nodes: int
    runs: RunTable
    hop: int


def follow_hop(unit: HopUnit, config: HopConfig) -> None:
    """Add the foreign sources of all edges that end in a part or in a member: one more hop, for some parts.

    The bitmaps of the hop before are left as they are, so that the task can run again.
    """
    members = [
        open_npy(config.work.members(part, config.hop - 1)).read() if config.hop > 1 else empty_bitmap(config.num_nodes)
        for part, _, _ in unit.parts
    ]
    grown = [words.copy() for words in members]
    for index, rows in enumerate(config.runs.num_rows):
        source, destination = (
            run_column(config.work.run(index), config.runs.dtype, int(rows), column) for column in (SOURCE, DESTINATION)
        )
        ends = zip(_pieces(source, 0, int(rows)), _pieces(destination, 0, int(rows)), strict=True)
        for src, dst in ends:
            for (_, low, high), old, new in zip(unit.parts, members, grown, strict=True):
                add_sources_of_members(src, dst, low, high, old, new)
    for (part, _, _), words in zip(unit.parts, grown, strict=True):
        save_npy(config.work.members(part, config.hop), words)


def hop_units(ranges: Sequence[tuple[int, int]], num_nodes: int, bitmap_bytes: int, workers: int) -> list[HopUnit]:
    """Group the parts so that the bitmaps of a group fit into memory and all workers have something to do."""
    fit = max(1, bitmap_bytes // max(1, 2 * (num_nodes // 8 + 8)))
    group = max(1, min(fit, -(-len(ranges) // workers)))
    parts = [(part, low, high) for part, (low, high) in enumerate(ranges)]
    return [HopUnit(tuple(parts[first : first + group])) for first in range(0, len(parts), group)]


def _pieces(region: Region, start: int, count: int) -> Iterator[np.ndarray]:
    for first in range(start, start + count, ROWS_PER_READ):
        yield region.read(first, min(first + ROWS_PER_READ, start + count))
