"""The noun `Adjacency`: a weighted undirected graph as CSR blocks on disk, or in memory if small.

Nodes are homogeneous IDs at the first level and clusters at coarser ones. Every edge occurs in the rows of both ends.
Neighbours ascend within a row; there are no self-loops or parallel arcs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.files import local_copy
from daskgraphpart.storage.region import Region


class Rows(NamedTuple):
    """Rows of nodes ``start, start + 1, ...`` in memory: row starts, neighbours, weights (none if all are 1)."""

    start: int
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray

    @property
    def stop(self) -> int:
        """Node after the last."""
        return self.start + self.indptr.size - 1

    @property
    def num_arcs(self) -> int:
        """Neighbours in all rows."""
        return self.indices.size

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return row starts, neighbours and weights."""
        return self.indptr, self.indices, self.weights

    def on_disk(self) -> Rows:
        """Return the rows: they are in memory."""
        return self

    def cuts(self, num_arcs: int) -> np.ndarray:
        """Return where to cut the rows into stretches of about so many arcs: row and arc, int64 (stretches + 1, 2)."""
        return _cut(self.indptr, num_arcs)

    def stretch(self, first: int, first_arc: int, last: int, last_arc: int) -> Rows:
        """Return some rows, which have these arcs."""
        arcs = slice(first_arc, last_arc)
        weights = self.weights[arcs] if self.weights.size else self.weights
        return Rows(self.start + first, self.indptr[first : last + 1] - first_arc, self.indices[arcs], weights)


@dataclass(frozen=True, slots=True)
class CsrBlock:
    """Rows of nodes ``start, ..., stop - 1`` in a file: row starts, neighbours, weights unless all are 1.

    Weights take as few bytes as the largest needs, for partitioners read a graph larger than the page cache many times.
    """

    path: str
    start: int
    stop: int
    num_arcs: int
    dtype: np.dtype
    weight_dtype: np.dtype | None

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return sum(column.nbytes for column in self._columns())

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read row starts int64 (nodes + 1,), neighbours (arcs,), weights (arcs,) int32 or int64, (0,) if all are 1."""
        indptr, indices, weights = (column.read() for column in self._columns())
        return indptr, indices, weights.astype(np.promote_types(weights.dtype, np.int32), copy=False)

    def on_disk(self) -> CsrBlock:
        """Return the block with a file on this machine's disk, copied there if it lies elsewhere."""
        return replace(self, path=local_copy(self.path, is_final=True))

    def cuts(self, num_arcs: int) -> np.ndarray:
        """Return where to cut the rows into stretches of about so many arcs: row and arc, int64 (stretches + 1, 2)."""
        return _cut(self._columns()[0].read(), num_arcs)

    def stretch(self, first: int, first_arc: int, last: int, last_arc: int) -> Stretch:
        """Return some rows, which have these arcs."""
        return Stretch(self, self.start + first, self.start + last, first_arc, last_arc)

    def read_stretch(
        self, start: int, stop: int, first_arc: int, last_arc: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read the rows of nodes ``start, ..., stop - 1``, which have these arcs of the block, as `read` does."""
        indptr, indices, weights = self._columns()
        arcs = (first_arc, last_arc)
        read_weights = weights.read(*arcs) if weights.num_rows else weights.read()
        return (
            indptr.read(start - self.start, stop - self.start + 1) - first_arc,
            indices.read(*arcs),
            read_weights.astype(np.promote_types(weights.dtype, np.int32), copy=False),
        )

    def _columns(self) -> tuple[Region, Region, Region]:
        indptr = Region(self.path, 0, np.dtype("<i8"), (self.stop - self.start + 1,))
        indices = Region(self.path, indptr.nbytes, self.dtype, (self.num_arcs,))
        num_weights = self.num_arcs if self.weight_dtype else 0
        dtype = self.weight_dtype or np.dtype(np.int32)
        return indptr, indices, Region(self.path, indptr.nbytes + indices.nbytes, dtype, (num_weights,))


class Stretch(NamedTuple):
    """Some rows of a block in a file: nodes ``start, ..., stop - 1``, and their arcs in the block."""

    block: CsrBlock
    start: int
    stop: int
    first_arc: int
    last_arc: int

    @property
    def num_arcs(self) -> int:
        """Neighbours in all rows."""
        return self.last_arc - self.first_arc

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read row starts, neighbours and weights, as of a block."""
        return self.block.on_disk().read_stretch(self.start, self.stop, self.first_arc, self.last_arc)


def _cut(indptr: np.ndarray, num_arcs: int) -> np.ndarray:
    wanted = np.arange(indptr[0] + num_arcs, indptr[-1], num_arcs)
    rows = np.unique([0, *np.searchsorted(indptr, wanted), indptr.size - 1])
    return np.stack([rows, indptr[rows]], axis=1)


Block = CsrBlock | Rows
Piece = CsrBlock | Rows | Stretch


@dataclass(frozen=True, slots=True)
class Adjacency:
    """A chunked graph as partitioners see it: symmetric, merged, without self-loops; blocks in node order.

    The weight of an edge is the number of input edges it stands for, or the sum of their weights in units.
    """

    num_nodes: int
    num_isolated: int  # nodes without neighbours
    total_weight: int  # of all arcs: twice that of the edges
    blocks: tuple[CsrBlock, ...]
    # in-degree in the input, with self-loops and parallel edges, int64 (nodes,)
    in_degrees: Region
    input_weight: int  # of all input edges, with self-loops
    weight_unit: float | None  # size of a unit in the input's weights; None without weights

    @property
    def num_arcs(self) -> int:
        """Number of arcs, twice the number of edges."""
        return sum(block.num_arcs for block in self.blocks)

    @property
    def nbytes(self) -> int:
        """Size of all blocks."""
        return sum(block.nbytes for block in self.blocks)


def write_block(path: str, start: int, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray | None) -> CsrBlock:
    """Write rows of nodes from `start` on, atomically; without weights all are 1."""
    if weights is not None:
        weights = weights.astype(np.min_scalar_type(~int(weights.max(initial=0))), copy=False)
    weight_dtype = None if weights is None else weights.dtype
    block = CsrBlock(path, start, start + indptr.size - 1, indices.size, indices.dtype, weight_dtype)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        for column in (indptr, indices, *([] if weights is None else [weights])):
            # `tofile` does not tell that the disk is full
            file.write(np.ascontiguousarray(column).data)
    return block
