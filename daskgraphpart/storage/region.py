"""A typed array inside a file: the one way in which rows are read and written.

Reads and writes go through `pread` / `pwrite`, not through memory maps: the memory of a process then holds the rows
it asked for and nothing else, and a short read is an error instead of a bus error. `Region.memmap` is for lazy views.
Regions of files in stores are read by ranges of bytes, and never written.
"""

from __future__ import annotations

import ast
import io
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from upath import UPath

from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import is_file, open_for_reading, size_of_open
from daskgraphpart.storage.paths import to_key
from daskgraphpart.storage.stores import read_range, read_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    from daskgraphpart.storage.paths import AnyPath, FilePath

MAX_GAP_NBYTES = 128 << 10
"""Bytes between two rows of a remote file that are rather read than skipped."""
MAX_REQUEST_NBYTES = 8 << 20
MAX_REQUESTS = 8
"""Requests at one time."""

MOST_AXES = 32
MOST_NBYTES = 1 << 62
MOST_NPY_HEADER = 1 << 17  # numpy parses no more than 10,000 bytes of it
_MOST_LITERAL = 10_000
_NOT_NPY = (
    ValueError, EOFError, SyntaxError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError,
    MemoryError, TokenError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Region:
    """An array at a byte offset of a file, in C order; the first axis of its shape counts the rows."""

    path: FilePath
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def num_rows(self) -> int:
        """Length of the first axis."""
        return self.shape[0]

    @property
    def row_nbytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.num_rows * self.row_nbytes

    def moved(self, path: AnyPath) -> Region:
        """Return the same region of another file (the temporary name of this one, say)."""
        return replace(self, path=to_key(path))

    def read(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Read rows ``[start, stop)`` into a new array; an `InputFileError` if the file ends before they do."""
        stop = self.num_rows if stop is None else stop
        rows = np.empty((stop - start, *self.shape[1:]), self.dtype)
        self.read_into(rows, start)
        return rows

    def read_into(self, rows: np.ndarray, start: int) -> None:
        """Fill the C-contiguous array `rows` from row `start` on."""
        buffer, offset = _as_bytes(rows), self.offset + start * self.row_nbytes
        if isinstance(self.path, UPath):
            for first in range(0, len(buffer), MAX_REQUEST_NBYTES):
                stop = min(first + MAX_REQUEST_NBYTES, len(buffer))
                buffer[first:stop] = read_range(self.path, offset + first, offset + stop)
            return
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _read_exactly(fd, buffer, offset, self.path)
        finally:
            os.close(fd)

    def write(self, rows: np.ndarray, start: int) -> None:
        """Write `rows` from row `start` on; the file must exist."""
        fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            content = _as_bytes(np.ascontiguousarray(rows, self.dtype))
            write_exactly(fd, content, self.offset + start * self.row_nbytes, self.path)
        finally:
            os.close(fd)

    def memmap(self) -> np.ndarray:
        """Return the rows as a read-only memory map, whatever their alignment.

        Those of a remote file are `RemoteRows`: taken likewise, and read when they are.
        """
        if self.nbytes == 0:
            return np.empty(self.shape, self.dtype)
        if isinstance(self.path, UPath):
            return cast("np.ndarray", RemoteRows(self))
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read the rows of these numbers, in any order, and no more than what lies around them."""
        if isinstance(self.path, UPath):
            return _take_remote(self.path, self, np.asarray(rows))
        # numpy is slower in taking from a map than from an array
        taken: np.ndarray = np.asarray(self.memmap())[rows]
        return taken


class RemoteRows:
    """Rows of a region in a store, read when they are indexed, as numpy and dask index an array."""

    def __init__(self, region: Region) -> None:
        self.region, self.dtype, self.shape, self.ndim = region, region.dtype, region.shape, len(region.shape)

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return str(self.region.path), self.region.offset, self.dtype.str, self.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Read all rows."""
        return self.region.read().astype(dtype or self.dtype, copy=False)

    def __getitem__(self, where: Any) -> np.ndarray:
        """Read rows: a slice, an integer, or an array of integers or of bools; further axes are taken from these."""
        first, *rest = where if isinstance(where, tuple) else (where,)
        if isinstance(first, slice):
            start, stop, step = first.indices(len(self))
            if step != 1:
                return self[(np.arange(start, stop, step), *rest)]
            return self.region.read(start, max(start, stop))[(slice(None), *rest)]
        ids = np.asarray(first)
        rows = self.region.take(np.flatnonzero(ids) if ids.dtype == np.bool_ else ids)
        return rows[(slice(None),) * ids.ndim + tuple(rest)] if rest else rows


def _take_remote(path: UPath, region: Region, rows: np.ndarray) -> np.ndarray:
    """Read rows of a file in a store; those that lie near each other come with one request."""
    if rows.size and not 0 <= rows.min() <= rows.max() < region.num_rows:
        raise IndexError(f"row out of range [0, {region.num_rows})")
    wanted, inverse = np.unique(rows, return_inverse=True)
    taken = np.empty((wanted.size, *region.shape[1:]), region.dtype)
    if taken.size:
        gap, limit = (max(1, nbytes // region.row_nbytes) for nbytes in (MAX_GAP_NBYTES, MAX_REQUEST_NBYTES))
        # a request ends where the gap is wide, and at every multiple of `limit` rows
        cuts = np.flatnonzero((np.diff(wanted) > gap) | (np.diff(wanted // limit) > 0)) + 1
        firsts, stops = np.append(0, cuts), np.append(cuts, wanted.size)
        for begin in range(0, firsts.size, MAX_REQUESTS):
            of_batch = slice(begin, begin + MAX_REQUESTS)
            first, stop = firsts[of_batch], stops[of_batch]
            starts, ends = (region.offset + ids * region.row_nbytes for ids in (wanted[first], wanted[stop - 1] + 1))
            contents = read_ranges(path, starts.tolist(), ends.tolist())
            for low, high, content in zip(first.tolist(), stop.tolist(), contents, strict=True):
                span = np.frombuffer(content, region.dtype).reshape(-1, *region.shape[1:])
                taken[low:high] = span[wanted[low:high] - wanted[low]]
    return taken[inverse].reshape(*rows.shape, *region.shape[1:])


def create_npy(path: str | os.PathLike[str], dtype: np.dtype | type, shape: tuple[int, ...]) -> Region:
    """Create a sparse npy file of that shape and return the region of its rows."""
    dtype = np.dtype(dtype)
    with attach_path_to_error(path), open(path, "wb") as file:
        _write_npy_header(file, dtype, shape)
        region = Region(to_key(path), file.tell(), dtype, shape)
        file.truncate(region.offset + region.nbytes)
    return region


def create_mapped_npy(path: str | os.PathLike[str], dtype: np.dtype | type, shape: tuple[int, ...]) -> Region:
    """Do the same for a file that is mapped for writing, which takes its room on the disk at once.

    Where such a file has holes and the disk is full, the system ends the process instead of giving an error.
    """
    region = create_npy(path, dtype, shape)
    if region.nbytes:
        with attach_path_to_error(region.path), open(region.path, "r+b") as file:
            os.posix_fallocate(file.fileno(), region.offset, region.nbytes)
    return region


def _write_npy_header(file: BinaryIO, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(
        file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    )


def save_npy(path: str | os.PathLike[str], rows: np.ndarray) -> None:
    """Write a whole npy file, which appears when it is whole."""
    with whole_file(path) as temporary:
        create_npy(temporary, rows.dtype, rows.shape).write(rows, 0)


def npy_region(path: str | os.PathLike[str], dtype: np.dtype | type, shape: tuple[int, ...]) -> Region:
    """Return the region of the rows of the file that `create_npy` makes, without making it."""
    header = BytesIO()
    _write_npy_header(header, np.dtype(dtype), shape)
    return Region(to_key(path), header.tell(), np.dtype(dtype), shape)


def create_files(regions: Iterable[Region]) -> None:
    """Create the files of what `npy_region` gave."""
    for region in regions:
        create_npy(region.path, region.dtype, region.shape)


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What the header of an npy file says: first byte of the elements, dtype, shape, and their order."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    is_fortran: bool


# headers are Python literals, and Python 3.11 may fail when it parses in two threads and the garbage collector
# interrupts one of them ("AST constructor recursion depth mismatch"); other libraries parse as well, without the lock
_PARSING = threading.Lock()
_MOST_COLLISIONS = 100


def read_npy_header(path: AnyPath) -> NpyHeader:
    """Read and check the header of an npy file.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    InputFileError
        If it is not an npy file, does not hold plain numbers in rows, or is shorter than its header says.
    """
    name = to_key(path)
    if not isinstance(name, UPath) and not is_file(name):  # opening a remote file tells whether it is there
        raise InputFileNotFoundError("no such file", file=name)
    with attach_path_to_error(name), open_for_reading(name) as file:
        size = size_of_open(file)
        # the whole header, and no more: numpy would allocate what its length says
        head = io.BytesIO(file.read(MOST_NPY_HEADER))
    shape, fortran, dtype = parse_npy_header(head, name)
    if dtype.kind not in "biufc" or not shape:
        what = "is 0-dimensional" if not shape else "does not hold plain numbers"
        hint = "objects are pickled, and are never loaded" if dtype.hasobject else None
        raise InputFileError(f"npy array {what}", file=name, found=f"dtype {dtype}, shape {shape}", hint=hint)
    offset, nbytes = head.tell(), checked_nbytes(shape, dtype)
    if nbytes is None:
        raise InputFileError("impossible shape of an npy array", file=name, found=_shortened(shape))
    if size < offset + nbytes:
        raise InputFileError(
            "npy file is truncated", file=name, expected=f"{offset + nbytes:,} bytes", found=f"{size:,} bytes"
        )
    return NpyHeader(offset, dtype, tuple(shape), bool(fortran) and len(shape) > 1)


def parse_npy_header(head: BytesIO, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Parse the beginning of an npy file, and go to its first element.

    Parameters
    ----------
    head : io.BytesIO
        At the first byte of the file; it may end where the elements begin, or later.
    name : str
        Of the file.

    Returns
    -------
    tuple of (tuple of int, bool, numpy.dtype)
        Shape, whether the elements are in Fortran order, and their dtype.

    Raises
    ------
    InputFileError
        If it is not an npy file.
    """
    try:
        return _parse(head)
    except _NOT_NPY as fault:
        found = next(iter(str(fault).splitlines()), type(fault).__name__)
        raise InputFileError("not a readable npy file", file=name, found=found) from fault


def _parse(head: BytesIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(head)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"unknown version {version[0]}.{version[1]}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    begin = head.tell()
    with _PARSING:
        for _ in range(_MOST_COLLISIONS):
            head.seek(begin)
            with suppress(SystemError):
                if version == (3, 0):
                    _refuse_old_syntax(head)
                return read(head)
    raise ValueError("Python fails to parse the header")


def _refuse_old_syntax(head: BytesIO) -> None:
    """Refuse a header of version 3 that is no literal in UTF-8: only older ones may have Python 2's, which numpy mends.

    Raises
    ------
    ValueError, SyntaxError
        As numpy does.
    """
    begin = head.tell()
    text = head.read(int.from_bytes(head.read(4), "little"))
    head.seek(begin)
    if len(text) <= _MOST_LITERAL:  # others are refused in a moment
        ast.literal_eval(text.decode("utf-8"))


def checked_nbytes(shape: tuple[int, ...], dtype: np.dtype) -> int | None:
    """Bytes of an array somebody claims to have.

    Returns
    -------
    int or None
        None if no array can be like that: numpy counts axes and bytes, those of a row even if there is no row, up to a
        limit, beyond which products of lengths are silently wrong.
    """
    if len(shape) > MOST_AXES or min(shape, default=0) < 0:
        return None
    nbytes = filled = dtype.itemsize
    for length in shape:
        nbytes *= length
        filled *= max(1, length)
    return nbytes if filled <= MOST_NBYTES else None


def _shortened(shape: tuple[int, ...]) -> str:
    text = f"({', '.join(str(length) for length in shape[:8])}{', ...' if len(shape) > 8 else ''})"
    return text if len(text) < 200 else f"{text[:200]}..."


def open_npy(path: AnyPath) -> Region:
    """Read the header of an npy file in C order and return the region of its rows; raises as `read_npy_header`."""
    header = read_npy_header(path)
    if header.is_fortran:
        raise InputFileError("npy array is in Fortran order", file=path, hint="save it in C order")
    return Region(to_key(path), header.offset, header.dtype, header.shape)


def write_exactly(fd: int, content: memoryview, offset: int, path: str) -> None:
    """Write all of `content` at a byte offset of the open file `path`, which errors name."""
    done = 0
    with attach_path_to_error(path):
        while done < len(content):
            done += os.pwrite(fd, content[done : done + _MAX_IO], offset + done)


_MAX_IO = 1 << 30  # Linux moves at most 2 GiB - 4 KiB in one call


def _read_exactly(fd: int, buffer: memoryview, offset: int, path: str) -> None:
    done = 0
    while done < len(buffer):
        with attach_path_to_error(path):
            count = os.preadv(fd, [buffer[done : done + _MAX_IO]], offset + done)
        if count == 0:
            raise InputFileError(
                "file ends too early",
                file=path,
                expected=f"at least {offset + len(buffer):,} bytes",
                found=f"{offset + done:,}",
            )
        done += count


def _as_bytes(rows: np.ndarray) -> memoryview:
    return memoryview(rows.reshape(-1).view(np.uint8).data) if rows.size else memoryview(b"")
