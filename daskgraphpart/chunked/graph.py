"""The noun `Graph`: a schema, and sources of edges and features; opens chunked graphs without reading data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.formats import edge_file, feature_files
from daskgraphpart.chunked.metadata import ID_MAP, Metadata, data_key, read_metadata
from daskgraphpart.chunked.sources import FileEdges, FileRows, Source, nbytes_of, paths_of
from daskgraphpart.errors import InputFileError, MetadataError, OptionError
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.schema import DataSpec, GraphSchema, NodeType, RowType, parse_edge_type
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import cached_listings, is_file
from daskgraphpart.storage.paths import FilePath, join_path, resolve_path, to_key, to_path
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.formats import InputFile
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

    Examples
    --------
    >>> graph = read_chunked("graph")  # doctest: +SKIP
    >>> graph.edges["author:writes:paper"].src.max().compute()  # doctest: +SKIP
    >>> graph.node_data["paper"]["feat"][:1000].mean(axis=0).compute()  # doctest: +SKIP
    """

    schema: GraphSchema
    edge_sources: Mapping[str, Source]
    data_sources: Mapping[str, Mapping[str, Source]] = field(default_factory=dict)
    directory: str = ""
    raw_ids: Mapping[str, tuple[FilePath, ...]] = field(default_factory=dict)

    @property
    def edges(self) -> Mapping[str, Any]:
        """A dask DataFrame per canonical edge type, with int64 columns `src` and `dst`, type-wise IDs."""
        return LazyMapping("edge type", self.schema.etypes, self.edge_frame)

    @property
    def node_data(self) -> Mapping[str, Mapping[str, Any]]:
        """A dask array per node type and feature, with known chunks and one row per node."""
        return self._lazy_data("node", self.schema.node_types)

    @property
    def edge_data(self) -> Mapping[str, Mapping[str, Any]]:
        """A dask array per canonical edge type and feature, with known chunks and one row per edge."""
        return self._lazy_data("edge", self.schema.edge_types)

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

    def _sources_of(self, type_name: str) -> list[Source]:
        edges = [self.edge_sources[type_name]] if type_name in self.edge_sources else []
        return [*edges, *self.data_sources.get(type_name, {}).values()]

    @property
    def files(self) -> tuple[FilePath, ...]:
        """All data files."""
        return tuple(path for source in self.sources for path in paths_of(source))

    @property
    def nbytes(self) -> int:
        """Size of all data files, and of arrays in memory."""
        return sum(map(nbytes_of, self.sources))

    def edge_frame(self, etype: str, blocksize: int | str | None = None) -> Any:
        """Dask DataFrame of the edges of one type.

        Parameters
        ----------
        etype : str
            Canonical edge type.
        blocksize : int or str, optional
            Bytes per dask partition, as in `dask.dataframe.read_csv`: of text (CSV) or, roughly, of the frame. Default:
            64 MiB
            (CSV: 32 MiB). Your own frames keep their partitions.

        Returns
        -------
        dask.dataframe.DataFrame
            int64 columns `src` and `dst`, type-wise IDs. Computing an invalid row raises an `InputFileError`.
        """
        from daskgraphpart.chunked import collections

        edge_type = self.schema.edge_type(etype)
        num_src, num_dst = (self.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        return collections.edge_frame(self.edge_sources[etype], edge_type, num_src, num_dst, blocksize)

    def _lazy_data(self, kind: str, types: Sequence[RowType]) -> Mapping[str, Mapping[str, Any]]:
        specs = {t.name: {spec.name: spec for spec in t.data} for t in types}

        def array_of(type_name: str, feature: str) -> Any:
            from daskgraphpart.chunked.collections import data_array

            return data_array(specs[type_name][feature], self.data_sources[type_name][feature])

        def of_type(name: str) -> Mapping[str, Any]:
            return LazyMapping(f"feature of {name}", tuple(specs[name]), lambda feature: array_of(name, feature))

        return LazyMapping(f"{kind} type", tuple(specs), of_type)

    def __repr__(self) -> str:
        return f"{self._title()}\n{text_table(*self._table(), align='<>>><')}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._title())

    def _title(self) -> str:
        counts = f"{format_number(self.schema.num_nodes, 'node')}, {format_number(self.schema.num_edges, 'edge')}"
        return f"Graph {self.schema.name!r}: {counts}, {format_size(self.nbytes)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for of_type in self.schema.row_types:
            sources = self._sources_of(of_type.name)
            features = ", ".join(f"{s.name} {s.dtype.name}{list(s.row_shape) or ''}" for s in of_type.data)
            size, num_files = format_size(sum(map(nbytes_of, sources))), sum(len(paths_of(of)) for of in sources)
            rows.append([of_type.name, format_count(of_type.num_rows), str(num_files), size, features])
        return ["type", "count", "files", "size", "features"], rows


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
        edges[etype] = FileEdges(opened, num_edges)
        if files.format != "csv" or not files.paths:
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


def graph_of(
    name: str,
    num_nodes: Mapping[str, int | None],
    edges: Mapping[str, Source],
    data: Mapping[str, Mapping[str, Source]] | None = None,
) -> Graph:
    """Make a graph from its sources; node and edge types are in the order of type IDs.

    None as number of nodes means the rows of a feature.
    """
    data = data or {}
    schema = schema_of(name, num_nodes, {etype: source.shape[0] for etype, source in edges.items()}, data)
    return Graph(schema, edges, {t.name: data.get(t.name, {}) for t in schema.row_types})


def schema_of(
    name: str,
    num_nodes: Mapping[str, int | None],
    num_edges: Mapping[str, int],
    data: Mapping[str, Mapping[str, Any]],
) -> GraphSchema:
    """Describe a graph by its counts and its features' sources.

    None as number of nodes means the rows of a feature.
    """
    counts = {
        ntype: next(rows.shape[0] for rows in data[ntype].values()) if count is None else int(count)
        for ntype, count in num_nodes.items()
    }
    specs = {
        type_name: tuple(_spec_of(type_name, feature, rows, count) for feature, rows in data.get(type_name, {}).items())
        for type_name, count in {**counts, **num_edges}.items()
    }
    return GraphSchema(
        name,
        tuple(NodeType(ntype, count, specs[ntype]) for ntype, count in counts.items()),
        tuple(parse_edge_type(etype, count, specs[etype]) for etype, count in num_edges.items()),
    )


def _spec_of(type_name: str, feature: str, rows: Any, count: int) -> DataSpec:
    if rows.shape[0] != count:  # also if NaN: a dask array's chunks may be unknown
        raise InputFileError(
            f"feature {feature!r} of {type_name!r} has the wrong number of rows",
            expected=f"{count:,}",
            found=f"{rows.shape[0]:,}",
            hint="call compute_chunk_sizes() of an array with unknown chunks" if np.isnan(rows.shape[0]) else None,
        )
    try:
        return DataSpec(feature, rows.dtype.newbyteorder("="), tuple(rows.shape[1:]))
    except MetadataError as error:
        raise error.restated(OptionError, what=f"{type_name}: {error.what}") from None
