"""Open parquet files with pyarrow, and report whatever is wrong with their content as one error.

Strings and lists in the footer are limited by `THRIFT_LIMITS`. Beyond that pyarrow takes memory for a page as its
header demands: whoever opens files of strangers limits the memory of the process (docs/bad_input.md).
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, InputFileError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import StoreFile, open_regular
from daskgraphpart.storage.paths import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.storage.paths import FilePath

THRIFT_LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 1 << 20}
"""Bytes of one string, and elements of one list, in a footer; a column chunk is one element."""
BUFFER_NBYTES = 1 << 20


@contextmanager
def open_parquet(path: FilePath) -> Iterator[Any]:
    """Open a `pyarrow.parquet.ParquetFile`, local or remote, for reading in bounded memory."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # without pre_buffer, which would keep whole column chunks
        options: Any = {**THRIFT_LIMITS, "pre_buffer": False, "buffer_size": BUFFER_NBYTES}
        source: Any = StoreFile(path) if is_remote(path) else path
        if source is path:
            os.close(open_regular(path))  # pyarrow would wait for a pipe
        with attach_path_to_error(path), parquet.ParquetFile(source, **options) as file:
            yield file
    except FileNotFoundError as fault:
        raise InputFileNotFoundError("no such file", file=path) from fault
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as fault:
        if isinstance(fault, GraphPartError) or getattr(fault, "errno", None):
            raise  # the machine's fault, not the file's: pyarrow leaves errno empty where the content is wrong
        found = next(iter(str(fault).splitlines()), type(fault).__name__)
        if isinstance(fault, MemoryError):
            raise EnvironmentFaultError(
                "not enough memory to decode a parquet file",
                file=path,
                found=found,
                hint="the file is damaged, or its pages are too large: write it with smaller ones",
            ) from fault
        raise InputFileError(
            "not a readable parquet file", file=path, found=found, hint="it may be truncated; write it again"
        ) from fault


def row_group_lengths(file: Any) -> list[int]:
    """Return the number of rows of each row group."""
    return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
