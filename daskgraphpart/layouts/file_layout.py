"""Files whose arrays are written in parallel: laid out from known sizes, filled at offsets, renamed when whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.layouts.dgl_encoding import array_header
from daskgraphpart.storage.atomic import temporary_path
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Name, dtype and shape of an array that a file will hold."""

    key: str
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Where everything in a file is.

    Parameters
    ----------
    pieces : tuple of (int, bytes)
        Offset and content of all that is not an array's elements.
    regions : mapping of str to (offset, dtype, shape)
        Where each array's elements go.
    nbytes : int
        Size of the file.
    """

    pieces: tuple[tuple[int, bytes], ...]
    regions: Mapping[str, tuple[int, np.dtype, tuple[int, ...]]]
    nbytes: int


class LayoutBuilder:
    """Appends headers and arrays one after another, as DGL's sequential writer does."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, bytes]] = []
        self._regions: dict[str, tuple[int, np.dtype, tuple[int, ...]]] = {}
        self._pending = bytearray()
        self._offset = 0

    @property
    def offset(self) -> int:
        """Offset of what is appended next."""
        return self._offset + len(self._pending)

    def add(self, *content: bytes) -> None:
        """Append bytes."""
        for piece in content:
            self._pending += piece

    def add_array(self, spec: ArraySpec) -> None:
        """Append an array: its header, and a hole for its elements."""
        self.add(array_header(spec.dtype, spec.shape))
        self._flush()
        self._regions[spec.key] = (self._offset, spec.dtype, spec.shape)
        nbytes = spec.dtype.itemsize
        for length in spec.shape:
            nbytes *= length
        self._offset += nbytes

    def finish(self) -> FileLayout:
        """Return the layout."""
        self._flush()
        return FileLayout(tuple(self._pieces), self._regions, self._offset)

    def _flush(self) -> None:
        if self._pending:
            self._pieces.append((self._offset, bytes(self._pending)))
            self._offset += len(self._pending)
            self._pending.clear()


def file_regions(path: str | Path, layout: FileLayout) -> dict[str, Region]:
    """Where the elements of arrays go in the temporary file of `path`, which `create_file` makes."""
    temporary = temporary_path(path)
    return {key: Region(temporary, *where) for key, where in layout.regions.items()}


def create_file(path: str | Path, layout: FileLayout) -> dict[str, Region]:
    """Create the temporary file of `path`, sparse, with everything but the elements of arrays.

    Returns
    -------
    dict of str to Region
        Where the elements go; regions of the temporary file.
    """
    temporary = temporary_path(path)
    Path(temporary).parent.mkdir(parents=True, exist_ok=True)
    with attach_path_to_error(temporary), open(temporary, "wb") as file:
        for offset, content in layout.pieces:
            file.seek(offset)
            file.write(content)
        file.truncate(layout.nbytes)
    return file_regions(path, layout)
