"""Read the edges of a graph file piece by piece, from whichever format is stored, and check what DGL would not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.storage.region import Region

    Edges: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

EDGES_PER_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class GraphFile:
    """What a graph file holds; nothing but headers has been read.

    `formats` has ``row`` and ``col`` of ``coo``, and ``indptr``, ``indices`` and ``data`` (edge IDs) of ``csr`` and
    ``csc``. `claims` are what the file says is sorted, on which DGL relies: for ``coo`` the rows, and the columns of
    each row; for ``csr`` and ``csc`` the columns of each row. `may_make` are the formats that DGL may make, bits as in
    `FORMAT_BITS`.
    """

    num_nodes: int
    num_edges: int
    formats: Mapping[str, Mapping[str, Region]]
    node_arrays: Mapping[str, Region]
    edge_arrays: Mapping[str, Region]
    claims: Mapping[str, tuple[bool, ...]]
    may_make: int

    @property
    def main_format(self) -> str:
        """Format that edges are read from where nothing else is asked for: COO, else CSC, else CSR."""
        return next(name for name in ("coo", "csc", "csr") if name in self.formats)

    def edge_pieces(
        self, start: int = 0, stop: int | None = None, *, name: str | None = None, rows: int = EDGES_PER_PIECE
    ) -> Iterator[Edges]:
        """Read the local edges ``[start, stop)`` piece by piece: local sources, local destinations, local edge IDs.

        They come in the order of the format `name`, by default `main_format`, at most `rows` at a time; of CSR and CSC
        all are looked through.
        """
        name, stop = name or self.main_format, self.num_edges if stop is None else stop
        if name == "coo":
            coo = self.formats["coo"]
            for first in range(start, stop, rows):
                last = min(first + rows, stop)
                yield _integers(coo["row"], first, last), _integers(coo["col"], first, last), np.arange(first, last)
            return
        for heads, tails, eids in self._matrix_pieces(name, rows):
            src, dst = (tails, heads) if name == "csc" else (heads, tails)
            if (start, stop) == (0, self.num_edges):
                yield src, dst, eids
            else:
                mine = (eids >= start) & (eids < stop)
                yield src[mine], dst[mine], eids[mine]

    def ends(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Read the local sources and destinations of edges ``[start, stop)``, in the order of their IDs."""
        ends, found = np.full((2, stop - start), -1), np.zeros(stop - start, bool)
        for src, dst, eids in self.edge_pieces(start, stop):
            ends[0, eids - start], ends[1, eids - start] = src, dst
            found[eids - start] = True
        outside = ((ends < 0) | (ends >= self.num_nodes)).any(axis=0)
        if outside.any():
            edge = int(np.argmax(outside))
            wrong = next(end for end in ends[:, edge].tolist() if not 0 <= end < self.num_nodes)
            raise LayoutError(
                "an edge ends at a node that is not in the part" if found[edge] else "a matrix lacks an edge",
                file=next(iter(self.formats[self.main_format].values())).path,
                place=f"local edge {start + edge:,}",
                expected=f"local IDs in [0, {self.num_nodes:,})",
                found=wrong if found[edge] else None,
            )
        return ends[0], ends[1]

    def _matrix_pieces(self, name: str, rows: int) -> Iterator[Edges]:
        """Rows, columns and edge IDs of a CSR or CSC matrix, in the order of their places."""
        matrix = self.formats[name]
        indptr, data, last = matrix["indptr"], matrix["data"], 0
        for row in range(0, max(1, self.num_nodes), rows):
            stop_row = min(row + rows, self.num_nodes)
            starts = _integers(indptr, row, stop_row + 1)
            wrong = (starts < np.append(last, starts[:-1])) | (starts > self.num_edges)
            wrong[0] |= starts[0] != last
            wrong[-1] |= stop_row == self.num_nodes and starts[-1] != self.num_edges
            if wrong.any():
                place, what = int(np.argmax(wrong)), "row starts do not ascend from 0 to the number of edges"
                raise _fault(f"{name}: {what}", indptr, f"indptr[{row + place:,}]", self.num_edges, starts[place])
            last = int(starts[-1])
            for first in range(int(starts[0]), last, rows):
                stop = min(first + rows, last)
                heads = row + np.repeat(np.arange(starts.size - 1), np.diff(starts.clip(first, stop)))
                # without edge IDs an edge's ID is its place
                eids = _integers(data, first, stop) if data.num_rows else np.arange(first, stop)
                if eids.min() < 0 or eids.max() >= self.num_edges:
                    place = int(np.argmax((eids < 0) | (eids >= self.num_edges)))
                    what = f"{name}: edge ID in place {first + place:,} out of range"
                    raise _fault(what, data, None, self.num_edges - 1, eids[place])
                yield heads, _integers(matrix["indices"], first, stop), eids


def _integers(region: Region, start: int, stop: int) -> np.ndarray:
    return region.read(start, stop).astype(np.int64, copy=False)


def _fault(what: str, region: Region, place: str | None, largest: int, found: int) -> LayoutError:
    return LayoutError(what, file=region.path, place=place, expected=f"from 0 to {largest:,}", found=f"{int(found):,}")
