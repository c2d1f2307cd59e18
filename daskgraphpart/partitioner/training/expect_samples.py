"""Passes `mark-seeds`, `expect-samples`, `add-up-samples` and `weigh-samples`: how often training samples each edge.

A batch has seeds, and each hop samples in-edges of all nodes so far, as in DGL. With B seeds in each of k batches, a
seed is reached with chance p(v) = min(1, B k / seeds). A hop samples the in-edge (u, v) with x = p(v) min(1, fan-out /
in-edges of v of its type), p(v) being the chance that v was reached before; u is reached unless all its out-edges fail.
An edge's expected samples are the sum of x over the hops.

Of a part's work it is known where it is done and where it begins: samples at its nodes, which others' seeds reach as
well, and samples below its seeds, which also reach others' nodes, and the same node twice. What is counted lies between
both, so that a node's work is their mean.

Edges weigh their expected ``samples``; or ``rows``, if each sample counts one and the rows that are sampled below its
source in the hops to come: what a cut of the edge fetches, if nothing below is met twice.

Each hop is a pass over the in-edges. Chances are added up as logarithms in fixed point, so that order changes no byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.graph.dask_partitions import list_row_blocks
from daskgraphpart.kernels.arcs import count_edge_arcs, scatter_edge_arcs
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.kernels.sample_in_edges import chances_of_picks
from daskgraphpart.partitioner.adjacency.build_adjacency import MergeConfig, merge_arcs_of
from daskgraphpart.partitioner.adjacency.split_edges import ArcRuns, Slice, borders_of_runs, range_shift
from daskgraphpart.partitioner.adjacency.weigh_edges import BITS
from daskgraphpart.partitioner.training.in_edges import order_by
from daskgraphpart.storage.files import delete_files, make_directory
from daskgraphpart.storage.region import Region, create_files, id_dtype, npy_region, save_npy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency
    from daskgraphpart.partitioner.training.in_edges import Columns, InEdges
    from daskgraphpart.partitioner.training.training import Training
    from daskgraphpart.source import Block

Weights = Literal["edges", "samples", "rows"]
ROWS_PER_UNIT = 1 << 20
ARCS_PER_UNIT = 1 << 22  # terms that one task adds up, read in pieces
ONE = float(1 << 40)  # a logarithm of 1 in fixed point; sums below 2 ** 53 are exact in float64
MOST = ONE * 64  # of a sum: the chance to be missed is nothing
MOST_CHANCE = 1 - 1e-12
NO_FIRSTS = 0, 0


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds of training: 1 where a node is one, uint8 (nodes,); their number, and the chance to be in a batch."""

    marks: Region
    count: int
    chance: float


@dataclass(frozen=True, slots=True)
class Expected:
    """What sampling is expected to reach: chances of nodes before each hop, and rows that follow below each."""

    in_edges: InEdges
    seeds: Seeds
    fanouts: np.ndarray  # int64 (hops, edge types)
    reached: tuple[Region, ...]  # logarithms of chances to be missed before hops 2, 3, ..., float64 (nodes,)
    below: tuple[Region, ...]  # rows sampled below a node by hops 2 ..., 3 ..., float32 (nodes,)

    def chances(self, hop: int, span: Columns) -> np.ndarray:
        """Chances of some nodes to be reached before a hop, counted from 0."""
        if hop == 0:
            return self.seeds.chance * self.seeds.marks.read(span.start, span.stop)
        chances: np.ndarray = -np.expm1(self.reached[hop - 1].read(span.start, span.stop) / -ONE)
        return chances


@dataclass(frozen=True, slots=True)
class MarkUnit:
    """Consecutive nodes, and the block of a mask, if any; without one, all are seeds, or none."""

    start: int
    stop: int
    block: Block[np.ndarray] | None = None
    mark: int = 1


