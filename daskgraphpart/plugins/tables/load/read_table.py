"""Read a table's files into the database, find what is wrong with its rows, and write features to files."""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from daskgraphpart.chunked.check_changes import split_feature
from daskgraphpart.errors import InputFileError
from daskgraphpart.plugins.tables.describe.columns import (
    MISSING,
    STRINGS,
    TIME_HINT,
    TIMES,
    VECTORS,
    feature_values,
    filled_dtype,
    id_value,
    is_integer,
    microseconds_of,
    missing_id,
    shown,
)
from daskgraphpart.plugins.tables.describe.split_sets import EXPECTED, SPLIT, set_of
from daskgraphpart.plugins.tables.describe.text_file import TextTable
from daskgraphpart.sources.database import (
    ROWS_PER_BATCH,
    insert_batches,
    numbered_batches,
    read,
    run,
    stage_rows,
    translated_errors,
)
from daskgraphpart.sources.id_map import id_batches, read_map_header, write_id_map
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.plugins.tables.describe.tables import Inputs, Table, TableGroup
    from daskgraphpart.plugins.tables.load.plain_edges import PlainEdges
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True, eq=False)
class TableJob:
    """A job: input, kinds of IDs by node type, database, directories, memory in bytes, and listener.

    Plain edges, by table, are not in the database. With `counts_only`, files of rows are not written, nor read.
    `weights` are features of edges, ``ETYPE/FEATURE``, that the job will weigh edges by.
    """

    inputs: Inputs
    kinds: Mapping[str, tuple[str, str]]
    plain: Mapping[str, PlainEdges]
    connection: duckdb.DuckDBPyConnection
    directory: Path
    out: Path
    memory: int
    progress: ProgressListener
    counts_only: bool = False
    weights: tuple[str, ...] = ()
    staged: dict[tuple[str, int], Region] = field(default_factory=dict)

    def stage(self, query: str, path: str, dtype: np.dtype, row_shape: tuple[int, ...] = ()) -> Region:
        """Write a query's rows to a file, if they are wanted."""
        if not self.counts_only:
            return stage_rows(self.connection, query, path, dtype, row_shape)
        ((count,),) = run(self.connection, f"SELECT count(*) FROM ({query})")
        return Region(path, 0, dtype, (count, *row_shape))

    def new_ids(self, group: TableGroup, column: int) -> Region:
        """Write a column's new IDs to a file, once, in row order."""
        name = group.name
        if (name, column) not in self.staged:
            query = f"SELECT c{column} FROM {name} ORDER BY row"
            if self.inputs.options.map_ids and not self.counts_only:
                ids = self.ids(group.ends[column])
                query = f"SELECT i.new_id FROM {name} t JOIN {ids} i ON t.c{column} = i.id ORDER BY t.row"
            path = str(self.directory / f"{name}-c{column}")
            self.staged[name, column] = self.stage(query, path, np.dtype(np.int64))
        return self.staged[name, column]

    def is_split(self, group: TableGroup, feature: str) -> bool:
        """Whether edges are split by a feature, whose values become names."""
        changes, of_type = self.inputs.changes, group.of_type
        return of_type in self.inputs.etypes and feature == split_feature(changes, of_type)

    def num_rows(self, group: TableGroup) -> int:
        """Count the rows of a table that are left."""
        if group.name in self.plain:
            return self.plain[group.name].num_rows
        return count_rows(self.connection, group.name)

    def ids(self, ntype: str) -> str:
        """Name the table of a node type's IDs, if mapped."""
        return f"ids_{list(self.inputs.num_nodes).index(ntype)}"

    def fill(self, group: TableGroup, feature: str) -> str | None:
        """Return a feature's fill value, if any; that for all features is not one of strings."""
        fills, kind = self.inputs.options.fills, group.kind_of(feature)
        every = None if kind == STRINGS else fills.get("")
        fill = fills.get(f"{group.of_type}:{feature}", fills.get(feature, every))
        return microseconds_of(fill) if fill is not None and kind == TIMES else fill


