"""Find and open all files of an edge list job, and check everything that headers and first rows tell."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.schema import check_name
from daskgraphpart.sources.arrays import file_rows
from daskgraphpart.sources.column_table import ColumnTable, open_npy_table, open_npz_table, open_parquet_table
from daskgraphpart.sources.columns import INTEGERS, MIXED_HINT, MIXED_IDS, NO_IDS, STRINGS, Column
from daskgraphpart.sources.database import translated_errors
from daskgraphpart.sources.text_table import TextTable, open_text_table
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.chunked.rows import FileRows
    from daskgraphpart.sources.edge_list_options import ReadOptions

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
FeaturePaths: TypeAlias = Mapping[str, Mapping[str, Paths]]
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


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that is read: tables of edges and of nodes by type, numbers of nodes that were given, features in files."""

    edges: Mapping[str, tuple[Table, ...]]
    nodes: Mapping[str, tuple[Table, ...]]
    num_nodes: Mapping[str, int]
    node_data: Mapping[str, Mapping[str, FileRows]]
    edge_data: Mapping[str, Mapping[str, FileRows]]
    notes: tuple[str, ...]

    @property
    def ntypes(self) -> list[str]:
        """All node types, sorted."""
        ends = {end for etype in self.edges for end in etype.split(":")[::2]}
        return sorted(ends | set(self.nodes) | set(self.num_nodes))

    @property
    def paths(self) -> list[str]:
        """All files."""
        tables = [table.path for of in (self.edges, self.nodes) for tables in of.values() for table in tables]
        data = [*self.node_data.values(), *self.edge_data.values()]
        return tables + [path for of_type in data for rows in of_type.values() for path in rows.paths]


@dataclass(frozen=True, slots=True, eq=False)
class Opener:
    """What opens files: a database that reads text, and a directory for what is unpacked."""

    connection: duckdb.DuckDBPyConnection
    directory: Path
    options: ReadOptions
    notes: list[str]

    def open_tables(self, paths: Paths, wanted: Sequence[str], num_ids: int) -> tuple[Table, ...]:
        """Open all files of an edge type (two columns of IDs) or of a list of nodes (one)."""
        found = [os.path.abspath(path) for path in expand_paths(paths)]
        if not found:
            raise OptionError("no files", place="--edges" if num_ids > 1 else "--nodes")
        tables = tuple(self._open_table(path, wanted, num_ids) for path in found)
        for table in tables if not self.options.map_ids else ():
            for column in table.columns[:num_ids]:
                if isinstance(table, ColumnTable) and column.kind != INTEGERS:
                    raise InputFileError(
                        "IDs are not integers",
                        file=table.path,
                        place=f"column {column.name!r}",
                        expected="integers from 0",
                        found=column.kind,
                        hint="use --map-ids",
                    )
        return tables

    def _open_table(self, path: str, wanted: Sequence[str], num_ids: int) -> Table:
        with attach_path_to_error(path), open(path, "rb") as file:
            begin = file.read(16)
        if not begin:
            raise InputFileError("empty file", file=path, expected="rows", found="0 bytes")
        _refuse_foreign(path, begin)
        form = _MAGIC.get(begin[:4]) or _SUFFIXES.get(Path(path).suffix.lower())
        if form == "parquet":
            return open_parquet_table(path, wanted, num_ids)
        if form == "npz":
            directory = self.directory / f"npz-{len(list(self.directory.glob('npz-*')))}"
            return open_npz_table(path, wanted, num_ids, directory)
        if form == "npy":
            return open_npy_table(path, wanted, num_ids)
        packing = next((name for magic, name in _PACKED.items() if begin.startswith(magic)), "none")
        with translated_errors(path):
            table, note = open_text_table(self.connection, path, packing, wanted, self.options, num_ids)
        self.notes.extend([note] if note else [])
        return table


def expand_paths(paths: Paths) -> list[str]:
    """Return paths of files; patterns with ``*``, ``?`` and ``[`` become what they match, in sorted order."""
    found: list[str] = []
    for given in [paths] if isinstance(paths, str | os.PathLike) else paths:
        pattern = os.fspath(given)
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


def open_inputs(
    connection: duckdb.DuckDBPyConnection,
    directory: Path,
    options: ReadOptions,
    *,
    edges: Mapping[str, Paths],
    nodes: Mapping[str, tuple[Paths, str]],
    num_nodes: Mapping[str, int],
    node_data: FeaturePaths,
    edge_data: FeaturePaths,
) -> Inputs:
    """Find and open all files; `nodes` are paths and the column of IDs, empty for the first, by node type."""
    _check_types(edges, nodes, num_nodes, options)
    opener = Opener(connection, directory, options, [])
    wanted = [*(options.columns or ("", "")), *options.edge_columns]
    tables = {etype: opener.open_tables(edges[etype], wanted, 2) for etype in sorted(edges)}
    opener = replace(opener, options=replace(options, columns=()))
    lists = {ntype: opener.open_tables(paths, [column], 1) for ntype, (paths, column) in sorted(nodes.items())}
    inputs = Inputs(tables, lists, dict(num_nodes), {}, {}, tuple(opener.notes))
    found = replace(
        inputs,
        node_data=_open_features(node_data, inputs.ntypes, "--node-data"),
        edge_data=_open_features(edge_data, list(tables), "--edge-data"),
    )
    _check_names(found)
    _check_known_rows(found)
    return found


