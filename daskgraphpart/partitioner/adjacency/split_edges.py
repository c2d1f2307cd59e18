"""Pass `split-edges`: every edge becomes the arcs of its ends, in runs grouped by ranges of homogeneous IDs.

A range has ``2 ** shift`` nodes. There are about a thousand, so the counts of all runs are a small table, and arcs of
consecutive ranges are one slice of each run. Graphs above 2 ** 28 edges get more ranges, so that few exceed the arcs of
a block: those are read once to cut them, and once more per block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit, share_tasks
from daskgraphpart.graph.dask_partitions import list_edge_blocks
from daskgraphpart.kernels.arcs import count_edge_arcs, scatter_edge_arcs
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.partitioner.adjacency.weigh_edges import count_units
from daskgraphpart.storage.region import Region, id_dtype, npy_region, save_npy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.adjacency.weigh_edges import EdgeWeights
    from daskgraphpart.source import Block, Edges

BYTES_PER_EDGE = 16 + 3 * 16 + 16  # IDs as read and decoded, arcs, room for the reader and weights
MAX_ROWS, MIN_ROWS = 1 << 20, 1 << 15
SMALL_ROWS = 1 << 16  # edges of several blocks that share a run
ARCS_PER_READ = 1 << 20
LOG2_RANGES, MOST_LOG2_RANGES = 10, 13
LOG2_ARCS = 19  # arcs of a range, if there are more than the fewest; its average stays below twice that


def range_shift(num_nodes: int, num_arcs: int) -> int:
    """Binary logarithm of the nodes in a range."""
    log2_ranges = min(max((num_arcs >> LOG2_ARCS).bit_length(), LOG2_RANGES), MOST_LOG2_RANGES)
    return max(0, (num_nodes - 1).bit_length() - log2_ranges) if num_nodes else 0


class Slice(NamedTuple):
    """Consecutive arcs of one run."""

    run: Region
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class ArcRuns:
    """All runs: files of arcs (arcs, 2 or 3), with node, neighbour and any weight, by node range."""

    num_nodes: int
    runs: tuple[Region, ...]
    shift: int  # binary logarithm of the nodes of a range
    borders: np.ndarray  # start of each node range in each run, int64 (runs, node ranges + 1)
    total_weight: int | None  # of the edges, with self-loops, if counted

    def slices(self, first_range: int, last_range: int) -> tuple[Slice, ...]:
        """Slices of all runs in node ranges ``[first, last)``, in pieces of bounded size."""
        starts, stops = self.borders[:, first_range], self.borders[:, last_range]
        return tuple(
            Slice(self.runs[i], first, min(int(stops[i]), first + ARCS_PER_READ))
            for i in np.flatnonzero(stops > starts)
            for first in range(int(starts[i]), int(stops[i]), ARCS_PER_READ)
        )


@dataclass(frozen=True, slots=True)
class SplitUnit:
    """Consecutive blocks of edges, first homogeneous IDs of the types at their ends, and the file for their run.

    `weights` are the weight files of each block's type, None if all are 1.
    """

    blocks: tuple[Block[Edges], ...]
    first_ids: tuple[tuple[int, int], ...]
    path: str
    weights: tuple[Region | None, ...]

    @property
    def num_edges(self) -> int:
        """Edges of all blocks."""
        return sum(block.num_rows for block in self.blocks)


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Nodes of all types, their ranges, and the exponent of the unit of weights; None without weights."""

    num_nodes: int
    shift: int  # binary logarithm of the nodes of a range
    exponent: int | None

    @property
    def num_ranges(self) -> int:
        """Number of node ranges."""
        return -(-self.num_nodes >> self.shift)


