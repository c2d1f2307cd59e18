"""Describe one part to the tasks that write its graph, and turn new node IDs into its local ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.bitmap import local_ids
from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class PartGraph:
    """One part, once its sizes are known: range of new node IDs, counts, new ID of its first edge, array regions."""

    part: int
    low: int
    high: int
    num_halo_nodes: int
    num_owned_edges: int
    num_extra_edges: int
    first_new_eid: int
    arrays: Mapping[str, tuple[Region, ...]]

    @property
    def num_inner_nodes(self) -> int:
        """Nodes it owns."""
        return self.high - self.low

    @property
    def num_nodes(self) -> int:
        """Inner and HALO nodes."""
        return self.num_inner_nodes + self.num_halo_nodes

    @property
    def num_edges(self) -> int:
        """Edges it holds."""
        return self.num_owned_edges + self.num_extra_edges


def local_ids_of(graph: PartGraph, work: Workspace, *columns: np.ndarray) -> list[np.ndarray]:
    """Turn arrays of new node IDs into local IDs of one part, int64; holds the part's bitmap and ranks."""
    words, ranks = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    if graph.num_halo_nodes:
        words, ranks = (open_npy(path(graph.part)).read() for path in (work.halo_words, work.halo_ranks))
    found = [np.empty(new_nids.size, np.int64) for new_nids in columns]
    for new_nids, out in zip(columns, found, strict=True):
        local_ids(new_nids, graph.low, graph.high, words, ranks, out)
    return found
