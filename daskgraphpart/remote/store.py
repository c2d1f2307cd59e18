"""What the package asks of a store: kinds, sizes, listings, ranges of bytes; with errors that say what is wrong.

Everything goes through fsspec, without its caches: what is read is what was asked for, and listings are never old.
Stores try failing requests again themselves; what arrives here has failed for good.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import (
    EnvironmentFaultError,
    GraphPartError,
    InputFileError,
    InputFileNotFoundError,
    MissingPackageError,
    OptionError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.remote.name import StoredName

logger = logging.getLogger(__name__)

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""Extras of the package, by protocol."""

_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "az")
_LISTINGS: ContextVar[dict[str, dict[str, dict[str, Any]] | None] | None] = ContextVar("listings", default=None)

_REFUSED = "the store refuses access"
_KEYS_HINT = "check the credentials: environment, configuration of fsspec, or storage_options"
_AGAIN_HINT = "check the network and the address of the store, and run again"


def filesystem(url: StoredName) -> Any:
    """Open the store of a URL; fsspec keeps it open for whoever asks with the same options.

    Raises
    ------
    MissingPackageError
        If fsspec needs a package for it that is not installed.
    OptionError
        If there is no such protocol, or it has no such options.
    """
    import fsspec

    try:
        return fsspec.filesystem(url.protocol, **{"use_listings_cache": False, **url.options})
    except ImportError as fault:
        extra = EXTRAS.get(url.protocol)
        hint = f'pip install "daskgraphpart[{extra}]"' if extra else "install the package of fsspec for it"
        raise MissingPackageError(
            f"a package for {url.protocol}:// is not installed", file=str(url), found=str(fault), hint=hint
        ) from fault
    except (ValueError, TypeError) as fault:
        raise OptionError(
            "this store cannot be opened",
            file=str(url),
            found=_first_line(fault),
            hint="check the protocol and the storage options",
        ) from fault


@contextmanager
def store_faults(url: StoredName) -> Iterator[None]:
    """Turn whatever a store raises into one error of ours.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file, or no such bucket.
    EnvironmentFaultError
        If access is refused, or the store or the network fails: nothing is known of the files then.
    """
    try:
        yield
    except GraphPartError:
        raise
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as fault:
        raise InputFileNotFoundError("no such file", file=str(url), found=_first_line(fault)) from fault
    except Exception as fault:
        if isinstance(fault, PermissionError) or "credentials" in str(fault).lower():
            raise EnvironmentFaultError(_REFUSED, file=str(url), found=_first_line(fault), hint=_KEYS_HINT) from fault
        raise EnvironmentFaultError(
            "the store failed", file=str(url), found=_first_line(fault), hint=_AGAIN_HINT
        ) from fault


def require_container(url: StoredName) -> None:
    """Refuse a URL in a bucket that does not exist, which otherwise looks like one without files.

    Raises
    ------
    InputFileNotFoundError
        If there is no such bucket.
    """
    if url.protocol not in _BUCKETS:
        return
    try:
        with store_faults(url):
            filesystem(url).info(url.container)
    except EnvironmentFaultError as fault:
        if fault.what != _REFUSED:  # a key may be good for some names in a bucket, and not for the bucket
            raise
    except InputFileNotFoundError as fault:
        raise InputFileNotFoundError(
            "no such bucket", file=str(url), place=url.container.inner, hint="check its name, or create it"
        ) from fault


@contextmanager
def remembered_listings() -> Iterator[None]:
    """Ask for whole directories while this lasts, instead of for one file after another, and remember the answers.

    For looking at all files of a graph: a store lists a thousand of them in the time it tells of one.
    """
    token = _LISTINGS.set({})
    try:
        yield
    finally:
        _LISTINGS.reset(token)


def _listed(url: StoredName) -> dict[str, dict[str, Any]] | None:
    """Entries of the directory of a file, if they are remembered; None where a store has to be asked for each."""
    listings = _LISTINGS.get()
    directory, _, _ = url.rpartition("/")
    # the top of a bucket may hold anything
    if listings is None or url.protocol not in _BUCKETS or directory in (url.container, f"{url.protocol}:/"):
        return None
    if directory not in listings:
        try:
            listings[directory] = _entries(type(url)(directory, url.options))
        except EnvironmentFaultError as fault:
            if fault.what != _REFUSED:
                raise
            listings[directory] = None  # a key that may read, and not list
    return listings[directory]


