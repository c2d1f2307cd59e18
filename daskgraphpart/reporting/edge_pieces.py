"""The edges a part owns, piece by piece, from whatever format its graph file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph_file import GraphFile
    from daskgraphpart.storage.region import Region

    Piece: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

EDGES_PER_PIECE = 1 << 16


def local_type_ends(book: PartitionBook, part: int) -> np.ndarray:
    """Local edge IDs at which the owned edges of each type end, int64 (edge types,); owned edges are type by type."""
    ranges = book.edge_ranges[part]
    ends: np.ndarray = np.cumsum(ranges[:, 1] - ranges[:, 0])
    return ends


def owned_edges(graph: GraphFile, type_ends: np.ndarray) -> Iterator[Piece]:
    """Read the owned edges of a part; the others, which follow them, are left out.

    Parameters
    ----------
    graph : GraphFile
        Local graph; COO is read where there is one, else CSC or CSR.
    type_ends : int64 array (edge types,)
        Of `local_type_ends`.

    Yields
    ------
    tuple of int64 arrays
        Local sources, local destinations, local edge IDs, numbers of the edge types: at most `EDGES_PER_PIECE` edges.
    """
    num_owned = int(type_ends[-1]) if type_ends.size else 0
    if "coo" in graph.formats:
        coo = graph.formats["coo"]
        for first in range(0, num_owned, EDGES_PER_PIECE):
            stop = min(first + EDGES_PER_PIECE, num_owned)
            yield (
                _ids(coo["row"], first, stop),
                _ids(coo["col"], first, stop),
                *_typed(np.arange(first, stop), type_ends),
            )
        return
    name = "csc" if "csc" in graph.formats else "csr"
    for rows, columns, eids in _matrix_pieces(graph.formats[name]):
        src, dst = (columns, rows) if name == "csc" else (rows, columns)
        mine = eids < num_owned
        yield src[mine], dst[mine], *_typed(eids[mine], type_ends)


def _ids(region: Region, start: int, stop: int) -> np.ndarray:
    return region.read(start, stop).astype(np.int64, copy=False)


def _typed(eids: np.ndarray, type_ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if type_ends.size == 1:
        return eids, np.zeros(eids.size, np.int64)
    return eids, np.searchsorted(type_ends, eids, side="right")


def _matrix_pieces(matrix: Mapping[str, Region]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows, columns and edge IDs of a CSR or CSC matrix."""
    num_rows = matrix["indptr"].num_rows - 1
    for row in range(0, num_rows, EDGES_PER_PIECE):
        ends = _ids(matrix["indptr"], row, min(row + EDGES_PER_PIECE, num_rows) + 1)
        if ends[0] < 0 or ends[-1] > matrix["indices"].num_rows or (np.diff(ends) < 0).any():
            raise LayoutError("indptr of a matrix is damaged", file=matrix["indptr"].path, place=f"near row {row:,}")
        for first in range(int(ends[0]), int(ends[-1]), EDGES_PER_PIECE):
            stop = min(first + EDGES_PER_PIECE, int(ends[-1]))
            places = np.arange(first, stop)
            # without IDs an edge's ID is its place
            eids = _ids(matrix["data"], first, stop) if matrix["data"].num_rows else places
            yield np.searchsorted(ends, places, side="right") - 1 + row, _ids(matrix["indices"], first, stop), eids
