"""The partition book: which new IDs belong to which part and type, and all arithmetic on IDs.

New homogeneous IDs run part by part, and within a part type by type, so each lookup is a search in sorted range ends.
Follows `dgl.distributed.graph_partition_book.RangePartitionBook` (DGL 2.1), but IDs out of range are errors. Takes and
returns numpy arrays or torch tensors, without importing torch.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError
from daskgraphpart.schema import BFLOAT16, DEFAULT_ETYPE, DEFAULT_NTYPE
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EdgeTypeName: TypeAlias = str | tuple[str, str, str]
"""An edge type: canonical, as a tuple or as ``src:rel:dst``, or a relation that no two edge types share."""


@dataclass(frozen=True, slots=True, eq=False)
class IdRanges:
    """Ranges of new IDs of nodes, or of edges: homogeneous IDs, or type-wise if a type is given."""

    what: str  # "node" or "edge"
    names: tuple[str, ...]  # types in ID order
    ranges: np.ndarray  # int64 (parts, types, 2): half-open, of new homogeneous IDs

    @property
    def counts(self) -> np.ndarray:
        """Number of IDs of each type that each part owns, int64 (parts, types)."""
        counts: np.ndarray = self.ranges[..., 1] - self.ranges[..., 0]
        return counts

    def part_range(self, part_id: int, name: str | None = None) -> tuple[int, int]:
        """Half-open range of IDs that a part owns."""
        if not 0 <= part_id < len(self.ranges):
            raise IdOutOfRangeError("no such part", expected=f"0 to {len(self.ranges) - 1}", found=part_id)
        if name is None and self.names:  # there may be tens of thousands of parts
            first, *_, last = self.ranges[part_id].reshape(-1).tolist()
            return first, last
        before = self._before(name)
        return int(before[part_id]), int(before[part_id + 1])

    def part_of(self, given: Any, name: str | None = None) -> Any:
        """Owner of each ID, int64."""
        ids, before = as_ids(given), self._before(name)
        check_ids(ids, int(before[-1]), self.what)
        return like(np.searchsorted(before[1:], ids, side="right"), given)

    def local(self, given: Any, part_id: int, name: str | None = None) -> Any:
        """Local IDs in the owning part."""
        start, stop = self.part_range(part_id, name)
        local = as_ids(given) - start
        check_ids(local, stop - start, f"part {part_id} does not own it; local")
        return like(local, given)

    def per_type(self, given: Any) -> tuple[Any, Any]:
        """Types and type-wise IDs, both int64, of homogeneous IDs."""
        ids, num_types, ends = as_ids(given), len(self.names), self.ranges[:, :, 1].reshape(-1)
        check_ids(ids, int(ends[-1]) if ends.size else 0, self.what)
        if num_types == 1:  # homogeneous: the IDs are the same
            return like(np.zeros(ids.shape, np.int64), given), like(ids.astype(np.int64), given)
        number = np.searchsorted(ends, ids, side="right")  # of the range, part by part; empty ranges hold none
        shifts = np.cumsum(self.counts, axis=0) - self.counts - self.ranges[:, :, 0]
        types = np.tile(np.arange(num_types), len(self.ranges))
        return like(types[number], given), like(ids + shifts.reshape(-1)[number], given)

    def homogeneous(self, given: Any, name: str) -> Any:
        """Homogeneous IDs from type-wise IDs."""
        ids, before = as_ids(given), self._before(name)
        check_ids(ids, int(before[-1]), self.what)
        part = np.searchsorted(before[1:], ids, side="right")
        return like(ids + (self.ranges[:, self.names.index(name), 0] - before[:-1])[part], given)

    def _before(self, name: str | None) -> np.ndarray:
        """IDs in all earlier parts, then the total."""
        counts = self.counts.sum(axis=1) if name is None else self.counts[:, type_id(self.names, name, self.what)]
        before: np.ndarray = np.append(0, np.cumsum(counts))
        return before


class BookMethods:
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
        name, known = etype if isinstance(etype, str) else ":".join(etype), self.edges.names
        found = [name] if name in known else [of for of in known if of.split(":")[1] == name]
        if len(found) != 1:
            what = "ambiguous relation" if found else "no such edge type"
            raise IdOutOfRangeError(what, expected=f"one of {', '.join(found or known)}", found=name)
        return found[0]

    def known_etype(self, etype: EdgeTypeName | None) -> str | None:
        """Canonical name of an edge type, or None if IDs are homogeneous."""
        is_default = etype in (None, DEFAULT_ETYPE, canonical_tuple(DEFAULT_ETYPE), "_E")
        return None if is_default or etype is None else self.canonical_etype(etype)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartitionBook(BookMethods):
    """Ranges of new IDs of every part and type."""

    ntypes: tuple[str, ...]  # node types and canonical edge types, in ID order
    etypes: tuple[str, ...]
    node_ranges: np.ndarray  # int64 (parts, types, 2): half-open ranges of new homogeneous IDs
    edge_ranges: np.ndarray

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
        return self.nodes.counts

    @property
    def edge_counts(self) -> np.ndarray:
        """Number of edges of each type that each part owns, int64 (parts, types)."""
        return self.edges.counts

    def part_range(self, part_id: int, kind: str) -> tuple[int, int]:
        """Half-open range of type-wise IDs that a part owns, for a node type or canonical edge type."""
        return (self.nodes if kind in self.ntypes else self.edges).part_range(part_id, kind)

    def __repr__(self) -> str:
        counts = [(int(of.counts.sum()), of.what) for of in (self.nodes, self.edges)]
        return f"<PartitionBook: {', '.join(format_number(*of) for of in ((self.num_parts, 'part'), *counts))}>"


def canonical_tuple(etype: str) -> tuple[str, str, str]:
    """Split ``src:rel:dst`` into DGL's tuple."""
    src, rel, dst = etype.split(":")
    return src, rel, dst


