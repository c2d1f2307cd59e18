"""The nouns `Solution`, which the solver finds, and `Tuning`, how it looks for one."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from daskgraphpart.partitioner.multilevel.coarsen import CLUSTER_SWEEPS
from daskgraphpart.partitioner.multilevel.refine import REFINE_SWEEPS

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Tuning:
    """How hard a graph is worked on, and what is not worth its time."""

    cluster_sweeps: int = CLUSTER_SWEEPS  # over each level, at most
    refine_sweeps: int = REFINE_SWEEPS
    streams: bool = True  # over each level, and the whole graph where that has no structure
    competing: int = 2  # starts of a coarse level that are refined side by side; the better goes on
    least_cluster: int = 4  # nodes
    cluster_growth: int = 4  # nodes of a cluster, times how often the arcs that fit go into those of the graph
    cycles: int = 4  # further V-cycles with `refine`, at most
    least_gain: float = 0.001  # of the cut, to go on with V-cycles
    tighter: tuple[float, ...] = (0.995, 0.99, 0.98)  # times the limits, to aim at if they are not reached
    well_cut: float = 0.3  # share of edges, up to which a large graph is not streamed
    near: int = 2  # times the cut, from which on one pass of streaming promises nothing
    hub_passes: int = 6  # of streaming, which gather hubs in few parts
    # of the edges that random parts cut, and of those that one pass cuts: where it, and further ones, cut more, nothing
    # clusters
    hopeless: float = 7 / 8
    sampled: int = 8  # blocks of which one is looked at, to see whether anything clusters


LOW = Tuning(2, 3, streams=False)  # cuts 0.98 to 1.12 of what more effort does; one sweep of clusters cuts up to 1.45


class Solution(NamedTuple):
    """Parts, int32 (nodes,), by how much they exceed limits, the weight of cut edges, and what found them."""

    parts: np.ndarray
    overload: float
    cut: int
    method: str
    is_cycled: bool = False  # a V-cycle was tried

    @property
    def value(self) -> tuple[float, int]:
        """Rank, least best: overload, then cut."""
        return self.overload, self.cut


value_of = attrgetter("value")
