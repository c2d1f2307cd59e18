"""Pass `split-edges`: every edge becomes the arcs of its two ends, in runs grouped by ranges of homogeneous IDs.

A range has ``2 ** shift`` nodes. There are about a thousand whatever the graph's size, so the counts of all runs are a
small table, and the arcs of consecutive ranges are one slice of each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.adjacency.weigh_edges import EdgeWeights, count_units
from daskgraphpart.chunked.partitions import Edges, RowBlock, list_edge_blocks
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.kernels.arcs import count_edge_arcs, scatter_edge_arcs
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.region import Region, npy_region, save_npy
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.chunked.graph import Graph

BYTES_PER_EDGE = 16 + 3 * 16 + 16  # IDs as read and decoded, arcs, room for the reader and for weights
MAX_ROWS, MIN_ROWS = 1 << 20, 1 << 15
ARCS_PER_READ = 1 << 20
LOG2_RANGES = 10


def range_shift(num_nodes: int) -> int:
    """Binary logarithm of the nodes of one node range."""
    return max(0, (num_nodes - 1).bit_length() - LOG2_RANGES) if num_nodes else 0


def num_node_ranges(num_nodes: int) -> int:
    """Number of node ranges."""
    return -(-num_nodes >> range_shift(num_nodes)) if num_nodes else 0


class Slice(NamedTuple):
    """Consecutive arcs of one run."""

    run: Region
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class ArcRuns:
    """All runs: files of arcs (arcs, 2 or 3), node, neighbour and weight if edges have some, by node range."""

    num_nodes: int
    runs: tuple[Region, ...]
    counts: np.ndarray  # arcs of each run in each node range, int64 (runs, node ranges)
    total_weight: int  # of the edges

    def slices(self, first_range: int, last_range: int) -> tuple[Slice, ...]:
        """Slices of all runs in node ranges ``[first, last)``, in pieces of bounded size."""
        starts = self.counts[:, :first_range].sum(axis=1)
        stops = starts + self.counts[:, first_range:last_range].sum(axis=1)
        return tuple(
            Slice(self.runs[i], first, min(int(stops[i]), first + ARCS_PER_READ))
            for i in np.flatnonzero(stops > starts)
            for first in range(int(starts[i]), int(stops[i]), ARCS_PER_READ)
        )


@dataclass(frozen=True, slots=True)
class SplitUnit:
    """One block of edges, the first homogeneous IDs of its node types, the file of its run, and that of weights."""

    block: RowBlock[Edges]
    first_ids: tuple[int, int]
    path: str
    weights: Region | None


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Nodes of all types, and the exponent of the unit that weights are counted in; None if edges have no weights."""

    num_nodes: int
    exponent: int | None


def split_edges_of(graph: Graph, weights: EdgeWeights | None, directory: Path, runner: Runner) -> ArcRuns:
    """Run the pass over all edges of a graph."""
    schema, dtype = graph.schema, id_dtype(graph.schema.num_nodes)
    rows = min(MAX_ROWS, max(MIN_ROWS, runner.resources.task_memory // (2 * BYTES_PER_EDGE)))
    blocks = list_edge_blocks(graph, rows, rows * 8, runner)
    first_ids = dict(zip(schema.ntypes, schema.homo_starts, strict=False))
    files = {} if weights is None else weights.files
    paths = [f"{directory}/arcs-{i:06d}.npy" for i in range(len(blocks))]
    units = [
        Unit(
            SplitUnit(block, (first_ids[etype.src], first_ids[etype.dst]), path, files.get(etype.name)),
            block.num_rows * BYTES_PER_EDGE,
            key=etype.name,
        )
        for (etype, block), path in zip(blocks, paths, strict=True)
    ]
    config = SplitConfig(schema.num_nodes, None if weights is None else weights.exponent)
    found = runner.run(Pass("split-edges", split_edges, units, config))
    counts = np.array([of_run for of_run, _ in found], np.int64).reshape(len(units), num_node_ranges(schema.num_nodes))
    totals, width = counts.sum(axis=1).tolist(), 2 if weights is None else 3
    runs = (npy_region(path, dtype, (total, width)) for path, total in zip(paths, totals, strict=True))
    return ArcRuns(schema.num_nodes, tuple(runs), counts, sum(weight for _, weight in found))


def split_edges(unit: SplitUnit, config: SplitConfig) -> tuple[np.ndarray, int]:
    """Write the run of one block; return its arcs by node range, int64 (node ranges,), and its weight."""
    src, dst = unit.block.read()
    shift, counts = range_shift(config.num_nodes), np.zeros(num_node_ranges(config.num_nodes), np.int64)
    count_edge_arcs(src, dst, unit.first_ids, shift, counts)
    starts, weights = group_starts(counts), _read_weights(unit, config.exponent)
    arcs = np.empty((starts[-1], 3 if weights.size else 2), id_dtype(config.num_nodes))
    scatter_edge_arcs(src, dst, weights, unit.first_ids, shift, starts[:-1].copy(), arcs)
    save_npy(unit.path, arcs)
    return counts, int(weights.sum(dtype=np.int64)) if weights.size else src.size


def _read_weights(unit: SplitUnit, exponent: int | None) -> np.ndarray:
    """Read the weights of a block in units, int32 (edges,), (0,) if there are none."""
    if exponent is None:
        return np.empty(0, np.int32)
    if unit.weights is None:
        return count_units(np.broadcast_to(1.0, unit.block.num_rows), exponent)
    first = unit.block.first_row
    return count_units(unit.weights.read(first, first + unit.block.num_rows), exponent)