def mark_seeds(graph: Graph, training: Training, num_parts: int, directory: Path, runner: Runner) -> Seeds:
    """Write who is a seed."""
    schema = graph.schema
    marks = npy_region(directory / "seeds.npy", np.uint8, (schema.num_nodes,))
    runner.step("create-seeds", lambda: create_files([marks]))
    units = []
    for node_type, (first, last) in zip(schema.node_types, pairwise(schema.homo_starts), strict=True):
        if (spec := training.masks.get(node_type.name)) is not None:
            for block in list_row_blocks(graph, node_type.name, spec, ROWS_PER_UNIT):
                start = first + block.first_row
                units.append(Unit(MarkUnit(start, start + block.num_rows, block), block.num_rows, key=node_type.name))
            continue
        for start in range(first, last, ROWS_PER_UNIT):
            stop = min(start + ROWS_PER_UNIT, last)
            units.append(Unit(MarkUnit(start, stop, mark=int(not training.masks)), stop - start, key=node_type.name))
    count = sum(runner.run(Pass("mark-seeds", mark, units, marks)))
    training.check_seeds(count)
    return Seeds(marks, count, min(1.0, training.batch_size * num_parts / count))


def mark(unit: MarkUnit, marks: Region) -> int:
    """Write the marks of one unit; return how many are seeds."""
    rows = np.full(unit.stop - unit.start, unit.mark, np.uint8)
    if unit.block is not None:
        rows[:] = unit.block.read().reshape(-1) != 0
    marks.write(rows, unit.start)
    return int(np.count_nonzero(rows))


class HopConfig(NamedTuple):
    """What is known before a hop, its number, where its runs go, and the rows below, which are written."""

    expected: Expected
    hop: int
    directory: str
    shift: int
    below: Region


def expect_samples(in_edges: InEdges, seeds: Seeds, training: Training, directory: Path, runner: Runner) -> Expected:
    """Run the passes of all hops but the last."""
    hops, shape = len(training.fanouts), (in_edges.num_nodes,)
    expected = Expected(in_edges, seeds, training.fanouts, (), ())
    shift, dtype = range_shift(in_edges.num_nodes, in_edges.num_edges), id_dtype(in_edges.num_nodes)
    files = [
        (
            npy_region(directory / f"reached-{hop}.npy", np.float64, shape),
            npy_region(directory / f"below-{hop}.npy", np.float32, shape),
        )
        for hop in range(hops - 1)
    ]
    runner.step("create-chances", lambda: create_files([region for pair in files for region in pair]))
    for hop, (reached, below) in enumerate(files):
        config = HopConfig(expected, hop, str(directory), shift, below)
        counted = runner.run(Pass("expect-samples", expect_hop, in_edges.units(24), config))
        borders = borders_of_runs(counted, -(-in_edges.num_nodes >> shift))
        paths = [_run_path(config, span) for span in in_edges.spans]
        runs = tuple(
            npy_region(path, dtype, (int(total), 2)) for path, total in zip(paths, borders[:, -1], strict=True)
        )
        sums = SumConfig(expected, hop, reached)
        runner.run(Pass("add-up-samples", add_up_samples, _sums(ArcRuns(*shape, runs, shift, borders, None)), sums))
        delete_files(paths)
        expected = Expected(in_edges, seeds, training.fanouts, (*expected.reached, reached), (below, *expected.below))
    return expected


def _run_path(config: HopConfig, span: Columns) -> str:
    return f"{config.directory}/samples-{config.hop}-{span.start}.npy"


