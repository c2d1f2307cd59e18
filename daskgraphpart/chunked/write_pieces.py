"""Write files piece by piece: a file may be larger than memory, and pieces of one size always make the same bytes."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from daskgraphpart.schema import DataSpec

EDGES_PER_PIECE = 1 << 18
BYTES_PER_PIECE = 8 << 20


def rows_per_piece(spec: DataSpec | None) -> int:
    """Rows of a feature, or edges, in one piece, which is one row group of parquet."""
    return EDGES_PER_PIECE if spec is None else max(1, BYTES_PER_PIECE // max(1, spec.row_nbytes))


def write_file(
    path: str | Path,
    form: str,
    spec: DataSpec | None,
    num_rows: int,
    pieces: Iterable[np.ndarray],
    delimiter: str = " ",
) -> None:
    """Write a file of a feature, or of edges, which have no spec; it appears under its name when all is written.

    Pieces are arrays (rows, ...), of edges int64 (rows, 2). Parquet holds scalars as a column of numbers and vectors as
    a column of lists, the only kind of list DGL's tools read; the shape of the rows is kept in the key ``shape``, which
    they read as well.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        if form == "csv":
            _write_csv(temporary, pieces, delimiter)
        elif form == "numpy":
            dtype, row_shape = (np.dtype(np.int64), (2,)) if spec is None else (spec.dtype, spec.row_shape)
            region, done = create_npy(temporary, dtype.newbyteorder("<"), (num_rows, *row_shape)), 0
            for rows in pieces:
                region.write(rows, done)
                done += len(rows)
        else:
            _write_parquet(temporary, spec, num_rows, pieces)


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


def _write_parquet(path: str, spec: DataSpec | None, num_rows: int, pieces: Iterable[np.ndarray]) -> None:
    import pyarrow as pa

    if spec is None:
        schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    else:
        values = pa.from_numpy_dtype(spec.dtype)
        shape = str((num_rows, *spec.row_shape)).encode()
        schema = pa.schema([("data", pa.list_(values) if spec.row_shape else values)], metadata={b"shape": shape})
    with parquet_writer(path, schema) as writer:
        for rows in pieces:
            columns = [rows[:, 0], rows[:, 1]] if spec is None else [rows]
            table = pa.table([to_arrow(column) for column in columns], schema=schema)
            writer.write_table(table, row_group_size=rows_per_piece(spec))


def to_arrow(rows: np.ndarray) -> Any:
    """Return numbers, or lists of numbers, as an Arrow array."""
    import pyarrow as pa

    native = np.ascontiguousarray(rows, rows.dtype.newbyteorder("="))  # Arrow takes no other byte order
    values = pa.array(native.reshape(-1))
    if rows.ndim == 1:
        return values
    width = int(np.prod(rows.shape[1:], dtype=np.int64))
    return pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1, dtype=np.int32) * np.int32(width)), values)


def _write_csv(path: str, pieces: Iterable[np.ndarray], delimiter: str) -> None:
    import pyarrow as pa
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, delimiter=delimiter)
    with attach_path_to_error(path), open(path, "wb") as file:
        for rows in pieces:
            table = pa.table({"src": np.ascontiguousarray(rows[:, 0]), "dst": np.ascontiguousarray(rows[:, 1])})
            csv.write_csv(table, file, options)
