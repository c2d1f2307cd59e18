"""Passes `refine-cut` and `restore-balance`: moves of nodes between parts, over blocks of the adjacency."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.multilevel.cluster_nodes import ROWS_PER_READ, isolated_nodes
from daskgraphpart.assignment.multilevel.level import Level, rounds_of, writable
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.clusters import add_up
from daskgraphpart.kernels.moves import (
    apply_moves,
    apply_relief,
    cut_of_rows,
    deal_out,
    overload,
    propose_moves,
    propose_relief,
)
from daskgraphpart.storage.region import Region, create_mapped_npy, create_npy

if TYPE_CHECKING:
    from daskgraphpart.adjacency.csr_blocks import CsrBlock
    from daskgraphpart.engine.runner import Runner

SWEEPS = 3  # over the graph, unless none moves: a number that depends on the data could not be foretold
MOST_RELIEFS = 12


@dataclass(frozen=True, slots=True)
class MoveConfig:
    """State of a refinement, in files.

    Parameters
    ----------
    level : Level
        The graph.
    parts : Region
        Part of each node, int32 (nodes,).
    loads : Region
        Loads of the parts, int64 (parts, constraints).
    limits : tuple of int
        Most that a part may weigh, by constraint.
    proposals, scores : Region
        What is proposed, int32 (nodes,), and how good it is, float64 (nodes,).
    """

    level: Level
    parts: Region
    loads: Region
    limits: tuple[int, ...]
    proposals: Region
    scores: Region


def load_parts(level: Level, parts: Region, num_parts: int, limits: np.ndarray, runner: Runner) -> MoveConfig:
    """Sum up what the parts weigh; the state that the other functions work on."""
    loads = create_mapped_npy(level.file("part-loads.npy"), np.int64, (num_parts, len(level.weights)))
    proposals = create_npy(level.file("proposals.npy"), np.int32, (level.num_nodes,))
    scores = create_npy(level.file("scores.npy"), np.float64, (level.num_nodes,))
    config = MoveConfig(level, parts, loads, tuple(int(limit) for limit in limits), proposals, scores)
    runner.run(Pass("weigh-parts", weigh_parts, [None], config, [8 * level.num_nodes]))
    return config


def weigh_parts(_: None, config: MoveConfig) -> None:
    """Sum up the weights of each part; nodes of no part (-1) are left out."""
    loads = np.zeros(config.loads.shape, np.int64)
    for start in range(0, config.level.num_nodes, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, config.level.num_nodes)
        add_up(config.parts.read(start, stop), 0, config.level.read_weights(start, stop), loads)
    config.loads.write(loads, 0)


def deal_out_nodes(config: MoveConfig, runner: Runner) -> None:
    """Give the nodes that have no part yet to the emptiest parts, the heaviest first."""
    size = 4 * config.level.num_nodes
    runner.run(Pass("deal-out", deal_out_unowned, [None], config, [size], is_repeatable=False))


def deal_out_unowned(_: None, config: MoveConfig) -> None:
    """Task of the pass `deal-out`."""
    parts, loads, limits = writable(config.parts), writable(config.loads), np.array(config.limits, np.int64)
    for start in range(0, config.level.num_nodes, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, config.level.num_nodes)
        nodes = np.flatnonzero(parts[start:stop] < 0)
        node_weights = config.level.read_weights(start, stop)[nodes]
        shares = (node_weights / np.maximum(limits, 1)).max(axis=1) if nodes.size else np.empty(0)
        order = np.argsort(-shares, kind="stable")
        deal_out(nodes[order] + start, node_weights[order], limits, parts, loads)


def refine_cut(config: MoveConfig, runner: Runner) -> None:
    """Sweep over the blocks, moving nodes to the part that cuts least."""
    rounds = rounds_of(len(config.level.adjacency.blocks))
    for _ in range(SWEEPS):
        passes: list[Pass[Any, Any, Any]] = []
        for first, last in rounds:
            blocks = config.level.adjacency.blocks[first:last]
            passes.append(Pass("refine-cut", refine_block, blocks, config, [block.nbytes for block in blocks]))
            span = (blocks[0].start, blocks[-1].stop)
            passes.append(Pass("settle-moves", settle_moves, [span], config, [0], is_repeatable=False))
        results = runner.run_in_turn("refine-cut", passes)
        if sum(int(found[0]) for found in results[1::2]) == 0:
            break


def refine_block(block: CsrBlock, config: MoveConfig) -> None:
    """Propose moves for the nodes of one block."""
    indptr, indices, weights = block.read()
    parts = config.parts.memmap()
    mine = np.array(parts[block.start : block.stop])
    node_weights = config.level.read_weights(block.start, block.stop)
    limits = np.array(config.limits, np.int64)
    propose_moves(indptr, indices, weights, block.start, parts, node_weights, config.loads.read(), limits, mine)
    config.proposals.write(mine, block.start)


def settle_moves(span: tuple[int, int], config: MoveConfig) -> int:
    """Let the proposals of one round take effect; return how many nodes moved."""
    parts, loads, limits = writable(config.parts), writable(config.loads), np.array(config.limits, np.int64)
    moved = 0
    for start in range(*span, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, span[1])
        proposals, node_weights = config.proposals.read(start, stop), config.level.read_weights(start, stop)
        moved += apply_moves(start, proposals, node_weights, limits, parts, loads)
    return moved


def restore_balance(config: MoveConfig, runner: Runner) -> float:
    """Move nodes out of overloaded parts, the cheapest first; return the overload that is left."""
    left = float(overload(config.loads.read(), np.array(config.limits, np.int64)))
    for _ in range(MOST_RELIEFS):
        if left == 0.0:
            break
        blocks = config.level.adjacency.blocks
        propose = Pass("restore-balance", relieve_block, blocks, config, [block.nbytes for block in blocks])
        settle = Pass("settle-relief", settle_relief, [None], config, [0], is_repeatable=False)
        before, left = left, float(runner.run_in_turn("restore-balance", [propose, settle])[1][0])
        if left >= before:
            break
    return left


def relieve_block(block: CsrBlock, config: MoveConfig) -> None:
    """Find the best moves out of overloaded parts in one block."""
    indptr, indices, weights = block.read()
    targets, scores = np.empty(block.num_nodes, np.int32), np.zeros(block.num_nodes, np.float64)
    node_weights = config.level.read_weights(block.start, block.stop)
    limits, loads = np.array(config.limits, np.int64), config.loads.read()
    propose_relief(
        indptr, indices, weights, block.start, config.parts.memmap(), node_weights, loads, limits, targets, scores
    )
    config.proposals.write(targets, block.start)
    config.scores.write(scores, block.start)


def settle_relief(_: None, config: MoveConfig) -> float:
    """Make the best moves first, until the parts are balanced; return the overload that is left."""
    targets = config.proposals.memmap()
    nodes = np.flatnonzero(targets >= 0)
    order = np.argsort(-config.scores.memmap()[nodes], kind="stable")
    parts, loads, limits = writable(config.parts), writable(config.loads), np.array(config.limits, np.int64)
    for first in range(0, order.size, ROWS_PER_READ):
        chosen = nodes[order[first : first + ROWS_PER_READ]]
        weights = np.stack([region.memmap()[chosen] for region in config.level.weights], axis=1)
        apply_relief(chosen, np.array(targets[chosen]), weights, limits, parts, loads)
        if overload(loads, limits) == 0.0:
            break
    return float(overload(loads, limits))


def release_isolated(level: Level, parts: Region, runner: Runner) -> None:
    """Take the part from every node without neighbours, so that it can be dealt out anew."""
    if level.adjacency.num_isolated:
        runner.run(Pass("release-isolated", release, [None], (level, parts), [parts.nbytes]))


def release(_: None, config: tuple[Level, Region]) -> None:
    """Task of the pass `release-isolated`."""
    level, parts = config
    writable(parts)[isolated_nodes(level)] = -1


def project(clusters: Region, coarse_parts: Region, parts: Region, runner: Runner) -> None:
    """Give every node the part of its cluster; nodes of no cluster keep theirs."""
    spans = [(start, min(start + ROWS_PER_READ, parts.num_rows)) for start in range(0, parts.num_rows, ROWS_PER_READ)]
    config = (clusters, coarse_parts, parts)
    runner.run(Pass("project-parts", project_span, spans, config, [8 * (stop - start) for start, stop in spans]))


def project_span(span: tuple[int, int], config: tuple[Region, Region, Region]) -> None:
    """Task of the pass `project-parts`."""
    clusters, coarse_parts, parts = config
    mine, fine = clusters.read(*span), parts.read(*span)
    inside = mine >= 0
    fine[inside] = coarse_parts.memmap()[mine[inside]]
    parts.write(fine, span[0])


def restrict(clusters: Region, parts: Region, coarse_parts: Region, runner: Runner) -> None:
    """Give every cluster the part of its nodes, which is the same for all."""
    runner.run(Pass("restrict-parts", restrict_all, [None], (clusters, parts, coarse_parts), [4 * parts.num_rows]))


def restrict_all(_: None, config: tuple[Region, Region, Region]) -> None:
    """Task of the pass `restrict-parts`."""
    clusters, parts, coarse_parts = config
    coarse = writable(coarse_parts)
    for start in range(0, parts.num_rows, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, parts.num_rows)
        mine = clusters.read(start, stop)
        inside = mine >= 0
        coarse[mine[inside]] = parts.read(start, stop)[inside]


def measure_cut(level: Level, parts: Region, runner: Runner) -> tuple[int, int]:
    """Weight of the edges that are cut, and the communication volume."""
    blocks = level.adjacency.blocks
    found = runner.run(Pass("measure-cut", measure_block, blocks, parts, [block.nbytes for block in blocks]))
    return sum(cut for cut, _ in found) // 2, sum(volume for _, volume in found)


def measure_block(block: CsrBlock, parts: Region) -> tuple[int, int]:
    """Task of the pass `measure-cut`."""
    cut, volume = cut_of_rows(*block.read(), block.start, parts.memmap())
    return int(cut), int(volume)


def remove_state(config: MoveConfig) -> None:
    """Remove the files of the state, the parts aside."""
    for region in (config.loads, config.proposals, config.scores):
        Path(region.path).unlink()
