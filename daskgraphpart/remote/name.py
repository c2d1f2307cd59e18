"""What a store is asked for: a string that knows the protocol of its store, and the options to open it with."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://(.*)", re.DOTALL)


class StoredName(str):
    """Name of a file or directory in a store.

    Parameters
    ----------
    text : str
        Such as ``s3://bucket/graph/metadata.json``.
    options : mapping of str to object, optional
        What `fsspec.filesystem` is given for it. Never shown, never written to a file.
    """

    __slots__ = ("options",)

    options: Mapping[str, Any]

    def __new__(cls, text: str, options: Mapping[str, Any] | None = None) -> Self:
        """Make one; a slash at its end is dropped."""
        match = URL.fullmatch(text)
        assert match is not None, f"{text} is no URL"
        url = super().__new__(cls, f"{match[1].lower()}://{match[2].rstrip('/')}")
        url.options = dict(options or {})
        return url

    def __str__(self) -> str:
        return self

    @property
    def protocol(self) -> str:
        """What is before the colon."""
        return self.partition("://")[0]

    @property
    def inner(self) -> str:
        """What is behind ``://``."""
        return self.partition("://")[2]

    @property
    def container(self) -> Self:
        """The bucket, or whatever the first name is."""
        first = self.inner.lstrip("/").partition("/")[0]
        return type(self)(f"{self.protocol}://{first}", self.options)

    @property
    def name(self) -> str:
        """Last name."""
        return posixpath.basename(self.inner)
