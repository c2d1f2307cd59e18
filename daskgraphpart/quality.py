"""Measure how good a partition is, from counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskgraphpart.public import Public


@dataclass(frozen=True, slots=True)
class Quality(Public):
    """Quality of a partition, as DistDGL defines it."""

    num_cut_edges: int  # of all edges, those whose ends have different owners
    num_edges: int
    num_inner_nodes: tuple[int, ...]  # by part
    num_halo_nodes: tuple[int, ...]
    num_owned_edges: tuple[int, ...]

    @property
    def cut_share(self) -> float:
        """Share of edges that are cut."""
        return self.num_cut_edges / self.num_edges if self.num_edges else 0.0

    @property
    def replication_factor(self) -> float:
        """Own and halo nodes of all parts / nodes of the graph."""
        nodes = sum(self.num_inner_nodes)
        return (nodes + sum(self.num_halo_nodes)) / nodes if nodes else 1.0

    @property
    def node_imbalance(self) -> float:
        """Excess of the part with the most nodes over the average; 0.03 is 3 %."""
        return imbalance(self.num_inner_nodes)

    @property
    def edge_imbalance(self) -> float:
        """Excess of the part with the most edges over the average; 0.03 is 3 %."""
        return imbalance(self.num_owned_edges)


def imbalance(weights: tuple[int, ...]) -> float:
    """Largest weight over the average, minus 1."""
    total = int(np.sum(weights, dtype=np.int64))
    return max(weights) * len(weights) / total - 1 if total else 0.0
