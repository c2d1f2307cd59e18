"""Forms of the file with the owners of a node type: text, npy, parquet and zarr."""

from __future__ import annotations

import bz2
import lzma
import math
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError, check_choice
from daskgraphpart.graph.read_parquet import open_parquet
from daskgraphpart.partitioner.assignment import BINARY_FORMS, ROWS_PER_BATCH
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region, open_npy
from daskgraphpart.storage.zarr_arrays import open_rows_array

TEXT = "txt"
MAX_CHUNK_NBYTES = 256 << 20  # of zarr, unpacked
_METADATA = (".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json")
_SLACK_NBYTES = 1 << 16  # headers, and rows that do not shrink
_MOST_FILTERED = 8  # most that filters shrink an element: int64 to int8
_STREAMS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "zlib": lambda: zlib.decompressobj(15),
    "bz2": bz2.BZ2Decompressor,
    "lzma": lzma.LZMADecompressor,
}


@dataclass(frozen=True, slots=True, eq=False)
class OwnerForm:
    """How owners are read and written."""

    read: Callable[[str, int | None], Iterator[np.ndarray]]
    """Takes a path, and the number of nodes if known; yields integers in batches, of any dtype."""
    write: Callable[[Region, str], None]
    """Takes owners, and a path."""
    is_directory: bool = False


def binary_form(name: str) -> OwnerForm:
    """Return a form in which owners can be written, by the suffix of its files."""
    check_choice("form of owners", "--form", name, BINARY_FORMS)
    if name == "npy":
        return OwnerForm(_read_npy, copy_npy)
    if name == "parquet":
        return OwnerForm(_read_parquet, _write_parquet)
    return OwnerForm(_read_zarr, _write_zarr, is_directory=True)


def find_forms(directory: Path, ntype: str) -> list[str]:
    """Find the forms in which a directory has the owners of a node type."""
    paths = {form: directory / f"{ntype}.{form}" for form in (TEXT, *BINARY_FORMS)}
    there = [form for form, path in paths.items() if path.is_file() or path.is_dir()]
    return [form for form in there if paths[form].is_dir() == (form != TEXT and binary_form(form).is_directory)]


def read_batches(path: str, form: str, num_nodes: int | None) -> Iterator[np.ndarray]:
    """Yield the owners in a file, int64; the caller checks their range and number."""
    read = _read_text if form == TEXT else binary_form(form).read
    try:
        for owners in read(path, num_nodes):
            # beyond int64 they turn negative, which is no part either
            yield owners.astype(np.int64, copy=False)
    except InputFileNotFoundError:
        raise
    except InputFileError as fault:
        raise fault.restated(AssignmentError, file=path) from fault


def _read_text(path: str, _: int | None) -> Iterator[np.ndarray]:
    import pyarrow as pa
    from pyarrow import csv

    if not os.path.getsize(path):  # Arrow refuses empty files
        return
    reading = csv.ReadOptions(column_names=["owner"], block_size=4 << 20, use_threads=False)
    conversion = csv.ConvertOptions(column_types={"owner": pa.int64()}, null_values=[])
    try:
        with attach_path_to_error(path):
            for batch in csv.open_csv(path, reading, convert_options=conversion):
                yield batch.column(0).to_numpy()
    except pa.ArrowInvalid as fault:
        message, hint = str(fault).splitlines()[0], "remove headers and blanks"
        raise AssignmentError("not one integer per line", file=path, found=message, hint=hint) from fault


def _read_npy(path: str, _: int | None) -> Iterator[np.ndarray]:
    region = open_npy(path)
    _check_integers(path, region)
    for _, rows in region.pieces(ROWS_PER_BATCH):
        yield rows


def copy_npy(region: Region, path: str) -> None:
    """Write an npy file, which owners already are."""
    with attach_path_to_error(path):
        shutil.copyfile(region.path, path)


def _check_integers(path: str, rows: Any) -> None:
    """Refuse an array of anything but one integer per row."""
    if rows.dtype.kind not in "iu" or len(rows.shape) != 1:
        kind = f"{rows.dtype} of shape {rows.shape}"
        raise AssignmentError("not a one-dimensional array of integers", file=path, found=kind)


def _read_parquet(path: str, _: int | None) -> Iterator[np.ndarray]:
    """Yield the one column in batches."""
    import pyarrow as pa

    with open_parquet(path) as file:
        schema = file.schema_arrow
        if len(schema) != 1 or not pa.types.is_integer(schema.field(0).type):
            raise AssignmentError("not one column of integers", file=path, found=f"columns {schema.names}")
        for batch in file.iter_batches(ROWS_PER_BATCH, use_threads=False):
            if batch.column(0).null_count:
                raise AssignmentError("owners are missing", file=path, found=f"{batch.column(0).null_count} nulls")
            yield batch.column(0).to_numpy()


