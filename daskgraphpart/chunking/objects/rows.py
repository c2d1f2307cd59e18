"""Rows wherever they are: in memory, in files, or staged by tasks; read a range at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from daskgraphpart.chunked.blocks import Block
from daskgraphpart.chunked.headers import feature_files
from daskgraphpart.chunked.metadata import Files
from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


class Rows(Protocol):
    """A feature, or one end of edges."""

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
class StagedRows:
    """Rows in npy files that tasks have written, one after another."""

    regions: tuple[Region, ...]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(region.num_rows for region in self.regions)

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return self.regions[0].dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        return self.regions[0].shape[1:]

    @property
    def paths(self) -> tuple[str, ...]:
        """None: these are temporary."""
        return ()

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        rows = np.empty((stop - start, *self.row_shape), self.dtype)
        first = 0
        for region in self.regions:
            low, high = max(start, first), min(stop, first + region.num_rows)
            if low < high:
                region.read_into(rows[low - start : high - start], low - first)
            first += region.num_rows
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class FileRows:
    """Rows of a feature in npy or parquet files, one after another."""

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
        return np.concatenate([read_rows(block, self.spec) for block in self._blocks(start, stop)])

    def _blocks(self, start: int, stop: int) -> Iterator[Block]:
        first = 0
        for file in self.files:
            assert file.num_rows is not None
            low, high = max(start - first, 0), min(stop - first, file.num_rows)
            if low < high:
                yield Block(file.path, file.format, file.delimiter, low, high, first + low, high - low, low)
            first += file.num_rows


def file_rows(name: str, paths: Sequence[str]) -> FileRows:
    """Open the npy or parquet files of a feature.

    Raises
    ------
    InputFileError
        If a file is missing, is of neither kind, or they do not agree.
    """
    from pathlib import Path

    forms = {".npy": "numpy", ".parquet": "parquet", ".pq": "parquet"}
    found = {forms.get(Path(path).suffix.lower(), "") for path in paths}
    form = found.pop() if len(found) == 1 else ""
    if not form:
        raise InputFileError(
            f"feature {name!r} is in files of unknown kind", file=paths[0] if paths else None,
            expected="files that end in .npy, or in .parquet", found=", ".join(paths[:3]) or "none",
        )  # fmt: skip
    for path in paths:
        if not Path(path).is_file():
            raise InputFileNotFoundError("no such file", file=str(path), place=f"feature {name!r}")
    spec, files = feature_files(name.rpartition("/")[2], Files(form, " ", tuple(paths)), paths[0])
    return FileRows(spec, files)


def as_array(values: Any, what: str) -> np.ndarray:
    """Return a tensor, a column of a frame or a list as an array; arrays and memory maps stay what they are.

    Raises
    ------
    OptionError
        If it is none.
    """
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):  # a torch tensor
        try:
            array: np.ndarray = values.detach().cpu().numpy()
        except (TypeError, RuntimeError) as fault:
            raise OptionError(f"{what}: not a tensor that numpy can hold", found=str(fault)[:200]) from fault
        return array
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as fault:
        raise OptionError(f"{what}: not an array", found=str(fault)[:200]) from fault


def as_id_array(values: np.ndarray, what: str) -> np.ndarray:
    """Return node IDs as int64; whether there are such nodes is checked when they are written.

    Raises
    ------
    OptionError
        If they are not whole numbers, or some are missing.
    """
    hint = "IDs are whole numbers from 0; for names, write an edge list and use `daskgraphpart chunk --map-ids`"
    if values.ndim != 1:
        raise OptionError(f"{what}: not a column of node IDs", expected="one dimension", found=f"shape {values.shape}")
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and values.size and int(values.max()) >= 2**63:
            raise OptionError(f"{what}: ID too large", expected="less than 2**63", found=int(values.max()))
        return values.astype(np.int64, copy=False)
    if values.dtype == object:  # such as integers with missing values of pandas
        whole = [isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values[:1]]
        if all(whole):
            try:
                return np.array(values.tolist(), np.int64)
            except (TypeError, ValueError, OverflowError):
                found = "missing values, or something that is no whole number"
                raise OptionError(f"{what}: not node IDs", expected="whole numbers", found=found, hint=hint) from None
    if values.size == 0:
        return np.empty(0, np.int64)
    is_missing = values.dtype.kind == "f" and np.isnan(values).any()
    found = "missing values" if is_missing else f"dtype {values.dtype}"
    raise OptionError(f"{what}: not node IDs", expected="whole numbers", found=found, hint=hint)
