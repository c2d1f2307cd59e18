"""Turn system errors into errors that name the file and say what to do."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, OptionError

# faults of the machine, and what helps; a rerun can survive each
_DISK = "EIO EREMOTEIO EBADMSG EUCLEAN ETIMEDOUT EHOSTDOWN EHOSTUNREACH ENXIO ENODEV ENOTCONN ESTALE"
_HINTS = {
    **{getattr(errno, name): "the disk or network file system failed; check it" for name in _DISK.split()},
    errno.ENOSPC: "free space on that disk",
    errno.EDQUOT: "your quota is used up; free space or choose another directory",
    errno.EACCES: "check the permissions, or choose another directory",
    errno.EPERM: "check the permissions, or choose another directory",
    errno.EROFS: "choose a directory that is not read-only",
    errno.EFBIG: "the file is too large (ulimit -f, or the file system); choose another directory",
    errno.EMFILE: "too many open files; raise the limit (ulimit -n), or give fewer --workers",
    errno.ENFILE: "too many files are open on this machine; end other programs",
    errno.ENOENT: "it was removed during use, or cannot be created there; run again, or choose another directory",
    errno.ENOMEM: "give a smaller --memory or fewer --workers",
}
_MISTAKES = {
    errno.ENOTDIR: "a part of the path is a file; give a directory",
    errno.EEXIST: "a file has that name, or a link that leads nowhere; give a directory",
    errno.ELOOP: "the path is a loop of links; give a directory",
    errno.ENAMETOOLONG: "give a shorter path",
}


class attach_path_to_error:  # noqa: N801  # around every read and write: a generator takes longer than a small one
    """Name the file in errors of the system: those of reads and writes, unlike those of `open`, name none."""

    __slots__ = ("path",)

    def __init__(self, path: object) -> None:
        self.path = path

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _kind: object, fault: object, _trace: object) -> None:
        """Name the file."""
        if isinstance(fault, OSError) and fault.filename is None and fault.errno is not None:
            fault.filename = str(self.path)


@contextmanager
def environment_faults() -> Iterator[None]:
    """Turn a full or failed disk or a refused permission into an error that says what to do."""
    try:
        yield
    except UnicodeEncodeError as fault:
        if (encoding := sys.getfilesystemencoding()) == "utf-8":
            raise
        what = f"a file name cannot be written in the locale's encoding {encoding}"
        raise EnvironmentFaultError(what, hint="set PYTHONUTF8=1") from fault
    except OSError as fault:
        number, name = fault.errno or 0, fault.filename
        hint = _HINTS.get(number) or _MISTAKES.get(number)
        if isinstance(fault, GraphPartError) or hint is None:
            raise
        error = OptionError if number in _MISTAKES else EnvironmentFaultError
        # `strerror` tells less than pyarrow
        raise error(os.strerror(number), file=None if name is None else os.fsdecode(name), hint=hint) from fault
