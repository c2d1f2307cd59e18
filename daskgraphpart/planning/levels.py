"""Sizes of the levels of the multilevel method: how a graph shrinks is assumed, and what follows from it is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.adjacency.merge_arcs import most_arcs_of_block
from daskgraphpart.assignment.multilevel.in_memory import BYTES_PER_ARC, BYTES_PER_NODE
from daskgraphpart.assignment.multilevel.refine_held import MOST_ARCS_HELD, needed_to_cycle, needed_to_sweep
from daskgraphpart.assignment.multilevel.vcycle import MOST_ARCS_IN_MEMORY
from daskgraphpart.planning.assumptions import (
    ARCS_LEFT,
    LEVEL_BETWEEN,
    LEVEL_DENSITY,
    LEVEL_NODES,
    LEVEL_WEIGHT,
    distinct,
)

if TYPE_CHECKING:
    from daskgraphpart.assignment.pipeline import Task


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of one level.

    Parameters
    ----------
    nodes, isolated, arcs : int
        Nodes, those of them without neighbours, and arcs.
    weight : int
        Sum of the weights of the arcs of the finest level.
    nbytes, blocks : int
        Of its files.
    constraints : int
        Number of weights of a node.
    block_arcs : int
        Most arcs of a block.
    """

    nodes: int
    isolated: int
    arcs: int
    weight: int
    nbytes: int
    blocks: int
    constraints: int
    block_arcs: int

    @property
    def weight_nbytes(self) -> int:
        """Bytes of the weight of an arc of the next level."""
        return 4 if self.weight < 1 << 31 else 8

    @property
    def arcs_between(self) -> int:
        """Arcs that lead from cluster to cluster."""
        return int(self.arcs * LEVEL_BETWEEN)

    def coarser(self, most_left: float = 1.0) -> Sizes:
        """Sizes of the next level, which has a share of the arcs at most."""
        nodes = int((self.nodes - self.isolated) * LEVEL_NODES)
        drawn = int(distinct(LEVEL_DENSITY * nodes * nodes, LEVEL_WEIGHT * self.weight))
        arcs, before = min(drawn, self.arcs_between, int(most_left * self.arcs)), self.arcs_between
        most = most_arcs_of_block(before, self.block_arcs)
        nbytes = 8 * nodes + (4 + self.weight_nbytes) * arcs
        return Sizes(nodes, 0, arcs, self.weight, nbytes, -(-before // most), self.constraints, most)

    def is_refined_in_memory(self, memory: int) -> bool:
        """Whether a V-cycle is done in memory, see `assignment.multilevel.vcycle.improve`."""
        return self.is_coarse(memory) or (self.arcs <= MOST_ARCS_HELD and self.cycle_memory <= memory)

    def is_repaired_in_memory(self, memory: int) -> bool:
        """Whether what a library gave is repaired in memory, see `assignment.pipeline`."""
        return self.arcs <= MOST_ARCS_HELD and self.sweep_memory <= memory

    def is_coarse(self, memory: int) -> bool:
        """Whether nodes are moved one by one."""
        return self.arcs <= MOST_ARCS_IN_MEMORY and self.refinement_memory <= memory

    @property
    def sweep_memory(self) -> int:
        """Bytes that sweeps in memory take."""
        return needed_to_sweep(self.nodes, self.arcs, self.constraints)

    @property
    def cycle_memory(self) -> int:
        """Bytes that a V-cycle in memory takes."""
        return needed_to_cycle(self.nodes, self.arcs, self.constraints)

    @property
    def refinement_memory(self) -> int:
        """Bytes that moving nodes one by one takes."""
        return self.arcs * BYTES_PER_ARC + self.nodes * (BYTES_PER_NODE + 16 * self.constraints)

    @property
    def below(self) -> str:
        """Directory of the next level."""
        return f"below {self.nodes} nodes"

    @property
    def weights_nbytes(self) -> int:
        """Bytes of the weights of all nodes."""
        return 8 * self.constraints * self.nodes

    @property
    def block_memory(self) -> int:
        """Bytes of one block in memory, with what is proposed for its nodes."""
        return 3 * self.nbytes // max(1, self.blocks) + 60 * self.nodes // max(1, self.blocks)


def sizes_of(task: Task) -> Sizes:
    """Sizes of the graph that is partitioned."""
    graph, count = task.level.adjacency, len(task.level.weights)
    weight, most = int(graph.num_arcs / ARCS_LEFT), max((block.num_arcs for block in graph.blocks), default=0)
    return Sizes(
        graph.num_nodes, graph.num_isolated, graph.num_arcs, weight, graph.nbytes, len(graph.blocks), count, most
    )  # fmt: skip