def expect_hop(span: Columns, config: HopConfig) -> np.ndarray:
    """Write the chances that the in-edges of some nodes fail, by source; return their number by range of sources."""
    expected, num_nodes = config.expected, config.expected.in_edges.num_nodes
    indptr, sources, etypes = expected.in_edges.read(span)
    degrees, picked = np.diff(indptr), np.empty(sources.size, np.float64)
    chances_of_picks(indptr, etypes, expected.fanouts[config.hop], picked)
    chances = np.minimum(np.repeat(expected.chances(config.hop, span), degrees) * picked, MOST_CHANCE)
    sampled = np.flatnonzero(chances)
    wide = np.float32 if sources.dtype.itemsize == 4 else np.float64
    rows = np.stack([sources[sampled], (-np.log1p(-chances[sampled])).astype(wide).view(sources.dtype)], axis=1)
    order, counts = order_by(rows[:, 0] >> config.shift, -(-num_nodes >> config.shift))
    save_npy(_run_path(config, span), rows[order])
    # of hops from the last on, while those above go from the first on
    chances_of_picks(indptr, etypes, expected.fanouts[len(expected.fanouts) - 1 - config.hop], picked)
    if expected.below:
        picked *= 1 + expected.below[0].memmap()[sources]
    # in the order of edges, so that all runs round alike
    total = _by_node(picked, degrees)
    if expected.below:
        total += expected.below[0].read(span.start, span.stop)
    config.below.write(total.astype(np.float32), span.start)
    return counts


