"""Headers of data files: shapes, dtypes and row counts, without reading data."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from daskgraphpart.chunked.blocks import InputFile
from daskgraphpart.chunked.read_parquet import edge_columns, numpy_dtype, read_parquet_header, row_of
from daskgraphpart.errors import InputFileError, MetadataError
from daskgraphpart.schema import DataSpec
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import file_size, open_for_reading
from daskgraphpart.storage.npy_header import read_npy_header

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.chunked.metadata import Files

EDGE_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
_CSV_HEAD = re.compile(rb"\s*([+-]?\d[^\0]*)?")  # how lines of integers begin, and nothing compressed or of UTF-16


def edge_file(path: str, files: Files) -> InputFile:
    """Open one file of edges."""
    if files.format == "csv":
        _check_head(path)
        return InputFile(path, "csv", files.delimiter, None, file_size(path))
    if files.format == "parquet":
        header = read_parquet_header(path)
        for name in edge_columns(header.schema, path):
            _check_edge_dtype(path, numpy_dtype(name, header.schema.field(name).type, path), f"column {name!r}")
        return InputFile(path, "parquet", " ", header.num_rows, file_size(path), header.row_group_ends)
    npy = read_npy_header(path)
    if len(npy.shape) != 2 or npy.shape[1] != 2:
        expected = "shape (edges, 2): src and dst"
        raise InputFileError("not an array of edges", file=path, expected=expected, found=f"shape {npy.shape}")
    _check_edge_dtype(path, npy.dtype, None)
    return InputFile(path, "numpy", " ", npy.shape[0], file_size(path))


def feature_files(name: str, files: Files) -> tuple[DataSpec, tuple[InputFile, ...]]:
    """Open the files of one feature, of which there is at least one; they must agree in dtype and shape of a row."""
    found = [_feature_file(path, files.format) for path in files.paths]
    # a file of lists without rows cannot tell their length, and takes that of the others
    (first_dtype, known_shape), first = next((entry for entry in found if entry[0][1] is not None), found[0])
    first_shape = (0,) if known_shape is None else known_shape
    for (dtype, row_shape), file in found:
        if dtype != first_dtype or row_shape not in (None, first_shape):
            raise InputFileError(
                f"files of feature {name!r} differ in dtype or shape",
                file=file.path,
                expected=f"{first_dtype.name} rows of shape {first_shape}, as in {os.path.basename(first.path)}",
                found=f"{dtype.name} rows of shape {first_shape if row_shape is None else row_shape}",
            )
    try:
        spec = DataSpec(name, first_dtype, first_shape)
    except MetadataError as error:
        details = {key: getattr(error, key) for key in ("expected", "found", "hint")}
        raise InputFileError(error.what, file=first.path, **details) from None
    return spec, tuple(file for _, file in found)


def _feature_file(path: str, form: str) -> tuple[tuple[np.dtype, tuple[int, ...] | None], InputFile]:
    if form == "numpy":
        npy = read_npy_header(path)
        file = InputFile(path, "numpy", " ", npy.shape[0], file_size(path))
        return (npy.dtype.newbyteorder("="), npy.shape[1:]), file
    header = read_parquet_header(path)
    file = InputFile(path, "parquet", " ", header.num_rows, file_size(path), header.row_group_ends)
    return row_of(header, path), file


def _check_edge_dtype(path: str, dtype: np.dtype, place: str | None) -> None:
    if dtype.name not in EDGE_DTYPES:
        what, expected = "node IDs of edges are not integers", ", ".join(EDGE_DTYPES)
        raise InputFileError(what, file=path, place=place, expected=expected, found=str(dtype))


def _check_head(path: str) -> None:
    """Refuse a file that begins with something else than an integer: compressed, of another format, with a header."""
    with attach_path_to_error(path), open_for_reading(path) as file:
        head = file.read(16)
    if not _CSV_HEAD.fullmatch(head):
        raise InputFileError(
            "not a CSV file of edges",
            file=path,
            place="row 0",
            expected="lines of integers as ASCII text, without header, quotes or byte-order mark",
            found=repr(head)[1:],
            hint="decompress it, remove its header, or correct its format in metadata.json",
        )
