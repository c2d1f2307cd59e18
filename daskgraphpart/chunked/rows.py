"""Rows wherever they are: in memory, in files, or staged by tasks; read a range at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from daskgraphpart.chunked.blocks import Block
from daskgraphpart.chunked.read_block import read_rows

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.schema import DataSpec


class Rows(Protocol):
    """A feature, one end of edges, or edges as rows of two IDs; a `Region` is one."""

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRows:
    """Rows of an array in memory, of a memory map, or of anything that is sliced like one."""

    array: Any

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        dtype: np.dtype = np.dtype(self.array.dtype)
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self.array.shape)

    @property
    def paths(self) -> tuple[str, ...]:
        """The file of a memory map."""
        return (str(self.array.filename),) if isinstance(self.array, np.memmap) and self.array.filename else ()

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        return np.asarray(self.array[start:stop])


@dataclass(frozen=True, slots=True, eq=False)
class FileRows:
    """Rows of a feature in npy or parquet files, one file after another."""

    spec: DataSpec
    files: tuple[InputFile, ...]

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return self.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""
        return sum(file.num_rows or 0 for file in self.files), *self.spec.row_shape

    @property
    def paths(self) -> tuple[str, ...]:
        """The files."""
        return tuple(file.path for file in self.files)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        pieces, first = [np.empty((0, *self.spec.row_shape), self.dtype)], 0
        for file in self.files:
            assert file.num_rows is not None, "features are not in CSV files"
            low, high = max(start - first, 0), min(stop - first, file.num_rows)
            if low < high:
                block = Block(file.path, file.format, file.delimiter, low, high, first + low, high - low, low)
                pieces.append(read_rows(block, self.spec))
            first += file.num_rows
        return np.concatenate(pieces)


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRows:
    """Rows of several sources one after another, in the dtype that holds all of them."""

    parts: tuple[Rows, ...]

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        found: np.dtype = np.result_type(*(part.dtype for part in self.parts))
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""
        return sum(part.shape[0] for part in self.parts), *self.parts[0].shape[1:]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        rows = np.empty((stop - start, *self.shape[1:]), self.dtype)
        first = 0
        for part in self.parts:
            low, high = max(start, first), min(stop, first + part.shape[0])
            if low < high:
                rows[low - start : high - start] = part.read(low - first, high - first)
            first += part.shape[0]
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class EdgeRows:
    """Edges as rows of two int64: the IDs of source and destination."""

    src: Rows
    dst: Rows
    dtype = np.dtype(np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of edges, and two."""
        return self.src.shape[0], 2

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read edges ``[start, stop)``."""
        rows = np.empty((stop - start, 2), np.int64)
        rows[:, 0], rows[:, 1] = self.src.read(start, stop), self.dst.read(start, stop)
        return rows
