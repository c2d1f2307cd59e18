"""The noun `Adjacency`: a weighted undirected graph as CSR blocks on disk.

Nodes are homogeneous IDs at the first level and clusters at coarser ones. Every edge is there twice, once in the row of
each end. Neighbours ascend inside a row, there are no self-loops and no parallel arcs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class CsrBlock:
    """Rows of the nodes ``start, ..., stop - 1``, in one file: row starts, neighbours, weights unless all are 1."""

    path: str
    start: int
    stop: int
    num_arcs: int
    dtype: np.dtype
    weight_dtype: np.dtype | None

    @property
    def num_nodes(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        weight = self.weight_dtype.itemsize if self.weight_dtype else 0
        return 8 * (self.num_nodes + 1) + self.num_arcs * (self.dtype.itemsize + weight)

    @property
    def indptr(self) -> Region:
        """Where each row begins, int64 (nodes + 1,)."""
        return Region(self.path, 0, np.dtype("<i8"), (self.num_nodes + 1,))

    @property
    def indices(self) -> Region:
        """Neighbours, (arcs,)."""
        return Region(self.path, 8 * (self.num_nodes + 1), self.dtype, (self.num_arcs,))

    @property
    def weights(self) -> Region:
        """Weights, (arcs,), or (0,) if all are 1."""
        offset = 8 * (self.num_nodes + 1) + self.num_arcs * self.dtype.itemsize
        if self.weight_dtype is None:
            return Region(self.path, offset, np.dtype(np.int32), (0,))
        return Region(self.path, offset, self.weight_dtype, (self.num_arcs,))

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read row starts, neighbours and weights; the last is empty if all weights are 1."""
        weights = self.weights
        return self.indptr.read(), self.indices.read(), weights.read()


@dataclass(frozen=True, slots=True)
class Adjacency:
    """A weighted undirected graph on disk: its blocks in the order of nodes, and how many nodes have no neighbours.

    `total_weight` is the sum of the weights of all arcs, twice that of the edges.
    """

    num_nodes: int
    num_isolated: int
    total_weight: int
    blocks: tuple[CsrBlock, ...]

    @property
    def num_arcs(self) -> int:
        """Number of arcs, twice the number of edges."""
        return sum(block.num_arcs for block in self.blocks)

    @property
    def nbytes(self) -> int:
        """Size of all files."""
        return sum(block.nbytes for block in self.blocks)

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read the whole graph into memory as one CSR: row starts int64, neighbours, weights int64."""
        indptr = np.zeros(self.num_nodes + 1, np.int64)
        dtype = self.blocks[0].dtype if self.blocks else np.dtype(np.int32)
        indices, weights = np.empty(self.num_arcs, dtype), np.ones(self.num_arcs, np.int64)
        for first, block in self.first_arcs():
            last = first + block.num_arcs
            indptr[block.start + 1 : block.stop + 1] = block.indptr.read(1) + first
            block.indices.read_into(indices[first:last], 0)
            if block.weight_dtype:
                weights[first:last] = block.weights.read()
        return indptr, indices, weights

    def first_arcs(self) -> Iterator[tuple[int, CsrBlock]]:
        """Go through the blocks, each with the number of arcs before it."""
        first = 0
        for block in self.blocks:
            yield first, block
            first += block.num_arcs


def write_block(path: str, start: int, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray | None) -> CsrBlock:
    """Write rows of the nodes from `start` on, whole; without weights all are 1."""
    weight_dtype = None if weights is None else weights.dtype
    block = CsrBlock(path, start, start + indptr.size - 1, indices.size, indices.dtype, weight_dtype)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        for column in (indptr, indices, *([] if weights is None else [weights])):
            # not `tofile`, whose error does not say that the disk is full
            file.write(np.ascontiguousarray(column).data)
    return block
