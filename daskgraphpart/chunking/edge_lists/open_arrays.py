"""Open npz and npy files of edges: two arrays, or one with two columns; members of an npz are unpacked into files."""

from __future__ import annotations

import errno
import io
import math
import os
import shutil
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunking.edge_lists.tables import (
    FLOAT_IDS,
    INTEGER_IDS,
    NPY,
    NPZ,
    STRING_IDS,
    Array,
    Column,
    TableFile,
)
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import GraphPartError, InputFileError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.npy_header import MAX_NPY_HEADER, parse_npy_header
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner

_KINDS = {"i": INTEGER_IDS, "u": INTEGER_IDS, "f": FLOAT_IDS, "U": STRING_IDS, "S": STRING_IDS}
_PAIRS = (("src", "dst"), ("source", "target"), ("row", "col"), ("rows", "cols"), ("u", "v"))


@dataclass(frozen=True, slots=True)
class Unpacking:
    """A member of an npz and the npy file it becomes."""

    path: str
    member: str
    target: str


def open_npz_table(path: str, wanted: Sequence[str], num_default: int) -> TableFile:
    """Open an npz file; columns are the names of its arrays, or numbers in their order.

    Without names, sources and destinations are the arrays `src` and `dst` (or `row` and `col`, ...), or the first two,
    or the two columns of the first.

    Raises
    ------
    InputFileError
        If it cannot be read, an array is missing, or arrays differ in length.
    """
    with _opened_npz(path) as archive:
        members = [info.filename for info in archive.infolist() if info.filename.endswith(".npy")]
        arrays = [_read_member_header(archive, name, path) for name in members]
    if not arrays:
        raise InputFileError("npz file without arrays", file=path)
    return _table(path, NPZ, arrays, wanted, num_default)


def open_npy_table(path: str, wanted: Sequence[str], num_default: int) -> TableFile:
    """Open an npy file of shape (rows, columns), or (rows,) for a list of nodes; raises as `open_npz_table`."""
    with attach_path_to_error(path), open(path, "rb") as file:
        array = _read_header(file, "", path, os.fstat(file.fileno()).st_size)
    table = _table(path, NPY, [array], wanted, num_default)
    return replace(table, columns=tuple(replace(column, path=path) for column in table.columns))


def unpack_arrays(tables: Sequence[TableFile], directory: Path, runner: Runner) -> list[TableFile]:
    """Run the pass `unpack-npz`, which makes an npy file of each array that is needed.

    Returns
    -------
    list of TableFile
        The same, whose columns have paths.
    """
    units: dict[tuple[int, str], Unpacking] = {}
    for number, table in enumerate(tables):
        for column in table.columns if table.format == NPZ else ():
            target = str(directory / f"npz-{len(units):06d}.npy")
            units.setdefault((number, column.name), Unpacking(table.path, f"{_member(column)}.npy", target))
    sizes = [tables[number].nbytes for number, _ in units]
    runner.run(Pass("unpack-npz", unpack_array, list(units.values()), None, sizes))
    return [
        table
        if table.format != NPZ
        else replace(
            table, columns=tuple(replace(column, path=units[number, column.name].target) for column in table.columns)
        )
        for number, table in enumerate(tables)
    ]


def unpack_array(unit: Unpacking, _: None) -> None:
    """Copy one member out of its archive."""
    with (
        attach_path_to_error(unit.target),
        _opened_npz(unit.path) as archive,
        archive.open(unit.member) as source,
        open(unit.target, "wb") as file,
    ):
        shutil.copyfileobj(source, file, 1 << 20)


def read_array_rows(column: Column, start: int, stop: int) -> np.ndarray:
    """Read rows of a column of an npy file, in native byte order."""
    array = column.array
    assert array is not None, "a column of text"
    if array.is_fortran and column.position >= 0:
        first = array.offset + column.position * array.shape[0] * array.dtype.itemsize
        rows = Region(column.path, first, array.dtype, array.shape[:1]).read(start, stop)
    else:
        rows = Region(column.path, array.offset, array.dtype, array.shape).read(start, stop)
        rows = rows if column.position < 0 else rows[:, column.position]
    return rows.astype(rows.dtype.newbyteorder("="), copy=False)


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


def _member(column: Column) -> str:
    return column.name.rsplit("[", 1)[0] if column.position >= 0 else column.name


