"""The partition book of layouts in which nodes and edges kept their IDs: DGL 0.9 with `reshuffle=False`.

The owner of every node and edge is looked up in `node_map.npy` and `edge_map.npy`, which stay on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.book import IdOutOfRangeError, PartitionBook, as_ids, check_ids, like
from daskgraphpart.errors import LayoutError
from daskgraphpart.partitioned.part import open_part
from daskgraphpart.partitioned.range_book import DglBook
from daskgraphpart.partitioned.torch_arrays import torch_module
from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.paths import AnyPath, Location
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, eq=False, repr=False)
class BasicPartitionBook(DglBook):
    """Owners of nodes and edges that kept their IDs, seen from one part, as DGL 0.9's `BasicPartitionBook`.

    IDs are torch tensors or numpy arrays of integers, and results are of the same kind; `partid2nids` and
    `partid2eids` return tensors.
    """

    node_owners: Region  # owner of every node and edge
    edge_owners: Region
    graph: GraphFile  # the part's local graph, which has the IDs of its nodes and edges

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

    @cached_property
    def _local_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return _sorted(self.graph.node_arrays["_ID"])

    @cached_property
    def _local_edges(self) -> tuple[np.ndarray, np.ndarray]:
        return _sorted(self.graph.edge_arrays["_ID"])

    def _owned(self, region: Region, partid: int) -> Any:
        self.book.nodes.part_range(partid)  # refuses parts that are not there
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


def open_kept_ids(config: PartitionConfig, directory: Location, part_id: int) -> tuple[Part, BasicPartitionBook]:
    """Open one part of a layout in which IDs were kept, and its book, of whose ranges only the sizes mean something."""
    owners = [_open_owners(path, config.num_parts) for path in config.id_maps or ()]
    counts = [np.bincount(region.memmap(), minlength=config.num_parts)[:, np.newaxis] for region in owners]
    book = PartitionBook.from_counts(config.book.ntypes, config.book.etypes, counts[0], counts[1])
    part = open_part(part_id, book, directory, config.parts, tuple, _no_data)
    return part, BasicPartitionBook(book, part_id, owners[0], owners[1], part.graph)


def _open_owners(path: AnyPath, num_parts: int) -> Region:
    region = open_npy(path)
    is_list = len(region.shape) == 1 and region.dtype.kind in "iu"
    owners = region.memmap()
    if not is_list or (owners.size and not 0 <= owners.min() <= owners.max() < num_parts):
        expected, found = f"one integer in [0, {num_parts}) per ID", f"{region.dtype} of shape {region.shape}"
        raise LayoutError("not a map of owners", file=region.path, expected=expected, found=found)
    return region


def _owners(region: Region, given: Any, what: str) -> Any:
    ids = as_ids(given)
    check_ids(ids, region.num_rows, what)
    return like(region.take(ids).astype(np.int64, copy=False), given)


def _sorted(region: Region) -> tuple[np.ndarray, np.ndarray]:
    ids = region.read()
    order = np.argsort(ids, kind="stable")
    return ids[order], order


def _no_data(part: Part) -> None:
    raise LayoutError("PyG is given parts with new IDs only", file=part.directory)
