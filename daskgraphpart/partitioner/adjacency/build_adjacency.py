"""Build a chunked graph's adjacency out of core: edges become runs of arcs, and runs CSR blocks.

Passes `cut-node-range` and `merge-arcs`. Blocks are cut by their number of arcs before merging, which depends on the
graph alone and not on how it was read. Node ranges with too many arcs for a block are counted by node and cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.kernels.arcs import merge_arcs
from daskgraphpart.partitioner.adjacency.adjacency_sizes import max_arcs_of_block
from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency, CsrBlock, write_block
from daskgraphpart.partitioner.adjacency.split_edges import ArcRuns, Slice, split_edges_of
from daskgraphpart.partitioner.adjacency.weigh_edges import count_units, weigh_edges
from daskgraphpart.storage.files import delete_files, make_directory
from daskgraphpart.storage.region import Region, create_files, id_dtype, npy_region

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class NodeRange:
    """Consecutive nodes, and their arcs before merging."""

    start: int
    stop: int
    num_arcs: int
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class MergeConfig:
    """Output of blocks, dtype of neighbours, and the file of in-degrees, int64 (nodes,).

    With an exponent, weights of arcs are the bits of a float32, and become units of a power of two.
    """

    directory: str
    dtype: np.dtype
    in_degrees: Region
    exponent: int | None = None


def build_adjacency(graph: Graph, directory: Path, runner: Runner, edge_weight: Sequence[str] = ()) -> Adjacency:
    """Read all edges and their weights once, write CSR blocks, and remove all other files."""
    num_nodes = graph.schema.num_nodes
    make_directory(directory)
    in_degrees = npy_region(directory / "in_degrees.npy", np.int64, (num_nodes,))
    runner.step("create-in-degrees", lambda: create_files([in_degrees]))
    weights = None
    if edge_weight:
        weights = weigh_edges(graph, edge_weight, directory, runner)
    runs = split_edges_of(graph, weights, directory, runner)
    adjacency = merge_arcs_of(runs, MergeConfig(str(directory), id_dtype(num_nodes), in_degrees), runner)
    if weights is None:
        return adjacency
    delete_files([region.path for region in weights.files.values()])
    return replace(adjacency, weight_unit=2.0**weights.exponent)


def merge_arcs_of(runs: ArcRuns, config: MergeConfig, runner: Runner) -> Adjacency:
    """Merge runs into CSR blocks, and remove them."""
    limit = max_arcs_of_block(int(runs.borders[:, -1].sum()))
    ranges = cut_into_ranges(runs, limit, runner)
    units = [Unit(nodes, 4 * nodes.num_arcs * config.dtype.itemsize) for nodes in ranges]
    merged = runner.run(Pass("merge-arcs", merge_block, units, config, (CsrBlock,)))
    delete_files([region.path for region in runs.runs])
    num_isolated, total = sum(n for _, n, _ in merged), sum(weight for _, _, weight in merged)
    input_weight = total // 2 if runs.total_weight is None else runs.total_weight
    blocks, unit = tuple(block for block, _, _ in merged), None if config.exponent is None else 2.0**config.exponent
    return Adjacency(runs.num_nodes, num_isolated, total, blocks, config.in_degrees, input_weight, unit)


def group_ranges(num_arcs: Sequence[int], num_nodes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Join consecutive ranges up to a limit of arcs and nodes: first range, end range."""
    groups, first, arcs, nodes = [], 0, 0, 0
    for number, (more_arcs, more_nodes) in enumerate(zip(num_arcs, num_nodes, strict=True)):
        if number > first and (arcs + more_arcs > limit or nodes + more_nodes > limit):
            groups.append((first, number))
            first, arcs, nodes = number, 0, 0
        arcs, nodes = arcs + more_arcs, nodes + more_nodes
    return [*groups, (first, len(num_arcs))] if num_arcs else groups


def cut_into_ranges(runs: ArcRuns, limit: int, runner: Runner) -> list[NodeRange]:
    """Cut the nodes into ranges of at most so many arcs, or of one node."""
    totals = np.diff(runs.borders.sum(axis=0))
    borders = np.minimum(np.arange(totals.size + 1) << runs.shift, runs.num_nodes)
    itemsize = id_dtype(runs.num_nodes).itemsize
    ranges = [
        NodeRange(int(borders[first]), int(borders[last]), int(totals[first:last].sum()), runs.slices(first, last))
        for first, last in group_ranges(totals.tolist(), np.diff(borders).tolist(), limit)
    ]
    hot = [Unit(nodes, 2 * nodes.num_arcs * itemsize) for nodes in ranges if nodes.num_arcs > limit]
    cuts = iter(runner.run(Pass("cut-node-range", cut_node_range, hot, limit)))
    fitting = []
    for nodes in ranges:
        if nodes.num_arcs > limit:
            fitting += [NodeRange(*of_block, nodes.slices) for of_block in next(cuts)]
        else:
            fitting.append(nodes)
    return fitting


def cut_node_range(nodes: NodeRange, limit: int) -> list[tuple[int, int, int]]:
    """Cut a range into ranges within the limit of arcs, or of one node: start, stop, arcs of each."""
    counts = np.zeros(nodes.stop - nodes.start, np.int64)
    for run, start, stop in nodes.slices:
        counts += np.bincount(run.read(start, stop)[:, 0] - nodes.start, minlength=counts.size)
    ends = np.cumsum(counts)
    cuts, first, done = [], 0, 0
    while first < counts.size:
        last = max(first + 1, int(np.searchsorted(ends, done + limit, side="right")))
        cuts.append((nodes.start + first, nodes.start + last, int(ends[last - 1] - done)))
        first, done = last, int(ends[last - 1])
    return cuts


def merge_block(unit: NodeRange, config: MergeConfig) -> tuple[CsrBlock, int, int]:
    """Write one block; return it, its number of isolated nodes, and the sum of its weights."""
    arcs, num_nodes = read_arcs(unit, config.dtype), unit.stop - unit.start
    if config.exponent is not None and unit.slices:
        arcs[:, 2] = count_units(arcs[:, 2].astype(np.int32).view(np.float32), config.exponent)
    rows = np.empty(arcs.shape[0], config.dtype)
    weights = np.empty(arcs.shape[0], np.int32 if arcs.shape[1] == 2 else np.int64)
    indptr, in_degrees = np.empty(num_nodes + 1, np.int64), np.zeros(num_nodes, np.int64)
    done = merge_arcs(arcs, unit.start, unit.stop, rows, indptr, weights, in_degrees)
    config.in_degrees.write(in_degrees, unit.start)
    weights = weights[:done]
    total = int(weights.sum(dtype=np.int64))
    path = f"{config.directory}/block-{unit.start}.csr"
    block = write_block(path, unit.start, indptr, rows[:done], None if total == done else weights)
    return block, int(np.count_nonzero(np.diff(indptr) == 0)), total


def read_arcs(unit: NodeRange, dtype: np.dtype) -> np.ndarray:
    """Read the arcs of the unit's nodes; slices of a cut range hold others, too."""
    width = unit.slices[0].run.shape[1] if unit.slices else 2
    arcs, done = np.empty((unit.num_arcs, width), dtype), 0
    is_whole = sum(stop - start for _, start, stop in unit.slices) == unit.num_arcs
    for run, start, stop in unit.slices:
        if is_whole:
            run.read_into(arcs[done : done + stop - start], start)
            done += stop - start
        else:
            piece = run.read(start, stop)
            mine = piece[(piece[:, 0] >= unit.start) & (piece[:, 0] < unit.stop)]
            arcs[done : done + len(mine)] = mine
            done += len(mine)
    return arcs
