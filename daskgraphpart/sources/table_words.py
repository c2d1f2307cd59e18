"""Parse the words in which options, and paths in Python, describe files of tables.

::

    edges     = [type "="] file                       a:to:b=follows.csv:from,to     --edges
    nodes     = [type "="] file                       user=users.csv:key             --nodes
    count     = [type "="] (number | path)            user=300k                      --num-nodes
    feature   = [type ":"] name "=" file {"," file}   user:age=users.csv:key:age     --node-data, --edge-data, --mask
              | [type "="] file                       user=users.csv:*               each column is a feature
    file      = path {":" word}
    word      = "header" | "no-header" | "comma" | "tab" | "space" | "semicolon"
              | dtype {":" width}                     raw rows: float32:128
              | columns
    columns   = source "," destination                of edges
              | id                                    of nodes and masks
              | [id ":"] column                       of features of nodes; "*" is all but the ID
              | column                                of features of edges

Give a column by number if it is named like a word or has a colon.
The name of an existing file, pattern or pipe is a path as a whole, with any marks in it.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError
from daskgraphpart.sources.options import DELIMITERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

HEADERS = {"header": True, "no-header": False}
RAW_DTYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip
EACH = "*"
"""Name of the feature that stands for each column of a table of nodes."""
USAGE = {
    "--edges": "FILE:SRC,DST",
    "--nodes": "FILE:COLUMN",
    "--mask": "FILE:COLUMN",
    "--node-data": "FILE:COLUMN or FILE:ID:COLUMN",
    "--edge-data": "FILE:COLUMN",
}
"""Columns that a file may have, by option."""


@dataclass(frozen=True, slots=True)
class FileWords:
    """A path, and what the words after it say; None or empty if nothing."""

    path: str
    header: bool | None = None
    delimiter: str | None = None
    dtype: str = ""
    row_shape: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()


def parse_file(text: str, place: str) -> FileWords:
    """Parse an option's ``FILE:WORD:WORD``; refuse unknown words, and those that exclude each other."""
    path, words = split_words(text)
    found = FileWords(path)
    for word in words:
        found = _with_word(found, word, place, text)
    if place == "--edges":
        ends = tuple(found.columns[0].split(",")) if found.columns else ()
        if len(found.columns) > 1 or (ends and (len(ends) != 2 or "" in ends)):
            raise _meaningless(found.columns[-1], place, text)
        shape = found.row_shape or (2,) if found.dtype else ()
        return replace(found, columns=ends, row_shape=shape)
    if len(found.columns) > 1 + (place == "--node-data"):
        raise _meaningless(found.columns[-1], place, text)
    return found


def _with_word(found: FileWords, word: str, place: str, text: str) -> FileWords:
    if word in RAW_DTYPES:
        changes: dict[str, Any] = {"dtype": word}
    elif found.dtype and not found.columns and word.isdigit() and int(word):
        return replace(found, row_shape=(*found.row_shape, int(word)))
    elif word in HEADERS:
        changes = {"header": HEADERS[word]}
    elif word in DELIMITERS:
        changes = {"delimiter": word}
    elif word:
        return replace(found, columns=(*found.columns, word))
    else:
        raise OptionError(
            "a word is missing after a colon", place=place, expected=USAGE[place], found=text, hint="remove it"
        )
    found = replace(found, **{name: _once(found, name, value, place, text) for name, value in changes.items()})
    if found.dtype and (found.header is not None or found.delimiter):
        what, hint = "raw numbers have no header or delimiter", "leave out one of the words"
        raise OptionError(what, place=place, found=text, hint=hint)
    return found


def _once(found: FileWords, name: str, value: Any, place: str, text: str) -> Any:
    if getattr(found, name) not in (None, ""):
        raise OptionError(f"two words give the {name}", place=place, found=text, hint="leave out one")
    return value


def _meaningless(word: str, place: str, text: str) -> OptionError:
    near = get_close_matches(word, (*HEADERS, *DELIMITERS, *RAW_DTYPES), 1)
    hint = f"did you mean {near[0]}?" if near else "words: header, no-header, comma, tab, space, semicolon, a dtype"
    return OptionError("unrecognised words after a file", place=place, expected=USAGE[place], found=text, hint=hint)


def split_words(text: str) -> tuple[str, list[str]]:
    """Split off the words after a file; an existing file's name may contain a colon."""
    path, words = text, list[str]()
    while ":" in path and not is_there(path):
        path, _, word = path.rpartition(":")
        words.insert(0, word)
    return (path, words) if words and (os.path.exists(path) or glob.has_magic(path) or path == "-") else (text, [])


def is_there(path: str) -> bool:
    """Whether a path or pattern names something."""
    return os.path.exists(path) or bool(glob.glob(path, recursive=True))


def takes_each(given: Any) -> bool:
    """Whether files give each of their columns: ``FILE:*``."""
    files = [given] if isinstance(given, (str, os.PathLike)) else given if isinstance(given, (list, tuple)) else []
    return bool(files) and all(isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(f":{EACH}") for f in files)


def parse_typed(text: str, default: str, place: str) -> tuple[str, str]:
    """Split ``[TYPE=]VALUE``; a file's name may contain ``=``."""
    before, sign, value = text.partition("=")
    is_typed = sign and "/" not in before and not is_there(split_words(text)[0])
    if is_typed and not (before and value):
        what, hint = "nothing before or after =", "write both, or neither"
        raise OptionError(what, place=place, expected="[TYPE=]VALUE", found=text, hint=hint)
    return (before, value) if is_typed else (default, text)


def parse_by_type(given: Iterable[str], default: str, place: str) -> dict[str, list[str]]:
    """Files by type."""
    files: dict[str, list[str]] = {}
    for text in given:
        of_type, path = parse_typed(text, default, place)
        files.setdefault(of_type, []).append(path)
    return files


def parse_features(
    given: Iterable[str], default: str, place: str, ntypes: Collection[str] = ()
) -> dict[str, dict[str, list[str]]]:
    """Files by type and feature; repeat a feature for further files.

    `ntypes` are the node types that may replace a name, if each column is a feature.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for text in given:
        of_type, name, files = _feature(text, default, place, ntypes)
        found.setdefault(of_type, {}).setdefault(name, []).extend(files)
    return found


def _feature(text: str, default: str, place: str, ntypes: Collection[str]) -> tuple[str, str, list[str]]:
    if place == "--node-data" and takes_each(text):
        of_type, file = parse_typed(text, default, place)
        if file == text or of_type in ntypes:
            return of_type, EACH, [file]
    full_name, sign, files = text.partition("=")
    of_type, colon, name = full_name.rpartition(":")
    if not (sign and files and name) or (colon and not of_type):
        what, expected = "no file" if name and not files else "no name", "[TYPE:]NAME=FILE"
        hint = "write NAME=FILE" + (", or TYPE=FILE:* for each column of a table" if place == "--node-data" else "")
        raise OptionError(what, place=place, expected=expected, found=text, hint=hint)
    path, words = split_words(files)
    is_one = is_there(path) and not any("," in word for word in words)  # a file's name may contain a comma
    return of_type or default, name, [files] if is_one else files.split(",")
