"""Append bytes to a log: a file or, in a depot, whatever takes its place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.mounts import depot_of

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.storage.mounts import Log


def open_log(path: Path) -> Log:
    """Open a log for appending; one in a file exists."""
    depot = depot_of(path)
    return LogFile(path) if depot is None else depot.open_log(str(path))


def create_log(path: Path, content: bytes) -> Log:
    """Create a log with its first lines."""
    if depot_of(path) is None:
        with attach_path_to_error(path):
            path.write_bytes(content)
        return LogFile(path)
    log = open_log(path)
    log.append(content)
    log.flush()
    return log


def read_log(path: Path) -> bytes | None:
    """Read a log, None if there is none."""
    if (depot := depot_of(path)) is not None:
        return depot.read_log(str(path))
    if not path.is_file():
        return None
    with attach_path_to_error(path):
        return path.read_bytes()


class LogFile:
    """A log in a file, which outlives the process with every line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def append(self, content: bytes) -> None:
        """Append some lines."""
        try:
            with attach_path_to_error(self.path):
                while content:  # after a partial write, the next attempt gives the reason
                    content = content[os.write(self._fd, content) :]
        except OSError:
            self.close()  # nothing may follow a torn line
            raise

    def flush(self) -> None:
        """Do nothing."""

    def truncate(self, nbytes: int) -> None:
        """Drop a torn line."""
        os.truncate(self.path, nbytes)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
