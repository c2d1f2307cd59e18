"""Read the edges of a graph file piece by piece, from whichever format is stored, and check what DGL would not.

The one reader of local edges: of verification, of reports, of lazy frames and of loaded parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.storage.region import Region

    Formats: TypeAlias = Mapping[str, Mapping[str, Region]]
    Edges: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

EDGES_PER_PIECE = 1 << 18


def main_format(formats: Formats) -> str:
    """Format that edges are read from where nothing else is asked for."""
    return next(name for name in ("coo", "csc", "csr") if name in formats)


def read_pieces(formats: Formats, name: str, edges: tuple[int, int], num_edges: int, rows: int) -> Iterator[Edges]:
    """Read local edges in the order of a format: local sources, destinations and edge IDs, at most `rows` at a time.

    Of COO only the edges ``[start, stop)`` are read, whose IDs are their places; of CSR and CSC all are, and the others
    are left out.
    """
    start, stop = edges
    if name == "coo":
        coo = formats["coo"]
        for first in range(start, stop, rows):
            last = min(first + rows, stop)
            yield _integers(coo["row"], first, last), _integers(coo["col"], first, last), np.arange(first, last)
        return
    for heads, tails, eids in _matrix_pieces(formats[name], name, num_edges, rows):
        src, dst = (tails, heads) if name == "csc" else (heads, tails)
        if (start, stop) == (0, num_edges):
            yield src, dst, eids
        else:
            mine = (eids >= start) & (eids < stop)
            yield src[mine], dst[mine], eids[mine]


def read_ends(
    formats: Formats, num_nodes: int, num_edges: int, edges: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Read the local sources and destinations of a range of local edges, in the order of their IDs."""
    start, stop = edges
    name = main_format(formats)
    ends = np.full((2, stop - start), -1)
    found = np.zeros(stop - start, bool)
    for src, dst, eids in read_pieces(formats, name, edges, num_edges, EDGES_PER_PIECE):
        ends[0, eids - start], ends[1, eids - start] = src, dst
        found[eids - start] = True
    path = next(iter(formats[name].values())).path
    if not found.all():
        missing = start + int(np.argmin(found))
        raise LayoutError("a matrix lacks an edge", file=path, place="edge IDs", expected=f"local edge {missing:,}")
    outside = np.flatnonzero(((ends < 0) | (ends >= num_nodes)).any(axis=0))
    if outside.size:
        edge = int(outside[0])
        raise LayoutError(
            "an edge ends at a node that is not in the part",
            file=path,
            place=f"local edge {start + edge:,}",
            expected=f"a local ID in [0, {num_nodes:,})",
            found=next(end for end in ends[:, edge].tolist() if not 0 <= end < num_nodes),
        )
    return ends[0], ends[1]


def _integers(region: Region, start: int, stop: int) -> np.ndarray:
    return region.read(start, stop).astype(np.int64, copy=False)


def _matrix_pieces(matrix: Mapping[str, Region], name: str, num_edges: int, rows: int) -> Iterator[Edges]:
    """Rows, columns and edge IDs of a CSR or CSC matrix, in the order of their places."""
    indptr, data, last = matrix["indptr"], matrix["data"], 0
    for row in range(0, indptr.num_rows - 1, rows):
        starts = _integers(indptr, row, min(row + rows, indptr.num_rows - 1) + 1)
        wrong = np.flatnonzero(np.diff(starts, prepend=last) < 0)
        if wrong.size or starts[0] != last or starts[-1] > num_edges:
            place = row + (int(wrong[0]) if wrong.size else starts.size - 1 if starts[0] == last else 0)
            raise LayoutError(
                f"{name}: row starts do not ascend from 0 to the number of edges",
                file=indptr.path,
                place=f"indptr[{place:,}]",
                expected=f"from 0 to {num_edges:,}",
                found=f"{int(starts[place - row]):,}",
            )
        last = int(starts[-1])
        for first in range(int(starts[0]), last, rows):
            stop = min(first + rows, last)
            heads = row + np.repeat(np.arange(starts.size - 1), np.diff(starts.clip(first, stop)))
            # without edge IDs an edge's ID is its place
            eids = _integers(data, first, stop) if data.num_rows else np.arange(first, stop)
            _check_edge_ids(eids, first, num_edges, name, data.path)
            yield heads, _integers(matrix["indices"], first, stop), eids
    if last != num_edges:
        raise LayoutError(
            f"{name}: row starts do not hold all edges", file=indptr.path, expected=f"{num_edges:,}", found=f"{last:,}"
        )


def _check_edge_ids(eids: np.ndarray, first: int, num_edges: int, name: str, path: str) -> None:
    if eids.size and (eids.min() < 0 or eids.max() >= num_edges):
        bad = int(np.argmax((eids < 0) | (eids >= num_edges)))
        raise LayoutError(
            f"{name}: edge ID in place {first + bad:,}",
            file=path,
            expected=f"below {num_edges:,}",
            found=f"{int(eids[bad]):,}",
        )
