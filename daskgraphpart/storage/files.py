"""Ask about, list and read files, whose path tells in which store they lie."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from daskgraphpart.storage.local_store import LOCAL
from daskgraphpart.storage.paths import AnyPath, Location, is_remote
from daskgraphpart.storage.store import LocalPath, Store, WorkspaceStore, attached

if TYPE_CHECKING:
    from daskgraphpart.storage.object_store import ObjectStore

INPUT = "input "
"""How names of signatures begin; a path follows."""


def store_of(path: AnyPath) -> Store[Any]:
    """Return the store in which a file lies."""
    if isinstance(path, (str, Path)) and not attached:
        return LOCAL
    return object_stores() if is_remote(path) else workspace_store(path)


def object_stores() -> ObjectStore:
    """Return what reads files that are named by URLs."""
    from daskgraphpart.storage.object_store import OBJECTS  # for few jobs

    return OBJECTS


def workspace_store(path: AnyPath) -> WorkspaceStore:
    """Return the store in which a file of a job lies; names on no disk are those of a job that is attached."""
    if not attached:
        return LOCAL
    name = str(path)
    return next((store for root, store in [*attached.items()] if name.startswith(f"{root}/")), LOCAL)


def shown_name(path: AnyPath) -> str:
    """Name a file for people."""
    return store_of(path).shown_name(path)


def kind_of(path: AnyPath) -> str | None:
    """Return ``"file"``, ``"directory"``, ``"other"`` (a pipe, for example), or None."""
    return store_of(path).kind(path)


def is_file(path: AnyPath) -> bool:
    """Whether it is a regular file."""
    return kind_of(path) == "file"


def is_directory(path: AnyPath) -> bool:
    """Whether it is a directory."""
    return kind_of(path) == "directory"


def file_size(path: AnyPath) -> int:
    """Return a file's size; `FileNotFoundError` if it does not exist."""
    return store_of(path).size(path)


def signature_of(path: AnyPath) -> tuple[int | str, ...] | None:
    """Return what changes with a file's content; None if it does not exist."""
    return store_of(path).signature(path)


def signatures_of(paths: Iterable[Location]) -> dict[str, Any]:
    """Return the signatures of existing files by path."""
    signatures = ((path.absolute(), signature_of(path.absolute())) for path in paths)
    return {f"{INPUT}{path}": [*signature] for path, signature in signatures if signature is not None}


def list_directory(directory: Location) -> dict[str, int | None]:
    """List a directory: sorted names, with sizes of files and None for others; empty if it is none."""
    return store_of(directory).list_names(directory)


def file_sizes_in(directory: Location) -> dict[str, int]:
    """Return the sizes of files directly in a directory, by name."""
    return {name: size for name, size in list_directory(directory).items() if size is not None}


def cached_listings(directory: AnyPath) -> AbstractContextManager[None]:
    """List a directory of a bucket, or a config's, and answer questions about its files meanwhile."""
    return store_of(directory).cached_listings(directory)


def read_file(path: AnyPath) -> bytes:
    """Read a small file."""
    with open_for_reading(path) as file:
        return file.read()


def open_for_reading(path: AnyPath) -> BinaryIO:
    """Open a file for reading bytes."""
    return store_of(path).open(path)


def size_of_open(file: BinaryIO) -> int:
    """Return the size of what `open_for_reading` opened; /proc files cannot seek to an end."""
    try:
        return os.fstat(file.fileno()).st_size
    except io.UnsupportedOperation:  # in a store
        position = file.tell()
        size = file.seek(0, os.SEEK_END)
        file.seek(position)
        return size


def delete_file(path: AnyPath) -> None:
    """Delete a file or link, if it exists."""
    store_of(path).delete_files([path])


def delete_files(paths: Sequence[str]) -> None:
    """Delete files of one directory."""
    if paths:
        workspace_store(paths[0]).delete_files(paths)


def delete_tree(directory: LocalPath) -> None:
    """Delete a directory and all that is below it, as far as that can be done."""
    workspace_store(directory).delete_tree(directory)


def make_directory(path: LocalPath) -> None:
    """Make a directory and those above it, unless they exist; a store has none."""
    workspace_store(path).make_directory(path)


def local_copy(path: LocalPath, *, is_final: bool = False) -> str:
    """Return the name of a file on this machine's disk, copied there once if it lies elsewhere.

    A final file is not asked for its version again.
    """
    return workspace_store(path).local_copy(path, is_final=is_final)


def directory_on_disk(path: LocalPath) -> AbstractContextManager[Path]:
    """Yield a directory on this machine's disk: the one given or, in place of one elsewhere, a temporary one."""
    return workspace_store(path).directory_on_disk(path)


FileState: TypeAlias = tuple[int, int, int] | None
"""Size, time of the last change and number of a file; None if there is none."""


def file_state(path: str) -> FileState:
    """State of a file, to detect changes."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
