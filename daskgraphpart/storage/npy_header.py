"""Read and check headers of npy files that somebody else wrote, without their elements."""

from __future__ import annotations

import ast
import threading
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from tokenize import TokenError
from typing import TYPE_CHECKING

import numpy as np
from upath import UPath

from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import is_file, open_for_reading, size_of_open

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import AnyPath

MAX_AXES = 32
MAX_NBYTES = 1 << 62
MAX_NPY_HEADER = 1 << 17  # numpy parses no more than 10,000 bytes of it
_MAX_LITERAL = 10_000
_NOT_NPY = (
    ValueError, EOFError, SyntaxError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError,
    MemoryError, TokenError,
)  # fmt: skip


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
_MAX_COLLISIONS = 100


def read_npy_header(path: AnyPath) -> NpyHeader:
    """Read and check the header of an npy file."""
    if not isinstance(path, UPath) and not is_file(path):  # opening a remote file tells whether it is there
        raise InputFileNotFoundError("no such file", file=path)
    with attach_path_to_error(path), open_for_reading(path) as file:
        size = size_of_open(file)
        # the whole header, and no more: numpy would allocate what its length says
        head = BytesIO(file.read(MAX_NPY_HEADER))
    shape, fortran, dtype = parse_npy_header(head, path)
    if dtype.kind not in "biufc" or not shape:
        what = "is 0-dimensional" if not shape else "does not hold plain numbers"
        hint = "objects are pickled, and are never loaded" if dtype.hasobject else None
        raise InputFileError(f"npy array {what}", file=path, found=f"dtype {dtype}, shape {shape}", hint=hint)
    offset, nbytes = head.tell(), checked_nbytes(shape, dtype)
    if nbytes is None:
        raise InputFileError("impossible shape of an npy array", file=path, found=_shortened(shape))
    if size < offset + nbytes:
        raise InputFileError(
            "npy file is truncated", file=path, expected=f"{offset + nbytes:,} bytes", found=f"{size:,} bytes"
        )
    return NpyHeader(offset, dtype, tuple(shape), bool(fortran) and len(shape) > 1)


def parse_npy_header(head: BytesIO, path: AnyPath) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Parse the beginning of an npy file and go to its first element; shape, whether in Fortran order, dtype."""
    try:
        return _parse(head)
    except _NOT_NPY as fault:
        found = next(iter(str(fault).splitlines()), type(fault).__name__)
        raise InputFileError("not a readable npy file", file=path, found=found) from fault


def _parse(head: BytesIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(head)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"unknown version {version[0]}.{version[1]}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    begin = head.tell()
    with _PARSING:
        for _ in range(_MAX_COLLISIONS):
            head.seek(begin)
            with suppress(SystemError):
                if version == (3, 0):
                    _refuse_old_syntax(head)
                return read(head)
    raise ValueError("Python fails to parse the header")


def _refuse_old_syntax(head: BytesIO) -> None:
    """Refuse a header of version 3 that is no literal in UTF-8; only in older ones numpy mends what Python 2 wrote."""
    begin = head.tell()
    text = head.read(int.from_bytes(head.read(4), "little"))
    head.seek(begin)
    if len(text) <= _MAX_LITERAL:  # others are refused in a moment
        ast.literal_eval(text.decode("utf-8"))


def checked_nbytes(shape: tuple[int, ...], dtype: np.dtype) -> int | None:
    """Bytes of an array somebody claims to have."""
    if len(shape) > MAX_AXES or min(shape, default=0) < 0:
        return None
    nbytes = filled = dtype.itemsize
    for length in shape:
        nbytes *= length
        filled *= max(1, length)
    return nbytes if filled <= MAX_NBYTES else None


def _shortened(shape: tuple[int, ...]) -> str:
    text = f"({', '.join(str(length) for length in shape[:8])}{', ...' if len(shape) > 8 else ''})"
    return text if len(text) < 200 else f"{text[:200]}..."
