"""State an option once, as a field, for the command line, help and checks.

`tests/architecture/signatures.py` writes it into the signatures of public functions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, field, fields
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar

from daskgraphpart.errors import OptionError, check_choice, choose_from, option_name

T = TypeVar("T")
_KINDS: Mapping[type, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
}


def option(
    default: Any,
    meaning: str,
    *,
    kind: type | None = None,
    choices: Iterable[str] = (),
    minimum: int | None = None,
    values: str | None = None,
    common: bool = False,
    is_open: bool = False,
    given: str | None = None,
    hint: str | None = None,
    members: Sequence[str] = (),
) -> Any:
    """Return a field with its default, meaning and limits; `--help` shows the first sentence of common ones.

    `kind` is int, float, bool, tuple (of words) or str; default: that of a number or truth value that is the default,
    else str. `choices` lists all values; if `values` names further ones, as in help (``"auto|metis|DIR"``), it lists
    some. An option given once per value has the default ``()``. An open option, if not given, is decided by the job.
    One whose `values` are in brackets needs none on the command line, which is "". `given` is the type that functions
    take, if different. `hint` says what to do about a value that is none of the choices. `members` are other options of
    the class that functions take in one mapping, which is this option; what is left in it is of packages of others.
    """
    limits = {"choices": choices, "min": minimum, "values": values, "hint": hint}
    if kind is None:
        kind = type(default) if type(default) in _KINDS else str
    of = {"kind": kind, "meaning": meaning, "common": common, "is_open": is_open, "given": given, "members": members}
    return field(default=default, metadata={**limits, **of})


def stated_options(kind: Any) -> Mapping[str, Field[Any]]:
    """A class's fields that are options, by name."""
    return _stated(kind if isinstance(kind, type) else type(kind))


@cache
def _stated(kind: Any) -> Mapping[str, Field[Any]]:
    return {stated.name: stated for stated in fields(kind) if "meaning" in stated.metadata}


def chosen(kind: type[T], keywords: Mapping[str, Any]) -> T:
    """Make an options object from the keywords that belong to it."""
    return kind(**{name: keywords[name] for name in stated_options(kind) if name in keywords})


def check_options(options: Any) -> None:
    """Check types, choices and minimums; a tuple, or text such as ``"coo,csc"``, may name each choice once."""
    for name, stated in stated_options(options).items():
        value, kind = getattr(options, name), stated.metadata["kind"]
        if value is not stated.default or kind is tuple:
            place = option_name(name)
            value = _checked(value, place, *_KINDS[kind]) if kind in _KINDS else value
            value = words_of(value) if kind is tuple else value
            object.__setattr__(options, name, value)
            _check_limits(value, place, name.replace("_", " "), stated)


def _check_limits(value: Any, place: str, what: str, stated: Field[Any]) -> None:
    limits, choices = stated.metadata, stated.metadata["choices"]
    if choices and isinstance(value, tuple):
        for word in value:
            check_choice(what, place, word, choices, limits["hint"])
        if not value:
            raise OptionError(f"{place} is empty", place=place, hint=choose_from(choices))
        if len(set(value)) != len(value):
            raise OptionError(f"{place} names a choice twice", place=place, found=",".join(value), hint="remove one")
    elif choices and not limits["values"] and value != stated.default:
        check_choice(what, place, value, choices)
    if limits["min"] is not None and value is not None and value < limits["min"]:
        hint = f"use {limits['min']} or more"
        raise OptionError(f"{place} {value} is too small", place=place, hint=hint)


def take_members(options: Any, name: str, others: Iterable[str] | None = None) -> None:
    """Set the options in a mapping, or in texts NAME=VALUE; leave those of other packages, of these names if given."""
    stated = stated_options(options)
    given, members = getattr(options, name) or {}, stated[name].metadata["members"]
    given = by_name(given, option_name(name)) if isinstance(given, tuple) else given
    if not isinstance(given, Mapping):
        raise OptionError("not options by name", option=name, expected="a mapping", found=repr(given))
    for member in given:
        if member in members:
            object.__setattr__(options, member, from_text(given[member], stated[member].metadata["kind"]))
        elif others is not None and member not in others:
            raise OptionError(f"no option {member!r}", option=name, hint=choose_from([*members, *others], member))
    object.__setattr__(options, name, {other: given[other] for other in given if other not in members} or None)


def from_text(value: Any, kind: type) -> Any:
    """Return the number or truth value that a text is, of the command line; anything else as it is."""
    with suppress(ValueError):
        return json.loads(value) if kind in _KINDS and isinstance(value, str) else value
    return value


def _checked(value: Any, place: str, kind: type, expected: str) -> Any:
    """Return a scalar of a kind, numpy's as Python's; a truth value is no number."""
    value = value.item() if getattr(value, "shape", None) == () else value
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise OptionError(f"not {expected}", place=place, found=repr(value))
    return value


def words_of(value: Any) -> tuple[str, ...]:
    """Split words at commas, unless they are given one by one."""
    words = value.split(",") if isinstance(value, str) and value else value or ()
    if not isinstance(words, Iterable):
        raise OptionError("these are not names", expected="text, or a list", found=repr(value))
    return tuple(str(word).strip() for word in words)


def by_name(given: Mapping[str, Any] | Sequence[str], place: str) -> dict[str, str]:
    """Turn texts ``[NAME=]VALUE`` into a mapping; the name may be empty."""
    texts = (given,) if isinstance(given, str) else given
    pairs = given.items() if isinstance(given, Mapping) else [text.rpartition("=")[::2] for text in texts]
    values = {name: str(value) for name, value in pairs}
    if len(values) < len(pairs):
        raise OptionError(f"{place} is given twice for the same", place=place, found=" ".join(texts), hint="remove one")
    return values
