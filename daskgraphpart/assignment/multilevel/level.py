"""The noun `Level`: one graph of the hierarchy, with the weights of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import Region, create_mapped_npy

if TYPE_CHECKING:
    from daskgraphpart.adjacency.csr_blocks import Adjacency


@dataclass(frozen=True, slots=True)
class Level:
    """A weighted graph on disk.

    Parameters
    ----------
    adjacency : Adjacency
        The graph.
    weights : tuple of Region
        For each constraint the weights of all nodes, int64 (nodes,).
    directory : str
        Where its files are.
    is_plain : bool
        Whether there is one constraint, in which every node weighs 1.
    """

    adjacency: Adjacency
    weights: tuple[Region, ...]
    directory: str
    is_plain: bool = False

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.adjacency.num_nodes

    def read_weights(self, start: int, stop: int) -> np.ndarray:
        """Read the weights of nodes ``[start, stop)``, int64 (nodes, constraints)."""
        table = np.empty((stop - start, len(self.weights)), np.int64)
        for column, region in zip(table.T, self.weights, strict=True):
            column[:] = region.read(start, stop)
        return table

    def file(self, name: str) -> Path:
        """File of that name in the level's directory."""
        return Path(self.directory) / name


def create_parts(level: Level, name: str) -> Region:
    """Create a file for the part of each node, int32 (nodes,), which is mapped for writing."""
    return create_mapped_npy(level.file(name), np.int32, (level.num_nodes,))


def writable(region: Region) -> np.ndarray:
    """Map a file so that what is changed in memory is changed in the file."""
    if region.nbytes == 0:
        return np.empty(region.shape, region.dtype)
    return np.memmap(region.path, region.dtype, "r+", region.offset, region.shape)


def rounds_of(num_blocks: int) -> list[tuple[int, int]]:
    """Cut the blocks into rounds: first block and last.

    Blocks of one round run side by side and do not see each other's decisions. How many there are depends on the graph
    alone, so that the result does not depend on the number of workers. It is a multiple of four: with nine, one of two
    workers would wait for the ninth.
    """
    together = max(4, num_blocks // 8 // 4 * 4)
    return [(first, min(first + together, num_blocks)) for first in range(0, num_blocks, together)]
