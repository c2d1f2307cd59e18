"""The partition book: which new IDs belong to which part and type.

New homogeneous IDs run part by part, and within a part type by type. `ranges.py` looks IDs up. Methods follow
`dgl.distributed.graph_partition_book.RangePartitionBook` (DGL 2.1), but IDs out of range are errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError, choose_from
from daskgraphpart.ids.ranges import IdRanges
from daskgraphpart.public import Public
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE, EdgeTypeName, canonical_tuple
from daskgraphpart.units import format_number


def canonical_etype(known: Sequence[str], etype: EdgeTypeName) -> str:
    """Canonical name of one of the known edge types, by itself, its relation or DGL's tuple."""
    name = ":".join(map(str, etype)) if isinstance(etype, tuple) else str(etype)
    matches = [name] if name in known else [of for of in known if of.split(":")[1] == name]
    if len(matches) != 1:
        what = f"several edge types have the relation {name!r}" if matches else f"there is no edge type {name!r}"
        raise IdOutOfRangeError(what, hint=choose_from(matches or known, name))
    return matches[0]


class BookMethods(Public):
    """DGL's partition book methods, over the ranges `nodes` and `edges`."""

    @property
    def nodes(self) -> IdRanges:
        """Ranges of nodes."""
        raise NotImplementedError

    @property
    def edges(self) -> IdRanges:
        """Ranges of edges."""
        raise NotImplementedError

    def nid2partid(self, nids: Any, ntype: str | None = None) -> Any:
        """Owner of each node, int64; IDs are homogeneous, or type-wise if a node type is given."""
        return self.nodes.part_of(nids, _ntype(ntype))

    def eid2partid(self, eids: Any, etype: EdgeTypeName | None = None) -> Any:
        """Owner of each edge, int64; IDs are homogeneous, or type-wise if an edge type is given."""
        return self.edges.part_of(eids, self.known_etype(etype))

    def partid2nids(self, partid: int, ntype: str | None = None) -> Any:
        """IDs of the nodes that a part owns: homogeneous, or type-wise if a node type is given."""
        return np.arange(*self.nodes.part_range(partid, _ntype(ntype)))

    def partid2eids(self, partid: int, etype: EdgeTypeName | None = None) -> Any:
        """IDs of the edges that a part owns: homogeneous, or type-wise if an edge type is given."""
        return np.arange(*self.edges.part_range(partid, self.known_etype(etype)))

    def nid2localnid(self, nids: Any, partid: int, ntype: str | None = None) -> Any:
        """Local IDs of nodes in the part that owns them; with a node type, counted within it."""
        return self.nodes.local(nids, partid, _ntype(ntype))

    def eid2localeid(self, eids: Any, partid: int, etype: EdgeTypeName | None = None) -> Any:
        """Local IDs of edges in the part that owns them; with an edge type, counted within it."""
        return self.edges.local(eids, partid, self.known_etype(etype))

    def map_to_per_ntype(self, ids: Any) -> tuple[Any, Any]:
        """Node type IDs and type-wise IDs, both int64, of homogeneous node IDs."""
        return self.nodes.per_type(ids)

    def map_to_per_etype(self, ids: Any) -> tuple[Any, Any]:
        """Edge type IDs and type-wise IDs, both int64, of homogeneous edge IDs."""
        return self.edges.per_type(ids)

    def map_to_homo_nid(self, ids: Any, ntype: str) -> Any:
        """Homogeneous IDs from type-wise node IDs."""
        return self.nodes.homogeneous(ids, ntype)

    def map_to_homo_eid(self, ids: Any, etype: EdgeTypeName) -> Any:
        """Homogeneous IDs from type-wise edge IDs."""
        return self.edges.homogeneous(ids, self.canonical_etype(etype))

    def canonical_etype(self, etype: EdgeTypeName) -> str:
        """Canonical name of an edge type."""
        return canonical_etype(self.edges.names, etype)

    def known_etype(self, etype: EdgeTypeName | None) -> str | None:
        """Canonical name of an edge type, or None if IDs are homogeneous."""
        is_default = etype in (None, DEFAULT_ETYPE, canonical_tuple(DEFAULT_ETYPE), "_E")
        return None if is_default or etype is None else self.canonical_etype(etype)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartitionBook(BookMethods):
    """Ranges of new IDs of every part and type.

    Examples
    --------
    >>> parts.book
    <PartitionBook: 4 parts, 1,200 nodes, 5,000 edges>
    >>> parts.book.part_range(1, "user")
    (250, 500)
    >>> parts.book.nid2partid([0, 900], "user")
    array([0, 3])
    """

    ntypes: tuple[str, ...]  # node types, in ID order
    etypes: tuple[str, ...]  # canonical edge types, in ID order
    node_ranges: np.ndarray  # int64 (parts, types, 2): half-open ranges of new homogeneous node IDs
    edge_ranges: np.ndarray  # the same of edge IDs

    @classmethod
    def from_counts(
        cls, ntypes: Sequence[str], etypes: Sequence[str], node_counts: np.ndarray, edge_counts: np.ndarray
    ) -> PartitionBook:
        """Make a book from the number of nodes and edges that each part owns, int64 (parts, types)."""
        return cls(tuple(ntypes), tuple(etypes), _ranges(node_counts), _ranges(edge_counts))

    @property
    def nodes(self) -> IdRanges:
        """Ranges of nodes."""
        return IdRanges("node", self.ntypes, self.node_ranges)

    @property
    def edges(self) -> IdRanges:
        """Ranges of edges."""
        return IdRanges("edge", self.etypes, self.edge_ranges)

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return len(self.node_ranges)

    @property
    def node_counts(self) -> np.ndarray:
        """Number of nodes of each type that each part owns, int64 (parts, types)."""
        return _counts(self.node_ranges)

    @property
    def edge_counts(self) -> np.ndarray:
        """Number of edges of each type that each part owns, int64 (parts, types)."""
        return _counts(self.edge_ranges)

    def part_range(self, part_id: int, kind: str) -> tuple[int, int]:
        """Half-open range of type-wise IDs that a part owns, for a node type or canonical edge type."""
        return (self.nodes if kind in self.ntypes else self.edges).part_range(part_id, kind)

    def __repr__(self) -> str:
        counts = [(int(self.node_counts.sum()), "node"), (int(self.edge_counts.sum()), "edge")]
        return f"<PartitionBook: {', '.join(format_number(*of) for of in ((self.num_parts, 'part'), *counts))}>"


def _ntype(ntype: str | None) -> str | None:
    """Node type, or None for homogeneous IDs, where DGL names its default type."""
    return None if ntype == DEFAULT_NTYPE else ntype


def _ranges(counts: np.ndarray) -> np.ndarray:
    ends = np.cumsum(np.asarray(counts, np.int64).reshape(-1)).reshape(counts.shape)
    return np.stack([ends - counts, ends], axis=-1)


def _counts(ranges: np.ndarray) -> np.ndarray:
    counts: np.ndarray = ranges[..., 1] - ranges[..., 0]
    return counts
