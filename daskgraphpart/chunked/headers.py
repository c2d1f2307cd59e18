"""Headers of data files: shapes, dtypes and row counts, without reading data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from daskgraphpart.chunked.blocks import InputFile
from daskgraphpart.chunked.read_parquet import ParquetHeader, read_parquet_header
from daskgraphpart.errors import InputFileError, MetadataError
from daskgraphpart.schema import DataSpec
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import file_size, open_for_reading
from daskgraphpart.storage.npy_header import read_npy_header

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.chunked.metadata import Files

EDGE_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")

# first bytes of files that are no CSV, told before their lines are counted
_SIGNATURES = (
    (b"\x1f\x8b", "gzip data", "decompress it first"),
    (b"BZh", "bzip2 data", "decompress it first"),
    (b"\xfd7zXZ", "xz data", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstandard data", "decompress it first"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"PAR1", "a parquet file", "is the format in metadata.json right?"),
    (b"\x93NUMPY", "an npy file", "is the format in metadata.json right?"),
    (b"\xff\xfe", "UTF-16 text", "save it as ASCII or UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as ASCII or UTF-8"),
    (b"\xef\xbb\xbf", "a byte-order mark", "save it as ASCII, or as UTF-8 without one"),
)


def edge_file(path: str, files: Files) -> InputFile:
    """Open one file of edges."""
    nbytes = file_size(path)
    if files.format == "csv":
        _refuse_binary(path)
        return InputFile(path, "csv", files.delimiter, None, nbytes)
    if files.format == "parquet":
        header = read_parquet_header(path)
        for name in header.edge_columns(path):
            _check_edge_dtype(path, header.numpy_dtype(path, name), f"column {name!r}")
        return InputFile(path, "parquet", " ", header.num_rows, nbytes, header.row_group_ends)
    npy = read_npy_header(path)
    if len(npy.shape) != 2 or npy.shape[1] != 2:
        raise InputFileError(
            "not an array of edges", file=path, expected="shape (edges, 2): src and dst", found=f"shape {npy.shape}"
        )
    _check_edge_dtype(path, npy.dtype, None)
    return InputFile(path, "numpy", " ", npy.shape[0], nbytes)


def feature_files(name: str, files: Files, metadata_path: str) -> tuple[DataSpec, tuple[InputFile, ...]]:
    """Open the files of one feature, which must agree in dtype and shape of a row."""
    found = [_feature_file(path, files.format) for path in files.paths]
    if not found:
        raise MetadataError(
            f"feature {name!r} has no files", file=metadata_path, hint="list them, or remove the feature"
        )
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
        raise InputFileError(
            error.what, file=first.path, expected=error.expected, found=error.found, hint=error.hint
        ) from None
    return spec, tuple(file for _, file in found)


def _feature_file(path: str, format_name: str) -> tuple[tuple[np.dtype, tuple[int, ...] | None], InputFile]:
    nbytes = file_size(path)
    if format_name == "numpy":
        npy = read_npy_header(path)
        row = npy.dtype.newbyteorder("="), npy.shape[1:]
        return row, InputFile(path, "numpy", " ", npy.shape[0], nbytes)
    header: ParquetHeader = read_parquet_header(path)
    return header.row(path), InputFile(path, "parquet", " ", header.num_rows, nbytes, header.row_group_ends)


def _check_edge_dtype(path: str, dtype: np.dtype, place: str | None) -> None:
    if dtype.name not in EDGE_DTYPES:
        raise InputFileError(
            "node IDs of edges are not integers",
            file=path,
            place=place,
            expected=", ".join(EDGE_DTYPES),
            found=str(dtype),
        )


def _refuse_binary(path: str) -> None:
    """Refuse a file whose first bytes are not those of lines of integers."""
    with attach_path_to_error(path), open_for_reading(path) as file:
        head = file.read(8)
    found = [(what, hint) for signature, what, hint in _SIGNATURES if head.startswith(signature)]
    if b"\0" in head[:2]:
        found.append(("binary data, or UTF-16 text", "is it text?"))
    if found:
        raise InputFileError(
            "not a CSV file",
            file=path,
            place="byte 0",
            expected="lines of integers",
            found=found[0][0],
            hint=found[0][1],
        )