def info_of(url: StoredName) -> dict[str, Any] | None:
    """What the store tells of a file or directory; None if there is neither."""
    listed = _listed(url)
    if listed is not None:
        return listed.get(url.name)
    fs = filesystem(url)
    try:
        with store_faults(url):
            found: dict[str, Any] = fs.info(url)
            return found
    except InputFileNotFoundError:
        return None


def kind_of(url: StoredName) -> str | None:
    """Return ``"file"``, ``"directory"``, or None if there is neither."""
    info = info_of(url)
    return None if info is None else ("directory" if info.get("type") == "directory" else "file")


def size_of(url: StoredName) -> int:
    """Bytes of a file.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    EnvironmentFaultError
        If the store does not tell.
    """
    info = info_of(url)
    if info is None or info.get("type") == "directory":
        raise InputFileNotFoundError("no such file", file=str(url), hint="was it removed while it was in use?")
    size = info.get("size")
    if not isinstance(size, int):
        raise EnvironmentFaultError("the store does not tell the size of a file", file=str(url))
    return size


def version_of(url: StoredName) -> tuple[int, str] | None:
    """Size of a file, and text that changes when it does, as far as the store tells: entity tag or time of change."""
    info = info_of(url)
    if info is None:
        return None
    for key in ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "last_modified", "created"):
        if info.get(key):
            return int(info.get("size") or 0), f"{key} {info[key]}".replace('"', "")
    return int(info.get("size") or 0), "version unknown"


def list_directory(url: StoredName) -> list[str]:
    """Names of what is in a directory; none if there is no such directory."""
    return sorted(_entries(url))


def list_files(url: StoredName) -> dict[str, int]:
    """Bytes of the files directly in a directory, by name."""
    return {name: entry["size"] for name, entry in sorted(_entries(url).items()) if entry["type"] != "directory"}


def _entries(url: StoredName) -> dict[str, dict[str, Any]]:
    fs = filesystem(url)
    try:
        with store_faults(url):
            found = fs.ls(url, detail=True)
    except InputFileNotFoundError:
        return {}
    own = str(fs._strip_protocol(url)).rstrip("/")
    # some stores list a directory, or a file that is asked for as one, as an entry of itself
    entries = ((str(entry["name"]).rstrip("/"), entry) for entry in found)
    return {name.rpartition("/")[2]: entry for name, entry in entries if name != own}


def read_range(url: StoredName, start: int, stop: int) -> bytes:
    """Read bytes ``[start, stop)`` of a file, and no others.

    Raises
    ------
    InputFileError
        If the file ends before `stop`.
    InputFileNotFoundError
        If there is no such file.
    EnvironmentFaultError
        If the store fails.
    """
    if stop <= start:
        return b""
    fs = filesystem(url)
    try:
        with store_faults(url):
            content: bytes = fs.cat_file(url, start=start, end=stop)
    except EnvironmentFaultError:
        # a range beyond the end is refused by some stores, each in its own words
        if (found := size_of(url)) >= stop:
            raise
        raise _too_short(url, stop, found) from None
    if len(content) != stop - start:
        found = size_of(url)
        if found < stop:
            raise _too_short(url, stop, found)
        raise EnvironmentFaultError(
            "the store sent another number of bytes than it was asked for",
            file=str(url),
            expected=f"{stop - start:,}",
            found=f"{len(content):,}",
            hint=_AGAIN_HINT,
        )
    return content


def delete_file(url: StoredName) -> None:
    """Delete a file, and a directory of a store that keeps directories, if it is empty then."""
    fs = filesystem(url)
    with store_faults(url):
        fs.rm_file(url)
    if url.protocol not in _BUCKETS:
        with suppress(Exception):
            fs.rmdir(fs._parent(url))


def _too_short(url: StoredName, stop: int, found: int) -> InputFileError:
    return InputFileError("file ends too early", file=str(url), expected=f"at least {stop:,} bytes", found=f"{found:,}")


def _first_line(fault: BaseException) -> str:
    return next(iter(str(fault).splitlines()), "") or type(fault).__name__
