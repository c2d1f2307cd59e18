"""The one door through which parquet files of others are opened: pyarrow reads nothing that was not looked at before.

Footers and headers of pages of local files are read by ourselves first (`parquet_footer`, `parquet_pages`). Of files in
stores they are not, since each page would be a request.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.parquet_footer import Footer, read_footer, unreadable
from daskgraphpart.chunked.parquet_pages import check_pages
from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, InputFileNotFoundError
from daskgraphpart.remote.url import Url
from daskgraphpart.storage.atomic import naming
from daskgraphpart.storage.files import parquet_source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MOST_FOOTERS = 16
"""Footers that a process remembers, and with them which pages it has looked at: blocks of a file come together."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenParquet:
    """An open parquet file.

    Parameters
    ----------
    path : str
        The file.
    footer : Footer or None
        What we read of it; None for files in stores.
    file : pyarrow.parquet.ParquetFile
        For questions about the schema and about rows; data are read by `batches`.
    """

    path: str
    footer: Footer | None
    file: Any

    @property
    def group_rows(self) -> list[int]:
        """Rows of each row group."""
        return [self.file.metadata.row_group(i).num_rows for i in range(self.file.num_row_groups)]

    def uncompressed_nbytes(self, columns: Collection[str]) -> int:
        """Bytes of some columns, uncompressed; of all columns for files in stores."""
        if self.footer is not None:
            return self.footer.uncompressed_nbytes(columns)
        return sum(self.file.metadata.row_group(i).total_byte_size for i in range(self.file.num_row_groups))

    def batches(
        self, num_rows: int, groups: Sequence[int] | None = None, columns: list[str] | None = None
    ) -> Iterator[Any]:
        """Read row groups as Arrow batches.

        Parameters
        ----------
        num_rows : int
            Most rows of a batch.
        groups : sequence of int, optional
            Row groups to read; default all.
        columns : list of str, optional
            Columns to read; default all.
        """
        groups = range(self.file.num_row_groups) if groups is None else groups
        if self.footer is not None:
            with naming(self.path), open(self.path, "rb") as file:
                check_pages(self.path, file.fileno(), self.footer, groups, self.footer.leaves_of(columns))
        yield from self.file.iter_batches(num_rows, row_groups=list(groups), columns=columns, use_threads=False)


@contextmanager
def opened_parquet(path: str) -> Iterator[OpenParquet]:
    """Open a parquet file; whatever is wrong with its content, then or while it is read, is an `InputFileError`.

    Parameters
    ----------
    path : str
        The file, which may be a URL.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        footer = None if isinstance(path, Url) else _local_footer(path)
        # without buffering the whole column chunk: memory is that of a batch
        with naming(path), parquet.ParquetFile(parquet_source(path), pre_buffer=False, buffer_size=1 << 20) as file:
            yield OpenParquet(path, footer, file)
    except FileNotFoundError as fault:
        raise InputFileNotFoundError("no such file", file=path) from fault
    except (pa.ArrowException, OSError, UnicodeDecodeError) as fault:
        if isinstance(fault, GraphPartError) or getattr(fault, "errno", None):
            raise  # the machine's fault, not the file's: pyarrow leaves errno empty where the content is wrong
        if isinstance(fault, MemoryError):
            # pages are decoded whole, and how large they say they are is the writer's word
            raise EnvironmentFaultError(
                "not enough memory to decode a parquet file",
                file=path,
                found=str(fault).splitlines()[0],
                hint="the file is damaged, or its pages are too large: write it with smaller ones",
            ) from fault
        raise unreadable(path, found=next(iter(str(fault).splitlines()), type(fault).__name__)) from fault


def _local_footer(path: str) -> Footer:
    with naming(path):
        status = os.stat(path)
        return _read_local(path, status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=MOST_FOOTERS)
def _read_local(path: str, nbytes: int, mtime_ns: int, inode: int) -> Footer:
    """Read the footer of the file that has this size, time and number, all of which tell it from later ones."""
    with open(path, "rb") as file:
        return read_footer(path, file)
