"""Pass `export-graph`: the adjacency as one file in ParHiP's binary format, which KaMinPar loads and METIS can map.

ParHiP's format (KaHIP user guide, version 3, section 3.2): three 64-bit numbers (flags, nodes, arcs), then for each
node the byte at which its neighbours begin, the neighbours, node weights, arc weights. A flag of 0 means that the file
has arc weights (bit 0), node weights (bit 1), and numbers of 64 bits (bits 2 to 5: starts, neighbours, node weights,
arc weights). Here neighbours have 32 bits where METIS, which needs them in 64, does not read the file; all else has 64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.adjacency.csr_blocks import Adjacency, CsrBlock
    from daskgraphpart.engine.runner import Runner

_INT = np.dtype("<i8")
_HEADER_NBYTES = 24
MOST_NARROW = 2**31  # nodes whose numbers have 32 bits


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
    is_wide : bool
        Whether neighbours have 64 bits, not 32.
    """

    path: str
    num_nodes: int
    num_arcs: int
    has_node_weights: bool
    has_arc_weights: bool
    is_wide: bool = True

    @property
    def dtype(self) -> np.dtype:
        """Of the neighbours."""
        return _INT if self.is_wide else np.dtype("<i4")

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return self.first_weight + 8 * (self.num_nodes * self.has_node_weights + self.num_arcs * self.has_arc_weights)

    @property
    def starts(self) -> Region:
        """Byte at which each node's neighbours begin, (nodes + 1,)."""
        return Region(self.path, _HEADER_NBYTES, _INT, (self.num_nodes + 1,))

    @property
    def neighbors(self) -> Region:
        """Neighbours, (arcs,)."""
        return Region(self.path, self.first_neighbor, self.dtype, (self.num_arcs,))

    @property
    def first_neighbor(self) -> int:
        """Byte at which the neighbours begin."""
        return _HEADER_NBYTES + 8 * (self.num_nodes + 1)

    @property
    def first_weight(self) -> int:
        """Byte after the neighbours."""
        return self.first_neighbor + self.dtype.itemsize * self.num_arcs

    @property
    def node_weights(self) -> Region:
        """Weights of the nodes, (nodes,)."""
        return Region(self.path, self.first_weight, _INT, (self.num_nodes,))

    @property
    def arc_weights(self) -> Region:
        """Weights of the arcs, (arcs,)."""
        offset = self.first_weight + 8 * self.num_nodes * self.has_node_weights
        return Region(self.path, offset, _INT, (self.num_arcs,))

    @property
    def flags(self) -> int:
        """First number of the file."""
        return (not self.has_arc_weights) | (not self.has_node_weights) << 1 | (not self.is_wide) << 3


@dataclass(frozen=True, slots=True)
class ExportUnit:
    """One block, and how many arcs come before it."""

    block: CsrBlock
    first_arc: int


def export_graph(
    adjacency: Adjacency, path: Path, numbers: Region | None, wanted: tuple[bool, bool, bool], runner: Runner
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
    wanted : bool, bool and bool
        Whether there is room for node weights, which are written by the caller; whether arc weights are written, if
        there are any; without them all are 1; whether neighbours have to have 64 bits.
    runner : Runner
        What does the work.

    Returns
    -------
    ParhipFile
    """
    kept = adjacency.num_nodes - (adjacency.num_isolated if numbers else 0)
    has_node_weights, has_arc_weights, is_wide = wanted
    weighted = has_arc_weights and any(block.weight_dtype for block in adjacency.blocks)
    is_wide = is_wide or kept >= MOST_NARROW
    file = ParhipFile(str(path), kept, adjacency.num_arcs, has_node_weights, weighted, is_wide)
    header = np.array([file.flags, file.num_nodes, file.num_arcs], _INT)
    with attach_path_to_error(path), path.open("wb") as output:
        output.write(header.tobytes())
        output.truncate(file.nbytes)
    file.starts.write(np.array([file.first_weight], _INT), kept)
    units = [ExportUnit(block, first) for first, block in adjacency.first_arcs()]
    sizes = [(file.dtype.itemsize + 8 * weighted) * unit.block.num_arcs for unit in units]
    runner.run(Pass("export-graph", export_block, units, (file, numbers), sizes))
    return file


def export_block(unit: ExportUnit, config: tuple[ParhipFile, Region | None]) -> None:
    """Write the rows of one block."""
    file, numbers = config
    block = unit.block
    indptr, indices, weights = block.read()
    starts = file.first_neighbor + file.dtype.itemsize * (unit.first_arc + indptr[:-1])
    first = block.start
    if numbers is not None:
        mine = numbers.read(block.start, block.stop)
        starts = starts[mine >= 0]
        first = int(mine[mine >= 0][0]) if starts.size else 0
        indices = numbers.memmap()[indices]
    file.starts.write(starts, first)
    file.neighbors.write(indices, unit.first_arc)
    if file.has_arc_weights:
        arc_weights = weights.astype(_INT) if weights.size else np.ones(indices.size, _INT)
        file.arc_weights.write(arc_weights, unit.first_arc)
