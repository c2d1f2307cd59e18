"""Passes `cut-node-range` and `merge-arcs`: runs of arcs become CSR blocks.

Blocks are cut by the number of their arcs before merging, which depends on the graph alone, so the blocks do not depend
on how the input was read. A node range with more arcs than a block may have is counted by node and cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.arc_runs import ArcRuns, Slice, range_shift, slices_of
from daskgraphpart.adjacency.csr_blocks import Adjacency, CsrBlock, write_block
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.arcs import count_nodes, merge_arcs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

LEAST_BLOCK_ARCS, MOST_BLOCK_ARCS = 1 << 16, 1 << 21
BLOCKS = 64  # of a graph that is neither small nor large


@dataclass(frozen=True, slots=True)
class Range:
    """Consecutive nodes that become one block, or a range to be cut; their arcs before merging, and where these are."""

    index: int
    start: int
    stop: int
    num_arcs: int
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class MergeConfig:
    """Where blocks go, the dtype of neighbours, and the file of in-degrees, int64 (nodes,)."""

    directory: str
    dtype: np.dtype
    in_degrees: Region

    def read(self, pieces: Sequence[Slice]) -> np.ndarray:
        """Read arcs, one row each: node and neighbour."""
        arcs, done = np.empty((sum(piece.num_arcs for piece in pieces), 2), self.dtype), 0
        for piece in pieces:
            piece.read_into(arcs[done : done + piece.num_arcs])
            done += piece.num_arcs
        return arcs


@dataclass(frozen=True, slots=True)
class Merged:
    """A block, how many of its nodes are isolated, and the sum of its weights."""

    block: CsrBlock
    num_isolated: int
    total_weight: int


def merge_runs(runs: ArcRuns, directory: Path, in_degrees: Region, runner: Runner) -> Adjacency:
    """Run both passes; the runs' files are removed."""
    config = MergeConfig(str(directory), runs.dtype, in_degrees)
    units = [
        Range(i, start, stop, arcs, tuple(slices_of(runs, *node_ranges)))
        for i, (start, stop, arcs, node_ranges) in enumerate(_ranges(runs, config, runner))
    ]
    sizes = [4 * unit.num_arcs * runs.dtype.itemsize for unit in units]
    found = runner.run(Pass("merge-arcs", merge_block, units, config, sizes, (Merged, CsrBlock)))
    for path in Path(runs.directory).glob("*-??????.npy"):
        path.unlink(missing_ok=True)
    return Adjacency(
        runs.num_nodes,
        sum(merged.num_isolated for merged in found),
        sum(merged.total_weight for merged in found),
        tuple(merged.block for merged in found),
    )


def most_arcs_of_block(num_arcs: int) -> int:
    """Most arcs of a block in a graph of that many, unless they are of one node."""
    return min(max(num_arcs // BLOCKS, LEAST_BLOCK_ARCS), MOST_BLOCK_ARCS)


def _ranges(runs: ArcRuns, config: MergeConfig, runner: Runner) -> list[tuple[int, int, int, tuple[int, int]]]:
    """Start, stop, arcs and node ranges of every block."""
    totals = runs.counts.sum(axis=0)
    most = most_arcs_of_block(int(totals.sum()))
    nodes_per_range = 1 << range_shift(runs.num_nodes)

    def nodes_of(first: int, last: int) -> tuple[int, int]:
        return first * nodes_per_range, min(last * nodes_per_range, runs.num_nodes)

    hot = [int(number) for number in np.flatnonzero(totals > most)]
    units = [Range(s, *nodes_of(s, s + 1), most, tuple(slices_of(runs, s, s + 1))) for s in hot]
    sizes = [2 * int(totals[s]) * runs.dtype.itemsize for s in hot]
    cuts = dict(zip(hot, runner.run(Pass("cut-node-range", cut_node_range, units, config, sizes)), strict=True))
    ranges, first, last = [], 0, 0
    while first < totals.size:
        if first in cuts:
            ranges += [(start, stop, arcs, (first, first + 1)) for start, stop, arcs in cuts[first]]
            first += 1
            continue
        last, arcs = first + 1, int(totals[first])
        while last < totals.size and last not in cuts and _fits(arcs + totals[last], *nodes_of(first, last + 1), most):
            arcs += int(totals[last])
            last += 1
        ranges.append((*nodes_of(first, last), arcs, (first, last)))
        first = last
    return ranges


def _fits(arcs: int, start: int, stop: int, most: int) -> bool:
    return arcs <= most and stop - start <= most


def cut_node_range(unit: Range, config: MergeConfig) -> list[tuple[int, int, int]]:
    """Cut a range into ranges with at most `unit.num_arcs` arcs, or of one node: start, stop, arcs of each."""
    counts = np.zeros(unit.stop - unit.start, np.int64)
    for piece in unit.slices:
        count_nodes(config.read([piece]), unit.start, counts)
    ends = np.cumsum(counts)
    cuts, first, done = [], 0, 0
    while first < counts.size:
        last = max(first + 1, int(np.searchsorted(ends, done + unit.num_arcs, side="right")))
        cuts.append((unit.start + first, unit.start + last, int(ends[last - 1] - done)))
        first, done = last, int(ends[last - 1])
    return cuts


def merge_block(unit: Range, config: MergeConfig) -> Merged:
    """Write one block."""
    arcs = _read_arcs(unit, config)
    rows, weights = np.empty(arcs.shape[0], config.dtype), np.empty(arcs.shape[0], np.int32)
    indptr, in_degrees = np.empty(unit.stop - unit.start + 1, np.int64), np.zeros(unit.stop - unit.start, np.int64)
    done = merge_arcs(arcs, unit.start, unit.stop, rows, indptr, weights, in_degrees)
    config.in_degrees.write(in_degrees, unit.start)
    weights = weights[:done]
    total = int(weights.sum(dtype=np.int64))
    path = f"{config.directory}/block-{unit.index:06d}.csr"
    block = write_block(path, unit.start, indptr, rows[:done], None if total == done else weights)
    return Merged(block, int(np.count_nonzero(np.diff(indptr) == 0)), total)


def _read_arcs(unit: Range, config: MergeConfig) -> np.ndarray:
    """Arcs of the unit's nodes."""
    if sum(piece.num_arcs for piece in unit.slices) == unit.num_arcs:
        return config.read(unit.slices)
    kept, done = np.empty((unit.num_arcs, 2), config.dtype), 0
    for piece in unit.slices:
        arcs = config.read([piece])
        mine = arcs[(arcs[:, 0] >= unit.start) & (arcs[:, 0] < unit.stop)]
        kept[done : done + mine.shape[0]] = mine
        done += mine.shape[0]
    return kept
