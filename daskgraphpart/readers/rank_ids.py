"""Assign node IDs to distinct user IDs in sorted order; IDs of an earlier graph keep theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from daskgraphpart.errors import InputFileError
from daskgraphpart.ids.id_map import STRINGS, id_batches, read_map_header, write_id_map
from daskgraphpart.readers.database import ROWS_PER_BATCH, first_twice, insert_batches, numbered_batches, read, run

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import Location


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
