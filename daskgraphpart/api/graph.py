"""The noun `Graph` as users have it: what the passes read, and what can be made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked import graph as chunked
from daskgraphpart.engine.progress import PROGRESS
from daskgraphpart.engine.resources import WHERE
from daskgraphpart.options import with_keywords

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


class Graph(chunked.Graph):
    """A graph: its schema, and lazy collections of its edges and features; made by the functions below, never changed.

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

    @with_keywords(WHERE, PROGRESS)
    def write_chunked(
        self,
        out: str | os.PathLike[str],
        *,
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
        num_chunks : int, optional
            Files of every edge type and every feature; default by size.
        edge_format : str
            ``"parquet"``, ``"csv"`` or ``"numpy"``.
        data_format : str
            ``"numpy"`` or ``"parquet"``.
        overwrite : bool
            Replace a graph that is there.

        Returns
        -------
        Graph
            The graph that was written, open.

        Raises
        ------
        OutputExistsError
            If `out` holds something that may not be replaced.
        InputFileError
            If the data are not what they should be.
        """
        from daskgraphpart.api.chunk_graph import chunk_graph  # jobs do without

        form: Any = {"num_chunks": num_chunks, "edges_fmt": edge_format, "data_fmt": data_format}
        chunk_graph(self, self.schema.name, output_path=out, overwrite=overwrite, **form, **keywords)
        return read_chunked(out)


def public(graph: chunked.Graph) -> Graph:
    """Return a graph with all its methods."""
    return Graph(graph.schema, graph.edge_sources, graph.data_sources, graph.directory, graph.raw_ids)


def read_chunked(
    path: str | os.PathLike[str], *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> Graph:
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
    Graph

    Raises
    ------
    InputFileNotFoundError
        If there is no metadata.
    MetadataError
        If the metadata are wrong; names every key.
    InputFileError
        If a header is damaged, or does not agree with the metadata.
    EnvironmentFaultError
        If a store fails, or refuses access.
    """
    return public(chunked.read_chunked(path, confined=confined, storage_options=storage_options))
