"""Count the nodes that each part owns, and give all nodes new IDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.book import PartitionBook
from daskgraphpart.dispatching.count_owners import count_intervals
from daskgraphpart.dispatching.relabel_nodes import RelabelConfig, relabel_nodes_pass
from daskgraphpart.storage.region import create_files, npy_region
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class NumberedNodes:
    """Nodes with new IDs: owned by each part, int64 (parts, node types); offsets and new IDs by node type."""

    counts: np.ndarray
    offsets: Mapping[str, RowOffsets]
    maps: Mapping[str, Region]


def number_nodes(job: Job, marks: Mapping[str, Sequence[int]]) -> NumberedNodes:
    """Count and relabel all nodes; `marks` are the rows of each node type at which blocks of features begin."""
    schema, owners = job.graph.schema, job.assignment.owners
    in_order = {ntype: owners[ntype] for ntype in schema.ntypes}
    offsets = count_intervals(in_order, marks, job.num_parts, job.sizes.interval_rows, job.runner)
    counts = np.stack([offsets[ntype].totals for ntype in schema.ntypes], axis=1)
    book = PartitionBook.from_counts(
        schema.ntypes, schema.etypes, counts, np.zeros((job.num_parts, len(schema.etypes)), np.int64)
    )
    dtype = id_dtype(schema.num_nodes)
    maps = {
        node_type.name: npy_region(job.work.node_map(i), dtype, (node_type.num_nodes,))
        for i, node_type in enumerate(schema.node_types)
    }
    job.runner.step("create-node-maps", lambda: create_files(maps.values()))
    job.runner.run(relabel_nodes_pass(RelabelConfig(in_order, maps), offsets, book))
    return NumberedNodes(counts, offsets, maps)