def read_table(job: TableJob, group: TableGroup) -> list[int]:
    """Fill a table with all rows of all files: IDs c0 and c1; features as floats c2 and integers n2, and so on.

    `row` is the number of the row: nothing else tells the order, as DuckDB promises none beyond a scan. Vectors are c2
    alone; strings have n2 where they cannot be read; `no_id` marks rows to drop later. Invalid values are NULL. Returns
    the first rows of files, and the number of all rows.
    """
    types = ["row BIGINT"]
    types += [f"c{i} {'VARCHAR' if job.kinds[end][0] == STRINGS else 'BIGINT'}" for i, end in enumerate(group.ends)]
    types += [_type(group, i) for i in group.numbers]
    types += ["no_id BOOLEAN"] if drops_missing(job, group) else []
    run(job.connection, f"CREATE TABLE {group.name} ({', '.join(types)})")
    starts = [0]
    for table in group.tables:
        with translated_errors(table.path):
            values = f"row + {starts[-1]}, {_values(job, group, table)}".removesuffix(", ")
            table.insert(job.connection, f"INSERT INTO {group.name} SELECT {values} FROM batches")
        if table.num_entries is not None:
            _complete_matrix(job, group, table, starts[-1])
        starts.append(count_rows(job.connection, group.name))
        job.progress.advance(os.path.getsize(table.content or table.path))
    return starts


def _complete_matrix(job: TableJob, group: TableGroup, table: TextTable, start: int) -> None:
    """Compare the number of entries with the header of a matrix; add the other half of a symmetric one."""
    found = count_rows(job.connection, group.name) - start
    if found != table.num_entries:
        what, place = "wrong number of entries", f"line {table.rows.first_line - 1}"
        raise InputFileError(what, file=table.path, place=place, expected=f"{table.num_entries:,}", found=f"{found:,}")
    if table.is_symmetric:
        number = f"{start + found - 1} + row_number() OVER (ORDER BY row) AS row"
        reverse = f"{number}, c1 AS c0, c0 AS c1) FROM {group.name} WHERE row >= {start} AND c0 <> c1"
        run(job.connection, f"INSERT INTO {group.name} SELECT * REPLACE ({reverse}")


def drop_rows(connection: duckdb.DuckDBPyConnection, name: str, is_dropped: str) -> None:
    """Drop rows of a table; the rest keep their numbers."""
    ((is_needed,),) = run(connection, f"SELECT EXISTS (SELECT 1 FROM {name} WHERE {is_dropped})")
    if is_needed:  # else the table would be written again
        run(connection, f"CREATE TABLE {name}_left AS SELECT * FROM {name} WHERE NOT ({is_dropped})")
        run(connection, f"DROP TABLE {name}; ALTER TABLE {name}_left RENAME TO {name}")


def stage_feature(job: TableJob, group: TableGroup, feature: str, path: str, order: str) -> Region:
    """Write a feature (no category) to a file, in a dtype for all files; `order` is SQL that follows the table `t`.

    Numbers in text are int64 if all are integers, else float64; so are those of vectors.
    """
    columns, fill = group.features[feature], job.fill(group, feature)
    first, name = columns[0], group.name
    column = group.column(first)
    if group.kind(first) == VECTORS:
        shape = column.row_shape or (width_of(job, group, first),)
        assert column.dtype is not None
        return job.stage(f"SELECT c{first} FROM {name} t {order}", path, column.dtype, shape)
    are_whole = " AND ".join(f"count(*) = count(n{i})" for i in columns)
    ((is_whole,),) = run(job.connection, f"SELECT count(*) > 0 AND {are_whole} FROM {name}")
    text = np.dtype(np.int64 if is_whole else np.float64)
    tables = [t for t in group.tables if t.num_rows != 0] or group.tables
    dtype = np.result_type(*(table.columns[i].dtype or text for table in tables for i in columns))
    if fill is not None and (is_integer(fill) or not is_whole):
        dtype = filled_dtype(dtype, fill)
    letter = "c" if dtype.kind == "f" else "n"
    query = f"SELECT {', '.join(f'{letter}{i}' for i in columns)} FROM {name} t {order}"
    return job.stage(query, path, dtype, (len(columns),) if columns[1:] else ())


def _type(group: TableGroup, number: int) -> str:
    """Return a feature's columns."""
    column = group.column(number)
    if group.kind(number) == VECTORS:
        assert column.dtype is not None
        element = "BIGINT" if column.dtype.kind != "f" else "DOUBLE" if column.dtype.itemsize == 8 else "FLOAT"
        return f"c{number} {element}[]"
    if group.kind(number) == STRINGS:
        return f"c{number} VARCHAR, n{number} BOOLEAN"
    return f"c{number} DOUBLE, n{number} BIGINT"


def _values(job: TableJob, group: TableGroup, table: Table) -> str:
    """Return expressions for all columns of a file; invalid values are NULL."""
    id_type = job.inputs.options.id_type if job.inputs.options.map_ids else "integer"
    values = [id_value(i, table.columns[i], job.kinds[end][0], id_type) for i, end in enumerate(group.ends)]
    if not job.inputs.options.map_ids and table.first_id:
        values = [f"({value}) - {table.first_id}" for value in values]
    for feature, numbers in group.features.items():
        for i in numbers:
            kind, fill = group.kind(i), job.fill(group, feature)
            fill = fill if kind != STRINGS or job.is_split(group, feature) else None
            values += feature_values(i, table.columns[i], kind, fill)
    if drops_missing(job, group):
        is_missing = [missing_id(i, table.columns[i], job.kinds[end][0]) for i, end in enumerate(group.ends)]
        values.append(f"({' OR '.join(is_missing)})")
    return ", ".join(values)