def split_edges_of(graph: Graph, weights: EdgeWeights | None, directory: Path, runner: Runner) -> ArcRuns:
    """Run the pass over all edges of a graph."""
    schema, dtype = graph.schema, id_dtype(graph.schema.num_nodes)
    files = {} if weights is None else weights.files
    works = [
        SplitUnit(of.blocks, of.first_ids, f"{directory}/arcs-{i:06d}.npy", tuple(map(files.get, of.etypes)))
        for i, of in enumerate(share_blocks(graph, runner))
    ]
    units = [Unit(work, work.num_edges * BYTES_PER_EDGE, key=work.blocks[0].name) for work in works]
    shift = range_shift(schema.num_nodes, 2 * schema.num_edges)
    config = SplitConfig(schema.num_nodes, shift, None if weights is None else weights.exponent)
    counted = runner.run(Pass("split-edges", split_edges, units, config))
    borders = borders_of_runs([counts for counts, _ in counted], config.num_ranges)
    totals, width = borders[:, -1].tolist(), 2 if weights is None else 3
    runs = (npy_region(work.path, dtype, (total, width)) for work, total in zip(works, totals, strict=True))
    return ArcRuns(schema.num_nodes, tuple(runs), shift, borders, sum(weight for _, weight in counted))


class BlocksOfRun(NamedTuple):
    """Consecutive blocks of edges; of each the edge type, and the first homogeneous IDs of the types at its ends."""

    blocks: tuple[Block[Edges], ...]
    etypes: tuple[str, ...]
    first_ids: tuple[tuple[int, int], ...]


def share_blocks(graph: Graph, runner: Runner) -> list[BlocksOfRun]:
    """Share all edges among runs, in the order of types and IDs."""
    rows = min(MAX_ROWS, max(MIN_ROWS, runner.resources.task_memory // (2 * BYTES_PER_EDGE)))
    blocks = list_edge_blocks(graph, rows, rows * 8, runner)
    first_ids = dict(zip(graph.schema.ntypes, graph.schema.homo_starts, strict=False))
    shared = []
    for of in share_tasks([block.num_rows for _, block in blocks], min(rows, SMALL_ROWS)):
        types, mine = zip(*blocks[of.start : of.stop], strict=True)
        ends = tuple((first_ids[etype.src], first_ids[etype.dst]) for etype in types)
        shared.append(BlocksOfRun(mine, tuple(etype.name for etype in types), ends))
    return shared


def borders_of_runs(counted: Sequence[np.ndarray], num_ranges: int) -> np.ndarray:
    """Start of each node range in each run, from the runs' counts, int64 (runs, node ranges + 1)."""
    borders = np.zeros((len(counted), num_ranges + 1), np.int64)
    for of_run, counts in zip(borders, counted, strict=True):
        np.cumsum(counts, out=of_run[1:])
    return borders


def split_edges(unit: SplitUnit, config: SplitConfig) -> tuple[np.ndarray, int]:
    """Write a unit's run; return its arcs by node range, int64 (node ranges,), and its weight."""
    shift, counts = config.shift, np.zeros(config.num_ranges, np.int64)
    edges = [block.read() for block in unit.blocks]
    for (src, dst), first_ids in zip(edges, unit.first_ids, strict=True):
        count_edge_arcs(src, dst, first_ids, shift, counts)
    starts, total = group_starts(counts), 0
    arcs = np.empty((starts[-1], 2 if config.exponent is None else 3), id_dtype(config.num_nodes))
    cursors = starts[:-1].copy()
    for (src, dst), first_ids, block, region in zip(edges, unit.first_ids, unit.blocks, unit.weights, strict=True):
        weights = _read_weights(block, region, config.exponent)
        scatter_edge_arcs(src, dst, weights, first_ids, shift, cursors, arcs)
        total += src.size if config.exponent is None else int(weights.sum(dtype=np.int64))
    save_npy(unit.path, arcs)
    return counts, total


def _read_weights(block: Block[Edges], weights: Region | None, exponent: int | None) -> np.ndarray:
    """Read a block's weights in units, int32 (edges,), or (0,) without weights."""
    if exponent is None:
        return np.empty(0, np.int32)
    if weights is None:
        return count_units(np.broadcast_to(1.0, block.num_rows), exponent)
    return count_units(weights.read(block.first_row, block.first_row + block.num_rows), exponent)
