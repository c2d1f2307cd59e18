"""Pass `export-graph`: the adjacency as one file in ParHiP's binary format, which KaMinPar loads and METIS can map.

ParHiP's format (KaHIP user guide, version 3, section 3.2): three 64-bit numbers (flags, nodes, arcs), then for each
node the byte at which its neighbours begin, the neighbours, node weights, arc weights; here all of 64 bits. A flag of 0
means that the file has arc weights (bit 0), node weights (bit 1), and numbers of 64 bits (bits 2 to 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.atomic import naming
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.adjacency.csr_blocks import Adjacency, CsrBlock
    from daskgraphpart.engine.runner import Runner

_INT = np.dtype("<i8")
_HEADER_NBYTES = 24


@dataclass(frozen=True, slots=True)
class ParhipFile:
    """A graph in ParHiP's format.

    Parameters
    ----------
    path : str
        The file.
    num_nodes, num_arcs : int
        What it holds.
    has_node_weights, has_arc_weights : bool
        Without them all weights are 1.
    """

    path: str
    num_nodes: int
    num_arcs: int
    has_node_weights: bool
    has_arc_weights: bool

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        nodes = 1 + self.has_node_weights
        return _HEADER_NBYTES + 8 * (self.num_nodes * nodes + 1 + self.num_arcs * (1 + self.has_arc_weights))

    @property
    def starts(self) -> Region:
        """Byte at which each node's neighbours begin, (nodes + 1,)."""
        return Region(self.path, _HEADER_NBYTES, _INT, (self.num_nodes + 1,))

    @property
    def neighbors(self) -> Region:
        """Neighbours, (arcs,)."""
        return Region(self.path, self.first_neighbor, _INT, (self.num_arcs,))

    @property
    def first_neighbor(self) -> int:
        """Byte at which the neighbours begin."""
        return _HEADER_NBYTES + 8 * (self.num_nodes + 1)

    @property
    def node_weights(self) -> Region:
        """Weights of the nodes, (nodes,)."""
        return Region(self.path, self.first_neighbor + 8 * self.num_arcs, _INT, (self.num_nodes,))

    @property
    def arc_weights(self) -> Region:
        """Weights of the arcs, (arcs,)."""
        before = self.num_arcs + self.num_nodes * self.has_node_weights
        return Region(self.path, self.first_neighbor + 8 * before, _INT, (self.num_arcs,))

    @property
    def flags(self) -> int:
        """First number of the file."""
        return (0 if self.has_arc_weights else 1) | (0 if self.has_node_weights else 2)


@dataclass(frozen=True, slots=True)
class ExportUnit:
    """One block, and how many arcs come before it."""

    block: CsrBlock
    first_arc: int


def export_graph(
    adjacency: Adjacency, path: Path, numbers: Region | None, weights: tuple[bool, bool], runner: Runner
) -> ParhipFile:
    """Stream an adjacency into a file.

    Parameters
    ----------
    adjacency : Adjacency
        The graph.
    path : Path
        The file.
    numbers : Region or None
        Number of each node in the file, ascending, -1 for isolated nodes, which are left out; None keeps all nodes.
    weights : bool and bool
        Whether there is room for node weights, which are written by the caller, and whether arc weights are written,
        if there are any; without them all are 1.
    runner : Runner
        What does the work.

    Returns
    -------
    ParhipFile
    """
    kept = adjacency.num_nodes - (adjacency.num_isolated if numbers else 0)
    has_node_weights, has_arc_weights = weights
    weighted = has_arc_weights and any(block.weight_dtype for block in adjacency.blocks)
    file = ParhipFile(str(path), kept, adjacency.num_arcs, has_node_weights, weighted)
    header = np.array([file.flags, file.num_nodes, file.num_arcs], _INT)
    with naming(path), path.open("wb") as output:
        output.write(header.tobytes())
        output.truncate(file.nbytes)
    file.starts.write(np.array([file.first_neighbor + 8 * file.num_arcs], _INT), kept)
    units = [ExportUnit(block, first) for first, block in adjacency.first_arcs()]
    sizes = [8 * (1 + weighted) * unit.block.num_arcs for unit in units]
    runner.run(Pass("export-graph", export_block, units, (file, numbers), sizes))
    return file


def export_block(unit: ExportUnit, config: tuple[ParhipFile, Region | None]) -> None:
    """Write the rows of one block."""
    file, numbers = config
    block = unit.block
    indptr, indices, weights = block.read()
    starts = file.first_neighbor + 8 * (unit.first_arc + indptr[:-1])
    first = block.start
    if numbers is not None:
        mine = numbers.read(block.start, block.stop)
        starts = starts[mine >= 0]
        first = int(mine[mine >= 0][0]) if starts.size else 0
        indices = numbers.memmap()[indices]
    file.starts.write(starts, first)
    file.neighbors.write(indices.astype(_INT), unit.first_arc)
    if file.has_arc_weights:
        arc_weights = weights.astype(_INT) if weights.size else np.ones(indices.size, _INT)
        file.arc_weights.write(arc_weights, unit.first_arc)
