"""One writer per directory: a lock file that the system releases when its holder dies, whatever way.

The lock is `flock`'s, on Linux also across machines of a network file system. What is written into the file is for
messages, and for whoever comes after a holder that was killed; that the file exists locks nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import socket
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OutputLockedError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import write_exactly

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

LOCK_NAME = ".daskgraphpart-lock"
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class DirectoryLock:
    """The lock of a directory, held until `release`.

    Parameters
    ----------
    directory : Path
        The directory; must exist.

    Attributes
    ----------
    notes : dict
        What earlier holders that did not come to their end have left; with `host` and `pid` of the last of them.

    Raises
    ------
    OutputLockedError
        If somebody else holds it; says who.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / LOCK_NAME
        self._fd = _lock(self.path)
        self.notes: dict[str, Any] = {}
        try:
            self.notes = _read_notes(self._fd, self.path)
            self.write({})
        except BaseException:
            self.release(keep_notes=bool(self.notes))
            raise

    def write(self, notes: dict[str, Any]) -> None:
        """Add notes for whoever comes after."""
        self.notes = {**self.notes, **notes, "host": socket.gethostname(), "pid": os.getpid()}
        content = json.dumps(self.notes).encode() + b"\n"
        write_exactly(self._fd, memoryview(content), 0, str(self.path))
        with attach_path_to_error(self.path):
            os.ftruncate(self._fd, len(content))

    def release(self, keep_notes: bool = False) -> None:
        """Give the lock back; without notes to keep, the file goes as well."""
        if self._fd < 0:
            return
        if not keep_notes:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1


def is_unfinished(directory: Path) -> bool:
    """Tell whether a job that did not come to its end has left something in a directory."""
    path = directory / LOCK_NAME
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return bool(_read_notes(fd, path).get("workspace"))
    finally:
        os.close(fd)


def _lock(path: Path) -> int:
    """Open and lock the file that has this name when the lock is there: its last holder may have just removed it."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), path.stat()):
                    return fd
        except OSError as fault:
            if fault.errno in _UNSUPPORTED:
                logger.warning("%s: no locks on this file system; nothing keeps two runs apart", path.parent)
                return fd
            holder = _read_notes(fd, path)
            os.close(fd)
            if fault.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise OutputLockedError(
                f"another run (pid {holder.get('pid', 'unknown')} on host {holder.get('host', 'unknown')}) "
                "is writing here",
                file=str(path.parent),
                hint="wait until it has ended, or give another output directory",
            ) from fault
        os.close(fd)


def _read_notes(fd: int, path: Path) -> dict[str, Any]:
    try:
        with attach_path_to_error(path):
            notes = json.loads(os.pread(fd, 1 << 16, 0).split(b"\n")[0])
    except ValueError:  # empty, or cut short by a kill
        return {}
    return notes if isinstance(notes, dict) else {}
