"""Write JSON lines and Arrow IPC as Parquet, some rows at a time, so that one reader knows all columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.faults import attach_path_to_error

JSON_LINES, ARROW = (".jsonl", ".ndjson"), (".arrow", ".feather")
ARROW_MAGIC = b"ARROW1"
ROWS_PER_GROUP = 1 << 16
BYTES_PER_PIECE = 4 << 20


def converter(path: str, begin: bytes, packing: str) -> Callable[[str, str], None] | None:
    """Return what writes a file as Parquet, given its content and the copy; None if it is no such file."""
    suffixes = {suffix.lower() for suffix in Path(path).suffixes[-2:]}
    if suffixes & {*JSON_LINES}:
        return partial(_convert_json, path, packing)
    if begin.startswith(ARROW_MAGIC) or (suffixes & {*ARROW} and begin.startswith(b"\xff\xff\xff\xff")):
        return partial(_convert_arrow, path, begin.startswith(ARROW_MAGIC))
    return None


@contextmanager
def _arrow_errors(path: str, what: str) -> Iterator[None]:
    """Turn Arrow's errors into ours."""
    try:
        with attach_path_to_error(path):
            yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as fault:
        raise InputFileError(what, file=path, found=str(fault).splitlines()[0]) from fault


def _convert_arrow(path: str, is_file: bool, content: str, copy: str) -> None:
    from pyarrow.parquet import ParquetWriter

    with _arrow_errors(path, "not a file of Arrow IPC"), pa.memory_map(content) as source:
        reader: Any = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
        with ParquetWriter(copy, reader.schema) as writer:
            for batch in batches:
                for start in range(0, batch.num_rows, ROWS_PER_GROUP):
                    writer.write_batch(batch.slice(start, ROWS_PER_GROUP))


def _convert_json(path: str, packing: str, content: str, copy: str) -> None:
    """Read twice: what columns hold, then their values."""
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([])
    for table in _tables(path, packing, content, None):
        schema = pa.unify_schemas([schema, table.schema], promote_options="permissive")
    # times stay as they are written, as in other text
    schema = pa.schema([(of.name, pa.string() if pa.types.is_timestamp(of.type) else of.type) for of in schema])
    with ParquetWriter(copy, schema) as writer:
        for table in _tables(path, packing, content, schema):
            writer.write_table(table, ROWS_PER_GROUP)


def _tables(path: str, packing: str, content: str, schema: Any) -> Iterator[Any]:
    """Parse pieces that end where a line does."""
    from pyarrow import json

    parsing = json.ParseOptions(explicit_schema=schema)
    first = 0
    with attach_path_to_error(path), pa.OSFile(content) as raw:
        source = raw if packing == "none" else pa.CompressedInputStream(raw, packing)
        rest = b""
        while piece := source.read(BYTES_PER_PIECE):
            whole, newline, rest = (rest + piece).rpartition(b"\n")
            if newline:
                yield _parse(path, whole, first, parsing)
                first += whole.count(b"\n") + 1
        if rest.strip():
            yield _parse(path, rest, first, parsing)


def _parse(path: str, text: bytes, first: int, parsing: Any) -> Any:
    from pyarrow import json

    reading = json.ReadOptions(use_threads=False, block_size=max(1, len(text)))
    with _arrow_errors(path, f"lines {first + 1:,} and following are not JSON objects of one form"):
        return json.read_json(pa.BufferReader(text), reading, parsing)
