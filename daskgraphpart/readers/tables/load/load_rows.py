"""Read all rows of all files into the database; report all that is wrong with them, by file and line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from daskgraphpart.engine.local import give_memory_back
from daskgraphpart.errors import GraphPartError, InputFileError, collect_fault, raise_together
from daskgraphpart.graph.rows import ArrayRows, JoinedRows, KeptRows
from daskgraphpart.readers.database import (
    ROWS_PER_BATCH,
    count_rows,
    drop_rows,
    insert_batches,
    numbered_batches,
    quote,
    run,
    stage_rows,
    translated_errors,
)
from daskgraphpart.readers.tables.describe.columns import BYTES, MAX_ID, MISSING, STRINGS, TIME_HINT, TIMES, VECTORS
from daskgraphpart.readers.tables.describe.split_sets import EXPECTED, set_of
from daskgraphpart.readers.tables.describe.text_file import TextFile
from daskgraphpart.readers.tables.load.feature_file import FeatureFile, feature_files
from daskgraphpart.readers.tables.load.values import feature_values, id_value, is_missing_id, is_no_id
from daskgraphpart.readers.tables.read_options import SPLIT
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.description import OpenFile, Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load


def load_rows(load: Load) -> None:
    """Fill the database; rows without an ID are dropped, if requested."""
    sizes = [os.path.getsize(file.content) for table in load.described.tables for file in table.files]
    load.progress.begin("read-edges", len(sizes), sum(sizes))
    faults: list[GraphPartError] = []
    for table in load.tables:
        _create(load, table)
        for _, files in groupby(table.files, partial(_statement, load, table)):
            with collect_fault(faults):
                _insert(load, table, list(files), faults)
        faults += find_faults(load, table)
    raise_together(faults)
    _check_edge_counts(load)
    load.progress.end()
    give_memory_back()
    for table in load.tables:
        _warn_of_headers(load, table)
        _drop_missing(load, table)


def _create(load: Load, table: Table) -> None:
    types = ["row BIGINT"]
    types += [f"c{i} {'VARCHAR' if load.kinds[end][0] == STRINGS else 'BIGINT'}" for i, end in enumerate(table.ends)]
    types += [f"c{i} VARCHAR, n{i} BOOLEAN" for i in load.strings(table)]
    types += ["no_id BOOLEAN"] if load.described.drops_missing(table) else []
    run(load.connection, f"CREATE TABLE {table.name} ({', '.join(types)})")
    load.starts[table.name] = [0]
    for feature in table.features:
        path = "" if load.counts_only else f"{load.directory}/{table.name}"
        fill = load.described.fill(table, feature)
        load.staged[table.name, feature] = feature_files(table, feature, fill, path, load.memory)


def _statement(load: Load, table: Table, file: OpenFile) -> tuple[str, Any]:
    """Return how to insert rows of a file, and the schema of what is inserted; of a matrix, for it alone."""
    types = [(f"r{i}", kind) for i in _numbers(load, table) if (kind := file.type_of(i)) is not None]
    drops = [("no_id", pa.bool_())] if load.described.drops_missing(table) else []
    schema = pa.schema([("row", pa.int64()), *(types or [("none", pa.string())]), *drops])
    values = ", ".join(["row", *_values(load, table, file)])
    of_matrix = "" if file.num_entries is None else f" -- {file.path!r}"
    return f"INSERT INTO {table.name} SELECT {values} FROM batches{of_matrix}", schema


def _numbers(load: Load, table: Table) -> list[int]:
    """Return the numbers of the columns that enter the database."""
    return [*range(len(table.ends)), *load.strings(table)]


def _insert(load: Load, table: Table, files: Sequence[OpenFile], faults: list[GraphPartError]) -> None:
    """Insert IDs and strings of files of one kind after those of the files before; write their other features."""
    statement, schema = _statement(load, table, files[0])
    starts, reading, refused = load.starts[table.name], [files[0]], list[tuple[int, int]]()

    def columns() -> Iterator[list[Any]]:
        for file in files:
            reading[0], start = file, starts[-1]
            starts.append(start)
            num_faults = len(faults)
            with collect_fault(faults), translated_errors(file.path), _forgotten_if_refused(load.files_of(table)):
                for of_batch in _read(load, table, file):
                    starts[-1] += len(of_batch[0])
                    yield of_batch
            if len(faults) > num_faults:
                refused.append((start, starts[-1]))
            load.progress.advance(os.path.getsize(file.content or file.path))

    first = starts[-1]
    try:
        insert_batches(load.connection, statement, schema, numbered_batches(columns(), schema, first))
    except (duckdb.Error, UnicodeError):
        with translated_errors(reading[0].path):
            raise
    for start, stop in refused:  # what refuses a file is told instead of its values
        run(load.connection, f"DELETE FROM {table.name} WHERE row >= {start} AND row < {stop}")
    if files[0].num_entries is not None and not refused:
        _complete_matrix(load, table, files[0], first)


def _read(load: Load, table: Table, file: OpenFile) -> Iterator[list[Any]]:
    """Yield what enters the database; write the other features."""
    numbers = _numbers(load, table)
    first, *others = _groups(load.files_of(table), file.columns_at_once(load.memory), len(numbers))
    yield from _stage(load, table, file, first, numbers)
    for some in others:
        for _ in _stage(load, table, file, some, []):
            pass


@contextmanager
def _forgotten_if_refused(staged: Sequence[FeatureFile]) -> Iterator[None]:
    """Forget the bad values of a file that is refused: what refuses it is told instead."""
    before = [dict(of.bad) for of in staged]
    try:
        yield
    except BaseException:
        for of, bad in zip(staged, before, strict=True):
            of.bad = bad
        raise


def _groups(staged: Sequence[FeatureFile], at_once: int, num_first: int) -> list[list[FeatureFile]]:
    """Return what is read together, up to some columns; other columns are read with the first."""
    groups, width = [list[FeatureFile]()], num_first
    for of in staged:
        if width + len(of.numbers) > at_once and width:
            groups.append([])
            width = 0
        groups[-1].append(of)
        width += len(of.numbers)
    return groups


def _stage(
    load: Load, table: Table, file: OpenFile, staged: Sequence[FeatureFile], numbers: Sequence[int]
) -> Iterator[list[Any]]:
    """Write features of all rows to their files; yield the other columns, in batches."""
    ids = range(len(table.ends)) if load.described.drops_missing(table) else range(0)
    wanted = list(dict.fromkeys([*numbers, *ids, *(i for of in staged for i in of.numbers)]))
    there = [i for i in wanted if file.type_of(i) is not None]
    for batch in file.batches(wanted):
        columns, num_rows = dict(zip(there, batch, strict=False)), len(batch[0])
        dropped = np.zeros(num_rows, bool)
        for i in ids:
            values = columns.get(i, pa.repeat(pa.scalar(file.columns[i].constant, pa.string()), num_rows))
            dropped |= is_missing_id(file.columns[i], load.kinds[table.ends[i]][0], values)
        for of in staged:
            of.add(load.connection, file, columns, dropped)
        strings = [i for i in numbers if i >= len(table.ends) and i in columns]
        columns |= {i: load.long_texts.shorten(load.connection, columns[i]) for i in strings}
        others = [columns[i] for i in numbers if i in columns] or [pa.nulls(num_rows, pa.string())]
        yield [*others, pa.array(dropped)] if ids else others


def _values(load: Load, table: Table, file: OpenFile) -> list[str]:
    """Return expressions for IDs and strings of a file; invalid values are NULL."""
    described = load.described
    options, ends = described.options, [*enumerate(table.ends)]
    id_type = options.id_type if options.map_ids else "integer"
    values = [id_value(i, file.columns[i], load.kinds[end][0], id_type) for i, end in ends]
    if not options.map_ids and file.first_id:
        values = [f"({value}) - {file.first_id}" for value in values]
    for feature, numbers in table.features.items():
        if table.kind_of(feature) == STRINGS:
            fill = described.fill(table, feature) if described.is_split(table, feature) else None
            for i in numbers:
                values += feature_values(i, file.columns[i], STRINGS, fill)
    return [*values, "no_id"] if described.drops_missing(table) else values


def _complete_matrix(load: Load, table: Table, file: TextFile, start: int) -> None:
    """Compare the number of entries with the header of a matrix; add the other half of a symmetric one."""
    count = count_rows(load.connection, table.name) - start
    if count != file.num_entries:
        what, place = "wrong number of entries", f"line {file.rows.first_line - 1}"
        raise InputFileError(what, file=file.path, place=place, expected=f"{file.num_entries:,}", found=f"{count:,}")
    if file.is_symmetric:
        mirrored = f"SELECT row FROM {table.name} WHERE row >= {start} AND c0 <> c1 ORDER BY row"
        numbers = stage_rows(load.connection, mirrored, f"{load.directory}/{table.name}-mirrored", np.dtype(np.int64))
        for of in load.files_of(table):
            entries = JoinedRows(tuple(of.parts))
            for _, rows in numbers.pieces(ROWS_PER_BATCH) if of.path else ():
                of.append(KeptRows(entries, ArrayRows(rows)).read(0, len(rows)))
        number = f"{start + count - 1} + row_number() OVER (ORDER BY row) AS row"
        reverse = f"{number}, c1 AS c0, c0 AS c1) FROM {table.name} WHERE row >= {start} AND c0 <> c1"
        run(load.connection, f"INSERT INTO {table.name} SELECT * REPLACE ({reverse}")
        load.starts[table.name][-1] = count_rows(load.connection, table.name)


def _check_edge_counts(load: Load) -> None:
    """Refuse an edge type whose number of rows differs from its data set's."""
    for table in load.described.of_edges:
        expected, num_read = load.described.num_edges.get(table.of_type), load.num_read(table)
        if expected not in (None, num_read):
            what = f"wrong number of {table.of_type!r} edges"
            raise InputFileError(what, file=table.files[0].path, expected=f"{expected:,}", found=f"{num_read:,}")


