"""Read tables from lines of text: find delimiter and header, cut lines into fields by SQL, name bad lines.

A general CSV reader would drop what follows a comment character within a line, take no runs of spaces as a delimiter,
and let a quoted field run over many lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from daskgraphpart.chunked.metadata import MAX_ROWS
from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import (
    BLANKS,
    MISSING,
    OTHERS,
    OTHERS_AND_CONSTANTS,
    Column,
    constant_column,
    find_columns,
    kind_of_text,
    shown,
)
from daskgraphpart.sources.database import quote, run
from daskgraphpart.sources.table_files import METIS, TableFile, refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb


MATRIX_MARKET, MATRIX_KINDS = "%%MatrixMarket", {"real", "integer", "pattern", "general", "symmetric"}
LINES_LOOKED_AT = 200
MAX_LINE_BYTES, BUFFER_BYTES = 1 << 20, 8 << 20
NAMES_OF_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", " ": "spaces"}
_NAMES_OF_ENDS = (
    "src dst source target destination from to head tail u v i j node node1 node2 id id1 id2 sender receiver src_id "
    "dst_id source_id target_id from_id to_id node_id nodeid fromnodeid tonodeid"
)
NAMES_OF_ENDS = frozenset(_NAMES_OF_ENDS.split())
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_ -]*")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A text file with chosen columns; its first `skipped` lines end with the header.

    Matrix Market tells the numbers of nodes and entries, counts IDs from 1, and, if symmetric, has each edge once;
    `features` are columns that nobody asked for; `guesses` say what was guessed, and the word to say otherwise.
    """

    path: str
    content: str
    columns: tuple[Column, ...]
    delimiter: str
    comment: str
    packing: str
    num_fields: int = 0
    skipped: int = 0
    guesses: Mapping[str, str] = field(default_factory=dict)
    num_rows: None = None
    num_nodes: tuple[int, ...] = ()
    num_entries: int | None = None
    first_id: int = 0
    is_symmetric: bool = False
    features: tuple[str, ...] = ()

    def insert(self, connection: duckdb.DuckDBPyConnection, statement: str) -> None:
        """Run an INSERT that selects unquoted texts r0, r1, ... from `batches`, NULL where blank or in a bad line.

        `row` is the number of the row, told at the scan, beyond which DuckDB promises no order; `is_row` says whether a
        line is sound.
        """
        numbered = (
            f"SELECT row_number() OVER () - 1 AS row, line FROM {self._lines(self.skipped)} WHERE {self._is_row()}"
        )
        lines = f"SELECT row, {self._fields()} AS fields FROM ({numbered})"
        cut = ", ".join(
            f"CASE WHEN len(fields) = {self.num_fields} THEN fields[{column.position + 1}] END AS f{i}"
            for i, column in enumerate(self.columns)
            if column.position is not None
        )
        texts = ", ".join(
            f"CASE WHEN starts_with(f{i}, '\"') THEN replace(f{i}[2:length(f{i}) - 1], '\"\"', '\"') "
            f"WHEN f{i} >= '!' OR trim(f{i}, {BLANKS}) <> '' THEN f{i} END AS r{i}"
            for i, column in enumerate(self.columns)
            if column.position is not None
        )
        is_row = f"fields IS NOT NULL AND len(fields) = {self.num_fields} AS is_row"
        rows = f"SELECT row, {texts or 'NULL'}, is_row FROM (SELECT row, {cut or 'NULL'}, {is_row} FROM ({lines}))"
        run(connection, f"CREATE TEMP VIEW batches AS {rows}; {statement}; DROP VIEW batches")

    def locate(self, connection: duckdb.DuckDBPyConnection, row: int, column: int) -> tuple[str, str | None]:
        """Return a value's place and text, None if blank; refuse a line without these fields."""
        ((number, line, fields),) = self.read_lines(connection, 1, row)
        place, hint = f"line {number:,}", None
        if fields is not None and len(fields) == self.num_fields:
            chosen = self.columns[column]
            if chosen.position is None:
                return f"{place}, column {chosen.name!r}", chosen.constant
            text = fields[chosen.position]
            return f"{place}, column {chosen.name!r}", text.strip('"') if text.strip() else None
        if fields is None:
            expected = "a quoted field that ends in its line, quotes inside doubled"
            what, found = "quotes do not match", shown(line)
        else:
            expected, found = f"{self.num_fields} fields, as in the first line", f"{len(fields)}: {shown(line)}"
            what = "wrong number of fields in a line"
            hint = "check --delimiter and --comment, and that no line is truncated"
        raise InputFileError(what, file=self.path, place=place, expected=expected, found=found, hint=hint)

    def read_lines(
        self, connection: duckdb.DuckDBPyConnection, count: int, first: int = 0
    ) -> list[tuple[int, str, list[str] | None]]:
        """Read rows after the header: line numbers, texts, and fields, None if quotes do not match."""
        numbered = f"SELECT row_number() OVER () AS number, line FROM {self._lines(0)}"
        rows = f"SELECT number, line FROM ({numbered}) WHERE number > {self.skipped} AND {self._is_row()}"
        fields = self._fields() if self.delimiter else "NULL"
        query = f"SELECT number, line, {fields} FROM (SELECT * FROM ({rows}) LIMIT {count} OFFSET {first})"
        return connection.execute(query).fetchall()

    def _lines(self, skipped: int) -> str:
        """Return the table of all but the first lines; its delimiter occurs in no text."""
        return (
            f"read_csv({quote(self.content)}, columns = {{'line': 'VARCHAR'}}, auto_detect = false, header = false, "
            f"delim = '\1\2\1', quote = '', escape = '', comment = '', strict_mode = false, skip = {skipped}, "
            f"max_line_size = {MAX_LINE_BYTES}, buffer_size = {BUFFER_BYTES}, compression = '{self.packing}')"
        )

    def _is_row(self) -> str:
        """Return a condition for lines that are neither blank nor comments."""
        text, mark = f"trim(line, {BLANKS})", quote(self.comment)
        indented, starts = f"{text} <> ''", "false"
        if self.comment:
            indented, starts = f"{indented} AND NOT starts_with({text}, {mark})", f"starts_with(line, {mark})"
        return f"CASE WHEN line >= '!' THEN NOT {starts} ELSE {indented} END"

    def _fields(self) -> str:
        """Return an expression for a line's fields, with quotes; NULL where quotes do not match."""
        text, cut = "line", f"string_split(line, {quote(self.delimiter)})"
        end, more, empty = rf"[\x{ord(self.delimiter):02x}]", "", "|"
        if self.delimiter == " ":
            text, end, more, empty = f"trim(line, {BLANKS})", r"[ \t]", "+", ""
            has_runs = f"contains({text}, '  ') OR contains({text}, chr(9))"
            cut = f"CASE WHEN {has_runs} THEN string_split_regex({text}, '[ \\t]+') ELSE string_split({text}, ' ') END"
        others = end.replace("[", "[^", 1)
        field, between = rf'(?:"(?:[^"]|"")*"|{others[:-1]}"]{others}*{empty})', f"{end}{more}"
        is_closed = f"regexp_full_match({text}, {quote(f'{field}(?:{between}{field})*')})"
        quoted = f"regexp_extract_all({quote(self.delimiter)} || {text}, {quote(f'{between}({field})')}, 1)"
        return f"CASE WHEN NOT contains(line, '\"') THEN {cut} WHEN {is_closed} THEN {quoted} END"


