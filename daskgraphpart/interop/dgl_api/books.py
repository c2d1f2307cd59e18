"""Partition books with the interface of DGL's, as seen from one part, for torch tensors.

`RangePartitionBook`, `NodePartitionPolicy` and `EdgePartitionPolicy` follow `dgl.distributed.graph_partition_book`
(DGL 1.0 to 2.5), but IDs out of range raise errors. `BasicPartitionBook` serves layouts that keep IDs (DGL 0.9,
`reshuffle=False`): it looks owners up in `node_map.npy` and `edge_map.npy`, which stay on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError, LayoutError
from daskgraphpart.extras import torch_module
from daskgraphpart.ids.book import BookMethods, PartitionBook
from daskgraphpart.ids.ranges import IdRanges, as_ids, check_ids, like
from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph
from daskgraphpart.public import Public
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE, EdgeTypeName, canonical_tuple
from daskgraphpart.storage.region import Region, open_npy

if TYPE_CHECKING:
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.paths import AnyPath, Location


@dataclass(frozen=True, eq=False, repr=False)
class DglBook(Public):
    """What all of DGL's books have in common, as seen from one part."""

    book: PartitionBook  # the ranges
    partid: int  # the part

    def __post_init__(self) -> None:
        self.book.nodes.part_range(self.partid)  # refuses unknown parts

    def num_partitions(self) -> int:
        """Number of parts."""
        return self.book.num_parts

    def metadata(self) -> list[dict[str, int]]:
        """`machine_id`, `num_nodes` and `num_edges` of each part, counting what it owns."""
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
    """New IDs of all parts, as seen from one part.

    IDs are torch tensors or numpy arrays of integers; results have the same type, except that `partid2nids` and
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
        """Relations in edge type order; may repeat."""
        return [rel for _, rel, _ in self.canonical_etypes]

    @property
    def local_ntype_offset(self) -> list[int]:
        """First local ID of the nodes of each type in this part, then the number of nodes."""
        return [0, *np.cumsum(self.book.node_counts[self.partid]).tolist()]

    @property
    def local_etype_offset(self) -> list[int]:
        """First local ID of the edges of each type in this part, then the number of edges."""
        return [0, *np.cumsum(self.book.edge_counts[self.partid]).tolist()]

    def to_canonical_etype(self, etype: EdgeTypeName) -> tuple[str, str, str]:
        """Canonical edge type of a relation or canonical edge type."""
        return canonical_tuple(self.canonical_etype(etype))

    def partid2nids(self, partid: int, ntype: str | None = None) -> Any:
        """IDs of the nodes that a part owns, int64 tensor."""
        return torch_module().from_numpy(self.book.partid2nids(partid, ntype))

    def partid2eids(self, partid: int, etype: EdgeTypeName | None = None) -> Any:
        """IDs of the edges that a part owns, int64 tensor."""
        return torch_module().from_numpy(self.book.partid2eids(partid, etype))


class _PartitionPolicy(Public):
    """How the rows of a type are spread over parts, as seen from one part."""

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
        """Whether rows belong to nodes, not edges."""
        return self._ids.what == "node"

    @property
    def policy_str(self) -> str:
        """Name of the policy in DGL's key-value store."""
        return f"{self._ids.what}~{self.type_name if self.is_node else ':'.join(self.type_name)}"

    def to_local(self, ids: Any) -> Any:
        """Rows in this part, by IDs that it owns."""
        return self._ids.local(ids, self.part_id, self._name)

    def to_partid(self, ids: Any) -> Any:
        """Owners of IDs."""
        return self._ids.part_of(ids, self._name)

    def get_part_size(self) -> int:
        """Number of rows in this part."""
        start, stop = self._ids.part_range(self.part_id, self._name)
        return stop - start

    def get_size(self) -> int:
        """Number of rows in all parts."""
        return self._ids.part_range(len(self._ids.ranges) - 1, self._name)[1]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.policy_str}: {self.get_part_size():,} of {self.get_size():,} rows>"


class NodePartitionPolicy(_PartitionPolicy):
    """How the rows of a node type are spread over parts, as seen from one part."""

    partition_book: RangePartitionBook  # the book of the part
    type_name: str  # the node type

    def __init__(self, partition_book: RangePartitionBook, ntype: str = DEFAULT_NTYPE) -> None:
        name = None if ntype == DEFAULT_NTYPE else ntype
        super().__init__(partition_book, partition_book.nodes, ntype, name)


