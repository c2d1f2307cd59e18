"""Let one job at a time write to a directory: a lock file, released by the system if its holder dies.

It uses `flock`, which on Linux also works across machines of a network file system. Notes in the file are for messages,
and for whoever follows a killed holder; the file's existence locks nothing. A link in its place is refused.
(Some releases of `filelock` empty the file, and with it the notes.)
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import pwd
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from daskgraphpart.errors import OptionError, OutputExistsError, OutputLockedError
from daskgraphpart.storage.faults import attach_path_to_error

logger = logging.getLogger(__name__)

LOCK_NAME = ".daskgraphpart-lock"
MAX_NBYTES = 1 << 16
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class LockNotes(msgspec.Struct, frozen=True):
    """A holder's notes: workspace of an unfinished job, its output, and who held the lock."""

    workspace: str | None = None
    output: str | None = None
    host: str = "unknown"
    pid: int | str = "unknown"


class Lock(Protocol):
    """What a job holds while it runs; `notes` are an earlier holder's, if any."""

    notes: LockNotes

    def write(self, *, workspace: str | None, output: str | None = None) -> None:
        """Leave notes for whoever follows."""

    def commit(self) -> None:
        """Let nobody continue what earlier holders have left."""

    def check(self) -> None:
        """Raise `OutputLockedError` if another run has taken the lock."""

    def release(self, keep_notes: bool = False) -> None:
        """Release the lock; without notes to keep, remove it."""


class DirectoryLock(Lock):
    """The lock of an existing directory, held until `release`; `notes` are an earlier holder's, if any."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / LOCK_NAME
        self._fd = _lock(self.path)
        self.notes = LockNotes()
        try:
            with attach_path_to_error(self.path):
                self.notes = _read_notes(self._fd)
            self.write(workspace=self.notes.workspace, output=self.notes.output)
        except BaseException:
            self.release(keep_notes=self.notes.workspace is not None)
            raise

    def write(self, *, workspace: str | None, output: str | None = None) -> None:
        self.notes = LockNotes(workspace, output, socket.gethostname(), os.getpid())
        content = json.dumps(msgspec.to_builtins(self.notes)).encode() + b"\n"
        with attach_path_to_error(self.path):
            os.pwrite(self._fd, content, 0)
            os.ftruncate(self._fd, len(content))

    def commit(self) -> None:
        """Do nothing: a later holder has waited for the earlier one's death."""

    def check(self) -> None:
        """Do nothing: the system keeps it while this process lives."""

    def release(self, keep_notes: bool = False) -> None:
        if self._fd < 0:
            return
        if not keep_notes:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1


@contextlib.contextmanager
def locked_output(directory: Path) -> Iterator[None]:
    """Make and lock a local directory for what no run resumes, unless an unfinished run has left its files there."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = DirectoryLock(directory)
    is_left = lock.notes.workspace is not None
    try:
        if is_left:
            what, hint = "an unfinished run has left its files here", "run it again first, or choose another directory"
            raise OutputExistsError(what, file=str(directory), hint=hint)
        yield
    finally:
        lock.release(keep_notes=is_left)


def is_unfinished(directory: Path) -> bool:
    """Whether an unfinished job has left something in a directory."""
    try:
        fd = _open(directory / LOCK_NAME, os.O_RDONLY)
    except (OSError, OptionError):
        return False
    try:
        return bool(_read_notes(fd).workspace)
    finally:
        os.close(fd)


def _open(path: Path, flags: int) -> int:
    """Open a regular file, not a link; never block on a pipe."""
    fd = -1
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
        is_file = stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError as fault:
        if fault.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
        is_file = False
    if not is_file:
        if fd >= 0:
            os.close(fd)
        raise OptionError("the lock file is a link, or not a file", file=str(path), hint="remove it")
    return fd


def _lock(path: Path) -> int:
    """Open and lock the file that then has this name: its last holder may have just removed it."""
    while True:
        try:
            fd = _open(path, os.O_RDWR | os.O_CREAT)
        except PermissionError as fault:
            _refuse_of_other_user(path, fault)
            raise
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), os.lstat(path)):
                    return fd
        except OSError as fault:
            if fault.errno in _UNSUPPORTED:
                logger.warning("%s: this file system has no locks, so do not start two runs at a time", path.parent)
                return fd
            holder = _read_notes(fd)
            os.close(fd)
            if fault.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise OutputLockedError(
                f"another run (pid {holder.pid} on host {holder.host}) is writing here",
                file=str(path.parent),
                hint="wait until it ends, or choose another output directory",
            ) from fault
        os.close(fd)


def _refuse_of_other_user(path: Path, fault: PermissionError) -> None:
    """Raise an error that names the user whose lock this is; those in the same group may read it alone."""
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return  # there is no lock, and this user may not write in the directory
    if owner == os.geteuid():
        return
    try:
        user = pwd.getpwuid(owner).pw_name
    except KeyError:
        user = str(owner)
    raise OutputLockedError(
        f"a run of user {user} is unfinished here",
        file=str(path.parent),
        hint=f"let {user} run the same command again to continue it, or choose another output directory",
    ) from fault


def _read_notes(fd: int) -> LockNotes:
    """Read notes; none if the file is empty, torn, or of another form."""
    content = os.pread(fd, MAX_NBYTES, 0).split(b"\n")[0]
    try:
        return msgspec.json.decode(content, type=LockNotes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return LockNotes()