def _write_parquet(region: Region, path: str) -> None:
    """Write a column `owner`."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("owner", pa.from_numpy_dtype(region.dtype))])
    with attach_path_to_error(path), parquet.ParquetWriter(path, schema) as writer:
        for _, owners in region.pieces(ROWS_PER_BATCH):
            writer.write_batch(pa.record_batch([pa.array(owners)], schema=schema))


def _read_zarr(path: str, num_nodes: int | None) -> Iterator[np.ndarray]:
    """Yield rows in batches; chunks that are missing, damaged or huge are errors."""
    special = next((inner for inner in Path(path).rglob("*") if not (inner.is_file() or inner.is_dir())), None)
    if special is not None:  # opening a pipe would block forever
        raise AssignmentError("not a regular file", file=str(special), hint="remove it, or write the array again")
    array = open_rows_array(path)
    _check_integers(path, array)
    if num_nodes not in (None, array.shape[0]):
        expected = f"{num_nodes:,}, one per node"
        raise AssignmentError("wrong number of owners", file=path, expected=expected, found=f"{array.shape[0]:,}")
    num_there = min(array.nchunks_initialized, array.nchunks)
    if num_there < array.nchunks:
        what = "chunks of a zarr array are missing"
        hint = "write the array with fill value -1"
        raise AssignmentError(what, file=path, expected=f"{array.nchunks:,} chunks", found=f"{num_there:,}", hint=hint)
    chunk_nbytes = array.chunks[0] * array.dtype.itemsize
    if chunk_nbytes > MAX_CHUNK_NBYTES:
        what, expected = "chunks of a zarr array are too large to be unpacked", f"at most {MAX_CHUNK_NBYTES:,} bytes"
        raise AssignmentError(what, file=path, expected=expected, found=f"{chunk_nbytes:,}")
    _check_chunk_files(array, path)
    for start in range(0, array.shape[0], ROWS_PER_BATCH):
        try:
            yield np.asarray(array[start : start + ROWS_PER_BATCH])
        except (RuntimeError, ValueError, OSError) as fault:
            raise AssignmentError("damaged zarr array", file=path, place=f"row {start:,}") from fault


def _check_chunk_files(array: Any, path: str) -> None:
    """Refuse chunk files that would become larger than a chunk; `array` is that of zarr, opened, in the directory."""
    shape = getattr(array, "shards", None) or array.chunks
    limit = math.prod(shape) * array.dtype.itemsize * (_MOST_FILTERED if array.filters else 1)
    packings = [type(codec).__name__.lower().removesuffix("codec") for codec in array.compressors or ()]
    packing = packings[0] if len(packings) == 1 and shape == array.chunks else ""
    for file in Path(path).rglob("*"):
        if file.name in _METADATA or not file.is_file():
            continue
        size = os.path.getsize(file)
        claimed = size - _SLACK_NBYTES if size > limit + _SLACK_NBYTES else _claimed(file, packing, limit)
        if claimed > limit:
            what, hint = "a chunk of a zarr array is larger than its metadata say", "write the array again"
            expected, claim = f"at most {limit:,} bytes", f"{claimed:,} or more"
            place = f"chunk {file.relative_to(path)}"
            raise InputFileError(what, file=str(path), place=place, expected=expected, found=claim, hint=hint)


def _claimed(file: Path, packing: str, limit: int) -> int:
    """Return the bytes that a chunk unpacks to, as its header tells, or else at most a byte above the limit."""
    with file.open("rb") as opened:
        if packing in _STREAMS:
            unpacker = _STREAMS[packing]()
            try:
                return len(unpacker.decompress(opened.read(), limit + 1))
            except (OSError, EOFError, zlib.error, lzma.LZMAError):
                return 0  # whoever reads it says that it is damaged
        head = opened.read(18)
    if packing == "blosc":
        return int.from_bytes(head[4:8], "little")
    if packing == "lz4":
        return int.from_bytes(head[:4], "little")
    return _claimed_by_zstd(head) if packing == "zstd" else 0


def _claimed_by_zstd(head: bytes) -> int:
    """Return the size of the content that the header of a frame tells (RFC 8878); 0 if it tells none."""
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return 0
    is_single, kind = head[4] >> 5 & 1, head[4] >> 6
    nbytes = (is_single, 2, 4, 8)[kind]
    start = 5 + (1 - is_single) + (0, 1, 2, 4)[head[4] & 3]
    return int.from_bytes(head[start : start + nbytes], "little") + (256 if nbytes == 2 else 0)


def _write_zarr(region: Region, path: str) -> None:
    """Write an int32 array with the fill value -1."""
    import zarr

    shutil.rmtree(path, ignore_errors=True)
    array = zarr.create_array(
        path,
        shape=region.shape,
        dtype=np.dtype("<i4"),
        fill_value=-1,  # no part, so lost chunks show
        chunks=(max(1, min(ROWS_PER_BATCH, region.num_rows)),),
    )
    for start, owners in region.pieces(ROWS_PER_BATCH):
        array[start : start + owners.size] = owners
