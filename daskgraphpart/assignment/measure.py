"""Pass `measure-cut`: what an assignment is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.report import AssignReport, Balance
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.clusters import add_up
from daskgraphpart.kernels.refine import cut_of_rows

if TYPE_CHECKING:
    from daskgraphpart.adjacency.csr_blocks import Adjacency, CsrBlock
    from daskgraphpart.assignment.weigh_nodes import NodeWeights
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region


def measure(
    adjacency: Adjacency, weights: NodeWeights, parts: Region, num_parts: int, num_wanted: int, runner: Runner
) -> AssignReport:
    """Measure parts: cut, volume, and the balance of all constraints, of which the first ones are to be kept.

    Method, reason, need, edges and seconds of the report are the caller's to fill in.
    """
    config = (parts, weights.columns, num_parts)
    blocks = adjacency.blocks
    found = runner.run(Pass("measure-cut", measure_block, blocks, config, [block.nbytes for block in blocks]))
    loads = sum((loads for _, _, loads in found), np.zeros((num_parts, len(weights.columns)), np.int64))
    balances = []
    for i, constraint in enumerate(weights.constraints):
        average = max(constraint.total / num_parts, 1e-9)
        allowed = constraint.limit(num_parts) / average if i < num_wanted else None
        balances.append(Balance(constraint.name, float(loads[:, i].max()) / average, allowed))
    cut, volume = sum(cut for cut, _, _ in found) // 2, sum(volume for _, volume, _ in found)
    return AssignReport("", "", num_parts, cut, 0, volume, adjacency.num_nodes, tuple(balances), 0, 0.0)


def measure_block(block: CsrBlock, config: tuple[Region, tuple[Region, ...], int]) -> tuple[int, int, np.ndarray]:
    """Cut weight (in both directions), volume, and loads of the parts, int64 (parts, constraints), of one block."""
    parts, columns, num_parts = config
    everywhere = parts.memmap()
    cut, volume = cut_of_rows(*block.read(), block.start, everywhere, num_parts)
    weights = np.stack([column.read(block.start, block.stop) for column in columns], axis=1)
    loads = np.zeros((num_parts, len(columns)), np.int64)
    add_up(everywhere, block.start, weights, loads)
    return int(cut), int(volume), loads
