"""Open one part of a partitioned graph without reading its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from upath import UPath

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_graph_file import read_graph_file
from daskgraphpart.layouts.dgl_tensor_file import read_tensor_file
from daskgraphpart.partitioned.stored_rows import original_ids
from daskgraphpart.storage.files import file_sizes_in, is_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph_file import GraphFile
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region

Data = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, repr=False)
class Part:
    """One part of a partitioned graph."""

    part_id: int  # its number
    book: PartitionBook  # ranges of new IDs
    graph_path: Location  # its files
    node_feats_path: Location
    edge_feats_path: Location
    siblings: Callable[[], Sequence[Part]]  # returns all parts, which know the original IDs of HALO nodes

    def __repr__(self) -> str:
        return f"<Part {self.part_id} of {self.book.num_parts}: {self.directory}>"

    @property
    def directory(self) -> Location:
        """Directory of its files."""
        return self.graph_path.parent

    @cached_property
    def graph(self) -> GraphFile:
        """Local graph: sizes, and regions of its arrays."""
        graph = read_graph_file(self.graph_path)
        if self._has_ranges:
            check_graph(graph, str(self.graph_path), self.num_inner_nodes, self.num_inner_edges)
        return graph

    @cached_property
    def node_regions(self) -> Mapping[str, Mapping[str, Region]]:
        """Regions of node features, by type and name."""
        return self._features(self.node_feats_path, self.book.ntypes, self.book.node_ranges)

    @cached_property
    def edge_regions(self) -> Mapping[str, Mapping[str, Region]]:
        """Regions of edge features, by type and name."""
        return self._features(self.edge_feats_path, self.book.etypes, self.book.edge_ranges)

    @cached_property
    def orig_nid_regions(self) -> Mapping[str, Region]:
        """Regions of original node IDs, by type; empty where they were not saved."""
        found = self._original_ids("orig_nids.dgl", self.book.ntypes, self.book.node_ranges)
        return found or self._inside(self.graph.node_arrays, self.book.ntypes, self.book.node_ranges)

    @cached_property
    def orig_eid_regions(self) -> Mapping[str, Region]:
        """Regions of original edge IDs, by type; empty where they were not saved."""
        found = self._original_ids("orig_eids.dgl", self.book.etypes, self.book.edge_ranges)
        return found or self._inside(self.graph.edge_arrays, self.book.etypes, self.book.edge_ranges)

    @cached_property
    def split_nids(self) -> Mapping[str, np.ndarray]:
        """New type-wise IDs of training, validation and test nodes, by ``<ntype>/<mask>``; memory-mapped if local."""
        regions = self._beside("split_nids.dgl").items()
        return {key: region.read() if isinstance(region.path, UPath) else region.memmap() for key, region in regions}

    @property
    def num_inner_nodes(self) -> int:
        """Nodes the part owns."""
        return int(np.diff(self.book.node_ranges[self.part_id]).sum())

    @property
    def num_halo_nodes(self) -> int:
        """Foreign nodes the part holds."""
        return self.graph.num_nodes - self.num_inner_nodes

    @property
    def num_inner_edges(self) -> int:
        """Edges the part owns."""
        return int(np.diff(self.book.edge_ranges[self.part_id]).sum())

    @property
    def nbytes(self) -> int:
        """Size of the part's files."""
        return sum(file_sizes_in(self.directory).values())

    @property
    def node_data(self) -> Data:
        """Node features as dask arrays, rows in local order of the type."""
        return _lazy(self.node_regions)

    @property
    def edge_data(self) -> Data:
        """Edge features as dask arrays, rows in local order of the type."""
        return _lazy(self.edge_regions)

    def edges(self, *, original: bool = False) -> Any:
        """Dask DataFrame of all edges the part holds, in local order."""
        from daskgraphpart.partitioned.collections import part_edge_frame

        maps = None
        if original:
            nids = [part.orig_nid_regions for part in self.siblings()]
            eids = [part.orig_eid_regions for part in self.siblings()]
            maps = (
                [original_ids(nids, ntype, self.directory) for ntype in self.book.ntypes],
                [original_ids(eids, etype, self.directory) for etype in self.book.etypes],
            )
        return part_edge_frame(self.graph, self.book, maps)

    @property
    def _has_ranges(self) -> bool:
        """Whether the ranges of the book mean something; not where IDs were kept."""
        return bool(self.book.node_ranges[-1].any())

    def _features(self, path: Location, types: tuple[str, ...], ranges: np.ndarray) -> dict[str, dict[str, Region]]:
        regions = _by_type(read_tensor_file(path), types)
        for kind, of_type in regions.items():
            for name, region in of_type.items():
                if kind in types:
                    owned = ranges[self.part_id, types.index(kind)]
                    self._check_rows(f"{kind}/{name}", region, owned, "rows", is_right=bool(region.shape))
        return regions

    def _original_ids(self, file: str, types: tuple[str, ...], ranges: np.ndarray) -> dict[str, Region]:
        regions = self._beside(file)
        for kind, region in regions.items():
            if kind in types:
                is_list = len(region.shape) == 1 and region.dtype.kind in "iu"
                owned = ranges[self.part_id, types.index(kind)]
                self._check_rows(kind, region, owned, "integers", is_right=is_list)
        return regions

    def _check_rows(self, place: str, region: Region, owned: np.ndarray, what: str, *, is_right: bool) -> None:
        """Refuse an array of a type that has not as many rows as the part owns of it; `owned` is a range."""
        start, stop = owned.tolist()
        if self._has_ranges and not (is_right and region.num_rows == stop - start):
            raise LayoutError(
                "an array has not the rows that the part owns",
                file=region.path,
                place=place,
                expected=f"{stop - start:,} {what}",
                found=f"{region.dtype} of shape {region.shape}",
                hint="copy the part again, or make the partitions again",
            )

    def _beside(self, name: str) -> dict[str, Region]:
        path = self.directory / name
        return read_tensor_file(path) if is_file(path) else {}

    def _inside(self, arrays: Mapping[str, Region], types: tuple[str, ...], ranges: np.ndarray) -> dict[str, Region]:
        """Original IDs where DGL 0.9 kept them, in the graph: what the part owns comes first, type by type."""
        if "orig_id" not in arrays:
            return {}
        region, rows = arrays["orig_id"], ranges[self.part_id] - ranges[self.part_id, 0, 0]
        return {
            name: replace(region, offset=region.offset + start * region.row_nbytes, shape=(stop - start,))
            for name, (start, stop) in zip(types, rows.tolist(), strict=True)
        }


