"""Files that appear complete or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import json
import os
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.mounts import depot_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEMPORARY_SUFFIX = ".unfinished"
DELETED_FORMAT = "daskgraphpart deleted"
"""What a file in a store says, as JSON, that is about to be deleted."""


def temporary_path(path: str | os.PathLike[str]) -> str:
    """Return a file's name before it is complete."""
    return os.fspath(path) + TEMPORARY_SUFFIX


def publish(path: str | os.PathLike[str]) -> None:
    """Rename the temporary file of `path` to its final name."""
    os.replace(temporary_path(path), path)


def publish_once(path: str | os.PathLike[str]) -> None:
    """Do the same, unless a killed run has done it."""
    try:
        publish(path)
    except FileNotFoundError:
        if not os.path.exists(path):
            raise


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield a private temporary name, to be renamed to `path` on success.

    For files that a task writes whole. The task may run twice at a time, if its worker was believed dead or outlives
    its client; readers of `path` always find the same complete file.
    """
    depot = depot_of(path)
    if depot is not None:
        with depot.whole_file(os.fspath(path)) as temporary:
            yield temporary
        return
    temporary = f"{os.fspath(path)}.{uuid.uuid4().hex[:12]}{TEMPORARY_SUFFIX}"
    try:
        with attach_path_to_error(path):
            yield temporary
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def changed_file(path: str) -> Iterator[str]:
    """Yield the name under which a file can be changed in place."""
    if (depot := depot_of(path)) is None:
        yield path
        return
    with depot.changed_file(path) as copy:
        yield copy


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file atomically and durably."""
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically; the caller orders the keys."""
    write_bytes(path, json_bytes(content))


def json_bytes(content: Any) -> bytes:
    """Encode JSON with a final newline."""
    return (json.dumps(content, indent=1) + "\n").encode()
