"""Read untrusted JSON: an object without repeated keys, of bounded size and depth.

NaN and Infinity, which Python accepts, are floats, and refused under their keys where integers are expected.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections import Counter
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
MAX_NBYTES = 1 << 28

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 3, 8, 4, 80, 80, 40


def read_json_object(path: Location, error: type[GraphPartError]) -> dict[str, Any]:
    """Read a file with one JSON object."""
    if not is_file(path):  # opening a pipe would block forever
        raise error("no such file", file=path)
    if file_size(path) > MAX_NBYTES:
        raise error("too large to be read as JSON", file=path, expected=f"at most {MAX_NBYTES:,} bytes")
    with attach_path_to_error(path):
        content = read_file(path)
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=_unique_keys)
    except RecursionError:
        raise error("not valid JSON: nested too deeply", file=path, hint="is it the right file?") from None
    except ValueError as fault:
        raise error("not valid JSON", file=path, found=str(fault)) from fault
    if not isinstance(value, dict):
        raise error("not a JSON object", file=path, found=type(value).__name__)
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object, refusing repeated keys, of which Python keeps the last."""
    content = dict(pairs)
    if len(content) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"key {shown(key)} is given twice")
    return content


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
    """Convert a JSON value to a type, such as a `msgspec.Struct` or ``list[int]``."""
    try:
        return msgspec.convert(content, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as fault:
        text, _, path = str(fault).partition(" - at `$")
        path = path.rstrip("`")
        missing = _MISSING.search(text)
        value = None if missing else shown(_value_at(content, path))
        path += f".{missing[1]}" if missing else ""
        wanted = "this key" if missing else text.removeprefix("Expected ").partition(", got ")[0].replace("`", "")
        place = (place + path).removeprefix(".")
        raise error(what, file=file, place=place or None, expected=expected or wanted, found=value, hint=hint) from None


def _value_at(content: Any, path: str) -> Any:
    """Follow a msgspec path, such as ``.format.name[2]``."""
    for key, index in _STEP.findall(path):
        content = content[int(index)] if index else content[key]
    return content


def shown(value: Any) -> str:
    """Return a value as Python writes it, shortened for messages."""
    return _SHORT.repr(value)
