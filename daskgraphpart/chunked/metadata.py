"""`metadata.json` of a chunked graph: both dialects, validated as a whole before any data is read.

Sources: DGL user guide 7.1, tools/distpartitioning/utils.py of DGL 0.9 to 2.5. DGL 1.0 and earlier count by chunk
(`num_nodes_per_chunk`), later releases by type (`num_nodes_per_type`); either or both may be given.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from upath import UPath

from daskgraphpart.errors import GraphPartError, InputFileNotFoundError, MetadataError
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType, check_name
from daskgraphpart.storage.confine import leads_outside
from daskgraphpart.storage.files import is_directory, is_file
from daskgraphpart.storage.json_file import read_json_object, shown
from daskgraphpart.storage.paths import is_url, join_path, resolve_path, to_key
from daskgraphpart.storage.stores import kind_of, require_bucket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.storage.paths import AnyPath, FilePath, Location

METADATA_FILE = "metadata.json"
MOST_ROWS = 2**62
EDGE_FORMATS = ("csv", "numpy", "parquet")
DATA_FORMATS = ("numpy", "parquet")  # DGL's tools read no features from CSV
MOST_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one edge type or one feature: format, delimiter (of CSV) and absolute paths."""

    format: str
    delimiter: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What `metadata.json` says.

    Parameters
    ----------
    path : str
        The file.
    schema : GraphSchema
        Types and counts; features are added when their headers have been read.
    edges : mapping of str to Files
        By canonical edge type.
    node_data, edge_data : mapping of str to mapping of str to Files
        By type and feature.
    """

    path: str
    schema: GraphSchema
    edges: Mapping[str, Files]
    node_data: Mapping[str, Mapping[str, Files]]
    edge_data: Mapping[str, Mapping[str, Files]]


def read_metadata(path: AnyPath, *, confined: bool = False) -> Metadata:
    """Read and check the metadata of a chunked graph.

    Parameters
    ----------
    path : path or URL
        The directory of `metadata.json`, or a metadata file of any name.
    confined : bool
        Whether all files must lie in that directory; links are followed.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    MetadataError
        If something is wrong with it; every fault that can be found is in the message, with its key.
    """
    path = resolve_path(path)
    if isinstance(path, UPath):
        require_bucket(path)
    file = path / METADATA_FILE if is_directory(path) else path
    check = _Checker(str(file), file.parent.absolute(), _parse(file))
    schema = check.schema()
    edges = {t.name: check.files(("edges", t.name), EDGE_FORMATS, optional=t.num_edges == 0) for t in schema.edge_types}
    node_data = check.data("node_data", schema.ntypes)
    edge_data = check.data("edge_data", schema.etypes)
    check.unknown_types("edges", schema.etypes)
    check.missing_files()
    if confined:
        check.outside_files(file)
    check.raise_faults()
    return Metadata(to_key(file), schema, edges, node_data, edge_data)


def _parse(file: Location) -> dict[str, Any]:
    if not is_file(file):
        raise InputFileNotFoundError(
            "no such file", file=str(file), hint=f"a chunked graph is a directory with a {METADATA_FILE}"
        )
    return read_json_object(file, MetadataError)


@dataclass
class _Checker:
    """Takes values out of the metadata; collects what is wrong."""

    file: str
    directory: Location
    content: dict[str, Any]
    faults: list[GraphPartError] = field(default_factory=list)
    paths: list[tuple[str, FilePath]] = field(default_factory=list)

    def fault(self, what: str, place: str, **details: Any) -> None:
        self.faults.append(MetadataError(what, place=place, **details))

    def raise_faults(self) -> None:
        """Raise all faults as one error."""
        if not self.faults:
            return
        if len(self.faults) == 1:
            only = self.faults[0]
            raise MetadataError(
                only.what, file=self.file, place=only.place, expected=only.expected, found=only.found, hint=only.hint
            )
        listed = "".join(f"\n  {fault}" for fault in self.faults[:MOST_FAULTS])
        more = f"\n  and {len(self.faults) - MOST_FAULTS} more" if len(self.faults) > MOST_FAULTS else ""
        raise MetadataError(f"{len(self.faults)} things are wrong:{listed}{more}", file=self.file)

    # ------------------------------------------------------------------------------------------------- types, counts

    def schema(self) -> GraphSchema:
        """Types and counts; nothing else can be checked if these are wrong."""
        name = self.content.get("graph_name")
        if not isinstance(name, str):
            self.fault("no name of the graph", "graph_name", expected="a string", found=shown(name))
        else:
            self._guarded("graph_name", lambda: check_name(name, "graph name"))
        ntypes, etypes = self._names("node_type"), self._names("edge_type")
        if not ntypes and not self.faults:
            self.fault("no node type", "node_type", expected="at least one")
        num_nodes = self._counts("nodes", ntypes)
        num_edges = self._counts("edges", etypes)
        self.raise_faults()
        edge_types = []
        for etype, count in zip(etypes, num_edges, strict=True):
            ends = etype.split(":")
            if len(ends) != 3:
                self.fault("not a canonical edge type", "edge_type", expected="src:relation:dst", found=shown(etype))
            else:
                self._guarded("edge_type", lambda e=ends, c=count: edge_types.append(EdgeType(e[0], e[1], e[2], c)))
        for ntype in ntypes:
            self._guarded("node_type", lambda n=ntype: check_name(n, "node type"))
        self.raise_faults()
        node_types = tuple(NodeType(ntype, count) for ntype, count in zip(ntypes, num_nodes, strict=True))
        schemas: list[GraphSchema] = []
        self._guarded("edge_type", lambda: schemas.append(GraphSchema(str(name), node_types, tuple(edge_types))))
        self.raise_faults()
        return schemas[0]

    def _guarded(self, place: str, action: Any) -> None:
        try:
            action()
        except MetadataError as error:
            self.fault(error.what, place, expected=error.expected, found=error.found, hint=error.hint)

    def _names(self, key: str) -> list[str]:
        names = self.content.get(key)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.fault("no list of types", key, expected="a list of strings", found=shown(names))
            return []
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.fault(f"type {name!r} is given twice", key, hint="remove one")
        return names

    def _counts(self, what: str, names: Sequence[str]) -> list[int]:
        """Number of rows of each type, from either dialect or both."""
        by_type, by_chunk = f"num_{what}_per_type", f"num_{what}_per_chunk"
        found = {}
        if by_type in self.content:
            found[by_type] = self._count_list(by_type, self.content[by_type], len(names))
        if by_chunk in self.content:
            chunks = self.content[by_chunk]
            if not isinstance(chunks, list) or len(chunks) != len(names):
                self.fault(
                    "one list of counts for each type is needed",
                    by_chunk,
                    expected=f"{len(names)} lists",
                    found=shown(chunks),
                )
            else:
                lists = [self._count_list(f"{by_chunk}[{i}]", of_type, None) for i, of_type in enumerate(chunks)]
                found[by_chunk] = None if None in lists else [sum(of_type or []) for of_type in lists]
        if not found:
            self.fault(f"the numbers of {what} are missing", by_type, expected=f"{by_type} or {by_chunk}")
        counts = [value for value in found.values() if value is not None]
        if len(counts) == 2 and counts[0] != counts[1]:
            self.fault(f"disagrees with {by_chunk}", by_type, expected=counts[1], found=counts[0])
        if counts and sum(counts[0]) > MOST_ROWS:
            self.fault("impossible count", next(iter(found)), expected=f"at most {MOST_ROWS:,}", found=sum(counts[0]))
        return counts[0] if counts else [0] * len(names)

    def _count_list(self, place: str, counts: Any, length: int | None) -> list[int] | None:
        if not isinstance(counts, list) or (length is not None and len(counts) != length):
            expected = "a list of counts" if length is None else f"a list of {length} counts, one for each type"
            self.fault("not the counts of the types", place, expected=expected, found=shown(counts))
            return None
        for i, count in enumerate(counts):
            if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_ROWS:
                self.fault(
                    "impossible count", f"{place}[{i}]", expected="a whole number, 0 or more", found=shown(count)
                )
                return None
        return counts

    # --------------------------------------------------------------------------------------------------------- files

    def data(self, key: str, names: Sequence[str]) -> dict[str, dict[str, Files]]:
        """Files of the features of all node types, or of all edge types."""
        self.unknown_types(key, names)
        found: dict[str, dict[str, Files]] = {name: {} for name in names}
        for name in names:
            features = self._mapping(key).get(name, {})
            if not isinstance(features, dict):
                self.fault("not a map of features", f"{key}.{name}", found=shown(features))
                continue
            for feature in features:
                self._guarded(f"{key}.{name}", lambda f=feature: check_name(f, "feature name"))
                files = found[name][feature] = self.files((key, name, feature), DATA_FORMATS, optional=False)
                if not files.paths and not self.faults:
                    self.fault("feature has no files", f"{key}.{name}.{feature}.data", hint="list them, or remove it")
        return found

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self.content.get(key, {})
        return value if isinstance(value, dict) else {}

    def unknown_types(self, key: str, names: Sequence[str]) -> None:
        """Refuse files of types that do not exist."""
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            self.fault("not a map", key, expected="{type: ...}", found=type(value).__name__)
            return
        for name in value:
            if name not in names:
                known = ", ".join(names[:MOST_FAULTS]) or "none"
                self.fault("unknown type", f"{key}.{name}", expected=f"one of: {known}", hint="check the spelling")

    def files(self, keys: tuple[str, ...], formats: Sequence[str], *, optional: bool) -> Files:
        """Format and paths under a key."""
        place, entry = ".".join(keys), self._entry(keys)
        nothing = Files(formats[0], " ", ())
        if entry is None and optional:
            return nothing
        if not isinstance(entry, dict):
            self.fault("files are missing", place, expected='{"format": ..., "data": [...]}', found=shown(entry))
            return nothing
        name, delimiter = self._format(f"{place}.format", entry.get("format"), formats)
        paths = entry.get("data")
        if not isinstance(paths, list) or not all(isinstance(path, str) and path for path in paths):
            self.fault("not a list of files", f"{place}.data", expected="a list of paths", found=shown(paths))
            return nothing
        absolute = tuple(to_key(join_path(self.directory, path)) for path in paths)
        if isinstance(self.directory, UPath) and not all(is_url(path) for path in absolute):
            self.fault(
                "a path of a file system in the metadata of a graph in a store", f"{place}.data",
                expected=f"paths relative to {self.directory}", found=next(p for p in absolute if not is_url(p)),
            )  # fmt: skip
            return nothing
        self.paths += [(f"{place}.data", path) for path in absolute]
        return Files(name, delimiter, absolute)

    def _entry(self, keys: tuple[str, ...]) -> Any:
        value: Any = self.content
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def _format(self, place: str, value: Any, formats: Sequence[str]) -> tuple[str, str]:
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(name, str) or name not in formats:
            hint = "DGL's tools read features from numpy and parquet only" if name == "csv" else None
            self.fault("unknown format", f"{place}.name", expected=" or ".join(formats), found=shown(name), hint=hint)
            return formats[0], " "
        if name != "csv":  # GSProcessing of GraphStorm writes an empty delimiter for parquet files
            return name, " "
        delimiter = value.get("delimiter", " ")  # DGL's tools ignore it, and read nothing but spaces
        single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
        if not single or delimiter.isdigit() or delimiter in "+-.\r\n\0\"'":
            self.fault(
                "bad delimiter", f"{place}.delimiter", expected="one character between numbers", found=shown(delimiter)
            )
            return name, " "
        return name, delimiter

    def missing_files(self) -> None:
        """Report files that are not there, or are directories."""
        for place, path in self.paths:
            what = _why_not_a_file(path)
            if what:
                self.fault(what, place, found=path, hint=f"paths are relative to {self.directory}")

    def outside_files(self, metadata: Location) -> None:
        """Report files that are not in the directory of the metadata."""
        for place, path in [("", to_key(metadata)), *self.paths]:
            target = leads_outside(path, self.directory)
            if target is not None:
                self.fault(
                    "leads out of the directory of the graph", place, expected=str(self.directory), found=target,
                    hint="the graph was opened as confined",
                )  # fmt: skip


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
