"""Read JSON that somebody else wrote: an object without repeated keys, of bounded size and depth.

Python's own reader keeps the last of repeated keys, and ends in a `RecursionError` when values are nested deeply. NaN
and Infinity, which it takes too, are floats, and refused under their keys where a whole number is needed.
"""

from __future__ import annotations

import json
import reprlib
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import file_size, read_file

T = TypeVar("T")

if TYPE_CHECKING:
    from daskgraphpart.errors import GraphPartError
    from daskgraphpart.storage.paths import Location

MOST_BYTES = 1 << 28
MOST_LEVELS = 100

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 3, 8, 4, 80, 80, 40


class _RefusedError(ValueError):
    """A repeated key; the message says which."""


def read_json_object(path: Location, error: type[GraphPartError]) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises
    ------
    GraphPartError
        Of the type that is given, if it is not UTF-8, not JSON, repeats a key, nests more than `MOST_LEVELS` levels, or
        has more than `MOST_BYTES` bytes.
    """
    size = file_size(path)
    if size > MOST_BYTES:
        raise error(
            "too large to be read as JSON", file=str(path), expected=f"at most {MOST_BYTES:,} bytes", found=f"{size:,}"
        )
    try:
        with attach_path_to_error(path):
            text = read_file(path).decode("utf-8")
    except UnicodeDecodeError as fault:
        hint = "save it as UTF-8 without a byte-order mark"
        raise error("not UTF-8 text", file=str(path), found=str(fault), hint=hint) from fault
    if text.startswith("\ufeff"):
        raise error("not valid JSON", file=str(path), found="a byte-order mark", hint="save it as UTF-8 without one")
    try:
        content = json.loads(text, object_pairs_hook=_unique_keys)
        too_deep = _levels(content) > MOST_LEVELS
    except _RefusedError as fault:
        raise error(str(fault), file=str(path), hint="keep one") from None
    except ValueError as fault:
        raise error("not valid JSON", file=str(path), found=str(fault)) from fault
    except RecursionError:
        too_deep = True
    if too_deep:
        raise error(
            "not valid JSON: nested too deeply",
            file=str(path),
            expected=f"at most {MOST_LEVELS} levels",
            hint="is it the right file?",
        )
    if not isinstance(content, dict):
        raise error("not a JSON object", file=str(path), found=type(content).__name__)
    return content


def convert_json(content: Any, kind: type[T], error: type[GraphPartError], place: str = "", **details: Any) -> T:
    """Convert a value out of JSON to a type of msgspec's: a struct, a list, a tuple.

    Parameters
    ----------
    content : object
        As `read_json_object` gives it, or a value in it.
    kind : type
        What it has to be; integers are not converted from strings or floats.
    error : type of GraphPartError
        What is raised.
    place : str
        Key of the value in the file.
    **details
        For the error, such as ``file``; `expected` and `found` replace msgspec's words.

    Raises
    ------
    GraphPartError
        Of the type that is given, with the key of what is wrong.
    """
    import msgspec

    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as fault:
        what, _, path = str(fault).partition(" - at `$")
        expected, _, found = what.removeprefix("Expected ").replace("`", "").partition(", got ")
        found_value = shown(content) if not path else found or None
        if not what.startswith("Expected "):  # such as: Object missing required field `name`
            details = {"expected": what.removeprefix("Object ").replace("`", ""), **details}
        details = {"expected": expected, "found": found_value, **details}
        where = (place + path.rstrip("`")).removeprefix(".")
        raise error("not what it should be", place=where or None, **details) from None


def shown(value: Any) -> str:
    """Return a value as Python writes it, shortened: for messages, whatever somebody put into the file."""
    return _SHORT.repr(value)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _RefusedError(f"key {shown(twice)} is given twice")
    return content


def _levels(content: Any) -> int:
    """How deeply values are nested, counted no further than is allowed."""
    levels, level = 0, [content]
    while level and levels <= MOST_LEVELS:
        levels += 1
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, (dict, list))
        ]
    return levels
