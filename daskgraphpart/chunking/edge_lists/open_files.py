"""Find and open files of edges and of nodes: formats are told by their first bytes, columns by their headers."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.open_parquet import open_parquet
from daskgraphpart.chunked.read_parquet import read_parquet_header
from daskgraphpart.chunking.edge_lists.open_arrays import open_npy_table, open_npz_table
from daskgraphpart.chunking.edge_lists.open_text import find_columns, open_text
from daskgraphpart.chunking.edge_lists.tables import (
    FLOAT_IDS,
    INTEGER_IDS,
    PARQUET,
    STRING_IDS,
    UNKNOWN_IDS,
    Column,
    TableFile,
)
from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunking.edge_lists.options import ReadOptions

MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"\x93NUM": "npy"}
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".npy": "npy"}


def expand_paths(patterns: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Paths of files; patterns with ``*``, ``?`` and ``[`` become what they match, in sorted order.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    InputFileError
        If it is a directory.
    """
    found: list[str] = []
    for pattern in [os.fspath(pattern) for pattern in patterns]:
        if os.path.exists(pattern) or not glob.has_magic(pattern):
            found.append(pattern)
            continue
        matches = sorted(glob.glob(pattern, recursive=True))
        if not matches:
            raise InputFileNotFoundError("no file matches", file=pattern, hint="quote patterns for the shell")
        found += matches
    for path in found:
        if os.path.isdir(path):
            raise InputFileError("is a directory", file=path, hint=f"give its files, such as '{path}/*.parquet'")
        if not os.path.isfile(path):
            raise InputFileNotFoundError("no such file", file=path)
    return found


def open_table(path: str, wanted: Sequence[str], options: ReadOptions, num_default: int) -> tuple[TableFile, str]:
    """Open a file of edges or of nodes; parameters, results and errors as of `open_text`."""
    with attach_path_to_error(path), open(path, "rb") as file:
        begin = file.read(8)
    if not begin:
        raise InputFileError("empty file", file=path, expected="rows", found="0 bytes")
    packing = next((name for magic, name in PACKED.items() if begin.startswith(magic)), None)
    if packing:
        raise InputFileError("is compressed", file=path, found=packing, hint="unpack it first")
    form = MAGIC.get(begin[:4]) or SUFFIXES.get(Path(path).suffix.lower())
    if form is None:
        return open_text(path, wanted, options, num_default)
    if form == "parquet":
        table = _open_parquet(path, wanted, num_default)
    elif form == "npz":
        table = open_npz_table(path, wanted, num_default)
    else:
        table = open_npy_table(path, wanted, num_default)
    for column in table.columns[:num_default]:
        _check_ids(table, column, options.map_ids)
    return table, ""


def _open_parquet(path: str, wanted: Sequence[str], num_default: int) -> TableFile:
    header = read_parquet_header(path)
    names = list(header.schema.names)
    columns = tuple(
        _described(path, column, header.schema.field(column.position).type, is_id=number < num_default)
        for number, column in enumerate(find_columns(path, wanted, names, len(names), num_default))
    )
    for column in columns:
        if names.count(column.name) > 1:
            raise InputFileError(f"several columns are named {column.name!r}", file=path, hint="rename them")
    with open_parquet(path) as file:
        nbytes = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
    # a column that hardly takes room in the file still takes some in memory
    nbytes = max(nbytes, header.num_rows * 8 * len(columns))
    return TableFile(path, PARQUET, columns, header.num_rows, nbytes, row_group_ends=header.row_group_ends)


def _described(path: str, column: Column, arrow_type: Any, is_id: bool) -> Column:
    """A column with what its Arrow type says."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    types = pa.types
    numeric = types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_boolean(arrow_type)
    if not is_id:
        if not numeric:
            raise InputFileError(
                f"column {column.name!r} does not hold numbers",
                file=path,
                expected="integers, floats or booleans, to be a feature",
                found=str(arrow_type),
            )
        return Column(column.name, column.position, UNKNOWN_IDS, np.dtype(arrow_type.to_pandas_dtype()))
    kind = UNKNOWN_IDS
    if types.is_integer(arrow_type):
        kind = INTEGER_IDS
    elif types.is_floating(arrow_type):
        kind = FLOAT_IDS
    elif (
        types.is_string(arrow_type)
        or types.is_large_string(arrow_type)
        or str(arrow_type) == "string_view"
        or types.is_binary(arrow_type)
        or types.is_large_binary(arrow_type)
        or types.is_fixed_size_binary(arrow_type)
    ):
        kind = STRING_IDS
    else:
        raise InputFileError(
            f"column {column.name!r} cannot be IDs",
            file=path,
            expected="integers or strings",
            found=str(arrow_type),
            hint="choose the columns by --columns",
        )
    return Column(column.name, column.position, kind)


def _check_ids(table: TableFile, column: Column, map_ids: bool) -> None:
    """Refuse IDs that are not integers unless they are mapped."""
    if map_ids or column.kind == INTEGER_IDS:
        return
    raise InputFileError(
        "IDs are not integers",
        file=table.path,
        place=f"column {column.name!r}",
        expected="integers from 0",
        found=column.kind,
        hint="use --map-ids",
    )
