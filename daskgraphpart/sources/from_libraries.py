"""Graphs of other libraries: scipy, networkx, PyG, DGL. None of them is imported here; their objects are asked."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.sources.graph_source import HOMOGENEOUS_EDGES, HOMOGENEOUS_NODES, GraphSource, canonical_name

logger = logging.getLogger(__name__)


def from_scipy(matrix: Any) -> GraphSource:
    """Describe a square sparse matrix: an edge from row to column for every stored element, as `dgl.from_scipy`."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise OptionError("not the adjacency of a graph", expected="a square matrix", found=f"shape {matrix.shape}")
    coo = matrix.tocoo(copy=False)
    return GraphSource({HOMOGENEOUS_NODES: matrix.shape[0]}, {HOMOGENEOUS_EDGES: (coo.row, coo.col)})


def from_networkx(graph: Any) -> GraphSource:
    """Describe a networkx graph as `dgl.from_networkx` does: nodes in sorted order, undirected edges both ways.

    Attributes that every node (or edge) has as a number, or as numbers of one shape, become features.
    """
    try:
        nodes = sorted(graph.nodes)
    except TypeError as fault:
        hint = "relabel them, for example with networkx.convert_node_labels_to_integers"
        raise OptionError("nodes of several kinds have no order", found=str(fault), hint=hint) from fault
    number = {node: i for i, node in enumerate(nodes)}
    edges = list((graph if graph.is_directed() else graph.to_directed()).edges(data=True))
    src, dst = (np.fromiter((number[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
    data = {
        HOMOGENEOUS_NODES: _attributes([graph.nodes[node] for node in nodes], "node"),
        HOMOGENEOUS_EDGES: _attributes([edge[2] for edge in edges], "edge"),
    }
    return GraphSource({HOMOGENEOUS_NODES: len(nodes)}, {HOMOGENEOUS_EDGES: (src, dst)}, data)


def _attributes(dictionaries: list[dict[Any, Any]], what: str) -> dict[str, np.ndarray]:
    found = {}
    for name in dict.fromkeys(key for attributes in dictionaries for key in attributes):
        try:
            rows = np.asarray([attributes[name] for attributes in dictionaries])
        except (KeyError, ValueError):
            rows = np.empty(0, object)
        if rows.dtype.kind in "biuf":
            found[str(name)] = rows
        else:
            logger.info("%s attribute %r is left out: not every %s has it as numbers of one shape", what, name, what)
    return found


def from_pyg(data: Any) -> GraphSource:
    """Describe a `torch_geometric.data.Data` or `HeteroData`: edges, and all tensors with a row per node or edge."""
    if hasattr(data, "node_types"):
        nodes = {ntype: data[ntype] for ntype in data.node_types}
        edges = {canonical_name(tuple(etype)): data[etype] for etype in data.edge_types}
    else:
        nodes, edges = {HOMOGENEOUS_NODES: data}, {HOMOGENEOUS_EDGES: data}
    return GraphSource(
        {ntype: store.num_nodes for ntype, store in nodes.items()},
        {etype: _edge_index(store, etype) for etype, store in edges.items()},
        {
            **{ntype: _tensors(store, store.is_node_attr) for ntype, store in nodes.items()},
            **{etype: _tensors(store, store.is_edge_attr) for etype, store in edges.items()},
        },
    )


def _edge_index(store: Any, etype: str) -> tuple[Any, Any]:
    if "edge_index" not in store:
        hint = "convert a sparse adjacency to edge_index first (transforms.ToSparseTensor has done the opposite)"
        raise OptionError(f"{etype} has no edge_index", hint=hint)
    pair = store["edge_index"]
    if pair.ndim != 2 or pair.shape[0] != 2:
        what, found = f"{etype}: not an edge_index", f"shape {tuple(pair.shape)}"
        raise OptionError(what, expected="shape (2, edges)", found=found)
    return pair[0], pair[1]


def _tensors(store: Any, is_wanted: Any) -> dict[str, Any]:
    keys = store.keys() if callable(store.keys) else store.keys
    tensors = [key for key in keys if key not in ("edge_index", "num_nodes") and hasattr(store[key], "detach")]
    return {key: store[key] for key in tensors if is_wanted(key)}


def from_dgl(graph: Any) -> GraphSource:
    """Describe a `DGLGraph`; `_ID` and `_TYPE`, which DGL itself puts there, are left out."""
    if all("coo" not in formats for formats in graph.formats().values()):
        graph = graph.formats("coo")  # which keeps the IDs of edges, and gives them in their order
    frames = {ntype: graph.nodes[ntype].data for ntype in graph.ntypes}
    frames |= {canonical_name(etype): graph.edges[etype].data for etype in graph.canonical_etypes}
    return GraphSource(
        {ntype: graph.num_nodes(ntype) for ntype in graph.ntypes},
        {canonical_name(e): graph.all_edges(form="uv", order="eid", etype=e) for e in graph.canonical_etypes},
        {
            of_type: {name: rows for name, rows in frame.items() if name not in ("_ID", "_TYPE")}
            for of_type, frame in frames.items()
        },
    )
