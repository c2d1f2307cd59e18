"""The noun `Graph`: a schema, and sources of edges and features; opens chunked graphs without reading data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError, MetadataError, OptionError
from daskgraphpart.graph.collections import data_array, edge_frame
from daskgraphpart.graph.companion_files import find_companions
from daskgraphpart.graph.formats import InputFile, edge_file, feature_files
from daskgraphpart.graph.graph_methods import GraphMethods
from daskgraphpart.graph.graph_sources import GraphSources
from daskgraphpart.graph.metadata import Metadata, data_key, read_metadata
from daskgraphpart.graph.sources import CsvEdges, FileEdges, FileRows
from daskgraphpart.keywords import check_keywords
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.schema import DataSpec, GraphSchema, NodeType, RowType, parse_edge_type
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import cached_listings
from daskgraphpart.storage.paths import resolve_path, to_key, to_path
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.source import Source


@dataclass(frozen=True, slots=True, repr=False)
class Graph(GraphSources, GraphMethods["Graph"]):
    """A graph: its schema and lazy collections of its edges and features. Immutable: methods return a new graph.

    Attributes
    ----------
    schema : GraphSchema
        Types, counts, features and their dtypes.
    edges : mapping of str to dask.dataframe.DataFrame
        By canonical edge type: int64 columns `src` and `dst`, type-wise IDs, in the order of edge IDs.
    node_data, edge_data : mapping of str to mapping of str to dask.array.Array
        By type and feature, one row per node or edge.
    directory : str
        Directory of a chunked graph's `metadata.json`; else empty.

    Examples
    --------
    >>> graph = dgp.read_chunked("shop")
    >>> graph.edges["user:buys:item"].src.max().compute()
    np.int64(999)
    >>> graph.node_data["item"]["feat"].mean(axis=0).compute().round(2)
    array([0.51, 0.5 , 0.47, 0.48, 0.47, 0.51, 0.48, 0.51], dtype=float32)
    """

    __all__ = (
        *GraphMethods.__all__, "directory", "edge_data", "edge_frame", "edges", "files", "id_maps", "name", "nbytes",
        "node_data", "num_edges", "num_nodes", "schema",
    )  # fmt: skip

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

    def edge_frame(self, etype: str, blocksize: int | str | None = None) -> Any:
        """Dask DataFrame of the edges of one type.

        Parameters
        ----------
        etype : str
            Canonical edge type.
        blocksize : int or str, optional
            Bytes per dask partition, as in `dask.dataframe.read_csv`: of text (CSV) or, roughly, of the frame. Default:
            64 MiB (CSV: 32 MiB). Your own frames keep their partitions.

        Returns
        -------
        dask.dataframe.DataFrame
            int64 columns `src` and `dst`, type-wise IDs. Computing an invalid row raises an `InputFileError`.

        Examples
        --------
        >>> graph.edge_frame("user:buys:item").head(3)
           src  dst
        0  850  154
        1  636   44
        2  511  193
        """
        edge_type = self.schema.edge_type(etype)
        num_src, num_dst = (self.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        return edge_frame(self.edge_sources[etype], edge_type, num_src, num_dst, blocksize)

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all types; ``schema.node_type(ntype).num_nodes`` is that of one."""
        return self.schema.num_nodes

    @property
    def num_edges(self) -> int:
        """Number of edges of all types."""
        return self.schema.num_edges

    def _viewed(self, changes: GraphChanges) -> Graph:
        viewed: Graph = self._changed(changes)
        return viewed

    def _lazy_data(self, kind: str, types: Sequence[RowType]) -> Mapping[str, Mapping[str, Any]]:
        specs = {t.name: {spec.name: spec for spec in t.data} for t in types}

        def array_of(type_name: str, feature: str) -> Any:
            return data_array(specs[type_name][feature], self.data_sources[type_name][feature])

        def of_type(name: str) -> Mapping[str, Any]:
            return LazyMapping(f"feature of {name}", tuple(specs[name]), lambda feature: array_of(name, feature))

        return LazyMapping(f"{kind} type", tuple(specs), of_type)

    if not TYPE_CHECKING:  # a checker knows the names

        def __getattr__(self, name: str) -> Any:
            if hasattr(GraphSchema, name):
                what = f"'Graph' object has no attribute {name!r}; its schema has: .schema.{name}"
                raise AttributeError(what, name=name, obj=self)
            raise AttributeError(f"'Graph' object has no attribute {name!r}", name=name, obj=self)

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
            size, num_files = format_size(sum(of.nbytes for of in sources)), sum(len(of.paths) for of in sources)
            rows.append([of_type.name, format_count(of_type.num_rows), str(num_files), size, features])
        return ["type", "count", "files", "size", "features"], rows