def as_ids(ids: Any) -> np.ndarray:
    """Read IDs from integers, a numpy array or a torch tensor (sharing its memory)."""
    array: np.ndarray = ids.detach().cpu().numpy() if is_tensor(ids) else np.asarray(ids)
    if array.dtype.kind not in "iu" and array.size:
        raise IdOutOfRangeError("not an ID", expected="whole numbers", found=f"an array of {array.dtype.name}")
    # unsigned and signed IDs would add up to floats
    return array.astype(np.int64) if array.dtype.kind != "i" else array


def is_tensor(value: Any) -> bool:
    """Whether a value is a torch tensor; does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_tensor(array: np.ndarray) -> Any:
    """Return a tensor that shares an array's memory; bfloat16 goes as bits."""
    torch: Any = sys.modules["torch"]
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_array(tensor: Any) -> np.ndarray:
    """Return an array that shares a tensor's memory."""
    torch, tensor = sys.modules["torch"], tensor.detach().cpu()
    is_bfloat16 = tensor.dtype == torch.bfloat16
    array: np.ndarray = tensor.view(torch.int16).numpy().view(BFLOAT16) if is_bfloat16 else tensor.numpy()
    return array


def like(result: np.ndarray, given: Any) -> Any:
    """Return a result in the form of what was given: a tensor, a number, or a numpy array."""
    if is_tensor(given):
        return to_tensor(result)
    return result.item() if isinstance(given, (int, np.integer)) and np.ndim(result) == 0 else result


def check_ids(ids: np.ndarray, total: int, what: str) -> None:
    """Check that IDs are in ``[0, total)``."""
    if ids.size and not (ids.min() >= 0 and ids.max() < total):
        first = ids.reshape(-1)[np.flatnonzero((ids < 0) | (ids >= total))[0]]
        raise IdOutOfRangeError(f"{what} ID out of range", expected=f"[0, {total:,})", found=int(first))


def places_by_part(parts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Group an array of parts: each part, int64 (ids,), with its positions, ascending."""
    order = np.argsort(parts, kind="stable")
    found, first = np.unique(parts[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, first[1:]), strict=False)


def type_id(names: tuple[str, ...], name: str, what: str) -> int:
    """Return the ID of a type."""
    if name not in names:
        raise IdOutOfRangeError(f"no such {what} type", expected=f"one of {', '.join(names)}", found=name)
    return names.index(name)


def _ntype(ntype: str | None) -> str | None:
    """Node type, or None for homogeneous IDs, where DGL names its default type."""
    return None if ntype == DEFAULT_NTYPE else ntype


def _ranges(counts: np.ndarray) -> np.ndarray:
    ends = np.cumsum(np.asarray(counts, np.int64).reshape(-1)).reshape(counts.shape)
    return np.stack([ends - counts, ends], axis=-1)
