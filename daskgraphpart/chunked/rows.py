"""Rows wherever they are: in memory, in files, or staged by tasks; read a range at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from daskgraphpart.chunked.blocks import Block
from daskgraphpart.chunked.read_block import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


class Rows(Protocol):
    """A feature, one end of edges, or edges as rows of two IDs."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Files of the user's that hold them."""

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRows:
    """Rows of an array in memory, of a memory map, or of anything that is sliced like one."""

    array: Any

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        dtype: np.dtype = np.dtype(self.array.dtype)
        return dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        return tuple(self.array.shape[1:])

    @property
    def paths(self) -> tuple[str, ...]:
        """The file of a memory map."""
        return (str(self.array.filename),) if isinstance(self.array, np.memmap) and self.array.filename else ()

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        return np.asarray(self.array[start:stop])


@dataclass(frozen=True, slots=True, eq=False)
class RegionRows:
    """Rows in a region of a temporary file."""

    region: Region
    paths: tuple[str, ...] = ()

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.region.num_rows

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return self.region.dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        return self.region.shape[1:]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        return self.region.read(start, stop)


@dataclass(frozen=True, slots=True, eq=False)
class FileRows:
    """Rows of a feature in npy or parquet files, one file after another."""

    spec: DataSpec
    files: tuple[InputFile, ...]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(file.num_rows or 0 for file in self.files)

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return self.spec.dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        return self.spec.row_shape

    @property
    def paths(self) -> tuple[str, ...]:
        """The files."""
        return tuple(file.path for file in self.files)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        pieces = [read_rows(block, self.spec) for block in self._blocks(start, stop)]
        return np.concatenate(pieces) if pieces else np.empty((0, *self.row_shape), self.dtype)

    def _blocks(self, start: int, stop: int) -> Iterator[Block]:
        first = 0
        for file in self.files:
            assert file.num_rows is not None
            low, high = max(start - first, 0), min(stop - first, file.num_rows)
            if low < high:
                yield Block(file.path, file.format, file.delimiter, low, high, first + low, high - low, low)
            first += file.num_rows


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRows:
    """Rows of several sources one after another, in the dtype that holds all of them."""

    parts: tuple[Rows, ...]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(part.num_rows for part in self.parts)

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        found: np.dtype = np.result_type(*(part.dtype for part in self.parts))
        return found

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        return self.parts[0].row_shape

    @property
    def paths(self) -> tuple[str, ...]:
        """Files of the user's that hold them."""
        return tuple(path for part in self.parts for path in part.paths)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        rows = np.empty((stop - start, *self.row_shape), self.dtype)
        first = 0
        for part in self.parts:
            low, high = max(start, first), min(stop, first + part.num_rows)
            if low < high:
                rows[low - start : high - start] = part.read(low - first, high - first)
            first += part.num_rows
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class EdgeRows:
    """Edges as rows of two int64: the IDs of source and destination."""

    src: Rows
    dst: Rows
    dtype = np.dtype(np.int64)
    row_shape = (2,)

    @property
    def num_rows(self) -> int:
        """Number of edges."""
        return self.src.num_rows

    @property
    def paths(self) -> tuple[str, ...]:
        """Files of the user's that hold them."""
        return (*self.src.paths, *self.dst.paths)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read edges ``[start, stop)``."""
        rows = np.empty((stop - start, 2), np.int64)
        rows[:, 0], rows[:, 1] = self.src.read(start, stop), self.dst.read(start, stop)
        return rows
