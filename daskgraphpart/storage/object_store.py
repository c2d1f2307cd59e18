"""Ask about, list and read files in object stores through fsspec, without its caches.

Reads get what was asked for, and listings are never old. Stores retry failing requests themselves; failures that arrive
here are final, and become our errors.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from daskgraphpart.errors import (
    EnvironmentFaultError,
    GraphPartError,
    InputFileError,
    InputFileNotFoundError,
    OptionError,
)
from daskgraphpart.storage.paths import missing_package
from daskgraphpart.storage.store import Store

if TYPE_CHECKING:
    from upath import UPath


logger = logging.getLogger(__name__)

SECONDS_OF_SILENCE = 15.0
MAX_GAP_NBYTES = 128 << 10
"""Bytes between two rows of a remote file that are rather read than skipped."""
MAX_REQUEST_NBYTES = 8 << 20
MAX_REQUESTS = 8
"""Requests at one time."""

_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "az")
VERSION_KEYS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "last_modified", "created")


@contextmanager
def waiting_for(path: UPath) -> Iterator[None]:
    """Say now and then that a store does not answer: its libraries wait for minutes, and ask again, without a word."""
    answered, since = threading.Event(), time.monotonic()

    def tell() -> None:
        while not answered.wait(SECONDS_OF_SILENCE):
            logger.warning("%s: no answer for %d s; waiting, and asking again", path, time.monotonic() - since)

    threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        answered.set()


@contextmanager
def open_store(path: UPath, *, is_waiting: bool = True) -> Iterator[Any]:
    """Yield a path's file system, which fsspec keeps open; turn its errors into ours, and tell of a long silence."""
    fs = None
    try:
        fs = path.fs
        with waiting_for(path) if is_waiting else nullcontext():
            yield fs
    except GraphPartError:
        raise
    except Exception as fault:
        if fs is not None and isinstance(fault, OSError) and fault.filename is not None:
            raise  # of a local file
        raise _store_fault(path, fault, is_open=fs is not None) from fault


