"""Write a column, or the columns of a vector, to a file: numbers in one dtype, strings as codes, words as sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from daskgraphpart.errors import InputFileError, OptionError, PlanError
from daskgraphpart.graph.metadata import CATEGORIES
from daskgraphpart.graph.rows import KeptRows
from daskgraphpart.graph.transforms.check_changes import split_column
from daskgraphpart.readers.database import count_rows, quote, run
from daskgraphpart.readers.rank_ids import rank_ids
from daskgraphpart.readers.tables.describe.columns import STRINGS, TIMES
from daskgraphpart.readers.tables.describe.split_sets import IN_NO_SET, SETS, set_of
from daskgraphpart.readers.tables.load.feature_file import staged_rows
from daskgraphpart.readers.tables.load.loaded_tables import TABLE, Load, LongTexts
from daskgraphpart.readers.tables.read_options import SPLIT
from daskgraphpart.units import format_number, format_size

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.description import Table
    from daskgraphpart.readers.tables.place.node_ids import NumberedTables
    from daskgraphpart.source import Source
    from daskgraphpart.storage.region import Region

MISSING_CODE = -1
"""Of strings that are missing: no category."""


def stage_feature(numbered: NumberedTables, table: Table, name: str, kept: Region | None) -> Source:
    """Return a feature in the order of the table; `kept` are the rows that are left if some were dropped."""
    number = table.features[name][0]
    kind, load = table.kind(number), numbered.load
    if name == SPLIT:
        return _stage_sets(numbered, table, number)
    if kind == STRINGS:
        return _stage_codes(numbered, table, name)
    if kind == TIMES:
        load.progress.note(f"{_place(table, number)}: times, kept as microseconds since 1970")
    rows = staged_rows(table, name, load.staged[table.name, name])
    return rows if kept is None else KeptRows(rows, kept)


def _place(table: Table, number: int) -> str:
    return f"{table.files[0].path}, column {table.column(number).name!r}"


def _path(numbered: NumberedTables, table: Table, number: int) -> str:
    return numbered.path(f"{table.name}-{number}")


def _stage_sets(numbered: NumberedTables, table: Table, number: int) -> Region:
    """Write the number of each node's set, and report how many nodes are in each."""
    load, found_set = numbered.load, set_of(f"c{number}")
    counts = ", ".join(f"count(*) FILTER ({found_set} = {i})" for i in range(len(SETS)))
    (set_counts,) = run(load.connection, f"SELECT {counts} FROM {table.name}")
    shown_counts = [f"{mask} {count:,}" for mask, count in zip(SETS, set_counts, strict=True)]
    others = numbered.num_nodes[table.of_type] - sum(set_counts)
    where = _place(table, number)
    load.progress.note(f"{where}: {', '.join(shown_counts)}; in none: {others:,} {table.of_type!r} nodes")
    query = f"SELECT coalesce({set_of(f't.c{number}')}, {IN_NO_SET}) FROM {table.name} t ORDER BY t.row"
    return numbered.stage(query, _path(numbered, table, number), np.dtype(np.int8))


def _stage_codes(numbered: NumberedTables, table: Table, name: str) -> Region:
    """Write the codes of strings, which are ranks, and keep the strings."""
    load, number, of_type = numbered.load, table.features[name][0], table.of_type
    every = f"SELECT c{number} AS id FROM {table.name} WHERE c{number} IS NOT NULL"
    long_texts, categories = load.long_texts, _categories(table, number)
    if long_texts.keys:
        every = f"(SELECT DISTINCT id FROM ({every})) e LEFT JOIN {TABLE} l ON l.key = e.id"
        every = f"SELECT coalesce(l.text, e.id) AS id FROM {every}"
    kept = numbered.job.companions / CATEGORIES / of_type / f"{name}.parquet"
    old = load.described.old_codes.get((of_type, name))
    with _enough_named(long_texts):
        num_old = rank_ids(load.connection, categories, every, kept, is_text=True, old=old)
    code = code_of_missing(load, table, name)
    _warn_unlisted_categories(numbered, table, name, num_old, code)
    keyed = categories
    if long_texts.keys:
        keyed = f"(SELECT coalesce(l.key, c.id) AS id, new_id FROM {categories} c LEFT JOIN {TABLE} l ON l.text = c.id)"
    codes = f"SELECT coalesce(k.new_id, {code}) FROM {table.name} t LEFT JOIN {keyed} k ON t.c{number} = k.id"
    return numbered.stage(f"{codes} ORDER BY t.row", _path(numbered, table, number), np.dtype(np.int64))


@contextmanager
def _enough_named(long_texts: LongTexts) -> Iterator[None]:
    """Say how much memory is enough if long texts do not fit."""
    try:
        yield
    except duckdb.OutOfMemoryException as fault:
        if not long_texts.keys:
            raise
        what, least = f"categories of {format_size(long_texts.nbytes)} need more memory", 10 * long_texts.nbytes
        hint = f"use {-(-least // 1_000_000)}MB or more"
        raise PlanError(what, place="--memory", hint=hint) from fault


def _categories(table: Table, number: int) -> str:
    """Name the table of a feature's categories."""
    return f"{table.name}_{number}"


def code_of_missing(load: Load, table: Table, name: str) -> int:
    """Return the code of missing strings: -1, or that of a category given as the fill value."""
    if name == SPLIT:
        return IN_NO_SET
    number, fill = table.features[name][0], load.described.fill(table, name)
    if load.described.is_split(table, name):  # a gap has no name for a relation
        ((count,),) = run(load.connection, f"SELECT count(*) FROM {table.name} WHERE c{number} IS NULL")
        if count:
            what, hint = "edges without a value to split them by", f"give them one by --fill {name}=VALUE"
            raise InputFileError(what, file=table.files[0].path, place=f"column {name!r}", found=count, hint=hint)
        return MISSING_CODE
    if fill is None:
        return MISSING_CODE
    codes = run(load.connection, f"SELECT new_id FROM {_categories(table, number)} WHERE id = {quote(fill)}")
    if not codes and fill == str(MISSING_CODE):
        return MISSING_CODE
    if not codes:
        what, hint = f"the fill value is no category of {name!r}", f"leave it out: missing values become {MISSING_CODE}"
        raise OptionError(what, option="fill", found=fill, hint=hint)
    return int(codes[0][0])


def _warn_unlisted_categories(numbered: NumberedTables, table: Table, name: str, num_old: int, code: int) -> None:
    """Report that a feature has codes, and where their values are; split edge types share them."""
    load, of_type, number = numbered.load, table.of_type, table.features[name][0]
    described = load.described
    if of_type in described.etypes and split_column(described.changes, of_type) is not None:
        if described.is_split(table, name):
            return  # they become relations
        src, _, dst = of_type.split(":")
        of_type = f"{src}:*:{dst}"
    count = count_rows(load.connection, _categories(table, number))
    how = "as codes" if described.options.codes_from is None else f"as codes: {num_old:,} old, {count - num_old:,} new"
    path = f"{CATEGORIES}/{of_type}/{name}.parquet"
    ((missing,),) = run(load.connection, f"SELECT count(*) FROM {table.name} WHERE c{number} IS NULL")
    if len(table.ends) == 1:  # nodes without a row
        missing += max(0, numbered.num_nodes[table.of_type] - load.num_rows(table))
    gaps = f"; {format_number(missing, 'missing value')}, as {code}" if missing else ""
    if missing and "" in described.options.fills and described.fill(table, name) is None:
        gaps += ", since a fill value for all features is only for numbers"
    load.progress.note(f"{_place(table, number)}: {count:,} categories, {how}; {path} has them{gaps}")
