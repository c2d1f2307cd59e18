"""Dispatch a graph: from a chunked graph and an assignment to partitions in the requested layouts."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.bucket_edges import bucket_all_edges
from daskgraphpart.dispatching.features import NodeIds, block_marks, cut_features, move_features
from daskgraphpart.dispatching.finish import JobResult, finish
from daskgraphpart.dispatching.make_files import lay_out
from daskgraphpart.dispatching.nodes import copy_owners, list_all_nodes, number_nodes
from daskgraphpart.dispatching.offsets import count_intervals
from daskgraphpart.dispatching.split_nids import count_marked, split_nids, wanted_masks
from daskgraphpart.dispatching.write_graphs import plan_cache, write_graphs
from daskgraphpart.ids.book import PartitionBook
from daskgraphpart.ids.id_map_file import IdMapFile
from daskgraphpart.layouts.layout import GraphSizes

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job

logger = logging.getLogger(__name__)


def dispatch_graph(job: Job) -> JobResult:
    """Bring every node, edge and row to its owner and write the partitions."""
    schema, owners = job.graph.schema, job.assignment.files
    node_features = cut_features(job.graph, "node", job.sizes.row_block_bytes)
    edge_features = cut_features(job.graph, "edge", job.sizes.row_block_bytes)

    nodes = number_nodes(job, block_marks(node_features))
    hot = None
    if job.options.hot_rows is not None:
        from daskgraphpart.dispatching.keep_hot_rows import find_hot_nodes  # imports what samples batches

        hot = find_hot_nodes(job, job.options.hot_rows, nodes)
    runs, edge_owners = bucket_all_edges(job, nodes)
    edge_counts = runs.counts_by_type(len(schema.etypes))
    book = PartitionBook.from_counts(schema.ntypes, schema.etypes, nodes.counts, edge_counts)
    held = plan_cache(job, runs, book)
    masks = wanted_masks(job, node_features)
    marked = count_marked(job, masks, nodes)
    num_marked = {key: marked[key].sum(axis=0) for key in schema.masks}
    held_counts = held.halo[:, 0], held.num_extra_edges
    id_maps = {ntype: IdMapFile(path) for ntype, path in job.graph.id_maps.items()}
    sizes = GraphSizes(schema, nodes.counts, edge_counts, *held_counts, num_marked, id_maps)
    if hot is not None:
        sizes = replace(sizes, num_hot=hot.counts)

    places = lay_out(job, sizes)
    list_all_nodes(job, nodes, places.targets)
    if hot is not None:
        hot.list(job, nodes, book, places.targets)
    write_graphs(job, held, places.targets)
    job.work.remove_edges()
    mapped = {key: NodeIds(nodes.maps[ntype], book) for key, ntype in job.options.mapped_features.items()}
    kept = {} if hot is None else hot.rows(places.targets)
    move_features(job, node_features, owners, nodes.offsets, places.rows, mapped, kept)
    edge_marks = block_marks(edge_features)
    edge_offsets = count_intervals(edge_owners, edge_marks, job.num_parts, job.sizes.interval_rows, job.runner)
    move_features(job, edge_features, edge_owners, edge_offsets, places.rows, mapped, {})
    split_nids(job, masks, nodes, marked, places.targets)
    if places.whole:
        copy_owners(job, edge_owners, places.whole)
    _warn_of_empty_parts(job, sizes)
    return finish(job, sizes, book, held.quality(), places)


def _warn_of_empty_parts(job: Job, sizes: GraphSizes) -> None:
    """Warn of parts on which DGL's servers cannot start, though its loaders read them."""
    for node_type, owned in zip(job.graph.schema.node_types, sizes.num_nodes.T, strict=True):
        empty, total = int((owned == 0).sum()), int(owned.sum())
        if empty and node_type.data:
            others = ", or the option fill_parts, which gives every part one" if total >= job.num_parts else ""
            advice = f"use fewer parts{others}" if total else "leave out the features of a type without nodes"
            what = "%d of %d parts own no node of type %r, which has features: DGL's servers cannot start on them; %s"
            logger.warning(what, empty, job.num_parts, node_type.name, advice)
    empty = int((sizes.num_edges.sum(axis=1) == 0).sum())
    if empty:
        advice = "use fewer parts" if sizes.num_edges.any() else "the graph has none"
        what = "%d of %d parts own no edge, so DGL's servers cannot start on them; %s"
        logger.warning(what, empty, job.num_parts, advice)