def check_graph(graph: GraphFile, file: str, num_inner_nodes: int, num_inner_edges: int) -> None:
    """Refuse a local graph without the arrays of a partition, or with fewer nodes or edges than the part owns."""
    for what, arrays, found, owned in (
        ("node", graph.node_arrays, graph.num_nodes, num_inner_nodes),
        ("edge", graph.edge_arrays, graph.num_edges, num_inner_edges),
    ):
        for key in ("_ID", f"inner_{what}"):
            region = arrays.get(key)
            if region is None or len(region.shape) != 1 or region.dtype.kind not in "iu":
                raise LayoutError(
                    "not the graph of a partition",
                    file=file,
                    expected=f"{what} data {key!r}, one integer per {what}",
                    found="none" if region is None else f"{region.dtype} of shape {region.shape}",
                )
        if found < owned:
            raise LayoutError(
                f"the part owns more {what}s than its graph has", file=file, expected=f"at least {owned:,}", found=found
            )


def _by_type(regions: Mapping[str, Region], types: tuple[str, ...]) -> dict[str, dict[str, Region]]:
    """Split keys ``<type>/<name>``; DGL takes names alone for the first type's, and DGL 0.9 has relations for types."""
    relations = {etype.split(":")[1]: etype for etype in types if etype.count(":") == 2}
    found: dict[str, dict[str, Region]] = {}
    for key, region in regions.items():
        kind, slash, name = key.rpartition("/")
        if slash and "/" in kind:
            raise LayoutError("key with more than one '/'", file=region.path, found=key)
        kind = kind if slash else (types or ("",))[0]
        found.setdefault(kind if kind in types else relations.get(kind, kind), {})[name] = region
    return found


def _lazy(regions: Mapping[str, Mapping[str, Region]]) -> Data:
    from daskgraphpart.partitioned.collections import joined_array

    return {kind: {name: joined_array([region]) for name, region in of.items()} for kind, of in regions.items()}
