"""Read columns of a parquet file in batches of some megabytes, whatever its rows hold, and tell what that takes.

A dictionary may have a string of megabytes, and each row may repeat it: columns with long strings in dictionaries are
read as codes, which the caller expands a few rows at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.graph.read_parquet import open_parquet
from daskgraphpart.readers.database import ROWS_PER_BATCH

BYTES_PER_READ = 4 << 20
LONG = 128
"""Bytes of strings that are long: a batch of them may take several times what a batch should."""
PAGE_NBYTES = 1 << 20
"""Bytes of a page as most programs write it; of larger columns, the size of a page is looked up."""
PAGES_HELD = 3
"""Pages of a column in memory at once: packed, unpacked, and the dictionary; measured with pyarrow 26."""
TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
_VALUE_NBYTES = {"BOOLEAN": 1, "FLOAT": 4, "INT32": 4, "DOUBLE": 8, "INT64": 8, "INT96": 8}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Largest bytes of a row of one column, on average of a row group, and of a page; 0 if there are none."""

    row: int = 0
    page: int = 0


def column_sizes(path: str, footer: Any, names: Sequence[str]) -> Sizes:
    """Return the largest sizes among these columns."""
    row = page = 0
    with open(path, "rb") as file:
        for group, columns in _chunks(footer, names):
            for column in columns:
                row = max(row, _nbytes(column) // max(1, group.num_rows))
                page = max(page, _page_nbytes(file, column))
    return Sizes(row, page)


def read_batches(path: str, names: Sequence[str]) -> Iterator[Any]:
    """Yield batches of the named columns; those with long strings are dictionaries."""
    status = os.stat(path)
    footer = _footer(path, status.st_mtime_ns, status.st_size)
    rows = _rows_at_once(footer, names)
    with open_parquet(path, footer=footer) as file:
        schema = file.schema_arrow
        texts = [name for name in names if schema.field(name).type in TEXTS]
        if not texts:
            yield from _batches(file, rows, names)
            return
    with open_parquet(path, _find_long(path, texts), footer) as file:
        yield from _batches(file, rows, names)


@lru_cache(maxsize=1)
def _footer(path: str, _: int, __: int) -> Any:
    """Read the footer of a file; a table of thousands of columns is read many times, some columns at a time."""
    with open_parquet(path) as file:
        return file.metadata


def _batches(file: Any, rows: int, names: Sequence[str]) -> Iterator[Any]:
    for batch in file.iter_batches(rows, columns=list(names), use_threads=False):
        yield batch
        pa.default_memory_pool().release_unused()  # else it keeps twice what is needed


def _chunks(footer: Any, names: Sequence[str]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield row groups, and the chunks in them of these columns, or of what is in them."""
    wanted, chosen = {*names}, list[int]()
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if not number:
            paths = (footer.schema.column(i).path.split(".") for i in range(group.num_columns))
            chosen = [
                i for i, words in enumerate(paths) if wanted & {".".join(words[: j + 1]) for j in range(len(words))}
            ]
        yield group, [group.column(i) for i in chosen]


def _nbytes(column: Any) -> int:
    """Return about what the values of a chunk take in memory, unless they are strings that repeat."""
    value = _VALUE_NBYTES.get(column.physical_type)
    nbytes: int = column.total_uncompressed_size if value is None else column.num_values * value
    return nbytes


def _rows_at_once(footer: Any, names: Sequence[str]) -> int:
    """Return how many rows to read, by the largest average of a row group."""
    most = max((sum(map(_nbytes, of)) / max(1, group.num_rows) for group, of in _chunks(footer, names)), default=1.0)
    return max(1, min(ROWS_PER_BATCH, int(BYTES_PER_READ / max(1.0, most))))


def _page_nbytes(file: Any, column: Any) -> int:
    """Return the bytes of the larger of a chunk's dictionary and first page; of a small chunk, of all."""
    nbytes: int = column.total_uncompressed_size
    if nbytes <= PAGE_NBYTES:
        return nbytes
    offsets = [column.data_page_offset, *([column.dictionary_page_offset] if column.has_dictionary_page else [])]
    return min(nbytes, max(_page_at(file, offset) or nbytes for offset in offsets))


def _page_at(file: Any, offset: int) -> int | None:
    """Return the unpacked bytes of a page by its header, as thrift writes it: kind, then size; None if it is none."""
    header, numbers = os.pread(file.fileno(), 32, offset), list[int]()
    while len(numbers) < 2:
        if header[:1] != b"\x15":  # the next field, a number of 32 bits
            return None
        stop = next((i for i, byte in enumerate(header[1:6], 1) if byte < 128), None)
        if stop is None:
            return None
        number = sum((byte & 127) << 7 * i for i, byte in enumerate(header[1 : stop + 1]))
        numbers.append(number >> 1)  # zigzag, not negative
        header = header[stop + 1 :]
    return numbers[1]


def _find_long(path: str, names: Sequence[str]) -> list[str]:
    """Find columns whose dictionaries have long strings; the first row of a row group brings the whole dictionary."""
    wide = set[str]()
    with open_parquet(path, names) as file:
        for group in range(file.num_row_groups if names else 0):
            rows = file.iter_batches(1, row_groups=[group], columns=list(names), use_threads=False)
            for batch in islice(rows, 1):
                words = zip(batch.schema.names, batch.columns, strict=True)
                wide |= {name for name, of in words if (pc.max(pc.binary_length(of.dictionary)).as_py() or 0) > LONG}
    return sorted(wide)
