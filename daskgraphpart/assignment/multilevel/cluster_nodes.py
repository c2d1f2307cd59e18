"""Passes `cluster-nodes`: size-constrained label propagation over the blocks, and the contraction of what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.adjacency.contract import contract
from daskgraphpart.assignment.multilevel.level import Level, rounds_of, writable
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.clusters import (
    add_up,
    apply_clusters,
    join_leftovers,
    number_clusters,
    propose_clusters,
)
from daskgraphpart.storage.region import Region, create_mapped_npy
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from daskgraphpart.adjacency.csr_blocks import CsrBlock
    from daskgraphpart.engine.runner import Runner

SWEEPS = 4  # over the graph, unless none moves: a number that depends on the data could not be foretold
ROWS_PER_READ = 1 << 20
CLUSTER_SHARE = 0.05  # of a part's limit: the most a cluster may weigh
NODES_PER_CLUSTER = 8  # times the excess over what fits
LEAST_SHRINKAGE = 0.95


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """State of a clustering, in files.

    Parameters
    ----------
    level : Level
        The graph.
    labels, proposals, favorites : Region
        Cluster of each node, what is proposed, and the cluster each is bound to most; (nodes,).
    loads : Region
        Weight of each cluster by label, int64 (nodes, constraints).
    parts : Region or None
        If given, clusters stay inside parts.
    most : tuple of int
        Largest weight of a cluster.
    salt : int
        Decides between equals.
    """

    level: Level
    labels: Region
    proposals: Region
    favorites: Region
    loads: Region
    parts: Region | None
    most: tuple[int, ...]
    salt: int


def coarsen(
    level: Level,
    most: np.ndarray,
    how: tuple[Region | None, int, int],
    directory: Path,
    runner: Runner,
) -> tuple[Level, Region]:
    """Cluster the nodes of a level and contract the clusters.

    Parameters
    ----------
    level : Level
        The finer graph.
    most : int64 array (constraints,)
        Largest weight of a cluster.
    how : Region or None, int and int
        Parts, inside which clusters stay if they are given; seed; sweeps over the graph at most.
    directory : Path
        Of the coarser graph.
    runner : Runner
        What does the work.

    Returns
    -------
    Level
        The coarser graph; nodes without neighbours are not in it.
    Region
        Coarse node of each node, or -1.
    """
    parts, salt, sweeps = how
    directory.mkdir(parents=True, exist_ok=True)
    dtype, shape = id_dtype(level.num_nodes), (level.num_nodes,)
    labels, proposals, favorites = (
        create_mapped_npy(directory / f"{name}.npy", dtype, shape) for name in ("labels", "proposals", "favorites")
    )
    loads = create_mapped_npy(directory / "loads.npy", np.int64, (level.num_nodes, len(level.weights)))
    config = ClusterConfig(
        level, labels, proposals, favorites, loads, parts, tuple(int(m) for m in most), salt & 0x7FFFFFFF
    )
    _one(runner, "cluster-nodes", start_clusters, config, loads.nbytes)
    rounds = rounds_of(len(level.adjacency.blocks))
    for _ in range(sweeps):
        passes: list[Pass[Any, Any, Any]] = []
        for first, last in rounds:
            blocks = level.adjacency.blocks[first:last]
            passes.append(Pass("cluster-nodes", cluster_block, blocks, config, [block.nbytes for block in blocks]))
            span = (blocks[0].start, blocks[-1].stop)
            passes.append(Pass("settle-clusters", settle_clusters, [span], config, [0], is_repeatable=False))
        results = runner.run_in_turn("cluster-nodes", passes)
        moved = sum(int(found[0]) for found in results[1::2])
        if moved == 0:
            break
    count = _one(runner, "number-clusters", finish_clusters, config, labels.nbytes)
    adjacency = contract(level.adjacency, labels, count, directory, runner)
    weights = tuple(
        create_mapped_npy(directory / f"weights-{i}.npy", np.int64, (count,)) for i in range(len(level.weights))
    )
    coarse = Level(adjacency, weights, str(directory))
    _one(runner, "weigh-clusters", weigh_clusters, (level, labels, coarse), 8 * level.num_nodes)
    for region in (proposals, favorites, loads):
        Path(region.path).unlink()
    return coarse, labels


def largest_clusters(limits: np.ndarray, num_parts: int, num_nodes: int, excess: float) -> np.ndarray:
    """Largest weight of a cluster: no coarser than it takes to fit into memory, since coarse graphs cut worse.

    Parameters
    ----------
    limits : int64 array (constraints,)
        Most that a part may weigh.
    num_parts, num_nodes : int
        Numbers of parts and nodes.
    excess : float
        How many times larger the graph is than one that need not be coarser.
    """
    average = limits * num_parts / max(num_nodes, 1)
    most: np.ndarray = np.minimum(limits * CLUSTER_SHARE, average * NODES_PER_CLUSTER * excess)
    return np.maximum(most.astype(np.int64), 1)


def _one(runner: Runner, name: str, task: Callable[[None, Any], int | None], config: Any, nbytes: int) -> int:
    """Run a task that works on all nodes at once."""
    found = runner.run(Pass(name, task, [None], config, [nbytes], is_repeatable=task is not finish_clusters))
    return int(found[0] or 0)


def start_clusters(_: None, config: ClusterConfig) -> None:
    """Give every node a cluster of its own."""
    for start in range(0, config.level.num_nodes, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, config.level.num_nodes)
        config.labels.write(np.arange(start, stop, dtype=config.labels.dtype), start)
        config.loads.write(config.level.read_weights(start, stop), start)


def cluster_block(block: CsrBlock, config: ClusterConfig) -> None:
    """Propose clusters for the nodes of one block."""
    indptr, indices, weights = block.read()
    start, stop = block.start, block.stop
    labels = config.labels.memmap()
    mine = np.array(labels[start:stop])
    favorites = np.empty_like(mine)
    parts = config.parts.memmap() if config.parts else np.empty(0, np.int32)
    node_weights = config.level.read_weights(start, stop)
    loads, most = config.loads.memmap(), np.array(config.most, np.int64)
    propose_clusters(
        indptr, indices, weights, start, labels, parts, node_weights, loads, most, config.salt, mine, favorites
    )
    config.proposals.write(mine, start)
    config.favorites.write(favorites, start)


def settle_clusters(span: tuple[int, int], config: ClusterConfig) -> int:
    """Let the proposals of one round take effect; return how many nodes moved."""
    labels, loads, most = writable(config.labels), writable(config.loads), np.array(config.most, np.int64)
    moved = 0
    for start in range(*span, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, span[1])
        proposals = config.proposals.read(start, stop)
        moved += apply_clusters(start, proposals, config.level.read_weights(start, stop), most, labels, loads)
    return moved


def finish_clusters(_: None, config: ClusterConfig) -> int:
    """Join nodes that are left alone, and number the clusters; return how many there are."""
    labels, loads, most = writable(config.labels), writable(config.loads), np.array(config.most, np.int64)
    num_nodes = config.level.num_nodes
    parts = config.parts.memmap() if config.parts else np.empty(0, np.int32)
    sizes = np.bincount(labels, minlength=num_nodes).astype(np.int32)
    waiting = np.full(num_nodes, -1, labels.dtype)
    for start in range(0, num_nodes, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, num_nodes)
        favorites, node_weights = config.favorites.read(start, stop), config.level.read_weights(start, stop)
        join_leftovers(start, favorites, node_weights, most, sizes, waiting, parts, labels, loads)
    del sizes
    waiting[:] = -1
    return int(number_clusters(labels, isolated_nodes(config.level), waiting))


def isolated_nodes(level: Level) -> np.ndarray:
    """Which nodes have no neighbours, bool (nodes,); (0,) if all have some."""
    if not level.adjacency.num_isolated:
        return np.empty(0, np.bool_)
    isolated = np.empty(level.num_nodes, np.bool_)
    for block in level.adjacency.blocks:
        indptr = block.indptr.read()
        isolated[block.start : block.stop] = indptr[1:] == indptr[:-1]
    return isolated


def weigh_clusters(_: None, config: tuple[Level, Region, Level]) -> None:
    """Add up the weights of the nodes of every cluster."""
    level, clusters, coarse = config
    for fine_column, coarse_column in zip(level.weights, coarse.weights, strict=True):
        loads = np.zeros((coarse.num_nodes, 1), np.int64)
        for start in range(0, level.num_nodes, ROWS_PER_READ):
            stop = min(start + ROWS_PER_READ, level.num_nodes)
            add_up(clusters.read(start, stop), 0, fine_column.read(start, stop)[:, None], loads)
        coarse_column.write(loads[:, 0], 0)
