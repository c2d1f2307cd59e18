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
from typing import TYPE_CHECKING, cast

import numpy as np

from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.remote.url import Url
from daskgraphpart.storage.atomic import naming, whole_file
from daskgraphpart.storage.files import is_file, open_for_reading, size_of_open

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

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
    """An array of rows at a byte offset of a file.

    Parameters
    ----------
    path : str
        The file.
    offset : int
        Byte at which the first row begins.
    dtype : numpy.dtype
        Dtype of the elements.
    shape : tuple of int
        Shape in C order; the first axis counts the rows.
    """

    path: str
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

    def moved(self, path: str | os.PathLike[str]) -> Region:
        """Return the same region of another file (the temporary name of this one, say)."""
        return replace(self, path=os.fspath(path))

    def read(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Read rows ``[start, stop)`` into a new array.

        Raises
        ------
        InputFileError
            If the file ends before the rows do.
        """
        stop = self.num_rows if stop is None else stop
        rows = np.empty((stop - start, *self.shape[1:]), self.dtype)
        self.read_into(rows, start)
        return rows

    def read_into(self, rows: np.ndarray, start: int) -> None:
        """Fill the C-contiguous array `rows` from row `start` on."""
        if isinstance(self.path, Url):
            from daskgraphpart.remote.rows import fill

            fill(self.path, self.offset + start * self.row_nbytes, rows)
            return
        fd = _open(self.path, os.O_RDONLY)
        try:
            _read_exactly(fd, _as_bytes(rows), self.offset + start * self.row_nbytes, self.path)
        finally:
            os.close(fd)

    def write(self, rows: np.ndarray, start: int) -> None:
        """Write `rows` from row `start` on; the file must exist."""
        fd = _open(self.path, os.O_WRONLY)
        try:
            content = _as_bytes(np.ascontiguousarray(rows, self.dtype))
            write_exactly(fd, content, self.offset + start * self.row_nbytes, self.path)
        finally:
            os.close(fd)

    def memmap(self) -> np.ndarray:
        """Return the rows as a read-only memory map, whatever their alignment.

        Those of a remote file are a `RemoteRows`: rows are taken from it likewise, and read when they are.
        """
        if self.nbytes == 0:
            return np.empty(self.shape, self.dtype)
        if isinstance(self.path, Url):
            from daskgraphpart.remote.rows import RemoteRows

            return cast("np.ndarray", RemoteRows(self.path, self.offset, self.dtype, self.shape))
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read the rows of these numbers, in any order, and no more than what lies around them."""
        mapped = self.memmap()
        # numpy is slower in taking from a map than from an array
        taken: np.ndarray = (mapped if isinstance(self.path, Url) else np.asarray(mapped))[rows]
        return taken


def create_npy(path: str | os.PathLike[str], dtype: np.dtype | type, shape: tuple[int, ...]) -> Region:
    """Create a sparse npy file of that shape and return the region of its rows."""
    dtype = np.dtype(dtype)
    with naming(path), open(path, "wb") as file:
        _write_npy_header(file, dtype, shape)
        region = Region(os.fspath(path), file.tell(), dtype, shape)
        file.truncate(region.offset + region.nbytes)
    return region


def create_mapped_npy(path: str | os.PathLike[str], dtype: np.dtype | type, shape: tuple[int, ...]) -> Region:
    """Do the same for a file that is mapped for writing, which takes its room on the disk at once.

    Where such a file has holes and the disk is full, the system ends the process instead of giving an error.
    """
    region = create_npy(path, dtype, shape)
    if region.nbytes:
        with naming(region.path), open(region.path, "r+b") as file:
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
    return Region(os.fspath(path), header.tell(), np.dtype(dtype), shape)


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


def read_npy_header(path: str | os.PathLike[str]) -> NpyHeader:
    """Read and check the header of an npy file.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    InputFileError
        If it is not an npy file, does not hold plain numbers in rows, or is shorter than its header says.
    """
    name = os.fspath(path)
    if not isinstance(name, Url) and not is_file(name):  # opening a remote file tells whether it is there
        raise InputFileNotFoundError("no such file", file=name)
    with naming(name), open_for_reading(name) as file:
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


def open_npy(path: str | os.PathLike[str]) -> Region:
    """Read the header of an npy file in C order and return the region of its rows; raises as `read_npy_header`."""
    header = read_npy_header(path)
    if header.is_fortran:
        raise InputFileError("npy array is in Fortran order", file=os.fspath(path), hint="save it in C order")
    return Region(os.fspath(path), header.offset, header.dtype, header.shape)


def write_exactly(fd: int, content: memoryview, offset: int, path: str) -> None:
    """Write all of `content` at a byte offset of the open file `path`, which errors name."""
    done = 0
    with naming(path):
        while done < len(content):
            done += os.pwrite(fd, content[done : done + _MAX_IO], offset + done)


_MAX_IO = 1 << 30  # Linux moves at most 2 GiB - 4 KiB in one call


def _read_exactly(fd: int, buffer: memoryview, offset: int, path: str) -> None:
    done = 0
    while done < len(buffer):
        with naming(path):
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


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC)
