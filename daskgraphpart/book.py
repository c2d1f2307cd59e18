"""The partition book: which new IDs belong to which part and type, and all arithmetic on IDs.

New homogeneous IDs run part by part, and inside a part type by type, so everything is a search in sorted range ends.
Semantics of `dgl.distributed.graph_partition_book.RangePartitionBook` (DGL 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import GraphPartError

if TYPE_CHECKING:
    from collections.abc import Sequence


class IdOutOfRangeError(GraphPartError, IndexError):
    """An ID is not one of the graph's."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionBook:
    """Ranges of new IDs of every part and type.

    Parameters
    ----------
    ntypes, etypes : tuple of str
        Node types and canonical edge types, in ID order.
    node_ranges, edge_ranges : int64 array (parts, types, 2)
        Half-open ranges of new homogeneous IDs.
    """

    ntypes: tuple[str, ...]
    etypes: tuple[str, ...]
    node_ranges: np.ndarray
    edge_ranges: np.ndarray

    @classmethod
    def from_counts(
        cls, ntypes: Sequence[str], etypes: Sequence[str], node_counts: np.ndarray, edge_counts: np.ndarray
    ) -> PartitionBook:
        """Make the book of a partition from what each part owns.

        Parameters
        ----------
        ntypes, etypes : sequence of str
            Types in ID order.
        node_counts, edge_counts : int64 array (parts, types)
            Nodes and edges that each part owns.
        """
        return cls(tuple(ntypes), tuple(etypes), _ranges(node_counts), _ranges(edge_counts))

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return int(self.node_ranges.shape[0])

    def nid2partid(self, nids: np.ndarray, ntype: str | None = None) -> np.ndarray:
        """Part that owns each node, int64; IDs are homogeneous, or type-wise if a node type is given."""
        ids = np.asarray(nids) if ntype is None else self.map_to_homo_nid(nids, ntype)
        return _part_of(self.node_ranges, ids, "node")

    def eid2partid(self, eids: np.ndarray, etype: str | None = None) -> np.ndarray:
        """Part that owns each edge, int64; IDs are homogeneous, or type-wise if an edge type is given."""
        ids = np.asarray(eids) if etype is None else self.map_to_homo_eid(eids, etype)
        return _part_of(self.edge_ranges, ids, "edge")

    def partid2nids(self, part_id: int, ntype: str | None = None) -> np.ndarray:
        """IDs of the nodes a part owns: homogeneous, or type-wise if a node type is given."""
        return _ids_of_part(self.node_ranges, part_id, _type_id(self.ntypes, ntype, "node"))

    def partid2eids(self, part_id: int, etype: str | None = None) -> np.ndarray:
        """IDs of the edges a part owns: homogeneous, or type-wise if an edge type is given."""
        return _ids_of_part(self.edge_ranges, part_id, _type_id(self.etypes, etype, "edge"))

    def nid2localnid(self, nids: np.ndarray, part_id: int, ntype: str | None = None) -> np.ndarray:
        """Local IDs of nodes in the part that owns them; with a node type, counted within it."""
        return _local_ids(self.node_ranges, np.asarray(nids), part_id, _type_id(self.ntypes, ntype, "node"))

    def eid2localeid(self, eids: np.ndarray, part_id: int, etype: str | None = None) -> np.ndarray:
        """Local IDs of edges in the part that owns them; with an edge type, counted within it."""
        return _local_ids(self.edge_ranges, np.asarray(eids), part_id, _type_id(self.etypes, etype, "edge"))

    def map_to_per_ntype(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Node type and type-wise ID of homogeneous node IDs, both int64."""
        return _per_type(self.node_ranges, np.asarray(ids), "node")

    def map_to_per_etype(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Edge type and type-wise ID of homogeneous edge IDs, both int64."""
        return _per_type(self.edge_ranges, np.asarray(ids), "edge")

    def map_to_homo_nid(self, ids: np.ndarray, ntype: str) -> np.ndarray:
        """Homogeneous IDs of type-wise node IDs."""
        return _homogeneous(self.node_ranges, np.asarray(ids), _type_id(self.ntypes, ntype, "node") or 0, "node")

    def map_to_homo_eid(self, ids: np.ndarray, etype: str) -> np.ndarray:
        """Homogeneous IDs of type-wise edge IDs."""
        return _homogeneous(self.edge_ranges, np.asarray(ids), _type_id(self.etypes, etype, "edge") or 0, "edge")


def _ranges(counts: np.ndarray) -> np.ndarray:
    ends = np.cumsum(np.asarray(counts, np.int64).reshape(-1)).reshape(counts.shape)
    return np.stack([ends - counts, ends], axis=-1)


def _type_id(names: tuple[str, ...], name: str | None, what: str) -> int | None:
    if name is None:
        return None
    if name not in names:
        raise IdOutOfRangeError(f"no such {what} type", expected=f"one of {', '.join(names)}", found=name)
    return names.index(name)


def _check(ids: np.ndarray, total: int, what: str) -> None:
    bad = np.flatnonzero((ids < 0) | (ids >= total))
    if bad.size:
        raise IdOutOfRangeError(
            f"{what} ID out of range", expected=f"[0, {total:,})", found=int(ids.reshape(-1)[bad[0]])
        )


def _range_of(ranges: np.ndarray, ids: np.ndarray, what: str) -> np.ndarray:
    """Number of the range (part-major) that holds each homogeneous ID; empty ranges hold none."""
    ends = ranges[:, :, 1].reshape(-1)
    _check(ids, int(ends[-1]) if ends.size else 0, what)
    number: np.ndarray = np.searchsorted(ends, ids, side="right")
    return number


def _part_of(ranges: np.ndarray, ids: np.ndarray, what: str) -> np.ndarray:
    parts: np.ndarray = _range_of(ranges, ids, what) // max(1, ranges.shape[1])
    return parts


def _ids_of_part(ranges: np.ndarray, part_id: int, type_id: int | None) -> np.ndarray:
    if type_id is None:
        return np.arange(ranges[part_id, 0, 0], ranges[part_id, -1, 1]) if ranges.shape[1] else np.arange(0)
    before = _rows_before(ranges, type_id)
    return np.arange(before[part_id], before[part_id + 1])


def _rows_before(ranges: np.ndarray, type_id: int) -> np.ndarray:
    """Rows of a type in all earlier parts, with the total at the end."""
    lengths = ranges[:, type_id, 1] - ranges[:, type_id, 0]
    rows: np.ndarray = np.concatenate([[0], np.cumsum(lengths)])
    return rows


def _local_ids(ranges: np.ndarray, ids: np.ndarray, part_id: int, type_id: int | None) -> np.ndarray:
    local: np.ndarray
    if type_id is None:
        local, length = ids - ranges[part_id, 0, 0], int(ranges[part_id, -1, 1] - ranges[part_id, 0, 0])
    else:
        before = _rows_before(ranges, type_id)
        local, length = ids - before[part_id], int(before[part_id + 1] - before[part_id])
    _check(local, length, f"part {part_id} does not own this; local")
    return local


def _per_type(ranges: np.ndarray, ids: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    number = _range_of(ranges, ids, what)
    num_types = max(1, ranges.shape[1])
    shifts = np.stack([_rows_before(ranges, t)[:-1] - ranges[:, t, 0] for t in range(ranges.shape[1])], axis=1)
    return number % num_types, ids + shifts.reshape(-1)[number]


def _homogeneous(ranges: np.ndarray, ids: np.ndarray, type_id: int, what: str) -> np.ndarray:
    before = _rows_before(ranges, type_id)
    _check(ids, int(before[-1]), what)
    part = np.searchsorted(before[1:], ids, side="right")
    homogeneous: np.ndarray = ids - before[part] + ranges[part, type_id, 0]
    return homogeneous
