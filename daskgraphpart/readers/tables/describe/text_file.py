"""Open tables of text: find comments, delimiter, header and columns; refuse what only looks like a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.metadata import MAX_ROWS
from daskgraphpart.readers.names_of_ends import are_usual, free_columns
from daskgraphpart.readers.tables.describe.columns import (
    COLUMNS_TRIED,
    DECIMAL_COMMA,
    MISSING,
    MISSING_NUMBERS,
    OPEN_ENDS,
    OTHERS,
    OTHERS_AND_CONSTANTS,
    STRINGS,
    Column,
    are_strings,
    constant_column,
    find_columns,
    kind_of_text,
    shown,
    with_decimals,
)
from daskgraphpart.readers.tables.describe.table_files import METIS, TableFile, refuse_foreign
from daskgraphpart.readers.tables.describe.text_rows import HeadRow, TextRows
from daskgraphpart.readers.tables.read_options import COLONS

if TYPE_CHECKING:
    import numpy as np


MATRIX_MARKET, MATRIX_KINDS = "%%MatrixMarket", {"real", "integer", "pattern", "general", "symmetric"}
ROWS_LOOKED_AT = 200
NAMES_OF_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", " ": "spaces", "|": "|", COLONS: "two colons"}
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_ -]*")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file with chosen columns, and its rows after comments and header.

    Matrix Market tells the numbers of nodes and entries, counts IDs from 1, and, if symmetric, has each edge once;
    `features` are columns that nobody asked for; `guesses` say what was guessed, and the word to say otherwise.
    """

    rows: TextRows
    columns: tuple[Column, ...] = ()
    num_fields: int = 0
    has_header: bool = False
    num_comments: int = 0
    guesses: Mapping[str, str] = field(default_factory=dict)
    num_rows: None = None
    num_nodes: tuple[int, ...] = ()
    num_entries: int | None = None
    first_id: int = 0
    is_symmetric: bool = False
    features: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its name in messages."""
        return self.rows.path

    @property
    def content(self) -> str:
        """Where it lies."""
        return self.rows.content

    @property
    def least_memory(self) -> int:
        """Nothing: a row of text has at most a MiB."""
        return 0

    def columns_at_once(self, _: int) -> int:
        """Return how many columns to read together: all of a line."""
        return len(self.columns)

    def type_of(self, number: int) -> Any:
        """Arrow type of a column in `batches`; None if it is not in the file."""
        return pa.string() if self.columns[number].position is not None else None

    def batches(self, numbers: Sequence[int]) -> Iterator[list[Any]]:
        """Yield the columns of these numbers that are in the file, or else of nothing, in batches; NULL where blank."""
        for lines, columns in self._cut(numbers):
            yield columns or [pa.nulls(len(lines), pa.string())]

    def locate(self, row: int, column: int) -> tuple[str, str | None, str]:
        """Return a value's place, its text, None if blank, and how to show both."""
        chosen = self.columns[column]
        number, text, line = self.rows.find(row, self.num_fields, chosen.position or 0)
        text = text if chosen.position is not None else chosen.constant
        shown_value = f"{shown(text)} in {line}" if self.num_fields > 1 else shown(text)
        return f"line {number:,}, column {chosen.name!r}", text, shown_value

    def other_columns(self) -> Iterator[tuple[str, Any]]:
        """Yield the names of columns that are not its IDs, and their first values."""
        for position, name in list(enumerate(self.names))[:COLUMNS_TRIED]:
            _, values = next(self.rows.batches(self.num_fields, [position]), (None, None))
            if values:
                yield name, pa.table({"id": values[0]})

    def _cut(self, numbers: Sequence[int]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """Yield lines, and the columns of these numbers, of all rows."""
        positions = [self.columns[i].position for i in numbers]
        return self.rows.batches(self.num_fields, [position for position in positions if position is not None])


def open_text_file(file: TableFile, wanted: Sequence[str], num_ids: int) -> TextFile:
    """Open a text file; note what was guessed."""
    path, options = file.path, file.options
    whole = TextRows(path, file.content, file.packing).without_mark()
    rows, num_comments = whole.without_comments(options.comment)
    if whole.without_comments("")[0].line().startswith(MATRIX_MARKET):
        return _open_matrix(whole, file, wanted, num_ids)
    line = _first_line(rows, options.comment)
    delimiter = options.delimiter_character or _guess_delimiter(rows, line, num_ids)
    rows = replace(rows, delimiter=delimiter)
    head = rows.head(ROWS_LOOKED_AT)
    texts = [row.fields for row in head]
    if num_ids == 2 and not any(wanted[:2]):
        _refuse_metis(path, texts, is_whole=len(head) < ROWS_LOOKED_AT)
    names_wanted = [
        name
        for name in wanted
        if name not in ("", OTHERS, OTHERS_AND_CONSTANTS, *file.constants) and not name.isdecimal()
    ]
    has_header = (
        bool(names_wanted) or _looks_like_header(texts, num_ids, file.ends)
        if options.header is None
        else options.header
    )
    has_header = has_header or (bool(names_wanted) and num_ids == 1)  # --no-header is about edges
    if num_ids == 2 and len(texts[0]) == 1 and not file.constants:
        what, place, hint = "1 column where there should be 2", f"line {head[0].line:,}", "check --delimiter"
        raise InputFileError(what, file=path, place=place, found=shown(line), hint=hint)
    names = [name.strip() for name in texts[0]] if has_header else list(map(str, range(len(texts[0]))))
    if num_ids == 2 and not has_header and not any(wanted[:2]):
        _refuse_triples(path, texts, free_columns(names, wanted[2:]))
    places = find_columns(file, wanted, names, num_ids)
    columns = tuple(_column(*place, head[has_header:], file.constants) for place in places)
    are_mapped = any(map(are_strings, columns[:num_ids])) if options.map_ids is None else options.map_ids
    if options.header is None and not has_header and are_mapped and options.id_type != "integer":
        _check_no_header(path, texts, [position for _, position in places[:num_ids] if position is not None])
    columns = (*columns[:num_ids], *(with_decimals(of, texts[has_header:], file) for of in columns[num_ids:]))
    guesses = dict[str, str]()
    if not options.decimal and (with_commas := [repr(column.name) for column in columns if column.has_decimal_comma]):
        guesses[f"decimal commas in {', '.join(with_commas)}"] = "FILE:decimal-point"
    if not options.delimiter and len(names) > 1:
        guesses[f"{NAMES_OF_DELIMITERS[delimiter]} between fields"] = "FILE:comma" if delimiter == "\t" else "FILE:tab"
    if options.header is None:
        guesses |= {"a header": "FILE:no-header"} if has_header else {"no header": "FILE:header"}
    rows = rows.without_first() if has_header else rows
    return TextFile(rows, columns, len(names), has_header, num_comments, guesses, names=tuple(names))


def _first_line(rows: TextRows, comment: str) -> str:
    """Return the first line; refuse what is no row of text, or may be a comment."""
    line = rows.line()
    if not line:
        what = "no line but blanks and comments"
        raise InputFileError("empty file", file=rows.path, expected="a row per line", found=what)
    refuse_foreign(rows.path, line[:16].encode())
    if "\0" in line:
        hint = "text must be UTF-8; raw numbers: FILE:DTYPE; archives must be unpacked"
        raise InputFileError("not text", file=rows.path, found="a zero byte", hint=hint)
    if comment == "#" and line.startswith(("%", "//")):
        what, place = "this line may be a comment or a row", f"line {rows.first_line}"
        hint = f"add --comment {line[0]} to skip such lines at the top, or --comment '' if it is a row"
        raise InputFileError(what, file=rows.path, place=place, found=shown(line), hint=hint)
    return line


def _open_matrix(whole: TextRows, file: TableFile, wanted: Sequence[str], num_ids: int) -> TextFile:
    """Open a Matrix Market file: entries are edges from `row` to `col`, with `weight` unless it is a pattern.

    A file named so keeps the weight, unless other columns are given.
    """
    path = file.path
    words = whole.without_comments("")[0].line().lower().split()[1:]
    if num_ids != 2 or words[:2] != ["matrix", "coordinate"] or not {*words[2:]} <= MATRIX_KINDS or len(words) != 4:
        what, expected = "this kind of Matrix Market is no list of edges", "matrix coordinate real|integer|pattern "
        expected += "general|symmetric, given to --edges"
        raise InputFileError(what, file=path, place="line 1", expected=expected, found=" ".join(words))
    rows = replace(whole.without_comments("%")[0], delimiter=" ")
    line, is_symmetric = rows.line(), words[3] == "symmetric"
    numbers = line.split()
    is_size = len(numbers) == 3 and all(re.fullmatch(r"\d{1,19}", text, re.ASCII) for text in numbers)
    is_size = is_size and max(map(int, numbers)) < MAX_ROWS
    if not is_size or (is_symmetric and numbers[0] != numbers[1]):
        expected = "numbers of rows, columns and entries" + (" of a square matrix" if is_symmetric else "")
        expected += f", each below 2^{MAX_ROWS.bit_length() - 1}"
        place, size = f"line {rows.first_line}", shown(line or "nothing")
        raise InputFileError("invalid size of a matrix", file=path, place=place, expected=expected, found=size)
    num_src, num_dst, num_entries = map(int, numbers)
    rows = rows.without_first()
    names = ["row", "col", "weight"][: 2 if words[2] == "pattern" else 3]
    named = path.lower().endswith((".mtx", ".mtx.gz"))
    features = tuple(names[2:]) if named and len(wanted) == 2 else ()
    found_columns = find_columns(file, [*wanted, *features], names, num_ids)
    columns = tuple(_column(*place, rows.head(ROWS_LOOKED_AT), file.constants) for place in found_columns)
    return TextFile(
        rows,
        columns,
        len(names),
        has_header=True,
        num_nodes=(num_src, num_dst),
        num_entries=num_entries,
        first_id=1,
        is_symmetric=is_symmetric,
        features=features,
    )


def _column(
    name: str,
    position: int | None,
    sample: Sequence[HeadRow],
    constants: Mapping[str, str | None],
) -> Column:
    """Describe a column by its first value that is not missing, or one that the name of a directory holds."""
    if position is None:
        return constant_column(name, constants[name])
    texts = [(row.line, row.fields[position]) for row in sample if position < len(row.fields)]
    texts = [(line, text) for line, text in texts if text.strip(" \t") not in ("", *MISSING)]
    if not texts:
        return Column(name, position, is_text=True)
    kinds = [kind_of_text(text) for _, text in texts]
    (line, text), is_typical = texts[0], 2 * kinds.count(kinds[0]) > len(kinds)
    example = f"line {line:,}, column {name!r} ({shown(text)})"
    return Column(name, position, kinds[0], example, is_text=True, is_typical=is_typical)


def _guess_delimiter(rows: TextRows, line: str, num_ids: int) -> str:
    """Find the delimiter by the first line; semicolons if every comma is a decimal one between them."""
    marks = [mark for mark in "\t,;" if mark in line]
    if marks == [",", ";"]:
        head = [row.fields for row in replace(rows, delimiter=";").head(ROWS_LOOKED_AT)]
        with_commas = [(i, field.strip()) for fields in head for i, field in enumerate(fields) if "," in field]
        is_equal = len({len(fields) for fields in head}) == 1
        if is_equal and all(i >= num_ids and DECIMAL_COMMA.fullmatch(field) for i, field in with_commas):
            return ";"
    if marks or num_ids < 2:
        return marks[0] if marks else ","  # a line of one column of names may hold spaces
    if len(line.split()) > 1:
        return " "
    if COLONS in line:
        return COLONS
    return "|" if "|" in line else " "


def _refuse_metis(path: str, rows: Sequence[Sequence[str]], is_whole: bool) -> None:
    """Refuse a METIS file: numbers of nodes and edges, then each node's neighbours, in lines of any length."""
    if not all(field.isdecimal() for row in rows for field in row) or not 2 <= len(rows[0]) <= 4:
        return
    (num_nodes, num_edges), lists = map(int, rows[0][:2]), rows[1:]
    ids = [int(field) for row in lists for field in row]
    is_whole = is_whole and len(lists) == num_nodes and len(ids) == 2 * num_edges
    has_lists = len({len(row) for row in lists}) > 2 and num_edges >= len(lists)
    if ids and (is_whole or has_lists) and 1 <= min(ids) <= max(ids) <= num_nodes:
        what = f"seems to be not an edge list but {METIS[0]}"
        hint = f"{METIS[1]}; if it does have edges, add --endpoints 0,1"
        header = f"{num_nodes:,} {num_edges:,}, and lines of different lengths"
        raise InputFileError(what, file=path, expected="a row per edge", found=header, hint=hint)


def _refuse_triples(path: str, rows: Sequence[Sequence[str]], free: Sequence[int]) -> None:
    """Refuse rows without a header whose second column may be a relation: words between two of a kind."""
    width = min(map(len, rows))
    src, *others = [(i, {kind_of_text(row[i]) for row in rows}) for i in free if i < width] or [(0, set[str]())]
    dst = next((i for i, kind in others[1:] if kind == src[1] and others[0][1] == {STRINGS}), None)
    if dst is not None:
        what, shown_row = OPEN_ENDS, ", ".join(map(repr, rows[0]))
        name = Path(path).name
        hint = f"give their numbers: {name}:{src[0]},{dst} (and --edge-types-from {others[0][0]}, if it is a relation)"
        hint += f" or {name}:{src[0]},{others[0][0]}"
        raise InputFileError(what, file=path, expected="two columns, or a header", found=shown_row, hint=hint)


def _looks_like_header(rows: Sequence[Sequence[str]], num_ids: int, types: Sequence[str]) -> bool:
    """Whether a word stands above a column of numbers, or is a usual column name."""
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if any(_NUMBER.fullmatch(field) for field in first):
        return False
    if are_usual(list(map(str.strip, first)), num_ids, types):
        return True
    return bool(others) and any(
        field.strip() not in ("", *MISSING_NUMBERS) and all(_NUMBER.fullmatch(row[i]) for row in others)
        for i, field in enumerate(first)
    )


def _check_no_header(path: str, rows: Sequence[Sequence[str]], positions: Sequence[int]) -> None:
    """Refuse a first row of plain words that are no IDs below, if all IDs are strings."""
    first = [rows[0][i].strip() for i in positions if i < len(rows[0])]
    later = {row[i].strip() for row in rows[1:] for i in positions if i < len(row)}
    if first and all(_NAME.fullmatch(text) and text not in later for text in first):
        what = "the first line may be a header or a row"
        hint = f"say {path}:header or {path}:no-header, or --header or --no-header if all files are alike"
        raise InputFileError(what, file=path, found=", ".join(map(repr, first)), hint=hint)
