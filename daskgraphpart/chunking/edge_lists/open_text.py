"""Open text files: tell delimiter and header from the first lines, and find the columns."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.tables import TEXT, Column, TableFile
from daskgraphpart.errors import InputFileError
from daskgraphpart.kernels.text_fields import RAGGED, split_fields
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunking.edge_lists.options import ReadOptions

BYTES_LOOKED_AT = 1 << 16
LINES_LOOKED_AT = 100
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NAMES_OF_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", " ": "spaces"}
NAMES_OF_ENDS = frozenset(
    [
        "src",
        "dst",
        "source",
        "target",
        "destination",
        "from",
        "to",
        "head",
        "tail",
        "u",
        "v",
        "i",
        "j",
        "node",
        "node1",
        "node2",
        "id",
        "id1",
        "id2",
        "sender",
        "receiver",
        "src_id",
        "dst_id",
        "source_id",
        "target_id",
        "from_id",
        "to_id",
        "node_id",
        "nodeid",
        "fromnodeid",
        "tonodeid",
    ]
)
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")


def open_text(path: str, wanted: Sequence[str], options: ReadOptions, num_default: int) -> tuple[TableFile, str]:
    """Open a file of text.

    Parameters
    ----------
    path : str
        The file.
    wanted : sequence of str
        Names or numbers of columns; the first `num_default` may be empty, and then are the first of the file.
    options : ReadOptions
        Delimiter, header, comments.
    num_default : int
        Columns of IDs: two of edges, one of nodes.

    Returns
    -------
    table : TableFile
    note : str
        What was guessed; empty if nothing was.

    Raises
    ------
    InputFileError
        If there is no row, or a column is missing.
    """
    lines = _first_lines(path, options.comment)
    if not lines:
        raise InputFileError(
            "empty file", file=path, expected="a row per line", found="no line but blanks and comments"
        )
    delimiter = options.delimiter_character or _guess_delimiter(lines[0].content, num_default)
    rows = [_split_line(line, delimiter, path) for line in lines]
    by_name = any(name and not name.isdigit() for name in wanted)
    has_header = options.header if options.header is not None else by_name or _looks_like_header(rows)
    names = [name.strip() for name in rows[0]] if has_header else []
    begin = lines[1].begin if has_header and len(lines) > 1 else os.stat(path).st_size if has_header else 0
    columns = find_columns(path, wanted, names, len(rows[0]), num_default)
    table = TableFile(path, TEXT, columns, None, os.stat(path).st_size, begin, delimiter, options.comment, len(rows[0]))
    guessed = [] if options.delimiter else [f"{NAMES_OF_DELIMITERS.get(delimiter, delimiter)} between fields"]
    guessed += [] if options.header is not None else [f"{'a' if has_header else 'no'} header"]
    return table, f"{path}: {', '.join(guessed)}" if guessed else ""


def find_columns(
    path: str, wanted: Sequence[str], names: Sequence[str], num_columns: int, num_default: int
) -> tuple[Column, ...]:
    """Find columns by name, or else by number.

    Raises
    ------
    InputFileError
        If there is no such column, or there are too few.
    """
    if num_columns < num_default:
        raise InputFileError(
            f"{num_columns} column where there should be {num_default}",
            file=path,
            found=", ".join(names) or None,
            hint="check --delimiter",
        )
    found = []
    for number, name in enumerate(wanted):
        if not name:
            position = number
        elif names.count(name) == 1:
            position = names.index(name)
        elif name in names:
            raise InputFileError(f"several columns are named {name!r}", file=path, hint="give the number of the column")
        elif name.isdigit() and int(name) < num_columns:
            position = int(name)
        else:
            raise InputFileError(
                f"no column {name!r}",
                file=path,
                expected=f"one of {', '.join(names)}" if names else f"a number below {num_columns}: there are no names",
                hint="check --columns, --edge-columns, --header and --delimiter",
            )
        found.append(Column(names[position] if names else str(position), position))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that is neither blank nor a comment: its number from 1, the byte at which it begins, what it holds."""

    number: int
    begin: int
    content: bytes


def _split_line(line: _Line, delimiter: str, path: str) -> list[str]:
    """Fields of one line."""
    content = np.frombuffer(line.content, np.uint8)
    none = np.empty((0, 1), np.int32), np.empty((0, 1), np.int32), np.empty((0, 1), np.uint8)
    _, fault, _, count = split_fields(content, (ord(delimiter), -1, -1), np.empty(0, np.int64), *none)
    if fault != RAGGED:
        raise unmatched_quotes(path, f"line {line.number:,}", line.content)
    starts, ends = (np.zeros((count, 1), np.int32) for _ in range(2))
    marks = np.zeros((count, 1), np.uint8)
    split_fields(content, (ord(delimiter), -1, count), np.arange(count), starts, ends, marks)
    pieces = (
        line.content[start:stop].decode(errors="replace") for start, stop in zip(starts[:, 0], ends[:, 0], strict=True)
    )
    return [piece.replace('""', '"') if mark else piece for piece, mark in zip(pieces, marks[:, 0], strict=True)]


def unmatched_quotes(path: str, place: str, line: bytes) -> InputFileError:
    """Describe a line whose quotes do not match."""
    text = line.decode(errors="replace").strip("\r\n")
    return InputFileError(
        "quotes do not match",
        file=path,
        place=place,
        expected="a quoted field that ends in its line, quotes inside doubled",
        found=repr(text[:60] + "..." if len(text) > 60 else text),
    )


def _first_lines(path: str, comment: str) -> list[_Line]:
    """The first lines that are neither blank nor comments."""
    lines: list[_Line] = []
    looked_at, number = 0, 0
    with attach_path_to_error(path), open(path, "rb") as file:
        # comments may be long; rows are looked at only so far
        while len(lines) < LINES_LOOKED_AT and (looked_at < BYTES_LOOKED_AT or not lines):
            begin = file.tell()
            line = file.readline(BYTES_LOOKED_AT)
            if not line:
                break
            number += 1
            cut = len(line) == BYTES_LOOKED_AT and not line.endswith(b"\n")
            while cut and (more := file.readline(BYTES_LOOKED_AT)):
                if more.endswith(b"\n"):
                    break
            if b"\0" in line:
                raise InputFileError("not text", file=path, found="a zero byte", hint="text must be UTF-8")
            line = line.removeprefix(BYTE_ORDER_MARK) if begin == 0 else line
            text = line.strip(b" \t\r\n")
            if text and not (comment and text.startswith(comment.encode())):
                if cut:
                    raise InputFileError(
                        "line too long", file=path, place=f"line {number:,}", expected="a row per line of text"
                    )
                lines.append(_Line(number, begin, line))
                looked_at += len(line)
    return lines


def _guess_delimiter(line: bytes, num_default: int) -> str:
    """The first delimiter that cuts the line; a line of one column of names may hold spaces."""
    for delimiter in ("\t", ",", ";", " ") if num_default > 1 else ("\t", ",", ";"):
        text = line.strip(b"\r\n")
        if delimiter.encode() in (text.strip() if delimiter == " " else text):
            return delimiter
    return " " if num_default > 1 else ","


def _looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some column is named where all its other rows are numbers, or names what names of columns name."""
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if any(_NUMBER.fullmatch(field) for field in first):
        return False
    if all(field.strip().lower() in NAMES_OF_ENDS for field in first[:2]):
        return True
    return bool(others) and any(
        field.strip() and all(_NUMBER.fullmatch(row[i]) for row in others) for i, field in enumerate(first)
    )
