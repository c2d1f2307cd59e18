"""The noun `Graph`: a schema, and sources of edges and features; opens chunked graphs without reading data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.formats import edge_file, feature_files
from daskgraphpart.chunked.metadata import CATEGORIES, ID_MAP, METADATA_FILE, Metadata, data_key, read_metadata
from daskgraphpart.chunked.sources import CsvEdges, FileEdges, FileRows
from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.schema import GraphSchema
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import cached_listings, is_file
from daskgraphpart.storage.paths import join_path, resolve_path, to_key, to_path

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.chunked.formats import InputFile
    from daskgraphpart.source import FilePath, Source
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph: its schema, and sources of its edges and features, read when computed.

    Parameters
    ----------
    schema : GraphSchema
        Types, counts, features and their dtypes.
    edge_sources : mapping of str to Source
        By canonical edge type, in the order of edge IDs.
    data_sources : mapping of str to mapping of str to Source
        By node type or canonical edge type, and feature, in the order of IDs.
    directory : str
        Directory of a chunked graph's `metadata.json`, or of tables' ID maps; else empty.
    raw_ids : mapping of str to tuple of path
        By node type, the files of GSProcessing's `raw_id_mappings`: node IDs before it.
    """

    schema: GraphSchema
    edge_sources: Mapping[str, Source]
    data_sources: Mapping[str, Mapping[str, Source]] = field(default_factory=dict)
    directory: str = ""
    raw_ids: Mapping[str, tuple[FilePath, ...]] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Sources of all edges and features, by type."""
        return tuple(source for of_type in self.schema.row_types for source in self._sources_of(of_type.name))

    @property
    def id_maps(self) -> dict[str, Location]:
        """By node type, the file whose row i is the user's own ID of node i, if `chunk` has written one."""
        if not self.directory:
            return {}
        directory = join_path(to_path(self.directory), ID_MAP)
        paths = {ntype: join_path(directory, f"{ntype}.parquet") for ntype in self.schema.ntypes}
        with cached_listings(directory):
            return {ntype: path for ntype, path in paths.items() if is_file(path)}

    @property
    def is_chunked(self) -> bool:
        """Whether it is a chunked graph, whose files are the user's."""
        return bool(self.directory) and is_file(join_path(to_path(self.directory), METADATA_FILE))

    def refuse_codes(self, type_name: str, feature: str, place: str) -> None:
        """Refuse a feature as a weight if its numbers are codes of strings."""
        path = f"{CATEGORIES}/{type_name}/{feature}.parquet"
        if self.directory and is_file(join_path(to_path(self.directory), path)):
            what, hint = f"{type_name}/{feature} holds text, which cannot be a weight", "name a column of numbers"
            raise OptionError(what, place=place, hint=hint)

    def _sources_of(self, type_name: str) -> list[Source]:
        edges = [self.edge_sources[type_name]] if type_name in self.edge_sources else []
        return [*edges, *self.data_sources.get(type_name, {}).values()]

    @property
    def files(self) -> tuple[FilePath, ...]:
        """All data files."""
        return tuple(path for source in self.sources for path in source.paths)

    @property
    def nbytes(self) -> int:
        """Size of all data files, and of arrays in memory."""
        return sum(source.nbytes for source in self.sources)


def read_chunked(
    path: str | os.PathLike[str], *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> Graph:
    """Open a chunked graph; see `daskgraphpart.read_chunked`."""
    with environment_faults():
        location = resolve_path(path, storage_options)
        with cached_listings(location):
            return _read_headers(read_metadata(location, confined=confined))


def _read_headers(metadata: Metadata) -> Graph:
    schema = metadata.schema
    edges: dict[str, Source] = {}
    data: dict[str, dict[str, Source]] = {}
    specs = {}
    for of_type in schema.row_types:
        found = {name: feature_files(name, files) for name, files in metadata.data[of_type.name].items()}
        specs[of_type.name] = tuple(spec for spec, _ in found.values())
        data[of_type.name] = {name: FileRows(files, spec) for name, (spec, files) in found.items()}
        for name, (_, of_feature) in found.items():
            place = f"{data_key(of_type.name)}.{of_type.name}.{name}"
            _check_num_rows(metadata, place, of_feature, of_type.num_rows, metadata.data[of_type.name][name].num_rows)
    for etype, files in metadata.edges.items():
        opened, num_edges = tuple(edge_file(path, files) for path in files.paths), schema.edge_type(etype).num_edges
        is_text = files.format == "csv" and bool(files.paths)
        edges[etype] = CsvEdges(opened, num_edges) if is_text else FileEdges(opened)
        if not is_text:
            _check_num_rows(metadata, f"edges.{etype}", opened, num_edges, files.num_rows)
    schema = GraphSchema(
        schema.name,
        tuple(replace(t, data=specs[t.name]) for t in schema.node_types),
        tuple(replace(t, data=specs[t.name]) for t in schema.edge_types),
    )
    directory = to_key(to_path(metadata.path).parent.absolute())
    return Graph(schema, edges, data, directory, metadata.raw_ids)


def _check_num_rows(
    metadata: Metadata, place: str, files: tuple[InputFile, ...], expected: int, by_file: tuple[int, ...] | None
) -> None:
    for file, count in zip(files, by_file or (), strict=False):
        if file.num_rows != count:
            what, where = "a different number of rows than the metadata says", f"{place}.row_counts"
            raise InputFileError(what, file=file.path, place=where, expected=f"{count:,}", found=f"{file.num_rows:,}")
    found = sum(file.num_rows or 0 for file in files)
    if found != expected:
        raise InputFileError(
            "the metadata and the files disagree on the number of rows",
            file=metadata.path,
            place=place,
            expected=f"{expected:,} rows",
            found=f"{found:,} in {len(files)} files",
            hint="check the counts per type (or per chunk), and that no file is missing from the list",
        )
