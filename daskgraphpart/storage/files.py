"""Ask about and open files that may be local or in a store; local ones are asked of the system directly."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from upath import UPath

from daskgraphpart.storage.stores import (
    StoreFile,
    delete_stored,
    kind_of,
    list_directory,
    read_range,
    size_of,
    version_of,
)

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import AnyPath, Location

BUFFER_NBYTES = 64 << 10
"""Bytes that are read of a remote file at least: headers come with one request."""


def is_file(path: AnyPath) -> bool:
    """Whether there is a regular file; unlike pathlib's it knows names that are too long."""
    return kind_of(path) == "file" if isinstance(path, UPath) else os.path.isfile(path)


def is_directory(path: AnyPath) -> bool:
    """Whether there is a directory."""
    return kind_of(path) == "directory" if isinstance(path, UPath) else os.path.isdir(path)


def file_size(path: AnyPath) -> int:
    """Return the bytes of a file; a `FileNotFoundError` if there is none."""
    return size_of(path) if isinstance(path, UPath) else os.stat(path).st_size


def signature_of(path: AnyPath) -> tuple[int | str, ...] | None:
    """Return size, mtime and ctime (ns) and inode of a file, or what its store tells; None if there is none."""
    if isinstance(path, UPath):
        return version_of(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def list_names(directory: Location) -> list[str]:
    """Return the names of what is in a directory, sorted; none if a store has no such directory."""
    return sorted(list_directory(directory) if isinstance(directory, UPath) else os.listdir(directory))


def file_sizes_in(directory: Location) -> dict[str, int]:
    """Return the bytes of the files directly in a directory, by name."""
    if isinstance(directory, UPath):
        return {name: size for name, size in list_directory(directory).items() if size is not None}
    return {path.name: path.stat().st_size for path in directory.iterdir() if path.is_file()}


def read_file(path: AnyPath) -> bytes:
    """Read all of a small file."""
    if isinstance(path, UPath):
        return read_range(path, 0, size_of(path))
    with open(path, "rb") as file:
        return file.read()


def open_for_reading(path: AnyPath) -> BinaryIO:
    """Open a file for reading bytes."""
    if isinstance(path, UPath):
        return cast("BinaryIO", io.BufferedReader(StoreFile(path), BUFFER_NBYTES))
    return open(path, "rb")


def size_of_open(file: BinaryIO) -> int:
    """Return the bytes of a file that `open_for_reading` has opened."""
    size: int | None = getattr(getattr(file, "raw", None), "size", None)
    return os.fstat(file.fileno()).st_size if size is None else size


def delete_file(path: AnyPath) -> None:
    """Delete a file, or a link, if it is there."""
    if isinstance(path, UPath):
        delete_stored(path)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)
