"""Read a chunked graph's `metadata.json`, in both dialects, checking everything before reading data.

Sources: DGL user guide 7.1, tools/distpartitioning/utils.py of DGL 0.9 to 2.5. DGL 1.0 and earlier count by chunk
(`num_nodes_per_chunk`), later releases by type (`num_nodes_per_type`); either or both may be given. GSProcessing of
GraphStorm 0.2 to 0.5 adds `row_counts` of files, `raw_id_mappings`, and in `graph_info` which arrays are labels and
masks (graphstorm_processing/graph_loaders/dist_heterogeneous_loader.py).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from daskgraphpart.errors import MOST_LISTED, InputFileNotFoundError, MetadataError, OptionError, raise_together
from daskgraphpart.schema import GraphSchema, NodeType, check_name, parse_edge_type
from daskgraphpart.storage.files import is_directory, is_file
from daskgraphpart.storage.json_file import convert_json, read_json_object, shown
from daskgraphpart.storage.paths import (
    AnyPath,
    Location,
    is_remote,
    is_url,
    join_path,
    leads_outside,
    resolve_path,
    to_key,
)

if TYPE_CHECKING:
    from daskgraphpart.errors import GraphPartError
    from daskgraphpart.source import FilePath

ID_MAP = "id_map"  # directory of ID maps, beside the metadata
CATEGORIES = "categories"  # directory of what codes stand for
TRANSFORMED, LABEL_COUNTS = "data_transform_new.json", ("node_label_stats.json", "edge_label_stats.json")
"""What GraphStorm's commands read beside a graph made from its construction config."""
METADATA_FILE = "metadata.json"
MAX_ROWS = 2**62
EDGE_FORMATS = ("csv", "numpy", "parquet")
DATA_FORMATS = ("numpy", "parquet")  # DGL's tools read no features from CSV
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_ROWS)]


def check_num_nodes(count: Any, place: str) -> int:
    """Check a number of nodes."""
    is_whole = hasattr(count, "__index__") and not isinstance(count, bool) and not getattr(count, "shape", ())
    if not is_whole or not 0 <= count < MAX_ROWS:
        expected = f"a whole number from 0 to 2^{MAX_ROWS.bit_length() - 1} - 1"
        raise OptionError("invalid number of nodes", place=place, expected=expected, found=repr(count))
    return int(count)


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one edge type or feature: format, delimiter (CSV), absolute paths, and row counts if known.

    Rows of a flat array are scalars, even if parquet has no key ``shape`` to say so.
    """

    format: str
    delimiter: str
    paths: tuple[FilePath, ...]
    num_rows: tuple[int, ...] | None = None
    is_flat: bool = False


@dataclass(frozen=True, slots=True)
class Metadata:
    """Content of `metadata.json`: types and counts, edge files by type, feature files by type and name.

    `raw_ids` has files, by node type, of the IDs before GSProcessing; they may be missing.
    """

    path: str
    schema: GraphSchema
    edges: Mapping[str, Files]
    data: Mapping[str, Mapping[str, Files]]
    raw_ids: Mapping[str, tuple[FilePath, ...]]


class _Format(msgspec.Struct):
    name: str
    delimiter: Any = " "  # CSV only: GSProcessing writes an empty one for parquet


class _Entry(msgspec.Struct):
    format: _Format
    data: list[Annotated[str, msgspec.Meta(min_length=1)]]
    row_counts: list[Count] | None = None


class _GraphInfo(msgspec.Struct):
    """Which arrays are labels and masks: names of types, then of their labels, then masks by type."""

    ntype_label: list[str] = []
    etype_label: list[str] = []
    ntype_label_property: list[str] = []
    etype_label_property: list[str] = []
    ntype_to_label_masks: dict[str, list[str]] = {}
    etype_to_label_masks: dict[str, list[str]] = {}

    def flat_arrays(self, key: str) -> tuple[list[str], set[str]]:
        """Types with labels, and the names of labels and masks; GraphStorm before 0.4 has the usual ones."""
        kind = "ntype" if key == "node_data" else "etype"
        types, labels, masks = (getattr(self, kind + name) for name in ("_label", "_label_property", "_to_label_masks"))
        named = {name for of_type in masks.values() for name in of_type} or {"train_mask", "val_mask", "test_mask"}
        return types, {*labels, *named}


def read_metadata(path: AnyPath, *, confined: bool = False) -> Metadata:
    """Read and check the metadata of a chunked graph."""
    path = resolve_path(path)
    file = path / METADATA_FILE if is_directory(path) else path
    if not is_file(file):
        raise InputFileNotFoundError(
            "no such file", file=str(file), hint=f"a chunked graph is a directory with a {METADATA_FILE}"
        )
    content = read_json_object(file, MetadataError)
    reader = _Reader(file, file.parent.absolute())
    schema = reader.read_schema(content)
    edges = reader.read_edges(content.get("edges", {}), schema)
    info = reader.convert("graph_info", content.get("graph_info", {}), _GraphInfo) or _GraphInfo()
    node_data = reader.read_data("node_data", content.get("node_data", {}), schema.ntypes, info)
    edge_data = reader.read_data("edge_data", content.get("edge_data", {}), schema.etypes, info)
    raw_ids = reader.read_raw_ids(content.get("raw_id_mappings", {}))
    reader.check_paths(confined)
    reader.raise_faults()
    return Metadata(to_key(file), schema, edges, node_data | edge_data, raw_ids)


def data_key(type_name: str) -> str:
    """Key of a type's features in the metadata: only edge types have colons."""
    return "edge_data" if ":" in type_name else "node_data"


