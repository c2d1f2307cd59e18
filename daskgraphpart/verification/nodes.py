"""Passes `verify-nodes` and `verify-once`: inner and HALO nodes of each part, and every node exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, rank_words
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.region import Region

ROWS_PER_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """The run, and where the original type-wise ID of every new ID is collected."""

    run: Run
    originals: Region


def verify_nodes(number: int, config: NodeConfig) -> list[Finding]:
    """Check the node arrays of one part, and collect its original IDs."""
    parts = opened(config.run)
    part, book = parts.part(number), parts.book
    low, high = int(book.node_ranges[number, 0, 0]), int(book.node_ranges[number, -1, 1])
    findings = [*_node_arrays(part, number, low, high)]
    for type_id, ntype in enumerate(book.ntypes):
        start, stop = book.node_ranges[number, type_id].tolist()
        last = -1
        for first, ids in read_pieces(part.orig_nid_regions[ntype]):
            config.originals.write(ids, start + first)
            ascending = ids.size == 0 or (ids[0] > last and bool((np.diff(ids) > 0).all()))
            if not ascending:
                what = f"{ntype}: original IDs do not ascend near row {first:,}"
                findings.append(Finding("original IDs", f"part{number}/orig_nids.dgl", what))
            last = int(ids[-1]) if ids.size else last
        assert stop - start == part.orig_nid_regions[ntype].num_rows, "verify_schema has compared these"
    return findings


def _node_arrays(part: Part, number: int, low: int, high: int) -> Iterator[Finding]:
    file = f"part{number}/graph.dgl"
    halo_seen = -1
    for first, ids in read_pieces(part.graph.node_arrays["_ID"]):
        inner = part.graph.node_arrays["inner_node"].read(first, first + ids.size).astype(bool)
        local = np.arange(first, first + ids.size)
        should_be_inner = local < high - low
        bad = np.flatnonzero((inner != should_be_inner) | (should_be_inner & (ids != low + local)))
        if bad.size:
            row = int(bad[0])
            yield Finding(
                "inner nodes", file, f"local node {first + row:,} has ID {ids[row]:,} and inner_node {int(inner[row])}"
            )
            return
        halo = ids[~should_be_inner]
        if halo.size:
            foreign = (halo < low) | (halo >= high)
            ordered = halo[0] > halo_seen and bool((np.diff(halo) > 0).all())
            if not foreign.all() or not ordered:
                yield Finding("HALO nodes", file, f"not foreign, or not ascending, near local node {first:,}")
                return
            halo_seen = int(halo[-1])


@dataclass(frozen=True, slots=True, eq=False)
class OnceConfig:
    """Original IDs in the order of new IDs, the book, and the number of nodes of each type."""

    originals: Region
    book: PartitionBook
    num_nodes: tuple[int, ...]


def verify_once(type_id: int, config: OnceConfig) -> list[Finding]:
    """Check that the original IDs of one node type are each there once: a bitmap, N / 8 bytes."""
    num_nodes, ntype = config.num_nodes[type_id], config.book.ntypes[type_id]
    words = empty_bitmap(num_nodes)
    for start, stop in config.book.node_ranges[:, type_id].tolist():
        for first in range(start, stop, ROWS_PER_READ):
            ids = config.originals.read(first, min(first + ROWS_PER_READ, stop))
            bad = np.flatnonzero((ids < 0) | (ids >= num_nodes))
            if bad.size:
                what = f"{ntype}: original ID {ids[bad[0]]:,} of new node {first + bad[0]:,} is not below {num_nodes:,}"
                return [Finding("every node once", "orig_nids.dgl", what)]
            add_foreign(ids, 0, 0, words)
    found = rank_words(words, np.empty(words.size, np.int64))
    if found == num_nodes:
        return []
    what = f"{ntype}: {num_nodes - found:,} nodes are in no part, as many others are there twice"
    return [Finding("every node once", "orig_nids.dgl", what)]


def read_pieces(region: Region) -> Iterator[tuple[int, np.ndarray]]:
    """Read a region piece by piece: first row and rows."""
    for first in range(0, region.num_rows, ROWS_PER_READ):
        yield first, region.read(first, min(first + ROWS_PER_READ, region.num_rows))
