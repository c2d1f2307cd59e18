"""Files that appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import atexit
import errno
import json
import os
import shutil
import tempfile
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPORARY_SUFFIX = ".unfinished"

_PERMISSIONS = "see who may read and write there, or give another directory"
_BAD_DISK = "the disk or network file system failed; check it and run again"
_AWAY = "the file system is not there any more; mount it again, and run again"
# what the system says of a machine that fails, and what helps; a rerun can survive each
_HINTS = {
    errno.ENOSPC: "free space on that disk, and run again",
    errno.EDQUOT: "your quota is used up; free space or use another directory, and run again",
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: "give a directory that is not read-only",
    errno.EIO: _BAD_DISK,
    errno.EREMOTEIO: _BAD_DISK,
    errno.EBADMSG: _BAD_DISK,
    errno.EUCLEAN: _BAD_DISK,
    errno.ETIMEDOUT: _BAD_DISK,
    errno.EHOSTDOWN: _BAD_DISK,
    errno.EHOSTUNREACH: _BAD_DISK,
    errno.ENXIO: _BAD_DISK,
    errno.ENODEV: _AWAY,
    errno.ENOTCONN: _AWAY,
    errno.ESTALE: _AWAY,
    errno.EFBIG: "files may not be that large there (ulimit -f, or the file system); give another directory",
    errno.EMFILE: "too many files are open at one time; raise the limit (ulimit -n), or give fewer --workers",
    errno.ENFILE: "too many files are open on this machine; end something else, and run again",
    errno.ENOMEM: "give a smaller --memory or fewer --workers",
}
_MISTAKES = {
    errno.ENOTDIR: "a part of the path is a file; give a directory",
    errno.EEXIST: "there is a file of that name; give a directory",
    errno.ENAMETOOLONG: "give a shorter path",
}


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
        with naming(path):
            yield temporary
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def whole_directory(path: str | os.PathLike[str]) -> Iterator[str]:
    """Do the same for a directory; if `path` is there already, it stays, because the same task has written it."""
    temporary = f"{os.fspath(path)}.{uuid.uuid4().hex[:12]}{TEMPORARY_SUFFIX}"
    try:
        with naming(path):
            yield temporary
            try:
                os.rename(temporary, path)
            except OSError as fault:
                if fault.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file atomically and durably."""
    try:
        with naming(path), open(temporary_path(path), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        publish(path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary_path(path))
        raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically, with sorted keys left to the caller and a final newline."""
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode())


@contextmanager
def scratch_directory(where: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a directory for temporary files in another, which is made if need be, and remove it when done."""
    Path(where).mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix=".daskgraphpart-", dir=where))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def lasting_directory() -> Path:
    """Make a temporary directory that is removed when the interpreter ends."""
    directory = tempfile.mkdtemp(prefix="daskgraphpart-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give errors of the system the name of the file: those of reads and writes, unlike those of `open`, have none."""
    try:
        yield
    except OSError as fault:
        if fault.filename is None and fault.errno is not None:
            fault.filename = os.fspath(path)
        raise


@contextmanager
def environment_faults() -> Iterator[None]:
    """Turn a full disk, a failed one or a refused permission into an error that says what to do.

    Raises
    ------
    EnvironmentFaultError
        On ENOSPC, EDQUOT, EACCES, EPERM, EROFS, EIO, ESTALE and their kind.
    OptionError
        On ENOTDIR, EEXIST and ENAMETOOLONG: the path itself cannot be.
    """
    try:
        yield
    except OSError as fault:
        if isinstance(fault, GraphPartError) or fault.errno not in {**_HINTS, **_MISTAKES}:
            raise
        # not `strerror`, where pyarrow says more than what happened
        what, file = os.strerror(fault.errno), os.fsdecode(fault.filename) if fault.filename is not None else None
        if fault.errno in _MISTAKES:
            raise OptionError(what, file=file, hint=_MISTAKES[fault.errno]) from fault
        raise EnvironmentFaultError(what, file=file, hint=_HINTS[fault.errno]) from fault
