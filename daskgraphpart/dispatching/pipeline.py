"""The dispatch, top to bottom: from a chunked graph and an assignment to the partitions DGL loads."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.book import PartitionBook
from daskgraphpart.dispatching.count_owners import count_intervals
from daskgraphpart.dispatching.edges import bucket_all_edges
from daskgraphpart.dispatching.features import block_marks, cut_features, move_features
from daskgraphpart.dispatching.finish import finish
from daskgraphpart.dispatching.graphs import build_graphs
from daskgraphpart.dispatching.keep_ids import keep_ids
from daskgraphpart.dispatching.nodes import number_nodes
from daskgraphpart.dispatching.split_nids import SplitUnit, mask_keys, split_nids_pass
from daskgraphpart.dispatching.workspace import EDGE_FEAT, NODE_FEAT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.quality import Quality
    from daskgraphpart.storage.region import Region

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """What is known when all data are where they belong, but the files have no names yet.

    Parameters
    ----------
    book : PartitionBook
        Ranges of new IDs.
    quality : Quality
        Edge cut, balance, replication.
    has_splits : bool
        Whether there are lists of training, validation and test nodes.
    edge_owners : mapping of str to Region
        As in `BucketedEdges`.
    """

    book: PartitionBook
    quality: Quality
    has_splits: bool
    edge_owners: Mapping[str, Region]


def dispatch_graph(job: Job) -> Outcome:
    """Bring every node, edge and row to its owner and write the partitions.

    Parameters
    ----------
    job : Job
        The job; its output directory holds nothing of an earlier run.

    Returns
    -------
    Outcome

    Raises
    ------
    InputFileError, AssignmentError
        If the data are not what the metadata say. No partition config has been written then.
    """
    moved = move_graph(job)
    counts = (ranges[:, :, 1] - ranges[:, :, 0] for ranges in (moved.book.node_ranges, moved.book.edge_ranges))
    _warn_of_empty_parts(job, *counts)
    id_maps = None if job.options.reshuffle else keep_ids(job, moved.book, moved.edge_owners)
    return finish(job, moved.book, moved.quality, moved.has_splits, id_maps)


def move_graph(job: Job) -> Moved:
    """Bring every node, edge and row to its owner, in files under temporary names."""
    schema = job.graph.schema
    node_features = cut_features("node", schema.node_types, job.graph.node_files, job.sizes.row_block_bytes)
    edge_features = cut_features("edge", schema.edge_types, job.graph.edge_data_files, job.sizes.row_block_bytes)

    nodes = number_nodes(job, block_marks(node_features))
    edges = bucket_all_edges(job, nodes)
    edge_counts = edges.runs.counts_by_type(len(schema.etypes))
    book = PartitionBook.from_counts(schema.ntypes, schema.etypes, nodes.counts, edge_counts)
    quality = build_graphs(job, edges.runs, book)
    job.work.remove_edges()

    owners = job.assignment.owners
    placed = move_features(job, node_features, NODE_FEAT, schema.node_types, owners, nodes.offsets)
    edge_offsets = count_intervals(
        edges.owners, block_marks(edge_features), job.num_parts, job.sizes.interval_rows, job.runner
    )
    move_features(job, edge_features, EDGE_FEAT, schema.edge_types, edges.owners, edge_offsets)
    has_splits = _split_nodes(job, nodes.counts, placed)
    return Moved(book, quality, has_splits, edges.owners)


def _split_nodes(job: Job, counts: np.ndarray, placed: Sequence[Mapping[str, Region]]) -> bool:
    """List training, validation and test nodes of every part; whether there are masks."""
    schema = job.graph.schema
    masks = mask_keys(schema)
    if not masks:
        return False
    first_nids = np.cumsum(counts, axis=0) - counts
    units = [
        SplitUnit(
            part,
            {f"{ntype}/{name}": placed[part][f"{ntype}/{name}"] for ntype, name in masks},
            {f"{ntype}/{name}": int(first_nids[part, schema.ntypes.index(ntype)]) for ntype, name in masks},
        )
        for part in range(job.num_parts)
    ]
    job.runner.run(split_nids_pass(units, job.out))
    return True


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
