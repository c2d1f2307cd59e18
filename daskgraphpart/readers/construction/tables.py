"""Find the files of a config's tables, their columns by DuckDB, and their IDs: nodes are numbered in the order of rows.

IDs are tables of DuckDB; the ends of edges become npy files: those of unknown nodes are refused, or dropped with their
edges. Rows are read before only to tell the types of CSV.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import GraphPartError, InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.graph.metadata import ID_MAP
from daskgraphpart.graph.rows import EdgeEnds
from daskgraphpart.readers.compare_ids import (
    are_strangers,
    count_matches,
    do_most_match,
    guess_column,
    guess_spelling,
    match_without_blanks,
    not_listed,
    some_ids,
)
from daskgraphpart.readers.construction.config import in_dialect
from daskgraphpart.readers.database import (
    ROWS_PER_BATCH,
    count_rows,
    drop_rows,
    quote,
    run,
    scatter_numbers,
    stage_rows,
    translated_errors,
)
from daskgraphpart.readers.list_files import is_there, list_files, local_name
from daskgraphpart.readers.names_of_ends import ENDS
from daskgraphpart.readers.rank_ids import keep_ids, rank_ids

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.readers.construction.config import Construction, Entry, Faults
    from daskgraphpart.source import Source
    from daskgraphpart.storage.region import Region

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FLOATS = ("FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UHUGEINT")
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Texts that pandas, and so gconstruct, reads as missing in CSV."""
MIXED = "?"
ROW = '"(row)"'
"""Column of the number of a row, a name that users' columns hardly have."""


@dataclass(frozen=True, slots=True)
class Table:
    """An entry of the config with its files, SQL of its rows, and types by column.

    `sets` has SQL of the IDs in each set of a label, by the place of their files.
    """

    connection: duckdb.DuckDBPyConnection
    entry: Entry
    files: tuple[str, ...]
    relation: str
    types: Mapping[str, str]
    sets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def numbered(self) -> str:
        """SQL of its rows with their numbers, known at the scan: DuckDB promises no order beyond it."""
        return f"(SELECT row_number() OVER () - 1 AS {ROW}, * FROM {self.relation})"


