"""`from_edges` and its kind: a graph of collections, frames, arrays or objects, partitioned without being written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.api.graph import Graph, public
from daskgraphpart.engine.resources import WHERE, resources_of
from daskgraphpart.errors import OptionError
from daskgraphpart.options import with_keywords
from daskgraphpart.schema import check_name
from daskgraphpart.sources.given_rows import open_given

if TYPE_CHECKING:
    from collections.abc import Mapping


@with_keywords(WHERE)
def from_edges(
    edges: Any,
    *,
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[Any, Any] | None = None,
    name: str = "graph",
    **keywords: Any,
) -> Graph:
    """Make a graph of edges: frames of pandas or dask, arrays, pairs of them; of one edge type, or by edge type.

    `partition` and its kind take such objects themselves; this gives them features and numbers of nodes. A frame of
    dask is computed once here, to count its rows, and once in every pass over the edges; an array once in every pass
    over its feature. If that is dear, persist them, or write the graph by `chunk_graph`. Collections have to be
    deterministic: partitions that change their length between two passes are an error.

    Parameters
    ----------
    edges : frame, pair, array, or mapping of str or (str, str, str) to one of these
        Of one edge type, or of each canonical edge type ``src:rel:dst``: a frame with columns ``src`` and ``dst`` (or
        else the first two) of integers, type-wise IDs from 0 on; or a pair of arrays, or an array of shape (2, edges)
        or (edges, 2). Row n is edge n. All other columns are features of the edges. A task holds one partition of
        dask, whose size should be some ten megabytes.
    num_nodes : mapping of str to int, or int, optional
        Nodes of each type. Default: the rows of a feature, else the largest ID and one. Type IDs are in this order if
        it has all types.
    node_data, edge_data : mapping of str to mapping of str to rows, optional
        Features by type and name, or by name if there is one type, one row per node or edge: numbers or bool. Series
        and frames of dask are computed once here, to count their rows.
    name : str
        Of the graph.

    Returns
    -------
    Graph
        Without files: its `directory` is empty.

    Raises
    ------
    OptionError
        If it is no graph, lacks columns, or a feature does not hold numbers or is given twice.
    InputFileError
        If lengths do not agree.

    Examples
    --------
    >>> graph = from_edges({"user:follows:user": frame}, num_nodes={"user": 1000})  # doctest: +SKIP
    >>> partition(graph, "partitions", 4)  # doctest: +SKIP
    """
    check_name(name, "graph name")
    return public(open_given(edges, name, num_nodes, node_data, edge_data, resources=resources_of(keywords)))


@with_keywords(WHERE)
def from_networkx(graph: Any, *, name: str = "graph", **keywords: Any) -> Graph:
    """Make a graph of one of networkx, as `dgl.from_networkx` does: nodes in sorted order, undirected edges both ways.

    Attributes that every node (or edge) has as a number, or as numbers of one shape, become features.

    Parameters
    ----------
    graph : networkx.Graph or networkx.DiGraph
        The graph, whose nodes can be sorted.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is no graph of networkx, or its nodes have no order.

    Examples
    --------
    >>> graph = from_networkx(networkx.karate_club_graph())  # doctest: +SKIP
    """
    return _of("networkx", "nodes", graph, name, keywords)


@with_keywords(WHERE)
def from_scipy(matrix: Any, *, name: str = "graph", **keywords: Any) -> Graph:
    """Make a graph of a square sparse matrix: an edge from row to column for every stored element.

    Parameters
    ----------
    matrix : scipy sparse matrix or array
        Of any format; its values are left out, as by `dgl.from_scipy`.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is no sparse matrix, or not square.

    Examples
    --------
    >>> graph = from_scipy(scipy.sparse.random(100, 100, 0.1))  # doctest: +SKIP
    """
    return _of("scipy", "tocoo", matrix, name, keywords)


@with_keywords(WHERE)
def from_pyg(data: Any, *, name: str = "graph", **keywords: Any) -> Graph:
    """Make a graph of PyG's `Data` or `HeteroData`: edges, and all tensors with a row for each node or edge.

    Parameters
    ----------
    data : torch_geometric.data.Data or torch_geometric.data.HeteroData
        With `edge_index`.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is no such object, or has no `edge_index`.

    Examples
    --------
    >>> graph = from_pyg(torch_geometric.datasets.KarateClub()[0])  # doctest: +SKIP
    """
    return _of("torch_geometric", "edge_stores", data, name, keywords)


@with_keywords(WHERE)
def from_dgl(graph: Any, *, name: str = "graph", **keywords: Any) -> Graph:
    """Make a graph of a `DGLGraph`, with its features.

    Parameters
    ----------
    graph : dgl.DGLGraph
        With one type, or several.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is no `DGLGraph`.

    Examples
    --------
    >>> graph = from_dgl(dgl.graph(([0, 1], [1, 2])))  # doctest: +SKIP
    """
    return _of("dgl", "canonical_etypes", graph, name, keywords)


def _of(library: str, attribute: str, given: Any, name: str, keywords: dict[str, Any]) -> Graph:
    """Make a graph of an object of a library, told by its class and by an attribute."""
    is_one = library in {kind.__module__.partition(".")[0] for kind in type(given).__mro__}
    if not is_one or not hasattr(given, attribute):
        found = f"{type(given).__module__}.{type(given).__name__}"
        raise OptionError("not a graph of this kind", expected=f"one of {library}", found=found)
    return from_edges(given, name=name, **keywords)
