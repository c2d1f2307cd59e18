"""Methods that graphs and scans share: changes, and writing."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from daskgraphpart.engine.progress import Progress, open_progress
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.graph.transforms.changes import NO_CHANGES, GraphChanges, etypes_of
from daskgraphpart.keywords import check_keywords
from daskgraphpart.public import Public
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan

ChangedT = TypeVar("ChangedT", bound="GraphMethods[Any]", covariant=True)


class GraphMethods(Public, ABC, Generic[ChangedT]):
    """A graph, or how to get one; `ChangedT` is what changes without reading edges return."""

    __slots__ = ()
    __all__: ClassVar[tuple[str, ...]] = (
        "astype", "split_edges", "with_reverse_edges", "with_self_loops", "without_duplicates", "without_self_loops",
        "write_chunked",
    )  # fmt: skip

    @check_keywords
    def with_reverse_edges(self, names: str = "dgl", *, copy_edge_data: bool = False) -> ChangedT:
        """Add the reverse of every edge.

        Parameters
        ----------
        names : str
            How to name reverse types: ``"dgl"`` for ``rev_REL``, ``"graphstorm"`` for ``REL-rev``, or your own pattern
            such as ``"{}-by"``. Where DGL and GraphStorm add no type, reverse edges join the type itself: ``"dgl"`` if
            source and destination type are the same, ``"graphstorm"`` if the graph has one node and one edge type.
        copy_edge_data : bool
            Copy edge features to reverse edges. Otherwise reverse types have none, and reverse edges within their own
            type get zeros, as in DGL.

        Returns
        -------
        Graph or Scan
            Of a graph a graph, whose passes read every edge twice; of a scan a scan. Nothing is read or written yet.

        Raises
        ------
        OptionError
            If a reverse type would have the name of an existing type.

        Examples
        --------
        >>> graph.with_reverse_edges().schema.etypes
        ('user:buys:item', 'item:rev_buys:user')
        """
        return self._viewed(GraphChanges(add_reverse=names, copy_edge_data=copy_edge_data))

    @check_keywords
    def without_self_loops(self, etypes: str | Sequence[str] | None = None) -> Scan:
        """Drop edges from a node to itself.

        Parameters
        ----------
        etypes : str or sequence of str, optional
            Canonical edge type, or several; default: all.

        Returns
        -------
        Scan
            Nothing is read yet. The job that takes it copies the edges that stay to its workspace; so does `collect`.

        Raises
        ------
        OptionError
            If there is no such edge type, or if it joins nodes of two types.

        Examples
        --------
        >>> follows = dgp.from_edges(pd.DataFrame({"src": [0, 0, 1], "dst": [0, 1, 0]}))
        >>> follows.without_self_loops().collect().edges["_N:_E:_N"].compute()
           src  dst
        0    0    1
        1    1    0
        """
        return self._scanned(GraphChanges(remove_self_loops=_etypes(etypes)))

    @check_keywords
    def with_self_loops(self, etypes: str | Sequence[str] | None = None) -> Scan:
        """Add an edge from every node to itself, which GCN, GAT and GIN expect.

        Self-loops that are there are dropped first, and the new ones follow all other edges. Their features are 1 (True
        in masks), as with `dgl.AddSelfLoop`.

        Parameters
        ----------
        etypes : str or sequence of str, optional
            Canonical edge type, or several; default: all that join nodes of one type.

        Returns
        -------
        Scan
            Nothing is read yet. The job that takes it copies the edges to its workspace; so does `collect`.

        Raises
        ------
        OptionError
            If there is no such edge type, or if it joins nodes of two types.

        Examples
        --------
        >>> follows = dgp.from_edges(pd.DataFrame({"src": [0, 0, 1], "dst": [0, 1, 0]}))
        >>> follows.with_self_loops().collect().edges["_N:_E:_N"].compute()
           src  dst
        0    0    1
        1    1    0
        2    0    0
        3    1    1
        """
        return self._scanned(GraphChanges(add_self_loops=_etypes(etypes)))

    @check_keywords
    def without_duplicates(self, etypes: str | Sequence[str] | None = None) -> Scan:
        """Keep the first of several edges between the same two nodes, with its features.

        Parameters
        ----------
        etypes : str or sequence of str, optional
            Canonical edge type, or several; default: all.

        Returns
        -------
        Scan
            Nothing is read yet. The job that takes it copies the edges that stay to its workspace; so does `collect`.

        Raises
        ------
        OptionError
            If there is no such edge type.

        Examples
        --------
        >>> follows = dgp.from_edges(pd.DataFrame({"src": [0, 0, 1], "dst": [1, 1, 0]}))
        >>> follows.without_duplicates().collect().edges["_N:_E:_N"].compute()
           src  dst
        0    0    1
        1    1    0
        """
        return self._scanned(GraphChanges(deduplicate=_etypes(etypes)))

    def astype(self, dtypes: Mapping[str, str]) -> ChangedT:
        """Change the dtypes of features.

        Parameters
        ----------
        dtypes : mapping of str to str
            New dtypes by ``"type/feature"``, or by ``"feature"`` for all features of that name. Floats are rounded.

        Returns
        -------
        Graph or Scan
            Of a graph a graph, of a scan a scan; rows are converted when read. A value that would become infinite, or a
            different integer, raises an `OptionError` at that point.

        Raises
        ------
        OptionError
            If there is no such feature or dtype.

        Examples
        --------
        >>> graph.astype({"item/feat": "float16"}).node_data["item"]["feat"].dtype
        dtype('float16')
        """
        return self._viewed(GraphChanges(cast=dict(dtypes)))

    @check_keywords
    def split_edges(self, etype: str | None = None, *, by: str) -> Scan:
        """Split edge types by a feature: one edge type per value.

        Parameters
        ----------
        etype : str, optional
            Canonical edge type; default: all. ``"user:*:item"`` becomes ``"user:bought:item"``, ``"user:saw:item"``.
        by : str
            Feature, or column of a table, of integers or strings.

        Returns
        -------
        Scan
            Nothing is read yet. The job that takes it copies the edges to its workspace; so does `collect`.

        Raises
        ------
        OptionError
            If there is no such edge type or feature.

        Examples
        --------
        >>> events = pd.DataFrame({"src": [0, 0, 1], "dst": [0, 1, 1], "kind": ["saw", "bought", "saw"]})
        >>> scan = dgp.scan_tables({"user:*:item": events}, edge_features=["kind"])
        >>> scan.split_edges("user:*:item", by="kind").collect_schema().etypes
        ('user:bought:item', 'user:saw:item')
        """
        return self._scanned(GraphChanges(edge_types_from={etype or "": by}))

    @check_keywords
    def write_chunked(
        self,
        out: str | os.PathLike[str],
        *,
        name: str | None = None,
        num_chunks: int | None = None,
        edge_format: Literal["parquet", "csv", "numpy"] = "parquet",
        data_format: Literal["numpy", "parquet"] = "numpy",
        overwrite: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        memory: str | int | None = None,
        cluster: str | Client | Cluster | None = None,
        workers: int | None = None,
        workspace: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Graph:
        """Write the graph as a chunked graph, in DGL's Chunked Graph Data Format, out of core.

        Parameters
        ----------
        out : path or URL
            Output directory; must be empty or absent, unless `overwrite`. A URL needs a `workspace` in the store, too.
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
        storage_options : mapping of str to object, optional
            As in `read_chunked`, of the store in which `out` is.
        memory, cluster, workers, workspace, progress : optional
            As in `partition`.

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

        Examples
        --------
        >>> smaller = graph.astype({"item/feat": "float16"}).write_chunked("smaller")
        >>> smaller.nbytes < graph.nbytes
        True
        """
        from daskgraphpart.graph.write_graph import ChunkFormat  # read graphs, which have this method
        from daskgraphpart.jobs.save_graph import Saving, save_graph

        form = ChunkFormat(edge_format, data_format, num_chunks=num_chunks)
        resources = detect_resources(memory, cluster, workers, workspace=workspace, takes_store=True)
        with environment_faults(), open_progress(progress) as listener:
            return save_graph(self, out, storage_options, Saving(form, name or "", overwrite, resources, listener))

    @abstractmethod
    def _viewed(self, changes: GraphChanges) -> ChangedT:
        """Make changes that read no edges."""

    def _scanned(self, changes: GraphChanges) -> Scan:
        """Describe changes that read edges."""
        scan: Scan = self._changed(changes)
        return scan

    def _changed(self, changes: GraphChanges) -> Any:
        from daskgraphpart.graph.changed_scan import change_given  # few jobs change graphs

        return change_given(self, changes)


def _etypes(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return etypes_of(given is None or given)


def change(graph: Any, changes: GraphChanges) -> Any:
    """Return a graph or scan with changes, if any."""
    if changes == NO_CHANGES:
        return graph
    return graph._scanned(changes) if changes.read_edges else graph._viewed(changes)