def _warn_of_headers(load: Load, table: Table) -> None:
    """Report edges between the names of their columns, as joined files have where each begins with a header."""
    if len(table.ends) < 2 or any(load.kinds[end][0] != STRINGS for end in table.ends):
        return
    with_header = [file for file in table.files if isinstance(file, TextFile) and file.has_header]
    for src, dst in sorted({(file.columns[0].name, file.columns[1].name) for file in with_header}):
        count = count_rows(load.connection, f"{table.name} WHERE c0 = {quote(src)} AND c1 = {quote(dst)}")
        if count:
            edges = f"{format_number(count, 'edge')} from {src!r} to {dst!r}, as the columns are named"
            load.progress.note(f"{table.files[0].path}: {edges}; remove lines that repeat a header")


def _drop_missing(load: Load, table: Table) -> None:
    """Drop a table's rows without ID, if requested, and report their number."""
    if not load.described.drops_missing(table):
        return
    drop_rows(load.connection, table.name, "no_id")
    num_rows = load.num_read(table)
    if count := num_rows - load.num_rows(table):
        note = f"{table.files[0].path}: {count:,} of {num_rows:,} rows without an ID were dropped"
        load.progress.note(note)


def find_faults(load: Load, table: Table) -> list[InputFileError]:
    """Return an error for each ID column and feature with missing or invalid values."""
    bad = _conditions(load, table)
    counted = ", ".join(f"min(row) FILTER ({of}), count(*) FILTER ({of})" for of in bad.values())
    (counts,) = run(load.connection, f"SELECT {counted} FROM {table.name}") if bad else ((),)
    columns = [
        (row, number, count) for number, row, count in zip(bad, counts[::2], counts[1::2], strict=False) if count
    ]
    columns += [(row, number, count) for of in load.files_of(table) for number, (row, count) in of.bad.items()]
    of_ids = sorted(column for column in columns if column[1] < len(table.ends))[:1]
    of_features = sorted(column for column in columns if column[1] >= len(table.ends))
    # a bad line lacks all values, as the first fault tells
    return [_fault(load, table, number, row, count) for row, number, count in sorted([*of_ids, *of_features])]