def open_text_table(
    connection: duckdb.DuckDBPyConnection, file: TableFile, wanted: Sequence[str], num_ids: int
) -> TextTable:
    """Open a text file; note what was guessed."""
    path, options = file.path, file.options
    table = TextTable(path, file.content, (), options.delimiter_character or "", options.comment, file.packing)
    head = replace(table, comment="").read_lines(connection, 1)
    if head and head[0][1].startswith(MATRIX_MARKET):
        return _open_matrix(connection, file, wanted, num_ids)
    first = table.read_lines(connection, 1)
    if not first:
        what = "no line but blanks and comments"
        raise InputFileError("empty file", file=path, expected="a row per line", found=what)
    refuse_foreign(path, first[0][1][:16].encode())
    if "\0" in first[0][1]:
        raise InputFileError(
            "not text", file=path, found="a zero byte", hint="text must be UTF-8; raw numbers: FILE:DTYPE"
        )
    if not table.delimiter:  # a line of one column of names may hold spaces
        found = (mark for mark in "\t,;" if mark in first[0][1])
        table = replace(table, delimiter=next(found, " " if num_ids > 1 else ","))
    lines = table.read_lines(connection, LINES_LOOKED_AT)
    if lines[0][2] is None:
        table.locate(connection, 0, 0)  # checks the line
    sample = [(line, [_unquoted(field) for field in fields]) for line, _, fields in lines if fields is not None]
    rows = [fields for _, fields in sample]
    if num_ids == 2 and not any(wanted[:2]):
        _refuse_metis(path, rows, is_whole=len(lines) < LINES_LOOKED_AT)
    names_wanted = [
        name
        for name in wanted
        if name not in ("", OTHERS, OTHERS_AND_CONSTANTS, *file.constants) and not name.isdecimal()
    ]
    has_header = bool(names_wanted) or _looks_like_header(rows) if options.header is None else options.header
    has_header = has_header or (bool(names_wanted) and num_ids == 1)  # --no-header is about edges
    names = [name.strip() for name in rows[0]] if has_header else list(map(str, range(len(rows[0]))))
    places = find_columns(file, wanted, names, num_ids)
    if options.header is None and not has_header and options.map_ids and options.id_type != "integer":
        _check_no_header(path, rows, [position for _, position in places[:num_ids] if position is not None])
    columns = tuple(_column(*place, sample[has_header:], file.constants) for place in places)
    skipped = lines[0][0] if has_header else 0
    table = replace(table, columns=columns, num_fields=len(rows[0]), skipped=skipped)
    delimiter, guesses = NAMES_OF_DELIMITERS.get(table.delimiter, table.delimiter), dict[str, str]()
    if not options.delimiter and len(rows[0]) > 1:
        guesses[f"{delimiter} between fields"] = "FILE:comma" if delimiter == "tab" else "FILE:tab"
    if options.header is None:
        guesses |= {"a header": "FILE:no-header"} if has_header else {"no header": "FILE:header"}
    return replace(table, guesses=guesses)