def drops_missing(job: TableJob, group: TableGroup) -> bool:
    """Whether a table's rows without ID are marked and dropped."""
    return job.inputs.options.missing_ids == "drop" and bool(group.ends)


def width_of(job: TableJob, group: TableGroup, number: int) -> int:
    """Length of a column's vectors, from the first."""
    found = run(job.connection, f"SELECT len(c{number}) FROM {group.name} ORDER BY row LIMIT 1")
    return int(found[0][0] or 0) if found else 0


def rank_ids(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    every: str,
    kept: Path,
    *,
    is_text: bool,
    old: Location | None = None,
) -> int:
    """Make a table of the different IDs, and the new ID of each, which is its rank; keep them.

    Those of an old map come first, in its order; return how many these are.
    """
    num_old = 0
    if old is not None:
        num_old = _insert_old(connection, old, f"{name}_old", is_text=is_text)
        every = f"SELECT id FROM ({every}) e WHERE NOT EXISTS (SELECT 1 FROM {name}_old o WHERE o.id = e.id)"
    _sort_distinct(connection, name, every)
    if old is not None:
        run(connection, f"INSERT INTO {name}_old SELECT new_id + {num_old}, id FROM {name}")
        run(connection, f"DROP TABLE {name}; ALTER TABLE {name}_old RENAME TO {name}")
    keep_ids(connection, name, kept, is_text=is_text)
    return num_old


