"""Open one part of a partitioned graph without reading its data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_graph_file import read_graph_file
from daskgraphpart.layouts.dgl_tensor_file import read_tensor_file
from daskgraphpart.storage.files import file_sizes_in, is_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.layouts.dgl_config import PartPaths
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.stored_rows import Maps
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, repr=False)
class Part:
    """One part of a partitioned graph."""

    part_id: int  # its number
    book: PartitionBook  # ranges of new IDs
    graph_path: Location  # its files
    node_feats_path: Location
    edge_feats_path: Location
    original_ids: Callable[[], Maps]  # of all nodes and edges of all parts: those of HALO nodes lie in other parts

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
        for what, arrays, count, owned in (
            ("node", graph.node_arrays, graph.num_nodes, self.num_inner_nodes),
            ("edge", graph.edge_arrays, graph.num_edges, self.num_inner_edges),
        ):
            for key in ("_ID", f"inner_{what}"):
                region = arrays.get(key)
                if region is None or not _is_list_of_integers(region) or count < owned:
                    found = "none" if region is None else f"{region.dtype} of shape {region.shape}"
                    raise LayoutError(
                        "not the graph of this part",
                        file=str(self.graph_path),
                        expected=f"{what} data {key!r}, one integer per {what}, of at least {owned:,} {what}s",
                        found=found,
                    )
        return graph

    @cached_property
    def node_regions(self) -> Mapping[str, Mapping[str, Region]]:
        """Regions of node features, by type and name."""
        return self._features(self.node_feats_path, self._owned_nodes)

    @cached_property
    def edge_regions(self) -> Mapping[str, Mapping[str, Region]]:
        """Regions of edge features, by type and name."""
        return self._features(self.edge_feats_path, self._owned_edges)

    @cached_property
    def orig_nid_regions(self) -> Mapping[str, Region]:
        """Regions of original node IDs, by type; empty where they were not saved."""
        return self._original_ids("orig_nids.dgl", self._owned_nodes, lambda: self.graph.node_arrays)

    @cached_property
    def orig_eid_regions(self) -> Mapping[str, Region]:
        """Regions of original edge IDs, by type; empty where they were not saved."""
        return self._original_ids("orig_eids.dgl", self._owned_edges, lambda: self.graph.edge_arrays)

    @cached_property
    def split_nids(self) -> Mapping[str, np.ndarray]:
        """New type-wise IDs of training, validation and test nodes, by ``<ntype>/<mask>``; memory-mapped if local."""
        return {key: region.memmap() for key, region in self._beside("split_nids.dgl").items()}

    @property
    def num_inner_nodes(self) -> int:
        """Nodes the part owns."""
        return sum(self._owned_nodes.values())

    @property
    def num_halo_nodes(self) -> int:
        """Foreign nodes the part holds."""
        return self.graph.num_nodes - self.num_inner_nodes

    @property
    def num_inner_edges(self) -> int:
        """Edges the part owns."""
        return sum(self._owned_edges.values())

    @property
    def nbytes(self) -> int:
        """Size of the part's files."""
        return sum(file_sizes_in(self.directory).values())

    def edges(self, *, original: bool = False) -> Any:
        """Dask DataFrame of all edges the part holds, in local order."""
        from daskgraphpart.partitioned.collections import part_edge_frame

        return part_edge_frame(self.graph, self.book, self.original_ids() if original else None)

    @property
    def _owned_nodes(self) -> dict[str, int]:
        """Inner nodes of each type."""
        return dict(zip(self.book.ntypes, self.book.node_counts[self.part_id].tolist(), strict=True))

    @property
    def _owned_edges(self) -> dict[str, int]:
        """Owned edges of each type."""
        return dict(zip(self.book.etypes, self.book.edge_counts[self.part_id].tolist(), strict=True))

    def _features(self, path: Location, owned: Mapping[str, int]) -> dict[str, dict[str, Region]]:
        regions = _by_type(read_tensor_file(path), tuple(owned))
        for kind, of_type in regions.items():
            for name, region in of_type.items():
                self._check_rows(f"{kind}/{name}", region, owned.get(kind))
        return regions

    def _original_ids(
        self, file: str, owned: Mapping[str, int], arrays: Callable[[], Mapping[str, Region]]
    ) -> Mapping[str, Region]:
        """Original IDs in the file for them, or where DGL 0.9 kept them: in the graph, inner ones first, by type."""
        regions = self._beside(file)
        for kind, region in regions.items():
            self._check_rows(kind, region, owned.get(kind), is_right=_is_list_of_integers(region))
        inside, first = None if regions else arrays().get("orig_id"), 0
        if inside is not None:
            for kind, count in owned.items():
                regions[kind] = replace(inside, offset=inside.offset + first * inside.row_nbytes, shape=(count,))
                first += count
        return regions

    def _check_rows(self, place: str, region: Region, owned: int | None, is_right: bool = True) -> None:
        """Refuse an array of a type that has not as many rows as the part owns of it."""
        if owned is not None and not (is_right and region.num_rows == owned):
            raise LayoutError(
                "an array has not the rows that the part owns",
                file=region.path,
                place=place,
                expected=f"{owned:,} rows; of original IDs, one integer each",
                found=f"{region.dtype} of shape {region.shape}",
                hint="copy the part again, or make the partitions again",
            )

    def _beside(self, name: str) -> dict[str, Region]:
        path = self.directory / name
        return read_tensor_file(path) if is_file(path) else {}


def open_part(
    number: int,
    book: PartitionBook,
    directory: Location,
    files: Sequence[PartPaths],
    original_ids: Callable[[], Maps],
) -> Part:
    """Open a part; `files` are those of all parts, named as in the config in a directory."""
    book.nodes.part_range(number)  # refuses parts that are not there
    of_part = files[number]
    paths = [directory / name for name in (of_part.part_graph, of_part.node_feats, of_part.edge_feats)]
    return Part(number, book, paths[0], paths[1], paths[2], original_ids)


def _is_list_of_integers(region: Region) -> bool:
    return len(region.shape) == 1 and region.dtype.kind in "iu"


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
