"""The partition book of layouts in which nodes and edges kept their IDs: DGL 0.9 with `reshuffle=False`.

The owner of every node and edge is looked up in `node_map.npy` and `edge_map.npy`, which stay on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.book import IdOutOfRangeError, as_ids, canonical_tuple, check_ids, like
from daskgraphpart.errors import LayoutError
from daskgraphpart.partitioned.part import open_part
from daskgraphpart.partitioned.range_book import part_metadata
from daskgraphpart.partitioned.torch_arrays import torch_module
from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, repr=False)
class BasicPartitionBook:
    """Owners of nodes and edges that kept their IDs, seen from one part, as DGL 0.9's `BasicPartitionBook`.

    IDs are torch tensors or numpy arrays of integers, and results are of the same kind; `partid2nids` and
    `partid2eids` return tensors.
    """

    partid: int  # the part
    num_parts: int
    ntype: str  # the node type
    etype: str  # the canonical edge type
    node_owners: Region  # owner of every node and edge
    edge_owners: Region
    graph: GraphFile  # the part's local graph, which has the IDs of its nodes and edges

    def num_partitions(self) -> int:
        """Number of parts."""
        return self.num_parts

    def metadata(self) -> list[dict[str, int]]:
        """For each part `machine_id`, `num_nodes` and `num_edges`, the numbers of what it owns."""
        owners = (self.node_owners, self.edge_owners)
        return part_metadata(*(np.bincount(region.memmap(), minlength=self.num_parts) for region in owners))

    @property
    def ntypes(self) -> list[str]:
        """The node type."""
        return [self.ntype]

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        """The canonical edge type."""
        return [canonical_tuple(self.etype)]

    def nid2partid(self, nids: Any) -> Any:
        """Part that owns each node, int64."""
        return _owners(self.node_owners, nids, "node")

    def eid2partid(self, eids: Any) -> Any:
        """Part that owns each edge, int64."""
        return _owners(self.edge_owners, eids, "edge")

    def partid2nids(self, partid: int) -> Any:
        """IDs of the nodes a part owns, int64 tensor."""
        return self._owned(self.node_owners, partid)

    def partid2eids(self, partid: int) -> Any:
        """IDs of the edges a part owns, int64 tensor."""
        return self._owned(self.edge_owners, partid)

    def nid2localnid(self, nids: Any, partid: int) -> Any:
        """Local IDs of nodes that this part holds."""
        return self._local(self._local_nodes, nids, partid, "node")

    def eid2localeid(self, eids: Any, partid: int) -> Any:
        """Local IDs of edges that this part holds."""
        return self._local(self._local_edges, eids, partid, "edge")

    def __repr__(self) -> str:
        nodes, edges = self.node_owners.num_rows, self.edge_owners.num_rows
        return f"<BasicPartitionBook of part {self.partid}: {self.num_parts} parts, {nodes:,} nodes, {edges:,} edges>"

    @cached_property
    def _local_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return _sorted(self.graph.node_arrays["_ID"])

    @cached_property
    def _local_edges(self) -> tuple[np.ndarray, np.ndarray]:
        return _sorted(self.graph.edge_arrays["_ID"])

    def _owned(self, region: Region, partid: int) -> Any:
        if not 0 <= partid < self.num_parts:
            raise IdOutOfRangeError("no such part", expected=f"0 to {self.num_parts - 1}", found=partid)
        return torch_module().from_numpy(np.flatnonzero(np.asarray(region.memmap()) == partid))

    def _local(self, known: tuple[np.ndarray, np.ndarray], given: Any, partid: int, what: str) -> Any:
        if partid != self.partid:
            raise IdOutOfRangeError("local IDs are known of this part only", expected=self.partid, found=partid)
        ids, (stored, order) = as_ids(given), known
        places = np.minimum(np.searchsorted(stored, ids), max(len(stored) - 1, 0))
        absent = ids[stored[places] != ids] if len(stored) else ids
        if absent.size:
            raise IdOutOfRangeError(f"{what} is not in part {partid}", found=int(absent[0]))
        return like(order[places], given)


def open_kept_ids(config: PartitionConfig, directory: Location, part_id: int) -> tuple[Part, BasicPartitionBook, str]:
    """Open one part of a layout in which IDs were kept: the part, its book, and the name of the graph."""
    if not 0 <= part_id < config.num_parts:
        raise IdOutOfRangeError("no such part", expected=f"0 to {config.num_parts - 1}", found=part_id)
    owners = [open_npy(path) for path in config.id_maps or ()]
    for region in owners:
        if len(region.shape) != 1 or region.dtype.kind not in "iu":
            found = f"{region.dtype} of shape {region.shape}"
            raise LayoutError("not a map of owners", file=region.path, expected="one integer per ID", found=found)
    part = open_part(part_id, config.book, directory, config.parts[part_id], tuple)
    types = config.book.ntypes[0], config.book.etypes[0]
    book = BasicPartitionBook(part_id, config.num_parts, *types, owners[0], owners[1], part.graph)
    return part, book, config.graph_name


def _owners(region: Region, given: Any, what: str) -> Any:
    ids = as_ids(given)
    check_ids(ids, region.num_rows, what)
    return like(region.take(ids).astype(np.int64, copy=False), given)


def _sorted(region: Region) -> tuple[np.ndarray, np.ndarray]:
    ids = region.read()
    order = np.argsort(ids, kind="stable")
    return ids[order], order
