"""Read edges and nodes from lines of text: find delimiter and header, cut lines into fields by SQL, name bad lines.

Lines are read whole and cut here, because a general CSV reader drops what follows a comment character inside a line,
takes no runs of spaces for a delimiter, and lets a quoted field run on over many lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import INTEGERS, MIXED_HINT, MIXED_IDS, NO_IDS, STRINGS, Column, find_columns, shown
from daskgraphpart.sources.database import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from daskgraphpart.sources.edge_list_options import ReadOptions

LINES_LOOKED_AT = 200
MAX_LINE_BYTES, BUFFER_BYTES = 1 << 20, 8 << 20
NAMES_OF_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", " ": "spaces"}
_NAMES_OF_ENDS = (
    "src dst source target destination from to head tail u v i j node node1 node2 id id1 id2 sender receiver src_id "
    "dst_id source_id target_id from_id to_id node_id nodeid fromnodeid tonodeid"
)
NAMES_OF_ENDS = frozenset(_NAMES_OF_ENDS.split())
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_FLOAT = re.compile(r"\s*[-+]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][-+]?\d+|nan|inf)\s*", re.IGNORECASE)
_INTEGER = re.compile(r"\s*[-+]?\d+\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_ -]*")
_BLANKS = "' ' || chr(9)"  # what is trimmed; slow, hence texts that begin with no blank or sign are told first


@dataclass(frozen=True, slots=True)
class TextTable:
    """A file of text with chosen columns; its first `skipped` lines end with the header."""

    path: str
    columns: tuple[Column, ...]
    delimiter: str
    comment: str
    packing: str
    num_fields: int = 0
    skipped: int = 0
    num_rows: None = None

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return Path(self.path).stat().st_size

    def without_ids(self) -> TextTable:
        """Return the table of the columns of features alone, of edges."""
        return replace(self, columns=self.columns[2:])

    def query(self, kinds: Sequence[str], id_type: str, num_features: int) -> str:
        """Return a query for columns of IDs of some kinds, and for two of each feature: as integers, and as floats.

        A value that is not what it should be is NULL.
        """
        chosen = range(len(kinds) + num_features)
        lines = f"SELECT line FROM {self._lines(self.skipped)} WHERE {self._is_row()}"
        fields = f"SELECT {self._fields()} AS fields FROM ({lines})"
        raw = ", ".join(
            f"CASE WHEN len(fields) = {self.num_fields} THEN fields[{self.columns[i].position + 1}] END AS r{i}"
            for i in chosen
        )
        texts = ", ".join(
            f"CASE WHEN starts_with(r{i}, '\"') THEN replace(r{i}[2:length(r{i}) - 1], '\"\"', '\"') "
            f"WHEN r{i} >= '!' OR trim(r{i}, {_BLANKS}) <> '' THEN r{i} END AS f{i}"
            for i in chosen
        )
        read = [i for i in chosen if i >= len(kinds) or kinds[i] != STRINGS]
        numbers = ", ".join(["*", *(f"TRY_CAST(f{i} AS BIGINT) AS n{i}" for i in read)])
        values = [_id_value(i, kind, id_type) for i, kind in enumerate(kinds)]
        for i in chosen[len(kinds) :]:
            values += [_integer(i), f"TRY_CAST(trim(f{i}, {_BLANKS}) AS DOUBLE)"]
        named = ", ".join(f"{value} AS c{i}" for i, value in enumerate(values))
        return f"SELECT {named} FROM (SELECT {numbers} FROM (SELECT {texts} FROM (SELECT {raw} FROM ({fields}))))"

    def place(self, connection: duckdb.DuckDBPyConnection, row: int, column: int) -> tuple[str, str]:
        """Return where a value is, for messages, and the value."""
        number, _, fields = self._line_of(connection, row)
        return f"line {number:,}, column {self.columns[column].name!r}", fields[self.columns[column].position].strip(
            '"'
        )

    def _line_of(self, connection: duckdb.DuckDBPyConnection, row: int) -> Any:
        """Find the line of a row: its number, its text and its fields."""
        numbered = f"SELECT row_number() OVER () AS number, line FROM {self._lines(0)}"
        rows = f"SELECT number, line FROM ({numbered}) WHERE number > {self.skipped} AND {self._is_row()}"
        found = f"SELECT number, line, {self._fields()} AS fields FROM (SELECT * FROM ({rows}) LIMIT 1 OFFSET {row})"
        return connection.cursor().sql(found).fetchall()[0]  # a query of the connection itself may be running

    def explain(self, connection: duckdb.DuckDBPyConnection, row: int, column: int, wanted: str) -> InputFileError:
        """Describe what is wrong with a row, or with one of its fields, which should have been a `wanted`."""
        number, line, fields = self._line_of(connection, row)
        place = f"line {number:,}"
        if fields is None:
            expected = "a quoted field that ends in its line, quotes inside doubled"
            return self._fault("quotes do not match", place, expected, shown(line))
        if len(fields) != self.num_fields:
            expected, found = f"{self.num_fields} fields, as in the first line", f"{len(fields)}: {shown(line)}"
            hint = "check --delimiter and --comment, and that no line is cut off"
            return self._fault("line with another number of fields", place, expected, found, hint)
        field: str = fields[self.columns[column].position]
        place, found = f"{place}, column {self.columns[column].name!r}", shown(field.strip('"'))
        if not field.strip():
            what = "value is missing" if wanted == "feature" else "ID is missing"
            return self._fault(what, place, "a number" if wanted == "feature" else "the ID of a node", "nothing")
        if wanted == "feature":
            return self._fault("not a number", place, "a number, to be a feature", found)
        if wanted == "ID as others":
            return self._fault(MIXED_IDS, place, self.columns[column].expected, found, MIXED_HINT)
        if wanted == "integer ID":
            return self._fault("ID is not an integer", place, "an integer of 64 bits", found)
        if _INTEGER.fullmatch(field):
            return self._fault("ID too large", place, "an integer of 63 bits", found, "use --map-ids")
        what = f"ID is {'a float' if _FLOAT.fullmatch(field) else 'not an integer'}"
        hint = "use --map-ids" if self.skipped else "use --map-ids; or --header if the first line names the columns"
        return self._fault(what, place, "an integer from 0", found, hint)

    def _fault(self, what: str, place: str, expected: str, found: str, hint: str | None = None) -> InputFileError:
        return InputFileError(what, file=self.path, place=place, expected=expected, found=found, hint=hint)

    def _lines(self, skipped: int) -> str:
        """Return the table of all lines but the first ones; its delimiter is none that a text holds."""
        return (
            f"read_csv({quote(self.path)}, columns = {{'line': 'VARCHAR'}}, auto_detect = false, header = false, "
            f"delim = '\1\2\1', quote = '', escape = '', comment = '', strict_mode = false, skip = {skipped}, "
            f"max_line_size = {MAX_LINE_BYTES}, buffer_size = {BUFFER_BYTES}, compression = '{self.packing}')"
        )

    def _is_row(self) -> str:
        """Return a condition for lines that are neither blank nor comments."""
        text = f"trim(line, {_BLANKS})"
        starts = f"starts_with({{}}, {quote(self.comment)})" if self.comment else "false"
        indented = f"{text} <> '' AND NOT {starts.format(text)}"
        return f"CASE WHEN line >= '!' THEN NOT {starts.format('line')} ELSE {indented} END"

    def _fields(self) -> str:
        """Return an expression for the fields of a line, with their quotes; NULL where quotes do not match."""
        text = f"trim(line, {_BLANKS})" if self.delimiter == " " else "line"
        end = r"[ \t]" if self.delimiter == " " else rf"[\x{ord(self.delimiter):02x}]"
        others = end.replace("[", "[^", 1)
        unquoted = rf'{others[:-1]}"]{others}*' if self.delimiter == " " else rf'{others[:-1]}"]{others}*|'
        field, between = rf'(?:"(?:[^"]|"")*"|{unquoted})', f"{end}+" if self.delimiter == " " else end
        cut = f"string_split({text}, {quote(self.delimiter)})"
        if self.delimiter == " ":
            has_runs = f"contains({text}, '  ') OR contains({text}, chr(9))"
            cut = f"CASE WHEN {has_runs} THEN string_split_regex({text}, '[ \\t]+') ELSE {cut} END"
        is_closed = f"regexp_full_match({text}, {quote(f'{field}(?:{between}{field})*')})"
        quoted = f"regexp_extract_all({quote(self.delimiter)} || {text}, {quote(f'{between}({field})')}, 1)"
        return f"CASE WHEN NOT contains(line, '\"') THEN {cut} WHEN {is_closed} THEN {quoted} END"


def _id_value(column: int, kind: str, id_type: str) -> str:
    """Return an expression for an ID; where its type is told by its looks, one of the other kind is NULL."""
    text, number = f"f{column}", f"n{column}"
    if kind == STRINGS and id_type == "string":
        return text
    if kind == STRINGS:  # integers begin with digits, signs or blanks, all of them before the colon
        is_integer = f"TRY_CAST({text} AS BIGINT)::VARCHAR = trim({text}, {_BLANKS})"
        return f"CASE WHEN {text} < ':' AND {is_integer} THEN NULL ELSE {text} END"
    if id_type == "integer":
        return _integer(column)
    return f"CASE WHEN {number}::VARCHAR = {text} OR {number}::VARCHAR = trim({text}, {_BLANKS}) THEN {number} END"


def _integer(column: int) -> str:
    """Return an expression for an integer, however it is written; DuckDB itself rounds floats."""
    text, number = f"f{column}", f"n{column}"
    is_integer = f"regexp_full_match({text}, '[ \\t]*[-+]?[0-9]+[ \\t]*')"
    return f"CASE WHEN {number}::VARCHAR = {text} OR {is_integer} THEN {number} END"


def open_text_table(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    packing: str,
    wanted: Sequence[str],
    options: ReadOptions,
    num_ids: int,
) -> tuple[TextTable, str]:
    """Open a file of text; also tell what was guessed, if anything was."""
    table = TextTable(path, (), options.delimiter_character or "", options.comment, packing)
    numbered = f"SELECT row_number() OVER () AS number, line FROM {table._lines(0)}"
    first = connection.sql(f"SELECT line FROM ({numbered}) WHERE {table._is_row()} LIMIT 1").fetchall()
    if not first:
        what = "no line but blanks and comments"
        raise InputFileError("empty file", file=path, expected="a row per line", found=what)
    if "\0" in first[0][0]:
        raise InputFileError("not text", file=path, found="a zero byte", hint="text must be UTF-8")
    if not table.delimiter:
        table = replace(table, delimiter=_guess_delimiter(first[0][0], num_ids))
    query = f"SELECT number, {table._fields()} FROM ({numbered}) WHERE {table._is_row()} LIMIT {LINES_LOOKED_AT}"
    lines = connection.sql(query).fetchall()
    if lines[0][1] is None:
        raise table.explain(connection, 0, 0, "")
    rows = [[_unquoted(field) for field in fields] for _, fields in lines if fields is not None]
    by_name = any(name and not name.isdigit() for name in wanted)
    has_header = by_name or _looks_like_header(rows) if options.header is None else options.header
    has_header = has_header or (by_name and num_ids == 1)  # --no-header is about edges: a list has its own column
    names = [name.strip() for name in rows[0]] if has_header else []
    found = find_columns(path, wanted, names, len(rows[0]), num_ids)
    if options.header is None and not has_header and options.map_ids and options.id_type != "integer":
        _check_no_header(path, rows, [position for _, position in found[:num_ids]])
    table = replace(table, num_fields=len(rows[0]), skipped=lines[0][0] if has_header else 0)
    first_line, first_row = (lines[has_header][0], rows[has_header]) if len(rows) > has_header else (0, [])
    columns = tuple(_column(name, position, first_line, first_row) for name, position in found)
    guessed = (
        [] if options.delimiter else [f"{NAMES_OF_DELIMITERS.get(table.delimiter, table.delimiter)} between fields"]
    )
    guessed += [] if options.header is not None else [f"{'a' if has_header else 'no'} header"]
    return replace(table, columns=columns), f"{path}: {', '.join(guessed)}" if guessed else ""


def _column(name: str, position: int, line: int, row: Sequence[str]) -> Column:
    if position >= len(row):
        return Column(name, position, NO_IDS)
    text = row[position].strip(" \t")
    is_integer = re.fullmatch(r"0|-?[1-9]\d*", text) and -(2**63) <= int(text) < 2**63
    kind = INTEGERS if is_integer else STRINGS
    return Column(name, position, kind, (f"line {line:,}, column {name!r}", shown(row[position])))


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def _guess_delimiter(line: str, num_ids: int) -> str:
    """The first delimiter that cuts the line; a line of one column of names may hold spaces."""
    for delimiter in ("\t", ",", ";", " ") if num_ids > 1 else ("\t", ",", ";"):
        if delimiter in (line.strip() if delimiter == " " else line):
            return delimiter
    return " " if num_ids > 1 else ","


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


def _check_no_header(path: str, rows: Sequence[Sequence[str]], positions: Sequence[int]) -> None:
    """Refuse a first row of plain words, none of which is an ID further down, where all IDs are strings."""
    first = [rows[0][i].strip() for i in positions if i < len(rows[0])]
    later = {row[i].strip() for row in rows[1:] for i in positions if i < len(row)}
    if all(_NAME.fullmatch(text) and text not in later for text in first):
        raise InputFileError(
            "the first line may be a header, or a row like all others",
            file=path,
            found=", ".join(map(repr, first)),
            hint="say --header or --no-header",
        )