def _conditions(load: Load, table: Table) -> dict[int, str]:
    bad = {i: f"c{i} IS NULL" for i in range(len(table.ends))}
    for i in load.strings(table):
        bad[i] = f"n{i}"
        if i in table.features.get(SPLIT, ()):
            bad[i] += f" OR (trim(c{i}) <> '' AND {set_of(f'c{i}')} IS NULL)"
    limits = [] if load.described.options.map_ids else [load.described.num_nodes[end] for end in table.ends]
    for i, limit in enumerate(limits):
        bad[i] += f" OR c{i} NOT BETWEEN 0 AND {MAX_ID if limit is None else limit - 1}"
    if load.described.drops_missing(table):
        return {i: f"({of}) AND NOT no_id" for i, of in bad.items()}
    return bad


def _fault(load: Load, table: Table, number: int, row: int, count: int) -> InputFileError:
    file, place, text, shown_value = load.locate(table, row, number)
    if count > 1:
        shown_value = f"{shown_value}, and {count - 1:,} more of {load.num_read(table):,} rows"
    hint: str | None
    if number < len(table.ends):
        ((value,),) = run(load.connection, f"SELECT c{number} FROM {table.name} WHERE row = {row}")
        column, ntype = file.columns[number], table.ends[number]
        what, expected, hint = _explain_id(load, ntype, value, file)
        wanted = load.kinds[ntype][0]
        if text is None or is_no_id(column, wanted, text):
            what, hint = "ID is missing", "drop rows without an ID by --missing-ids drop"
            hint += f". Or if {text} is one: --map-ids --id-type string" if text and column.is_text else ""
        elif text == column.name and isinstance(file, TextFile) and file.has_header:
            hint = "remove this line, if it is the header once more"
        elif column.dtype is not None and column.dtype.kind == "f":
            hint = "write IDs as integers or strings: floats are IDs if whole and below 2^53, or 2^24 of 32 bits"
        elif (column.kind, wanted) == (BYTES, STRINGS):
            hint = "write IDs as UTF-8 text, for example in hexadecimal"
    else:
        what, expected, hint = _explain_feature(load, table, number, text)
    return InputFileError(what, file=file.path, place=place, expected=expected, found=shown_value, hint=hint)


