"""Make temporary directories: for a while, or until Python exits."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.storage.store import LocalPath


@contextmanager
def scratch_directory(where: LocalPath) -> Iterator[Path]:
    """Make a directory for temporary files in another, created if needed; remove it at the end."""
    Path(where).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".daskgraphpart-", dir=where, ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def lasting_directory(where: LocalPath | None = None) -> Path:
    """Make a temporary directory, in another one if given, that Python removes on exit."""
    if where is not None:
        Path(where).mkdir(parents=True, exist_ok=True)
    directory = tempfile.mkdtemp(prefix="daskgraphpart-" if where is None else ".daskgraphpart-", dir=where)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)
