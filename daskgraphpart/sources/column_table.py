"""Read edges and nodes from columns of parquet files, and from arrays of npz and npy files."""

from __future__ import annotations

import errno
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from daskgraphpart.chunked.open_parquet import open_parquet
from daskgraphpart.chunked.read_parquet import read_parquet_header
from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import BYTES, FLOATS, INTEGERS, NO_IDS, STRINGS, Column, find_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

ROWS_PER_BATCH = 1 << 16
MAX_NUMBER_BYTES = 8  # Arrow knows no longer floats
_PAIRS = (("src", "dst"), ("source", "target"), ("row", "col"), ("rows", "cols"), ("u", "v"))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTable:
    """A file with chosen columns; those of npz and npy files are `arrays`, mapped from files."""

    path: str
    columns: tuple[Column, ...]
    num_rows: int
    arrays: tuple[np.ndarray, ...] = ()

    def relations(self, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """Yield names of one or more tables that together have all rows, in columns r0, r1, ..."""
        for batch in self.batches():
            connection.register("batch", pa.table({f"r{i}": _widened(rows) for i, rows in batch.items()}))
            yield "batch"
        connection.unregister("batch")

    def locate(self, _: duckdb.DuckDBPyConnection, row: int, column: int) -> tuple[str, str | None]:
        """Return where a value is and its text, None if it is missing."""
        first, value = 0, None
        for batch in self.batches():
            if row < first + len(batch[column]):
                value = batch[column][row - first].as_py()
                break
            first += len(batch[column])
        return f"row {row:,}, column {self.columns[column].name!r}", None if value is None else str(value)

    def batches(self) -> Iterator[dict[int, Any]]:
        """Yield rows of the columns with one value in each, as Arrow arrays by number."""
        if self.arrays:
            plain = {i: array for i, array in enumerate(self.arrays) if array.ndim == 1}
            for start in range(0, self.num_rows, ROWS_PER_BATCH):
                yield {i: _to_arrow(array[start : start + ROWS_PER_BATCH]) for i, array in plain.items()}
            return
        names = [column.name for column in self.columns]
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=list(dict.fromkeys(names)), use_threads=False):
                yield {i: batch.column(name) for i, name in enumerate(names)}


def _widened(column: Any) -> Any:
    """Return floats of 16 bits, which DuckDB does not know, as wider ones."""
    return column.cast(pa.float32()) if column.type == pa.float16() else column


def _to_arrow(rows: np.ndarray) -> Any:
    if rows.dtype.kind in "US":
        return pa.array(rows.tolist(), pa.from_numpy_dtype(rows.dtype))
    return pa.array(np.ascontiguousarray(rows, rows.dtype.newbyteorder("=")))


def _describe_column(path: str, name: str, position: int, found: Any, shape: str, *, is_id: bool) -> Column:
    """Describe a column of an Arrow type; refuse what can be neither IDs nor a feature; `shape` is of an array."""
    type_of_value = found.value_type if pa.types.is_dictionary(found) else found
    kind = _kind_of(type_of_value)
    is_number = kind in (INTEGERS, FLOATS) or pa.types.is_boolean(type_of_value)
    if is_id and (kind == NO_IDS or shape):
        expected, hint = "integers or strings, one for each row", "choose the columns by --columns"
        what = f"column {name!r} cannot be IDs"
        raise InputFileError(what, file=path, expected=expected, found=f"{found}{shape}", hint=hint)
    if not is_id and not is_number:
        expected = "integers, floats or booleans, to be a feature"
        raise InputFileError(f"column {name!r} does not hold numbers", file=path, expected=expected, found=str(found))
    dtype = None if is_id else np.dtype(type_of_value.to_pandas_dtype())
    return Column(name, position, kind if is_id else NO_IDS, f"column {name!r}", dtype=dtype)


def _kind_of(arrow_type: Any) -> str:
    if pa.types.is_integer(arrow_type):
        return INTEGERS
    if pa.types.is_floating(arrow_type):
        return FLOATS
    if str(arrow_type) in ("string", "large_string", "string_view"):
        return STRINGS
    return BYTES if "binary" in str(arrow_type) and not arrow_type.num_fields else NO_IDS


def open_parquet_table(path: str, wanted: Sequence[str], num_ids: int) -> ColumnTable:
    """Open a parquet file of edges or of nodes."""
    header = read_parquet_header(path)
    names = list(header.schema.names)
    columns = []
    for number, (name, position) in enumerate(find_columns(path, wanted, names, len(names), num_ids)):
        if names.count(name) > 1:
            raise InputFileError(f"several columns are named {name!r}", file=path, hint="rename them")
        found = header.schema.field(position).type
        columns.append(_describe_column(path, name, position, found, "", is_id=number < num_ids))
    return ColumnTable(path, tuple(columns), header.num_rows)