def graph_of(
    name: str,
    num_nodes: Mapping[str, int],
    edges: Mapping[str, Source],
    data: Mapping[str, Mapping[str, Source]],
) -> Graph:
    """Make a graph from its sources; node and edge types are in the order of type IDs."""
    counts = {**num_nodes, **{etype: source.shape[0] for etype, source in edges.items()}}
    sources = {of_type: data.get(of_type, {}) for of_type in counts}
    specs = {
        of_type: tuple(_spec_of(of_type, feature, rows, counts[of_type]) for feature, rows in features.items())
        for of_type, features in sources.items()
    }
    node_types = tuple(NodeType(ntype, int(count), specs[ntype]) for ntype, count in num_nodes.items())
    edge_types = tuple(parse_edge_type(etype, counts[etype], specs[etype]) for etype in edges)
    return Graph(GraphSchema(name, node_types, edge_types), edges, sources)


def _spec_of(type_name: str, feature: str, rows: Source, count: int) -> DataSpec:
    if rows.shape[0] != count:
        what = f"feature {feature!r} of {type_name!r} has the wrong number of rows"
        raise InputFileError(what, expected=f"{count:,}", found=f"{rows.shape[0]:,}")
    try:
        return DataSpec(feature, rows.dtype.newbyteorder("="), tuple(rows.shape[1:]))
    except MetadataError as error:
        raise error.restated(OptionError, what=f"{type_name}: {error.what}") from None


@check_keywords
def read_chunked(
    path: str | os.PathLike[str], *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> Graph:
    """Open a chunked graph: read and check metadata, npy headers and parquet footers, but no data.

    Parameters
    ----------
    path : path or URL
        Directory of `metadata.json`, or a metadata file of any name; local, or in any store fsspec supports
        (``s3://bucket/graph``). From a store, only the needed byte ranges are read.
    confined : bool
        Refuse files outside that directory, whether by absolute path, ``..`` or symbolic link. Use it for graphs you do
        not trust; by default, such paths are followed.
    storage_options : mapping of str to object, optional
        Credentials and options of the store, as for `fsspec.filesystem`; default: its configuration and the
        environment.

    Returns
    -------
    Graph

    Raises
    ------
    InputFileNotFoundError
        If there is no metadata file.
    MetadataError
        If the metadata is invalid; the message lists every wrong key.
    InputFileError
        If a header is damaged, or contradicts the metadata.
    EnvironmentFaultError
        If a store fails or denies access.

    Examples
    --------
    >>> graph = dgp.read_chunked("shop")
    >>> graph
    Graph 'shop': 1,200 nodes, 5,000 edges, 68.1 kB
    type            count  files     size  features
    --------------  -----  -----  -------  --------------------------
    user            1,000      2   9.3 kB  age int64, train_mask bool
    item              200      1   6.5 kB  feat float32[8]
    user:buys:item  5,000      2  52.4 kB  price float32
    """
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
        of_type_data = {name: feature_files(name, files) for name, files in metadata.data[of_type.name].items()}
        specs[of_type.name] = tuple(spec for spec, _ in of_type_data.values())
        data[of_type.name] = {name: FileRows(files, spec) for name, (spec, files) in of_type_data.items()}
        for name, (_, of_feature) in of_type_data.items():
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
    directory = to_path(metadata.path).parent.absolute()
    return Graph(schema, edges, data, to_key(directory), metadata.raw_ids, find_companions(directory, schema))


def _check_num_rows(
    metadata: Metadata, place: str, files: tuple[InputFile, ...], expected: int, by_file: tuple[int, ...] | None
) -> None:
    for file, count in zip(files, by_file or (), strict=False):
        if file.num_rows != count:
            what, where = "a different number of rows than the metadata says", f"{place}.row_counts"
            raise InputFileError(what, file=file.path, place=where, expected=f"{count:,}", found=f"{file.num_rows:,}")
    total = sum(file.num_rows or 0 for file in files)
    if total != expected:
        raise InputFileError(
            "the metadata and the files disagree on the number of rows",
            file=metadata.path,
            place=place,
            expected=f"{expected:,} rows",
            found=f"{total:,} in {len(files)} files",
            hint="check the counts per type (or per chunk), and that no file is missing from the list",
        )
