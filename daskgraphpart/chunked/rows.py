"""Rows wherever they are: in memory, in files, or staged by tasks; read a range at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from daskgraphpart.chunked.blocks import Block
from daskgraphpart.chunked.formats import read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
class ReadRows:
    """Rows that a function reads, and the files that they are in, if any."""

    dtype: np.dtype
    shape: tuple[int, ...]
    read: Callable[[int, int], np.ndarray]
    paths: tuple[str, ...] = ()


def array_rows(array: Any) -> ReadRows:
    """Rows of an array in memory, of a memory map, or of anything that is sliced like one."""
    paths = (str(array.filename),) if isinstance(array, np.memmap) and array.filename else ()
    return ReadRows(np.dtype(array.dtype), tuple(array.shape), partial(_read_array, array), paths)


def feature_rows(spec: DataSpec, files: Sequence[InputFile]) -> ReadRows:
    """Rows of a feature in npy or parquet files, one file after another."""
    shape = sum(file.num_rows or 0 for file in files), *spec.row_shape
    return ReadRows(spec.dtype, shape, partial(_read_files, spec, files), tuple(file.path for file in files))


def joined_rows(parts: Sequence[Rows]) -> ReadRows:
    """Rows of several sources one after another, in the dtype that holds all of them."""
    dtype = np.result_type(*(part.dtype for part in parts))
    shape = sum(part.shape[0] for part in parts), *parts[0].shape[1:]
    return ReadRows(dtype, shape, partial(_read_joined, parts, dtype))


def edge_rows(src: Rows, dst: Rows) -> ReadRows:
    """Edges as rows of two int64: the IDs of source and destination."""
    return ReadRows(np.dtype(np.int64), (src.shape[0], 2), partial(_read_ends, src, dst))


def _read_array(array: Any, start: int, stop: int) -> np.ndarray:
    return np.asarray(array[start:stop])


def _read_files(spec: DataSpec, files: Sequence[InputFile], start: int, stop: int) -> np.ndarray:
    pieces, first = [np.empty((0, *spec.row_shape), spec.dtype)], 0
    for file in files:
        assert file.num_rows is not None, "features are not in CSV files"
        low, high = max(start - first, 0), min(stop - first, file.num_rows)
        if low < high:
            block = Block(file.path, file.format, file.delimiter, low, high, first + low, high - low, low)
            pieces.append(read_rows(block, spec))
        first += file.num_rows
    return np.concatenate(pieces)


def _read_joined(parts: Sequence[Rows], dtype: np.dtype, start: int, stop: int) -> np.ndarray:
    rows, first = np.empty((stop - start, *parts[0].shape[1:]), dtype), 0
    for part in parts:
        low, high = max(start, first), min(stop, first + part.shape[0])
        if low < high:
            rows[low - start : high - start] = part.read(low - first, high - first)
        first += part.shape[0]
    return rows


def _read_ends(src: Rows, dst: Rows, start: int, stop: int) -> np.ndarray:
    rows = np.empty((stop - start, 2), np.int64)
    rows[:, 0], rows[:, 1] = src.read(start, stop), dst.read(start, stop)
    return rows