# ------------------------------------------------------------------------------------------------------------- arrays


def open_array_table(path: str, form: str, wanted: Sequence[str], num_ids: int, directory: Path) -> ColumnTable:
    """Open an npz file, whose arrays are unpacked into a directory, or an npy file.

    Without names, sources and destinations are `src` and `dst` (or `row` and `col`, ...), or the first two arrays, or
    the columns of the first, (edges, 2 or more), or its rows, (2, edges).
    """
    arrays = _map_arrays(path, form, directory)
    pair = next((pair for pair in _PAIRS if num_ids == 2 and set(pair) <= arrays.keys()), None)
    if pair and not any(wanted[:num_ids]):
        wanted = [*pair, *wanted[num_ids:]]
    elif not pair and not all(name and name in arrays for name in wanted[:num_ids]):
        arrays = _split_first(path, arrays, wanted, num_ids)
    names, columns, chosen = list(arrays), [], []
    for number, (name, position) in enumerate(find_columns(path, wanted, names, len(names), num_ids)):
        array, is_id = arrays[name], number < num_ids
        shape = f" of shape {array.shape}" if array.ndim > 1 else ""
        columns.append(_describe_column(path, name, position, _arrow_type(array), shape, is_id=is_id))
        chosen.append(array)
        if len(array) != len(chosen[0]):
            expected, found = f"{len(chosen[0]):,}", f"{len(array):,}"
            raise InputFileError(f"array {name!r} has another length", file=path, expected=expected, found=found)
    return ColumnTable(path, tuple(columns), len(chosen[0]), tuple(chosen))


def _split_first(
    path: str, arrays: Mapping[str, np.ndarray], wanted: Sequence[str], num_ids: int
) -> dict[str, np.ndarray]:
    """Replace the first array, if it is a table, by its columns, as many as there may be use for."""
    name, array = next(iter(arrays.items()))
    if array.ndim == 1:
        return dict(arrays)
    if num_ids == 2 and not any(wanted[:2]) and array.ndim == 2 and len(array) == 2 and len(wanted) == 2:
        if array.shape == (2, 2):
            hint = "say --columns 0,1 if its rows are edges, or transpose it"
            raise InputFileError("array of edges can be read in two ways", file=path, found="shape (2, 2)", hint=hint)
        array = array.T  # edge_index of PyG
    if array.ndim != 2 or array.shape[1] < num_ids:
        what = "not an array of edges" if num_ids == 2 else "not a list of nodes"
        expected = f"shape (rows, {num_ids} or more)" + (" or (2, edges)" if num_ids == 2 else "")
        raise InputFileError(what, file=path, expected=expected, found=f"shape {array.shape}")
    used = max(num_ids, *(int(text) + 1 for text in wanted if text.isdigit()), 0)
    columns = {f"{name}[{i}]" if name else str(i): array[:, i] for i in range(min(used, array.shape[1]))}
    return {**columns, **{other: arrays[other] for other in list(arrays)[1:]}}


def _arrow_type(array: np.ndarray) -> Any:
    return pa.from_numpy_dtype(array.dtype.newbyteorder("="))


def _map_arrays(path: str, form: str, directory: Path) -> dict[str, np.ndarray]:
    """Map an npy file, or the arrays of an npz file, which are unpacked into a directory."""
    members = {"": path}
    try:
        if form == "npz":
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.endswith(".npy")]
                members = {name.removesuffix(".npy"): archive.extract(name, directory) for name in names}
        arrays = {name: np.load(member, mmap_mode="r", allow_pickle=False) for name, member in members.items()}
    except Exception as fault:  # numpy and zipfile raise nearly everything at damaged files
        if isinstance(fault, OSError) and fault.errno not in (None, errno.EINVAL):
            raise  # the machine's fault; EINVAL: a damaged archive points to where no byte can be
        found = str(fault) or type(fault).__name__
        raise InputFileError(f"not a readable {form} file", file=path, found=found) from fault
    if not arrays:
        raise InputFileError("npz file without arrays", file=path)
    for name, array in arrays.items():
        dtype = array.dtype
        is_known = dtype.kind in "US" or (dtype.kind in "biuf" and dtype.itemsize <= MAX_NUMBER_BYTES)
        if not is_known or not array.shape or dtype.itemsize == 0:
            what, found = f"array {name!r} does not hold numbers or strings", f"dtype {dtype}, shape {array.shape}"
            raise InputFileError(what, file=path, found=found)
    return arrays
