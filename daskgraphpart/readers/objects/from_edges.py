"""`from_edges` and its kind: make a `Graph` from frames, arrays, dask collections or objects of other libraries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.errors import OptionError
from daskgraphpart.extras import is_made_by
from daskgraphpart.keywords import check_keywords
from daskgraphpart.readers.objects.open_object import complete_graph
from daskgraphpart.schema import check_name

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.graph_like import DglGraph, Edges, NetworkxGraph, PygData, SparseMatrix


@check_keywords
def from_edges(
    edges: Edges | Mapping[Any, Edges],
    *,
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[Any, Any] | None = None,
    name: str = "graph",
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> Graph:
    """Make a graph from pandas or dask frames, arrays or pairs of arrays, for one or several edge types.

    `partition` and the other functions take such objects directly; use `from_edges` to add features and numbers of
    nodes. A dask frame is computed once here, to count its rows, and once in every pass over the edges; a dask array
    once in every pass over its feature. If that is expensive, persist them, or write the graph with `chunk_graph`.
    Collections must be deterministic: a dask partition whose length changes between passes is an error.

    Parameters
    ----------
    edges : frame, pair, array, or mapping of str or (str, str, str) to one of these
        Edges of one type, or a mapping from canonical edge types ``src:rel:dst``: a frame of pandas, dask or polars, a
        pyarrow table, a DuckDB relation or a list of these, with integer columns ``src`` and ``dst`` (or else the first
        two) of type-wise IDs starting at 0, a pair of arrays, or an array of shape
        (2, edges) or (edges, 2). Row n is edge n. All other columns are edge features. A task holds one dask
        partition: aim for about ten megabytes each.
    num_nodes : mapping of str to int, or int, optional
        Number of nodes of each type. Default: the number of rows of a feature, else the largest ID plus one. If it
        names all types, type IDs follow its order.
    node_data, edge_data : mapping of str to mapping of str to rows, optional
        Features by type and name, or by name if there is one type: numbers or bool, one row per node or edge. Rows of a
        frame or series of pandas, or of an Arrow table, with node IDs (a column ``id``, or an index that does not just
        count the rows) go by ID, all others in order. Dask series and frames are computed once here, to count rows.
    name : str
        Name of the graph.
    memory, cluster, workers, workspace : optional
        As in `partition`.

    Returns
    -------
    Graph
        A graph without files: its `directory` is empty.

    Raises
    ------
    OptionError
        If `edges` is not a graph or lacks columns, or a feature does not hold numbers or is given twice.
    InputFileError
        If lengths differ.

    Examples
    --------
    >>> follows = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0]})
    >>> dgp.from_edges({"user:follows:user": follows}, node_data={"user": {"age": np.array([31, 25, 47])}})
    Graph 'graph': 3 nodes, 3 edges, 72 B
    type               count  files  size  features
    -----------------  -----  -----  ----  ---------
    user                   3      0  24 B  age int64
    user:follows:user      3      0  48 B
    """
    check_name(name, "graph name")
    further: dict[str, Any] = {"num_nodes": num_nodes, "node_data": node_data, "edge_data": edge_data}
    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    return complete_graph(edges, resources, name=name, **further)


@check_keywords
def from_networkx(
    graph: NetworkxGraph,
    *,
    name: str = "graph",
) -> Graph:
    """Make a graph from a networkx graph, as `dgl.from_networkx` does: sorted nodes, undirected edges both ways.

    Attributes become features if every node (or edge) has them, as numbers or arrays of one shape; others are named in
    a warning, and left out.

    Parameters
    ----------
    graph : networkx.Graph or networkx.DiGraph
        The graph; its nodes must be sortable.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is not a networkx graph, or its nodes cannot be sorted.

    Examples
    --------
    >>> import networkx as nx
    >>> dgp.from_networkx(nx.Graph(nx.karate_club_graph().edges(data=True)))
    Graph 'graph': 34 nodes, 156 edges, 3.7 kB
    type      count  files    size  features
    --------  -----  -----  ------  ------------
    _N           34      0     0 B
    _N:_E:_N    156      0  3.7 kB  weight int64
    """
    return _of("networkx", "nodes", graph, name)


@check_keywords
def from_scipy(
    matrix: SparseMatrix,
    *,
    name: str = "graph",
) -> Graph:
    """Make a graph from a square sparse matrix: one edge from row to column per stored element.

    Parameters
    ----------
    matrix : scipy sparse matrix or array
        Matrix in any format; its values are ignored, as in `dgl.from_scipy`. To keep them:
        ``from_edges(matrix, edge_data={"weight": matrix.tocoo().data})``.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is not a sparse matrix, or not square.

    Examples
    --------
    >>> import scipy.sparse
    >>> dgp.from_scipy(scipy.sparse.eye(100, format="csr"))
    Graph 'graph': 100 nodes, 100 edges, 1.6 kB
    type      count  files    size  features
    --------  -----  -----  ------  --------
    _N          100      0     0 B
    _N:_E:_N    100      0  1.6 kB
    """
    return _of("scipy", "tocoo", matrix, name)


@check_keywords
def from_pyg(
    data: PygData,
    *,
    name: str = "graph",
) -> Graph:
    """Make a graph from PyG's `Data` or `HeteroData`, with every array that has one row per node or edge.

    What has not is named in a warning, and left out.

    Parameters
    ----------
    data : torch_geometric.data.Data or torch_geometric.data.HeteroData
        The data, with `edge_index`.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is not such an object, or has no `edge_index`.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> dgp.from_pyg(Data(x=torch.rand(3, 8), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]])))
    Graph 'graph': 3 nodes, 3 edges, 144 B
    type      count  files  size  features
    --------  -----  -----  ----  ------------
    _N            3      0  96 B  x float32[8]
    _N:_E:_N      3      0  48 B
    """
    return _of("torch_geometric", "edge_stores", data, name)


@check_keywords
def from_dgl(
    graph: DglGraph,
    *,
    name: str = "graph",
) -> Graph:
    """Make a graph from a `DGLGraph`, with its features.

    Parameters
    ----------
    graph : dgl.DGLGraph
        A homogeneous or heterogeneous graph.
    name : str
        Of the graph.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If it is not a `DGLGraph`.

    Examples
    --------
    >>> import dgl
    >>> dgp.from_dgl(dgl.graph(([0, 1, 2], [1, 2, 0])))
    Graph 'graph': 3 nodes, 3 edges, 48 B
    type      count  files  size  features
    --------  -----  -----  ----  --------
    _N            3      0   0 B
    _N:_E:_N      3      0  48 B
    """
    return _of("dgl", "canonical_etypes", graph, name)


def _of(library: str, attribute: str, given: Any, name: str) -> Graph:
    """Make a graph from a library's object, recognised by its class and an attribute."""
    if not is_made_by(library, given) or not hasattr(given, attribute):
        kind = f"{type(given).__module__}.{type(given).__name__}"
        raise OptionError("not a graph of this kind", expected=f"one of {library}", found=kind)
    check_name(name, "graph name")
    return complete_graph(given, detect_resources(), name=name)
