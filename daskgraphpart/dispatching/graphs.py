"""Step of the dispatch: the graph of every part, from the runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.build_graph import BuildConfig, Segment, build_graph_pass
from daskgraphpart.dispatching.collect_extra import (
    ExtraConfig,
    OrderConfig,
    collect_extra_pass,
    extra_slices,
    order_extra_pass,
)
from daskgraphpart.dispatching.compress_graph import CompressConfig, bucket_rows, compress_graph_pass, row_ranges
from daskgraphpart.dispatching.lay_out import lay_out_graphs, lay_out_orig_ids
from daskgraphpart.dispatching.local_graph import PartGraph
from daskgraphpart.dispatching.mark_halo import (
    HaloConfig,
    HaloUnit,
    HopConfig,
    follow_hop,
    hop_units,
    mark_halo_pass,
    mark_sources,
)
from daskgraphpart.dispatching.workspace import ORIG_EIDS
from daskgraphpart.dispatching.write_nodes import NodeConfig, write_nodes_pass
from daskgraphpart.engine.plan import Pass
from daskgraphpart.quality import Quality

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.edge_runs import RunTable
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.mark_halo import HaloResult
    from daskgraphpart.storage.region import Region


def build_graphs(job: Job, runs: RunTable, book: PartitionBook) -> Quality:
    """Write `graph.dgl` and `orig_eids.dgl` of every part; return what the counts say of the partition."""
    ranges = _part_ranges(book)
    units = [HaloUnit(part, low, high, runs.slices_of(part)) for part, (low, high) in enumerate(ranges.tolist())]
    extra = _collect_extra(job, runs, book, units) if job.options.has_extra_edges else None
    if extra is not None:
        units = [HaloUnit(u.part, u.low, u.high, u.owned, extra_slices(extra, u.part)) for u in units]
    halo = job.runner.run(mark_halo_pass(units, HaloConfig(job.work, job.graph.schema.num_nodes, runs.dtype)))
    parts = _lay_out_graphs(job, book, ranges, halo, extra)
    orig_eids = lay_out_orig_ids(job, ORIG_EIDS, book.etypes, runs.counts_by_type(len(book.etypes)))
    job.runner.run(write_nodes_pass(parts, NodeConfig(job.work, _flat_ends(book.node_ranges), len(book.ntypes))))
    segments = _owned_segments(job, parts, units, book, orig_eids)
    if extra is not None:
        segments += _extra_segments(job, parts, extra, Counter(segment.graph.part for segment in segments))
    _write_edges(job, runs, book, segments)
    return Quality(
        num_cut_edges=sum(result.num_cut_edges for result in halo),
        num_edges=job.graph.schema.num_edges,
        num_inner_nodes=tuple((ranges[:, 1] - ranges[:, 0]).tolist()),
        num_halo_nodes=tuple(result.num_halo_nodes for result in halo),
        num_owned_edges=tuple(runs.edges_of_parts.tolist()),
    )


def _collect_extra(job: Job, runs: RunTable, book: PartitionBook, units: Sequence[HaloUnit]) -> np.ndarray:
    """Find the edges that parts hold without owning them; how many of each run each part gets."""
    num_nodes, hops = job.graph.schema.num_nodes, job.options.num_hops
    if hops > 1:
        sizes = [unit.owned.num_edges * runs.dtype.itemsize for unit in units]
        job.runner.run(Pass("mark-sources", mark_sources, units, HaloConfig(job.work, num_nodes, runs.dtype), sizes))
    groups = hop_units(
        [(unit.low, unit.high) for unit in units], num_nodes, job.sizes.bitmap_bytes, job.runner.resources.workers
    )
    for hop in range(2, hops):
        sizes = [int(runs.num_rows.sum()) * 2 * runs.dtype.itemsize] * len(groups)
        job.runner.run(Pass("follow-hop", follow_hop, groups, HopConfig(job.work, num_nodes, runs, hop), sizes))
        job.work.remove_members(job.num_parts, hop - 1)
    config = ExtraConfig(job.work, _part_ranges(book), job.options.out_edges, hops - 1)
    counts = job.runner.run(collect_extra_pass(runs, book, config))
    return np.array(counts, np.int64).reshape(len(counts), job.num_parts)


def _lay_out_graphs(
    job: Job, book: PartitionBook, ranges: np.ndarray, halo: Sequence[HaloResult], extra: np.ndarray | None
) -> list[PartGraph]:
    owned = (book.edge_ranges[:, :, 1] - book.edge_ranges[:, :, 0]).sum(axis=1).tolist()
    held = [0] * job.num_parts if extra is None else extra.sum(axis=0).tolist()
    num_halo = [found.num_halo_nodes for found in halo]
    sizes = [
        (high - low + num_halo[part], owned[part] + held[part]) for part, (low, high) in enumerate(ranges.tolist())
    ]
    arrays = lay_out_graphs(job, sizes)
    return [
        PartGraph(
            part,
            low,
            high,
            num_halo[part],
            owned[part],
            held[part],
            int(book.edge_ranges[part, 0, 0]) if book.etypes else 0,
            arrays[part],
        )
        for part, (low, high) in enumerate(ranges.tolist())
    ]


def _owned_segments(
    job: Job,
    parts: Sequence[PartGraph],
    units: Sequence[HaloUnit],
    book: PartitionBook,
    orig_eids: Sequence[Mapping[str, Region]],
) -> list[Segment]:
    segments = []
    for graph, unit in zip(parts, units, strict=True):
        first = 0
        for number, slices in enumerate(unit.owned.cut(job.sizes.segment_edges)):
            writes = _orig_writes(slices.etype_ids, slices.counts, graph, first, book, orig_eids[graph.part])
            buckets = _buckets(job, graph)
            segments.append(Segment(graph, number, first, slices.num_edges, slices, None, buckets, writes))
            first += slices.num_edges
    return segments


def _orig_writes(
    etype_ids: np.ndarray,
    counts: np.ndarray,
    graph: PartGraph,
    first_local_eid: int,
    book: PartitionBook,
    regions: Mapping[str, Region],
) -> tuple[tuple[int, int, int], ...]:
    """Where the original IDs of a segment go: (first edge, end, byte offset) for each edge type in it."""
    writes, start = [], 0
    for type_id in np.unique(etype_ids).tolist():
        stop = start + int(counts[etype_ids == type_id].sum())
        first_of_type = int(book.edge_ranges[graph.part, type_id, 0]) - graph.first_new_eid
        row = first_local_eid + start - first_of_type
        writes.append((start, stop, regions[book.etypes[type_id]].offset + 8 * row))
        start = stop
    return tuple(writes)


def _extra_segments(
    job: Job, parts: Sequence[PartGraph], extra: np.ndarray, owned_segments: Mapping[int, int]
) -> list[Segment]:
    config = OrderConfig(job.work, job.graph.schema.num_edges, job.sizes.segment_edges)
    segments = []
    windows = job.runner.run(order_extra_pass(extra, config))
    for graph, of_part in zip(parts, windows, strict=True):
        first, slices = graph.num_owned_edges, extra_slices(extra, graph.part)
        for number, (low, high, count) in enumerate(of_part, owned_segments.get(graph.part, 0)):
            segments.append(Segment(graph, number, first, count, slices, (low, high), _buckets(job, graph), ()))
            first += count
    return segments


def _buckets(job: Job, graph: PartGraph) -> dict[str, int]:
    width = bucket_rows(graph, job.sizes.segment_edges)
    return {name: width for name in ("csr", "csc") if name in job.options.graph_formats}


def _write_edges(job: Job, runs: RunTable, book: PartitionBook, segments: Sequence[Segment]) -> None:
    config = BuildConfig(job.work, runs.dtype, _flat_ends(book.edge_ranges), len(book.etypes), job.out)
    counts = job.runner.run(build_graph_pass(segments, config))
    by_part: dict[tuple[int, str], list[np.ndarray]] = {}
    graphs = {segment.graph.part: segment.graph for segment in segments}
    for segment, of_formats in zip(segments, counts, strict=True):
        for name, in_buckets in of_formats.items():
            by_part.setdefault((segment.graph.part, name), []).append(in_buckets)
    ranges = [
        unit
        for (part, name), found in by_part.items()
        for unit in row_ranges(
            graphs[part],
            name,
            bucket_rows(graphs[part], job.sizes.segment_edges),
            np.array(found),
            job.sizes.segment_edges,
        )
    ]
    job.runner.run(compress_graph_pass(ranges, CompressConfig(job.work, job.sizes.segment_edges)))


def _part_ranges(book: PartitionBook) -> np.ndarray:
    """Range of new node IDs of each part, int64 (parts, 2)."""
    return np.stack([book.node_ranges[:, 0, 0], book.node_ranges[:, -1, 1]], axis=1)


def _flat_ends(ranges: np.ndarray) -> np.ndarray:
    """Ends of all ranges in the order of new IDs."""
    ends: np.ndarray = ranges[:, :, 1].reshape(-1)
    return ends
