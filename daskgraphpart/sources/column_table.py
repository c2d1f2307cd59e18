"""Read edges and nodes from columns of parquet files, and from arrays of npz and npy files."""

from __future__ import annotations

import errno
import io
import math
import shutil
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.chunked.open_parquet import open_parquet
from daskgraphpart.chunked.read_parquet import read_parquet_header
from daskgraphpart.errors import GraphPartError, InputFileError
from daskgraphpart.sources.columns import (
    FLOATS,
    INTEGERS,
    NO_IDS,
    STRINGS,
    Column,
    find_columns,
    shown,
)
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.npy_header import MAX_NPY_HEADER, parse_npy_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROWS_PER_BATCH = 1 << 16
_KINDS = {"i": INTEGERS, "u": INTEGERS, "f": FLOATS, "U": STRINGS, "S": STRINGS}
_PAIRS = (("src", "dst"), ("source", "target"), ("row", "col"), ("rows", "cols"), ("u", "v"))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTable:
    """A file with chosen columns; those of npz and npy files are `arrays`, mapped from files."""

    path: str
    columns: tuple[Column, ...]
    num_rows: int
    nbytes: int
    arrays: tuple[np.ndarray, ...] = ()

    def without_ids(self) -> ColumnTable:
        """Return the table of the columns of features alone, of edges."""
        return replace(self, columns=self.columns[2:], arrays=self.arrays[2:])

    def batches(self, kinds: Sequence[str], num_features: int) -> Iterator[Any]:
        """Yield Arrow batches of columns of IDs of some kinds, where one that cannot be is null, and of features."""
        chosen = range(len(kinds) + num_features)
        for batch in self._raw_batches(chosen):
            columns = [_as_ids(column, kind) for column, kind in zip(batch, kinds, strict=False)] + batch[len(kinds) :]
            yield pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in chosen])

    def explain(self, _: object, row: int, column: int, wanted: str) -> InputFileError:
        """Describe what is wrong with a value, which should have been a `wanted`."""
        place, value = self.place(None, row, column)
        if value is None:
            is_feature = wanted == "feature"
            what, expected = ("value is missing", "a value") if is_feature else ("ID is missing", "the ID of a node")
            return InputFileError(what, file=self.path, place=place, expected=expected, found="null")
        what, expected, hint = "ID is not an integer of 64 bits", "integers or strings", "store it as a string"
        if wanted == "integer ID":
            what, expected, hint = "ID is not an integer", "integers of 64 bits", "leave out --id-type"
        return InputFileError(what, file=self.path, place=place, expected=expected, found=shown(str(value)), hint=hint)

    def place(self, _: object, row: int, column: int) -> tuple[str, Any]:
        """Return where a value is, for messages, and the value."""
        first, found = 0, None
        for batch in self._raw_batches([column]):
            if row < first + len(batch[0]):
                found = batch[0][row - first].as_py()
                break
            first += len(batch[0])
        return f"row {row:,}, column {self.columns[column].name!r}", found

    def _raw_batches(self, chosen: Sequence[int]) -> Iterator[list[Any]]:
        if self.arrays:
            for start in range(0, self.num_rows, ROWS_PER_BATCH):
                yield [_to_arrow(self.arrays[i][start : start + ROWS_PER_BATCH]) for i in chosen]
            return
        names = [self.columns[i].name for i in chosen]
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=list(dict.fromkeys(names)), use_threads=False):
                yield [_decoded(batch.column(name)) for name in names]


def open_parquet_table(path: str, wanted: Sequence[str], num_ids: int) -> ColumnTable:
    """Open a parquet file of edges or of nodes."""
    header = read_parquet_header(path)
    names = list(header.schema.names)
    columns = []
    for number, (name, position) in enumerate(find_columns(path, wanted, names, len(names), num_ids)):
        if names.count(name) > 1:
            raise InputFileError(f"several columns are named {name!r}", file=path, hint="rename them")
        found = header.schema.field(position).type
        kind = _kind_of(path, f"column {name!r}", _letter(found), str(found), is_id=number < num_ids)
        columns.append(Column(name, position, kind, (f"column {name!r}", "")))
    return ColumnTable(path, tuple(columns), header.num_rows, Path(path).stat().st_size)


