"""Map the arrays of raw, npy and npz files in place."""

from __future__ import annotations

import errno
import os
import struct
import zipfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.region import MAX_NPY_HEADER, Region, checked_nbytes, parse_npy_header

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.table_files import TableFile

MAX_READ_NBYTES = 4 << 20  # shorter npz arrays are read, with their checksums


def map_rows(file: TableFile, directory: Path) -> Any:
    """Map the rows of a whole file, a named array, or a numbered column; None if not numbers."""
    arrays, name = map_arrays(file, directory), "".join(file.columns)
    array = arrays.get(name)
    if array is None and name.isdecimal() and "" in arrays and int(name) < sum(arrays[""].shape[1:2]):
        array = arrays[""][:, int(name)]
    return array if array is not None and array.ndim and array.dtype.kind in "biuf" else None


def map_arrays(file: TableFile, directory: Path) -> dict[str, Any]:
    """Map a raw or npy file, or the arrays of an npz file; unpacks packed ones into a directory."""
    if file.form == "raw":
        return {"": _map_raw(file)}
    try:
        if file.form == "npz":
            with zipfile.ZipFile(file.content) as archive:
                held = [info.filename for info in archive.infolist() if not info.is_dir()]
                members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
                unpacked = directory / f"npz-{len(list(directory.glob('npz-*')))}"
                arrays = {info.filename.removesuffix(".npy"): _map_member(archive, info, unpacked) for info in members}
        else:
            arrays = {"": np.load(file.content, mmap_mode="r", allow_pickle=False)}
    except Exception as fault:  # numpy and zipfile raise nearly everything for damaged files
        if isinstance(fault, OSError) and fault.errno not in (None, errno.EINVAL):
            raise  # the machine's fault; EINVAL: a damaged archive points outside
        message = str(fault) or type(fault).__name__
        raise InputFileError(f"not a readable {file.form} file", file=file.path, found=message) from fault
    if not arrays:
        shown = ", ".join(held[:3]) + (", ..." if held[3:] else "")
        hint = f"unpack it, for example by unzip {Path(file.path).name}, and give what it holds" if held else None
        raise InputFileError("the zip archive has no arrays", file=file.path, found=shown or None, hint=hint)
    return {field: rows for name, array in arrays.items() for field, rows in _fields(name, array).items()}


def _fields(name: str, array: Any) -> dict[str, Any]:
    """Return the columns of a structured array, by name; any other as it is."""
    return {field: array[field] for field in array.dtype.names} if array.dtype.names else {name: array}


def _map_raw(file: TableFile) -> Any:
    dtype = np.dtype(file.dtype).newbyteorder("<")
    size, row_nbytes = os.path.getsize(file.content), int(np.prod((dtype.itemsize, *file.row_shape), dtype=np.int64))
    if not size or not row_nbytes or size % row_nbytes:
        what = f"not whole rows of {file.dtype} of shape {file.row_shape}"
        expected, nbytes = f"a multiple of {row_nbytes:,} bytes", f"{size:,}"
        raise InputFileError(what, file=file.path, expected=expected, found=nbytes, hint="check FILE:DTYPE:WIDTH")
    return Region(file.content, 0, dtype, (size // row_nbytes, *file.row_shape)).memmap()


def _map_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, unpacked: Path) -> Any:
    """Read a small array of an npz file; map a large one, in place unless packed."""
    if info.file_size <= MAX_READ_NBYTES:
        with archive.open(info) as member:
            return np.lib.format.read_array(member, allow_pickle=False)
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        return np.load(archive.extract(info, unpacked), mmap_mode="r", allow_pickle=False)
    path = str(archive.filename)
    with open(path, "rb") as file:
        file.seek(info.header_offset + 26)  # lengths of the name and extra field before the array
        offset = info.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))
        file.seek(offset)
        head = BytesIO(file.read(MAX_NPY_HEADER))
    shape, is_fortran, dtype = parse_npy_header(head, path)
    if dtype.hasobject or checked_nbytes(shape, dtype) != info.file_size - head.tell():
        raise ValueError(f"array {info.filename!r} has the wrong length, or holds objects")
    return np.memmap(path, dtype, "r", offset + head.tell(), shape, "F" if is_fortran else "C")
