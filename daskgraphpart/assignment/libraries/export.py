"""Write a graph for METIS and KaMinPar: one file in ParHiP's binary format, and METIS' extras.

ParHiP's format (KaHIP user guide, version 3, section 3.2): three 64-bit numbers (flags, nodes, arcs), the byte offset
of
each node's neighbours, the neighbours, node weights, arc weights. A flag of 0 means that the file has arc weights (bit
0), node weights (bit 1), and 64-bit numbers (bits 2 to 5: starts, neighbours, node weights, arc weights). Neighbours
have 32 bits here, unless METIS, which maps 64, reads the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.assignment.multilevel.graph import Graph
    from daskgraphpart.assignment.multilevel.refine import Limits

HEADER_NBYTES = 24
SCALE = 1000  # average node weight after several constraints are combined


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported graph, as the libraries' program needs it."""

    graph: str
    for_metis: str  # 64-bit numbers: start of each node's neighbours, then all node weights
    num_nodes: int
    num_parts: int
    limit: int  # most that a part may weigh, for KaMinPar
    tolerances: tuple[float, ...]  # limits over averages, for METIS


def export_graph(graph: Graph, limits: Limits, directory: Path, *, for_metis: bool) -> Exported:
    """Write a graph's files."""
    n, m, path = graph.num_nodes, graph.num_arcs, directory / "graph.parhip"
    weights = graph.node_weights(0, n)
    one, limit = _one_weight(weights, limits)
    dtype = np.dtype("<i8" if for_metis or n >= 1 << 31 else "<i4")
    has_weights = graph.total_weight > m
    starts = np.cumsum(np.concatenate([[0], *(np.diff(block.read()[0]) for block in graph.blocks)]), dtype="<i8")
    first = HEADER_NBYTES + 8 * (n + 1)
    flags = (not has_weights) | (dtype.itemsize == 4) << 3

    def put(rows: np.ndarray) -> None:
        file.write(np.ascontiguousarray(rows).data)

    with attach_path_to_error(path), path.open("wb") as file:
        put(np.array([flags, n, m], "<i8"))
        put(first + dtype.itemsize * starts)
        for block in graph.blocks:
            put(block.read()[1].astype(dtype, copy=False))
        put(one)
        for block in graph.blocks if has_weights else ():
            arc_weights = block.read()[2]
            put(arc_weights.astype("<i8") if arc_weights.size else np.ones(block.num_arcs, "<i8"))
    own = directory / "graph.metis"
    if for_metis:
        with attach_path_to_error(own):
            own.write_bytes(np.concatenate([starts, weights.ravel()]).data)
    tolerances = limits.most * limits.num_parts / np.maximum(weights.sum(axis=0), 1)
    return Exported(str(path), str(own), n, limits.num_parts, limit, tuple(tolerances.tolist()))


def _one_weight(weights: np.ndarray, limits: Limits) -> tuple[np.ndarray, int]:
    """One weight per node, int64 (nodes,), and its limit: the first constraint, or a mean if nodes weigh 0 in it.

    Neither depends on the other constraints' limits: if those are looser, KaMinPar starts from the same parts and less
    has
    to move. Weights are positive, because KaMinPar takes no zeros.
    """
    totals = np.maximum(weights.sum(axis=0), 1)
    slacks = limits.most * limits.num_parts / totals
    if weights.shape[1] == 1 or weights[:, 0].min(initial=1) > 0:
        one, limit = weights[:, 0], max(int(limits.most[0]), 1)
        weightless = int(np.count_nonzero(one < 1))
        return np.maximum(one, 1), limit + -(-weightless // limits.num_parts)
    mean = (weights / totals).mean(axis=1)
    one = np.maximum(np.rint(mean * SCALE * weights.shape[0]).astype(np.int64), 1)
    # use the tightest tolerance: each constraint ends worse than their mean
    return one, int(np.ceil(one.sum() * slacks.min() / limits.num_parts))
