"""Map the arrays of raw, npy and npz files in place; open them as tables, sparse matrices among them."""

from __future__ import annotations

import errno
import os
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.metadata import MAX_ROWS
from daskgraphpart.readers.names_of_ends import known_ends
from daskgraphpart.readers.tables.describe.column_file import ColumnFile, choose_columns
from daskgraphpart.readers.tables.describe.parquet_batches import Sizes
from daskgraphpart.storage.region import MAX_NPY_HEADER, Region, checked_nbytes, parse_npy_header

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.table_files import TableFile

MAX_NUMBER_BYTES = 8  # Arrow has no longer floats
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


@dataclass(frozen=True, slots=True, eq=False)
class _Expanded:
    """Row (or column) numbers of a compressed sparse matrix's elements, computed when sliced."""

    starts: np.ndarray
    shape: tuple[int]
    dtype = np.dtype(np.int64)
    ndim = 1

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: slice) -> np.ndarray:
        return np.searchsorted(self.starts, np.arange(*chosen.indices(len(self))), side="right") - 1


def open_array_file(file: TableFile, wanted: Sequence[str], num_ids: int, directory: Path) -> ColumnFile:
    """Open a raw, npy or npz file; unpacks packed arrays into a directory.

    Without names, sources and destinations are `src` and `dst` (or `row` and `col`, ...), or the first two arrays, or
    the columns of `edge_index` or of the first array, (edges, 2 or more), or its rows, (2, edges); for a sparse matrix
    saved by scipy, its rows and columns.
    """
    path = file.path
    arrays, num_nodes = map_arrays(file, directory), tuple[int, ...]()
    if {"format", "shape", "data"} <= arrays.keys() and arrays["format"].shape == () and arrays["shape"].shape == (2,):
        num_nodes = _matrix_shape(path, arrays["shape"])
        arrays = _sparse_matrix(path, arrays)
    _check_arrays(path, arrays)
    if num_ids == 2 and "edge_index" in arrays:
        arrays = {"edge_index": arrays.pop("edge_index"), **arrays}
    has_pair = num_ids == 2 and known_ends(arrays)
    if num_ids and not has_pair and not all(name and name in arrays for name in wanted[:num_ids]):
        before, arrays = arrays, _split_first(path, arrays, wanted, num_ids)
        if arrays.keys() != before.keys() and not any(wanted[:num_ids]):
            wanted = [*list(arrays)[:num_ids], *wanted[num_ids:]]
    kinds = {name: pa.from_numpy_dtype(array.dtype.newbyteorder("=")) for name, array in arrays.items()}
    headers = [(n, kinds[n] if a.ndim == 1 else pa.list_(kinds[n]), a.shape[1:]) for n, a in arrays.items()]
    columns, schema = choose_columns(file, headers, wanted, num_ids)
    chosen = {column.name: arrays[column.name] for column in columns if column.position is not None}
    num_rows = len(next(iter(chosen.values()), ()))
    for name, array in chosen.items():
        if len(array) != num_rows:
            what, expected = f"array {name!r} has a different length", f"{num_rows:,}"
            raise InputFileError(what, file=path, expected=expected, found=f"{len(array):,}")
    used = tuple(arrays[column.name] for column in columns if column.position is not None)
    sizes = Sizes(max((array[:1].nbytes for array in used if not isinstance(array, _Expanded)), default=0))
    return ColumnFile(path, file.content, columns, schema, num_rows, used, num_nodes, sizes=sizes)


def _matrix_shape(path: str, shape: np.ndarray) -> tuple[int, ...]:
    if shape.dtype.kind not in "iu" or not 0 <= int(shape.min()) <= int(shape.max()) < MAX_ROWS:
        expected = f"two whole numbers below 2^{MAX_ROWS.bit_length() - 1}"
        raise InputFileError("invalid shape of a matrix", file=path, expected=expected, found=shape.tolist())
    return tuple(map(int, shape))


def _sparse_matrix(path: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return rows, columns and elements of a matrix from `scipy.sparse.save_npz`."""
    form = arrays["format"].item()
    form = form.decode(errors="replace") if isinstance(form, bytes) else str(form)
    if form == "coo" and {"row", "col"} <= arrays.keys():
        return {name: arrays[name] for name in ("row", "col", "data")}
    starts, indices = arrays.get("indptr", np.empty(0)), arrays.get("indices", np.empty(0))
    if form not in ("csr", "csc"):
        what, hint = "cannot read this sparse matrix", "save scipy.sparse.csr_matrix(matrix) instead"
        raise InputFileError(what, file=path, expected="csr, csc or coo", found=form, hint=hint)
    is_whole = starts.ndim == 1 and starts.dtype.kind in "iu" and len(starts) and starts[0] == 0
    if not is_whole or starts[-1] != len(indices) or (starts[1:] < starts[:-1]).any():
        raise InputFileError("indptr does not fit the sparse matrix", file=path, expected=f"0 to {len(indices):,}")
    expanded = _Expanded(starts, (len(indices),))
    row, col = (expanded, indices) if form == "csr" else (indices, expanded)
    return {"row": row, "col": col, "data": arrays["data"]}


def _split_first(
    path: str, arrays: Mapping[str, np.ndarray], wanted: Sequence[str], num_ids: int
) -> dict[str, np.ndarray]:
    """If the first array is a table, replace it by the columns that may be used."""
    name, array = next(iter(arrays.items()))
    if array.ndim == 1:
        return dict(arrays)
    if num_ids == 2 and not any(wanted[:2]) and array.ndim == 2 and len(array) == 2 and len(wanted) == 2:
        if array.shape == (2, 2):
            hint = "add --endpoints 0,1 if its rows are edges, or transpose it"
            raise InputFileError("ambiguous array of edges", file=path, found="shape (2, 2)", hint=hint)
        array = array.T  # PyG's edge_index
    if array.ndim != 2 or array.shape[1] < num_ids:
        what = "not an array of edges" if num_ids == 2 else "not a list of nodes"
        expected = f"shape (rows, {num_ids} or more)" + (" or (2, edges)" if num_ids == 2 else "")
        raise InputFileError(what, file=path, expected=expected, found=f"shape {array.shape}")
    used = max(num_ids, *(int(text) + 1 for text in wanted if text.isdecimal()), 0)
    columns = {f"{name}[{i}]" if name else str(i): array[:, i] for i in range(min(used, array.shape[1]))}
    return {**columns, **{other: arrays[other] for other in list(arrays)[1:]}}


def _check_arrays(path: str, arrays: Mapping[str, Any]) -> None:
    for name, array in arrays.items():
        dtype = array.dtype
        is_known = dtype.kind in "US" or (dtype.kind in "biuf" and dtype.itemsize <= MAX_NUMBER_BYTES)
        if not is_known or not array.shape or dtype.itemsize == 0:
            what, kind = f"array {name!r} does not hold numbers or strings", f"dtype {dtype}, shape {array.shape}"
            raise InputFileError(what, file=path, found=kind)
