"""Small objects of a store: read, created and deleted, many at a time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from daskgraphpart.errors import EnvironmentFaultError, InputFileNotFoundError
from daskgraphpart.storage.store_writes import writable_store
from daskgraphpart.storage.stores import VERSION_KEYS, open_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upath import UPath


def read_objects(paths: Sequence[UPath]) -> list[bytes]:
    """Read objects of one store at once; none may be empty."""
    if not paths:
        return []
    with open_store(paths[0]) as fs:
        return list(fs.cat_ranges([path.path for path in paths], 0, None, on_error="raise"))


def put_objects(contents: Mapping[UPath, bytes]) -> None:
    """Write objects of one store at once."""
    if contents:
        with writable_store(next(iter(contents))) as fs:
            fs.pipe({path.path: content for path, content in contents.items()})


def create_object(path: UPath, content: bytes) -> bool:
    """Write an object unless there is one; return False if there is one with other content.

    A refusal may answer a request that was made again after its first answer was lost.
    """
    try:
        with writable_store(path) as fs:
            fs.pipe_file(path.path, content, mode="create")
    except EnvironmentFaultError as fault:
        if isinstance(fault.__cause__, FileExistsError) or "PreconditionFailed" in str(fault.__cause__):
            return read_objects([path]) == [content]
        raise
    return True


def delete_objects(paths: Sequence[UPath]) -> None:
    """Delete objects of one store, of which some may be gone."""
    if paths:
        with suppress(InputFileNotFoundError), open_store(paths[0]) as fs:
            fs.rm([path.path for path in paths])


def list_below(directory: UPath) -> dict[str, str]:
    """List all objects below a directory: relative names, with what changes with the content."""
    with open_store(directory) as fs:
        listed = fs.find(directory.path, detail=True)
        first = len(str(fs._strip_protocol(directory.path)).rstrip("/")) + 1
    return {
        name[first:]: " ".join(str(info.get(key)) for key in ("size", *VERSION_KEYS)) for name, info in listed.items()
    }


def delete_below(directory: UPath) -> None:
    """Delete all objects below a directory."""
    with suppress(InputFileNotFoundError), open_store(directory) as fs:
        if paths := fs.find(directory.path):
            fs.rm(paths)