class EdgePartitionPolicy(_PartitionPolicy):
    """How the rows of an edge type are spread over parts, as seen from one part."""

    partition_book: RangePartitionBook  # the book of the part
    type_name: tuple[str, str, str]  # the canonical edge type

    def __init__(self, partition_book: RangePartitionBook, etype: EdgeTypeName = DEFAULT_ETYPE) -> None:
        name = partition_book.known_etype(etype)
        super().__init__(partition_book, partition_book.edges, canonical_tuple(name or DEFAULT_ETYPE), name)


@dataclass(frozen=True, eq=False, repr=False)
class BasicPartitionBook(DglBook):
    """Owners of nodes and edges that keep their IDs, as in DGL 0.9's `BasicPartitionBook`.

    IDs are torch tensors or numpy arrays of integers; results have the same type, except that `partid2nids` and
    `partid2eids` return tensors.
    """

    node_owners: Region  # owner of every node
    edge_owners: Region  # owner of every edge
    graph: GraphFile  # the local graph, with the IDs of its nodes and edges

    def nid2partid(self, nids: Any) -> Any:
        """Part that owns each node, int64."""
        return _owners(self.node_owners, nids, "node")

    def eid2partid(self, eids: Any) -> Any:
        """Part that owns each edge, int64."""
        return _owners(self.edge_owners, eids, "edge")

    def partid2nids(self, partid: int) -> Any:
        """IDs of the nodes that a part owns, int64 tensor."""
        return self._owned(self.node_owners, partid)

    def partid2eids(self, partid: int) -> Any:
        """IDs of the edges that a part owns, int64 tensor."""
        return self._owned(self.edge_owners, partid)

    def nid2localnid(self, nids: Any, partid: int) -> Any:
        """Local IDs of nodes that this part holds."""
        return self._local(self._local_nodes, nids, partid, "node")

    def eid2localeid(self, eids: Any, partid: int) -> Any:
        """Local IDs of edges that this part holds."""
        return self._local(self._local_edges, eids, partid, "edge")

    @cached_property
    def _local_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return _sorted(self.graph.node_arrays["_ID"])

    @cached_property
    def _local_edges(self) -> tuple[np.ndarray, np.ndarray]:
        return _sorted(self.graph.edge_arrays["_ID"])

    def _owned(self, region: Region, partid: int) -> Any:
        self.book.nodes.part_range(partid)  # refuses unknown parts
        return torch_module().from_numpy(np.flatnonzero(np.asarray(region.memmap()) == partid))

    def _local(self, known: tuple[np.ndarray, np.ndarray], given: Any, partid: int, what: str) -> Any:
        if partid != self.partid:
            raise IdOutOfRangeError("this book knows only its own part's local IDs", expected=self.partid, found=partid)
        ids, (stored, order) = as_ids(given), known
        places = np.minimum(np.searchsorted(stored, ids), max(len(stored) - 1, 0))
        absent = ids[stored[places] != ids] if len(stored) else ids
        if absent.size:
            raise IdOutOfRangeError(f"{what} is not in part {partid}", found=int(absent[0]))
        return like(order[places], given)


def open_kept_ids(config: PartitionConfig, path: Location, part_id: int) -> tuple[Part, BasicPartitionBook]:
    """Open one part that keeps IDs, and its book; only the sizes of the book's ranges have a meaning."""
    owners = [_open_owners(path, config.num_parts) for path in config.id_maps or ()]
    counts = [np.bincount(region.memmap(), minlength=config.num_parts)[:, np.newaxis] for region in owners]
    book = PartitionBook.from_counts(config.book.ntypes, config.book.etypes, counts[0], counts[1])
    book.nodes.part_range(part_id)  # refuses unknown parts
    part = PartitionedGraph(path, replace(config, book=book)).part(part_id)
    return part, BasicPartitionBook(book, part_id, owners[0], owners[1], part.graph)


def _open_owners(path: AnyPath, num_parts: int) -> Region:
    region = open_npy(path)
    is_list = len(region.shape) == 1 and region.dtype.kind in "iu"
    owners = region.memmap()
    if not is_list or (owners.size and not 0 <= owners.min() <= owners.max() < num_parts):
        expected, kind = f"one integer in [0, {num_parts}) per ID", f"{region.dtype} of shape {region.shape}"
        raise LayoutError("not an array of owners", file=region.path, expected=expected, found=kind)
    return region


def _owners(region: Region, given: Any, what: str) -> Any:
    ids = as_ids(given)
    check_ids(ids, region.num_rows, what)
    return like(region.take(ids).astype(np.int64, copy=False), given)


def _sorted(region: Region) -> tuple[np.ndarray, np.ndarray]:
    ids = region.read()
    order = np.argsort(ids, kind="stable")
    return ids[order], order
