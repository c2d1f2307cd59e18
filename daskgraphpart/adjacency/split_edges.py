"""Pass `split-edges`: every edge becomes the arcs of its two ends, grouped by node ranges of homogeneous IDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.arc_runs import ArcRuns, num_node_ranges, range_shift, write_run
from daskgraphpart.chunked.partitions import edge_partitions
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.arcs import count_edge_arcs, scatter_edge_arcs
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.chunked.partitions import Edges, RowRange
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import EdgeType

BYTES_PER_EDGE = 16 + 3 * 16 + 16  # IDs as read and decoded, arcs, room for the reader
MOST_ROWS, LEAST_ROWS = 1 << 20, 1 << 15


@dataclass(frozen=True, slots=True)
class SplitUnit:
    """One partition of edges of one type, and the number of its run."""

    index: int
    rows: RowRange
    edge_type: EdgeType


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Where runs go."""

    directory: str  # of the runs
    first_ids: dict[str, int]  # homogeneous ID of the first node of each type
    num_nodes: int  # nodes of all types


def split_edges_of(graph: ChunkedGraph, directory: Path, runner: Runner) -> ArcRuns:
    """Run the pass over all edges of a graph."""
    rows = min(MOST_ROWS, max(LEAST_ROWS, runner.resources.task_memory // (2 * BYTES_PER_EDGE)))
    partitions = edge_partitions(graph, rows, rows * 8, runner)
    units = [SplitUnit(i, partition.rows, edge_type) for i, (edge_type, partition) in enumerate(partitions)]
    node_types = graph.schema.node_types
    ends = np.cumsum([0, *(node_type.num_nodes for node_type in node_types)])
    config = SplitConfig(
        str(directory),
        {node_type.name: int(first) for node_type, first in zip(node_types, ends, strict=False)},
        graph.schema.num_nodes,
    )
    sizes = [unit.rows.num_rows * BYTES_PER_EDGE for unit in units]
    values, types = [partition.value for _, partition in partitions], [unit.edge_type.name for unit in units]
    counts = runner.run(Pass("split-edges", split_edges, units, config, sizes, partitions=values, unit_types=types))
    dtype = id_dtype(config.num_nodes)
    table = np.array(counts, np.int64).reshape(len(units), num_node_ranges(config.num_nodes))
    return ArcRuns(str(directory), config.num_nodes, dtype, table)


def split_edges(edges: Edges, unit: SplitUnit, config: SplitConfig) -> np.ndarray:
    """Write the run of one partition; return the number of its arcs in each node range, int64 (node ranges,)."""
    src, dst = edges
    unit.rows.check(src.size)
    edge_type = unit.edge_type
    firsts = (config.first_ids[edge_type.src], config.first_ids[edge_type.dst])
    shift = range_shift(config.num_nodes)
    counts = np.zeros(num_node_ranges(config.num_nodes), np.int64)
    count_edge_arcs(src, dst, firsts, shift, counts)
    starts = group_starts(counts)
    arcs = np.empty((starts[-1], 2), id_dtype(config.num_nodes))
    scatter_edge_arcs(src, dst, firsts, shift, starts[:-1].copy(), arcs)
    write_run(config.directory, unit.index, arcs)
    return counts
