"""Ask about, list and read files, local or in a store; local ones directly through the system.

Stores are on the rim: a file in one imports `stores.py`.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.mounts import depot_of
from daskgraphpart.storage.paths import AnyPath, Location, is_remote
from daskgraphpart.storage.stores import (
    cached_store,
    kind_in_store,
    list_in_store,
    open_in_store,
    open_store,
    read_range,
    signature_in_store,
    size_in_store,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def kind_of(path: AnyPath) -> str | None:
    """Return ``"file"``, ``"directory"``, ``"other"`` (a pipe, for example), or None."""
    if is_remote(path):
        return kind_in_store(path)
    if (depot := depot_of(path)) is not None:
        return None if depot.size(str(path)) is None else "file"
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # a name may be too long, or hold a NUL
        return None
    return "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"


def is_file(path: AnyPath) -> bool:
    """Whether it is a regular file."""
    return kind_of(path) == "file"


def is_directory(path: AnyPath) -> bool:
    """Whether it is a directory."""
    return kind_of(path) == "directory"


def file_size(path: AnyPath) -> int:
    """Return a file's size; `FileNotFoundError` if it does not exist."""
    if (depot := depot_of(path)) is not None:
        return depot.existing_size(str(path))
    if not is_remote(path):
        return os.stat(path).st_size
    return size_in_store(path)


def signature_of(path: AnyPath) -> tuple[int | str, ...] | None:
    """Return a file's size, mtime, ctime (ns) and inode, or what its store tells; None if it does not exist."""
    if is_remote(path):
        return signature_in_store(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def signatures_of(paths: Iterable[Location]) -> dict[str, Any]:
    """Return the signatures of existing files by path."""
    signatures = ((path.absolute(), signature_of(path.absolute())) for path in paths)
    return {f"input {path}": [*signature] for path, signature in signatures if signature is not None}


def list_directory(directory: Location) -> dict[str, int | None]:
    """List a directory: sorted names, with sizes of files and None for others; a store may lack it."""
    if (depot := depot_of(directory)) is not None:
        return depot.list_names(str(directory))
    if not is_remote(directory):
        with os.scandir(directory) as entries:
            entries_by_name = {entry.name: entry.stat().st_size if entry.is_file() else None for entry in entries}
        return dict(sorted(entries_by_name.items()))
    return list_in_store(directory)


def file_sizes_in(directory: Location) -> dict[str, int]:
    """Return the sizes of files directly in a directory, by name."""
    return {name: size for name, size in list_directory(directory).items() if size is not None}


@contextmanager
def cached_listings(directory: AnyPath) -> Iterator[None]:
    """List a directory of a bucket, or a config's, and answer questions about its files meanwhile."""
    if not is_remote(directory):
        yield
        return
    with cached_store(directory):
        yield


def read_file(path: AnyPath) -> bytes:
    """Read a small file."""
    if is_remote(path):
        return read_range(path, 0, file_size(path))
    with open_for_reading(path) as file:
        return file.read()


def open_for_reading(path: AnyPath) -> BinaryIO:
    """Open a file for reading bytes."""
    if is_remote(path):
        return open_in_store(path)
    if (depot := depot_of(path)) is not None:
        return depot.open(os.fspath(path))
    return os.fdopen(open_regular(path), "rb")


def size_of_open(file: BinaryIO) -> int:
    """Return the size of what `open_for_reading` opened; /proc files cannot seek to an end."""
    try:
        return os.fstat(file.fileno()).st_size
    except io.UnsupportedOperation:  # in a store
        position = file.tell()
        size = file.seek(0, os.SEEK_END)
        file.seek(position)
        return size


def open_regular(path: str | os.PathLike[str]) -> int:
    """Open a regular file for reading; refuse a pipe, which would block, or a directory."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise InputFileError("not a regular file", file=str(path), hint="was it replaced while it was in use?")


def delete_file(path: AnyPath) -> None:
    """Delete a file or link, if it exists."""
    if is_remote(path):
        with open_store(path) as fs:
            fs.rm_file(path.path)
    elif (depot := depot_of(path)) is not None:
        depot.delete_files([os.fspath(path)])
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def delete_files(paths: Sequence[str]) -> None:
    """Delete files of one directory of this machine, or of a depot."""
    if paths and (depot := depot_of(paths[0])) is not None:
        depot.delete_files(paths)
        return
    for path in paths:
        delete_file(path)


FileState: TypeAlias = tuple[int, int, int] | None
"""Size, time of the last change and number of a file; None if there is none."""


def file_state(path: str) -> FileState:
    """State of a file, to detect changes."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def delete_tree(directory: str | os.PathLike[str]) -> None:
    """Delete a directory and all that is below it, as far as that can be done."""
    if (depot := depot_of(directory)) is not None:
        depot.delete_tree(os.fspath(directory))
    else:
        shutil.rmtree(directory, ignore_errors=True)


def make_directory(path: str | os.PathLike[str]) -> None:
    """Make a directory and those above it, unless they exist; a store has none."""
    if depot_of(path) is None:
        os.makedirs(path, exist_ok=True)
