"""The partition book: which new IDs belong to which part and type, and all arithmetic on IDs.

New homogeneous IDs run part by part, and inside a part type by type, so everything is a search in sorted range ends.
Semantics of `dgl.distributed.graph_partition_book.RangePartitionBook` (DGL 2.1), but IDs out of range are errors.
IDs are numpy arrays or torch tensors, and results are of the same kind; torch is not imported for it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import GraphPartError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class IdOutOfRangeError(GraphPartError, IndexError):
    """An ID is not one of the graph's."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartitionBook:
    """Ranges of new IDs of every part and type."""

    ntypes: tuple[str, ...]  # node types and canonical edge types, in ID order
    etypes: tuple[str, ...]
    node_ranges: np.ndarray  # int64 (parts, types, 2): half-open ranges of new homogeneous IDs
    edge_ranges: np.ndarray

    @classmethod
    def from_counts(
        cls, ntypes: Sequence[str], etypes: Sequence[str], node_counts: np.ndarray, edge_counts: np.ndarray
    ) -> PartitionBook:
        """Make the book of a partition from what each part owns.

        Arrays: `node_counts, edge_counts`: int64 (parts, types).
        """
        return cls(tuple(ntypes), tuple(etypes), _ranges(node_counts), _ranges(edge_counts))

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return int(self.node_ranges.shape[0])

    @property
    def node_counts(self) -> np.ndarray:
        """Nodes that each part owns of each type, int64 (parts, types)."""
        return _lengths(self.node_ranges)

    @property
    def edge_counts(self) -> np.ndarray:
        """Edges that each part owns of each type, int64 (parts, types)."""
        return _lengths(self.edge_ranges)

    def __repr__(self) -> str:
        nodes, edges = (int(ranges.max(initial=0)) for ranges in (self.node_ranges, self.edge_ranges))
        return f"<PartitionBook: {self.num_parts} parts, {nodes:,} nodes, {edges:,} edges>"

    def canonical_etype(self, etype: str | tuple[str, str, str]) -> str:
        """Canonical name of an edge type."""
        name = etype if isinstance(etype, str) else ":".join(etype)
        if name in self.etypes:
            return name
        found = [known for known in self.etypes if known.split(":")[1] == name]
        if len(found) > 1:
            raise IdOutOfRangeError("ambiguous relation", expected=f"one of {', '.join(found)}", found=name)
        if not found:
            raise IdOutOfRangeError("no such edge type", expected=f"one of {', '.join(self.etypes)}", found=name)
        return found[0]

    def nid2partid(self, nids: Any, ntype: str | None = None) -> Any:
        """Part that owns each node, int64; IDs are homogeneous, or type-wise if a node type is given."""
        return _part_of(self.node_ranges, nids, _type_id(self.ntypes, ntype, "node"), "node")

    def eid2partid(self, eids: Any, etype: str | None = None) -> Any:
        """Part that owns each edge, int64; IDs are homogeneous, or type-wise if an edge type is given."""
        return _part_of(self.edge_ranges, eids, _type_id(self.etypes, etype, "edge"), "edge")

    def partid2nids(self, part_id: int, ntype: str | None = None) -> np.ndarray:
        """IDs of the nodes a part owns: homogeneous, or type-wise if a node type is given."""
        return np.arange(*_range_of_part(self.node_ranges, part_id, _type_id(self.ntypes, ntype, "node")))

    def partid2eids(self, part_id: int, etype: str | None = None) -> np.ndarray:
        """IDs of the edges a part owns: homogeneous, or type-wise if an edge type is given."""
        return np.arange(*_range_of_part(self.edge_ranges, part_id, _type_id(self.etypes, etype, "edge")))

    def nid2localnid(self, nids: Any, part_id: int, ntype: str | None = None) -> Any:
        """Local IDs of nodes in the part that owns them; with a node type, counted within it."""
        return _local_ids(self.node_ranges, nids, part_id, _type_id(self.ntypes, ntype, "node"))

    def eid2localeid(self, eids: Any, part_id: int, etype: str | None = None) -> Any:
        """Local IDs of edges in the part that owns them; with an edge type, counted within it."""
        return _local_ids(self.edge_ranges, eids, part_id, _type_id(self.etypes, etype, "edge"))

    def map_to_per_ntype(self, ids: Any) -> tuple[Any, Any]:
        """Node type and type-wise ID of homogeneous node IDs, both int64."""
        return _per_type(self.node_ranges, ids, "node")

    def map_to_per_etype(self, ids: Any) -> tuple[Any, Any]:
        """Edge type and type-wise ID of homogeneous edge IDs, both int64."""
        return _per_type(self.edge_ranges, ids, "edge")

    def map_to_homo_nid(self, ids: Any, ntype: str) -> Any:
        """Homogeneous IDs of type-wise node IDs."""
        return _homogeneous(self.node_ranges, ids, type_id(self.ntypes, ntype, "node"), "node")

    def map_to_homo_eid(self, ids: Any, etype: str) -> Any:
        """Homogeneous IDs of type-wise edge IDs."""
        return _homogeneous(self.edge_ranges, ids, type_id(self.etypes, etype, "edge"), "edge")

    def part_range(self, part_id: int, kind: str) -> tuple[int, int]:
        """Half-open range of type-wise IDs that a part owns of a node type or a canonical edge type."""
        if kind in self.ntypes:
            return _range_of_part(self.node_ranges, part_id, self.ntypes.index(kind))
        return _range_of_part(self.edge_ranges, part_id, _type_id(self.etypes, kind, "edge"))


