"""The partition book as DGL's code knows it: seen from one part, torch tensors in and out.

`RangePartitionBook`, `NodePartitionPolicy` and `EdgePartitionPolicy` have the methods and meaning of
`dgl.distributed.graph_partition_book` (DGL 1.0 to 2.5); IDs that are out of range are errors instead of wrong answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.book import IdOutOfRangeError, canonical_tuple
from daskgraphpart.partitioned.torch_arrays import torch_module

if TYPE_CHECKING:
    from daskgraphpart.book import PartitionBook

DEFAULT_NTYPE = "_N"
DEFAULT_ETYPE = ("_N", "_E", "_N")

EdgeTypeName: TypeAlias = str | tuple[str, str, str]
"""An edge type: canonical, as a tuple or as ``src:rel:dst``, or a relation that no two edge types share."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangePartitionBook:
    """New IDs of all parts, seen from one of them.

    IDs are torch tensors or numpy arrays of integers, and results are of the same kind; `partid2nids` and
    `partid2eids` return tensors. Without a type, or with DGL's ``"_N"`` and ``("_N", "_E", "_N")``, IDs are
    homogeneous.
    """

    book: PartitionBook  # the ranges
    partid: int  # the part

    def __post_init__(self) -> None:
        if not 0 <= self.partid < self.book.num_parts:
            raise IdOutOfRangeError("no such part", expected=f"0 to {self.book.num_parts - 1}", found=self.partid)

    def num_partitions(self) -> int:
        """Number of parts."""
        return self.book.num_parts

    def metadata(self) -> list[dict[str, int]]:
        """For each part `machine_id`, `num_nodes` and `num_edges`, the numbers of what it owns."""
        return part_metadata(self.book.node_counts.sum(axis=1), self.book.edge_counts.sum(axis=1))

    @property
    def ntypes(self) -> list[str]:
        """Node types in ID order."""
        return list(self.book.ntypes)

    @property
    def etypes(self) -> list[str]:
        """Relations in the order of the edge types' IDs; not unique in all graphs."""
        return [rel for _, rel, _ in self.canonical_etypes]

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        """Canonical edge types in ID order."""
        return [canonical_tuple(etype) for etype in self.book.etypes]

    @property
    def local_ntype_offset(self) -> list[int]:
        """First local ID of the nodes of each type in this part, then their number."""
        return [0, *np.cumsum(self.book.node_counts[self.partid]).tolist()]

    @property
    def local_etype_offset(self) -> list[int]:
        """First local ID of the edges of each type in this part, then their number."""
        return [0, *np.cumsum(self.book.edge_counts[self.partid]).tolist()]

    def to_canonical_etype(self, etype: EdgeTypeName) -> tuple[str, str, str]:
        """Canonical edge type of a relation, or of a canonical edge type itself."""
        return canonical_tuple(self.book.canonical_etype(etype))

    def nid2partid(self, nids: Any, ntype: str = DEFAULT_NTYPE) -> Any:
        """Part that owns each node."""
        return self.book.nid2partid(nids, self._ntype(ntype))

    def eid2partid(self, eids: Any, etype: EdgeTypeName = DEFAULT_ETYPE) -> Any:
        """Part that owns each edge."""
        return self.book.eid2partid(eids, self._etype(etype))

    def partid2nids(self, partid: int, ntype: str = DEFAULT_NTYPE) -> Any:
        """IDs of the nodes a part owns, int64 tensor."""
        return torch_module().from_numpy(self.book.partid2nids(partid, self._ntype(ntype)))

    def partid2eids(self, partid: int, etype: EdgeTypeName = DEFAULT_ETYPE) -> Any:
        """IDs of the edges a part owns, int64 tensor."""
        return torch_module().from_numpy(self.book.partid2eids(partid, self._etype(etype)))

    def nid2localnid(self, nids: Any, partid: int, ntype: str = DEFAULT_NTYPE) -> Any:
        """Local IDs of nodes of a part; unlike in DGL it may be any part."""
        return self.book.nid2localnid(nids, partid, self._ntype(ntype))

    def eid2localeid(self, eids: Any, partid: int, etype: EdgeTypeName = DEFAULT_ETYPE) -> Any:
        """Local IDs of edges of a part; unlike in DGL it may be any part."""
        return self.book.eid2localeid(eids, partid, self._etype(etype))

    def map_to_per_ntype(self, ids: Any) -> tuple[Any, Any]:
        """Numbers of node types and type-wise IDs of homogeneous node IDs."""
        return self.book.map_to_per_ntype(ids)

    def map_to_per_etype(self, ids: Any) -> tuple[Any, Any]:
        """Numbers of edge types and type-wise IDs of homogeneous edge IDs."""
        return self.book.map_to_per_etype(ids)

    def map_to_homo_nid(self, ids: Any, ntype: str) -> Any:
        """Homogeneous IDs of type-wise node IDs."""
        return self.book.map_to_homo_nid(ids, ntype)

    def map_to_homo_eid(self, ids: Any, etype: EdgeTypeName) -> Any:
        """Homogeneous IDs of type-wise edge IDs."""
        return self.book.map_to_homo_eid(ids, self.book.canonical_etype(etype))

    def __repr__(self) -> str:
        return f"<RangePartitionBook of part {self.partid}: {self.book!r}>"

    def _ntype(self, ntype: str) -> str | None:
        return None if ntype == DEFAULT_NTYPE else ntype

    def _etype(self, etype: EdgeTypeName) -> str | None:
        return None if etype in (DEFAULT_ETYPE, DEFAULT_ETYPE[1]) else self.book.canonical_etype(etype)


