"""Files on a disk, reached directly through the system."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.lock import DirectoryLock
from daskgraphpart.storage.store import LocalPath, Log, WorkspaceStore

TEMPORARY_SUFFIX = ".unfinished"
LEAST_RESERVED_NBYTES = 64 << 10
MAX_WRITE_NBYTES = 128 << 10
"""Bytes written by one call, to between two multiples of it: for longer ones Linux looks for larger runs of free pages,
which takes longer than to fill them where free memory is in pieces."""
_MAX_READ_NBYTES = 1 << 30  # Linux moves at most 2 GiB - 4 KiB in one call
_fallocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)


class LocalStore(WorkspaceStore):
    """The directories of this machine, and those that it shares with others."""

    is_on_disk = True

    def __reduce__(self) -> str:
        """Pickle by name: each task carries one."""
        return "LOCAL"

    def kind(self, path: LocalPath) -> str | None:
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):  # a name may be too long, or hold a NUL
            return None
        return "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"

    def size(self, path: LocalPath) -> int:
        return os.stat(path).st_size

    def signature(self, path: LocalPath) -> tuple[int, ...] | None:
        """Return a file's size, mtime, ctime (ns) and inode; None if it does not exist."""
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino

    def list_names(self, path: LocalPath) -> dict[str, int | None]:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(path) as entries:
            return dict(sorted((entry.name, entry.stat().st_size if entry.is_file() else None) for entry in entries))
        return {}

    def open(self, path: LocalPath) -> BinaryIO:
        return os.fdopen(open_regular(path), "rb")

    def read_into(self, buffer: memoryview, path: LocalPath, offset: int) -> None:
        fd = open_regular(path)
        try:
            _read_exactly(fd, buffer, offset, path)
        finally:
            os.close(fd)

    def delete_files(self, paths: Sequence[LocalPath]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                os.unlink(path)

    def make_directory(self, path: LocalPath) -> None:
        os.makedirs(path, exist_ok=True)

    @contextmanager
    def whole_file(self, path: LocalPath) -> Iterator[str]:
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
    def changed_file(self, path: LocalPath) -> Iterator[str]:
        yield os.fspath(path)

    def create(
        self, path: LocalPath, nbytes: int, constants: Sequence[tuple[int, bytes]], *, is_mapped: bool = False
    ) -> None:
        """Create a file of a known size; small ones, of which there may be many thousands, are one write.

        One to be mapped for writing takes its space at once: a hole on a full disk would kill the process.
        """
        with attach_path_to_error(path), open(path, "wb", buffering=0) as file:
            if nbytes >= LEAST_RESERVED_NBYTES:
                _reserve(file.fileno(), nbytes, path)
            else:
                whole = bytearray(nbytes)
                for offset, content in constants:
                    whole[offset : offset + len(content)] = content
                constants = ((0, bytes(whole)),)
            for offset, content in constants:
                write_exactly(file.fileno(), memoryview(content), offset, path)
            if is_mapped and hasattr(os, "posix_fallocate"):  # macOS has none
                os.posix_fallocate(file.fileno(), 0, nbytes)

    def write(self, path: LocalPath, offset: int, content: memoryview) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            write_exactly(fd, content, offset, path)
        finally:
            os.close(fd)

    def local_copy(self, path: LocalPath, *, is_final: bool = False) -> str:
        return os.fspath(path)

    @contextmanager
    def directory_on_disk(self, path: LocalPath) -> Iterator[Path]:
        yield Path(path)

    def delete_tree(self, path: LocalPath) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def renew(self, root: str, names: Sequence[str]) -> None:
        self.remove(root)
        os.makedirs(os.path.dirname(root), exist_ok=True)
        os.mkdir(root, 0o700)  # on a shared disk, a planted link is an error
        for name in names:
            os.mkdir(f"{root}/{name}")

    def remove(self, root: str, kept: str = "") -> None:
        if not kept:
            shutil.rmtree(root, ignore_errors=True)
            return
        for path in Path(root).iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != kept:
                path.unlink(missing_ok=True)

    def open_log(self, path: LocalPath) -> LogFile:
        return LogFile(path)

    def read_log(self, path: LocalPath) -> bytes | None:
        if self.kind(path) != "file":
            return None
        with attach_path_to_error(path), self.open(path) as file:
            return file.read()

    def lock(self, directory: Path) -> DirectoryLock:
        return DirectoryLock(directory)


LOCAL = LocalStore()


class LogFile(Log):
    """A log in a file, which outlives the process with every line."""

    def __init__(self, path: LocalPath) -> None:
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def append(self, content: bytes) -> None:
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
        os.truncate(self.path, nbytes)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def open_regular(path: LocalPath) -> int:
    """Open a regular file for reading; refuse a pipe, which would block, or a directory."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise InputFileError("not a regular file", file=str(path), hint="was it replaced while it was in use?")


def _read_exactly(fd: int, buffer: memoryview, offset: int, path: LocalPath) -> None:
    """Fill a buffer from an offset of the open file `path`, which errors name."""
    done = 0
    while done < len(buffer):
        with attach_path_to_error(path):
            count = os.preadv(fd, [buffer[done : done + _MAX_READ_NBYTES]], offset + done)
        if count == 0:
            raise InputFileError(
                "file ends too early",
                file=path,
                expected=f"at least {offset + len(buffer):,} bytes",
                found=f"{offset + done:,}",
            )
        done += count


def write_exactly(fd: int, content: memoryview, offset: int, path: LocalPath) -> None:
    """Write all of `content` at an offset of the open file `path`, which errors name."""
    done = 0
    with attach_path_to_error(path):
        while done < len(content):
            stop = done + MAX_WRITE_NBYTES - (offset + done) % MAX_WRITE_NBYTES
            done += os.pwrite(fd, content[done:stop], offset + done)


def _reserve(fd: int, nbytes: int, path: LocalPath) -> None:
    """Give the empty open file `path` its length, and its space if the file system can: less work later.

    Where it cannot, `os.posix_fallocate` would write to every block.
    """
    with attach_path_to_error(path):
        os.ftruncate(fd, nbytes)
        if _fallocate is not None and _fallocate(fd, 0, ctypes.c_int64(0), ctypes.c_int64(nbytes)):
            number = ctypes.get_errno()
            if number in (errno.ENOSPC, errno.EDQUOT):
                raise OSError(number, os.strerror(number))