def _by_node(values: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Add up the values of in-edges by node, float64 (nodes,)."""
    sums = np.bincount(np.repeat(np.arange(degrees.size), degrees), values, degrees.size)
    return sums.astype(np.float64, copy=False)  # without edges they are whole numbers


class SumUnit(NamedTuple):
    """Consecutive nodes, and the pieces of runs with their chances."""

    start: int
    stop: int
    pieces: tuple[Slice, ...]


class SumConfig(NamedTuple):
    """What was known before the hop, its number, and the output."""

    expected: Expected
    hop: int
    reached: Region


def _sums(runs: ArcRuns) -> list[Unit[SumUnit]]:
    """Group ranges of nodes."""
    totals, units, first = np.diff(runs.borders.sum(axis=0)), [], 0
    while first < totals.size:
        last, count = first + 1, int(totals[first])
        while (
            last < totals.size
            and count + totals[last] <= ARCS_PER_UNIT
            and (last - first) << runs.shift < ROWS_PER_UNIT
        ):
            count, last = count + int(totals[last]), last + 1
        start, stop = first << runs.shift, min(last << runs.shift, runs.num_nodes)
        units.append(Unit(SumUnit(start, stop, runs.slices(first, last)), 8 * count + 16 * (stop - start)))
        first = last
    return units


def add_up_samples(unit: SumUnit, config: SumConfig) -> None:
    """Add up the logarithms of some nodes: of chances not to be sampled by an out-edge, and not before."""
    expected, hop = config.expected, config.hop
    if hop:
        total = expected.reached[hop - 1].read(unit.start, unit.stop)
    else:
        marks = expected.seeds.marks.read(unit.start, unit.stop)
        total = marks * np.rint(-math.log1p(-min(expected.seeds.chance, MOST_CHANCE)) * ONE)
    for run, start, stop in unit.pieces:
        rows = run.read(start, stop)
        terms = np.ascontiguousarray(rows[:, 1]).view(f"f{rows.dtype.itemsize}").astype(np.float64)
        # whole numbers: any order gives the same sum
        total = total + np.bincount(rows[:, 0] - unit.start, np.rint(terms * ONE), unit.stop - unit.start)
    config.reached.write(np.minimum(total, MOST), unit.start)


@dataclass(frozen=True, slots=True)
class Work:
    """In-edges expected to be sampled at each node, and below it if it is a seed, float64 (nodes, 2); their sums."""

    region: Region
    at_nodes: float
    below_seeds: float


class WorkConfig(NamedTuple):
    """What is known of samples, and the output."""

    expected: Expected
    work: Region


def expect_work(expected: Expected, directory: Path, runner: Runner) -> Work:
    """Write the work of each node."""
    work = npy_region(directory / "work.npy", np.float64, (expected.in_edges.num_nodes, 2))
    runner.step("create-work", lambda: create_files([work]))
    sums = runner.run(Pass("expect-work", add_up_work, expected.in_edges.units(8), WorkConfig(expected, work)))
    return Work(work, *map(math.fsum, zip(*sums, strict=True)))


def add_up_work(span: Columns, config: WorkConfig) -> tuple[float, float]:
    """Write the work of some nodes; return its sums."""
    expected, below, work = config.expected, config.expected.below[:1], np.zeros((span.stop - span.start, 2))
    for hop, degrees, sources, chances in _hops(expected, span):
        work[:, 0] += _by_node(chances, degrees)
        if hop == 0:
            for rows in below:
                chances *= 1 + rows.memmap()[sources]
                work[:, 1] = expected.chances(0, span) * rows.read(span.start, span.stop)
            work[:, 1] += _by_node(chances, degrees)
    config.work.write(work, span.start)
    at_nodes, below_seeds = work.sum(axis=0).tolist()
    return at_nodes, below_seeds


def _hops(expected: Expected, span: Columns) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Number of each hop, in-degrees of some nodes, sources of their in-edges, chances that the hop samples them."""
    indptr, sources, etypes = expected.in_edges.read(span)
    degrees = np.diff(indptr)
    for hop, fanouts in enumerate(expected.fanouts):
        chances = np.empty(sources.size, np.float64)
        chances_of_picks(indptr, etypes, fanouts, chances)
        chances *= np.repeat(expected.chances(hop, span), degrees)
        yield hop, degrees, sources, chances


class WeighConfig(NamedTuple):
    """What is known of samples; what weighs edges; and where runs go."""

    expected: Expected
    weights: Weights
    directory: str
    shift: int


def weigh_samples(expected: Expected, weights: Weights, directory: Path, runner: Runner) -> Adjacency:
    """Build the adjacency, whose weights are units of a power of two; or count edges."""
    make_directory(directory)
    in_edges = expected.in_edges
    num_nodes, dtype, width = in_edges.num_nodes, id_dtype(in_edges.num_nodes), 2 if weights == "edges" else 3
    in_degrees = npy_region(directory / "in_degrees.npy", np.int64, (num_nodes,))
    runner.step("create-in-degrees", lambda: create_files([in_degrees]))
    shift = range_shift(num_nodes, 2 * in_edges.num_edges)
    config = WeighConfig(expected, weights, str(directory), shift)
    weighed = runner.run(Pass("weigh-samples", weigh_span, in_edges.units(8 * width), config))
    borders = borders_of_runs([counts for counts, _ in weighed], -(-num_nodes >> shift))
    runs = tuple(
        npy_region(f"{directory}/arcs-{span.start}.npy", dtype, (int(total), width))
        for span, total in zip(in_edges.spans, borders[:, -1], strict=True)
    )
    exponent = math.frexp(max((largest for _, largest in weighed), default=0.0))[1] - BITS
    merging = MergeConfig(str(directory), dtype, in_degrees, None if width == 2 else exponent)
    return merge_arcs_of(ArcRuns(num_nodes, runs, shift, borders, None), merging, runner)


def weigh_span(span: Columns, config: WeighConfig) -> tuple[np.ndarray, float]:
    """Write the arcs of some nodes' in-edges; return their number by range, and the largest weight."""
    expected, num_nodes = config.expected, config.expected.in_edges.num_nodes
    indptr, sources, _ = expected.in_edges.read(span)
    weights, width = np.empty(0), 2
    if config.weights != "edges":
        weights, width = np.zeros(sources.size), 3
        for hop, _, _, chances in _hops(expected, span):
            if config.weights == "rows" and hop < len(expected.below):
                chances *= 1 + expected.below[hop].memmap()[sources]
            weights += chances
    src, dst = sources.astype(np.int64), np.repeat(np.arange(span.start, span.stop), np.diff(indptr))
    counts = np.zeros(-(-num_nodes >> config.shift), np.int64)
    count_edge_arcs(src, dst, NO_FIRSTS, config.shift, counts)
    starts, bits = group_starts(counts), weights.astype(np.float32).view(np.int32)
    arcs = np.empty((starts[-1], width), id_dtype(num_nodes))
    scatter_edge_arcs(src, dst, bits, NO_FIRSTS, config.shift, starts[:-1].copy(), arcs)
    save_npy(f"{config.directory}/arcs-{span.start}.npy", arcs)
    return counts, float(weights.max(initial=0.0))