class _PartitionPolicy:
    """What policies of nodes and of edges share."""

    __slots__ = ()
    partition_book: RangePartitionBook

    @property
    def part_id(self) -> int:
        """The part."""
        return self.partition_book.partid

    @property
    def is_node(self) -> bool:
        """Whether the rows are of nodes, not of edges."""
        return isinstance(self, NodePartitionPolicy)

    def get_part_size(self) -> int:
        """Rows of this part."""
        return int(self._counts[self.part_id].sum())

    def get_size(self) -> int:
        """Rows of all parts."""
        return int(self._counts.sum())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.policy_str}: {self.get_part_size():,} of {self.get_size():,} rows>"

    @property
    def policy_str(self) -> str:
        """Name of the policy, as DGL's key-value store knows it."""
        raise NotImplementedError

    @property
    def _counts(self) -> np.ndarray:
        """Rows of each part: of the type, or of all types."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NodePartitionPolicy(_PartitionPolicy):
    """How rows of the nodes of a type are spread over the parts, seen from the part of the book."""

    partition_book: RangePartitionBook
    ntype: str = DEFAULT_NTYPE

    def __post_init__(self) -> None:
        self.partition_book.nid2partid([], self.ntype)  # refuses unknown types

    @property
    def policy_str(self) -> str:
        """Name of the policy, as DGL's key-value store knows it."""
        return f"node~{self.ntype}"

    @property
    def type_name(self) -> str:
        """Node type."""
        return self.ntype

    def to_local(self, ids: Any) -> Any:
        """Rows in this part of IDs that it owns."""
        return self.partition_book.nid2localnid(ids, self.part_id, self.ntype)

    def to_partid(self, ids: Any) -> Any:
        """Parts that own IDs."""
        return self.partition_book.nid2partid(ids, self.ntype)

    @property
    def _counts(self) -> np.ndarray:
        book, ntype = self.partition_book.book, self.partition_book._ntype(self.ntype)
        return book.node_counts[:, slice(None) if ntype is None else book.ntypes.index(ntype)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgePartitionPolicy(_PartitionPolicy):
    """How rows of the edges of a type are spread over the parts, seen from the part of the book."""

    partition_book: RangePartitionBook
    etype: EdgeTypeName = DEFAULT_ETYPE

    def __post_init__(self) -> None:
        self.partition_book.eid2partid([], self.etype)  # refuses unknown types

    @property
    def policy_str(self) -> str:
        """Name of the policy, as DGL's key-value store knows it."""
        return f"edge~{':'.join(self.type_name)}"

    @property
    def type_name(self) -> tuple[str, str, str]:
        """Canonical edge type."""
        if self.etype == DEFAULT_ETYPE:
            return DEFAULT_ETYPE
        return self.partition_book.to_canonical_etype(self.etype)

    def to_local(self, ids: Any) -> Any:
        """Rows in this part of IDs that it owns."""
        return self.partition_book.eid2localeid(ids, self.part_id, self.etype)

    def to_partid(self, ids: Any) -> Any:
        """Parts that own IDs."""
        return self.partition_book.eid2partid(ids, self.etype)

    @property
    def _counts(self) -> np.ndarray:
        book, etype = self.partition_book.book, self.partition_book._etype(self.etype)
        return book.edge_counts[:, slice(None) if etype is None else book.etypes.index(etype)]


def part_metadata(num_nodes: np.ndarray, num_edges: np.ndarray) -> list[dict[str, int]]:
    """Describe parts as the books of DGL do, given what each owns."""
    rows = enumerate(zip(num_nodes.tolist(), num_edges.tolist(), strict=True))
    return [{"machine_id": part, "num_nodes": nodes, "num_edges": edges} for part, (nodes, edges) in rows]
