"""Find files of edges and nodes, and open each by its format, or refuse it by name."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.sources.column_table import ColumnTable, open_array_table, open_parquet_table
from daskgraphpart.sources.columns import INTEGERS
from daskgraphpart.sources.database import translated_errors
from daskgraphpart.sources.text_table import TextTable, open_text_table
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.sources.edge_list_options import ReadOptions

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Table: TypeAlias = TextTable | ColumnTable

_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"\x93NUM": "npy"}
_SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".npy": "npy"}
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_UNREADABLE = {b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
# what is refused by its first bytes or its suffix: format, and what to do
_THROUGH_PYTHON = "read it with {}, and hand the result to daskgraphpart.chunk_graph"
_FOREIGN = (
    (b"%%MatrixMarket", (".mtx",), "Matrix Market", _THROUGH_PYTHON.format("scipy.io.mmread")),
    (None, (".metis", ".graph"), "METIS", "write it as one line per edge, with IDs from 0"),
    (b"<", (".graphml", ".gexf", ".xml"), "GraphML or XML", _THROUGH_PYTHON.format("networkx.read_graphml")),
    (b"{", (".json", ".jsonl", ".ndjson"), "JSON", _THROUGH_PYTHON.format("pandas.read_json(..., lines=True)")),
)


def expand_paths(paths: Paths, place: str) -> list[str]:
    """Return absolute paths of files; patterns with ``*``, ``?`` and ``[`` become what they match, sorted."""
    found: list[str] = []
    for given in [paths] if isinstance(paths, str | os.PathLike) else paths:
        pattern = os.fspath(given)
        is_pattern = glob.has_magic(pattern) and not os.path.exists(pattern)
        matches = sorted(glob.glob(pattern, recursive=True)) if is_pattern else [pattern]
        if not matches:
            raise InputFileNotFoundError("no file matches", file=pattern, hint="quote patterns for the shell")
        found += matches
    if not found:
        raise OptionError("no files", place=place)
    for path in found:
        if os.path.isdir(path):
            raise InputFileError("is a directory", file=path, hint=f"give its files, such as '{path}/*.parquet'")
        if not os.path.isfile(path):
            raise InputFileNotFoundError("no such file", file=path)
    return [os.path.abspath(path) for path in found]


def open_table(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    directory: Path,
    wanted: Sequence[str],
    options: ReadOptions,
    num_ids: int,
    notes: list[str],
) -> Table:
    """Open a file, whatever its format; add what was guessed to the notes."""
    with attach_path_to_error(path), open(path, "rb") as file:
        begin = file.read(16)
    if not begin:
        raise InputFileError("empty file", file=path, expected="rows", found="0 bytes")
    _refuse_foreign(path, begin)
    form = _MAGIC.get(begin[:4]) or _SUFFIXES.get(Path(path).suffix.lower())
    if form is None:
        packing = next((name for magic, name in _PACKED.items() if begin.startswith(magic)), "none")
        with translated_errors(path):
            table, note = open_text_table(connection, path, packing, wanted, options, num_ids)
        notes += [note] if note else []
        return table
    if form == "parquet":
        opened = open_parquet_table(path, wanted, num_ids)
    else:
        unpacked = directory / f"npz-{len(list(directory.glob('npz-*')))}"
        opened = open_array_table(path, form, wanted, num_ids, unpacked)
    for column in opened.columns[:num_ids]:
        if column.kind != INTEGERS and not options.map_ids:
            place, expected = f"column {column.name!r}", "integers from 0"
            what, hint = "IDs are not integers", "use --map-ids"
            raise InputFileError(what, file=path, place=place, expected=expected, found=column.kind, hint=hint)
    return opened


def _refuse_foreign(path: str, begin: bytes) -> None:
    """Refuse formats that look like text, or are packed, and say what to do."""
    packing = next((name for magic, name in _UNREADABLE.items() if begin.startswith(magic)), None)
    if packing:
        raise InputFileError("is compressed", file=path, found=packing, hint="unpack it first, or pack it with gzip")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    for magic, endings, name, hint in _FOREIGN:
        if (magic is not None and begin.lstrip().startswith(magic)) or any(suffix in endings for suffix in suffixes):
            raise InputFileError(f"is not an edge list but {name}", file=path, expected="a row per edge", hint=hint)
