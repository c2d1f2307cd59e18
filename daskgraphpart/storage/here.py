"""Files and directories of jobs on this machine's own disk: those of a depot as copies, all others as they are."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.storage.mounts import depot_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def file_here(path: str | os.PathLike[str]) -> str:
    """Return the name of a file on this machine's disk; one of a depot is copied there once."""
    depot = depot_of(path)
    return os.fspath(path) if depot is None else depot.copy_here(os.fspath(path))


@contextmanager
def directory_here(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a directory on this machine's disk: the one given or, in place of one in a depot, a temporary one."""
    depot = depot_of(path)
    if depot is None:
        yield Path(path)
        return
    directory = tempfile.mkdtemp(dir=depot.disk)
    try:
        yield Path(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
