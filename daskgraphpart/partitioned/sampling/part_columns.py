"""In-edges by node: the CSC in a part's graph file, memory-mapped, or else sorted once.

A sorted CSC lies in temporary files that end with the process: 8 bytes per node and 16 per edge. Within a column, edges
are in order of local ID, and so of type.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.kernels.compress import count_keys, place_by_key, scatter
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph import Edges, GraphFile
    from daskgraphpart.partitioned.stored_part import StoredPart

MAX_SORTED_NBYTES = 1 << 30
"""Bytes of sorted edges that are held; of more edges the file is read several times."""
EDGES_PER_PIECE = 1 << 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class PartColumns:
    """In-edges of one part's local nodes; arrays are memory-mapped."""

    part_id: int
    path: str  # graph file, for errors
    indptr: np.ndarray
    indices: np.ndarray  # local sources
    data: np.ndarray  # local edge IDs; empty if they are the positions
    new_nids: np.ndarray  # new homogeneous IDs of local nodes and edges
    new_eids: np.ndarray
    first_nid: int  # range of the new IDs of own nodes, then of own edges
    stop_nid: int
    first_eid: int
    stop_eid: int

    @property
    def num_inner(self) -> int:
        """Number of own nodes, which come first."""
        return self.stop_nid - self.first_nid

    @cached_property
    def halo(self) -> tuple[np.ndarray, np.ndarray]:
        """New IDs of halo nodes, ascending, and their local IDs: 16 bytes each, in memory."""
        ids = np.array(self.new_nids[self.num_inner :])
        order = np.argsort(ids, kind="stable")
        return ids[order], order + self.num_inner

    def local(self, ids: np.ndarray) -> np.ndarray:
        """Local IDs from new ones; -1 for nodes outside the part."""
        halo, local = self.halo
        places_here = ids - self.first_nid
        foreign = np.flatnonzero((places_here < 0) | (places_here >= self.num_inner))
        if not halo.size:
            places_here[foreign] = -1
            return places_here
        places = np.searchsorted(halo, ids[foreign]).clip(max=halo.size - 1)
        places_here[foreign] = np.where(halo[places] == ids[foreign], local[places], -1)
        return places_here

    def damaged(self, node: int) -> LayoutError:
        """Error for a node whose in-edges cannot belong to the part."""
        return LayoutError(
            "a node has in-edges outside the part",
            file=self.path,
            place=f"node {node:,} by new homogeneous ID",
            hint="run `daskgraphpart verify`, or partition the graph again",
        )


def open_columns(
    parts: Iterable[StoredPart], *, is_sorted: bool, workspace: str | os.PathLike[str] | None
) -> dict[int, PartColumns]:
    """Open the in-edges of parts, by number; sorts the edges of parts without usable CSC."""
    columns, num_sorted = {}, 0
    for part in parts:
        graph, book, number = part.graph, part.book, part.part_id
        if (matrix := stored_columns(graph, book, is_sorted=is_sorted)) is not None:
            columns[number] = map_columns(graph, book, number, matrix)
            continue
        num_sorted += graph.num_edges
        with tempfile.TemporaryDirectory(prefix="daskgraphpart-sampling-", dir=workspace) as directory:
            # maps stay when the files are removed
            columns[number] = map_columns(graph, book, number, sort_edges(graph, directory))
    if num_sorted:
        logger.info("sorted %s by destination; the graph format csc avoids this", f"{num_sorted:,} edges")
    return columns


def stored_columns(graph: GraphFile, book: PartitionBook, *, is_sorted: bool) -> Mapping[str, Region] | None:
    """CSC in a graph file, if columns are in type order, as `is_sorted` says of our files."""
    return graph.formats.get("csc") if is_sorted or len(book.etypes) == 1 else None


def map_columns(graph: GraphFile, book: PartitionBook, part_id: int, matrix: Mapping[str, Region]) -> PartColumns:
    """Map a part's in-edges from its CSC."""
    nids, eids = graph.node_arrays["_ID"], graph.edge_arrays["_ID"]
    regions = matrix["indptr"], matrix["indices"], matrix["data"], nids, eids
    ranges = *book.nodes.part_range(part_id), *book.edges.part_range(part_id)
    indptr, indices, data, new_nids, new_eids = (np.asarray(region.memmap()) for region in regions)
    return PartColumns(part_id, str(nids.path), indptr, indices, data, new_nids, new_eids, *ranges)


def sort_edges(graph: GraphFile, directory: str, max_nbytes: int = MAX_SORTED_NBYTES) -> dict[str, Region]:
    """Sort a part's edges by destination into files: indptr, sources, local edge IDs.

    Memory: 8 bytes per node, and `max_nbytes`; with more edges, sorts a range of nodes at a time and scans all edges
    for each.
    """
    indptr = np.zeros(graph.num_nodes + 1, np.int64)
    for _, dst, _ in _edges(graph):
        count_keys(dst, 0, 0, indptr[1:])
    np.cumsum(indptr, out=indptr)
    sizes = {"indptr": indptr.size, "indices": graph.num_edges, "data": graph.num_edges}
    files = {name: create_npy(Path(directory, f"{name}.npy"), np.int64, (size,)) for name, size in sizes.items()}
    files["indptr"].write(indptr, 0)
    first = 0
    while first < graph.num_nodes:
        fits = int(np.searchsorted(indptr, indptr[first] + max_nbytes // 16, side="right")) - 1
        stop = max(first + 1, min(fits, graph.num_nodes))
        sources, eids = _sorted_range(graph, indptr, first, stop)
        files["indices"].write(sources, int(indptr[first]))
        files["data"].write(eids, int(indptr[first]))
        first = stop
    return files


def _sorted_range(graph: GraphFile, indptr: np.ndarray, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources and IDs of the edges into nodes ``[first, stop)``, by node and ID."""
    low, cursors = int(indptr[first]), indptr[first:stop].copy()
    sources, eids = np.empty((2, int(indptr[stop]) - low), np.int64)
    for src, dst, ids in _edges(graph):
        mine = slice(None) if stop - first == graph.num_nodes else np.flatnonzero((dst >= first) & (dst < stop))
        places = np.empty(dst[mine].size, np.int64)
        place_by_key(dst[mine], first, cursors, places)
        scatter(src[mine], places, low, sources)
        scatter(ids[mine], places, low, eids)
    if graph.main_format != "coo":  # COO is read in ID order
        order = np.lexsort((eids, np.repeat(np.arange(first, stop), np.diff(indptr[first : stop + 1]))))
        return sources[order], eids[order]
    return sources, eids


def _edges(graph: GraphFile) -> Iterator[Edges]:
    """Local sources, destinations and IDs of all edges, with ends checked."""
    for src, dst, eids in graph.edge_pieces(rows=EDGES_PER_PIECE):
        if src.size and not (min(src.min(), dst.min()) >= 0 and max(src.max(), dst.max()) < graph.num_nodes):
            graph.ends(0, graph.num_edges)  # names the wrong edge
        yield src, dst, eids
