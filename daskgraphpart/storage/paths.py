"""Resolve users' paths: local files are `pathlib.Path`s, files in stores are `UPath`s.

A `UPath` keeps its store's options when pickled. In blocks and regions, local paths are strings.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from daskgraphpart.errors import MissingPackageError, OptionError, OutputExistsError
from daskgraphpart.extras import how_to_install

if TYPE_CHECKING:
    from typing_extensions import TypeIs
    from upath import UPath

    from daskgraphpart.source import FilePath

Location: TypeAlias = "Path | UPath"
AnyPath: TypeAlias = "str | os.PathLike[str] | UPath"

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://(.*)", re.DOTALL)
_CHAIN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*::")
_LOCAL = ("file", "local")
_ARCHIVES_AND_WRAPPERS = (
    "zip", "tar", "libarchive", "dir", "cached", "blockcache", "filecache", "simplecache", "reference", "generic"
)  # fmt: skip
"""Protocols of fsspec that are no stores: they show the files of another one."""
EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""Extras of the package, by protocol."""


def is_remote(path: object) -> TypeIs[UPath]:
    """Whether a path is in a store; does not import `UPath`."""
    kind = getattr(sys.modules.get("upath"), "UPath", None)
    return kind is not None and isinstance(path, kind) and not isinstance(path, os.PathLike)


def is_path(given: object) -> TypeIs[AnyPath]:
    """Whether something names a file: a string, a path, or one in a store."""
    return isinstance(given, (str, os.PathLike)) or is_remote(given)


def is_url(path: AnyPath | None) -> bool:
    """Whether a path is a URL."""
    return is_remote(path) or (isinstance(path, str) and _URL.fullmatch(path) is not None)


def resolve_path(path: AnyPath, options: Mapping[str, Any] | None = None) -> Location:
    """Return a local path, or one in a store; ``file://`` is local."""
    if is_remote(path):
        return open_known(path.protocol, str(path), {**path.storage_options, **(options or {})})
    text = text_of_path(path)
    match = _URL.fullmatch(text)
    if match is None:
        if _CHAIN.match(text) and "://" in text:
            raise OptionError("chains of URLs are not supported", file=text, hint="give only the last one")
        return Path(path)
    protocol, rest = match[1].lower(), match[2].rstrip("/")
    if protocol in _LOCAL:
        return Path(match[2].removeprefix("localhost") or "/")
    if protocol in _ARCHIVES_AND_WRAPPERS:
        what, hint = f"{protocol}:// is not a store", "unpack archives first"
        raise OptionError(what, file=text, expected="a path, s3://, gs://, ...", hint=hint)
    if not rest:
        raise OptionError("the URL names no directory", file=text, expected=f"{protocol}://bucket/directory")
    return open_known(protocol, f"{protocol}://{rest}", options or {})


def open_known(protocol: str, url: str, options: Mapping[str, Any]) -> UPath:
    """Open a store whose protocol and URL are sound."""
    from upath import UPath  # slow to import

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about protocols it was not tested with
            path = UPath(url, protocol=protocol, **{"use_listings_cache": False, **options})
            _ = str(path), path.path, path.parent  # some protocols take a URL apart only when it is asked for
            return path
    except ImportError as fault:
        raise missing_package(protocol, url, fault) from fault
    except Exception as fault:  # whatever the constructor of the protocol raises
        hint = "check the protocol and the storage options"
        raise OptionError("cannot open this store", file=url, found=str(fault), hint=hint) from fault


def missing_package(protocol: str, file: object, fault: ImportError) -> MissingPackageError:
    """Return the error of a store whose package is not installed."""
    extra = EXTRAS.get(protocol)
    hint = how_to_install(extra) if extra else "install the package of fsspec for it"
    return MissingPackageError(f"a package for {protocol}:// is not installed", file=file, found=str(fault), hint=hint)


def text_of_path(path: object, option: str | None = None) -> str:
    """Return a path, perhaps given as an option, as text; refuse what is no path."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        shown, hint = f"{type(path).__name__} {path!r}".split("\n")[0], "give a str or a pathlib.Path"
        if hasattr(path, "shape"):
            hint += "; an array of owners is saved for each node type, as TYPE.npy in a directory, such as _N.npy"
        raise OptionError("this is not a path", option=option, expected="a path or URL", found=shown, hint=hint)
    return text


def writable_path(path: AnyPath, options: Mapping[str, Any] | None = None) -> Location:
    """Do the same for what is written, whose name must be UTF-8: Arrow and DuckDB take no other."""
    try:
        text_of_path(path).encode() if not is_remote(path) else None
    except UnicodeEncodeError as fault:
        shown = repr(os.fsencode(text_of_path(path)))[2:-1]
        raise OptionError("the name is not UTF-8", file=shown, hint="give another one, or rename it") from fault
    return resolve_path(path, options)


def join_path(directory: Location, name: str) -> Location:
    """Join a name found in a file: relative, absolute, or a URL."""
    if is_url(name):
        same = is_remote(directory) and name.lower().startswith(f"{directory.protocol}://")
        return resolve_path(name, directory.storage_options if same and is_remote(directory) else None)
    if isinstance(directory, Path) or os.path.isabs(name):
        return Path(directory, name) if isinstance(directory, Path) else Path(name)
    for part in posixpath.normpath(name).split("/"):  # in a store, ".." is a name
        directory = directory.parent if part == ".." else directory / part if part != "." else directory
    return directory


def opener_like(paths: Callable[[], Iterable[Location]]) -> Callable[[str], Location]:
    """Return what opens URLs with the options of the first path in a store; lists the paths at the first URL."""

    @cache
    def first() -> Location | None:
        return next(filter(is_remote, paths()), None)

    return lambda url: resolve_path(url) if (like := first()) is None else join_path(like, url)


def to_path(path: AnyPath) -> Location:
    """Return a path from `resolve_path` as a `Path` or `UPath`."""
    return Path(path) if isinstance(path, (str, os.PathLike)) else path


def to_key(path: AnyPath) -> FilePath:
    """Return a path as in blocks and regions: a string, or a `UPath`."""
    return os.fspath(path) if isinstance(path, (str, os.PathLike)) else path


def require_local(path: AnyPath, what: str, why: str = "copy it from or to the store yourself") -> Path:
    """Return a path that must be in a file system."""
    location = writable_path(path)
    if is_remote(location):
        raise OptionError(f"{what} must be in a file system", file=str(location), expected="a path", hint=why)
    return location


def leads_outside(path: AnyPath, directory: AnyPath) -> str | None:
    """Return where a path leads, after links and ``..``, if outside a directory; else None."""
    if is_remote(directory) or is_remote(path):
        return None if str(path).startswith(f"{str(directory).rstrip('/')}/") else str(path)
    try:
        real, root = os.path.realpath(path), os.path.realpath(directory)
    except ValueError:  # a NUL in the name: no such file anywhere
        return None
    return None if os.path.commonpath([real, root]) == root else real


def check_apart(out: Location, inputs: Iterable[Location]) -> None:
    """Refuse an output directory that is, or contains, part of the input."""
    is_in_store = is_remote(out)
    for path in inputs:
        if is_remote(path) == is_in_store and (str(path) == str(out) or leads_outside(path, out) is None):
            hint = "choose a separate output directory"
            raise OutputExistsError("the output directory holds the input", file=out, found=path, hint=hint)
