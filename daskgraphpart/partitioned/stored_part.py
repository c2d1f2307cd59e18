"""`StoredPart`: the files of one part, opened without reading data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_graph import GraphFile, read_graph_file, read_tensor_file
from daskgraphpart.layouts.known_outputs import GRAPHBOLT, ORIG_EIDS, ORIG_NIDS, SPLIT_NIDS
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioned.part_collections import lazy_rows, part_edge_frame
from daskgraphpart.partitioned.stored_rows import StoredRows
from daskgraphpart.public import Public
from daskgraphpart.storage.files import file_sizes_in, is_file

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.ids.ranges import IdRanges
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, eq=False, repr=False)
class PartRows:
    """Nodes or edges of a part: arrays of all local ones; features and original IDs of its own."""

    part: StoredPart
    ids: IdRanges  # all nodes or edges
    features_path: Location

    @cached_property
    def counts(self) -> dict[str, int]:
        """Rows that the part owns of each type."""
        return dict(zip(self.ids.names, np.diff(self.ids.ranges[self.part.part_id])[:, 0].tolist(), strict=True))

    @property
    def num_inner(self) -> int:
        """Number of own rows, which come first."""
        return sum(self.counts.values())

    @property
    def num_local(self) -> int:
        """Number of local rows."""
        return self.part.graph.num_nodes if self.ids.what == "node" else self.part.graph.num_edges

    @property
    def arrays(self) -> Mapping[str, Region]:
        """Arrays of all local nodes or edges: `_ID`, `inner_node` and so on."""
        return self.part.graph.node_arrays if self.ids.what == "node" else self.part.graph.edge_arrays

    @cached_property
    def features(self) -> Mapping[str, Mapping[str, Region]]:
        """Regions of features, by type and name."""
        regions = _by_type(read_tensor_file(self.features_path), self.ids.names)
        for kind, of_type in regions.items():
            for name, region in of_type.items():
                self._check_rows(kind, f"{kind}/{name}", region)
        return regions

    @property
    def originals_file(self) -> str:
        """File name of original IDs."""
        return ORIG_NIDS if self.ids.what == "node" else ORIG_EIDS

    @cached_property
    def originals(self) -> Mapping[str, Region]:
        """Original IDs by type: from their file or, in DGL 0.9, the graph; empty if not saved."""
        regions = self.part.read_beside(self.originals_file)
        for kind, region in regions.items():
            self._check_rows(kind, kind, region, is_right=_is_list_of_integers(region))
        inside, first = None if regions else self.arrays.get("orig_id"), 0
        if inside is not None:
            for kind, count in self.counts.items():
                regions[kind] = replace(inside, offset=inside.offset + first * inside.row_nbytes, shape=(count,))
                first += count
        return regions

    def check_graph(self, arrays: Mapping[str, Region], num_local: int) -> None:
        """Check that a local graph belongs to this part."""
        for key in ("_ID", f"inner_{self.ids.what}"):
            region = arrays.get(key)
            if region is None or not _is_list_of_integers(region) or num_local < self.num_inner:
                what = self.ids.what
                raise LayoutError(
                    "the graph does not belong to this part",
                    file=str(self.part.graph_path),
                    expected=f"{what} data {key!r}, one integer per {what}, of at least {self.num_inner:,} {what}s",
                    found="none" if region is None else f"{region.dtype} of shape {region.shape}",
                )

    def _check_rows(self, kind: str, place: str, region: Region, is_right: bool = True) -> None:
        """Check that an array has as many rows as the part owns of its type."""
        owned = self.counts.get(kind)
        if owned is not None and not (is_right and region.num_rows == owned):
            raise LayoutError(
                "an array has the wrong number of rows for this part",
                file=region.path,
                place=place,
                expected=f"{owned:,} rows (original IDs: one integer each)",
                found=f"{region.dtype} of shape {region.shape}",
                hint="copy the part again, or partition the graph again",
            )


@dataclass(frozen=True, repr=False)
class StoredPart(Public):
    """The files of one part, of which headers are read when needed."""

    part_id: int  # number of the part
    book: PartitionBook  # ranges of new IDs
    graph_path: Location  # file of the graph: GraphBolt's if there is no DGL graph
    node_feats_path: Location  # file of node features
    edge_feats_path: Location  # file of edge features
    whole: Any  # the partitions, which have the features and original IDs of halo nodes

    @property
    def directory(self) -> Location:
        """Directory of the part's files."""
        return self.graph_path.parent

    @property
    def has_graph(self) -> bool:
        """Whether the part has a DGL graph."""
        return self.graph_path.name != GRAPHBOLT

    def check_has_graph(self) -> None:
        """Refuse a part that has only a GraphBolt graph."""
        if not self.has_graph:
            raise LayoutError(
                "the part has no DGL graph",
                file=str(self.graph_path),
                hint="partition again with --layout dgl,graphbolt",
            )

    @cached_property
    def graph(self) -> GraphFile:
        """Local graph: sizes, and regions of its arrays."""
        self.check_has_graph()
        graph = read_graph_file(self.graph_path)
        self.node_rows.check_graph(graph.node_arrays, graph.num_nodes)
        self.edge_rows.check_graph(graph.edge_arrays, graph.num_edges)
        return graph

    @cached_property
    def node_rows(self) -> PartRows:
        """Arrays, features and original IDs of the nodes."""
        return PartRows(self, self.book.nodes, self.node_feats_path)

    @cached_property
    def edge_rows(self) -> PartRows:
        """Arrays, features and original IDs of the edges."""
        return PartRows(self, self.book.edges, self.edge_feats_path)

    def rows(self, kind: str) -> PartRows:
        """Return `node_rows` for ``"node"``, `edge_rows` for ``"edge"``."""
        return self.node_rows if kind == "node" else self.edge_rows

    @cached_property
    def split_nids(self) -> Mapping[str, np.ndarray]:
        """New type-wise IDs of training, validation and test nodes, by ``<ntype>/<mask>``; memory-mapped if local."""
        return {key: region.memmap() for key, region in self.split_regions.items()}

    @cached_property
    def split_regions(self) -> Mapping[str, Region]:
        """Regions of `split_nids`."""
        return self.read_beside(SPLIT_NIDS)

    @property
    def num_inner_nodes(self) -> int:
        """Number of nodes that the part owns."""
        return self.node_rows.num_inner

    @property
    def num_halo_nodes(self) -> int:
        """Number of halo nodes."""
        return self.graph.num_nodes - self.num_inner_nodes

    @property
    def num_inner_edges(self) -> int:
        """Number of edges that the part owns."""
        return self.edge_rows.num_inner

    @property
    def nbytes(self) -> int:
        """Size of the part's files in bytes."""
        return sum(file_sizes_in(self.directory).values())

    def edges(self, *, original: bool = False) -> Any:
        """Return all edges that the part holds as a dask DataFrame, in local order.

        Examples
        --------
        >>> parts.part(0).edges(original=True).head(3)
           src   dst  eid  etype  inner
        0  175  1156    8      0   True
        1  649  1108   10      0   True
        2  606  1108   13      0   True
        """
        views = (self.whole.nodes, self.whole.edges) if original else ()
        maps = tuple(tuple(view.original_ids for view in of.values()) for of in views)
        return part_edge_frame(self.graph, self.book, maps or None)

    @property
    def original_ids(self) -> Mapping[str, Any]:
        """Original type-wise IDs of own nodes and edges, by type, if saved: a dask array each.

        Rows are in the order of the part's features.
        """
        originals = {**self.node_rows.originals, **self.edge_rows.originals}

        def ids_of(kind: str) -> Any:
            return lazy_rows(StoredRows(f"original IDs of {kind}", [originals[kind]]))

        return LazyMapping("type with original IDs", tuple(originals), ids_of, self.resolve_type)

    def resolve_type(self, kind: Any) -> str:
        """Return the name of a node or edge type; edge types can be tuples or relations."""
        return kind if kind in self.book.ntypes else self.book.canonical_etype(kind)

    def read_beside(self, name: str) -> dict[str, Region]:
        """Regions of another file in the part's directory; none if it does not exist."""
        path = self.directory / name
        return read_tensor_file(path) if is_file(path) else {}


def _is_list_of_integers(region: Region) -> bool:
    return len(region.shape) == 1 and region.dtype.kind in "iu"


def _by_type(regions: Mapping[str, Region], types: tuple[str, ...]) -> dict[str, dict[str, Region]]:
    """Split keys ``<type>/<name>``. DGL omits the type for the first; DGL 0.9 uses relations as types."""
    relations = {etype.split(":")[1]: etype for etype in types if etype.count(":") == 2}
    by_type: dict[str, dict[str, Region]] = {}
    for key, region in regions.items():
        kind, slash, name = key.rpartition("/")
        if slash and "/" in kind:
            raise LayoutError("key with more than one '/'", file=region.path, found=key)
        kind = kind if slash else (types or ("",))[0]
        by_type.setdefault(kind if kind in types else relations.get(kind, kind), {})[name] = region
    return by_type