def _table(path: str, form: str, arrays: Sequence[Array], wanted: Sequence[str], num_default: int) -> TableFile:
    found = [
        _default_column(path, arrays, number, num_default) if not name else _named_column(path, arrays, name)
        for number, name in enumerate(wanted)
    ]
    for number, (array, column) in enumerate(found):
        _check_column(path, array, column, found[0][0].shape[0], is_id=number < num_default)
    columns = tuple(column for _, column in found)
    rows = found[0][0].shape[0]
    width = sum(
        int(np.prod(c.row_shape, dtype=np.int64)) * (c.dtype.itemsize if c.dtype is not None else 0) for c in columns
    )
    return TableFile(path, form, columns, rows, max(1, width) * rows)


def _default_column(path: str, arrays: Sequence[Array], number: int, num_default: int) -> tuple[Array, Column]:
    names = [array.name for array in arrays]
    pair = next((pair for pair in _PAIRS if num_default == 2 and set(pair) <= set(names)), None)
    if pair:
        array = arrays[names.index(pair[number])]
    elif len(arrays[0].shape) == 2 or len(arrays) < num_default:
        return _part_of(path, arrays[0], number, num_default)
    else:
        array = arrays[number]
    return array, _whole(array)


def _named_column(path: str, arrays: Sequence[Array], name: str) -> tuple[Array, Column]:
    names = [array.name for array in arrays]
    if name in names:
        array = arrays[names.index(name)]
        return array, _whole(array)
    single = len(arrays) == 1 and len(arrays[0].shape) == 2
    if name.isdigit() and single:
        return _part_of(path, arrays[0], int(name), int(name) + 1)
    if name.isdigit() and int(name) < len(arrays):
        return arrays[int(name)], _whole(arrays[int(name)])
    raise InputFileError(f"no array {name!r}", file=path, expected=f"one of {', '.join(names)}", hint="check --columns")


def _part_of(path: str, array: Array, position: int, at_least: int) -> tuple[Array, Column]:
    if len(array.shape) == 1 and at_least == 1:
        return array, _whole(array)
    if len(array.shape) != 2 or array.shape[1] < at_least:
        raise InputFileError(
            "not an array of edges" if at_least == 2 else f"no column {position}",
            file=path,
            expected=f"shape (rows, {at_least} or more)",
            found=f"shape {array.shape}",
        )
    kind = _KINDS.get(array.dtype.kind, "")
    return array, Column(
        f"{array.name}[{position}]" if array.name else str(position), position, kind, array.dtype, (), "", array
    )


def _whole(array: Array) -> Column:
    return Column(array.name, -1, _KINDS.get(array.dtype.kind, ""), array.dtype, array.shape[1:], "", array)


def _check_column(path: str, array: Array, column: Column, num_rows: int, is_id: bool) -> None:
    if is_id and (not column.kind or column.row_shape):
        raise InputFileError(
            f"array {column.name!r} cannot be IDs",
            file=path,
            expected="integers or strings, one for each row",
            found=f"{array.dtype} of shape {array.shape}",
            hint="choose the arrays by --columns",
        )
    if not is_id and array.dtype.kind not in "biuf":
        raise InputFileError(
            f"array {column.name!r} does not hold numbers", file=path, expected="a feature", found=str(array.dtype)
        )
    if array.is_fortran and column.row_shape:
        raise InputFileError(
            f"array {column.name!r} is in Fortran order", file=path, hint="save it in C order, to be a feature"
        )
    if array.shape[0] != num_rows:
        raise InputFileError(
            f"array {column.name!r} has another length",
            file=path,
            expected=f"{num_rows:,}",
            found=f"{array.shape[0]:,}",
        )


def _read_member_header(archive: zipfile.ZipFile, member: str, path: str) -> Array:
    with archive.open(member) as file:
        return _read_header(file, member.removesuffix(".npy"), path, archive.getinfo(member).file_size)


def _read_header(file: Any, name: str, path: str, size: int) -> Array:
    """Read the header of an npy file of so many bytes, of numbers or of strings."""
    head = io.BytesIO(file.read(MAX_NPY_HEADER))
    shape, is_fortran, dtype = parse_npy_header(head, path)
    if dtype.kind not in "biufUS" or not shape:
        raise InputFileError(
            f"array {name!r} does not hold numbers or strings" if name else "does not hold numbers or strings",
            file=path,
            found=f"dtype {dtype}, shape {shape}",
        )
    nbytes = head.tell() + math.prod(shape) * dtype.itemsize
    if min(shape) < 0 or size < nbytes:
        raise InputFileError(
            f"array {name!r} is truncated" if name else "npy file is truncated",
            file=path,
            expected=f"{nbytes:,} bytes",
            found=f"{size:,}",
        )
    return Array(name, dtype, tuple(shape), bool(is_fortran) and len(shape) > 1, head.tell())
