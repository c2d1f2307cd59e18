"""Write chunks piece by piece: a chunk may be larger than memory, and pieces of one size always make the same bytes."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.storage.atomic import publish, temporary_path
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from daskgraphpart.schema import DataSpec

    Write = Callable[[np.ndarray], None]

# one file suffix per format
SUFFIXES = {"csv": "csv", "numpy": "npy", "parquet": "parquet"}

EDGES_PER_FILE = 2 << 20
BYTES_PER_FILE = 64 << 20
EDGES_PER_PIECE = 1 << 18
BYTES_PER_PIECE = 8 << 20


def cut_chunks(num_rows: int, rows_per_file: int, num_chunks: int | None) -> list[tuple[int, int]]:
    """Ranges of rows of the files of one edge type or feature: as many as asked for, or by size."""
    pieces = num_chunks or max(1, -(-num_rows // rows_per_file))
    bounds = [num_rows * i // pieces for i in range(pieces + 1)]
    return list(itertools.pairwise(bounds))


def rows_per_piece(spec: DataSpec | None) -> int:
    """Rows of a feature, or edges, in one piece, which is one row group of parquet."""
    return EDGES_PER_PIECE if spec is None else max(1, BYTES_PER_PIECE // max(1, spec.row_nbytes))


@contextmanager
def chunk_writer(
    path: str | Path, form: str, spec: DataSpec | None, num_rows: int, delimiter: str = " "
) -> Iterator[Write]:
    """Open a chunk of a feature, or of edges, which have no spec; it appears under its name when all is written.

    It takes arrays (rows, ...), of edges int64 (rows, 2). Parquet holds scalars as a column of numbers and vectors as a
    column of lists, the only kind of list DGL's tools read; the shape of the rows is kept in the key ``shape``, which
    they read as well.
    """
    with _unfinished(path) as temporary:
        if form == "csv":
            with open(temporary, "wb") as file:
                yield lambda rows: _append_csv(file, rows, delimiter)
        elif form == "numpy":
            dtype, row_shape = (np.dtype(np.int64), (2,)) if spec is None else (spec.dtype, spec.row_shape)
            with _npy_writer(temporary, dtype.newbyteorder("<"), (num_rows, *row_shape)) as write:
                yield write
        else:
            with _parquet_chunk_writer(temporary, spec, num_rows) as write:
                yield write


@contextmanager
def parquet_writer(path: str, schema: Any) -> Iterator[Any]:
    """Open a parquet file as this package writes them.

    IDs and floats hardly repeat: a dictionary is filled, found too large and thrown away, at the cost of time. LZ4
    files are as small as Snappy's here and were measured to be read more than three times as fast.
    """
    from pyarrow import parquet

    with (
        attach_path_to_error(path),
        parquet.ParquetWriter(path, schema, use_dictionary=False, compression="lz4") as writer,
    ):
        yield writer


@contextmanager
def _unfinished(path: str | Path) -> Iterator[str]:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(path)
    try:
        with attach_path_to_error(path):
            yield temporary
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    publish(path)


@contextmanager
def _npy_writer(path: str, dtype: np.dtype, shape: tuple[int, ...]) -> Iterator[Write]:
    region = create_npy(path, dtype, shape)
    done = 0

    def write(rows: np.ndarray) -> None:
        nonlocal done
        region.write(rows, done)
        done += len(rows)

    yield write
    assert done == shape[0], f"{path}: {done} rows of {shape[0]}"


@contextmanager
def _parquet_chunk_writer(path: str, spec: DataSpec | None, num_rows: int) -> Iterator[Write]:
    import pyarrow as pa

    if spec is None:
        schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    else:
        values = pa.from_numpy_dtype(spec.dtype)
        shape = str((num_rows, *spec.row_shape)).encode()
        schema = pa.schema([("data", pa.list_(values) if spec.row_shape else values)], metadata={b"shape": shape})
    with parquet_writer(path, schema) as writer:

        def write(rows: np.ndarray) -> None:
            columns = [rows[:, 0], rows[:, 1]] if spec is None else [rows]
            table = pa.table([_to_arrow(column) for column in columns], schema=schema)
            writer.write_table(table, row_group_size=rows_per_piece(spec))

        yield write


def _to_arrow(rows: np.ndarray) -> Any:
    """Return numbers, or lists of numbers, as an Arrow array."""
    import pyarrow as pa

    native = np.ascontiguousarray(rows, rows.dtype.newbyteorder("="))  # Arrow takes no other byte order
    values = pa.array(native.reshape(-1))
    if rows.ndim == 1:
        return values
    width = int(np.prod(rows.shape[1:], dtype=np.int64))
    return pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1, dtype=np.int32) * np.int32(width)), values)


def _append_csv(file: Any, rows: np.ndarray, delimiter: str) -> None:
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table({"src": np.ascontiguousarray(rows[:, 0]), "dst": np.ascontiguousarray(rows[:, 1])})
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=delimiter))
