"""Passes `follow-hop` and `collect-extra`: edges that a part holds but does not own (`inner_edge` = 0).

Those are edges from own nodes to halo nodes (option `out_edges`), and in-edges of halo nodes fewer than `num_hops`
hops away. They follow the part's own edges in ascending new ID, the one their owner gave them. An extra run is like a
run, with new edge IDs in its third column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.edge_runs import (
    DESTINATION,
    EXTRA_DTYPE,
    SOURCE,
    EdgeRunIndex,
    read_columns,
    run_column,
    starts_in_run,
)
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.kernels.bitmap import add_sources_of_members, empty_bitmap, select_extra
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.region import create_npy, open_npy, save_npy

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.part_graph import GraphConfig
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.ids.book import PartitionBook


def collect_extra_edges(
    job: Job, config: GraphConfig, runs: EdgeRunIndex, book: PartitionBook, ranges: np.ndarray
) -> EdgeRunIndex:
    """Write the edges that parts hold but do not own as extra runs."""
    last = 0
    run_nbytes = (runs.run_rows * 2 * config.run_dtype.itemsize).tolist()
    groups = group_parts(ranges, config.num_nodes, job.sizes.bitmap_bytes, job.runner.resources.workers)
    for hop in range(1, job.options.num_hops):
        followed = [Unit(group, sum(run_nbytes)) for group in groups]
        grew = job.runner.run(Pass("follow-hop", follow_hop, followed, HopConfig(config, runs.run_rows, hop)))
        job.work.remove_members(job.num_parts, hop - 1)
        last = hop
        if not any(grew):
            break  # further hops reach nothing new
    tables = zip(runs.by_run(runs.counts), runs.by_run(runs.first_new_eids(book)), run_nbytes, strict=True)
    units = [Unit(ExtraUnit(run, *table), nbytes) for run, (*table, nbytes) in enumerate(tables)]
    extra = ExtraConfig(job.work, ranges, job.options.out_edges, last)
    by_unit = job.runner.run(Pass("collect-extra", collect_extra, units, extra))
    counts, nothing = np.array(by_unit, np.int64).reshape(len(by_unit), job.num_parts), np.zeros(len(by_unit), np.int64)
    return EdgeRunIndex(np.arange(len(by_unit)), nothing, nothing, counts)


@dataclass(frozen=True, slots=True, eq=False)
class HopConfig:
    """Rows of all runs, and how many hops out the new nodes are."""

    graph: GraphConfig
    run_rows: np.ndarray
    hop: int


def follow_hop(parts: list[tuple[int, int, int]], config: HopConfig) -> bool:
    """Add the foreign sources of all edges that end in a part or a member, for parts (part, low, high).

    Return whether there are more members. Leaves the previous hop's bitmaps alone, so the task can run again.
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
        for src, dst in read_columns(work.file("runs", run), dtype, num_rows, (SOURCE, DESTINATION), 0, num_rows):
            for (_, low, high), old, new in zip(parts, members, grown, strict=True):
                add_sources_of_members(src, dst, low, high, old, new)
    for (part, _, _), words in zip(parts, grown, strict=True):
        save_npy(work.file("halo", part, "members", hop), words)
    return any(not np.array_equal(old, new) for old, new in zip(members, grown, strict=True))


def group_parts(
    ranges: np.ndarray, num_nodes: int, bitmap_bytes: int, workers: int
) -> list[list[tuple[int, int, int]]]:
    """Group parts so that a group's bitmaps fit into memory and every worker has work."""
    fit = max(1, bitmap_bytes // max(1, 2 * (num_nodes // 8 + 8)))
    size = max(1, min(fit, -(-len(ranges) // workers)))
    parts = [(part, low, high) for part, (low, high) in enumerate(ranges.tolist())]
    return [parts[first : first + size] for first in range(0, len(parts), size)]


@dataclass(frozen=True, slots=True, eq=False)
class ExtraUnit:
    """One run by number: edges of each block and owner, and their first new ID, int64 (blocks, parts)."""

    run: int
    counts: np.ndarray
    first_new_eids: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class ExtraConfig:
    """Files, ranges of new node IDs (parts, 2), which edges to collect, and the hops whose in-edges to add (or 0)."""

    work: Workspace
    ranges: np.ndarray
    out_edges: bool
    member_hops: int


def collect_extra(unit: ExtraUnit, config: ExtraConfig) -> np.ndarray:
    """Write the edges of one run that parts hold but do not own, grouped by part; return the count by part.

    An edge may go to many parts, so rows are chosen twice, and held for one part at a time.
    """
    src, dst, _ = open_npy(config.work.file("runs", unit.run)).read()
    shifts = unit.first_new_eids - starts_in_run(unit.counts)
    eids = np.arange(src.size) + np.repeat(shifts.T.ravel(), unit.counts.T.ravel())
    counts = np.array([rows.size for rows in _chosen_rows(src, dst, unit, config)], np.int64)
    total = int(counts.sum())
    with whole_file(config.work.file("extra", unit.run)) as temporary:
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
    return _leaving(src, unit.counts.sum(axis=0), config)


def _wanted_by(part: int, src: np.ndarray, dst: np.ndarray, config: ExtraConfig) -> np.ndarray:
    members = open_npy(config.work.file("halo", part, "members", config.member_hops)).read()
    selected = np.empty(src.size, np.int64)
    low, high = config.ranges[part]
    count = select_extra(src, dst, low, high, members, config.out_edges, selected)
    return selected[:count].copy()


def _leaving(src: np.ndarray, counts: np.ndarray, config: ExtraConfig) -> list[np.ndarray]:
    """Rows that leave their source's part, by that part; one lookup for all parts."""
    owner_of_src = np.searchsorted(config.ranges[:, 1], src, side="right")
    rows = np.flatnonzero(owner_of_src != np.repeat(np.arange(counts.size), counts))
    owners = owner_of_src[rows].astype(np.uint16)  # numpy sorts 16 bits by radix
    rows = rows[np.argsort(owners, kind="stable")]
    return np.split(rows, np.cumsum(np.bincount(owners, minlength=counts.size))[:-1])
