"""Passes `mark-halo` and `follow-hop`: which foreign nodes each part holds.

A bitmap over the new ID space, N / 8 bytes: membership without sorting or hashing. Those of all parts lie in one file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.edge_runs import Slices, reads_of
from daskgraphpart.dispatching.part_graph import ranks_of
from daskgraphpart.kernels.bitmap import add_foreign, add_sources_of_members, empty_bitmap
from daskgraphpart.storage.region import DESTINATION, EXTRA_DTYPE, SOURCE, open_npy, run_column, save_npy

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from daskgraphpart.dispatching.part_graph import GraphConfig

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
    """Write the bitmap of one part's HALO nodes; return how many there are, and the cut edges the part owns."""
    words = empty_bitmap(config.num_nodes)
    num_cut_edges = 0
    for run, run_rows, start, count in reads_of(unit.owned):
        for (src,) in _read(config.work.file("runs", run), config.run_dtype, run_rows, (SOURCE,), start, count):
            num_cut_edges += add_foreign(src, unit.low, unit.high, words)
    for run, run_rows, start, count in reads_of(unit.extra):
        for ends in _read(config.work.file("extra", run), EXTRA_DTYPE, run_rows, (SOURCE, DESTINATION), start, count):
            for ids in ends:
                add_foreign(ids, unit.low, unit.high, words)
    config.halo.row(unit.part).write(words, 0)
    return ranks_of(words, config.num_nodes)[1], int(num_cut_edges)


@dataclass(frozen=True, slots=True, eq=False)
class HopConfig:
    """Rows of all runs, and how many hops out the new nodes are."""

    graph: GraphConfig
    run_rows: np.ndarray
    hop: int


def follow_hop(parts: list[tuple[int, int, int]], config: HopConfig) -> None:
    """Add the foreign sources of all edges that end in a part or a member, for parts (part, low, high).

    Leaves the previous hop's bitmaps alone, so the task can run again.
    """
    work, dtype, hop = config.graph.work, config.graph.run_dtype, config.hop
    members = [
        open_npy(work.file("halo", part, "members", hop - 1)).read()
        if hop > 1
        else empty_bitmap(config.graph.num_nodes)
        for part, _, _ in parts
    ]
    grown = [words.copy() for words in members]
    for run, num_rows in enumerate(config.run_rows.tolist()):
        for src, dst in _read(work.file("runs", run), dtype, num_rows, (SOURCE, DESTINATION), 0, num_rows):
            for (_, low, high), old, new in zip(parts, members, grown, strict=True):
                add_sources_of_members(src, dst, low, high, old, new)
    for (part, _, _), words in zip(parts, grown, strict=True):
        save_npy(work.file("halo", part, "members", hop), words)


def group_parts(
    ranges: np.ndarray, num_nodes: int, bitmap_bytes: int, workers: int
) -> list[list[tuple[int, int, int]]]:
    """Group parts so that a group's bitmaps fit into memory and every worker has work."""
    fit = max(1, bitmap_bytes // max(1, 2 * (num_nodes // 8 + 8)))
    size = max(1, min(fit, -(-len(ranges) // workers)))
    parts = [(part, low, high) for part, (low, high) in enumerate(ranges.tolist())]
    return [parts[first : first + size] for first in range(0, len(parts), size)]


def _read(
    path: str, dtype: np.dtype, run_rows: int, columns: tuple[int, ...], start: int, count: int
) -> Iterator[tuple[np.ndarray, ...]]:
    """Read columns of a slice of a run in pieces."""
    regions = [run_column(path, dtype, run_rows, column) for column in columns]
    for first in range(start, start + count, ROWS_PER_READ):
        yield tuple(region.read(first, min(first + ROWS_PER_READ, start + count)) for region in regions)
