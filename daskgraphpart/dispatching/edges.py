"""Bring edges to owners as runs: by `bucket-edges`, or by three passes if node maps exceed memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.bucket_edges import BucketConfig, EdgeUnit, bucket_edges, edge_pass
from daskgraphpart.dispatching.edge_runs import EdgeRunIndex
from daskgraphpart.dispatching.edges_by_range import RangeConfig, bucket_by_range
from daskgraphpart.dispatching.make_files import wanted_arrays
from daskgraphpart.engine.runner import share_tasks
from daskgraphpart.graph.dask_partitions import list_edge_blocks
from daskgraphpart.partitioner.assignment import owner_dtype
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.nodes import NumberedNodes


SMALL_ROWS = 1 << 16
"""Edges of several blocks that share a run."""


def bucket_all_edges(job: Job, nodes: NumberedNodes) -> tuple[EdgeRunIndex, Mapping[str, Region]]:
    """Write all blocks of edges as runs, in one pass or three.

    Also returns the owners of edges whose types carry data, or of all edges if IDs are kept.
    """
    schema, sizes = job.graph.schema, job.sizes
    listed = list_edge_blocks(job.graph, sizes.edge_block_rows, sizes.csv_block_bytes, job.runner)
    types, blocks = [edge_type for edge_type, _ in listed], [block for _, block in listed]
    wanted = wanted_arrays(job)
    edge_owners = {
        edge_type.name: npy_region(job.work.file("edge-owners", i), owner_dtype(job.num_parts), (edge_type.num_edges,))
        for i, edge_type in enumerate(schema.edge_types)
        if edge_type.data or f"edge_owners/{edge_type.name}" in wanted
    }
    job.runner.step("create-edge-owners", lambda: create_files(edge_owners.values()))
    config = BucketConfig(job.assignment.files, nodes.maps, edge_owners, job.num_parts, job.work)
    dtype = next(iter(nodes.maps.values())).dtype
    # random lookups of a pass over all edges
    looked_up = sum(region.nbytes for files in (nodes.maps, job.assignment.files) for region in files.values())
    fits = looked_up <= sizes.map_bytes
    limit = min(sizes.edge_block_rows, SMALL_ROWS) if fits else 0
    units = [
        EdgeUnit(i, tuple(types[of.start : of.stop]), tuple(blocks[of.start : of.stop]))
        for i, of in enumerate(share_tasks([block.num_rows for block in blocks], limit))
    ]
    if fits:
        counts = job.runner.run(edge_pass("bucket-edges", bucket_edges, units, config, dtype.itemsize))
    else:
        part_ends = np.cumsum(nodes.counts.sum(axis=1))
        ranges = RangeConfig(config, sizes.range_nodes, part_ends)
        counts = bucket_by_range(units, ranges, job.runner)
    runs = EdgeRunIndex(
        runs=np.repeat(np.arange(len(units)), [len(unit.blocks) for unit in units]),
        etype_ids=np.array([schema.etype_ids[edge_type.name] for edge_type in types], np.int64),
        first_rows=np.array([block.first_row for block in blocks], np.int64),
        counts=np.concatenate([np.zeros((0, job.num_parts), np.int64), *counts]),
    )
    return runs, edge_owners
