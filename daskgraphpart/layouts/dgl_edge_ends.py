"""Read the ends of local edges from a graph file, and check what DGL trusts: IDs, ends of rows, edge IDs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from upath import UPath

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.storage.region import Region

IDS_AT_ONCE = 1 << 20


def read_ends(
    formats: Mapping[str, Mapping[str, Region]], num_nodes: int, num_edges: int, edges: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Read the local sources and destinations of a range of local edges.

    Parameters
    ----------
    formats : mapping of str to mapping of str to Region
        As in `GraphFile`.
    num_nodes, num_edges : int
        Sizes of the graph.
    edges : (int, int)
        First edge, and the one after the last.

    Returns
    -------
    src, dst : int64 or int32 array (edges,)

    Raises
    ------
    LayoutError
        If an edge ends at a node that is not there, or the rows or edge IDs of a matrix are not what they must be.
    """
    if "coo" in formats:
        row, col = (formats["coo"][end].read(*edges) for end in ("row", "col"))
        _check_nodes(row, num_nodes, formats["coo"]["row"].path, edges[0])
        _check_nodes(col, num_nodes, formats["coo"]["col"].path, edges[0])
        return row, col
    name = "csc" if "csc" in formats else "csr"
    matrix = formats[name]
    check_row_ends(matrix["indptr"], num_edges)
    places = _places_of_edges(matrix["data"], num_edges, *edges)
    rows = _rows_of_places(matrix["indptr"], places)
    columns = matrix["indices"].take(places)
    _check_nodes(columns, num_nodes, matrix["indices"].path, edges[0])
    return (columns, rows) if name == "csc" else (rows, columns)


def _rows_of_places(indptr: Region, places: np.ndarray) -> np.ndarray:
    """Row of a matrix in which each place lies."""
    if not isinstance(indptr.path, UPath):
        return np.searchsorted(indptr.memmap(), places, side="right") - 1
    rows = np.full(places.size, -1, np.int64)
    for first in range(0, indptr.num_rows, IDS_AT_ONCE):
        ends = indptr.read(first, min(first + IDS_AT_ONCE, indptr.num_rows))
        rows += np.searchsorted(ends, places, side="right")
    return rows


def check_row_ends(indptr: Region, num_edges: int) -> None:
    """Refuse ends of matrix rows that do not lead from 0 to the number of edges, in blocks.

    Raises
    ------
    LayoutError
        With the first row that ends before it begins.
    """
    last = 0
    for first in range(0, indptr.num_rows, IDS_AT_ONCE):
        ends = indptr.read(first, min(first + IDS_AT_ONCE, indptr.num_rows))
        wrong = np.flatnonzero(np.diff(ends, prepend=last) < 0)
        if wrong.size or (first == 0 and ends[0] != 0):
            row = first + int(wrong[0]) if wrong.size else 0
            raise LayoutError(
                "rows of a matrix do not follow each other",
                file=indptr.path,
                place=f"indptr[{row:,}]",
                found=ends[row - first],
            )
        last = int(ends[-1])
    if last != num_edges:
        raise LayoutError(
            "rows of a matrix do not hold all edges", file=indptr.path, place="indptr", expected=num_edges, found=last
        )


def _check_nodes(nodes: np.ndarray, num_nodes: int, path: str, start: int) -> None:
    wrong = np.flatnonzero((nodes < 0) | (nodes >= num_nodes))
    if wrong.size:
        raise LayoutError(
            "an edge ends at a node that is not in the part",
            file=path,
            place=f"local edge {start + int(wrong[0]):,}",
            expected=f"a local ID in [0, {num_nodes:,})",
            found=int(nodes[wrong[0]]),
        )


def _places_of_edges(eids: Region, num_edges: int, start: int, stop: int) -> np.ndarray:
    """Places in a matrix of edges ``[start, stop)``, in the order of their IDs."""
    if not eids.num_rows:  # no IDs: they are the places
        return np.arange(start, stop)
    places = np.full(stop - start, -1)
    for first in range(0, num_edges, IDS_AT_ONCE):
        ids = eids.read(first, min(first + IDS_AT_ONCE, num_edges))
        mine = np.flatnonzero((ids >= start) & (ids < stop))
        places[ids[mine] - start] = mine + first
    missing = np.flatnonzero(places < 0)
    if missing.size:
        raise LayoutError(
            "a matrix lacks an edge", file=eids.path, place="edge IDs", expected=f"local edge {start + missing[0]:,}"
        )
    return places
