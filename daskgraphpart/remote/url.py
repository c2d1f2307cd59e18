"""Names of files in stores: strings that know the options of their store, and behave like paths.

Paths travel through the package as strings (in blocks, regions, configs of passes) and as `Path`s. A `Url` is both: a
string that survives pickling with the options of its store, and has of pathlib's methods those that the package uses.
An f-string makes a plain string of it; ``str()`` does not.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

from daskgraphpart.errors import OptionError
from daskgraphpart.remote.name import URL, StoredName
from daskgraphpart.remote.store import kind_of, list_directory, read_range, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CHAIN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*::")
_LOCAL = ("file", "local")


class Url(StoredName):
    """The URL of a file or directory in a store; parameters as of `StoredName`."""

    __slots__ = ()

    # ------------------------------------------------------------------------------------------------------ the name

    @property
    def suffix(self) -> str:
        """Ending of the last name."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> Url:
        """The directory it is in; that of a bucket is the bucket."""
        above = posixpath.dirname(self.inner)
        return Url(f"{self.protocol}://{above}", self.options) if above.strip("/") else self

    @property
    def parents(self) -> tuple[Url, ...]:
        """All directories it is in, the nearest first."""
        found = [self.parent]
        while found[-1].parent != found[-1]:
            found.append(found[-1].parent)
        return tuple(found) if found[0] != self else ()

    def __truediv__(self, name: str | os.PathLike[str]) -> Location:
        """Join a relative name; a URL replaces this one, and has its options if it is of the same kind of store."""
        text = os.fspath(name)
        if is_url(text):
            known = self.options if URL.fullmatch(text)[1].lower() == self.protocol else None  # type: ignore[index]
            return located(text, known)
        if os.path.isabs(text):
            return Path(text)
        # "." and ".." mean nothing to a store; here they mean what they do in a path
        joined = posixpath.normpath(f"/{self.inner.lstrip('/')}/{text}").lstrip("/")
        slashes = "/" * (len(self.inner) - len(self.inner.lstrip("/")))
        return Url(f"{self.protocol}://{slashes}{joined}", self.options)

    def with_name(self, name: str) -> Url:
        """Return the URL of another file in the same directory."""
        return Url(f"{self.parent}/{name}", self.options)

    def absolute(self) -> Url:
        """Return itself."""
        return self

    def resolve(self) -> Url:
        """Return itself."""
        return self

    # ------------------------------------------------------------------------------------------------------ the file

    def is_file(self) -> bool:
        """Whether there is such a file; a store that fails is an error, not an answer."""
        return kind_of(self) == "file"

    def is_dir(self) -> bool:
        """Whether there is anything below it."""
        return kind_of(self) == "directory"

    def exists(self) -> bool:
        """Whether it is either."""
        return kind_of(self) is not None

    def stat(self) -> SimpleNamespace:
        """Size, as `st_size`.

        Raises
        ------
        InputFileNotFoundError
            If there is no such file.
        """
        return SimpleNamespace(st_size=size_of(self))

    def iterdir(self) -> Iterator[Url]:
        """Files and directories in it, by name."""
        return iter([Url(f"{self}/{name}", self.options) for name in list_directory(self)])

    def glob(self, pattern: str) -> Iterator[Url]:
        """Yield files and directories in it whose names match; patterns go through one directory only."""
        from fnmatch import fnmatchcase

        assert "/" not in pattern, "patterns are of one level"
        return (found for found in self.iterdir() if fnmatchcase(found.name, pattern))

    def read_bytes(self) -> bytes:
        """Read all of a small file."""
        return read_range(self, 0, self.stat().st_size)

    def read_text(self, encoding: str = "utf-8") -> str:
        """Read all of a small file as text."""
        return self.read_bytes().decode(encoding)


Location: TypeAlias = Path | Url


def is_url(path: object) -> bool:
    """Whether a path is a URL."""
    return isinstance(path, str) and URL.fullmatch(path) is not None


def located(path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Location:
    """Return the path of a local file, or the URL of another; those of ``file://`` are paths.

    Parameters
    ----------
    path : path or URL
        What a user has given.
    options : mapping of str to object, optional
        Of the store, as `fsspec.filesystem` takes them.

    Raises
    ------
    OptionError
        If it is a chain of URLs (``simplecache::s3://...``), or a URL without anything behind it.
    """
    if isinstance(path, Url):
        return path if not options else Url(path, {**path.options, **options})
    text = os.fspath(path)
    match = URL.fullmatch(text)
    if match is None:
        if _CHAIN.match(text) and "://" in text:
            raise OptionError("chains of URLs are not supported", file=text, hint="give the last of them alone")
        return Path(path)
    if match[1].lower() in _LOCAL:
        return Path(match[2].removeprefix("localhost") or "/")
    if not match[2].strip("/"):
        raise OptionError("a URL that names nothing", file=text, expected=f"{match[1]}://bucket/directory")
    return Url(text, options)


def joined(directory: Location, name: str) -> Location:
    """Join a name that somebody has written into a file: relative, absolute, or a URL."""
    if isinstance(directory, Path) and is_url(name):
        return located(name)
    return directory / name


def local_path(path: str | os.PathLike[str], what: str, why: str = "copy it from or to the store yourself") -> Path:
    """Return the path of something that has to be in a file system.

    Raises
    ------
    OptionError
        If it is the URL of a store.
    """
    found = located(path)
    if isinstance(found, Url):
        raise OptionError(f"{what} has to be in a file system", file=str(found), expected="a path", hint=why)
    return found


def as_path(path: str | os.PathLike[str]) -> Location:
    """Return a `Url` as it is, and everything else as a `Path`: for names that `located` has seen before."""
    return path if isinstance(path, Url) else Path(path)
