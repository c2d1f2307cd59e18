"""Questions about files that may be local or in a store, and opening them; local ones are asked the system directly."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, BinaryIO, cast

from daskgraphpart.remote.url import Url

if TYPE_CHECKING:
    from pathlib import Path

BUFFER_NBYTES = 64 << 10
"""Bytes that are read of a remote file at least: headers come with one request."""


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether there is a regular file; unlike pathlib's it knows names that are too long."""
    return path.is_file() if isinstance(path, Url) else os.path.isfile(path)


def is_directory(path: str | os.PathLike[str]) -> bool:
    """Whether there is a directory."""
    return path.is_dir() if isinstance(path, Url) else os.path.isdir(path)


def file_size(path: str | os.PathLike[str]) -> int:
    """Bytes of a file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    return int(path.stat().st_size) if isinstance(path, Url) else os.stat(path).st_size


def file_sizes_in(directory: Path | Url) -> dict[str, int]:
    """Bytes of the files directly in a directory, by name."""
    if isinstance(directory, Url):
        from daskgraphpart.remote.store import list_files

        return list_files(directory)
    return {path.name: path.stat().st_size for path in directory.iterdir() if path.is_file()}


def open_for_reading(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading bytes."""
    if isinstance(path, Url):
        from daskgraphpart.remote.range_file import RangeFile

        return cast("BinaryIO", io.BufferedReader(RangeFile(path), BUFFER_NBYTES))
    return open(path, "rb")


def size_of_open(file: BinaryIO) -> int:
    """Bytes of a file that `open_for_reading` has opened."""
    size: int | None = getattr(getattr(file, "raw", None), "size", None)
    return os.fstat(file.fileno()).st_size if size is None else size


def parquet_source(path: str | Path) -> object:
    """Return what pyarrow opens as a parquet file."""
    if isinstance(path, Url):
        from daskgraphpart.remote.range_file import RangeFile

        return RangeFile(path)
    return path