def _explain_feature(load: Load, table: Table, number: int, text: str | None) -> tuple[str, str, str | None]:
    """Say what is wrong with a feature's value, what was expected, and what to do."""
    kind = table.kind(number)
    feature = next(name for name, numbers in table.features.items() if number in numbers)
    expected = f"{kind}, as in {table.column(number).example}" if kind else "a value"
    if kind == VECTORS:
        expected = f"{load.staged[table.name, feature][0].width} numbers"
    if feature == SPLIT:
        return "not the name of a set", EXPECTED, None
    if text is None or text in MISSING:
        return "value is missing", expected, f"give a value by --fill {feature}=VALUE"
    if kind == VECTORS:
        has_gap = "None" in text and load.described.fill(table, feature) is None
        hint = f"give missing numbers a value by --fill {feature}=VALUE" if has_gap else None
        return "not a vector like the first one", expected, hint
    if kind == TIMES:
        return "not a timestamp", expected, TIME_HINT
    return "not a number", expected, "if the comma separates fractions: --decimal comma" if "," in text else None


def _explain_id(load: Load, ntype: str, value: Any, file: OpenFile) -> tuple[str, str, str]:
    """Say what is wrong with an ID (None if of the wrong kind), what was expected, and what to do."""
    kind, known = load.kinds[ntype]
    what, limit = f"not all IDs of {ntype!r} nodes are {kind}", load.described.num_nodes[ntype]
    if load.described.options.map_ids:
        hint = "make all of them strings by --id-type string, or integers such as 7, 07 and 7.0 by --id-type integer"
        return what, known, hint.partition(",")[0] if load.described.options.id_type == "integer" else hint
    hint = "add --map-ids to use any IDs" + ("" if limit is None else ", or check --num-nodes")
    if value is not None:
        first = file.first_id
        if value < 0 and not first:
            return f"ID of a {ntype!r} node is negative", "an integer from 0", hint
        if value == limit and not first:
            hint += ". If IDs begin at 1, map them by --map-ids"
        expected = f"an integer of 63 bits from {first}"
        if limit is not None:
            expected = f"an ID from {first} and below {limit + first:,}"
        return f"ID of a {ntype!r} node out of range", expected, hint
    if isinstance(file, TextFile) and not file.has_header:
        hint += ". Add --header if the first line names the columns"
    return what, known, hint
