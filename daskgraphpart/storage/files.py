"""Ask about, list and read files that may be local or in a store; local ones are asked of the system directly.

Stores are asked through fsspec, whose caches are off: what is read is what was asked for, and listings are never old.
They try failing requests again themselves; what arrives here has failed for good, and becomes one error of ours.
"""

from __future__ import annotations

import io
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from daskgraphpart.errors import (
    EnvironmentFaultError,
    GraphPartError,
    InputFileError,
    InputFileNotFoundError,
    MissingPackageError,
    OptionError,
)
from daskgraphpart.extras import how_to_install
from daskgraphpart.storage.paths import AnyPath, Location, is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upath import UPath


BUFFER_NBYTES = 64 << 10
"""Bytes that are read of a remote file at least: headers come with one request."""
EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""Extras of the package, by protocol."""

_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "az")
_VERSION_KEYS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "last_modified", "created")


@contextmanager
def open_store(path: UPath) -> Iterator[Any]:
    """Give the file system of a path, which fsspec keeps open, and turn what it raises into one error of ours."""
    fs = None
    try:
        fs = path.fs
        yield fs
    except GraphPartError:
        raise
    except Exception as fault:
        if fs is not None and isinstance(fault, OSError) and fault.filename is not None:
            raise  # of a local file
        raise _store_fault(path, fault, is_open=fs is not None) from fault


def _store_fault(path: UPath, fault: Exception, *, is_open: bool) -> GraphPartError:
    found = next(iter(str(fault).splitlines()), "") or type(fault).__name__
    if isinstance(fault, ImportError):
        extra = EXTRAS.get(path.protocol)
        hint = how_to_install(extra) if extra else "install the package of fsspec for it"
        return MissingPackageError(
            f"a package for {path.protocol}:// is not installed", file=path, found=found, hint=hint
        )
    if isinstance(fault, (ValueError, TypeError)) and not is_open:
        what = f"{path.protocol}:// cannot be read by ranges, or not with these options"
        hint = "unpack archives first; check the protocol and the storage options"
        return OptionError(what, file=path, found=found, hint=hint)
    if isinstance(fault, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
        return InputFileNotFoundError("no such file", file=path, found=found)
    if isinstance(fault, PermissionError) or "credentials" in str(fault).lower():
        what, hint = "the store refuses access", "check the credentials: environment, fsspec's files, storage_options"
    else:
        what, hint = "the store failed", "check the network and the address of the store, and run again"
    return EnvironmentFaultError(what, file=path, found=found, hint=hint)


def _info(path: UPath) -> dict[str, Any] | None:
    """Return what the store tells of a file or directory; None if there is neither."""
    with suppress(InputFileNotFoundError), open_store(path) as fs:
        return cast("dict[str, Any]", fs.info(path.path))
    return None


def kind_of(path: AnyPath) -> str | None:
    """Return ``"file"``, ``"directory"``, ``"other"`` for pipes and the like, or None if there is nothing."""
    if is_remote(path):
        info = _info(path)
        return None if info is None else "directory" if info.get("type") == "directory" else "file"
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # a name may be too long, or hold a NUL
        return None
    return "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"


def is_file(path: AnyPath) -> bool:
    """Whether there is a regular file."""
    return kind_of(path) == "file"


def is_directory(path: AnyPath) -> bool:
    """Whether there is a directory."""
    return kind_of(path) == "directory"


def file_size(path: AnyPath) -> int:
    """Return the bytes of a file; a `FileNotFoundError` if there is none."""
    if not is_remote(path):
        return os.stat(path).st_size
    info = _info(path)
    if info is None or info.get("type") == "directory":
        raise InputFileNotFoundError("no such file", file=path, hint="was it removed while it was in use?")
    if not isinstance(info.get("size"), int):
        raise EnvironmentFaultError("the store does not tell the size of a file", file=path)
    return int(info["size"])


def signature_of(path: AnyPath) -> tuple[int | str, ...] | None:
    """Return size, mtime and ctime (ns) and inode of a file, or what its store tells; None if there is none."""
    if is_remote(path):
        info = _info(path)
        if info is None:
            return None
        version = next((f"{key} {info[key]}" for key in _VERSION_KEYS if info.get(key)), "version unknown")
        return int(info.get("size") or 0), version.replace('"', "")
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def list_directory(directory: Location) -> dict[str, int | None]:
    """Return the names in a directory, sorted, with the bytes of files, None for others; a store may have no such."""
    if not is_remote(directory):
        paths = sorted(directory.iterdir())
        return {path.name: path.stat().st_size if path.is_file() else None for path in paths}
    with suppress(InputFileNotFoundError), open_store(directory) as fs:
        own = str(fs._strip_protocol(directory.path)).rstrip("/")
        found = {str(entry["name"]).rstrip("/"): entry for entry in fs.ls(directory.path, detail=True)}
        # some stores list a directory, or a file that is asked for as one, as an entry of itself
        return {
            name.rpartition("/")[2]: None if entry["type"] == "directory" else int(entry["size"])
            for name, entry in sorted(found.items())
            if name != own
        }
    return {}


def file_sizes_in(directory: Location) -> dict[str, int]:
    """Return the bytes of the files directly in a directory, by name."""
    return {name: size for name, size in list_directory(directory).items() if size is not None}


@contextmanager
def cached_listings(directory: AnyPath) -> Iterator[None]:
    """List a directory of a bucket, or that of a config, and answer questions about its files while this lasts."""
    if is_remote(directory) and directory.suffix == ".json":
        directory = directory.parent
    # a whole bucket may hold anything
    if not is_remote(directory) or directory.protocol not in _BUCKETS or directory.parent == directory:
        yield
        return
    with open_store(directory) as fs:
        cache = fs.dircache
    cache.clear()
    cache.use_listings_cache = True
    try:
        try:
            with open_store(directory) as fs:
                fs.find(directory.path)
        except (EnvironmentFaultError, InputFileNotFoundError):
            cache.clear()  # a key may read, and not list; whoever asks for a file is told what is wrong
        yield
    finally:
        cache.use_listings_cache = False
        cache.clear()


def read_ranges(path: UPath, starts: Sequence[int], stops: Sequence[int]) -> list[bytes]:
    """Read ranges of bytes of a file at one time, and nothing else."""
    try:
        with open_store(path) as fs:
            found: list[bytes] = fs.cat_ranges([path.path] * len(starts), starts, stops, on_error="raise")
    except EnvironmentFaultError:
        _check_size(path, max(stops))  # a range beyond the end is refused by some stores, each in its own words
        raise
    for content, start, stop in zip(found, starts, stops, strict=True):
        if len(content) != stop - start:
            _check_size(path, stop)
            raise EnvironmentFaultError(
                "the store sent another number of bytes than it was asked for",
                file=path,
                expected=f"{stop - start:,}",
                found=f"{len(content):,}",
                hint="run again",
            )
    return found


def _check_size(path: UPath, stop: int) -> None:
    if (size := file_size(path)) < stop:
        raise InputFileError("file ends too early", file=path, expected=f"at least {stop:,} bytes", found=f"{size:,}")


def read_range(path: UPath, start: int, stop: int) -> bytes:
    """Read bytes ``[start, stop)`` of a file; raises as `read_ranges`."""
    return read_ranges(path, [start], [stop])[0] if start < stop else b""


def read_file(path: AnyPath) -> bytes:
    """Read all of a small file."""
    if is_remote(path):
        return read_range(path, 0, file_size(path))
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read()


def open_for_reading(path: AnyPath) -> BinaryIO:
    """Open a file for reading bytes."""
    if is_remote(path):
        return cast("BinaryIO", io.BufferedReader(StoreFile(path), BUFFER_NBYTES))
    return os.fdopen(open_regular(path), "rb")


def size_of_open(file: BinaryIO) -> int:
    """Return the bytes of what `open_for_reading` has opened; those of /proc have an end that cannot be sought."""
    try:
        return os.fstat(file.fileno()).st_size
    except io.UnsupportedOperation:  # a file in a store
        position = file.tell()
        size = file.seek(0, os.SEEK_END)
        file.seek(position)
        return size


def open_regular(path: str | os.PathLike[str]) -> int:
    """Open a file for reading; a pipe, which would keep us waiting, or a directory is refused."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise InputFileError("not a regular file", file=str(path), hint="was it replaced while it was in use?")


class StoreFile(io.RawIOBase):
    """A file in a store, open for reading; pyarrow passes its errors on as they are, unlike those of fsspec's files."""

    def __init__(self, path: UPath) -> None:
        self.path, self.size = path, file_size(path)
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: object) -> int:
        """Fill a buffer with one request, up to the end of the file; return the number of bytes."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        content = read_range(self.path, self._position, min(self._position + len(view), self.size))
        view[: len(content)] = content
        self._position += len(content)
        return len(content)


def delete_file(path: AnyPath) -> None:
    """Delete a file, or a link, if it is there."""
    if is_remote(path):
        with open_store(path) as fs:
            fs.rm_file(path.path)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)
