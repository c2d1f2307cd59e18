"""Look up new IDs in the ranges of parts and types: owners, types, local IDs.

Each lookup is a search in sorted range ends. Takes and returns numpy arrays or torch tensors, without importing torch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError, choose_from
from daskgraphpart.schema import BFLOAT16


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
        part_id = check_part(part_id, len(self.ranges))
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
        expected = f"0 to {total - 1:,}" if total else f"no ID: there are no {what}s"
        raise IdOutOfRangeError(f"{what} ID {int(first):,} is out of range", expected=expected)


def check_part(part_id: Any, num_parts: int) -> int:
    """Return the number of a part; refuse what is none."""
    is_whole = isinstance(part_id, (int, np.integer)) and not isinstance(part_id, bool)
    if not is_whole or not 0 <= part_id < num_parts:
        raise IdOutOfRangeError(f"there is no part {part_id!r}", hint=f"parts are 0 to {num_parts - 1}")
    return int(part_id)


def places_by_part(parts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Group an array of parts: each part, int64 (ids,), with its positions, ascending."""
    order = np.argsort(parts, kind="stable")
    numbers, first = np.unique(parts[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, first[1:]), strict=False)


def type_id(names: tuple[str, ...], name: str, what: str) -> int:
    """Return the ID of a type."""
    if name not in names:
        raise IdOutOfRangeError(f"there is no {what} type {str(name)!r}", hint=choose_from(names, name))
    return names.index(name)