def keep_ids(connection: duckdb.DuckDBPyConnection, name: str, kept: Path, *, is_text: bool) -> None:
    """Write the map of the IDs in a table, in the order of new IDs."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    ids = read(connection, f"SELECT id FROM {name} ORDER BY new_id")
    write_id_map(kept, (batch.column(0) for batch in ids), is_text=is_text)


def _insert_old(connection: duckdb.DuckDBPyConnection, old: Location, name: str, *, is_text: bool) -> int:
    """Make a table of the IDs of an old map; return how many there are."""
    kind, count = read_map_header(old)
    if (kind == STRINGS) != is_text:
        raise InputFileError("codes of the wrong type", file=str(old), expected=STRINGS, found=kind)
    batches = id_batches(old, count, ROWS_PER_BATCH)
    schema = pa.schema([("new_id", pa.int64()), ("id", next(batches))])
    of_schema = numbered_batches(([ids] for ids in batches), schema)
    insert_batches(connection, f"CREATE TABLE {name} AS SELECT new_id, id FROM batches", schema, of_schema)
    value = first_twice(connection, name, "id")
    if value is not None:
        raise InputFileError("an ID occurs twice", file=str(old), expected="each once", found=f"{value!r} twice")
    return count


def _sort_distinct(connection: duckdb.DuckDBPyConnection, name: str, every: str) -> None:
    rank = "row_number() OVER (ORDER BY id) - 1 AS new_id"
    try:
        run(connection, f"CREATE TABLE {name} AS SELECT {rank}, id FROM (SELECT DISTINCT id FROM ({every}))")
    except duckdb.OutOfMemoryException:  # hashing needs room for the different ones; sorting does not
        last = f"SELECT id, lag(id) OVER (ORDER BY id) AS last FROM ({every})"
        run(connection, f"CREATE TABLE {name}_once AS SELECT id FROM ({last}) WHERE last IS DISTINCT FROM id")
        run(connection, f"CREATE TABLE {name} AS SELECT {rank}, id FROM {name}_once; DROP TABLE {name}_once")


def first_twice(connection: duckdb.DuckDBPyConnection, name: str, column: str) -> Any:
    """Return the least value that a column of a table has twice; None if there is none."""
    ((value,),) = run(
        connection, f"SELECT min(v) FROM (SELECT {column} AS v FROM {name} GROUP BY v HAVING count(*) > 1)"
    )
    return value


def count_rows(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    """Count the rows of a table."""
    ((count,),) = run(connection, f"SELECT count(*) FROM {name}")
    return int(count)


MAX_ID = 2**63 - 2


def find_faults(job: TableJob, group: TableGroup, starts: Sequence[int]) -> list[InputFileError]:
    """Return an error for each ID column and feature with missing or invalid values.

    `starts` are the first rows of files.

    Raises
    ------
    InputFileError
        If the first bad row is no row at all, so that all its values are missing.
    """
    bad = _conditions(job, group)
    counted = ", ".join(f"min(row) FILTER ({of}), count(*) FILTER ({of})" for of in bad.values())
    (found,) = run(job.connection, f"SELECT {counted} FROM {group.name}")
    columns = [(row, number, count) for number, row, count in zip(bad, found[::2], found[1::2], strict=True) if count]
    of_ids = sorted(column for column in columns if column[1] < len(group.ends))[:1]
    of_features = sorted(column for column in columns if column[1] >= len(group.ends))
    # a bad line lacks all values, as the first fault tells
    return [_fault(job, group, number, row, count, starts) for row, number, count in sorted([*of_ids, *of_features])]


def _conditions(job: TableJob, group: TableGroup) -> dict[int, str]:
    bad = {i: f"c{i} IS NULL" for i in [*range(len(group.ends)), *group.numbers]}
    for i in group.numbers:
        if group.kind(i) == STRINGS:
            bad[i] = f"n{i}"
        if i in group.features.get(SPLIT, ()):
            bad[i] += f" OR (trim(c{i}) <> '' AND {set_of(f'c{i}')} IS NULL)"
        if group.kind(i) == VECTORS:
            bad[i] += f" OR len(c{i}) <> {width_of(job, group, i)} OR list_count(c{i}) <> len(c{i})"
    limits = [] if job.inputs.options.map_ids else [job.inputs.num_nodes[end] for end in group.ends]
    for i, limit in enumerate(limits):
        bad[i] += f" OR c{i} NOT BETWEEN 0 AND {MAX_ID if limit is None else limit - 1}"
    if drops_missing(job, group):
        return {i: f"({of}) AND NOT no_id" for i, of in bad.items()}
    return bad


def _fault(
    job: TableJob, group: TableGroup, number: int, row: int, count: int, starts: Sequence[int]
) -> InputFileError:
    index = bisect_right(starts, row) - 1
    table = group.tables[index]
    place, text = table.locate(row - starts[index], number)
    found = "nothing" if text is None else shown(text)
    found = found if count == 1 else f"{found}, and {count - 1:,} more of {starts[-1]:,} rows"
    if number < len(group.ends):
        ((value,),) = run(job.connection, f"SELECT c{number} FROM {group.name} WHERE row = {row}")
        what, expected, hint = _explain_id(job, group.ends[number], value, table)
        if text is None:
            what, hint = "ID is missing", "drop rows without an ID by --missing-ids drop"
    else:
        what, expected, hint = _explain_feature(job, group, number, text)
    return InputFileError(what, file=table.path, place=place, expected=expected, found=found, hint=hint)


def _explain_feature(job: TableJob, group: TableGroup, number: int, text: str | None) -> tuple[str, str, str | None]:
    """Say what is wrong with a feature's value, what was expected, and what to do."""
    kind = group.kind(number)
    feature = next(name for name, numbers in group.features.items() if number in numbers)
    expected = f"{kind}, as in {group.column(number).example}" if kind else "a value"
    if kind == VECTORS:
        expected = f"{width_of(job, group, number)} numbers"
    if feature == SPLIT:
        return "not the name of a set", EXPECTED, None
    if text is None or text in MISSING:
        return "value is missing", expected, f"give a value by --fill {feature}=VALUE"
    if kind == VECTORS:
        return "not a vector like the first one", expected, None
    if kind == TIMES:
        return "not a timestamp", expected, TIME_HINT
    return "not a number", expected, "if the comma separates fractions: --decimal comma" if "," in text else None


def _explain_id(job: TableJob, ntype: str, value: Any, table: Table) -> tuple[str, str, str | None]:
    """Say what is wrong with an ID (None if of the wrong kind), what was expected, and what to do."""
    kind, known = job.kinds[ntype]
    what, limit = f"not all IDs of {ntype!r} nodes are {kind}", job.inputs.num_nodes[ntype]
    if job.inputs.options.map_ids:
        return what, known, "make all of them strings by --id-type string"
    hint = "use --map-ids" + ("" if limit is None else ", or check --num-nodes")
    if value is not None:
        first = table.first_id
        if value == limit and not first:
            hint += "; if IDs begin at 1, map them by --map-ids"
        expected = f"an integer of 63 bits from {first}"
        if limit is not None:
            expected = f"an ID from {first} and below {limit + first:,}"
        return f"ID of a {ntype!r} node out of range", expected, hint
    if isinstance(table, TextTable) and not table.has_header:
        hint += "; or --header if the first line names the columns"
    return what, known, hint
