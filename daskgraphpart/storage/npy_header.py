"""Read and check headers of npy files that somebody else wrote, without their elements.

The header is a Python literal. It is matched, not evaluated: Python 3.11 may fail when it parses in two threads and the
garbage collector interrupts one of them, and there is little that a header may say.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.schema import BFLOAT16
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import is_file, open_for_reading
from daskgraphpart.storage.paths import is_remote

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import AnyPath

MAX_AXES = 32
MAX_NBYTES = 1 << 62
MAX_NPY_HEADER = 1 << 14  # more than numpy writes for plain numbers
_ITEM = r"""\s*['"](descr|fortran_order|shape)['"]\s*:\s*('[^']*'|"[^"]*"|True|False|\([\d\s,]*\))\s*"""
_HEADER = re.compile(rf"\s*\{{{_ITEM},{_ITEM},{_ITEM},?\s*\}}\s*", re.ASCII)
_LENGTH = r"\s*(?:0|[1-9]\d{0,30})\s*"
_SHAPE = re.compile(rf"\((?:\s*|{_LENGTH},|{_LENGTH}(?:,{_LENGTH})+,?\s*)\)", re.ASCII)


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What the header of an npy file says: first byte of the elements, dtype, shape, and their order."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    is_fortran: bool


def read_npy_header(path: AnyPath) -> NpyHeader:
    """Read and check the header of an npy file."""
    if not is_remote(path) and not is_file(path):  # opening a remote file tells whether it is there
        raise InputFileNotFoundError("no such file", file=path)
    with attach_path_to_error(path), open_for_reading(path) as file:
        head = BytesIO(file.read(MAX_NPY_HEADER))
        size = file.seek(0, os.SEEK_END)
    shape, fortran, dtype = parse_npy_header(head, path)
    if (dtype.kind not in "biufc" and dtype != BFLOAT16) or not shape:
        what = "is 0-dimensional" if not shape else "does not hold plain numbers"
        hint = "objects are pickled, and are never loaded" if dtype.hasobject else None
        raise InputFileError(f"npy array {what}", file=path, found=f"dtype {dtype}, shape {shape}", hint=hint)
    offset, nbytes = head.tell(), checked_nbytes(shape, dtype)
    if nbytes is None:
        raise InputFileError("impossible shape of an npy array", file=path, found=shape)
    if size < offset + nbytes:
        raise InputFileError(
            "npy file is truncated", file=path, expected=f"{offset + nbytes:,} bytes", found=f"{size:,} bytes"
        )
    return NpyHeader(offset, dtype, shape, fortran and len(shape) > 1)


def parse_npy_header(head: BytesIO, path: AnyPath) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Parse the beginning of an npy file and go to its first element; shape, whether in Fortran order, dtype."""
    try:
        version = np.lib.format.read_magic(head)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"unknown version {version[0]}.{version[1]}")
        text = head.read(int.from_bytes(head.read(2 if version == (1, 0) else 4), "little")).decode("latin-1")
        if version < (3, 0):
            text = re.sub(r"(?<=\d)L", "", text)  # Python 2 wrote it behind lengths
        match = _HEADER.fullmatch(text)
        header = {} if match is None else dict(zip(match.groups()[::2], match.groups()[1::2], strict=True))
        if header.get("fortran_order") not in ("True", "False") or not _SHAPE.fullmatch(header.get("shape", "")):
            raise ValueError(f"header {text[:100]!r}")
        shape = tuple(int(length) for length in re.findall(r"\d+", header["shape"]))
        descr = header["descr"].strip("'\"")
        # what numpy writes of bfloat16; of two bytes without a meaning it writes |V2
        dtype = BFLOAT16 if descr == "<V2" else np.dtype(descr)
        return shape, header["fortran_order"] == "True", dtype
    except (ValueError, TypeError, KeyError, SyntaxError) as fault:
        raise InputFileError("not a readable npy file", file=path, found=str(fault)) from fault


def checked_nbytes(shape: tuple[int, ...], dtype: np.dtype) -> int | None:
    """Bytes of an array somebody claims to have."""
    if len(shape) > MAX_AXES or min(shape, default=0) < 0:
        return None
    nbytes = filled = dtype.itemsize
    for length in shape:
        nbytes *= length
        filled *= max(1, length)
    return nbytes if filled <= MAX_NBYTES else None
