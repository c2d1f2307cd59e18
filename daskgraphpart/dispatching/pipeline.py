"""Dispatch a graph: from a chunked graph and an assignment to partitions in the layouts that are wanted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from daskgraphpart.book import PartitionBook
from daskgraphpart.dispatching.count_owners import count_intervals
from daskgraphpart.dispatching.edges import bucket_all_edges
from daskgraphpart.dispatching.features import cut_features, move_features, partition_marks
from daskgraphpart.dispatching.finish import finish
from daskgraphpart.dispatching.graphs import find_held, write_graphs
from daskgraphpart.dispatching.keep_ids import keep_ids
from daskgraphpart.dispatching.lay_out import lay_out, mask_keys
from daskgraphpart.dispatching.list_nodes import ListConfig, list_nodes_pass
from daskgraphpart.dispatching.nodes import number_nodes
from daskgraphpart.dispatching.split_nids import count_marked, split_nids
from daskgraphpart.layouts.layout import GraphSizes

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.targets import RowTarget

logger = logging.getLogger(__name__)


def dispatch_graph(job: Job) -> Outcome:
    """Bring every node, edge and row to its owner and write the partitions."""
    schema, owners = job.graph.schema, job.assignment.owners
    node_features = cut_features(job.graph, "node", job.sizes.row_block_bytes)
    edge_features = cut_features(job.graph, "edge", job.sizes.row_block_bytes)

    nodes = number_nodes(job, partition_marks(node_features))
    edges = bucket_all_edges(job, nodes)
    edge_counts = edges.runs.counts_by_type(len(schema.etypes))
    book = PartitionBook.from_counts(schema.ntypes, schema.etypes, nodes.counts, edge_counts)
    held = find_held(job, edges.runs, book)
    marked = count_marked(job, node_features, nodes)
    num_marked = {key: marked.of(key).sum(axis=0) for key in mask_keys(schema)}
    sizes = GraphSizes(schema, nodes.counts, edge_counts, held.num_halo_nodes, held.num_extra_edges, num_marked)

    targets, staged = lay_out(job, sizes)
    row_targets: dict[str, tuple[RowTarget, ...]] = {**targets}
    row_targets.update({name: (*targets.get(name, ()), array) for name, array in staged.items()})
    job.runner.run(list_nodes_pass(ListConfig(owners, targets), nodes.offsets))
    write_graphs(job, held, targets)
    job.work.remove_edges()
    move_features(job, node_features, owners, nodes.offsets, row_targets)
    edge_offsets = count_intervals(
        edges.owners, partition_marks(edge_features), job.num_parts, job.sizes.interval_rows, job.runner
    )
    move_features(job, edge_features, edges.owners, edge_offsets, row_targets)
    split_nids(job, marked, targets)
    if not job.options.reshuffle:
        keep_ids(job, book, targets, edges.owners)
    _warn_of_empty_parts(job, sizes.num_nodes, sizes.num_edges)
    return finish(job, sizes, book, held.quality(), staged)


def _warn_of_empty_parts(job: Job, node_counts: np.ndarray, edge_counts: np.ndarray) -> None:
    """Warn of parts that DGL's servers cannot start on; its loaders read them all the same."""
    schema = job.graph.schema
    for type_id, node_type in enumerate(schema.node_types):
        empty = int((node_counts[:, type_id] == 0).sum())
        if empty and node_type.data:
            logger.warning(
                "%d of %d parts own no node of type %r, which has features: DGL's distributed servers cannot start on "
                "them (use fewer parts, or assign with --fill-parts)",
                empty,
                job.num_parts,
                node_type.name,
            )
    empty = int((edge_counts.sum(axis=1) == 0).sum())
    if empty:
        logger.warning(
            "%d of %d parts own no edge: DGL's distributed servers cannot start on them", empty, job.num_parts
        )