def name(column: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def is_number(type_name: str) -> bool:
    """Whether a DuckDB type holds numbers."""
    return type_name in INTEGERS or type_name.partition("(")[0] in FLOATS


def element(type_name: str) -> str | None:
    """Return the type of a list's elements; None for other types."""
    return type_name[: type_name.rindex("[")] if type_name.endswith("]") else None


def find_files(config: Construction, place: str, given: Sequence[str], faults: Faults) -> tuple[str, ...]:
    """Find files as gconstruct does: sorted; relative to the working directory, or else to the config."""
    paths: list[str] = []
    for i, path in enumerate(given):
        beside, where = str(config.path.parent / path), place if len(given) == 1 else f"{place}[{i}]"
        try:
            known = is_there(path) or not is_there(beside)
            paths += list_files(local_name(path) if known else beside)
        except InputFileNotFoundError as fault:
            hint = "paths are relative to the working directory, or to the directory of the config"
            faults.add(where, fault.what, file=path, hint=hint)
        except (InputFileError, OptionError) as fault:
            faults.errors.append(fault.restated(InputFileError, place=in_dialect(where)))
    for path in sorted({path for path in paths if paths.count(path) > 1}):
        faults.add(place, "a file is given twice", file=path, hint="remove one")
    return tuple(sorted(paths))


def open_table(connection: duckdb.DuckDBPyConnection, config: Construction, entry: Entry, faults: Faults) -> Table:
    """Find a table's files and columns; note files whose columns differ."""
    files = find_files(config, f"{entry.place}.files", entry.files, faults)
    wanted = dict.fromkeys((*entry.ids, *(column for f in entry.features for column in f.columns)))
    wanted |= dict.fromkeys(label.column for label in entry.labels if label.column)
    types: dict[str, str] = {}
    for path in files:
        try:
            kinds = columns_of(connection, scan(entry, (path,)), path)
        except GraphPartError as fault:
            faults.errors.append(fault)
            continue
        for column in wanted:
            if column not in kinds:
                known = ", ".join(kinds)
                faults.add(_place_of(entry, column), f"no column {column!r}", file=path, expected=f"one of {known}")
            else:
                types[column] = _common(types.get(column), kinds[column], entry.form)
    for column, found_type in types.items():
        if found_type == MIXED:
            what = f"column {column!r} has different types in different files"
            faults.add(_place_of(entry, column), what, file=files[0], hint="write all files with one type")
    texts = [*entry.ids] if config.are_ids_text else []
    texts += [c for c, found_type in types.items() if found_type == "VARCHAR"]
    forced = [column for column in dict.fromkeys(texts) if column in types]
    if entry.form == "csv":
        types |= dict.fromkeys(forced, "VARCHAR")
    return Table(connection, entry, files, scan(entry, files, types), types)


def _common(before: str | None, now: str, form: str) -> str:
    """Return a type for the values of two files; in CSV everything fits into text."""
    if before in (None, now):
        return now
    assert before is not None, "two types are compared"
    if is_number(before) and is_number(now):
        return "BIGINT" if before in INTEGERS and now in INTEGERS else "DOUBLE"
    if "VARCHAR" in (before, now) and (is_number(before) or is_number(now)):
        return "VARCHAR" if form == "csv" else MIXED
    return "DOUBLE[]" if all(is_number(element(of) or "") for of in (before, now)) else MIXED


def scan(entry: Entry, files: tuple[str, ...], types: Mapping[str, str] | None = None) -> str:
    """Return SQL of the rows of files; types are for columns of CSV."""
    listed = f"[{', '.join(map(quote, files))}]"
    if entry.form == "parquet":
        return f"read_parquet({listed}, union_by_name = true)"
    known = ", ".join(f"{quote(column)}: {quote(of)}" for column, of in (types or {}).items())
    return (
        f"read_csv({listed}, delim = {quote(entry.delimiter)}, header = true, sample_size = -1, union_by_name = true, "
        # all of the dialect, for what is not said is guessed from the rows: a comment, a second table
        f"quote = '\"', escape = '\"', comment = '', skip = 0, auto_type_candidates = ['BIGINT', 'DOUBLE', 'VARCHAR'], "
        f"nullstr = [{', '.join(map(quote, MISSING))}]{f', types = {{{known}}}' if known else ''})"
    )


def columns_of(connection: duckdb.DuckDBPyConnection, relation: str, path: str) -> dict[str, str]:
    """Return the types of the columns of a file."""
    with translated_errors(path):
        return {column: kind for column, kind, *_ in run(connection, f"DESCRIBE SELECT * FROM {relation}")}


def _place_of(entry: Entry, column: str) -> str:
    """Return the first place at which the config names a column."""
    if column in entry.ids:
        return id_place(entry, entry.ids.index(column))
    for feature in entry.features:
        if column in feature.columns:
            return feature.column_place
    return next(label.column_place for label in entry.labels if label.column == column)


def id_place(entry: Entry, number: int) -> str:
    """Return the place of an ID column."""
    keys = ("source_id_col", "dest_id_col") if entry.is_edges else ("node_id_col",)
    return in_dialect(f"{entry.place}.{keys[number]}")


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """IDs of all node types in a database: whether each type's are integers, and the tables that hold them."""

    connection: duckdb.DuckDBPyConnection
    directory: Path
    are_integers: dict[str, bool]
    num_nodes: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def sql_type(self, ntype: str) -> str:
        """Type of the IDs of a node type."""
        return "BIGINT" if self.are_integers[ntype] else "VARCHAR"

    def table(self, of_type: str) -> str:
        """Name of the table of the IDs of a type: those of nodes, or of both ends of edges."""
        return self.names.setdefault(of_type, f"ids{len(self.names)}")

    def numbers(self, ntype: str) -> str:
        """SQL of IDs and the numbers of their nodes."""
        return f"(SELECT id, new_id AS n FROM {self.table(ntype)})"


def kinds_of_ids(tables: Iterable[Table], faults: Faults, *, are_text: bool) -> dict[str, bool]:
    """Tell for each node type whether its IDs are integers; note where tables differ, and IDs that are neither."""
    kinds: dict[str, tuple[bool, str]] = {}
    for table in (table for table in tables if table.entry.of_type):
        for i, (ntype, column) in enumerate(zip(table.entry.ends, table.entry.ids, strict=False)):
            if column not in table.types:
                continue
            of_type = table.types[column]
            place, is_integer = id_place(table.entry, i), of_type in INTEGERS and not are_text
            if not are_text and of_type not in (*INTEGERS, "VARCHAR"):
                faults.add(
                    place, "not a column of IDs", file=table.files[0], expected="integers or text", found=of_type
                )
                continue
            before = kinds.setdefault(ntype, (is_integer, f"{place}, {column!r}"))
            if before[0] != is_integer:
                what = f"IDs of {ntype!r} are integers in one table, and text in another"
                expected = f"{'integers' if before[0] else 'text'}, as in {before[1]}"
                faults.add(place, what, file=table.files[0], expected=expected, found=of_type)
    return {ntype: is_integer for ntype, (is_integer, _) in kinds.items()}


def read_ids(ids: Ids, table: Table) -> None:
    """Read the IDs of a table, those of nodes or of both ends of edges; null ones are refused."""
    entry, connection = table.entry, ids.connection
    columns = zip(entry.ids, entry.ends, entry.keys, strict=True)
    values = [f"CAST({name(column)} AS {ids.sql_type(end)}) AS {key}" for column, end, key in columns]
    number = f"{ROW} AS {'row' if entry.is_edges else 'new_id'}"
    with translated_errors(table.files[0]):
        query = f"SELECT {number}, {', '.join(values)} FROM {table.numbered}"
        run(connection, f"CREATE TABLE {ids.table(entry.of_type)} AS {query}")
    for i, column in enumerate(entry.keys):
        of_table = f"{ids.table(entry.of_type)} WHERE {column} IS NULL"
        ((row,),) = run(connection, f"SELECT min({number.split()[-1]}) FROM {of_table}")
        if row is not None:
            place, hint = id_place(entry, i), "in CSV, texts such as NA and null are missing values, as pandas has it"
            raise InputFileError("ID is missing", **located(ids, table, row, place), hint=hint)


def check_ids(ids: Ids, table: Table) -> None:
    """Refuse an ID that is there twice."""
    source = ids.table(table.entry.of_type)
    query = f"SELECT id, max(new_id) FROM {source} GROUP BY id HAVING count(*) > 1 ORDER BY 2 LIMIT 1"
    for value, row in run(ids.connection, query):
        where, hint = located(ids, table, row, id_place(table.entry, 0)), "remove one of the rows"
        what, expected, shown = "a node is listed twice", "every ID once", f"{value!r} twice"
        raise InputFileError(what, **where, expected=expected, found=shown, hint=hint)


def located(ids: Ids, table: Table, row: int, place: str) -> dict[str, Any]:
    """Return the file and the row of a row of all files, from 1, for errors."""

    def count(path: str) -> int:
        return count_rows(ids.connection, scan(table.entry, (path,), table.types))

    ends = list(accumulate(count(path) for path in table.files))
    index = min(bisect_right(ends, row), len(ends) - 1)
    first = ends[index - 1] if index else 0
    return {"file": table.files[index], "place": f"{place}, row {row - first + 1:,}"}


def finish_nodes(ids: Ids, out: Path, etypes: Sequence[str]) -> None:
    """Collect the IDs of node types that only edges have, in their order; write maps of the IDs of all types."""
    for ntype in sorted(ids.are_integers):
        kept, is_text = out / ID_MAP / f"{ntype}.parquet", not ids.are_integers[ntype]
        if ntype in ids.names:
            keep_ids(ids.connection, ids.table(ntype), kept, is_text=is_text)
        else:
            ends = [
                f"SELECT {column} AS id FROM {ids.table(etype)}"
                for etype in etypes
                for column, end in zip(ENDS, etype.split(":")[::2], strict=True)
                if end == ntype
            ]
            rank_ids(ids.connection, ids.table(ntype), " UNION ALL ".join(ends), kept, is_text=is_text)
        ids.num_nodes[ntype] = count_rows(ids.connection, ids.table(ntype))


def find_ends(
    ids: Ids, table: Table, nodes: Mapping[str, Table], progress: ProgressListener, *, drop_unknown: bool
) -> tuple[Source, Region | None]:
    """Write the ends of edges; and the numbers of the rows that have both, if some were dropped.

    `nodes` are the tables that list nodes, by type.
    """
    connection, of_edges = ids.connection, ids.table(table.entry.of_type)
    num_rows = count_rows(connection, of_edges)
    ends = list(zip(ENDS, table.entry.ends, strict=True))
    for i, (column, end) in enumerate(ends):
        is_unknown = f"NOT EXISTS (SELECT 1 FROM {ids.table(end)} i WHERE i.id = {of_edges}.{column})"
        query = f"SELECT row, {column} FROM {of_edges} WHERE {is_unknown} ORDER BY 1 LIMIT 1"
        for row, value in run(connection, query):
            _refuse_strangers(ids, table, nodes[end], i)
            listed = f"SELECT id FROM {ids.table(end)}"
            alike = match_without_blanks(connection, f"SELECT {column}::VARCHAR AS id FROM {of_edges}", listed)
            blanks = f"{alike:,} of these IDs are known without blanks around them: remove these" if alike else ""
            if drop_unknown and blanks:
                progress.note(f"{table.entry.of_type}: IDs of {end!r} nodes that have no row: {blanks}")
            if not drop_unknown:
                what, hint = f"an edge of an unknown {end!r} node", "--unknown-nodes drop leaves such edges out"
                where = located(ids, table, row, id_place(table.entry, i))
                hint = f"{blanks}. Or {hint}" if blanks else hint
                raise InputFileError(what, **where, found=repr(value), hint=hint)
        if drop_unknown:
            drop_rows(connection, of_edges, is_unknown)
        if num_rows and not count_rows(connection, of_edges):
            what = f"--unknown-nodes drop leaves none of the {num_rows:,} edges of {table.entry.of_type}"
            hint = f"check {id_place(table.entry, i)} and the IDs of {end!r} nodes"
            raise InputFileError(what, file=table.files[0], place=id_place(table.entry, i), hint=hint)
    num_left, kept = count_rows(connection, of_edges), None
    if num_left < num_rows:
        dropped = f"{num_rows - num_left:,} of {num_rows:,} edges, of unknown nodes, were dropped"
        progress.note(f"{table.entry.of_type}: {dropped}")
        query = f"SELECT row FROM {of_edges} ORDER BY row"
        kept = stage_rows(connection, query, str(ids.directory / f"{of_edges}-rows"), np.dtype(np.int64))
    numbers = [
        scatter_numbers(
            connection,
            f"SELECT t.row, i.new_id FROM {of_edges} t JOIN {ids.table(end)} i ON t.{column} = i.id",
            str(ids.directory / f"{of_edges}-{column}"),
            num_left,
            kept,
        )
        for column, end in ends
    ]
    return EdgeEnds(*numbers), kept


def _refuse_strangers(ids: Ids, table: Table, nodes: Table, number: int) -> None:
    """Refuse an end hardly any ID of which is that of a node; guess what was meant."""
    connection, end, of_edges = ids.connection, table.entry.ends[number], ids.table(table.entry.of_type)
    query, listed = f"SELECT {ENDS[number]} AS id FROM {of_edges}", f"SELECT id FROM {ids.table(end)}"
    count, matching = count_matches(connection, query, listed)
    if not are_strangers(connection, count, matching, listed):
        return
    source, dest = (id_place(table.entry, i) for i in range(2))
    is_swapped = table.entry.ends[0] != table.entry.ends[1] and do_most_match(
        connection,
        f"SELECT {ENDS[1 - number]}::VARCHAR AS id FROM {of_edges}",
        f"SELECT id::VARCHAR AS id FROM ({listed})",
    )
    hint = f"the ends seem to be swapped: exchange {source} and {dest}" if is_swapped else None
    hint = hint or guess_spelling(connection, query, listed)
    tries = () if hint else ((table, listed, (source, dest)[number]), (nodes, query, id_place(nodes.entry, 0)))
    for tried, others, place in tries:
        if hint is None and (column := guess_column(connection, _columns(ids, tried), others)):
            hint = f"column {column!r} of {tried.files[0]} seems to hold them: name it as {place}"
    raise InputFileError(
        f"{matching:,} of {count:,} IDs of {end!r} nodes in {table.entry.of_type} are in the table of these nodes",
        file=table.files[0],
        place=id_place(table.entry, number),
        expected=f"IDs such as {some_ids(connection, listed)}, as in {nodes.files[0]}",
        found=some_ids(connection, not_listed(query, listed)),
        hint=hint or f"check {id_place(table.entry, number)} and {id_place(nodes.entry, 0)}",
    )


def _columns(ids: Ids, table: Table) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a table's first file, and their first values, as text."""
    relation = scan(table.entry, table.files[:1])
    for column, kind in columns_of(ids.connection, relation, table.files[0]).items():
        if kind == "VARCHAR" or kind.endswith(("INT", "INTEGER")):
            values = f"SELECT {name(column)}::VARCHAR AS id FROM {relation} LIMIT {ROWS_PER_BATCH}"
            yield column, ids.connection.sql(values).to_arrow_table()
