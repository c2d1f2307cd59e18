"""The noun `ChunkedGraph`: a graph in files, opened without reading data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.formats import edge_file, feature_files
from daskgraphpart.chunked.metadata import Metadata, data_key, read_metadata
from daskgraphpart.chunked.output import ID_MAP
from daskgraphpart.errors import InputFileError
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.schema import GraphSchema, RowType
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import cached_listings, is_file
from daskgraphpart.storage.paths import FilePath, join_path, resolve_path, to_key, to_path
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.chunked.collections import Collections
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class ChunkedGraph:
    """A graph in DGL's Chunked Graph Data Format, or of dask collections; data are read when these are computed.

    Parameters
    ----------
    directory : str
        Directory of `metadata.json`.
    schema : GraphSchema
        Types, counts, features and their dtypes.
    edge_files : mapping of str to tuple of InputFile
        By canonical edge type, in the order of edge IDs.
    data_files : mapping of str to mapping of str to tuple of InputFile
        By node type or canonical edge type, and feature, in the order of IDs.
    source : Collections or None
        The user's collections of a graph that is not in files, as `from_collections` makes it.
    raw_ids : mapping of str to tuple of path
        By node type, the files of GSProcessing's `raw_id_mappings`: the IDs that nodes had before it.

    Examples
    --------
    >>> graph = read_chunked("graph")  # doctest: +SKIP
    >>> graph.edges["author:writes:paper"].src.max().compute()  # doctest: +SKIP
    >>> graph.node_data["paper"]["feat"][:1000].mean(axis=0).compute()  # doctest: +SKIP
    """

    directory: str
    schema: GraphSchema
    edge_files: Mapping[str, tuple[InputFile, ...]]
    data_files: Mapping[str, Mapping[str, tuple[InputFile, ...]]]
    source: Collections | None = None
    raw_ids: Mapping[str, tuple[FilePath, ...]] = field(default_factory=dict)

    @property
    def edges(self) -> Mapping[str, Any]:
        """For each canonical edge type a dask DataFrame with int64 columns `src` and `dst`, type-wise IDs."""
        return LazyMapping("edge type", self.schema.etypes, self.edge_frame)

    @property
    def node_data(self) -> Mapping[str, Mapping[str, Any]]:
        """For each node type and feature a dask array with known chunks, one row per node."""
        return self._lazy_data("node", self.schema.node_types)

    @property
    def edge_data(self) -> Mapping[str, Mapping[str, Any]]:
        """For each canonical edge type and feature a dask array with known chunks, one row per edge."""
        return self._lazy_data("edge", self.schema.edge_types)

    @property
    def files(self) -> tuple[InputFile, ...]:
        """All data files."""
        return tuple(file for of_type in self.schema.row_types for file in self._files_of(of_type.name))

    @property
    def id_maps(self) -> dict[str, Location]:
        """By node type, the file whose row i is the user's own ID of node i, if `chunk` has written one."""
        if self.source is not None or not self.directory:
            return {}
        directory = join_path(to_path(self.directory), ID_MAP)
        paths = {ntype: join_path(directory, f"{ntype}.parquet") for ntype in self.schema.ntypes}
        with cached_listings(directory):
            return {ntype: path for ntype, path in paths.items() if is_file(path)}

    def _files_of(self, type_name: str) -> list[InputFile]:
        """Return the files of a type: of its edges, and of its features."""
        of_features = (file for files in self.data_files[type_name].values() for file in files)
        return [*self.edge_files.get(type_name, ()), *of_features]

    @property
    def nbytes(self) -> int:
        """Size of all data files; of a graph of collections that of its edges and rows in memory."""
        if self.source is not None:
            rows = sum(t.num_rows * spec.row_nbytes for t in self.schema.row_types for spec in t.data)
            return rows + 16 * self.schema.num_edges
        return sum(file.nbytes for file in self.files)

    def edge_frame(self, etype: str, blocksize: int | str | None = None) -> Any:
        """Dask DataFrame of the edges of one type.

        Parameters
        ----------
        etype : str
            Canonical edge type.
        blocksize : int or str, optional
            Bytes of one partition, as in `dask.dataframe.read_csv`: of its text (CSV), or about of its frame; default
            64 MiB (CSV: 32 MiB). The user's own frames keep their partitions.

        Returns
        -------
        dask.dataframe.DataFrame
            int64 columns `src` and `dst`, type-wise IDs. A row that is no edge is an `InputFileError` when it is
            computed.
        """
        from daskgraphpart.chunked import collections

        edge_type = self.schema.edge_type(etype)
        num_src, num_dst = (self.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        if self.source is not None:
            return collections.checked_frame(self.source.edges[etype], edge_type, num_src, num_dst)
        return collections.edge_frame(self.edge_files[etype], edge_type, num_src, num_dst, blocksize)

    def _lazy_data(self, kind: str, types: Sequence[RowType]) -> Mapping[str, Mapping[str, Any]]:
        specs = {t.name: {spec.name: spec for spec in t.data} for t in types}

        def array_of(type_name: str, feature: str) -> Any:
            from daskgraphpart.chunked.collections import data_array

            array = None if self.source is None else self.source.array(type_name, feature)
            files = self.data_files[type_name]
            return data_array(specs[type_name][feature], files[feature]) if array is None else array

        def of_type(name: str) -> Mapping[str, Any]:
            return LazyMapping(f"feature of {name}", tuple(specs[name]), lambda feature: array_of(name, feature))

        return LazyMapping(f"{kind} type", tuple(specs), of_type)

    def __repr__(self) -> str:
        return f"{self._title()}\n{text_table(*self._table(), align='<>>><')}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._title())

    def _title(self) -> str:
        counts = f"{format_number(self.schema.num_nodes, 'node')}, {format_number(self.schema.num_edges, 'edge')}"
        return f"ChunkedGraph {self.schema.name!r}: {counts}, {format_size(self.nbytes)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for of_type in self.schema.row_types:
            files = self._files_of(of_type.name)
            features = ", ".join(f"{s.name} {s.dtype.name}{list(s.row_shape) or ''}" for s in of_type.data)
            size = format_size(sum(file.nbytes for file in files))
            rows.append([of_type.name, format_count(of_type.num_rows), str(len(files)), size, features])
        return ["type", "count", "files", "size", "features"], rows


def read_chunked(
    path: str | os.PathLike[str], *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> ChunkedGraph:
    """Open a chunked graph: metadata, npy headers and parquet footers are read and checked, no data.

    Parameters
    ----------
    path : path or URL
        Directory of `metadata.json`, or a metadata file of any name; local, or in a store that fsspec knows
        (``s3://bucket/graph``), of which ranges of bytes are read.
    confined : bool
        Refuse files outside that directory: absolute paths, ``..`` and symbolic links may not lead out of it. For
        graphs from somebody else; otherwise they are honoured.
    storage_options : mapping of str to object, optional
        Of the store, as `fsspec.filesystem` takes them; default: its configuration and the environment.

    Returns
    -------
    ChunkedGraph

    Raises
    ------
    InputFileNotFoundError
        If there is no metadata.
    MetadataError
        If the metadata are wrong; names every key.
    InputFileError
        If the headers of data files do not fit the metadata.
    """
    with environment_faults():
        location = resolve_path(path, storage_options)
        with cached_listings(location):
            return _read_headers(read_metadata(location, confined=confined))


def _read_headers(metadata: Metadata) -> ChunkedGraph:
    schema = metadata.schema
    edge_files, data_files, specs = {}, {}, {}
    for of_type in schema.row_types:
        found = {name: feature_files(name, files) for name, files in metadata.data[of_type.name].items()}
        specs[of_type.name] = tuple(spec for spec, _ in found.values())
        data_files[of_type.name] = {name: files for name, (_, files) in found.items()}
        for name, of_feature in data_files[of_type.name].items():
            place = f"{data_key(of_type.name)}.{of_type.name}.{name}"
            _check_num_rows(metadata, place, of_feature, of_type.num_rows, metadata.data[of_type.name][name].num_rows)
    for etype, files in metadata.edges.items():
        edge_files[etype] = tuple(edge_file(path, files) for path in files.paths)
        if files.format != "csv" or not files.paths:
            num_edges = schema.edge_type(etype).num_edges
            _check_num_rows(metadata, f"edges.{etype}", edge_files[etype], num_edges, files.num_rows)
    schema = GraphSchema(
        schema.name,
        tuple(replace(t, data=specs[t.name]) for t in schema.node_types),
        tuple(replace(t, data=specs[t.name]) for t in schema.edge_types),
    )
    directory = to_key(to_path(metadata.path).parent.absolute())
    return ChunkedGraph(directory, schema, edge_files, data_files, raw_ids=metadata.raw_ids)


def _check_num_rows(
    metadata: Metadata, place: str, files: tuple[InputFile, ...], expected: int, by_file: tuple[int, ...] | None
) -> None:
    for file, count in zip(files, by_file or (), strict=False):
        if file.num_rows != count:
            what, where = "another number of rows than the metadata says", f"{place}.row_counts"
            raise InputFileError(what, file=file.path, place=where, expected=f"{count:,}", found=f"{file.num_rows:,}")
    found = sum(file.num_rows or 0 for file in files)
    if found != expected:
        raise InputFileError(
            "the files hold another number of rows than the metadata says",
            file=metadata.path,
            place=place,
            expected=f"{expected:,} rows",
            found=f"{found:,} in {len(files)} files",
            hint="check the counts per type (or per chunk), and that no file is missing from the list",
        )
