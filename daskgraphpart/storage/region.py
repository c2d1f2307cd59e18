"""A typed array inside a file: the only way to read and write rows.

It uses `pread` / `pwrite`, not memory maps: a process holds only requested rows, and a short read is an error instead
of a bus error. `Region.memmap` is for lazy views. Regions in stores are read by byte ranges, and never written.

Headers of npy files are Python literals. They are matched, not evaluated: Python 3.11 may fail when it parses in two
threads during garbage collection, and few headers are valid.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import BytesIO
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.schema import BFLOAT16
from daskgraphpart.source import FilePath, Source
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import (
    is_file,
    object_stores,
    open_for_reading,
    size_of_open,
    store_of,
    workspace_store,
)
from daskgraphpart.storage.paths import AnyPath, is_remote, to_key

MAX_WHOLE_NBYTES = 64 << 10
"""Bytes of a region that is read as a whole where some rows are requested: a map takes longer."""
MAX_AXES = 32
MAX_NBYTES = 1 << 62
MAX_NPY_HEADER = 1 << 14  # more than numpy writes for plain numbers
_KEY = r"""('(?:descr|fortran_order|shape)'|"(?:descr|fortran_order|shape)")"""
_ITEM = rf"""\s*{_KEY}\s*:\s*('[^']*'|"[^"]*"|True|False|\([\d\s,]*\))\s*"""
_HEADER = re.compile(rf"\s*\{{{_ITEM},{_ITEM},{_ITEM},?\s*\}}[ \t]*(?:\s*\n)?", re.ASCII)
_LENGTH = r"\s*(?:0|[1-9]\d{0,30})\s*"
_maps: WeakValueDictionary[Any, np.memmap[Any, Any]] = WeakValueDictionary()  # a file that is mapped keeps its inode
_SHAPE = re.compile(rf"\((?:\s*|{_LENGTH},|{_LENGTH}(?:,{_LENGTH})+,?\s*)\)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Region(Source):
    """An array at a byte offset of a file, in C order; the first axis counts rows."""

    path: FilePath
    offset: int
    dtype: np.dtype = field()
    shape: tuple[int, ...] = field()

    @property
    def num_rows(self) -> int:
        """Length of the first axis."""
        return self.shape[0]

    @property
    def row_nbytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.num_rows * self.row_nbytes

    @property
    def paths(self) -> tuple[FilePath, ...]:
        return (self.path,)

    def row(self, number: int) -> Region:
        """Return one row as a region of its own."""
        return replace(self, offset=self.offset + number * self.row_nbytes, shape=self.shape[1:])

    def moved(self, path: AnyPath) -> Region:
        """Return the same region of another file, such as its temporary one."""
        return replace(self, path=to_key(path))

    def read(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Read rows ``[start, stop)`` into a new array; `InputFileError` if the file ends early."""
        stop = self.num_rows if stop is None else stop
        rows = np.empty((stop - start, *self.shape[1:]), self.dtype)
        self.read_into(rows, start)
        return rows

    def pieces(self, rows: int) -> Iterator[tuple[int, np.ndarray]]:
        """Read so many rows at a time, each piece with the number of its first."""
        for start in range(0, self.num_rows, rows):
            yield start, self.read(start, min(start + rows, self.num_rows))

    def read_into(self, rows: np.ndarray, start: int) -> None:
        """Fill the C-contiguous array `rows` from row `start` on."""
        offset = self.offset + start * self.row_nbytes
        store_of(self.path).read_into(_as_bytes(rows), self.path, offset)

    def write(self, rows: np.ndarray, start: int) -> None:
        """Write `rows` from row `start` on; the file must exist."""
        content, offset = _as_bytes(np.ascontiguousarray(rows, self.dtype)), self.offset + start * self.row_nbytes
        workspace_store(self.path).write(to_key(self.path), offset, content)

    def memmap(self) -> np.ndarray:
        """Return the rows as a read-only memory map, for any alignment; read files that cannot be mapped."""
        if self.nbytes == 0:
            return np.empty(self.shape, self.dtype)
        copy = store_of(self.path).local_copy(self.path)
        if copy is None:
            return self.read()
        file = os.stat(copy)
        # threads share a map: pages count, and have an entry in a table, for each
        key = file.st_dev, file.st_ino, self.offset, self.dtype, self.shape
        if (shared := _maps.get(key)) is None:
            shared = _maps[key] = np.memmap(copy, self.dtype, "r", self.offset, self.shape)
        return shared

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read the rows of these numbers, in any order, and little around them."""
        if is_remote(self.path):
            return object_stores().take_rows(self.path, self.offset, self.dtype, self.shape, np.asarray(rows))
        # numpy is slower in taking from a map than from an array
        taken: np.ndarray = (self.read() if self.nbytes <= MAX_WHOLE_NBYTES else np.asarray(self.memmap()))[rows]
        return taken


def npy_region(path: str | os.PathLike[str], dtype: np.dtype | type, shape: tuple[int, ...]) -> Region:
    """Return the region of rows that `create_npy` would make."""
    return Region(to_key(path), len(npy_header(np.dtype(dtype), shape)), np.dtype(dtype), shape)


def create_npy(
    path: str | os.PathLike[str], dtype: np.dtype | type, shape: tuple[int, ...], *, is_mapped: bool = False
) -> Region:
    """Create an npy file, perhaps to be mapped for writing, and return the region of its rows."""
    region = npy_region(path, dtype, shape)
    header, nbytes = npy_header(region.dtype, shape), region.offset + region.nbytes
    workspace_store(path).create(path, nbytes, ((0, header),), is_mapped=is_mapped)
    return region


@lru_cache(maxsize=64)
def npy_header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """Return what an npy file holds before its elements."""
    header = BytesIO()
    content = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, content)
    return header.getvalue()


def save_npy(path: str | os.PathLike[str], rows: np.ndarray) -> None:
    """Write an npy file atomically."""
    with whole_file(path) as temporary:
        create_npy(temporary, rows.dtype, rows.shape).write(rows, 0)


def create_files(regions: Iterable[Region]) -> None:
    """Create the files of regions from `npy_region`."""
    for region in regions:
        create_npy(region.path, region.dtype, region.shape)


def open_npy(path: AnyPath) -> Region:
    """Read the header of a C-order npy file and return the region of its rows; raises as `read_npy_header`."""
    header = read_npy_header(path)
    if header.is_fortran:
        raise InputFileError("npy array is in Fortran order", file=path, hint="save it in C order")
    return Region(to_key(path), header.offset, header.dtype, header.shape)


def map_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """Map a local npy file for writing; unlike numpy's, parses headers safely beside other threads."""
    region = open_npy(path)
    return np.memmap(region.path, region.dtype, "r+", region.offset, region.shape)


def _as_bytes(rows: np.ndarray) -> memoryview:
    return memoryview(rows.reshape(-1).view(np.uint8).data) if rows.size else memoryview(b"")


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """An npy header: first byte of the elements, dtype, shape, order."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    is_fortran: bool


def read_npy_header(path: AnyPath) -> NpyHeader:
    """Read and check the header of an npy file."""
    if not is_remote(path) and not is_file(path):  # opening a remote file tells
        raise InputFileNotFoundError("no such file", file=path)
    with attach_path_to_error(path), open_for_reading(path) as file:
        head = BytesIO(file.read(MAX_NPY_HEADER))
        size = size_of_open(file)
    shape, fortran, dtype = parse_npy_header(head, path)
    if (dtype.kind not in "biufc" and dtype != BFLOAT16) or not shape:
        what = "is 0-dimensional" if not shape else "does not hold plain numbers"
        hint = "objects are pickled, and are never loaded" if dtype.hasobject else None
        raise InputFileError(f"npy array {what}", file=path, found=f"dtype {dtype}, shape {shape}", hint=hint)
    offset, nbytes = head.tell(), checked_nbytes(shape, dtype)
    if nbytes is None:
        raise InputFileError("invalid shape of an npy array", file=path, found=shape)
    if size < offset + nbytes:
        raise InputFileError(
            "npy file is truncated", file=path, expected=f"{offset + nbytes:,} bytes", found=f"{size:,} bytes"
        )
    return NpyHeader(offset, dtype, shape, fortran and len(shape) > 1)


def parse_npy_header(head: BytesIO, path: AnyPath) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Parse the beginning of an npy file up to its first element; return shape, Fortran order, dtype."""
    try:
        begins = head.read(len(np.lib.format.MAGIC_PREFIX))
        if begins and begins != np.lib.format.MAGIC_PREFIX:
            raise ValueError(f"it begins with {begins!r}")
        head.seek(0)
        version = np.lib.format.read_magic(head)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"unknown version {version[0]}.{version[1]}")
        length = int.from_bytes(head.read(2 if version == (1, 0) else 4), "little")
        text = head.read(length).decode("latin-1")
        if len(text) < length:
            raise ValueError("the header ends early")
        if version < (3, 0):
            text = re.sub(r"(?<=\d)L", "", text)  # Python 2 appended it to lengths
        match = None if "\v" in text else _HEADER.fullmatch(text)  # a space for expressions, not for Python
        items = () if match is None else zip(match.groups()[::2], match.groups()[1::2], strict=True)
        header = {key[1:-1]: value for key, value in items}
        is_sound = header.get("fortran_order") in ("True", "False") and header["descr"][0] in "'\""
        if not is_sound or not _SHAPE.fullmatch(header.get("shape", "")):
            raise ValueError(f"header {text[:100]!r}")
        shape = tuple(int(length) for length in re.findall(r"\d+", header["shape"]))
        descr = header["descr"][1:-1]
        # numpy's form of bfloat16; |V2 would be two bytes without meaning
        dtype = BFLOAT16 if descr == "<V2" else np.dtype(descr)
        return shape, header["fortran_order"] == "True", dtype
    except (ValueError, TypeError, KeyError, SyntaxError) as fault:
        raise InputFileError("not a readable npy file", file=path, found=str(fault)) from fault


def checked_nbytes(shape: tuple[int, ...], dtype: np.dtype) -> int | None:
    """Bytes of an array of claimed shape and dtype."""
    if len(shape) > MAX_AXES or min(shape, default=0) < 0:
        return None
    nbytes = filled = dtype.itemsize
    for length in shape:
        nbytes *= length
        filled *= max(1, length)
    return nbytes if filled <= MAX_NBYTES else None


def id_dtype(num_ids: int) -> np.dtype:
    """Smallest signed dtype for IDs below `num_ids`: int32 or int64."""
    return np.dtype(np.int32) if num_ids < 2**31 else np.dtype(np.int64)
