"""Pass `contract`: clusters become the nodes of a coarser graph, and the arcs between them are added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.arc_runs import ArcRuns, empty_arcs, num_slabs, slab_shift, write_run
from daskgraphpart.adjacency.merge_arcs import MOST_BLOCK_ARCS, merge_runs
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.arcs import count_coarse_arcs, scatter_coarse_arcs
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.adjacency.csr_blocks import Adjacency, CsrBlock
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class ContractUnit:
    """One block of the finer graph, and the number of its run."""

    index: int
    block: CsrBlock


@dataclass(frozen=True, slots=True)
class ContractConfig:
    """What clusters there are.

    Parameters
    ----------
    directory : str
        Of the runs.
    clusters : Region
        Coarse node of each node; -1 leaves a node out.
    num_clusters : int
        Number of coarse nodes.
    weight_dtype : numpy.dtype
        In which the sum of the weights of the finer graph's arcs fits.
    """

    directory: str
    clusters: Region
    num_clusters: int
    weight_dtype: np.dtype


def contract(fine: Adjacency, clusters: Region, num_clusters: int, directory: Path, runner: Runner) -> Adjacency:
    """Contract clusters.

    Parameters
    ----------
    fine : Adjacency
        The graph.
    clusters : Region
        Coarse node of each node, int32 or int64 (nodes,); -1 leaves a node out.
    num_clusters : int
        Number of coarse nodes; below 2**31.
    directory : Path
        Where the blocks of the coarse graph go.
    runner : Runner
        What does the work.

    Returns
    -------
    Adjacency
    """
    directory.mkdir(parents=True, exist_ok=True)
    units = [ContractUnit(i, block) for i, block in enumerate(fine.blocks)]
    weight_dtype = np.dtype(np.int32 if fine.total_weight < 1 << 31 else np.int64)
    config = ContractConfig(str(directory), clusters, num_clusters, weight_dtype)
    counts = runner.run(Pass("contract", contract_block, units, config, [unit.block.nbytes for unit in units]))
    table = np.array(counts, np.int64).reshape(len(units), num_slabs(num_clusters))
    runs = ArcRuns(str(directory), num_clusters, id_dtype(num_clusters), weight_dtype, table)
    # blocks as large as those of the finer graph: with ever smaller ones, calling the tasks takes longer than they do
    least_arcs = min(MOST_BLOCK_ARCS, max((block.num_arcs for block in fine.blocks), default=0))
    return merge_runs(runs, directory, None, runner, least_arcs)


def contract_block(unit: ContractUnit, config: ContractConfig) -> np.ndarray:
    """Write the run of one block; return the number of its arcs in each slab, int64 (slabs,)."""
    rows = (unit.block.start, *unit.block.read())
    clusters = config.clusters.memmap()
    counts, arcs = scatter_arcs(rows, clusters, config.num_clusters, config.weight_dtype)
    write_run(config.directory, unit.index, arcs)
    return counts


def scatter_arcs(
    rows: tuple[int, np.ndarray, np.ndarray, np.ndarray],
    clusters: np.ndarray,
    num_clusters: int,
    weight_dtype: np.dtype,
) -> tuple[np.ndarray, np.ndarray]:
    """Group the arcs of a block that lead from cluster to cluster by slab.

    Parameters
    ----------
    rows : int and arrays
        First node, row starts, neighbours, weights.
    clusters : int32 or int64 array (all nodes,)
        Coarse node of each node, or -1.
    num_clusters : int
        Number of coarse nodes.
    weight_dtype : numpy.dtype
        In which the weights of the block's arcs fit.

    Returns
    -------
    int64 array (slabs,)
        Number of arcs in each slab.
    int32 or int64 array (arcs, 3)
        Coarse nodes, neighbours and weights.
    """
    start, indptr, indices, weights = rows
    shift = slab_shift(num_clusters)
    counts = np.zeros(num_slabs(num_clusters), np.int64)
    count_coarse_arcs(indptr, indices, start, clusters, shift, counts)
    starts = group_starts(counts)
    arcs = empty_arcs(starts[-1], id_dtype(num_clusters), weight_dtype)
    scatter_coarse_arcs(indptr, indices, weights, start, clusters, shift, starts[:-1].copy(), arcs)
    return counts, arcs