def _open_matrix(
    connection: duckdb.DuckDBPyConnection, file: TableFile, wanted: Sequence[str], num_ids: int
) -> TextTable:
    """Open a Matrix Market file: entries are edges from `row` to `col`, with `weight` unless it is a pattern.

    A file named so keeps the weight, unless other columns are given.
    """
    path = file.path
    table = TextTable(path, file.content, (), " ", "", file.packing)
    words = table.read_lines(connection, 1)[0][1].lower().split()[1:]
    if num_ids != 2 or words[:2] != ["matrix", "coordinate"] or not {*words[2:]} <= MATRIX_KINDS or len(words) != 4:
        what, expected = "this kind of Matrix Market is no list of edges", "matrix coordinate real|integer|pattern "
        expected += "general|symmetric, given to --edges"
        raise InputFileError(what, file=path, place="line 1", expected=expected, found=" ".join(words))
    table = replace(table, comment="%")
    sizes = table.read_lines(connection, 1)
    number, line = sizes[0][:2] if sizes else (1, "nothing")
    is_symmetric, numbers = words[3] == "symmetric", line.split()
    is_size = len(numbers) == 3 and all(re.fullmatch(r"\d{1,19}", text, re.ASCII) for text in numbers)
    is_size = is_size and max(map(int, numbers)) < MAX_ROWS
    if not is_size or (is_symmetric and numbers[0] != numbers[1]):
        expected = "numbers of rows, columns and entries" + (" of a square matrix" if is_symmetric else "")
        expected += f", each below 2^{MAX_ROWS.bit_length() - 1}"
        raise InputFileError(
            "invalid size of a matrix", file=path, place=f"line {number}", expected=expected, found=shown(line)
        )
    num_src, num_dst, num_entries = map(int, numbers)
    names = ["row", "col", "weight"][: 2 if words[2] == "pattern" else 3]
    table = replace(table, skipped=number, num_fields=len(names), num_nodes=(num_src, num_dst), num_entries=num_entries)
    sample = [(at, fields) for at, _, fields in table.read_lines(connection, LINES_LOOKED_AT) if fields is not None]
    named = path.lower().endswith((".mtx", ".mtx.gz"))
    features = tuple(names[2:]) if named and len(wanted) == 2 else ()
    found = find_columns(file, [*wanted, *features], names, num_ids)
    columns = tuple(_column(*place, sample, file.constants) for place in found)
    return replace(table, columns=columns, features=features, first_id=1, is_symmetric=is_symmetric)


