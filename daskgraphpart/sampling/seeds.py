"""Read users' seeds and fan-outs, and shuffle seeds without an array of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.book import as_ids, check_ids, is_tensor, to_array
from daskgraphpart.errors import IdOutOfRangeError, OptionError
from daskgraphpart.kernels.sample import shuffled

if TYPE_CHECKING:
    from collections.abc import Callable

    from daskgraphpart.book import PartitionBook


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Seeds of batches: type-wise IDs of nodes or edges, or a whole range.

    `ids` are None for all of ``[first, first + count)``. A seed's number, `input_id` in PyG, is its position in a list,
    or else its ID.
    """

    first: int
    count: int
    ids: np.ndarray | None = None
    is_listed: bool = False  # listed by a user, in a meaningful order

    def batch(self, number: int, size: int, key: np.uint64 | None) -> tuple[np.ndarray, np.ndarray]:
        """Positions and IDs of a batch's seeds; shuffled if there is a key."""
        start = number * size
        positions = np.arange(start, min(start + size, self.count))
        if key is not None:
            shuffled(key, start, self.count, positions)
        ids = self.first + positions if self.ids is None else np.asarray(self.ids[positions], np.int64)
        return positions, ids


def read_ids(given: Any, num_rows: int, what: str, place: str) -> Seeds:
    """Read IDs in ``[0, num_rows)`` or a mask of `num_rows`: an array, a tensor, a list, or a dask array."""
    if given is None:
        return Seeds(0, num_rows)
    found: Any = given if is_tensor(given) else np.asarray(given)
    if found.ndim != 1:
        raise OptionError(
            f"not {what}", place=place, expected="one row of IDs, or a mask", found=f"shape {found.shape}"
        )
    if str(found.dtype) in ("bool", "torch.bool"):
        if len(found) != num_rows:
            expected = f"{num_rows:,}, one for each of {what}"
            raise OptionError("wrong length of a mask", place=place, expected=expected, found=f"{len(found):,}")
        ids = np.flatnonzero(to_array(found) if is_tensor(found) else found)
        return Seeds(0, ids.size, ids)
    ids = as_ids(found)
    try:
        check_ids(ids, num_rows, what)
    except IdOutOfRangeError as fault:
        raise fault.restated(IdOutOfRangeError, place=place) from None
    return Seeds(0, ids.size, ids, is_listed=True)


def read_fanouts(given: Any, book: PartitionBook, place: str = "num_neighbors") -> np.ndarray:
    """Read numbers of neighbours: one per hop, or such a list per edge type; int64 (hops, edge types)."""
    by_type = dict.fromkeys(book.etypes, given)
    if hasattr(given, "items"):
        by_type = {_resolved(etype, book.canonical_etype, place): of for etype, of in given.items()}
    if missing := [etype for etype in book.etypes if etype not in by_type]:
        hint = "give a list of zeros to leave out a type"
        raise OptionError("edge types without a number", place=place, found=", ".join(missing), hint=hint)
    lengths = {etype: len(of) if hasattr(of, "__len__") else 0 for etype, of in by_type.items()}
    if len(set(lengths.values())) != 1 or not min(lengths.values()):
        expected = "a list with a number for each hop, as long for every edge type"
        found = given if not hasattr(given, "items") else "; ".join(f"{etype}: {of}" for etype, of in by_type.items())
        raise OptionError("wrong number of hops", place=place, expected=expected, found=found)
    for etype, of in by_type.items():
        for number in of:
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < -1:
                expected = "whole numbers, or -1 for all neighbours"
                raise OptionError(
                    "not a number of neighbours", place=f"{place}, {etype}", expected=expected, found=number
                )
    return np.array(
        [[by_type[etype][hop] for etype in book.etypes] for hop in range(lengths[book.etypes[0]])], np.int64
    )


def split_type(given: Any, names: tuple[str, ...], resolve: Callable[[Any], str], place: str) -> tuple[str, Any]:
    """Split seeds into a type and IDs: ``(type, ids)``, a type, or, with one type, IDs."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and _is_type(given[0]):
        return _resolved(given[0], resolve, place), given[1]
    if _is_type(given):
        return _resolved(given, resolve, place), None
    if len(names) > 1:
        expected = f"a type, or a pair of a type and IDs or a mask; types are {', '.join(names)}"
        raise OptionError("the type of the seeds is missing", place=place, expected=expected, found=_shown(given))
    return names[0], given


def _is_type(given: Any) -> bool:
    return isinstance(given, str) or (
        isinstance(given, tuple) and len(given) == 3 and all(isinstance(name, str) for name in given)
    )


def _resolved(given: Any, resolve: Callable[[Any], str], place: str) -> str:
    try:
        return resolve(given)
    except IdOutOfRangeError as fault:
        raise fault.restated(IdOutOfRangeError, place=place) from None


def _shown(given: Any) -> str:
    return repr(given) if given is None or isinstance(given, (str, tuple)) else type(given).__name__
