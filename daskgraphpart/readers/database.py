"""Run SQL with DuckDB within the memory budget: open a database, translate errors, write columns to files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from daskgraphpart.errors import EnvironmentFaultError, InputFileError, OptionError, PlanError
from daskgraphpart.graph.output import to_arrow
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region, create_npy, map_npy

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources

ResultT = TypeVar("ResultT")

MEMORY_PER_THREAD = 100_000_000

ROWS_PER_BATCH = 1 << 16
_DISK_FULL = re.compile(r"No space left|max_temp_directory_size|[Cc]ould not write|failed to write", re.IGNORECASE)
_CSV_LINE = re.compile(r"CSV Error on Line: (\d+)\n(?:Original Line: (.*)\n)?(.*)")


@contextmanager
def open_database(directory: Path, resources: Resources) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an empty database in memory, which spills to a directory."""
    try:
        str(directory).encode()
    except UnicodeEncodeError as fault:
        what, hint = "tables need a workspace whose name is UTF-8", "give another one by --workspace"
        raise OptionError(what, place="workspace", found=ascii(str(directory)), hint=hint) from fault
    threads = max(1, min(resources.workers, resources.memory // MEMORY_PER_THREAD))
    settings: dict[str, Any] = {
        "memory_limit": f"{resources.memory * 7 // 10} bytes",
        "threads": threads,
        "temp_directory": str(directory / "spilled"),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with translated_errors(str(directory)):
        connection = duckdb.connect(":memory:", config=settings)
        try:
            # Jupyter without ipywidgets has none, and DuckDB then refuses to turn it off
            if run(connection, "SELECT current_setting('enable_progress_bar')") == [(True,)]:
                run(connection, "SET enable_progress_bar = false")
            run(connection, "SET GLOBAL TimeZone = 'UTC'")  # for times without an offset
            yield connection
        finally:
            with suppress(duckdb.Error):  # avoids writing what nobody needs any more
                connection.close()


@contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Translate DuckDB's errors: memory, disk, or an unreadable file."""
    try:
        yield
    except (duckdb.Error, UnicodeError) as fault:
        text = str(fault)
        if _DISK_FULL.search(text):
            what = "the disk of the workspace is full or not writable"
            message, hint = text.splitlines()[0], "free space, or give --workspace"
            raise EnvironmentFaultError(what, file=path, found=message, hint=hint) from fault
        if isinstance(fault, duckdb.OutOfMemoryException):
            hint = "give a larger --memory, or fewer --workers"
            raise PlanError("the memory budget is too small for this job", option="memory", hint=hint) from fault
        raise _unreadable(path, text) from fault


def _unreadable(path: str, text: str) -> InputFileError:
    """Describe an unreadable file, by line if DuckDB names one."""
    if "Maximum line size" in text or "full read on this file" in text:
        return InputFileError("line too long", file=path, expected="lines of at most 1 MiB")
    line = _CSV_LINE.search(text)
    if line is None:
        return InputFileError("not a readable file", file=path, found=text.splitlines()[0])
    number, content, reason = line.groups()
    what = "text is not UTF-8" if "unicode" in reason else reason
    start, hint = (content or "")[:60], "convert the file first" if "unicode" in reason else None
    return InputFileError(what, file=path, place=f"line {int(number):,}", found=repr(start), hint=hint)


def stage_rows(
    connection: duckdb.DuckDBPyConnection, query: str, path: str, dtype: np.dtype, row_shape: tuple[int, ...] = ()
) -> Region:
    """Write a query's rows, numbers without nulls or lists of them, to a file."""
    rows = 0
    with attach_path_to_error(path), open(path, "wb") as file:
        for batch in read(connection, query):
            columns = [column.flatten() if column.type.num_fields else column for column in batch.columns]
            values = [column.to_numpy(zero_copy_only=False) for column in columns]
            file.write(np.ascontiguousarray(np.column_stack(values) if values[1:] else values[0], dtype).data)
            rows += batch.num_rows
    return Region(path, 0, dtype, (rows, *row_shape))


def scatter_numbers(
    connection: duckdb.DuckDBPyConnection, query: str, path: str, num_rows: int, kept: Region | None = None
) -> Region:
    """Write a query's numbers to a file, each in the row that the query gives first, so that it need not sort.

    `kept` are the numbers of the rows that are left if some were dropped.
    """
    region = create_npy(path, np.int64, (num_rows,), is_mapped=True)
    placed, numbers = map_npy(path), None if kept is None else kept.memmap()
    for batch in read(connection, query):
        rows, values = map(np.from_dlpack, batch.columns)  # `to_numpy` imports pandas
        placed[rows if numbers is None else np.searchsorted(numbers, rows)] = values
    return region


def numbered_batches(columns: Iterable[list[Any]], schema: Any, first: int = 0) -> Iterator[Any]:
    """Yield Arrow batches of columns, with the number of each row, from `first`, in front: DuckDB promises no order."""
    for of_batch in columns:
        rows = to_arrow(np.arange(first, first + len(of_batch[0])))
        yield pa.RecordBatch.from_arrays([rows, *of_batch], schema=schema)
        first += len(rows)


def insert_batches(connection: duckdb.DuckDBPyConnection, statement: str, schema: Any, batches: Iterable[Any]) -> None:
    """Run a statement that selects from `batches`, of Arrow; raises their faults as they are."""
    faults: list[Exception] = []

    def kept_faults() -> Iterator[Any]:
        try:
            yield from batches
        except Exception as fault:  # DuckDB would turn it into text
            faults.append(fault)
            raise

    connection.register("batches", pa.RecordBatchReader.from_batches(schema, kept_faults()))
    try:
        run(connection, statement)
    except Exception as fault:
        raise (faults or [fault])[0] from None
    finally:
        connection.unregister("batches")


def run(connection: duckdb.DuckDBPyConnection, statement: str) -> list[Any]:
    """Run a statement; return its rows, which must be few."""
    return _wait_for(connection, lambda: connection.execute(statement).fetchall())


def read(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[Any]:
    """Run a query; yield Arrow batches."""
    reader = _wait_for(connection, lambda: connection.sql(query).to_arrow_reader(ROWS_PER_BATCH))
    while (batch := _wait_for(connection, lambda: next(reader, None))) is not None:
        yield batch


def select_from(connection: duckdb.DuckDBPyConnection, batch: Any, expressions: Sequence[str]) -> list[Any]:
    """Return expressions of the columns of an Arrow table, in the order of its `row`; a statement may be running."""
    with connection.cursor() as own:
        own.register("batch", batch)
        reader = own.sql(f"SELECT {', '.join(expressions)} FROM batch ORDER BY row").to_arrow_reader(ROWS_PER_BATCH)
        return [column.combine_chunks() for column in reader.read_all().columns]


def _wait_for(connection: duckdb.DuckDBPyConnection, work: Callable[[], ResultT]) -> ResultT:
    """Wait for DuckDB in another thread, so that Ctrl-C reaches this one and ends the query."""
    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(work)
        try:
            return result.result()
        except KeyboardInterrupt:
            while not result.done():  # DuckDB forgets an interrupt that comes before the query starts
                connection.interrupt()
                wait([result], timeout=0.1)
            raise


def quote(text: str) -> str:
    """Quote text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def count_rows(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    """Count the rows of a table."""
    ((count,),) = run(connection, f"SELECT count(*) FROM {name}")
    return int(count)


def drop_rows(connection: duckdb.DuckDBPyConnection, name: str, is_dropped: str) -> None:
    """Drop rows of a table; the rest keep their numbers."""
    ((is_needed,),) = run(connection, f"SELECT EXISTS (SELECT 1 FROM {name} WHERE {is_dropped})")
    if is_needed:  # else the table would be written again
        run(connection, f"CREATE TABLE {name}_left AS SELECT * FROM {name} WHERE NOT ({is_dropped})")
        run(connection, f"DROP TABLE {name}; ALTER TABLE {name}_left RENAME TO {name}")


def first_twice(connection: duckdb.DuckDBPyConnection, name: str, column: str) -> Any:
    """Return the smallest duplicate value of a column, or None."""
    query = f"SELECT min(v) FROM (SELECT {column} AS v FROM {name} GROUP BY v HAVING count(*) > 1)"
    ((value,),) = run(connection, query)
    return value