def _store_fault(path: UPath, fault: Exception, *, is_open: bool) -> GraphPartError:
    message = next(iter(str(fault).splitlines()), "") or type(fault).__name__
    if isinstance(fault, ImportError):
        return missing_package(path.protocol, path, fault)
    if isinstance(fault, (ValueError, TypeError)) and not is_open:
        what = f"cannot read byte ranges of {path.protocol}:// with these options"
        hint = "unpack archives first; check the protocol and the storage options"
        return OptionError(what, file=path, found=message, hint=hint)
    if isinstance(fault, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
        return InputFileNotFoundError("no such file", file=path, found=message)
    if isinstance(fault, PermissionError) or "credentials" in str(fault).lower():
        what = "the store refuses access"
        hint = "check the credentials (environment, fsspec's files, storage_options) and the clock of this machine"
    else:
        what, hint = "the store failed", "check the network and the address of the store"
    return EnvironmentFaultError(what, file=path, found=message, hint=hint)


def _info(path: UPath) -> dict[str, Any] | None:
    """Return what the store tells about a file or directory; None if neither exists."""
    with suppress(InputFileNotFoundError), open_store(path) as fs:
        return cast("dict[str, Any]", fs.info(path.path))
    return None


def version_of(info: Mapping[str, Any]) -> str:
    """Return what a store tells of a file that changes with its content."""
    version = next((f"{key} {info[key]}" for key in VERSION_KEYS if info.get(key)), "version unknown")
    return version.replace('"', "")


class ObjectStore(Store["UPath"]):
    """Stores of objects, and what else fsspec reaches: each path has its options."""

    def kind(self, path: UPath) -> str | None:
        info = _info(path)
        return None if info is None else "directory" if info.get("type") == "directory" else "file"

    def size(self, path: UPath) -> int:
        info = _info(path)
        if info is None or info.get("type") == "directory":
            raise InputFileNotFoundError("no such file", file=path, hint="was it removed while it was in use?")
        if not isinstance(info.get("size"), int):
            raise EnvironmentFaultError("the store does not tell the file's size", file=path)
        return int(info["size"])

    def signature(self, path: UPath) -> tuple[int, str] | None:
        info = _info(path)
        if info is None or info.get("type") == "directory":
            return None
        return int(info.get("size") or 0), version_of(info)

    def list_names(self, path: UPath) -> dict[str, int | None]:
        with suppress(InputFileNotFoundError), open_store(path) as fs:
            own = str(fs._strip_protocol(path.path)).rstrip("/")
            by_name = {str(entry["name"]).rstrip("/"): entry for entry in fs.ls(path.path, detail=True)}
            # some stores list a directory, or a file asked for as one, as an entry of itself
            return {
                name.rpartition("/")[2]: None if entry["type"] == "directory" else int(entry["size"])
                for name, entry in sorted(by_name.items())
                if name != own
            }
        return {}

    @contextmanager
    def cached_listings(self, path: UPath) -> Iterator[None]:
        directory = path.parent if path.suffix == ".json" else path
        # a whole bucket may hold anything
        if directory.protocol not in _BUCKETS or directory.parent == directory:
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
                cache.clear()  # a key may read, but not list; asking for a file tells what is wrong
            yield
        finally:
            cache.use_listings_cache = False
            cache.clear()

    def read_into(self, buffer: memoryview, path: UPath, offset: int) -> None:
        """Fill a buffer from an offset of a file, by several requests at a time; `InputFileError` if it ends early."""
        starts = range(0, len(buffer), MAX_REQUEST_NBYTES)
        for batch in range(0, len(starts), MAX_REQUESTS):
            firsts = starts[batch : batch + MAX_REQUESTS]
            stops = [min(first + MAX_REQUEST_NBYTES, len(buffer)) for first in firsts]
            contents = read_ranges(path, [offset + first for first in firsts], [offset + stop for stop in stops])
            for first, stop, content in zip(firsts, stops, contents, strict=True):
                buffer[first:stop] = content

    def take_rows(
        self, path: UPath, offset: int, dtype: np.dtype, shape: tuple[int, ...], rows: np.ndarray
    ) -> np.ndarray:
        """Read rows of an array in a store; nearby rows share a request."""
        if rows.size and not 0 <= rows.min() <= rows.max() < shape[0]:
            raise IndexError(f"row out of range [0, {shape[0]})")
        wanted, inverse = np.unique(rows, return_inverse=True)
        taken = np.empty((wanted.size, *shape[1:]), dtype)
        if taken.size:
            row_nbytes = taken[0].nbytes
            gap, limit = (max(1, nbytes // row_nbytes) for nbytes in (MAX_GAP_NBYTES, MAX_REQUEST_NBYTES))
            # a request ends at a wide gap, and at every multiple of `limit` rows
            cuts = np.flatnonzero((np.diff(wanted) > gap) | (np.diff(wanted // limit) > 0)) + 1
            firsts, stops = np.append(0, cuts), np.append(cuts, wanted.size)
            for begin in range(0, firsts.size, MAX_REQUESTS):
                of_batch = slice(begin, begin + MAX_REQUESTS)
                first, stop = firsts[of_batch], stops[of_batch]
                starts, ends = (offset + ids * row_nbytes for ids in (wanted[first], wanted[stop - 1] + 1))
                contents = read_ranges(path, starts.tolist(), ends.tolist())
                for low, high, content in zip(first.tolist(), stop.tolist(), contents, strict=True):
                    span = np.frombuffer(content, dtype).reshape(-1, *shape[1:])
                    taken[low:high] = span[wanted[low:high] - wanted[low]]
        return taken[inverse].reshape(*rows.shape, *shape[1:])

    def delete_files(self, paths: Sequence[UPath]) -> None:
        if not paths:
            return
        with open_store(paths[0]) as fs:
            names = [path.path for path in paths]
            try:
                fs.rm(names)
            except FileNotFoundError:  # some stores stop at the first that is gone
                for name in names:
                    with suppress(FileNotFoundError):
                        fs.rm_file(name)


OBJECTS = ObjectStore()


def read_ranges(path: UPath, starts: Sequence[int], stops: Sequence[int]) -> list[bytes]:
    """Read byte ranges of a file at once, and nothing else."""
    try:
        with open_store(path) as fs:
            contents: list[bytes] = fs.cat_ranges([path.path] * len(starts), starts, stops, on_error="raise")
    except EnvironmentFaultError:
        _check_size(path, max(stops))  # stores refuse ranges beyond the end, each in its own words
        raise
    for content, start, stop in zip(contents, starts, stops, strict=True):
        if len(content) != stop - start:
            _check_size(path, stop)
            raise wrong_number_of_bytes(path, stop - start, len(content))
    return contents


def wrong_number_of_bytes(path: UPath, expected: int, num_bytes: int) -> EnvironmentFaultError:
    """Return the error of an answer that is too short or too long."""
    what, hint = "the store sent the wrong number of bytes", "run again; if this stays, it may not know ranges of bytes"
    return EnvironmentFaultError(what, file=path, expected=f"{expected:,}", found=f"{num_bytes:,}", hint=hint)


def _check_size(path: UPath, stop: int) -> None:
    if (size := OBJECTS.size(path)) < stop:
        raise InputFileError("file ends too early", file=path, expected=f"at least {stop:,} bytes", found=f"{size:,}")
