"""Ask stores for kinds, sizes, listings and ranges of bytes, through fsspec; their faults become errors of ours.

fsspec's caches are off: what is read is what was asked for, and listings are never old. Stores try failing requests
again themselves; what arrives here has failed for good.
"""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from upath import UPath

from daskgraphpart.errors import (
    EnvironmentFaultError,
    GraphPartError,
    InputFileError,
    InputFileNotFoundError,
    MissingPackageError,
    OptionError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.storage.paths import AnyPath

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""Extras of the package, by protocol."""

_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "az")
_REFUSED = "the store refuses access"
_VERSION_KEYS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "last_modified", "created")


def open_store(path: UPath) -> Any:
    """Return the file system of a path; fsspec keeps it open for whoever asks with the same options."""
    try:
        return path.fs
    except ImportError as fault:
        extra = EXTRAS.get(path.protocol)
        hint = f'pip install "daskgraphpart[{extra}]"' if extra else "install the package of fsspec for it"
        raise MissingPackageError(
            f"a package for {path.protocol}:// is not installed", file=path, found=_first_line(fault), hint=hint
        ) from fault
    except (ValueError, TypeError) as fault:
        raise OptionError(
            f"{path.protocol}:// cannot be read by ranges, or not with these options",
            file=path,
            found=_first_line(fault),
            hint="unpack archives first; check the protocol and the storage options",
        ) from fault
    except Exception as fault:
        raise _store_fault(path, fault) from fault


@contextmanager
def store_faults(path: UPath) -> Iterator[None]:
    """Turn whatever a store raises into one error of ours; those of local files, which they name, stay."""
    try:
        yield
    except GraphPartError:
        raise
    except Exception as fault:
        if isinstance(fault, OSError) and fault.filename is not None:
            raise
        if isinstance(fault, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
            raise InputFileNotFoundError("no such file", file=path, found=_first_line(fault)) from fault
        raise _store_fault(path, fault) from fault


def _store_fault(path: UPath, fault: Exception) -> EnvironmentFaultError:
    if isinstance(fault, PermissionError) or "credentials" in str(fault).lower():
        what, hint = _REFUSED, "check the credentials: environment, configuration of fsspec, or storage_options"
    else:
        what, hint = "the store failed", "check the network and the address of the store, and run again"
    return EnvironmentFaultError(what, file=path, found=_first_line(fault), hint=hint)


def _first_line(fault: BaseException) -> str:
    return next(iter(str(fault).splitlines()), "") or type(fault).__name__


def require_bucket(path: UPath) -> None:
    """Refuse a path in a bucket that does not exist, which otherwise looks like one without files."""
    if path.protocol not in _BUCKETS:
        return
    bucket = path.path.lstrip("/").partition("/")[0]
    try:
        with store_faults(path):
            open_store(path).info(bucket)
    except EnvironmentFaultError as fault:
        if fault.what != _REFUSED:  # a key may be good for some names in a bucket, and not for the bucket
            raise
    except InputFileNotFoundError as fault:
        raise InputFileNotFoundError(
            "no such bucket", file=path, place=bucket, hint="check its name, or create it"
        ) from fault


@contextmanager
def cached_listings(directory: AnyPath) -> Iterator[None]:
    """List a directory of a bucket, or that of a config, and answer questions about its files while this lasts."""
    if isinstance(directory, UPath) and directory.suffix == ".json":
        directory = directory.parent
    if (
        not isinstance(directory, UPath)
        or directory.protocol not in _BUCKETS
        or directory.parent == directory  # a whole bucket may hold anything
    ):
        yield
        return
    cache = open_store(directory).dircache
    cache.clear()
    cache.use_listings_cache = True
    try:
        try:
            with store_faults(directory):
                open_store(directory).find(directory.path)
        except (EnvironmentFaultError, InputFileNotFoundError):
            cache.clear()  # a key may read, and not list; whoever asks for a file is told what is wrong
        yield
    finally:
        cache.use_listings_cache = False
        cache.clear()


def info_of(path: UPath) -> dict[str, Any] | None:
    """Return what the store tells of a file or directory; None if there is neither."""
    fs = open_store(path)
    try:
        with store_faults(path):
            found: dict[str, Any] = fs.info(path.path)
            return found
    except InputFileNotFoundError:
        return None


def kind_of(path: UPath) -> str | None:
    """Return ``"file"``, ``"directory"``, or None if there is neither."""
    info = info_of(path)
    return None if info is None else ("directory" if info.get("type") == "directory" else "file")


def size_of(path: UPath) -> int:
    """Return the bytes of a file."""
    info = info_of(path)
    if info is None or info.get("type") == "directory":
        raise InputFileNotFoundError("no such file", file=path, hint="was it removed while it was in use?")
    size = info.get("size")
    if not isinstance(size, int):
        raise EnvironmentFaultError("the store does not tell the size of a file", file=path)
    return size


def version_of(path: UPath) -> tuple[int, str] | None:
    """Return the size of a file, and text that changes when it does: entity tag or time, as far as the store tells."""
    info = info_of(path)
    if info is None:
        return None
    version = next((f"{key} {info[key]}" for key in _VERSION_KEYS if info.get(key)), "version unknown")
    return int(info.get("size") or 0), version.replace('"', "")


def list_directory(path: UPath) -> dict[str, int | None]:
    """Return the names in a directory with the bytes of files, None for directories; nothing if there is none."""
    fs = open_store(path)
    try:
        with store_faults(path):
            found = fs.ls(path.path, detail=True)
    except InputFileNotFoundError:
        return {}
    own = str(fs._strip_protocol(path.path)).rstrip("/")
    # some stores list a directory, or a file that is asked for as one, as an entry of itself
    entries = ((str(entry["name"]).rstrip("/"), entry) for entry in found)
    return {
        name.rpartition("/")[2]: None if entry["type"] == "directory" else int(entry["size"])
        for name, entry in sorted(entries, key=lambda named: named[0])
        if name != own
    }


def read_ranges(path: UPath, starts: Sequence[int], stops: Sequence[int]) -> list[bytes]:
    """Read ranges of bytes of a file at one time, and nothing else."""
    fs = open_store(path)
    try:
        with store_faults(path):
            found: list[bytes] = fs.cat_ranges([path.path] * len(starts), starts, stops, on_error="raise")
    except EnvironmentFaultError:
        # a range beyond the end is refused by some stores, each in its own words
        _check_size(path, max(stops))
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


def read_range(path: UPath, start: int, stop: int) -> bytes:
    """Read bytes ``[start, stop)`` of a file; raises as `read_ranges`."""
    return read_ranges(path, [start], [stop])[0] if start < stop else b""


def _check_size(path: UPath, stop: int) -> None:
    if (size := size_of(path)) < stop:
        raise InputFileError("file ends too early", file=path, expected=f"at least {stop:,} bytes", found=f"{size:,}")


class StoreFile(io.RawIOBase):
    """A file in a store, open for reading; pyarrow passes its errors on as they are, unlike those of fsspec's files."""

    def __init__(self, path: UPath) -> None:
        self.path, self.size = path, size_of(path)
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


def delete_stored(path: UPath) -> None:
    """Delete a file, and the directory it was in where a store keeps empty ones."""
    fs = open_store(path)
    with store_faults(path):
        fs.rm_file(path.path)
        if path.protocol not in _BUCKETS and not fs.ls(path.parent.path):
            fs.rmdir(path.parent.path)
