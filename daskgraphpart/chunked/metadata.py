"""Read `metadata.json` of a chunked graph, in both dialects, validated as a whole before any data is read.

Sources: DGL user guide 7.1, tools/distpartitioning/utils.py of DGL 0.9 to 2.5. DGL 1.0 and earlier count by chunk
(`num_nodes_per_chunk`), later releases by type (`num_nodes_per_type`); either or both may be given.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from upath import UPath

from daskgraphpart.errors import InputFileNotFoundError, MetadataError
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType, check_name
from daskgraphpart.storage.confine import leads_outside
from daskgraphpart.storage.files import is_directory, is_file
from daskgraphpart.storage.json_file import convert_json, read_json_object, shown
from daskgraphpart.storage.paths import is_url, join_path, resolve_path, to_key
from daskgraphpart.storage.stores import kind_of, require_bucket

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.storage.paths import AnyPath, FilePath, Location

METADATA_FILE = "metadata.json"
MAX_ROWS = 2**62
MAX_FAULTS_SHOWN = 10
EDGE_FORMATS = ("csv", "numpy", "parquet")
DATA_FORMATS = ("numpy", "parquet")  # DGL's tools read no features from CSV
T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_ROWS)]


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one edge type or one feature: format, delimiter (of CSV) and absolute paths."""

    format: str
    delimiter: str
    paths: tuple[FilePath, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What `metadata.json` says: types and counts without features, and files by type, or by type and feature."""

    path: str
    schema: GraphSchema
    edges: Mapping[str, Files]
    node_data: Mapping[str, Mapping[str, Files]]
    edge_data: Mapping[str, Mapping[str, Files]]


class _Format(msgspec.Struct):
    name: str
    delimiter: Any = " "  # of CSV only: GSProcessing of GraphStorm writes an empty one for parquet files


class _Entry(msgspec.Struct):
    format: _Format
    data: list[Annotated[str, msgspec.Meta(min_length=1)]]


def read_metadata(path: AnyPath, *, confined: bool = False) -> Metadata:
    """Read and check the metadata of a chunked graph."""
    path = resolve_path(path)
    if isinstance(path, UPath):
        require_bucket(path)
    file = path / METADATA_FILE if is_directory(path) else path
    if not is_file(file):
        raise InputFileNotFoundError(
            "no such file", file=str(file), hint=f"a chunked graph is a directory with a {METADATA_FILE}"
        )
    content = read_json_object(file, MetadataError)
    faults = _Faults(str(file))
    schema = _read_schema(content, faults)
    reader = _FilesReader(file.parent.absolute(), faults)
    edges = reader.read_edges(content.get("edges", {}), schema)
    node_data = reader.read_data("node_data", content.get("node_data", {}), schema.ntypes)
    edge_data = reader.read_data("edge_data", content.get("edge_data", {}), schema.etypes)
    reader.check_paths()
    if confined:
        reader.check_confined(file)
    faults.raise_all()
    return Metadata(to_key(file), schema, edges, node_data, edge_data)


@dataclass
class _Faults:
    """Collects what is wrong with a file."""

    file: str
    found: list[MetadataError] = field(default_factory=list)

    def add(self, what: str, place: str, **details: Any) -> None:
        self.found.append(MetadataError(what, place=place, **details))

    def take(self, place: str, value: Any, kind: Any, what: str, expected: str | None = None) -> Any:
        """Convert a value; None if it is not of that kind, which is noted."""
        try:
            return convert_json(value, kind, MetadataError, what, place=place, expected=expected)
        except MetadataError as fault:
            self.found.append(fault)
            return None

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Note a fault that knows no place."""
        try:
            yield
        except MetadataError as fault:
            self.add(fault.what, place, expected=fault.expected, found=fault.found, hint=fault.hint)

    def raise_all(self) -> None:
        """Raise all faults as one error."""
        if len(self.found) == 1:
            fault = self.found[0]
            details = {name: getattr(fault, name) for name in ("place", "expected", "found", "hint")}
            raise MetadataError(fault.what, file=self.file, **details)
        if self.found:
            listed = "".join(f"\n  {fault}" for fault in self.found[:MAX_FAULTS_SHOWN])
            left = len(self.found) - MAX_FAULTS_SHOWN
            more = f"\n  and {left} more" if left > 0 else ""
            raise MetadataError(f"{len(self.found)} things are wrong:{listed}{more}", file=self.file)


# ----------------------------------------------------------------------------------------------------- types and counts


def _read_schema(content: dict[str, Any], faults: _Faults) -> GraphSchema:
    """Read types and counts; nothing else can be checked if these are wrong."""
    name = faults.take("graph_name", content.get("graph_name"), str, "no name of the graph", "a string")
    ntypes, etypes = _read_names("node_type", content, faults), _read_names("edge_type", content, faults)
    if not ntypes and not faults.found:
        faults.add("no node type", "node_type", expected="at least one")
    num_nodes, num_edges = (
        _read_counts("nodes", ntypes, content, faults),
        _read_counts("edges", etypes, content, faults),
    )
    faults.raise_all()
    with faults.at("graph_name"):
        check_name(name, "graph name")
    node_types, edge_types = [], []
    for ntype, count in zip(ntypes, num_nodes, strict=True):
        with faults.at("node_type"):
            node_types.append(NodeType(ntype, count))
    for etype, count in zip(etypes, num_edges, strict=True):
        ends = etype.split(":")
        if len(ends) != 3:
            faults.add("not a canonical edge type", "edge_type", expected="src:relation:dst", found=shown(etype))
            continue
        with faults.at("edge_type"):
            edge_types.append(EdgeType(ends[0], ends[1], ends[2], count))
    faults.raise_all()
    schema = None
    with faults.at("edge_type"):
        schema = GraphSchema(name, tuple(node_types), tuple(edge_types))
    faults.raise_all()
    assert schema is not None, "otherwise there was a fault"
    return schema


def _read_names(key: str, content: dict[str, Any], faults: _Faults) -> list[str]:
    names: list[str] = faults.take(key, content.get(key), list[str], "no list of types", "a list of strings") or []
    for name in sorted(name for name, count in Counter(names).items() if count > 1):
        faults.add(f"type {shown(name)} is given twice", key, hint="remove one")
    return names


def _read_counts(what: str, names: Sequence[str], content: dict[str, Any], faults: _Faults) -> list[int]:
    """Read the number of rows of each type, from either dialect or both."""
    by_type, by_chunk = f"num_{what}_per_type", f"num_{what}_per_chunk"
    found = {}
    for key, kind, of_types in ((by_type, list[Count], "counts"), (by_chunk, list[list[Count]], "lists of counts")):
        if key not in content:
            continue
        expected = f"{len(names)} {of_types} of 0 or more, one for each type"
        counts = faults.take(key, content[key], kind, "impossible count", expected)
        if counts is None:
            continue
        if len(counts) != len(names):
            faults.add("not the counts of the types", key, expected=expected, found=shown(counts))
            continue
        found[key] = [sum(of_type) for of_type in counts] if key == by_chunk else counts
        if sum(found[key]) > MAX_ROWS:
            faults.add("impossible count", key, expected=f"at most {MAX_ROWS:,}", found=sum(found[key]))
    if by_type not in content and by_chunk not in content:
        faults.add(f"the numbers of {what} are missing", by_type, expected=f"{by_type} or {by_chunk}")
    if len(found) == 2 and found[by_type] != found[by_chunk]:
        faults.add(f"disagrees with {by_chunk}", by_type, expected=found[by_chunk], found=found[by_type])
    return next(iter(found.values()), [0] * len(names))


# --------------------------------------------------------------------------------------------------------------- files


@dataclass
class _FilesReader:
    """Reads entries of files, and remembers which paths they have."""

    directory: Location
    faults: _Faults
    paths: list[tuple[str, FilePath]] = field(default_factory=list)

    def read_edges(self, edges: Any, schema: GraphSchema) -> dict[str, Files]:
        """Read the files of all edge types; a type without edges needs none."""
        edges = self._by_type("edges", edges, schema.etypes)
        return {
            t.name: Files("csv", " ", ())
            if t.name not in edges and not t.num_edges
            else self._read_files(f"edges.{t.name}", edges.get(t.name), EDGE_FORMATS)
            for t in schema.edge_types
        }

    def read_data(self, key: str, data: Any, names: Sequence[str]) -> dict[str, dict[str, Files]]:
        """Read the files of the features of all node types, or of all edge types."""
        found: dict[str, dict[str, Files]] = {name: {} for name in names}
        for name, features in self._by_type(key, data, names).items():
            place = f"{key}.{name}"
            features = self.faults.take(place, features, dict[str, Any], "not a map of features", "{feature: ...}")
            for feature, entry in (features or {}).items():
                with self.faults.at(place):
                    check_name(feature, "feature name")
                files = found[name][feature] = self._read_files(f"{place}.{feature}", entry, DATA_FORMATS)
                if not files.paths and not self.faults.found:
                    self.faults.add("feature has no files", f"{place}.{feature}.data", hint="list them, or remove it")
        return found

    def _by_type(self, key: str, entries: Any, names: Sequence[str]) -> dict[str, Any]:
        """Entries of the types there are; others are noted."""
        entries = self.faults.take(key, entries, dict[str, Any], "not a map", "{type: ...}") or {}
        for name in (name for name in entries if name not in names):
            known = ", ".join(names[:MAX_FAULTS_SHOWN]) or "none"
            self.faults.add("unknown type", f"{key}.{name}", expected=f"one of: {known}", hint="check the spelling")
        return {name: entry for name, entry in entries.items() if name in names}

    def _read_files(self, place: str, entry: Any, formats: Sequence[str]) -> Files:
        nothing = Files(formats[0], " ", ())
        found: _Entry | None = self.faults.take(place, entry, _Entry, "not an entry of files")
        if found is None:
            return nothing
        name, delimiter = found.format.name, found.format.delimiter if found.format.name == "csv" else " "
        if name not in formats:
            hint = "DGL's tools read features from numpy and parquet only" if name == "csv" else None
            expected = " or ".join(formats)
            self.faults.add("unknown format", f"{place}.format.name", expected=expected, found=shown(name), hint=hint)
        elif not _is_delimiter(delimiter):
            expected, key = "one character between numbers", f"{place}.format.delimiter"
            self.faults.add("bad delimiter", key, expected=expected, found=shown(delimiter))
        absolute = tuple(to_key(join_path(self.directory, path)) for path in found.data)
        if isinstance(self.directory, UPath) and not all(is_url(path) for path in absolute):
            self.faults.add(
                "a path of a file system in the metadata of a graph in a store", f"{place}.data",
                expected=f"paths relative to {self.directory}", found=next(p for p in absolute if not is_url(p)),
            )  # fmt: skip
            return nothing
        self.paths += [(f"{place}.data", path) for path in absolute]
        return Files(name, delimiter, absolute)

    def check_paths(self) -> None:
        """Note files that are not there, or are no regular files."""
        for place, path in self.paths:
            what = _why_not_a_file(path)
            if what:
                self.faults.add(what, place, found=path, hint=f"paths are relative to {self.directory}")

    def check_confined(self, metadata: Location) -> None:
        """Note files that are not in the directory of the metadata."""
        for place, path in [("", to_key(metadata)), *self.paths]:
            target = leads_outside(path, self.directory)
            if target is not None:
                self.faults.add(
                    "leads out of the directory of the graph", place, expected=str(self.directory), found=target,
                    hint="the graph was opened as confined",
                )  # fmt: skip


def _is_delimiter(delimiter: Any) -> bool:
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    return single and not delimiter.isdigit() and delimiter not in "+-.\r\n\0\"'"


def _why_not_a_file(path: FilePath) -> str | None:
    if isinstance(path, UPath):
        kind = kind_of(path)
        return None if kind == "file" else "is a directory, not a file" if kind else "no such file"
    try:
        mode = os.stat(path).st_mode
    except ValueError:  # a NUL in the name
        return "no such file"
    except OSError as fault:
        return "no such file" if fault.errno in (errno.ENOENT, errno.ENOTDIR) else str(fault.strerror).lower()
    if stat.S_ISDIR(mode):
        return "is a directory, not a file"
    return None if stat.S_ISREG(mode) else "is not a regular file"