def _letter(arrow_type: Any) -> str:
    """Return numpy's letter for the values of an Arrow column."""
    value_type = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    if pa.types.is_integer(value_type):
        return "i"
    if pa.types.is_floating(value_type):
        return "f"
    if pa.types.is_boolean(value_type):
        return "b"
    return "U" if "string" in str(value_type) or "binary" in str(value_type) else "O"


def _kind_of(path: str, what: str, letter: str, found: str, *, is_id: bool) -> str:
    """Return which kind of IDs a column or an array holds, if any; refuse what can be neither IDs nor a feature."""
    if is_id and letter in _KINDS:
        return _KINDS[letter]
    if not is_id and letter in "biuf":
        return NO_IDS
    if is_id:
        expected, hint = "integers or strings, one for each row", "choose the columns by --columns"
        raise InputFileError(f"{what} cannot be IDs", file=path, expected=expected, found=found, hint=hint)
    expected = "integers, floats or booleans, to be a feature"
    raise InputFileError(f"{what} does not hold numbers", file=path, expected=expected, found=found)


def _decoded(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _as_ids(column: Any, kind: str) -> Any:
    """Return IDs as int64 or large strings; null where one cannot be."""
    found = column.type
    if kind == STRINGS:
        if pa.types.is_floating(found):
            column = _as_ids(column, INTEGERS)
        elif pa.types.is_fixed_size_binary(found):
            column = column.cast(pa.binary())
        return column.cast(pa.large_string())
    if pa.types.is_uint64(found):
        return pc.if_else(pc.less(column, pa.scalar(2**63, pa.uint64())), column, None).cast(pa.int64())
    if pa.types.is_floating(found):
        column = column.cast(pa.float64())
        # 2**63 is a float, the largest int64 is not
        is_whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 2.0**63))
        return pc.if_else(is_whole, column, None).cast(pa.int64())
    if not pa.types.is_integer(found):
        text = _as_ids(column, STRINGS)
        values = [None if t is None else int(t) for t in pc.if_else(_is_int64(text), text, None).to_pylist()]
        return pa.array(values, pa.int64())
    return column.cast(pa.int64())


def _is_int64(text: Any) -> Any:
    """Whether strings are integers of 18 digits at most, which int64 holds."""
    return pc.match_substring_regex(text, r"^[-+]?[0-9]{1,18}$")


# ------------------------------------------------------------------------------------------------------------- arrays


def open_npy_table(path: str, wanted: Sequence[str], num_ids: int) -> ColumnTable:
    """Open an npy file of edges, (rows, columns) or (2, edges), or of nodes, (rows,)."""
    return _array_table(path, {"": _open_array(path, "", path)}, wanted, num_ids)


