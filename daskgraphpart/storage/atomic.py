"""Files that appear complete or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.storage.files import workspace_store
from daskgraphpart.storage.local_store import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from daskgraphpart.storage.store import LocalPath

DELETED_FORMAT = "daskgraphpart deleted"
"""What a file in a store says, as JSON, that is about to be deleted."""


def temporary_path(path: str | os.PathLike[str]) -> str:
    """Return a file's name before it is complete."""
    return os.fspath(path) + TEMPORARY_SUFFIX


def publish(path: str | os.PathLike[str]) -> None:
    """Rename the temporary file of `path` to its final name."""
    os.replace(temporary_path(path), path)


def publish_once(path: str | os.PathLike[str]) -> None:
    """Publish the file unless an earlier run already did."""
    try:
        publish(path)
    except FileNotFoundError:
        if not os.path.exists(path):
            raise


def whole_file(path: LocalPath) -> AbstractContextManager[str]:
    """Yield a private temporary name, to be renamed to `path` on success.

    For files that a task writes whole. The task may run twice at a time, if its worker was believed dead or outlives
    its client; readers of `path` always find the same complete file.
    """
    return workspace_store(path).whole_file(path)


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