def is_delimiter(delimiter: Any) -> bool:
    """Whether it can separate columns of integers."""
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    return single and not delimiter.isdigit() and delimiter not in "+-.\r\n\0\"'"


@dataclass
class _Reader:
    """Reads keys of a metadata file, and collects faults."""

    file: Location
    directory: Location
    faults: list[GraphPartError] = field(default_factory=list)
    paths: list[tuple[str, FilePath]] = field(default_factory=list)

    def add_fault(self, what: str, place: str, **details: Any) -> None:
        """Note a key's fault."""
        self.faults.append(MetadataError(what, place=place, **details))

    @contextmanager
    def faults_at(self, place: str) -> Iterator[None]:
        """Note a fault that does not know its place."""
        try:
            yield
        except MetadataError as fault:
            self.faults.append(fault.restated(MetadataError, place=place))

    def raise_faults(self) -> None:
        """Raise all faults as one error."""
        raise_together(self.faults, self.file)

    def convert(self, place: str, value: Any, kind: Any, what: str = "invalid value") -> Any:
        """Convert a value; if of the wrong kind, note it and return None."""
        try:
            return convert_json(value, kind, MetadataError, what, place=place)
        except MetadataError as fault:
            self.faults.append(fault)
            return None

    def read_schema(self, content: dict[str, Any]) -> GraphSchema:
        """Read types and counts, on which all else depends."""
        name = self.convert("graph_name", content.get("graph_name"), str)
        ntypes = self.convert("node_type", content.get("node_type"), Annotated[list[str], msgspec.Meta(min_length=1)])
        etypes = self.convert("edge_type", content.get("edge_type"), list[str])
        num_nodes = self._read_counts("nodes", ntypes or (), content)
        num_edges = self._read_counts("edges", etypes or (), content)
        self.raise_faults()
        with self.faults_at("graph_name"):
            check_name(name, "graph name")
        with self.faults_at("node_type"):
            node_types = [NodeType(*of_type) for of_type in zip(ntypes, num_nodes, strict=True)]
            schema = GraphSchema("graph", tuple(node_types), ())
        self.raise_faults()
        with self.faults_at("edge_type"):
            edge_types = [parse_edge_type(*of_type) for of_type in zip(etypes, num_edges, strict=True)]
            schema = replace(schema, name=name, edge_types=tuple(edge_types))
        self.raise_faults()
        return schema

    def _read_counts(self, what: str, names: Sequence[str], content: dict[str, Any]) -> list[int]:
        """Read the number of rows of each type, from either dialect or both."""
        by_type, by_chunk = f"num_{what}_per_type", f"num_{what}_per_chunk"
        by_key: dict[str, list[int]] = {}
        for key, kind in ((by_type, list[Count]), (by_chunk, list[list[Count]])):
            counts = self.convert(key, content[key], kind, "invalid count") if key in content else None
            if counts is not None:
                by_key[key] = [sum(of_type) for of_type in counts] if key == by_chunk else counts
                if len(counts) != len(names) or sum(by_key[key]) > MAX_ROWS:
                    expected = f"{len(names)}, one for each type, and no more than {MAX_ROWS:,} in all"
                    self.add_fault("invalid counts", key, expected=expected, found=shown(counts))
        if by_type not in content and by_chunk not in content:
            self.add_fault(f"the numbers of {what} are missing", by_type, expected=f"{by_type} or {by_chunk}")
        if len(by_key) == 2 and by_key[by_type] != by_key[by_chunk]:
            self.add_fault(f"disagrees with {by_chunk}", by_type, expected=by_key[by_chunk], found=by_key[by_type])
        return next(iter(by_key.values()), [])

    def read_edges(self, edges: Any, schema: GraphSchema) -> dict[str, Files]:
        """Read the files of all edge types; a type without edges needs none."""
        entries = self._by_type("edges", edges, schema.etypes)
        return {
            t.name: self._read_files(f"edges.{t.name}", entries.get(t.name), EDGE_FORMATS)
            if t.name in entries or t.num_edges
            else Files("csv", " ", ())
            for t in schema.edge_types
        }

    def read_data(self, key: str, data: Any, names: Sequence[str], info: _GraphInfo) -> dict[str, dict[str, Files]]:
        """Read the feature files of all node types or edge types."""
        by_type: dict[str, dict[str, Files]] = {name: {} for name in names}
        labelled, flat = info.flat_arrays(key)
        for name, features in self._by_type(key, data, names).items():
            place = f"{key}.{name}"
            for feature, entry in (self.convert(place, features, dict[str, Any]) or {}).items():
                with self.faults_at(place):
                    check_name(feature, "feature name")
                files = self._read_files(f"{place}.{feature}", entry, DATA_FORMATS)
                by_type[name][feature] = replace(files, is_flat=name in labelled and feature in flat)
                if not files.paths and not self.faults:
                    self.add_fault("feature has no files", f"{place}.{feature}.data", hint="list them, or remove it")
        return by_type

    def read_raw_ids(self, entries: Any) -> dict[str, tuple[FilePath, ...]]:
        """Read the files of IDs before GSProcessing; they may be missing, because few outputs need them."""
        by_ntype = {}
        for ntype, entry in (self.convert("raw_id_mappings", entries, dict[str, _Entry]) or {}).items():
            by_ntype[ntype] = tuple(to_key(join_path(self.directory, path)) for path in entry.data)
            self.paths += [(f"raw_id_mappings.{ntype}.data", path) for path in by_ntype[ntype] if is_file(path)]
        return by_ntype

    def _by_type(self, key: str, entries: Any, names: Sequence[str]) -> dict[str, Any]:
        """Return the entries of known types; note the others."""
        entries = self.convert(key, entries, dict[str, Any]) or {}
        known_names = set(names)
        for name in (name for name in entries if name not in known_names):
            known = ", ".join(names[:MOST_LISTED]) or "none"
            self.add_fault("unknown type", f"{key}.{name}", expected=f"one of: {known}", hint="check the spelling")
        return {name: entries[name] for name in names if name in entries}

    def _read_files(self, place: str, entry: Any, formats: Sequence[str]) -> Files:
        files: _Entry | None = self.convert(place, entry, _Entry, "not an entry of files")
        if files is None:
            return Files(formats[0], " ", ())
        name, delimiter = files.format.name, files.format.delimiter if files.format.name == "csv" else " "
        if name not in formats:
            expected = " or ".join(formats)
            self.add_fault("unknown format", f"{place}.format.name", expected=expected, found=shown(name))
        elif not is_delimiter(delimiter):
            expected, key = "one character between numbers", f"{place}.format.delimiter"
            self.add_fault("bad delimiter", key, expected=expected, found=shown(delimiter))
        paths = tuple(to_key(join_path(self.directory, path)) for path in files.data)
        self.paths += [(f"{place}.data", path) for path in paths]
        counts = None if files.row_counts is None else tuple(files.row_counts)
        if counts is not None and len(counts) != len(paths):
            expected = f"{len(paths)}, one for each file"
            self.add_fault("wrong number of counts", f"{place}.row_counts", expected=expected, found=len(counts))
        return Files(name, delimiter, paths, counts)

    def check_paths(self, confined: bool) -> None:
        """Note missing files and, if confined, files outside the directory."""
        for place, path in self.paths:
            if is_remote(self.directory) and not is_url(path):
                what = "a graph in a store names a local path"
                self.add_fault(what, place, expected=f"paths relative to {self.directory}", found=path)
            elif not is_file(path):
                what, hint = "no such file, or not a regular one", f"paths are relative to {self.directory}"
                self.add_fault(what, place, found=path, hint=hint)
        for place, path in [("", to_key(self.file)), *self.paths] if confined else ():
            target = leads_outside(path, self.directory)
            if target is not None:
                what, hint = "leads out of the directory of the graph", "the graph was opened as confined"
                self.add_fault(what, place, expected=str(self.directory), found=target, hint=hint)


TABLE_SUFFIXES = (
    *(".parquet", ".pq", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".arrow", ".feather"),
    *(".gz", ".zst", ".lz4", ".bz2", ".xz"),
)


def is_table(path: Any) -> bool:
    """Whether a path is a table of edges, not a chunked graph's metadata or directory."""
    name = str(path)
    if is_url(name):
        return name.endswith(TABLE_SUFFIXES)
    if os.path.isdir(name):
        names = os.listdir(name)
        return METADATA_FILE not in names and ("_delta_log" in names or any(n.endswith(TABLE_SUFFIXES) for n in names))
    if not os.path.isfile(name):
        return glob.has_magic(name)
    with open(name, "rb") as file:
        return not file.read(64).lstrip().startswith(b"{")
