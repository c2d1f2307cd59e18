"""A remote file as Python's file object: every read asks the store for its range, nothing is read ahead."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from daskgraphpart.remote.store import read_range, size_of

if TYPE_CHECKING:
    from daskgraphpart.remote.name import StoredName


class RangeFile(io.RawIOBase):
    """A file of a store, open for reading.

    Parameters
    ----------
    url : StoredName
        The file.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    """

    def __init__(self, url: StoredName) -> None:
        self.url, self.size = url, size_of(url)
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Byte that is read next."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: object) -> int:
        """Fill a buffer, up to the end of the file; return the number of bytes."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        stop = min(self._position + len(view), self.size)
        content = read_range(self.url, self._position, stop)
        view[: len(content)] = content
        self._position += len(content)
        return len(content)

    def readall(self) -> bytes:
        """Read up to the end."""
        content = read_range(self.url, self._position, self.size)
        self._position += len(content)
        return content
