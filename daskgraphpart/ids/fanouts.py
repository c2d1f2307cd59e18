"""Read how many neighbours to sample at each hop, for every edge type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError, OptionError
from daskgraphpart.ids.book import canonical_etype
from daskgraphpart.keywords import plain_number

MOST_NEIGHBOURS = 2**31 - 1
"""Fan-outs up to here cannot overflow when they are added up."""


def read_fanouts(given: Any, etypes: Sequence[str], place: str = "num_neighbors") -> np.ndarray:
    """Read numbers of neighbours: one per hop, or such a list per edge type; int64 (hops, edge types)."""
    by_type = dict.fromkeys(etypes, given)
    if hasattr(given, "items"):
        by_type = {resolve_type(etype, partial(canonical_etype, etypes), place): of for etype, of in given.items()}
        if len(by_type) < len(given):
            raise OptionError("an edge type is named twice", place=place, found=", ".join(map(str, given)))
    if missing := [etype for etype in etypes if etype not in by_type]:
        hint = "give a list of zeros to leave out a type"
        raise OptionError("edge types without a number", place=place, found=", ".join(missing), hint=hint)
    lengths = {etype: len(of) if hasattr(of, "__len__") else 0 for etype, of in by_type.items()}
    if len(set(lengths.values())) != 1 or not min(lengths.values()):
        expected = "a list with a number for each hop, as long for every edge type"
        shown = given if not hasattr(given, "items") else "; ".join(f"{etype}: {of}" for etype, of in by_type.items())
        raise OptionError("wrong number of hops", place=place, expected=expected, found=shown)
    for etype, of in by_type.items():
        for number in of:
            is_whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
            if not is_whole or not -1 <= number <= MOST_NEIGHBOURS:
                expected = f"a whole number up to {MOST_NEIGHBOURS:,}, or -1 for all neighbours"
                raise OptionError(
                    "not a number of neighbours", place=f"{place}, {etype}", expected=expected, found=number
                )
    return np.array([[by_type[etype][hop] for etype in etypes] for hop in range(lengths[etypes[0]])], np.int64)


def plain_fanouts(given: Any) -> Any:
    """Turn arrays and numbers of numpy into tuples of Python's."""
    if hasattr(given, "items"):
        return {etype: plain_fanouts(of) for etype, of in given.items()}
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str):
        return given
    return tuple(map(plain_number, given))


def split_fanouts(given: Any) -> Any:
    """Turn texts such as ``"15,10"`` and ``"user:buys:item=5,5"`` into a list, or lists by edge type."""
    texts = [given] if isinstance(given, str) else given
    if not (isinstance(texts, (list, tuple)) and texts and all(isinstance(text, str) for text in texts)):
        return given
    by_type: dict[str, list[int]] = {}
    for text in texts:
        etype, _, numbers = text.rpartition("=")
        try:
            fanouts = [int(number) for number in numbers.split(",")]
        except ValueError as fault:
            what = f"--fanouts {text} is not a list of numbers"
            raise OptionError(what, option="fanouts", hint="use one such as 15,10") from fault
        if etype in by_type:
            raise OptionError(f"--fanouts are given twice for {etype or 'all types'}", option="fanouts")
        by_type[etype] = fanouts
    if by_type.keys() == {""}:
        return by_type[""]
    if "" in by_type:
        hint = "give those of each type, such as --fanouts user:buys:item=15,10"
        raise OptionError("--fanouts are given for one type and for all", option="fanouts", hint=hint)
    return by_type


def texts_of_fanouts(given: Any) -> list[str]:
    """Write fan-outs as the command line takes them."""
    if isinstance(given, str):
        return [given]
    if hasattr(given, "items"):
        return [f"{etype}={','.join(map(str, numbers))}" for etype, numbers in given.items()]
    return [*given] if all(isinstance(text, str) for text in given) else [",".join(map(str, given))]


def resolve_type(given: Any, resolve: Callable[[Any], str], place: str) -> str:
    """Return the name of a type; an error says at which argument it is unknown."""
    try:
        return resolve(given)
    except IdOutOfRangeError as fault:
        raise fault.restated(IdOutOfRangeError, place=place) from None
