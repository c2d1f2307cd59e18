"""Passes `cut-slab` and `merge-arcs`: runs of arcs become CSR blocks.

Blocks are cut by the number of their arcs before merging, which depends on the graph alone, so the blocks do not depend
on how the input was read. A slab with more arcs than a block may have is counted by node and cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.arc_runs import ArcRuns, Slice, empty_arcs, slab_shift, slices_of
from daskgraphpart.adjacency.csr_blocks import Adjacency, CsrBlock, write_block
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.arcs import count_nodes, merge_arcs, merge_weighted_arcs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

LEAST_BLOCK_ARCS, MOST_BLOCK_ARCS = 1 << 16, 1 << 21
BLOCKS = 64  # of a graph that is neither small nor large


@dataclass(frozen=True, slots=True)
class Range:
    """Consecutive nodes that become one block, or a slab to be cut.

    Parameters
    ----------
    index : int
        Number of the block.
    start, stop : int
        Range of nodes.
    num_arcs : int
        Arcs before merging.
    slices : tuple of Slice
        Where they are.
    """

    index: int
    start: int
    stop: int
    num_arcs: int
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class MergeConfig:
    """Where blocks go.

    Parameters
    ----------
    directory : str
        Of the blocks.
    dtype : numpy.dtype
        Of the neighbours.
    weight_dtype : numpy.dtype or None
        Of the arcs' weights, in which their sum fits; None if they have none.
    in_degrees : Region or None
        Filled with the in-degree of each node, int64.
    """

    directory: str
    dtype: np.dtype
    weight_dtype: np.dtype | None
    in_degrees: Region | None

    @property
    def arc_nbytes(self) -> int:
        """Bytes of an arc."""
        return self.room_for(1).nbytes

    def room_for(self, num_arcs: int) -> np.ndarray:
        """Return an array of that many arcs, not filled."""
        return empty_arcs(num_arcs, self.dtype, self.weight_dtype)

    def read(self, pieces: Sequence[Slice]) -> np.ndarray:
        """Read arcs, one row each."""
        arcs, done = self.room_for(sum(piece.num_arcs for piece in pieces)), 0
        for piece in pieces:
            piece.read_into(arcs[done : done + piece.num_arcs])
            done += piece.num_arcs
        return arcs


@dataclass(frozen=True, slots=True)
class Merged:
    """A block, its isolated nodes, the sum of its weights, and the most neighbours of a node."""

    block: CsrBlock
    num_isolated: int
    total_weight: int
    max_degree: int


def merge_runs(
    runs: ArcRuns, directory: Path, in_degrees: Region | None, runner: Runner, least_arcs: int = 0
) -> Adjacency:
    """Run both passes, for blocks of at least so many arcs if there are as many; the runs' files are removed."""
    config = MergeConfig(str(directory), runs.dtype, runs.weight_dtype, in_degrees)
    units = [
        Range(i, start, stop, arcs, tuple(slices_of(runs, *slabs)))
        for i, (start, stop, arcs, slabs) in enumerate(_ranges(runs, least_arcs, runner))
    ]
    sizes = [2 * unit.num_arcs * runs.arc_nbytes for unit in units]
    found = runner.run(Pass("merge-arcs", merge_block, units, config, sizes, (Merged, CsrBlock)))
    for path in Path(runs.directory).glob("*-??????.npy"):
        path.unlink(missing_ok=True)
    return Adjacency(
        runs.num_nodes,
        sum(merged.num_isolated for merged in found),
        sum(merged.total_weight for merged in found),
        max((merged.max_degree for merged in found), default=0),
        tuple(merged.block for merged in found),
    )


def most_arcs_of_block(num_arcs: int, least: int = 0) -> int:
    """Most arcs of a block in a graph of that many, unless they are of one node."""
    return min(max(num_arcs // BLOCKS, LEAST_BLOCK_ARCS, least), MOST_BLOCK_ARCS)


def _ranges(runs: ArcRuns, least_arcs: int, runner: Runner) -> list[tuple[int, int, int, tuple[int, int]]]:
    """Start, stop, arcs and slabs of every block."""
    totals = runs.counts.sum(axis=0)
    most = most_arcs_of_block(int(totals.sum()), least_arcs)
    nodes_per_slab = 1 << slab_shift(runs.num_nodes)

    def nodes_of(first: int, last: int) -> tuple[int, int]:
        return first * nodes_per_slab, min(last * nodes_per_slab, runs.num_nodes)

    hot = [int(slab) for slab in np.flatnonzero(totals > most)]
    units = [Range(s, *nodes_of(s, s + 1), most, tuple(slices_of(runs, s, s + 1))) for s in hot]
    sizes = [int(totals[s]) * runs.arc_nbytes for s in hot]
    config = MergeConfig("", runs.dtype, runs.weight_dtype, None)
    cuts = dict(zip(hot, runner.run(Pass("cut-slab", cut_slab, units, config, sizes)), strict=True))
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


def cut_slab(unit: Range, config: MergeConfig) -> list[tuple[int, int, int]]:
    """Cut a slab into ranges of nodes with at most `unit.num_arcs` arcs, or of one node: start, stop, arcs of each."""
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
    num_arcs = arcs.shape[0]
    rows, weights = np.empty(num_arcs, config.dtype), np.empty(num_arcs, config.weight_dtype or np.int32)
    indptr = np.empty(unit.stop - unit.start + 1, np.int64)
    if config.weight_dtype is not None:
        done = merge_weighted_arcs(arcs, unit.start, unit.stop, rows, indptr, weights)
    else:
        in_degrees = np.zeros(unit.stop - unit.start, np.int64)
        done = merge_arcs(arcs, unit.start, unit.stop, rows, indptr, weights, in_degrees)
        if config.in_degrees is not None:
            config.in_degrees.write(in_degrees, unit.start)
    weights = weights[:done]
    total = int(weights.sum(dtype=np.int64))
    path = f"{config.directory}/block-{unit.index:06d}.csr"
    block = write_block(path, unit.start, indptr, rows[:done], None if total == done else weights)
    degrees = np.diff(indptr)
    return Merged(block, int(np.count_nonzero(degrees == 0)), total, int(degrees.max(initial=0)))


def _read_arcs(unit: Range, config: MergeConfig) -> np.ndarray:
    """Arcs of the unit's nodes."""
    if sum(piece.num_arcs for piece in unit.slices) == unit.num_arcs:
        return config.read(unit.slices)
    kept, done = config.room_for(unit.num_arcs), 0
    for piece in unit.slices:
        arcs = config.read([piece])
        mine = arcs[(arcs[:, 0] >= unit.start) & (arcs[:, 0] < unit.stop)]
        kept[done : done + mine.shape[0]] = mine
        done += mine.shape[0]
    return kept
