"""Which edges a part must hold without owning them: out edges, and in-edges of HALO nodes for more than one hop.

That the stored ones are edges of the graph, each once, is seen by `verify-edges`; so equal numbers mean equal sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import add_foreign, add_sources_of_members, empty_bitmap
from daskgraphpart.verification.edge_pieces import edge_pieces, main_format
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.verification.edge_pieces import EdgeStripe
    from daskgraphpart.verification.trace import Traced


@dataclass(frozen=True, slots=True)
class ExtraCounts:
    """Extra edges of a part, as they are stored and as they should be.

    Parameters
    ----------
    near, expected_near : int
        In-edges of HALO nodes fewer hops away than the partitions have.
    out, expected_out : int
        Other edges that begin in the part; these are there if out edges were wanted.
    other : int
        Edges that are neither.
    """

    near: int
    expected_near: int
    out: int
    expected_out: int
    other: int


def counts_of_one_hop(num_parts: int, units: Sequence[EdgeStripe], results: Sequence[Traced]) -> list[ExtraCounts]:
    """Count for partitions of one hop; all has been seen by `trace-edges`."""
    out, extra = np.zeros(num_parts, np.int64), np.zeros(num_parts, np.int64)
    for unit, traced in zip(units, results, strict=True):
        extra[unit.part] += traced.num_extra
        out[unit.part] += traced.num_out
    expected = sum((traced.out_counts for traced in results), np.zeros(num_parts, np.int64))
    return [
        ExtraCounts(0, 0, *counts)
        for counts in zip(out.tolist(), expected.tolist(), (extra - out).tolist(), strict=True)
    ]


def extra_edge_findings(counts: Sequence[ExtraCounts], out_edges: bool | None) -> Iterator[Finding]:
    """Compare the counts of all parts.

    Parameters
    ----------
    counts : sequence of ExtraCounts
        Of each part.
    out_edges : bool or None
        Whether out edges were wanted; None if that is not known, and all parts or none shall have them.
    """
    wanted = any(found.out for found in counts) if out_edges is None else out_edges
    for part, found in enumerate(counts):
        for what, expected, stored in (
            ("in-edges of HALO nodes", found.expected_near, found.near),
            ("edges that begin in the part and end outside", found.expected_out if wanted else 0, found.out),
            ("edges beside these and those of the part", 0, found.other),
        ):
            if expected != stored:
                yield Finding(
                    "extra edges", f"part{part}/graph.dgl", what, part, expected=f"{expected:,}", found=f"{stored:,}"
                )


@dataclass(frozen=True, slots=True)
class HopConfig:
    """The run, and the hops of HALO nodes."""

    run: Run
    num_hops: int


def count_extra_edges(numbers: tuple[int, ...], config: HopConfig) -> list[ExtraCounts]:
    """Task of the pass `verify-hops`: follow the hops of some parts over all edges, and count.

    Two bitmaps over all nodes for each part of the group, N / 8 bytes each.
    """
    parts = opened(config.run.opening)
    ranges = [tuple(parts.book.node_ranges[number, (0, -1), (0, 1)].tolist()) for number in numbers]
    members = [empty_bitmap(sum(config.run.num_nodes)) for _ in numbers]
    for number, (low, high), words in zip(numbers, ranges, members, strict=True):
        for src, _, _ in _new_ends(parts.part(number), config.run):
            add_foreign(src, low, high, words)
    for _ in range(config.num_hops - 2):
        grown = [words.copy() for words in members]
        for src, dst in _all_owned(parts, config.run):
            for (low, high), old, words in zip(ranges, members, grown, strict=True):
                add_sources_of_members(src, dst, low, high, old, words)
        members = grown
    expected = np.zeros((len(numbers), 2), np.int64)
    for src, dst in _all_owned(parts, config.run):
        for i, ((low, high), words) in enumerate(zip(ranges, members, strict=True)):
            near, out, _ = _kinds(src, dst, (low, high), words)
            expected[i] += near, out
    counts = []
    for i, (number, words) in enumerate(zip(numbers, members, strict=True)):
        stored = np.zeros(3, np.int64)
        for src, dst, owned in _new_ends(parts.part(number), config.run, owned_only=False):
            stored += _kinds(src[~owned], dst[~owned], ranges[i], words)
        near, out, other = stored.tolist()
        counts.append(ExtraCounts(near, int(expected[i, 0]), out, int(expected[i, 1]), other))
    return counts


def hop_groups(parts: PartitionedGraph, num_nodes: int, nbytes: int, workers: int) -> list[tuple[int, ...]]:
    """Group the parts so that the bitmaps of a group fit, and all workers have something to do."""
    fit = max(1, nbytes // max(1, 2 * (num_nodes // 8 + 8)))
    size = max(1, min(fit, -(-parts.num_parts // workers)))
    return [tuple(range(first, min(first + size, parts.num_parts))) for first in range(0, parts.num_parts, size)]


def _kinds(src: np.ndarray, dst: np.ndarray, span: tuple[int, int], words: np.ndarray) -> tuple[int, int, int]:
    """How many edges end in a member, how many others begin in the part and end outside, and how many do neither."""
    low, high = span
    inside = (dst >= low) & (dst < high)
    near = ~inside & ((words[dst >> 6] >> (dst & 63).astype(np.uint64) & np.uint64(1)) != 0)
    out = ~inside & ~near & (src >= low) & (src < high)
    counted = int(near.sum()), int(out.sum())
    return (*counted, src.size - sum(counted))


def _all_owned(parts: PartitionedGraph, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for part in parts.parts:
        for src, dst, _ in _new_ends(part, run):
            yield src, dst


def _new_ends(part: Part, run: Run, *, owned_only: bool = True) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """New IDs of the ends of a part's edges, and whether it owns them."""
    graph = part.graph
    ids = graph.node_arrays["_ID"].memmap()
    name = main_format(graph)
    for _, src, dst, eids in edge_pieces(graph, name, (0, graph.num_edges), run.piece_rows):
        owned = eids < part.num_inner_edges
        if owned_only:
            yield ids[src[owned]], ids[dst[owned]], owned[owned]
        else:
            yield ids[src], ids[dst], owned