def canonical_tuple(etype: str) -> tuple[str, str, str]:
    """Split ``src:rel:dst``, as DGL has edge types in Python."""
    src, rel, dst = etype.split(":")
    return src, rel, dst


def as_ids(ids: Any) -> np.ndarray:
    """Read IDs: integers in a numpy array, a torch tensor (which shares its memory) or anything numpy takes."""
    array: np.ndarray = ids.detach().cpu().numpy() if is_tensor(ids) else np.asarray(ids)
    if array.dtype.kind not in "iu" and array.size:
        raise IdOutOfRangeError("not an ID", expected="whole numbers", found=f"an array of {array.dtype.name}")
    # unsigned IDs would turn into floats in sums with signed ones
    return array.astype(np.int64) if array.dtype.kind != "i" else array


def is_tensor(value: Any) -> bool:
    """Whether a value is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def like(result: np.ndarray, given: Any) -> Any:
    """Return a result in the kind of array that was given: torch for torch, numpy otherwise."""
    return sys.modules["torch"].from_numpy(result) if is_tensor(given) else result


def check_ids(ids: np.ndarray, total: int, what: str) -> None:
    """Check that IDs are in ``[0, total)``."""
    if ids.size and not (ids.min() >= 0 and ids.max() < total):
        first = ids.reshape(-1)[np.flatnonzero((ids < 0) | (ids >= total))[0]]
        raise IdOutOfRangeError(f"{what} ID out of range", expected=f"[0, {total:,})", found=int(first))


def places_by_part(parts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each part in an array of parts, int64 (ids,), with the places where it stands, ascending."""
    order = np.argsort(parts, kind="stable")
    found, first = np.unique(parts[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, first[1:]), strict=False)


def type_id(names: tuple[str, ...], name: str, what: str) -> int:
    """Return the number of a type."""
    if name not in names:
        raise IdOutOfRangeError(f"no such {what} type", expected=f"one of {', '.join(names)}", found=name)
    return names.index(name)


def _ranges(counts: np.ndarray) -> np.ndarray:
    ends = np.cumsum(np.asarray(counts, np.int64).reshape(-1)).reshape(counts.shape)
    return np.stack([ends - counts, ends], axis=-1)


def _lengths(ranges: np.ndarray) -> np.ndarray:
    lengths: np.ndarray = ranges[..., 1] - ranges[..., 0]
    return lengths


def _type_id(names: tuple[str, ...], name: str | None, what: str) -> int | None:
    return None if name is None else type_id(names, name, what)


def _part_of(ranges: np.ndarray, given: Any, type_id: int | None, what: str) -> Any:
    ids = as_ids(given)
    if type_id is None:
        ends = ranges[:, -1, 1] if ranges.shape[1] else np.zeros(1, np.int64)
    else:
        ends = _rows_before(ranges, type_id)[1:]
    check_ids(ids, int(ends[-1]), what)
    return like(np.searchsorted(ends, ids, side="right"), given)


def _range_of_part(ranges: np.ndarray, part_id: int, type_id: int | None) -> tuple[int, int]:
    if not 0 <= part_id < len(ranges):
        raise IdOutOfRangeError("no such part", expected=f"0 to {len(ranges) - 1}", found=part_id)
    if type_id is None:
        return (int(ranges[part_id, 0, 0]), int(ranges[part_id, -1, 1])) if ranges.shape[1] else (0, 0)
    before = _rows_before(ranges, type_id)
    return int(before[part_id]), int(before[part_id + 1])


def _rows_before(ranges: np.ndarray, type_id: int) -> np.ndarray:
    """Rows of a type in all earlier parts, with the total at the end."""
    rows: np.ndarray = np.concatenate([[0], np.cumsum(_lengths(ranges)[:, type_id])])
    return rows


def _local_ids(ranges: np.ndarray, given: Any, part_id: int, type_id: int | None) -> Any:
    start, stop = _range_of_part(ranges, part_id, type_id)
    local = as_ids(given) - start
    check_ids(local, stop - start, f"part {part_id} does not own this; local")
    return like(local, given)


def _per_type(ranges: np.ndarray, given: Any, what: str) -> tuple[Any, Any]:
    ids, num_types = as_ids(given), ranges.shape[1]
    ends = ranges[:, :, 1].reshape(-1)
    check_ids(ids, int(ends[-1]) if ends.size else 0, what)
    if num_types == 1:  # the usual homogeneous graph: IDs are what they were
        return like(np.zeros(ids.shape, np.int64), given), like(ids.astype(np.int64), given)
    number = np.searchsorted(ends, ids, side="right")  # of the range, part by part; empty ranges hold none
    shifts = np.stack([_rows_before(ranges, t)[:-1] - ranges[:, t, 0] for t in range(num_types)], axis=1)
    types = np.tile(np.arange(num_types), len(ranges))
    return like(types[number], given), like(ids + shifts.reshape(-1)[number], given)


def _homogeneous(ranges: np.ndarray, given: Any, type_id: int, what: str) -> Any:
    ids, before = as_ids(given), _rows_before(ranges, type_id)
    check_ids(ids, int(before[-1]), what)
    part = np.searchsorted(before[1:], ids, side="right")
    return like(ids + (ranges[:, type_id, 0] - before[:-1])[part], given)
