"""Make each part's local graph from the runs: find halo nodes and extra edges, then write nodes and edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.build_graph import EDGE_NBYTES, Segment, build_graph
from daskgraphpart.dispatching.edge_runs import SLICE, EdgeRunIndex, Slices, cut_slices, eid_columns, window_rows
from daskgraphpart.dispatching.part_graph import (
    NODE_NBYTES,
    BuildConfig,
    GraphConfig,
    HaloUnit,
    NewIds,
    PartGraph,
    mark_halo,
    write_nodes,
)
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.kernels.bitmap import empty_bitmap
from daskgraphpart.quality import Quality
from daskgraphpart.storage.region import create_files, id_dtype, npy_region

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.make_files import Target, Targets
    from daskgraphpart.ids.book import PartitionBook

GRAPH_ARRAYS = ("nodes", "edges", "coo", "csr", "csc", "orig_eids", "edge_src", "edge_dst")


@dataclass(frozen=True, slots=True, eq=False)
class CachedGraphs:
    """What every part holds: its ranges and edges, extra edges, halo nodes and cut edges."""

    config: GraphConfig
    runs: EdgeRunIndex
    book: PartitionBook
    parts: Sequence[HaloUnit]
    halo: np.ndarray  # int64 (parts, 2): halo nodes of each part, and its cut edges

    @property
    def num_extra_edges(self) -> np.ndarray:
        """Edges that parts hold but do not own, int64 (parts,)."""
        return np.array([unit.extra["count"].sum() for unit in self.parts], np.int64)

    def quality(self) -> Quality:
        """Quality of the partition."""
        return Quality(
            num_cut_edges=int(self.halo[:, 1].sum()),
            num_edges=int(self.runs.counts.sum()),
            num_inner_nodes=tuple(unit.high - unit.low for unit in self.parts),
            num_halo_nodes=tuple(self.halo[:, 0].tolist()),
            num_owned_edges=tuple(self.runs.edges_of_parts.tolist()),
        )


def plan_cache(job: Job, runs: EdgeRunIndex, book: PartitionBook) -> CachedGraphs:
    """Find the edges and nodes that each part holds besides its own."""
    schema = job.graph.schema
    halo = npy_region(job.work.file("halo", "words"), np.uint64, (job.num_parts, empty_bitmap(schema.num_nodes).size))
    job.runner.step("create-halo", lambda: create_files([halo]))
    dtype = id_dtype(schema.num_nodes)
    config = GraphConfig(job.work, schema.num_nodes, schema.num_edges, dtype, job.sizes.segment_edges, halo)
    ranges = np.stack([book.node_ranges[:, 0, 0], book.node_ranges[:, -1, 1]], axis=1)
    extra = [np.empty(0, SLICE)] * job.num_parts
    if job.options.has_extra_edges:
        from daskgraphpart.dispatching.collect_extra import collect_extra_edges  # for few jobs

        extra = collect_extra_edges(job, config, runs, book, ranges).slices_of_parts()
    held = zip(ranges.tolist(), runs.slices_of_parts(), extra, strict=True)
    parts = [HaloUnit(part, low, high, owned, others) for part, ((low, high), owned, others) in enumerate(held)]
    units = [Unit(part, int(part.owned["count"].sum()) * config.run_dtype.itemsize) for part in parts]
    halo_counts = job.runner.run(Pass("mark-halo", mark_halo, units, config))
    return CachedGraphs(config, runs, book, parts, np.array(halo_counts, np.int64))


def write_graphs(job: Job, held: CachedGraphs, targets: Targets) -> None:
    """Write every part's nodes, edges and adjacency, and its edges' original IDs."""
    arrays = {name: of for name, of in targets.items() if name.partition("/")[0] in GRAPH_ARRAYS}
    if not arrays:
        return
    book = held.book
    originals: tuple[Target | None, Target | None] = (None, None)
    if not job.options.reshuffle:  # one type of nodes and one of edges
        originals = targets[f"orig_nids/{book.ntypes[0]}"][0], targets[f"orig_eids/{book.etypes[0]}"][0]
    parts, ends = _part_graphs(held, arrays), (book.node_ranges[:, :, 1], book.edge_ranges[:, :, 1])
    config = BuildConfig(held.config, book, *map(NewIds, ends, originals))
    if any(name.startswith("nodes/") for name in arrays):
        nodes = [Unit(graph, graph.num_nodes * NODE_NBYTES) for graph in parts]
        job.runner.run(Pass("write-nodes", write_nodes, nodes, config))

    to_compress: list[tuple[PartGraph, int, Mapping[str, np.ndarray]]] = []
    for segments in _segments(job, parts, held):  # other parts have the original IDs of extra edges
        units = [Unit(segment, segment.num_edges * EDGE_NBYTES, segment.num_edges) for segment in segments]
        counts = job.runner.run(Pass("build-graph", build_graph, units, config))
        counted = zip(segments, counts, strict=True)
        to_compress += [
            (segment.graph, segment.first_local_eid, of_segment) for segment, of_segment in counted if of_segment
        ]
    if to_compress:
        from daskgraphpart.dispatching.compress_graph import compress_graphs  # for few jobs

        compress_graphs(job, config, to_compress)


def _part_graphs(held: CachedGraphs, arrays: Targets) -> list[PartGraph]:
    counts = zip(
        held.halo[:, 0].tolist(), held.runs.edges_of_parts.tolist(), held.num_extra_edges.tolist(), strict=True
    )
    first_eids = held.book.edge_ranges[:, 0, 0].tolist() if held.book.etypes else [0] * len(held.parts)
    return [
        PartGraph(
            unit.part,
            unit.low,
            unit.high,
            *of_part,
            first_eid,
            {name: tuple(target.region(unit.part) for target in of) for name, of in arrays.items()},
        )
        for unit, of_part, first_eid in zip(held.parts, counts, first_eids, strict=True)
    ]


def _segments(job: Job, parts: Sequence[PartGraph], held: CachedGraphs) -> tuple[list[Segment], list[Segment]]:
    """Cut the edges of all parts into segments: owned, and extra."""
    windows: Sequence[list[tuple[int, int, int]]] = [[]] * len(parts)
    if job.options.has_extra_edges:
        units = [Unit(part.extra, 8 * int(part.extra["count"].sum())) for part in held.parts]
        windows = job.runner.run(Pass("order-extra", order_extra, units, held.config))
    segments: tuple[list[Segment], list[Segment]] = [], []
    for graph, unit, of_part in zip(parts, held.parts, windows, strict=True):
        pieces: list[tuple[Slices, tuple[int, int] | None, int]] = [
            (slices, None, int(slices["count"].sum())) for slices in cut_slices(unit.owned, held.config.max_edges)
        ]
        pieces += [(unit.extra, (low, high), count) for low, high, count in of_part]
        first = 0
        for number, (slices, window, count) in enumerate(pieces):
            segments[window is not None].append(Segment(graph, number, first, count, slices, window))
            first += count
    for of_parts in segments:
        of_parts.sort(key=lambda segment: segment.number)  # interleave parts: a file takes one write at a time
    return segments


def order_extra(slices: Slices, config: GraphConfig) -> list[tuple[int, int, int]]:
    """Cut one part's extra edges into windows of new edge IDs that fit into memory: (low, high, edges) of each.

    Each slice ascends, so counting a window is one binary search per slice.
    """
    columns = eid_columns(slices, config.work)
    windows: list[tuple[int, int, int]] = []
    pending = [(0, config.num_edges)]
    while pending:
        low, high = pending.pop()
        count = sum(int(stop - start) for start, stop in window_rows(columns, low, high))
        if count > config.max_edges:
            middle = (low + high) // 2
            pending += [(middle, high), (low, middle)]
        elif count:
            windows.append((low, high, count))
    return windows
