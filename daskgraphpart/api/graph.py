"""`Graph`, the public class: what the passes read, with methods to change and write it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from daskgraphpart.chunked import graph as chunked
from daskgraphpart.engine.progress import PROGRESS
from daskgraphpart.engine.resources import WHERE, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.keywords import with_keywords
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.options import option_name
from daskgraphpart.sources.options import NO_CHANGES, GraphChanges
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.scratch import lasting_directory
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from daskgraphpart.schema import GraphSchema, RowType
    from daskgraphpart.source import FilePath, Source
    from daskgraphpart.sources.table_spec import TableSpec


class Graph(chunked.Graph):
    """A graph: its schema and lazy collections of its edges and features. Immutable: methods return a new graph.

    Attributes
    ----------
    schema : GraphSchema
        Types, counts, features and their dtypes.
    edges : mapping of str to dask.dataframe.DataFrame
        By canonical edge type: int64 columns `src` and `dst`, type-wise IDs, in the order of edge IDs.
    node_data, edge_data : mapping of str to mapping of str to dask.array.Array
        By type and feature, one row per node or edge.

    Examples
    --------
    >>> graph = read_chunked("graph")  # doctest: +SKIP
    >>> graph.edges["author:writes:paper"].src.max().compute()  # doctest: +SKIP
    >>> graph.node_data["paper"]["feat"][:1000].mean(axis=0).compute()  # doctest: +SKIP
    """

    __slots__ = ()

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
            64 MiB
            (CSV: 32 MiB). Your own frames keep their partitions.

        Returns
        -------
        dask.dataframe.DataFrame
            int64 columns `src` and `dst`, type-wise IDs. Computing an invalid row raises an `InputFileError`.
        """
        from daskgraphpart.chunked.collections import edge_frame

        edge_type = self.schema.edge_type(etype)
        num_src, num_dst = (self.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        return edge_frame(self.edge_sources[etype], edge_type, num_src, num_dst, blocksize)

    @with_keywords(WHERE, PROGRESS)
    def write_chunked(
        self,
        out: str | os.PathLike[str],
        *,
        name: str | None = None,
        num_chunks: int | None = None,
        edge_format: str = "parquet",
        data_format: str = "numpy",
        overwrite: bool = False,
        **keywords: Any,
    ) -> Graph:
        """Write the graph as a chunked graph, in DGL's Chunked Graph Data Format, out of core.

        Parameters
        ----------
        out : path
            Output directory; must be empty or absent, unless `overwrite`.
        name : str, optional
            Name of the graph; default: its current name.
        num_chunks : int, optional
            Number of files per edge type and per feature; default: by size.
        edge_format : str
            ``"parquet"``, ``"csv"`` or ``"numpy"``.
        data_format : str
            ``"numpy"`` or ``"parquet"``.
        overwrite : bool
            Replace an existing graph.

        Returns
        -------
        Graph
            The written graph, open.

        Raises
        ------
        OutputExistsError
            If `out` is not empty and cannot be replaced.
        InputFileError
            If the input data are invalid.
        """
        from daskgraphpart.api.chunk_graph import chunk_graph  # slow to import

        form: Any = {"num_chunks": num_chunks, "edges_fmt": edge_format, "data_fmt": data_format}
        chunk_graph(self, name or self._name, output_path=out, overwrite=overwrite, **form, **keywords)
        return read_chunked(out)

    @with_keywords()
    def with_reverse_edges(self, names: str = "dgl", *, copy_edata: bool = False) -> Graph:
        """Add the reverse of every edge.

        Parameters
        ----------
        names : str
            How to name reverse types: ``"dgl"`` for ``rev_REL``, ``"graphstorm"`` for ``REL-rev``, or your own pattern
            such as ``"{}-by"``. Where DGL and GraphStorm add no type, reverse edges join the type itself: ``"dgl"`` if
            source and destination type are the same, ``"graphstorm"`` if the graph has one node and one edge type.
        copy_edata : bool
            Copy edge features to reverse edges. Otherwise reverse types have none, and reverse edges within their own
            type get zeros, as in DGL.

        Returns
        -------
        Graph
            The changed graph. Nothing is written yet: the job that reads the graph adds the edges.

        Raises
        ------
        OptionError
            If a reverse type would have the name of an existing type.

        Examples
        --------
        >>> partition(graph.with_reverse_edges(), "partitions", 8)  # doctest: +SKIP
        """
        return self._changed(add_reverse=names, copy_edata=copy_edata)

    @with_keywords()
    def without_self_loops(self, etypes: str | Sequence[str] | None = None) -> Graph:
        """Drop edges from a node to itself.

        Parameters
        ----------
        etypes : str or sequence of str, optional
            Canonical edge type, or several; default: all.

        Returns
        -------
        Graph
            The changed graph. The job that takes it copies the edges that stay to its workspace.

        Raises
        ------
        OptionError
            If there is no such edge type, or if it joins nodes of two types.

        Examples
        --------
        >>> graph.without_self_loops("user:friend:user")  # doctest: +SKIP
        """
        return self._changed(remove_self_loops=True if etypes is None else etypes)

    @with_keywords()
    def without_duplicates(self, etypes: str | Sequence[str] | None = None) -> Graph:
        """Keep the first of several edges between the same two nodes, with its features.

        Parameters
        ----------
        etypes : str or sequence of str, optional
            Canonical edge type, or several; default: all.

        Returns
        -------
        Graph
            The changed graph. The job that takes it copies the edges that stay to its workspace.

        Raises
        ------
        OptionError
            If there is no such edge type.

        Examples
        --------
        >>> graph.without_duplicates("user:friend:user")  # doctest: +SKIP
        """
        return self._changed(deduplicate=True if etypes is None else etypes)

    def astype(self, dtypes: Mapping[str, str]) -> Graph:
        """Change the dtypes of features.

        Parameters
        ----------
        dtypes : mapping of str to str
            New dtypes by ``"type/feature"``, or by ``"feature"`` for all features of that name. Floats are rounded.

        Returns
        -------
        Graph
            The changed graph; rows are converted when read. A value that would become infinite, or a different integer,
            raises an `OptionError` at that point.

        Raises
        ------
        OptionError
            If there is no such feature or dtype.

        Examples
        --------
        >>> graph.astype({"user/x": "float16"})  # doctest: +SKIP
        """
        return self._changed(cast=dict(dtypes))

    @with_keywords()
    def split_edges(self, etype: str | None = None, *, by: str) -> Graph:
        """Split edge types by a feature: one edge type per value.

        Parameters
        ----------
        etype : str, optional
            Canonical edge type; default: all. ``"user:*:item"`` becomes ``"user:bought:item"``, ``"user:saw:item"``.
        by : str
            Feature, or column of a table, of integers or strings.

        Returns
        -------
        Graph
            The changed graph. The job that takes it copies the edges to its workspace.

        Raises
        ------
        OptionError
            If there is no such edge type or feature.

        Examples
        --------
        >>> graph.split_edges("user:*:item", by="kind")  # doctest: +SKIP
        """
        return self._changed(split_by={etype or "": by})

    def _changed(self, **changes: Any) -> Graph:
        return changed(self, GraphChanges(**changes))

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
            size, num_files = format_size(sum(of.nbytes for of in sources)), sum(len(of.paths) for of in sources)
            rows.append([of_type.name, format_count(of_type.num_rows), str(num_files), size, features])
        return ["type", "count", "files", "size", "features"], rows

    @property
    def _name(self) -> str:
        return self.schema.name


class UnreadGraph(Graph):
    """A graph still to be read from tables or changed; reading its data does both."""

    __slots__ = ("_found", "spec")
    __dataclass_fields__: ClassVar[Any] = {}  # dask would look into the fields, and so read the graph

    spec: TableSpec

    def __init__(self, spec: TableSpec) -> None:
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "_found", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnreadGraph, (self.spec,)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    schema: GraphSchema = property(lambda self: self._read().schema)  # type: ignore[assignment]
    edge_sources: Mapping[str, Source] = property(lambda self: self._read().edge_sources)  # type: ignore[assignment]
    data_sources: Mapping[str, Mapping[str, Source]] = property(lambda self: self._read().data_sources)  # type: ignore[assignment]
    directory: str = property(lambda self: self._read().directory)  # type: ignore[assignment]
    raw_ids: Mapping[str, tuple[FilePath, ...]] = property(lambda self: self._read().raw_ids)  # type: ignore[assignment]

    @property
    def _name(self) -> str:
        return self.spec.name

    def _read(self) -> chunked.Graph:
        """Read the graph once, into a temporary directory."""
        found: chunked.Graph | None = self._found  # type: ignore[attr-defined]
        if found is None:
            from daskgraphpart.sources.stage_tables import stage_tables

            with environment_faults(), open_runner(detect_resources()) as runner:
                found = stage_tables(self.spec, lasting_directory() / "tables", runner)
            object.__setattr__(self, "_found", found)
        return found

    def __repr__(self) -> str:
        return super().__repr__() if self._found is not None else self._outline()  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self._found is not None else f"<pre>{escape(self._outline())}</pre>"  # type: ignore[attr-defined]

    def _outline(self) -> str:
        """Describe the graph without reading it."""
        from daskgraphpart.sources.changed_graph import changes_made

        made = ", ".join(option_name(name)[2:] for name in changes_made(self.spec.changes))
        inner = self.spec.builder
        of = f"edges {', '.join(self.spec.edges)}" if inner is None else repr(getattr(inner, "graph", inner))
        return f"Graph {self.spec.name!r}, not read yet: {of}{made and f'; then {made}'}"


def changed(graph: Graph, changes: GraphChanges) -> Graph:
    """Return a graph with changes, if any."""
    if changes == NO_CHANGES:
        return graph
    from daskgraphpart.sources.changed_graph import changed  # imports duckdb

    return UnreadGraph(changed(getattr(graph, "spec", graph), changes))


def is_unread(graph: object) -> bool:
    """Whether a graph is still to be read."""
    return isinstance(graph, UnreadGraph)


def staged(graph: Any) -> Any:
    """Return a graph with its rows staged if it is still to be read; anything else as it is."""
    return graph._read() if isinstance(graph, UnreadGraph) else graph


def public(graph: chunked.Graph) -> Graph:
    """Return a graph with all its methods."""
    if isinstance(graph, Graph):
        return graph
    return Graph(graph.schema, graph.edge_sources, graph.data_sources, graph.directory, graph.raw_ids)


@with_keywords()
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
    """
    return public(chunked.read_chunked(path, confined=confined, storage_options=storage_options))
