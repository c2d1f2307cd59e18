"""Read JSON that somebody else wrote: an object without repeated keys, of bounded size and depth.

Python's own reader keeps the last of repeated keys, and ends in a `RecursionError` when values are nested deeply. NaN
and Infinity, which it takes too, are floats, and refused under their keys where a whole number is needed.
"""

from __future__ import annotations

import json
import re
import reprlib
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import file_size, is_file, read_file

T = TypeVar("T")

if TYPE_CHECKING:
    from daskgraphpart.errors import GraphPartError
    from daskgraphpart.storage.paths import Location

_MISSING = re.compile(r"missing required field `([^`]*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
MOST_BYTES = 1 << 28
MOST_LEVELS = 100

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 3, 8, 4, 80, 80, 40


class _RefusedError(ValueError):
    """A repeated key; the message says which."""


def read_json_object(path: Location, error: type[GraphPartError]) -> dict[str, Any]:
    """Read a file that holds one JSON object."""
    size = file_size(path)
    if not is_file(path):  # opening a pipe would wait for ever
        raise error("not a regular file", file=str(path))
    if size > MOST_BYTES:
        raise error(
            "too large to be read as JSON", file=str(path), expected=f"at most {MOST_BYTES:,} bytes", found=f"{size:,}"
        )
    with attach_path_to_error(path):
        content = read_file(path)
    return parse_json_object(content, str(path), error)


def parse_json_object(content: bytes, file: str, error: type[GraphPartError]) -> dict[str, Any]:
    """Parse one JSON object, the content of a file."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as fault:
        hint = "save it as UTF-8 without a byte-order mark"
        raise error("not UTF-8 text", file=file, found=str(fault), hint=hint) from fault
    if text.startswith("\ufeff"):
        raise error("not valid JSON", file=file, found="a byte-order mark", hint="save it as UTF-8 without one")
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
        too_deep = _levels(value) > MOST_LEVELS
    except _RefusedError as fault:
        raise error(str(fault), file=file, hint="keep one") from None
    except ValueError as fault:
        raise error("not valid JSON", file=file, found=str(fault)) from fault
    except RecursionError:
        too_deep = True
    if too_deep:
        raise error(
            "not valid JSON: nested too deeply",
            file=file,
            expected=f"at most {MOST_LEVELS} levels",
            hint="is it the right file?",
        )
    if not isinstance(value, dict):
        raise error("not a JSON object", file=file, found=type(value).__name__)
    return value


def convert_json(
    content: Any,
    kind: type[T],
    error: type[GraphPartError],
    what: str,
    *,
    file: str | None = None,
    place: str = "",
    expected: str | None = None,
    hint: str | None = None,
) -> T:
    """Convert a value out of JSON to a type, such as a `msgspec.Struct` or ``list[int]``."""
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as fault:
        text, _, path = str(fault).partition(" - at `$")
        path = path.rstrip("`")
        missing = _MISSING.search(text)
        found = None if missing else shown(_value_at(content, path))
        path += f".{missing[1]}" if missing else ""
        wanted = "this key" if missing else text.removeprefix("Expected ").partition(", got ")[0].replace("`", "")
        place = (place + path).removeprefix(".")
        raise error(what, file=file, place=place or None, expected=expected or wanted, found=found, hint=hint) from None


def _value_at(content: Any, path: str) -> Any:
    """Follow a path of msgspec's, such as ``.format.name[2]``."""
    for key, index in _STEP.findall(path):
        content = content[int(index)] if index else content[key]
    return content


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
