"""Files that appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPORARY_SUFFIX = ".unfinished"


def temporary_path(path: str | os.PathLike[str]) -> str:
    """Return the name a file has until it is whole."""
    return os.fspath(path) + TEMPORARY_SUFFIX


def publish(path: str | os.PathLike[str]) -> None:
    """Rename the temporary file of `path` to its final name."""
    os.replace(temporary_path(path), path)


def publish_once(path: str | os.PathLike[str]) -> None:
    """Do the same, unless a run that was killed has done it."""
    try:
        publish(path)
    except FileNotFoundError:
        if not os.path.exists(path):
            raise


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give a temporary name of the caller's own, whose file gets the name `path` when all went well.

    For files that a task writes whole: the same task may run twice at one time, where a worker was believed dead, or
    works on after its client was killed; whoever reads `path` then still finds all of it, and always the same.
    """
    temporary = f"{os.fspath(path)}.{uuid.uuid4().hex[:12]}{TEMPORARY_SUFFIX}"
    try:
        with attach_path_to_error(path):
            yield temporary
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file atomically and durably."""
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically, with sorted keys left to the caller and a final newline."""
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode())


@contextmanager
def scratch_directory(where: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a directory for temporary files in another, which is made if need be, and remove it when done."""
    Path(where).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".daskgraphpart-", dir=where, ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@contextmanager
def made_directory(path: Path) -> Iterator[None]:
    """Make a directory if need be; those that were made are removed again if nothing was put into them."""
    made = [directory for directory in (path, *path.parents) if not directory.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # there is output in it
            for directory in made:
                directory.rmdir()


def lasting_directory() -> Path:
    """Make a temporary directory that is removed when the interpreter ends."""
    directory = tempfile.mkdtemp(prefix="daskgraphpart-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)
