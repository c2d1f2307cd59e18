"""Find the files of a config's tables, and their columns by DuckDB; reads rows only to tell types of CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.errors import GraphPartError, InputFileError, InputFileNotFoundError
from daskgraphpart.sources.database import quote, run, translated_errors
from daskgraphpart.sources.table_files import list_files
from daskgraphpart.sources.table_words import is_there

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from daskgraphpart.construction.config import Construction, Entry, Faults

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FLOATS = ("FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UHUGEINT")
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Texts that pandas, and so gconstruct, reads as missing in CSV."""
MIXED = "?"


@dataclass(frozen=True, slots=True)
class Table:
    """An entry of the config with its files, SQL of its rows in order, and types by column."""

    entry: Entry
    files: tuple[str, ...]
    relation: str
    types: Mapping[str, str]


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
    found: list[str] = []
    for i, path in enumerate(given):
        beside = str(config.path.parent / path)
        try:
            found += list_files(path if is_there(path) or not is_there(beside) else beside)
        except InputFileNotFoundError as fault:
            hint = "paths are relative to the working directory, or to the directory of the config"
            faults.add(place if len(given) == 1 else f"{place}[{i}]", fault.what, file=path, hint=hint)
        except InputFileError as fault:
            faults.found.append(fault)
    for path in sorted({path for path in found if found.count(path) > 1}):
        faults.add(place, "a file is given twice", file=path, hint="remove one")
    return tuple(sorted(found))


def open_table(connection: duckdb.DuckDBPyConnection, config: Construction, entry: Entry, faults: Faults) -> Table:
    """Find a table's files and columns; note files whose columns differ."""
    files = find_files(config, f"{entry.place}.files", entry.files, faults)
    wanted = dict.fromkeys((*entry.ids, *(column for f in entry.features for column in f.columns)))
    wanted |= dict.fromkeys(label.column for label in entry.labels if label.column)
    types: dict[str, str] = {}
    for path in files:
        try:
            found = columns_of(connection, scan(entry, (path,)), path)
        except GraphPartError as fault:
            faults.found.append(fault)
            continue
        for column in wanted:
            if column not in found:
                known = ", ".join(found)
                faults.add(_place_of(entry, column), f"no column {column!r}", file=path, expected=f"one of {known}")
            else:
                types[column] = _common(types.get(column), found[column], entry.form)
    for column, found_type in types.items():
        if found_type == MIXED:
            what = f"column {column!r} has different types in different files"
            faults.add(_place_of(entry, column), what, file=files[0], hint="write all files with one type")
    texts = [*entry.ids] if config.are_ids_text else []
    texts += [c for c, found_type in types.items() if found_type == "VARCHAR"]
    forced = [column for column in dict.fromkeys(texts) if column in types]
    if entry.form == "csv":
        types |= dict.fromkeys(forced, "VARCHAR")
    return Table(entry, files, scan(entry, files, types), types)


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
    """Return SQL of the rows of files, in order; types are for columns of CSV."""
    listed = f"[{', '.join(map(quote, files))}]"
    if entry.form == "parquet":
        return f"read_parquet({listed}, union_by_name = true)"
    known = ", ".join(f"{quote(column)}: {quote(of)}" for column, of in (types or {}).items())
    return (
        f"read_csv({listed}, delim = {quote(entry.delimiter)}, header = true, sample_size = -1, union_by_name = true, "
        f"quote = '\"', auto_type_candidates = ['BIGINT', 'DOUBLE', 'VARCHAR'], "
        f"nullstr = [{', '.join(map(quote, MISSING))}]{f', types = {{{known}}}' if known else ''})"
    )


def columns_of(connection: duckdb.DuckDBPyConnection, relation: str, path: str) -> dict[str, str]:
    """Return the types of the columns of a file."""
    with translated_errors(path):
        return {column: found for column, found, *_ in run(connection, f"DESCRIBE SELECT * FROM {relation}")}


def _place_of(entry: Entry, column: str) -> str:
    """Return the first place at which the config names a column."""
    if column in entry.ids:
        return id_place(entry, entry.ids.index(column))
    for feature in entry.features:
        if column in feature.columns:
            return column_place(feature.place, "feature_col")
    return column_place(next(label.place for label in entry.labels if label.column == column), "label_col")


def column_place(place: str, key: str) -> str:
    """Return the place of a feature's or label's column, in either dialect."""
    return f"{place}.column" if place.startswith("graph.") else f"{place}.{key}"


def id_place(entry: Entry, number: int) -> str:
    """Return the place of an ID column, in either dialect."""
    if not entry.is_edges:
        return column_place(entry.place, "node_id_col")
    end = ("source", "dest")[number]
    return f"{entry.place}.{end}.column" if entry.place.startswith("graph.") else f"{entry.place}.{end}_id_col"
