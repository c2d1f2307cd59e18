"""Pass `report-edges`: what the owned edges of a part say of its nodes.

Streams the local edges of a part once for each range of local nodes whose counters fit into the memory of a task; that
is once, but for huge parts. One counter per node is enough: an inner node counts the edges that end in it (its
in-degree, since a part has all of them), a HALO node the owned edges that begin in it (none means that it is there for
another hop, or for an out edge). Owners of cut edges follow from the counters and the new IDs of the HALO nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.kernels.count_ends import count_ends
from daskgraphpart.reporting.figures import MAX_MATRIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.storage.region import Region

ROWS_PER_READ = 1 << 16
EDGES_PER_PIECE = 1 << 16
DEGREE_BINS = 65
"""Bin 0 is for degree 0, bin b for the degrees from 2 ** (b - 1) to 2 ** b - 1."""

VERIFY = "compare the partitions with the input by `daskgraphpart verify`"


@dataclass(frozen=True, slots=True, eq=False)
class EdgeUnit:
    """A range of the local nodes of one part, whose counters fit into memory."""

    part: int
    graph: GraphFile
    first_node: int
    stop_node: int

    @property
    def file(self) -> str:
        """Graph file, for errors."""
        return str(self.graph.node_arrays["_ID"].path)


def report_edges(unit: EdgeUnit, book: PartitionBook) -> dict[str, np.ndarray]:
    """Count the edges of one unit; a row for the part of each array in `Report`, but edges by owner of the source.

    Memory: 4 bytes for each node of the range (8 in parts of 2 ** 32 edges), and 12 MiB for a piece of edges.
    """
    num_inner, num_owned = int(book.node_counts[unit.part].sum()), int(book.edge_counts[unit.part].sum())
    counts = np.zeros(unit.stop_node - unit.first_node, np.uint32 if num_owned < 1 << 32 else np.int64)
    cut = np.zeros(len(book.etypes), np.int64)
    sizes, seen = (num_inner, unit.graph.num_nodes), 0
    type_ends = np.cumsum(book.edge_counts[unit.part])
    for src, dst, eids in unit.graph.edge_pieces(0, num_owned, rows=EDGES_PER_PIECE):
        types = np.searchsorted(type_ends, eids, side="right")
        bad = count_ends(src, dst, types, sizes, unit.first_node, counts, cut)
        if bad >= 0:
            raise LayoutError(
                "the part does not hold both ends of an edge it owns",
                file=unit.file,
                place=f"local edge {int(eids[bad]):,}",
                expected=f"a source below {sizes[1]:,} and a destination below {sizes[0]:,}",
                found=f"{int(src[bad]):,} and {int(dst[bad]):,}",
                hint=VERIFY,
            )
        seen += src.size
    if seen != num_owned:
        raise LayoutError("owned edges are missing", file=unit.file, expected=f"{num_owned:,}", found=f"{seen:,}")
    inner = max(0, min(num_inner, unit.stop_node) - unit.first_node)
    return {"cut_edges": cut, **_degrees(counts[:inner]), **_halo(unit, book, inner, counts[inner:])}


def pieces(region: Region) -> Iterator[np.ndarray]:
    """Read all rows of a region, in blocks of `ROWS_PER_READ`."""
    for first in range(0, region.num_rows, ROWS_PER_READ):
        yield region.read(first, min(first + ROWS_PER_READ, region.num_rows))


def _degrees(degrees: np.ndarray) -> dict[str, np.ndarray]:
    bins, largest = np.zeros(DEGREE_BINS, np.int64), 0
    for first in range(0, degrees.size, ROWS_PER_READ):
        block = degrees[first : first + ROWS_PER_READ]
        # the exponent of a whole number is its number of bits
        bins += np.bincount(np.frexp(block.astype(np.float64))[1], minlength=DEGREE_BINS)
        largest = max(largest, int(block.max()))
    return {"in_degrees": bins, "max_in_degrees": np.array([largest])}


def _halo(unit: EdgeUnit, book: PartitionBook, inner: int, uses: np.ndarray) -> dict[str, np.ndarray]:
    """Cut edges by owner, HALO nodes in use and all HALO nodes by type; `uses` is for the HALO nodes of the range."""
    owners = np.zeros(book.num_parts if book.num_parts <= MAX_MATRIX else 0, np.int64)
    halo, stored = np.zeros((2, len(book.ntypes)), np.int64)
    part_ends = book.node_ranges[:, -1, 1]
    new_nids, local = unit.graph.node_arrays["_ID"], unit.first_node + inner
    for first in range(0, uses.size, ROWS_PER_READ):
        used = uses[first : first + ROWS_PER_READ]
        ids = new_nids.read(local + first, local + first + used.size)
        parts = np.searchsorted(part_ends, ids, side="right")
        bad = np.flatnonzero((ids < 0) | (parts >= book.num_parts) | (parts == unit.part))
        if bad.size:
            raise LayoutError(
                "a HALO node is not a node of another part",
                file=unit.file,
                place=f"_ID of local node {local + first + int(bad[0]):,}",
                found=f"{int(ids[bad[0]]):,}",
                hint=VERIFY,
            )
        types, _ = book.map_to_per_ntype(ids)
        stored += np.bincount(types, minlength=stored.size)
        halo += np.bincount(types[used > 0], minlength=halo.size)
        if owners.size:  # sums of whole numbers below 2 ** 53: exact
            owners += np.bincount(parts, weights=used, minlength=owners.size).astype(np.int64)
    return {"edge_matrix": owners, "halo_nodes": halo, "stored_halo_nodes": stored}