def open_npz_table(path: str, wanted: Sequence[str], num_ids: int, directory: Path) -> ColumnTable:
    """Open an npz file, whose arrays are unpacked into a directory; columns are their names, or numbers in their order.

    Without names, sources and destinations are `src` and `dst` (or `row` and `col`, ...), or the first two, or the
    first if it is an array of edges.
    """
    arrays = {}
    directory.mkdir(parents=True)
    with _opened_npz(path) as archive:
        for i, member in enumerate(name for name in archive.namelist() if name.endswith(".npy")):
            name, unpacked = member.removesuffix(".npy"), str(directory / f"{i}.npy")
            with archive.open(member) as source, attach_path_to_error(unpacked), open(unpacked, "wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
            arrays[name] = _open_array(unpacked, name, path)
    if not arrays:
        raise InputFileError("npz file without arrays", file=path)
    return _array_table(path, arrays, wanted, num_ids)


@contextmanager
def _opened_npz(path: str) -> Iterator[zipfile.ZipFile]:
    """Open an npz file; whatever is wrong with its content, then or while it is read, is an `InputFileError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except GraphPartError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, LookupError, RuntimeError) as fault:
        raise InputFileError("not a readable npz file", file=path, found=str(fault) or type(fault).__name__) from fault
    except OSError as fault:
        if fault.errno not in (None, errno.EINVAL):  # EINVAL: a damaged archive points to where no byte can be
            raise
        raise InputFileError("not a readable npz file", file=path, found=str(fault)) from fault


def _open_array(path: str, name: str, shown_path: str) -> np.ndarray:
    """Map an npy file of numbers or of strings."""
    what = f"array {name!r}" if name else "npy file"
    with attach_path_to_error(path), open(path, "rb") as file:
        head = io.BytesIO(file.read(MAX_NPY_HEADER))
    shape, is_fortran, dtype = parse_npy_header(head, shown_path)
    if dtype.kind not in "biufUS" or not shape or min(shape) < 0 or dtype.itemsize == 0:
        found = f"dtype {dtype}, shape {shape}"
        raise InputFileError(f"{what} does not hold numbers or strings", file=shown_path, found=found)
    nbytes, size = head.tell() + math.prod(shape) * dtype.itemsize, Path(path).stat().st_size
    if size < nbytes:
        expected = f"{nbytes:,} bytes"
        raise InputFileError(f"{what} is truncated", file=shown_path, expected=expected, found=f"{size:,}")
    if not math.prod(shape):
        return np.empty(shape, dtype)
    order: Any = "F" if is_fortran else "C"
    return np.memmap(path, dtype, "r", head.tell(), tuple(shape), order)


def _array_table(path: str, arrays: Mapping[str, np.ndarray], wanted: Sequence[str], num_ids: int) -> ColumnTable:
    chosen = [
        _named_array(path, arrays, name) if name else _default_array(path, arrays, wanted, number, num_ids)
        for number, name in enumerate(wanted)
    ]
    columns, num_rows = [], len(chosen[0][1])
    for number, (name, array) in enumerate(chosen):
        what, found, is_id = f"array {name!r}", f"{array.dtype} of shape {array.shape}", number < num_ids
        letter = "O" if is_id and array.ndim > 1 else array.dtype.kind
        columns.append(Column(name, number, _kind_of(path, what, letter, found, is_id=is_id), (f"column {name!r}", "")))
        if len(array) != num_rows:
            expected = f"{num_rows:,}"
            raise InputFileError(f"{what} has another length", file=path, expected=expected, found=f"{len(array):,}")
    nbytes = sum(array.nbytes for _, array in chosen)
    return ColumnTable(path, tuple(columns), num_rows, nbytes, tuple(array for _, array in chosen))


def _default_array(
    path: str, arrays: Mapping[str, np.ndarray], wanted: Sequence[str], number: int, num_ids: int
) -> tuple[str, np.ndarray]:
    """Return the array of an end of edges, or of a list of nodes, where none was named."""
    pair = next((pair for pair in _PAIRS if num_ids == 2 and set(pair) <= arrays.keys()), None)
    if pair:
        return pair[number], arrays[pair[number]]
    name, array = next(iter(arrays.items()))
    if array.ndim == 1 and len(arrays) >= num_ids:
        return list(arrays.items())[number]
    if num_ids == 2 and array.shape == (2, 2):
        hint = "say --columns 0,1 if its rows are edges, or transpose it"
        raise InputFileError("array of edges can be read in two ways", file=path, found="shape (2, 2)", hint=hint)
    if num_ids == 2 and array.ndim == 2 and len(array) == 2 and len(wanted) == num_ids:
        return f"{name}[{number}]" if name else str(number), array[number]  # edge_index of PyG
    return _column_of(path, name, array, number, num_ids)


def _named_array(path: str, arrays: Mapping[str, np.ndarray], name: str) -> tuple[str, np.ndarray]:
    if name in arrays:
        return name, arrays[name]
    first, array = next(iter(arrays.items()))
    if name.isdigit() and len(arrays) == 1 and array.ndim == 2:
        return _column_of(path, first, array, int(name), int(name) + 1)
    if name.isdigit() and int(name) < len(arrays):
        return list(arrays.items())[int(name)]
    raise InputFileError(
        f"no array {name!r}", file=path, expected=f"one of {', '.join(arrays)}", hint="check --columns"
    )


def _column_of(path: str, name: str, array: np.ndarray, position: int, at_least: int) -> tuple[str, np.ndarray]:
    if array.ndim == 1 and at_least == 1:
        return name, array
    if array.ndim != 2 or array.shape[1] < at_least:
        raise InputFileError(
            "not an array of edges" if at_least == 2 else f"no column {position}",
            file=path,
            expected=f"shape (rows, {at_least} or more)" + (" or (2, edges)" if at_least == 2 else ""),
            found=f"shape {array.shape}",
        )
    return f"{name}[{position}]" if name else str(position), array[:, position]


def _to_arrow(rows: np.ndarray) -> Any:
    if rows.dtype.kind in "US":
        return pa.array(rows.tolist())
    return pa.array(np.ascontiguousarray(rows, rows.dtype.newbyteorder("=")))
