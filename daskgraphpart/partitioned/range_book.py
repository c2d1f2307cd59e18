"""The partition book as DGL's code knows it: seen from one part, torch tensors in and out.

`RangePartitionBook`, `NodePartitionPolicy` and `EdgePartitionPolicy` have the methods and meaning of
`dgl.distributed.graph_partition_book` (DGL 1.0 to 2.5); IDs that are out of range are errors instead of wrong answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.book import BookMethods, canonical_tuple
from daskgraphpart.partitioned.torch_arrays import torch_module
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE

if TYPE_CHECKING:
    from daskgraphpart.book import EdgeTypeName, IdRanges, PartitionBook


@dataclass(frozen=True, eq=False, repr=False)
class DglBook:
    """What all books of DGL's tell, seen from one part."""

    book: PartitionBook  # the ranges
    partid: int  # the part

    def __post_init__(self) -> None:
        self.book.nodes.part_range(self.partid)  # refuses parts that are not there

    def num_partitions(self) -> int:
        """Number of parts."""
        return self.book.num_parts

    def metadata(self) -> list[dict[str, int]]:
        """For each part `machine_id`, `num_nodes` and `num_edges`, the numbers of what it owns."""
        counts = (of_kind.counts.sum(axis=1).tolist() for of_kind in (self.book.nodes, self.book.edges))
        rows = enumerate(zip(*counts, strict=True))
        return [{"machine_id": part, "num_nodes": nodes, "num_edges": edges} for part, (nodes, edges) in rows]

    @property
    def ntypes(self) -> list[str]:
        """Node types in ID order."""
        return list(self.book.ntypes)

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        """Canonical edge types in ID order."""
        return [canonical_tuple(etype) for etype in self.book.etypes]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of part {self.partid}: {self.book!r}>"


class RangePartitionBook(DglBook, BookMethods):
    """New IDs of all parts, seen from one of them.

    IDs are torch tensors or numpy arrays of integers, and results are of the same kind; `partid2nids` and
    `partid2eids` return tensors. Without a type, or with DGL's ``"_N"`` and ``("_N", "_E", "_N")``, IDs are
    homogeneous.
    """

    @property
    def nodes(self) -> IdRanges:
        """Ranges of nodes."""
        return self.book.nodes

    @property
    def edges(self) -> IdRanges:
        """Ranges of edges."""
        return self.book.edges

    @property
    def etypes(self) -> list[str]:
        """Relations in the order of the edge types' IDs; not unique in all graphs."""
        return [rel for _, rel, _ in self.canonical_etypes]

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
        return canonical_tuple(self.canonical_etype(etype))

    def partid2nids(self, partid: int, ntype: str | None = None) -> Any:
        """IDs of the nodes a part owns, int64 tensor."""
        return torch_module().from_numpy(self.book.partid2nids(partid, ntype))

    def partid2eids(self, partid: int, etype: EdgeTypeName | None = None) -> Any:
        """IDs of the edges a part owns, int64 tensor."""
        return torch_module().from_numpy(self.book.partid2eids(partid, etype))


class _PartitionPolicy:
    """How rows of a type are spread over the parts, seen from the part of the book."""

    def __init__(self, book: RangePartitionBook, ids: IdRanges, type_name: Any, name: str | None) -> None:
        self.partition_book, self.type_name = book, type_name
        self._ids, self._name = ids, name
        self.to_partid([])  # refuses unknown types

    @property
    def part_id(self) -> int:
        """The part."""
        return self.partition_book.partid

    @property
    def is_node(self) -> bool:
        """Whether the rows are of nodes, not of edges."""
        return self._ids.what == "node"

    @property
    def policy_str(self) -> str:
        """Name of the policy, as DGL's key-value store knows it."""
        return f"{self._ids.what}~{self.type_name if self.is_node else ':'.join(self.type_name)}"

    def to_local(self, ids: Any) -> Any:
        """Rows in this part of IDs that it owns."""
        return self._ids.local(ids, self.part_id, self._name)

    def to_partid(self, ids: Any) -> Any:
        """Parts that own IDs."""
        return self._ids.part_of(ids, self._name)

    def get_part_size(self) -> int:
        """Rows of this part."""
        start, stop = self._ids.part_range(self.part_id, self._name)
        return stop - start

    def get_size(self) -> int:
        """Rows of all parts."""
        return self._ids.part_range(len(self._ids.ranges) - 1, self._name)[1]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.policy_str}: {self.get_part_size():,} of {self.get_size():,} rows>"


class NodePartitionPolicy(_PartitionPolicy):
    """How rows of the nodes of a type are spread over the parts, seen from the part of the book."""

    def __init__(self, partition_book: RangePartitionBook, ntype: str = DEFAULT_NTYPE) -> None:
        name = None if ntype == DEFAULT_NTYPE else ntype
        super().__init__(partition_book, partition_book.nodes, ntype, name)


class EdgePartitionPolicy(_PartitionPolicy):
    """How rows of the edges of a type are spread over the parts, seen from the part of the book."""

    def __init__(self, partition_book: RangePartitionBook, etype: EdgeTypeName = DEFAULT_ETYPE) -> None:
        name = partition_book.known_etype(etype)
        super().__init__(partition_book, partition_book.edges, canonical_tuple(name or DEFAULT_ETYPE), name)
