"""Read all rows of all files into the database; report all that is wrong with them, by file and line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa

from daskgraphpart.errors import GraphPartError, InputFileError
from daskgraphpart.readers.database import (
    count_rows,
    drop_rows,
    insert_batches,
    numbered_batches,
    run,
    translated_errors,
)
from daskgraphpart.readers.tables.describe.collect_faults import collect_fault, raise_together
from daskgraphpart.readers.tables.describe.columns import STRINGS, VECTORS
from daskgraphpart.readers.tables.load.find_faults import find_faults
from daskgraphpart.readers.tables.load.values import feature_values, id_value, missing_id

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.description import OpenFile, Table
    from daskgraphpart.readers.tables.describe.text_file import TextFile
    from daskgraphpart.readers.tables.load.loaded_tables import Load


def load_rows(load: Load) -> None:
    """Fill the database; rows without an ID are dropped, if requested."""
    sizes = [os.path.getsize(file.content) for table in load.described.tables for file in table.files]
    load.progress.begin("read-edges", len(sizes), sum(sizes))
    faults: list[GraphPartError] = []
    for table in load.tables:
        _create(load, table)
        for file in table.files:
            load.starts[table.name].append(load.starts[table.name][-1])  # none, if the file is refused
            with collect_fault(faults):
                _insert(load, table, file)
        faults += find_faults(load, table)
    raise_together(faults)
    _check_edge_counts(load)
    load.progress.end()
    for table in load.tables:
        _drop_missing(load, table)


def _create(load: Load, table: Table) -> None:
    types = ["row BIGINT"]
    types += [f"c{i} {'VARCHAR' if load.kinds[end][0] == STRINGS else 'BIGINT'}" for i, end in enumerate(table.ends)]
    types += [_type(table, i) for i in table.numbers]
    types += ["no_id BOOLEAN"] if load.described.drops_missing(table) else []
    run(load.connection, f"CREATE TABLE {table.name} ({', '.join(types)})")
    load.starts[table.name] = [0]


def _type(table: Table, number: int) -> str:
    """Return a feature's columns."""
    column = table.column(number)
    if table.kind(number) == VECTORS:
        assert column.dtype is not None
        element = "BIGINT" if column.dtype.kind != "f" else "DOUBLE" if column.dtype.itemsize == 8 else "FLOAT"
        return f"c{number} {element}[]"
    if table.kind(number) == STRINGS:
        return f"c{number} VARCHAR, n{number} BOOLEAN"
    return f"c{number} DOUBLE, n{number} BIGINT"


def _insert(load: Load, table: Table, file: OpenFile) -> None:
    """Insert the rows of a file after those of the files before."""
    start = load.starts[table.name][-1]
    with translated_errors(file.path):
        values = ", ".join([f"row + {start}", *_values(load, table, file)])
        schema = file.schema.insert(0, pa.field("row", pa.int64()))
        batches = numbered_batches(file.batches(), schema)
        insert_batches(load.connection, f"INSERT INTO {table.name} SELECT {values} FROM batches", schema, batches)
    if file.num_entries is not None:
        _complete_matrix(load, table, file, start)
    load.starts[table.name][-1] = count_rows(load.connection, table.name)
    load.progress.advance(os.path.getsize(file.content or file.path))


def _values(load: Load, table: Table, file: OpenFile) -> list[str]:
    """Return expressions for all columns of a file; invalid values are NULL."""
    described = load.described
    options, ends = described.options, [*enumerate(table.ends)]
    id_type = options.id_type if options.map_ids else "integer"
    values = [id_value(i, file.columns[i], load.kinds[end][0], id_type) for i, end in ends]
    if not options.map_ids and file.first_id:
        values = [f"({value}) - {file.first_id}" for value in values]
    for feature, numbers in table.features.items():
        for i in numbers:
            kind, fill = table.kind(i), described.fill(table, feature)
            fill = fill if kind != STRINGS or described.is_split(table, feature) else None
            values += feature_values(i, file.columns[i], kind, fill)
    if described.drops_missing(table):
        is_missing = [missing_id(i, file.columns[i], load.kinds[end][0]) for i, end in ends]
        values.append(f"({' OR '.join(is_missing)})")
    return values


def _complete_matrix(load: Load, table: Table, file: TextFile, start: int) -> None:
    """Compare the number of entries with the header of a matrix; add the other half of a symmetric one."""
    count = count_rows(load.connection, table.name) - start
    if count != file.num_entries:
        what, place = "wrong number of entries", f"line {file.rows.first_line - 1}"
        raise InputFileError(what, file=file.path, place=place, expected=f"{file.num_entries:,}", found=f"{count:,}")
    if file.is_symmetric:
        number = f"{start + count - 1} + row_number() OVER (ORDER BY row) AS row"
        reverse = f"{number}, c1 AS c0, c0 AS c1) FROM {table.name} WHERE row >= {start} AND c0 <> c1"
        run(load.connection, f"INSERT INTO {table.name} SELECT * REPLACE ({reverse}")


def _check_edge_counts(load: Load) -> None:
    """Refuse an edge type whose number of rows differs from its data set's."""
    for table in load.described.of_edges:
        expected, num_read = load.described.num_edges.get(table.of_type), load.num_read(table)
        if expected not in (None, num_read):
            what = f"wrong number of {table.of_type!r} edges"
            raise InputFileError(what, file=table.files[0].path, expected=f"{expected:,}", found=f"{num_read:,}")


def _drop_missing(load: Load, table: Table) -> None:
    """Drop a table's rows without ID, if requested, and report their number."""
    if not load.described.drops_missing(table):
        return
    drop_rows(load.connection, table.name, "no_id")
    num_rows = load.num_read(table)
    if count := num_rows - load.num_rows(table):
        note = f"{table.files[0].path}: {count:,} of {num_rows:,} rows without an ID were dropped"
        load.progress.note(note)
