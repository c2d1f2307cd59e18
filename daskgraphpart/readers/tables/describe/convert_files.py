"""Write JSON lines and Arrow IPC as Parquet, some rows at a time, so that one reader knows all columns."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.database import quote, run, translated_errors
from daskgraphpart.readers.tabular import parquet_schema
from daskgraphpart.storage.faults import attach_path_to_error

JSON_LINES, ARROW = (".jsonl", ".ndjson"), (".arrow", ".feather")
ARROW_MAGIC = b"ARROW1"
ROWS_PER_GROUP = 1 << 16
_AS_TEXT = re.compile(r'"NULL"|UUID|DATE|TIME.*')
"""Types of DuckDB that are read as text, if a column is of nothing else."""


def converter(path: str, begin: bytes, packing: str) -> Callable[[str, str], None] | None:
    """Return what writes a file as Parquet, given its content and the copy; None if it is no such file."""
    suffixes = {suffix.lower() for suffix in Path(path).suffixes[-2:]}
    if suffixes & {*JSON_LINES}:
        return partial(_convert_json, path, packing)
    if begin.startswith(ARROW_MAGIC) or (suffixes & {*ARROW} and begin.startswith(b"\xff\xff\xff\xff")):
        return partial(_convert_arrow, path, begin.startswith(ARROW_MAGIC))
    return None


def _convert_arrow(path: str, is_file: bool, content: str, copy: str) -> None:
    from pyarrow.parquet import ParquetWriter

    try:
        with attach_path_to_error(path), pa.memory_map(content) as source:
            reader: Any = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source)
            batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
            schema = parquet_schema(reader.schema)
            with ParquetWriter(copy, schema) as writer:
                for batch in batches:
                    for start in range(0, batch.num_rows, ROWS_PER_GROUP):
                        rows = pa.Table.from_batches([batch.slice(start, ROWS_PER_GROUP)])
                        writer.write_table(rows.cast(schema))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as fault:
        raise InputFileError("not a file of Arrow IPC", file=path, found=str(fault).splitlines()[0]) from fault


def _convert_json(path: str, packing: str, content: str, copy: str) -> None:
    """Read twice: what columns hold, then their values; times stay as they are written, as in other text."""
    if packing == "lz4":  # which DuckDB does not know
        with pa.input_stream(content, compression=packing) as source, open(f"{copy}.json", "wb") as target:
            shutil.copyfileobj(source, target)
        content, packing = f"{copy}.json", "none"
    rows = f"read_json({quote(content)}, format = 'newline_delimited', records = true, sample_size = -1"
    rows += f", map_inference_threshold = -1, compression = '{packing}'"
    with translated_errors(path), duckdb.connect(config={"threads": 1}) as connection:
        columns = {name: kind for name, kind, *_ in run(connection, f"DESCRIBE SELECT * FROM {rows})")}
        if mixed := [name for name, kind in columns.items() if kind == "JSON"]:
            raise InputFileError(f"column {mixed[0]!r} has values of different types", file=path)
        kinds = {name: "VARCHAR" if _AS_TEXT.fullmatch(kind) else kind for name, kind in columns.items()}
        chosen = f"{rows}, columns = {{{', '.join(f'{quote(name)}: {quote(kinds[name])}' for name in kinds)}}})"
        written = "FORMAT parquet, ROW_GROUP_SIZE 4096"  # DuckDB holds all rows of a group
        run(connection, f"COPY (SELECT * FROM {chosen}) TO {quote(copy)} ({written})")
