"""Directory of a chunked graph: locked before work, cleared on failure, metadata last.

Files, which may exceed memory, are written in pieces of fixed size, so the bytes are always the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import OutputExistsError, OutputLockedError
from daskgraphpart.graph.metadata import CATEGORIES, ID_MAP, LABEL_COUNTS, METADATA_FILE, TRANSFORMED
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import (
    delete_files,
    delete_tree,
    is_file,
    list_directory,
    make_directory,
    shown_name,
    workspace_store,
)
from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.paths import check_apart
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.output_lock import OutputLock

DIRECTORIES = ("edges", "edge_index", "node_data", "edge_data", ID_MAP, CATEGORIES)


EDGES_PER_PIECE = 1 << 18
BYTES_PER_PIECE = 8 << 20


@contextmanager
def claimed_directory(
    out: Path, inputs: Iterable[str], overwrite: bool, claimed: OutputLock | None = None
) -> Iterator[None]:
    """Make and lock the output directory, or empty it of a graph to replace; failed jobs leave nothing.

    An output in a store is `claimed`, and its directory is that of a workspace in a store.
    """
    if is_file(out):
        raise OutputExistsError("not a directory", file=str(out), hint="choose another directory")
    is_new = not out.exists()
    make_directory(out)
    lock = workspace_store(out).lock(out)
    is_claimed = is_whole = False
    try:
        _check_claim(out, inputs, overwrite)
        is_claimed = True
        lock.commit()
        if claimed is not None:
            claimed.commit()
        _discard(out)
        yield
        is_whole = True
    except OutputLockedError:
        is_claimed = False  # what is there is another run's
        raise
    finally:
        if is_claimed and not is_whole:
            _discard(out)
        if is_claimed and claimed is not None:
            workspace_store(out).remove(str(out))
        lock.release(keep_notes=not is_claimed and lock.notes.workspace is not None)
        if is_new and not is_whole:
            with suppress(OSError):  # something else was put there
                out.rmdir()


def _check_claim(out: Path, inputs: Iterable[str], overwrite: bool) -> None:
    """Refuse a directory with other content, or with part of the input."""
    names = [name for name in list_directory(out) if name != LOCK_NAME]
    ours = METADATA_FILE in names or not set(names) - set(DIRECTORIES)
    if names and not (overwrite and ours):
        hint = f"{'' if overwrite else 'add --overwrite to replace a chunked graph there, or '}choose another directory"
        raise OutputExistsError(
            "the output directory is not empty", file=shown_name(out), found=", ".join(names[:5]), hint=hint
        )
    if names:
        check_apart(out, map(Path, inputs))


def _discard(out: Path) -> None:
    """Delete a chunked graph, finished or not, and nothing else: metadata first."""
    delete_files([str(out / name) for name in (METADATA_FILE, TRANSFORMED, *LABEL_COUNTS)])
    for name in DIRECTORIES:
        delete_tree(out / name)


def chunk_bounds(num_rows: int, num_chunks: int) -> list[int]:
    """Return the bounds of chunks, with sizes as in DGL's `chunk_graph`: larger ones first."""
    size, larger = divmod(num_rows, num_chunks)
    return [size * i + min(i, larger) for i in range(num_chunks + 1)]


def rows_per_piece(spec: DataSpec | None) -> int:
    """Rows per piece, which is one row group of parquet; without a spec, edges."""
    return EDGES_PER_PIECE if spec is None else max(1, BYTES_PER_PIECE // max(1, spec.row_nbytes))


def write_file(
    path: str | Path,
    form: str,
    spec: DataSpec | None,
    num_rows: int,
    pieces: Iterable[np.ndarray],
    delimiter: str = " ",
) -> None:
    """Write a file of a feature, or of edges (no spec); it appears when complete.

    Pieces are arrays (rows, ...), for edges int64 (rows, 2). Parquet holds scalars as a column of numbers and vectors
    as a column of lists, the only kind that DGL's tools read; the key ``shape`` keeps the shape of the rows.
    """
    make_directory(Path(path).parent)
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
    """Open a parquet file in this package's form.

    IDs and floats hardly repeat, so dictionaries only cost time. LZ4 files are as small as Snappy's here and read more
    than three times as fast (measured).
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
    """Return numbers, or lists of numbers, as an Arrow array; `pa.array` would import pandas, in 0.26 s of CPU."""
    import pyarrow as pa

    native = np.ascontiguousarray(rows, rows.dtype.newbyteorder("=")).reshape(-1)  # Arrow takes native byte order only
    packed = np.packbits(native, bitorder="little") if native.dtype == bool else native
    values = pa.Array.from_buffers(pa.from_numpy_dtype(native.dtype), native.size, [None, pa.py_buffer(packed)])
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