def kinds_of_ids(inputs: Inputs, id_type: str) -> dict[str, str]:
    """Tell for each node type whether its IDs are integers or strings, by types of columns and first rows of text."""
    wanted = {"integer": INTEGERS, "string": STRINGS}.get(id_type)
    first: dict[str, tuple[Table, Column]] = {}
    kinds = dict.fromkeys(inputs.ntypes, wanted or INTEGERS)
    for ntype in inputs.ntypes:
        for table, i in id_columns(inputs, ntype):
            column = table.columns[i]
            if wanted or column.kind == NO_IDS:  # NO_IDS: text without rows
                continue
            if ntype not in first:
                first[ntype] = table, column
                kinds[ntype] = STRINGS if column.kind == STRINGS else INTEGERS
            elif (column.kind == STRINGS) != (kinds[ntype] == STRINGS):
                other, known = first[ntype]
                place, value = column.example
                raise InputFileError(
                    MIXED_IDS,
                    file=table.path,
                    place=place,
                    expected=known.expected
                    if other is table
                    else known.expected.replace("in ", f"in {other.path}, ", 1),
                    found=value or column.kind,
                    hint=MIXED_HINT,
                )
    return kinds


def id_columns(inputs: Inputs, ntype: str) -> list[tuple[Table, int]]:
    """Return all columns with IDs of a node type."""
    found: list[tuple[Table, int]] = []
    for etype, tables in inputs.edges.items():
        ends = etype.split(":")[::2]
        found += [(table, i) for table in tables for i in (0, 1) if ends[i] == ntype]
    return found + [(table, 0) for table in inputs.nodes.get(ntype, ())]


def check_rows(rows: FileRows, name: str, type_name: str, expected: int, hint: str) -> None:
    """Refuse a feature with another number of rows than its type."""
    if rows.shape[0] != expected:
        raise InputFileError(
            f"feature {name!r} of {type_name!r} has a wrong number of rows",
            file=rows.paths[0] if rows.paths else None,
            place=f"and {len(rows.paths) - 1} more files" if len(rows.paths) > 1 else None,
            expected=f"{expected:,} rows",
            found=f"{rows.shape[0]:,}",
            hint=hint,
        )


def _refuse_foreign(path: str, begin: bytes) -> None:
    """Refuse formats that look like text, or are packed, and say what to do."""
    packing = next((name for magic, name in _UNREADABLE.items() if begin.startswith(magic)), None)
    if packing:
        raise InputFileError("is compressed", file=path, found=packing, hint="unpack it first, or pack it with gzip")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    for magic, endings, name, hint in _FOREIGN:
        if (magic is not None and begin.lstrip().startswith(magic)) or any(suffix in endings for suffix in suffixes):
            raise InputFileError(f"is not an edge list but {name}", file=path, expected="a row per edge", hint=hint)


def _check_types(
    edges: Mapping[str, Paths],
    nodes: Mapping[str, tuple[Paths, str]],
    num_nodes: Mapping[str, int],
    options: ReadOptions,
) -> None:
    if not edges:
        raise OptionError("no edges", place="--edges", expected="files of edges")
    for etype in edges:
        if etype.count(":") != 2:
            raise OptionError("not an edge type", place="--edges", expected="SRC:REL:DST", found=etype)
    for name in [part for etype in edges for part in etype.split(":")] + [*nodes, *num_nodes]:
        check_name(name, "type", OptionError)
    if nodes and not options.map_ids:
        what = "lists of nodes are of use only for IDs that are mapped"
        raise OptionError(what, place="--nodes", hint="use --map-ids")
    if num_nodes and options.map_ids:
        what = "the number of nodes follows from the IDs when they are mapped"
        raise OptionError(what, place="--num-nodes", hint="leave it out; --nodes gives further nodes")
    for ntype, count in num_nodes.items():
        if count < 0:
            raise OptionError("impossible number of nodes", place=f"--num-nodes {ntype}", found=count)


def _open_features(data: FeaturePaths, known: Sequence[str], place: str) -> dict[str, dict[str, FileRows]]:
    found: dict[str, dict[str, FileRows]] = {}
    for type_name, features in sorted(data.items()):
        if type_name not in known:
            raise OptionError("unknown type", place=place, expected=f"one of {', '.join(known)}", found=type_name)
        for name, paths in features.items():
            expanded = [os.path.abspath(path) for path in expand_paths(paths)]
            found.setdefault(type_name, {})[name] = file_rows(name, expanded, place)
    return found


def _check_names(inputs: Inputs) -> None:
    """Refuse names of features that cannot be, and a feature that comes both from a column and from files."""
    for etype, tables in inputs.edges.items():
        for column in tables[0].columns[2:]:
            check_name(column.name, "feature name", InputFileError, file=tables[0].path)
            if column.name in inputs.edge_data.get(etype, {}):
                what = f"feature {column.name!r} of {etype!r} is given twice"
                raise OptionError(what, place="--edge-data", hint="remove one")


def _check_known_rows(inputs: Inputs) -> None:
    """Check the rows of features as far as headers tell them."""
    for etype, features in inputs.edge_data.items():
        counts = [table.num_rows for table in inputs.edges[etype]]
        for name, rows in features.items() if None not in counts else ():
            check_rows(rows, name, etype, sum(count or 0 for count in counts), "one row for each edge")
    for ntype, features in inputs.node_data.items():
        counts = [table.num_rows for table in inputs.nodes.get(ntype, ())]
        for name, rows in features.items():
            if ntype in inputs.num_nodes:
                check_rows(rows, name, ntype, inputs.num_nodes[ntype], "check --num-nodes")
            elif counts and None not in counts:
                listed = sum(count or 0 for count in counts)
                check_rows(rows, name, ntype, listed, "rows follow the list given to --nodes")
