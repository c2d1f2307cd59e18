"""Parse the words in which options, and paths in Python, describe files of tables.

::

    edges     = [type "="] file                       a:to:b=follows.csv:from,to     --edges
    nodes     = [type "="] file                       user=users.csv:key             --nodes
    count     = [type "="] (number | path)            user=300k                      --num-nodes
    feature   = [type "/"] name "=" file {"," file}   user/age=users.csv:key:age     --node-data, --edge-data, --mask
              | [type "="] file                       user=users.csv:*               each column is a feature
    split     = [type "="] file                       user=users.csv:key:set         --split
    file      = path {":" word}
    word      = "header" | "no-header" | "comma" | "tab" | "space" | "semicolon" | "colons"
              | dtype {":" width}                     raw rows: float32:128
              | columns
    columns   = source "," destination                of edges
              | id                                    of nodes and masks
              | [id ":"] column                       of features of nodes; "*" is all but the ID
              | column                                of features of edges

In the name of a column, : and / and ~ are written as points, none at the ends: ``since:int`` is ``since.int``.
Give a column by number if it is named like a word.
The name of an existing file, pattern or pipe is a path as a whole, with any marks in it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daskgraphpart.errors import OptionError, did_you_mean
from daskgraphpart.readers.list_files import is_there
from daskgraphpart.readers.tables.read_options import DELIMITERS
from daskgraphpart.schema import plain_name

HEADERS = {"header": True, "no-header": False}
RAW_DTYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip
DECIMALS = {"decimal-comma": "comma", "decimal-point": "point"}
WORDS: Mapping[str, Collection[str]] = {
    "dtype": RAW_DTYPES,
    "header": HEADERS,
    "delimiter": DELIMITERS,
    "decimal": DECIMALS,
}
"""Words after a file, by what they give."""
EVERY_COLUMN = "*"
"""Name of the feature that stands for each column of a table."""
USAGE = {
    "--edges": "FILE:SRC,DST",
    "--nodes": "FILE:COLUMN",
    "--mask": "FILE:COLUMN",
    "--node-data": "FILE:COLUMN or FILE:ID:COLUMN",
    "--edge-data": "FILE:COLUMN",
    "--split": "FILE:COLUMN or FILE:ID:COLUMN",
}
"""Columns that a file may have, by option."""


@dataclass(frozen=True, slots=True)
class FileWords:
    """A path, and what the words after it say; None or empty if nothing."""

    path: str
    header: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    dtype: str = ""
    row_shape: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()


def parse_file(text: str, place: str) -> FileWords:
    """Parse an option's ``FILE:WORD:WORD``; refuse unknown words, and those that exclude each other."""
    path, words = split_words(text)
    said, row_shape, columns = dict[str, Any](), list[int](), list[str]()
    for word in words:
        if not word:
            what = "a word is missing after a colon"
            raise OptionError(
                what, place=place, expected=USAGE[place], found=text, hint="remove it: column :LABEL is written LABEL"
            )
        if "dtype" in said and not columns and word.isdecimal() and int(word):
            row_shape.append(int(word))
            continue
        name = next((name for name, known in WORDS.items() if word in known), None)
        if name is None:
            columns.append(word)
        elif name in said:
            raise OptionError(f"two words give the {name}", place=place, found=text, hint="leave out one")
        else:
            said[name] = HEADERS.get(word, DECIMALS.get(word, word))
    if "dtype" in said and len(said) > 1:
        what, hint = "raw numbers have no header or delimiter", "leave out one of the words"
        raise OptionError(what, place=place, found=text, hint=hint)
    is_unknown = len(columns) > (2 if place in ("--node-data", "--split") else 1)
    if place == "--edges":
        ends = columns[0].split(",") if columns else []
        if is_unknown or (ends and (len(ends) != 2 or "" in ends)):
            raise _meaningless(columns, place, text)
        columns, row_shape = ends, row_shape or ([2] if "dtype" in said else [])
    elif is_unknown:
        raise _meaningless(columns, place, text)
    return FileWords(path, row_shape=tuple(row_shape), columns=tuple(columns), **said)


def _meaningless(columns: Sequence[str], place: str, text: str) -> OptionError:
    word = columns[-1]
    words = "header, no-header, comma, tab, space, semicolon, colons, decimal-comma, decimal-point, a dtype"
    meant = did_you_mean(word, [known for words in WORDS.values() for known in words])
    hint = meant or f"use {USAGE[place]}, or one of {words}."
    if columns[1:]:
        hint += f" If it belongs to the name of a column, write {plain_name(':'.join(columns))}"
    return OptionError(f"unrecognised suffix ':{word}' in {text}", place=place, hint=hint)


def split_words(text: str) -> tuple[str, list[str]]:
    """Split off the words after a file; an existing file's name may contain a colon."""
    path, words = text, list[str]()
    while ":" in path and not is_there(path):
        path, _, word = path.rpartition(":")
        words.insert(0, word)
    return (path, words) if words and (os.path.exists(path) or glob.has_magic(path) or path == "-") else (text, [])


def takes_each(given: Any) -> bool:
    """Whether files give each of their columns: ``FILE:*``."""
    files = [given] if isinstance(given, (str, os.PathLike)) else given if isinstance(given, (list, tuple)) else []
    return bool(files) and all(
        isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(f":{EVERY_COLUMN}") for f in files
    )


def parse_typed(text: str, default: str, place: str) -> tuple[str, str]:
    """Split ``[TYPE=]VALUE``; a file's name may contain ``=``."""
    before, sign, value = text.partition("=")
    is_name = "/" not in before or is_there(split_words(value)[0])
    is_typed = sign and is_name and not is_there(split_words(text)[0])
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
    given: Iterable[str], default: str, place: str, types: Collection[str] = ()
) -> dict[str, dict[str, list[str]]]:
    """Files by type and feature; repeat a feature for further files.

    `types` may replace a name, if each column is a feature.
    """
    by_type: dict[str, dict[str, list[str]]] = {}
    for text in given:
        of_type, name, files = _feature(text, default, place, types)
        by_type.setdefault(of_type, {}).setdefault(name, []).extend(files)
    return by_type


def _feature(text: str, default: str, place: str, types: Collection[str]) -> tuple[str, str, list[str]]:
    takes_columns = place in ("--node-data", "--edge-data")
    if takes_columns and takes_each(text):
        of_type, file = parse_typed(text, default, place)
        if file == text or of_type in types:
            return of_type, EVERY_COLUMN, [file]
    full_name, sign, files = text.partition("=")
    of_type, slash, name = full_name.rpartition("/")  # types may hold slashes, names none
    if not (sign and files and name) or (slash and not of_type) or ":" in name:
        what, expected = "no file" if name and not files else "no name", "[TYPE/]NAME=FILE"
        hint = "write NAME=FILE" + (", or TYPE=FILE:* for each column of a table" if takes_columns else "")
        raise OptionError(what, place=place, expected=expected, found=text, hint=hint)
    path, words = split_words(files)
    is_one = is_there(path) and not any("," in word for word in words)  # a file's name may contain a comma
    return of_type or default, name, [files] if is_one else files.split(",")
