"""The noun `PartitionedGraph`: partitions on disk, opened without reading data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from daskgraphpart.dgl_layout.config import find_config, read_config
from daskgraphpart.dgl_layout.graph_file import read_graph_file
from daskgraphpart.dgl_layout.tensor_file import read_tensor_file
from daskgraphpart.display.tables import html_table, text_table
from daskgraphpart.display.units import format_count, format_size
from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import numpy as np

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dgl_layout.config import PartitionConfig
    from daskgraphpart.dgl_layout.graph_file import GraphFile
    from daskgraphpart.storage.region import Region

Data = Mapping[str, Mapping[str, Any]]


def open_partitions(path: str | os.PathLike[str]) -> PartitionedGraph:
    """Open partitions that we or DGL wrote; reads the config and, when asked, headers of files.

    Parameters
    ----------
    path : path
        Output directory, or its partition config.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    LayoutError
        If there is no config, it is inconsistent, or a file is missing.
    """
    config_path = find_config(path)
    return PartitionedGraph(config_path, read_config(config_path))


class PartitionedGraph:
    """A partitioned graph; all data are lazy dask collections over memory-mapped files.

    Parameters
    ----------
    path : Path
        Partition config.
    config : PartitionConfig
        Its content.

    Examples
    --------
    >>> graph = open_partitions("partitions")  # doctest: +SKIP
    >>> graph.node_data["paper"]["feat"][[0, 10, 20]].compute()  # doctest: +SKIP
    >>> graph.part(0).edges().groupby("etype").size().compute()  # doctest: +SKIP
    """

    def __init__(self, path: Path, config: PartitionConfig) -> None:
        self.path = path
        self.config = config
        self._parts: dict[int, Part] = {}

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self.config.graph_name

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return self.config.num_parts

    @property
    def book(self) -> PartitionBook:
        """Ranges of new IDs."""
        return self.config.book

    @property
    def ntypes(self) -> tuple[str, ...]:
        """Node types in ID order."""
        return self.book.ntypes

    @property
    def etypes(self) -> tuple[str, ...]:
        """Canonical edge types in ID order."""
        return self.book.etypes

    def num_nodes(self, ntype: str) -> int:
        """Number of nodes of a type."""
        ranges = self.book.node_ranges[:, self.ntypes.index(ntype)]
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    def num_edges(self, etype: str) -> int:
        """Number of edges of a type."""
        ranges = self.book.edge_ranges[:, self.etypes.index(etype)]
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    def part(self, part_id: int) -> Part:
        """One part."""
        if not 0 <= part_id < self.num_parts:
            raise IndexError(f"no part {part_id}; there are parts 0 to {self.num_parts - 1}")
        if part_id not in self._parts:
            paths = self.config.parts[part_id]
            root = self.path.parent
            self._parts[part_id] = Part(
                part_id, self.book, root / paths.part_graph, root / paths.node_feats, root / paths.edge_feats
            )
        return self._parts[part_id]

    @property
    def node_data(self) -> Data:
        """For each node type and feature a dask array over all parts, rows in new type-wise order."""
        return self._joined(lambda part: part.node_regions)

    @property
    def edge_data(self) -> Data:
        """For each edge type and feature a dask array over all parts, rows in new type-wise order."""
        return self._joined(lambda part: part.edge_regions)

    @property
    def orig_nids(self) -> Mapping[str, Any]:
        """For each node type the original type-wise IDs by new type-wise ID; empty where they were not saved."""
        return self._joined(lambda part: {"": part.orig_nid_regions}).get("", {})

    @property
    def orig_eids(self) -> Mapping[str, Any]:
        """For each edge type the original type-wise IDs by new type-wise ID; empty where they were not saved."""
        return self._joined(lambda part: {"": part.orig_eid_regions}).get("", {})

    @property
    def edges(self) -> Mapping[str, Any]:
        """For each edge type a dask DataFrame with columns `src` and `dst`, new type-wise IDs."""
        from daskgraphpart.partitioned.collections import typed_edge_frame

        graphs = [self.part(part_id).graph for part_id in range(self.num_parts)]
        return {etype: typed_edge_frame(graphs, self.book, etype) for etype in self.etypes}

    def _joined(self, regions_of: Any) -> Data:
        from daskgraphpart.partitioned.collections import joined_array

        of_parts = [regions_of(self.part(part_id)) for part_id in range(self.num_parts)]
        names = {kind: tuple(features) for of_part in of_parts for kind, features in of_part.items()}
        return {
            kind: {
                name: joined_array([of_part[kind][name] for of_part in of_parts if name in of_part.get(kind, {})])
                for name in features
            }
            for kind, features in names.items()
        }

    def __repr__(self) -> str:
        return f"{self._title()}\n{text_table(*self._table(), align='>>>>>')}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._title())

    def _title(self) -> str:
        nodes, edges = format_count(self.config.num_nodes), format_count(self.config.num_edges)
        return f"PartitionedGraph {self.name!r}: {self.num_parts} parts, {nodes} nodes, {edges} edges"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for part_id in range(min(self.num_parts, 16)):
            part = self.part(part_id)
            counts = (part.num_inner_nodes, part.num_halo_nodes, part.num_inner_edges)
            rows.append([str(part_id), *(format_count(count) for count in counts), format_size(part.nbytes)])
        if self.num_parts > len(rows):
            rows.append(["...", "", "", "", ""])
        return ["part", "inner nodes", "HALO nodes", "owned edges", "on disk"], rows


@dataclass(frozen=True)
class Part:
    """One part of a partitioned graph.

    Parameters
    ----------
    part_id : int
        Its number.
    book : PartitionBook
        Ranges of new IDs.
    graph_path, node_feats_path, edge_feats_path : Path
        Its files.
    """

    part_id: int
    book: PartitionBook
    graph_path: Path
    node_feats_path: Path
    edge_feats_path: Path

    @cached_property
    def graph(self) -> GraphFile:
        """Local graph: sizes, and regions of its arrays."""
        return read_graph_file(self.graph_path)

    @cached_property
    def node_regions(self) -> Mapping[str, Mapping[str, Region]]:
        """Regions of node features, by type and name."""
        return _by_type(read_tensor_file(self.node_feats_path), self.book.ntypes[0])

    @cached_property
    def edge_regions(self) -> Mapping[str, Mapping[str, Region]]:
        """Regions of edge features, by type and name."""
        return _by_type(read_tensor_file(self.edge_feats_path), (self.book.etypes or ("",))[0])

    @cached_property
    def orig_nid_regions(self) -> Mapping[str, Region]:
        """Regions of original node IDs, by type; empty where they were not saved."""
        return self._beside("orig_nids.dgl")

    @cached_property
    def orig_eid_regions(self) -> Mapping[str, Region]:
        """Regions of original edge IDs, by type; empty where they were not saved."""
        return self._beside("orig_eids.dgl")

    @cached_property
    def split_nids(self) -> Mapping[str, np.ndarray]:
        """New type-wise IDs of training, validation and test nodes, by ``<ntype>/<mask>``; memory-mapped."""
        return {key: region.memmap() for key, region in self._beside("split_nids.dgl").items()}

    @property
    def num_inner_nodes(self) -> int:
        """Nodes the part owns."""
        ranges = self.book.node_ranges[self.part_id]
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    @property
    def num_halo_nodes(self) -> int:
        """Foreign nodes the part holds."""
        return self.graph.num_nodes - self.num_inner_nodes

    @property
    def num_inner_edges(self) -> int:
        """Edges the part owns."""
        ranges = self.book.edge_ranges[self.part_id]
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    @property
    def nbytes(self) -> int:
        """Size of the part's files."""
        return sum(path.stat().st_size for path in self.graph_path.parent.iterdir() if path.is_file())

    @property
    def node_data(self) -> Data:
        """Node features as dask arrays, rows in local order of the type."""
        return _lazy(self.node_regions)

    @property
    def edge_data(self) -> Data:
        """Edge features as dask arrays, rows in local order of the type."""
        return _lazy(self.edge_regions)

    def edges(self) -> Any:
        """Dask DataFrame of all edges the part holds, in local order.

        Columns `src` and `dst` are new homogeneous node IDs, `eid` the new edge ID, `etype` the edge type's number and
        `inner` whether the part owns the edge.
        """
        from daskgraphpart.partitioned.collections import part_edge_frame

        return part_edge_frame(self.graph, self.book)

    def _beside(self, name: str) -> dict[str, Region]:
        path = self.graph_path.parent / name
        return read_tensor_file(path) if path.is_file() else {}


def _by_type(regions: Mapping[str, Region], default: str) -> dict[str, dict[str, Region]]:
    """Split keys ``<type>/<name>``; DGL takes names alone to be of the default type."""
    found: dict[str, dict[str, Region]] = {}
    for key, region in regions.items():
        kind, slash, name = key.rpartition("/")
        if slash and "/" in kind:
            raise LayoutError("key with more than one '/'", file=region.path, found=key)
        found.setdefault(kind if slash else default, {})[name] = region
    return found


def _lazy(regions: Mapping[str, Mapping[str, Region]]) -> Data:
    from daskgraphpart.partitioned.collections import joined_array

    return {kind: {name: joined_array([region]) for name, region in of.items()} for kind, of in regions.items()}