def _column(
    name: str,
    position: int | None,
    sample: Sequence[tuple[int, Sequence[str]]],
    constants: Mapping[str, str | None],
) -> Column:
    """Describe a column by its first value that is not missing, or one that the name of a directory holds."""
    if position is None:
        return constant_column(name, constants[name])
    for line, row in sample:
        if position < len(row) and row[position].strip(" \t") not in ("", *MISSING):
            example = f"line {line:,}, column {name!r} ({shown(row[position])})"
            return Column(name, position, kind_of_text(row[position]), example, is_text=True)
    return Column(name, position, is_text=True)


def _refuse_metis(path: str, rows: Sequence[Sequence[str]], is_whole: bool) -> None:
    """Refuse a METIS file: numbers of nodes and edges, then each node's neighbours, in lines of any length."""
    if not all(field.isdecimal() for row in rows for field in row) or not 2 <= len(rows[0]) <= 4:
        return
    (num_nodes, num_edges), lists = map(int, rows[0][:2]), rows[1:]
    ids = [int(field) for row in lists for field in row]
    is_whole = is_whole and len(lists) == num_nodes and len(ids) == 2 * num_edges
    has_lists = len({len(row) for row in lists}) > 2 and num_edges >= len(lists)
    if ids and (is_whole or has_lists) and 1 <= min(ids) <= max(ids) <= num_nodes:
        what, hint = (
            f"seems to be not an edge list but {METIS[0]}",
            f"{METIS[1]}; if it does have edges, add --columns 0,1",
        )
        found = f"{num_nodes:,} {num_edges:,}, and lines of different lengths"
        raise InputFileError(what, file=path, expected="a row per edge", found=found, hint=hint)


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def _looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a word stands above a column of numbers, or is a usual column name."""
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if any(_NUMBER.fullmatch(field) for field in first):
        return False
    if all(field.strip().lower() in NAMES_OF_ENDS for field in first[:2]):
        return True
    return bool(others) and any(
        field.strip() and all(_NUMBER.fullmatch(row[i]) for row in others) for i, field in enumerate(first)
    )


def _check_no_header(path: str, rows: Sequence[Sequence[str]], positions: Sequence[int]) -> None:
    """Refuse a first row of plain words that are no IDs below, if all IDs are strings."""
    first = [rows[0][i].strip() for i in positions if i < len(rows[0])]
    later = {row[i].strip() for row in rows[1:] for i in positions if i < len(row)}
    if first and all(_NAME.fullmatch(text) and text not in later for text in first):
        raise InputFileError(
            "the first line may be a header or a row",
            file=path,
            found=", ".join(map(repr, first)),
            hint="add --header or --no-header, or FILE:header or FILE:no-header for this file",
        )
