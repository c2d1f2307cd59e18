"""Make the local graph of every part from the runs: find what it holds beside its own, then write nodes and edges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.build_graph import BuildConfig, OrigWrite, Segment, build_graph_pass
from daskgraphpart.dispatching.collect_extra import (
    ExtraConfig,
    ExtraTable,
    OrderConfig,
    collect_extra_pass,
    order_extra_pass,
)
from daskgraphpart.dispatching.compress_graph import CompressConfig, bucket_rows, compress_graph_pass, row_ranges
from daskgraphpart.dispatching.local_graph import PartGraph
from daskgraphpart.dispatching.mark_halo import (
    HaloConfig,
    HaloUnit,
    HopConfig,
    follow_hop,
    hop_units,
    mark_halo_pass,
)
from daskgraphpart.dispatching.write_nodes import NodeConfig, write_nodes_pass
from daskgraphpart.engine.plan import Pass
from daskgraphpart.quality import Quality

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.edge_runs import RunTable
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.mark_halo import HaloResult
    from daskgraphpart.dispatching.targets import Targets

GRAPH_ARRAYS = ("nodes", "edges", "coo", "csr", "csc")


@dataclass(frozen=True, slots=True, eq=False)
class HeldGraphs:
    """What every part holds: its ranges and edges, edges it does not own, and what was found of HALO nodes."""

    runs: RunTable
    book: PartitionBook
    units: Sequence[HaloUnit]
    extra: ExtraTable | None
    halo: Sequence[HaloResult]

    @property
    def num_halo_nodes(self) -> np.ndarray:
        """HALO nodes, int64 (parts,)."""
        return np.array([found.num_halo_nodes for found in self.halo], np.int64)

    @property
    def num_extra_edges(self) -> np.ndarray:
        """Edges that parts hold without owning them, int64 (parts,)."""
        return np.zeros(len(self.units), np.int64) if self.extra is None else self.extra.of_parts

    def quality(self) -> Quality:
        """Say how good the partition is."""
        return Quality(
            num_cut_edges=sum(found.num_cut_edges for found in self.halo),
            num_edges=int(self.runs.num_rows.sum()),
            num_inner_nodes=tuple(unit.high - unit.low for unit in self.units),
            num_halo_nodes=tuple(self.num_halo_nodes.tolist()),
            num_owned_edges=tuple(self.runs.edges_of_parts.tolist()),
        )


def find_held(job: Job, runs: RunTable, book: PartitionBook) -> HeldGraphs:
    """Find the edges and nodes that each part holds beside its own."""
    owned = zip(_part_ranges(book).tolist(), runs.slices_of_parts(), strict=True)
    units = [HaloUnit(part, low, high, slices) for part, ((low, high), slices) in enumerate(owned)]
    extra = _collect_extra(job, runs, book, units) if job.options.has_extra_edges else None
    if extra is not None:
        units = [replace(unit, extra=extra.slices_of(unit.part)) for unit in units]
    halo = job.runner.run(mark_halo_pass(units, HaloConfig(job.work, job.graph.schema.num_nodes, runs.dtype)))
    return HeldGraphs(runs, book, units, extra, halo)


def write_graphs(job: Job, held: HeldGraphs, targets: Targets) -> None:
    """Write nodes, edges and adjacency of every part, and the original IDs of its edges."""
    if not any(name.partition("/")[0] in (*GRAPH_ARRAYS, "orig_eids") for name in targets):
        return
    book = held.book
    parts = _part_graphs(held, targets)
    job.runner.run(write_nodes_pass(parts, NodeConfig(job.work, _flat_ends(book.node_ranges), len(book.ntypes))))
    segments = _owned_segments(job, parts, held, targets)
    if held.extra is not None:
        segments += _extra_segments(job, parts, held.extra, Counter(segment.graph.part for segment in segments))
    config = BuildConfig(job.work, held.runs.dtype, _flat_ends(book.edge_ranges), len(book.etypes))
    counts = job.runner.run(build_graph_pass(segments, config))
    _compress(job, segments, counts)


def _collect_extra(job: Job, runs: RunTable, book: PartitionBook, units: Sequence[HaloUnit]) -> ExtraTable:
    """Find the edges that parts hold without owning them; how many of each run each part gets."""
    num_nodes, hops = job.graph.schema.num_nodes, job.options.num_hops
    groups = hop_units(
        [(unit.low, unit.high) for unit in units], num_nodes, job.sizes.bitmap_bytes, job.runner.resources.workers
    )
    for hop in range(1, hops):
        sizes = [int(runs.num_rows.sum()) * 2 * runs.dtype.itemsize] * len(groups)
        job.runner.run(Pass("follow-hop", follow_hop, groups, HopConfig(job.work, num_nodes, runs, hop), sizes))
        job.work.remove_members(job.num_parts, hop - 1)
    config = ExtraConfig(job.work, _part_ranges(book), job.options.out_edges, hops - 1)
    counts = job.runner.run(collect_extra_pass(runs, book, config))
    return ExtraTable.from_counts(np.array(counts, np.int64).reshape(len(counts), job.num_parts))


def _part_graphs(held: HeldGraphs, targets: Targets) -> list[PartGraph]:
    arrays = {name: of for name, of in targets.items() if name.partition("/")[0] in GRAPH_ARRAYS}
    num_halo, num_extra = held.num_halo_nodes.tolist(), held.num_extra_edges.tolist()
    owned = held.runs.edges_of_parts.tolist()
    first_eids = held.book.edge_ranges[:, 0, 0].tolist() if held.book.etypes else [0] * len(owned)
    return [
        PartGraph(
            unit.part,
            unit.low,
            unit.high,
            num_halo[unit.part],
            owned[unit.part],
            num_extra[unit.part],
            first_eids[unit.part],
            {name: tuple(target.region(unit.part) for target in of) for name, of in arrays.items()},
        )
        for unit in held.units
    ]


def _owned_segments(job: Job, parts: Sequence[PartGraph], held: HeldGraphs, targets: Targets) -> list[Segment]:
    segments = []
    for graph, unit in zip(parts, held.units, strict=True):
        first, buckets = 0, _buckets(job, graph)
        for number, slices in enumerate(unit.owned.cut(job.sizes.segment_edges)):
            writes = _orig_writes(slices.etype_ids, slices.counts, graph, first, held.book, targets)
            segments.append(Segment(graph, number, first, slices.num_edges, slices, None, buckets, writes))
            first += slices.num_edges
    return segments


def _orig_writes(
    etype_ids: np.ndarray,
    counts: np.ndarray,
    graph: PartGraph,
    first_local_eid: int,
    book: PartitionBook,
    targets: Targets,
) -> tuple[OrigWrite, ...]:
    """Where the original IDs of the edges of a segment go, for each edge type in it."""
    writes, start = [], 0
    for type_id in np.unique(etype_ids).tolist():
        stop = start + int(counts[etype_ids == type_id].sum())
        first_of_type = int(book.edge_ranges[graph.part, type_id, 0]) - graph.first_new_eid
        regions = tuple(target.region(graph.part) for target in targets.get(f"orig_eids/{book.etypes[type_id]}", ()))
        writes.append(OrigWrite(start, stop, first_local_eid + start - first_of_type, regions))
        start = stop
    return tuple(writes)


def _extra_segments(
    job: Job, parts: Sequence[PartGraph], extra: ExtraTable, owned_segments: Mapping[int, int]
) -> list[Segment]:
    config = OrderConfig(job.work, job.graph.schema.num_edges, job.sizes.segment_edges)
    segments = []
    windows = job.runner.run(order_extra_pass(extra, config))
    for graph, of_part in zip(parts, windows, strict=True):
        first, slices, buckets = graph.num_owned_edges, extra.slices_of(graph.part), _buckets(job, graph)
        for number, (low, high, count) in enumerate(of_part, owned_segments.get(graph.part, 0)):
            segments.append(Segment(graph, number, first, count, slices, (low, high), buckets, ()))
            first += count
    return segments


def _buckets(job: Job, graph: PartGraph) -> dict[str, int]:
    """Rows per bucket of the matrices that are wanted."""
    width = bucket_rows(graph, job.sizes.segment_edges)
    return {name: width for name in ("csr", "csc") if f"{name}/indptr" in graph.arrays}


def _compress(job: Job, segments: Sequence[Segment], counts: Sequence[Mapping[str, np.ndarray]]) -> None:
    """Write the matrices, given how many edges of each segment lie in each bucket of rows."""
    by_part: dict[tuple[int, str], list[np.ndarray]] = {}
    graphs = {segment.graph.part: segment.graph for segment in segments}
    for segment, of_formats in zip(segments, counts, strict=True):
        for name, in_buckets in of_formats.items():
            by_part.setdefault((segment.graph.part, name), []).append(in_buckets)
    most_edges = job.sizes.segment_edges
    ranges = [
        unit
        for (part, name), found in by_part.items()
        for unit in row_ranges(graphs[part], name, bucket_rows(graphs[part], most_edges), np.array(found), most_edges)
    ]
    job.runner.run(compress_graph_pass(ranges, CompressConfig(job.work, most_edges)))


def _part_ranges(book: PartitionBook) -> np.ndarray:
    """Range of new node IDs of each part, int64 (parts, 2)."""
    return np.stack([book.node_ranges[:, 0, 0], book.node_ranges[:, -1, 1]], axis=1)


def _flat_ends(ranges: np.ndarray) -> np.ndarray:
    """Ends of all ranges in the order of new IDs."""
    ends: np.ndarray = ranges[:, :, 1].reshape(-1)
    return ends
