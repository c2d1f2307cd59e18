"""Files whose arrays are written in parallel: laid out from known sizes, filled at offsets, renamed when complete."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.atomic import temporary_path
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region, reserve, write_exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

LEAST_RESERVED_NBYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Name, dtype and shape of an array in a file."""

    key: str
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Where everything is in a file of `nbytes` bytes.

    `pieces` are offset and content of everything except elements; `regions` are offset, dtype and shape of each array
    by
    name. If values have no fixed place, this describes a temporary file, from which the picklable `encode` writes the
    real
    one; `complete` adds to the file what was unknown before.
    """

    pieces: tuple[tuple[int, bytes], ...]
    regions: Mapping[str, tuple[int, np.dtype, tuple[int, ...]]]
    nbytes: int
    encode: Callable[[Mapping[str, Region], str], None] | None = None
    complete: Callable[[Mapping[str, Region], str], None] | None = None


class LayoutBuilder:
    """Appends bytes and arrays at `offset`, like a sequential writer."""

    def __init__(self) -> None:
        self.offset = 0
        self._pieces: list[tuple[int, bytes]] = []
        self._regions: dict[str, tuple[int, np.dtype, tuple[int, ...]]] = {}

    def add(self, *content: bytes) -> None:
        """Append bytes."""
        piece = b"".join(content)
        self._pieces.append((self.offset, piece))
        self.offset += len(piece)

    def add_array(self, spec: ArraySpec) -> None:
        """Append room for an array's elements."""
        self._regions[spec.key] = (self.offset, spec.dtype, spec.shape)
        self.offset += spec.dtype.itemsize * math.prod(spec.shape)

    def finish(self) -> FileLayout:
        """Return the layout."""
        return FileLayout(tuple(self._pieces), self._regions, self.offset)


def raw_file_layout(
    arrays: Iterable[ArraySpec], encode: Callable[[Mapping[str, Region], str], None] | None = None
) -> FileLayout:
    """Lay out a file of arrays only."""
    builder = LayoutBuilder()
    for spec in arrays:
        builder.add_array(spec)
    return replace(builder.finish(), encode=encode)


def npy_file_layout(spec: ArraySpec) -> FileLayout:
    """Lay out an npy file."""
    builder, header = LayoutBuilder(), BytesIO()
    descr = np.lib.format.dtype_to_descr(spec.dtype)
    np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": spec.shape})
    builder.add(header.getvalue())
    builder.add_array(spec)
    return builder.finish()


def create_file(path: str | Path, layout: FileLayout) -> dict[str, Region]:
    """Create the temporary file of `path` without the elements of arrays; return where these go."""
    temporary, pieces = temporary_path(path), layout.pieces
    with attach_path_to_error(temporary), open(temporary, "wb", buffering=0) as file:
        if layout.nbytes >= LEAST_RESERVED_NBYTES:
            reserve(file.fileno(), layout.nbytes, temporary)
        else:  # small ones, of which there may be many thousands, are one write
            whole = bytearray(layout.nbytes)
            for offset, content in pieces:
                whole[offset : offset + len(content)] = content
            pieces = ((0, bytes(whole)),)
        for offset, content in pieces:
            write_exactly(file.fileno(), memoryview(content), offset, temporary)
    return {key: Region(temporary, *where) for key, where in layout.regions.items()}
