"""Pass `compress-graph`: CSR and CSC of each part, by counting sorts that fit into memory.

`build-graph` left the edges grouped by bucket of their row. A unit takes consecutive buckets, which are one slice of
every segment's file, and writes its stretch of the three arrays. Inside a row edges keep the order of their local IDs,
hence of their types, which DGL's samplers rely on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.lay_out import write_rows
from daskgraphpart.kernels.compress import count_keys, scatter_window
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.runs import run_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.dispatching.part_graph import GraphConfig, PartGraph

LOCAL_DTYPE = np.dtype(np.int64)
EDGES_PER_READ = 1 << 18
MAX_BUCKETS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class RowRange:
    """Consecutive rows of one part's ``"csr"`` or ``"csc"``, and the place of their first edge in the sorted order."""

    graph: PartGraph
    name: str
    first_row: int
    stop_row: int
    first_edge: int
    num_edges: int
    segments: np.ndarray  # int64 (segments, 4): number and edges of the segment, first edge and edges of the slice


def bucket_rows(graph: PartGraph, max_edges: int) -> int:
    """Rows per bucket: enough buckets to cut a part into ranges that fit, no more than needed for small parts."""
    wanted = 4 * -(-max(graph.num_edges, graph.num_nodes) // max_edges)
    return max(1, -(-graph.num_nodes // min(MAX_BUCKETS, wanted))) if wanted > 4 else max(1, graph.num_nodes)


def row_ranges(graph: PartGraph, name: str, counts: np.ndarray, max_edges: int) -> list[RowRange]:
    """Cut one part's rows into ranges of at most `max_edges` edges or rows; `counts` is int64 (segments, buckets)."""
    width, per_bucket = bucket_rows(graph, max_edges), counts.sum(axis=0, dtype=np.int64)
    starts = np.cumsum(counts, axis=1) - counts
    edges_before = group_starts(per_bucket)
    ranges, first = [], 0
    while first < per_bucket.size:
        fits = np.searchsorted(edges_before, edges_before[first] + max_edges, side="right") - 1
        stop = int(max(first + 1, min(fits, first + max(1, max_edges // width))))
        inside = counts[:, first:stop].sum(axis=1, dtype=np.int64)
        segments = np.stack([np.arange(len(counts)), counts.sum(axis=1), starts[:, first], inside], axis=1)
        rows = first * width, min(stop * width, graph.num_nodes)
        edges = int(edges_before[first]), int(inside.sum())
        ranges.append(RowRange(graph, name, *rows, *edges, segments[inside > 0]))
        first = stop
    return ranges


def compress_graph(unit: RowRange, config: GraphConfig) -> None:
    """Sort the edges of one range of rows."""
    arrays = unit.graph.arrays
    degrees = np.zeros(unit.stop_row - unit.first_row, np.int64)
    for keys, _, _ in _edges(unit, config):
        count_keys(keys, unit.first_row, 1, degrees)
    starts = group_starts(degrees)
    last = unit.stop_row == unit.graph.num_nodes  # indptr has one entry more than there are rows
    indptr = unit.first_edge + (starts if last else starts[:-1])
    write_rows(arrays[f"{unit.name}/indptr"], indptr, unit.first_row)
    # one window, unless a single bucket holds more edges than fit: the hub of a power-law graph
    for first in range(0, unit.num_edges, config.max_edges):
        stop = min(first + config.max_edges, unit.num_edges)
        columns, eids = np.empty(stop - first, np.int64), np.empty(stop - first, np.int64)
        cursors = starts[:-1].copy()
        for keys, others, edge_ids in _edges(unit, config):
            scatter_window(keys, others, edge_ids, unit.first_row, cursors, (first, stop), columns, eids)
        write_rows(arrays.get(f"{unit.name}/indices", ()), columns, unit.first_edge + first)
        write_rows(arrays.get(f"{unit.name}/eids", ()), eids, unit.first_edge + first)


def _edges(unit: RowRange, config: GraphConfig) -> Iterator[tuple[np.ndarray, ...]]:
    """Read (row, column, local edge ID) of the range, segment after segment."""
    for number, rows, start, count in unit.segments.tolist():
        path = config.work.file("local", unit.graph.part, number, unit.name)
        columns = [run_column(path, LOCAL_DTYPE, rows, column) for column in range(3)]
        for first in range(start, start + count, EDGES_PER_READ):
            stop = min(first + EDGES_PER_READ, start + count)
            yield tuple(column.read(first, stop) for column in columns)
