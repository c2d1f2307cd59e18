"""Bring edges to their owners, as runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.assignment import owner_dtype
from daskgraphpart.chunked.partitions import edge_partitions
from daskgraphpart.dispatching.bucket_edges import BucketConfig, EdgeUnit, bucket_edges, edge_pass
from daskgraphpart.dispatching.bucket_edges_by_range import RangeConfig, bucket_edges_by_range
from daskgraphpart.dispatching.edge_runs import RunTable
from daskgraphpart.dispatching.lay_out import wanted_arrays
from daskgraphpart.storage.region import create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.nodes import NumberedNodes
    from daskgraphpart.storage.region import Region


def bucket_all_edges(job: Job, nodes: NumberedNodes) -> tuple[RunTable, Mapping[str, Region]]:
    """Write a run for every partition of edges, in one pass or, if the node maps exceed the memory, in three.

    Also returns the owners of edges, of the types that carry data, or of all if IDs are kept.
    """
    schema, sizes = job.graph.schema, job.sizes
    found = edge_partitions(job.graph, sizes.edge_block_rows, sizes.csv_block_bytes, job.runner)
    partitions = [partition for _, partition in found]
    units = [EdgeUnit(i, p.rows, edge_type, job.work.run(i)) for i, (edge_type, p) in enumerate(found)]
    wanted = wanted_arrays(job.layouts, schema)
    edge_owners = {
        edge_type.name: npy_region(job.work.edge_owners(i), owner_dtype(job.num_parts), (edge_type.num_edges,))
        for i, edge_type in enumerate(schema.edge_types)
        if edge_type.data or f"edge_owners/{edge_type.name}" in wanted
    }
    job.runner.step("create-edge-owners", lambda: create_files(edge_owners.values()))
    config = BucketConfig(job.assignment.owners, nodes.maps, edge_owners, job.num_parts)
    dtype = next(iter(nodes.maps.values())).dtype
    # what one pass over all edges looks up at random
    looked_up = sum(region.nbytes for files in (nodes.maps, job.assignment.owners) for region in files.values())
    if looked_up <= sizes.map_bytes:
        counts = job.runner.run(edge_pass("bucket-edges", bucket_edges, units, partitions, config, dtype.itemsize))
    else:
        part_ends = np.cumsum(nodes.counts.sum(axis=1))
        ranges = RangeConfig(config, job.work, sizes.range_nodes, part_ends)
        counts = bucket_edges_by_range(units, partitions, ranges, job.runner)
    runs = RunTable(
        etype_ids=np.array([schema.etypes.index(unit.edge_type.name) for unit in units], np.int64),
        first_rows=np.array([unit.rows.first_row for unit in units], np.int64),
        num_rows=np.array([unit.rows.num_rows for unit in units], np.int64),
        counts=np.array(counts, np.int64).reshape(len(units), job.num_parts),
        dtype=dtype,
    )
    return runs, edge_owners
