"""Nodes and edges of a type over all parts, as `dgl.distributed.DistGraph` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioned.stored_rows import StoredRows, original_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NodeView:
    """Nodes of one type, `num_nodes` in all parts."""

    ntype: str
    parts: Sequence[Part]
    num_nodes: int

    @property
    def data(self) -> Mapping[str, StoredRows]:
        """Features, whose rows are taken by new type-wise ID."""
        return stored_data([part.node_regions for part in self.parts], self.ntype)

    @property
    def original_ids(self) -> StoredRows:
        """Original type-wise IDs by new type-wise ID; a `LayoutError` if they were not saved."""
        return original_ids([part.orig_nid_regions for part in self.parts], self.ntype, self.parts[0].directory)

    def __repr__(self) -> str:
        return f"<NodeView {self.ntype}: {self.num_nodes:,} nodes, data {list(self.data)}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeView:
    """Edges of one canonical type, `num_edges` in all parts."""

    etype: str
    parts: Sequence[Part]
    num_edges: int

    @property
    def data(self) -> Mapping[str, StoredRows]:
        """Features, whose rows are taken by new type-wise ID."""
        return stored_data([part.edge_regions for part in self.parts], self.etype)

    @property
    def original_ids(self) -> StoredRows:
        """Original type-wise IDs by new type-wise ID; a `LayoutError` if they were not saved."""
        return original_ids([part.orig_eid_regions for part in self.parts], self.etype, self.parts[0].directory)

    def frame(self, *, original: bool = False) -> Any:
        """All edges of the type as a dask DataFrame."""
        from daskgraphpart.partitioned.collections import typed_edge_frame

        maps = None
        if original:
            src, _, dst = self.etype.split(":")
            nids = [part.orig_nid_regions for part in self.parts]
            src_ids, dst_ids = (original_ids(nids, ntype, self.parts[0].directory) for ntype in (src, dst))
            maps = src_ids, dst_ids, self.original_ids
        return typed_edge_frame([part.graph for part in self.parts], self.parts[0].book, self.etype, maps)

    def __repr__(self) -> str:
        return f"<EdgeView {self.etype}: {self.num_edges:,} edges, data {list(self.data)}>"


def stored_data(of_parts: Sequence[Mapping[str, Mapping[str, Region]]], kind: str) -> Mapping[str, StoredRows]:
    """Features of a type that lie in the files of several parts."""
    names = tuple(dict.fromkeys(name for of_part in of_parts for name in of_part.get(kind, {})))

    def rows(name: str) -> StoredRows:
        return StoredRows(f"{kind}/{name}", [of[kind][name] for of in of_parts if name in of.get(kind, {})])

    return LazyMapping(f"feature of {kind}", names, rows)
