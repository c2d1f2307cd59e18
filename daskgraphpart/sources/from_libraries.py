"""Graphs of other libraries: scipy, networkx, PyG, DGL. None of them is imported here; their objects are asked."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.rows import ArrayRows
from daskgraphpart.errors import OptionError
from daskgraphpart.sources.arrays import as_array, as_ids
from daskgraphpart.sources.graph_source import HOMOGENEOUS_EDGES, HOMOGENEOUS_NODES, GraphSource, canonical_name

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger(__name__)


def from_scipy(matrix: Any) -> GraphSource:
    """Describe a square sparse matrix: an edge from row to column for every stored element, as `dgl.from_scipy`."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise OptionError("not the adjacency of a graph", expected="a square matrix", found=f"shape {matrix.shape}")
    coo = matrix.tocoo(copy=False)
    return _homogeneous(matrix.shape[0], coo.row, coo.col, {}, {})


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
    src = np.fromiter((number[edge[0]] for edge in edges), np.int64, len(edges))
    dst = np.fromiter((number[edge[1]] for edge in edges), np.int64, len(edges))
    node_data = _attributes([graph.nodes[node] for node in nodes], "node")
    return _homogeneous(len(nodes), src, dst, node_data, _attributes([edge[2] for edge in edges], "edge"))


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
    if not hasattr(data, "node_types"):
        node_data, edge_data = _pyg_data(data, is_node=True), _pyg_data(data, is_node=False)
        return _homogeneous(data.num_nodes, *_edge_index(data, "the graph"), node_data, edge_data)
    return GraphSource(
        {ntype: data[ntype].num_nodes for ntype in data.node_types},
        {
            canonical_name(tuple(etype)): _ids(*_edge_index(data[etype], f"edge type {etype}"))
            for etype in data.edge_types
        },
        {ntype: _rows(_pyg_data(data[ntype], is_node=True)) for ntype in data.node_types},
        {canonical_name(tuple(etype)): _rows(_pyg_data(data[etype], is_node=False)) for etype in data.edge_types},
    )


def _edge_index(store: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    if "edge_index" not in store:
        hint = "convert a sparse adjacency to edge_index first (transforms.ToSparseTensor has done the opposite)"
        raise OptionError(f"{what} has no edge_index", hint=hint)
    pair = as_array(store["edge_index"], f"{what}: edge_index")
    if pair.ndim != 2 or pair.shape[0] != 2:
        raise OptionError(f"{what}: not an edge_index", expected="shape (2, edges)", found=f"shape {pair.shape}")
    return pair[0], pair[1]


def _pyg_data(store: Any, *, is_node: bool) -> dict[str, np.ndarray]:
    keys = store.keys() if callable(store.keys) else store.keys
    found = {}
    for key in keys:
        if key in ("edge_index", "num_nodes") or not hasattr(store[key], "detach"):
            continue
        if store.is_node_attr(key) if is_node else store.is_edge_attr(key):
            found[key] = as_array(store[key], key)
    return found


def from_dgl(graph: Any) -> GraphSource:
    """Describe a `DGLGraph`; `_ID` and `_TYPE`, which DGL itself puts there, are left out."""

    def frame(data: Mapping[str, Any]) -> dict[str, Any]:
        return _rows({name: as_array(rows, name) for name, rows in data.items() if name not in ("_ID", "_TYPE")})

    edges = {}
    for etype in graph.canonical_etypes:
        src, dst = graph.all_edges(form="uv", order="eid", etype=etype)
        edges[canonical_name(etype)] = _ids(src, dst)
    return GraphSource(
        {ntype: graph.num_nodes(ntype) for ntype in graph.ntypes},
        edges,
        {ntype: frame(graph.nodes[ntype].data) for ntype in graph.ntypes},
        {canonical_name(etype): frame(graph.edges[etype].data) for etype in graph.canonical_etypes},
    )


def _homogeneous(
    num_nodes: int | None, src: Any, dst: Any, node_data: Mapping[str, Any], edge_data: Mapping[str, Any]
) -> GraphSource:
    return GraphSource(
        {HOMOGENEOUS_NODES: num_nodes},
        {HOMOGENEOUS_EDGES: _ids(src, dst)},
        {HOMOGENEOUS_NODES: _rows(node_data)},
        {HOMOGENEOUS_EDGES: _rows(edge_data)},
    )


def _ids(src: Any, dst: Any) -> tuple[ArrayRows, ArrayRows]:
    return as_ids(src, "sources"), as_ids(dst, "destinations")


def _rows(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: ArrayRows(rows) for name, rows in data.items()}
