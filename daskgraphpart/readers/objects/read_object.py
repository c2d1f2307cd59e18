"""Read a given graph by its class, without importing its library."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.extras import is_dgl_graph, is_made_by
from daskgraphpart.graph.graph import Graph, read_chunked
from daskgraphpart.graph.scan import check_read
from daskgraphpart.readers.names_of_ends import ENDS, index_as_ends
from daskgraphpart.readers.tabular import as_pandas, as_table, ends_of, is_frame, is_lazy, pair_of
from daskgraphpart.readers.type_names import canonical_name, ends_of_types
from daskgraphpart.schema import DEFAULT_ETYPE as HOMOGENEOUS_EDGES
from daskgraphpart.schema import DEFAULT_NTYPE as HOMOGENEOUS_NODES
from daskgraphpart.schema import by_plain_name

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """What is in a given graph; node and edge types are in the order of type IDs.

    None stands for an unknown number of nodes. Edges are sources, dask frames, or pairs of ID collections; `data` are
    features by type and name, in any form; `left_out` says what is in none, and how to keep it, by name.
    """

    num_nodes: Mapping[str, int | None]
    edges: Mapping[str, Any]
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def read_object(graph: Any) -> Given | None:
    """Read a graph, the path of a chunked graph, or an object that holds edges; None if it is none of these."""
    check_read(graph)
    if isinstance(graph, (str, os.PathLike)):
        graph = read_chunked(graph)
    read = find_reader(graph)
    return None if read is None else read(graph)


def find_reader(graph: Any) -> Callable[[Any], Given] | None:
    """Find what reads a graph of its kind; None if it is of no kind that is known here."""
    if isinstance(graph, Graph):
        return _from_chunked
    if isinstance(graph, Mapping) and not is_made_by("datasets", graph):  # whose splits are no edge types
        return _from_edges
    table = as_table(graph, "edges", index_as_ends)
    is_array = hasattr(table, "shape") and not hasattr(table, "tocoo")
    if isinstance(table, (tuple, list)) or is_array or is_frame(table):
        return lambda _: _from_edges({HOMOGENEOUS_EDGES: table})
    if is_made_by("scipy", graph) and hasattr(graph, "tocoo"):
        return _from_scipy
    if is_made_by("networkx", graph):
        return _from_networkx
    if is_made_by("torch_geometric", graph) and hasattr(graph, "edge_stores"):
        return _from_pyg
    return _from_dgl if is_dgl_graph(graph) else None


def _from_chunked(graph: Graph) -> Given:
    """Take a graph apart, to add features or cut it differently."""
    return Given({t.name: t.num_nodes for t in graph.schema.node_types}, graph.edge_sources, graph.data_sources)


def _from_edges(edges: Mapping[Any, Any]) -> Given:
    """Describe a dictionary: edge type -> pandas or dask frame, pair of arrays, or array of edges."""
    if not edges:
        raise OptionError("the graph has no edge types", expected="{('user', 'follows', 'user'): edges, ...}")
    pairs: dict[str, Any] = {}
    data: dict[str, dict[str, Any]] = {}
    for key, value in edges.items():
        etype = canonical_name(key)
        if etype in pairs:
            raise OptionError("edge type is given twice", found=etype)
        table = as_table(value, f"edges of type {etype!r}", index_as_ends)
        if is_frame(table):
            pairs[etype], data[etype] = _from_frame(etype, as_pandas(table))
        else:
            pairs[etype] = pair_of(value, f"edges of type {etype!r}")
    return Given(dict.fromkeys(ends_of_types(pairs)), pairs, data)


def _from_frame(etype: str, frame: Any) -> tuple[Any, dict[str, Any]]:
    """Return a frame's two ID columns (dask: a frame of `src` and `dst`), and the others."""
    names = list(frame.columns)
    if len(names) < 2 or len({*map(str, names)}) != len(names):
        raise OptionError(
            f"edges of type {etype!r}: not a frame of edges",
            expected="columns src and dst, each name once",
            found=", ".join(map(str, names)) or "no columns",
        )
    ends = ends_of(names, etype)
    edges: Any = frame[ends[0]], frame[ends[1]]
    if is_lazy(frame):
        edges = frame[list(ends)].rename(columns=dict(zip(ends, ENDS, strict=True))) if ends != ENDS else frame[[*ENDS]]
    others = {str(name): name for name in names if name not in ends}
    features = by_plain_name(others, "columns")
    if renamed := [f"{name!r} is {feature}" for feature, name in features.items() if name != feature]:
        logger.warning("edges of type %r: columns get names that files can hold: %s", etype, ", ".join(renamed))
    return edges, {feature: frame[others[name]] for feature, name in features.items()}


def _from_scipy(matrix: Any) -> Given:
    """Describe a square sparse matrix: an edge from row to column per stored element, as `dgl.from_scipy`."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise OptionError("not the adjacency of a graph", expected="a square matrix", found=f"shape {matrix.shape}")
    coo = matrix.tocoo(copy=False)
    edges, left_out = {HOMOGENEOUS_EDGES: (coo.row, coo.col)}, {}
    if coo.nnz and (coo.data != coo.data[0]).any():
        keep = "from_edges(matrix, edge_data={'weight': matrix.tocoo().data}) keeps them"
        left_out["weight"] = f"the values of the matrix; {keep}"
    return Given({HOMOGENEOUS_NODES: matrix.shape[0]}, edges, left_out=left_out)


def _from_networkx(graph: Any) -> Given:
    """Describe a networkx graph as `dgl.from_networkx` does: sorted nodes, undirected edges both ways.

    Attributes become features if every node (or edge) has them, as numbers or arrays of one shape.
    """
    try:
        nodes = sorted(graph.nodes)
    except TypeError as fault:
        hint = "relabel them, for example by networkx.convert_node_labels_to_integers"
        raise OptionError("cannot sort the nodes", found=str(fault), hint=hint) from fault
    number = {node: i for i, node in enumerate(nodes)}
    edges = list((graph if graph.is_directed() else graph.to_directed()).edges(data=True))
    src, dst = (np.fromiter((number[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
    left_out: dict[str, str] = {}
    data = {
        HOMOGENEOUS_NODES: _attributes([graph.nodes[node] for node in nodes], "node", left_out),
        HOMOGENEOUS_EDGES: _attributes([edge[2] for edge in edges], "edge", left_out),
    }
    return Given({HOMOGENEOUS_NODES: len(nodes)}, {HOMOGENEOUS_EDGES: (src, dst)}, data, left_out)


def _attributes(dictionaries: list[dict[Any, Any]], what: str, left_out: dict[str, str]) -> dict[str, np.ndarray]:
    columns = {}
    for name in dict.fromkeys(key for attributes in dictionaries for key in attributes):
        lacking = sum(name not in attributes for attributes in dictionaries)
        try:
            rows = np.asarray([] if lacking else [attributes[name] for attributes in dictionaries])
        except ValueError:  # of different lengths
            rows = np.empty(0, object)
        if not lacking and rows.dtype.kind in "biuf":
            columns[str(name)] = rows
            continue
        count = f"{lacking:,} of {len(dictionaries):,} {what}s lack it"
        why = count if lacking else "its values are not numbers of one shape"
        keep = f"networkx.set_{what}_attributes(graph, NUMBERS, {name!r}), with one for each {what}, keeps it"
        left_out[str(name)] = f"{what} attribute {name!r}: {why}; {keep}"
    return columns


def _from_pyg(data: Any) -> Given:
    """Describe a PyG `Data` or `HeteroData`: edges, and all tensors with a row per node or edge."""
    if hasattr(data, "node_types"):
        nodes = {ntype: data[ntype] for ntype in data.node_types}
        edges = {canonical_name(tuple(etype)): data[etype] for etype in data.edge_types}
    else:
        nodes, edges = {HOMOGENEOUS_NODES: data}, {HOMOGENEOUS_EDGES: data}
    features = {
        **{ntype: _tensors(store, store.is_node_attr) for ntype, store in nodes.items()},
        **{etype: _tensors(store, store.is_edge_attr) for etype, store in edges.items()},
    }
    of_all = getattr(data, "_global_store", {})
    named = {key for store in (*nodes.values(), *edges.values(), of_all) for key in _keys(store)}
    return Given(
        {ntype: store.num_nodes for ntype, store in nodes.items()},
        {etype: _edge_index(store, etype) for etype, store in edges.items()},
        features,
        {name: _no_rows(name) for name in sorted(named.difference(*features.values()))},
    )


def _no_rows(name: str) -> str:
    what = "IDs or owners within another graph" if name in OF_PARTS else "not an array with a row per node or edge"
    return f"{name!r}: {what}; node_data or edge_data of from_edges takes it"


def _edge_index(store: Any, etype: str) -> tuple[Any, Any]:
    if "edge_index" not in store:
        hint = "convert the sparse adjacency to edge_index first (undo transforms.ToSparseTensor)"
        raise OptionError(f"{etype} has no edge_index", hint=hint)
    pair = store["edge_index"]
    if pair.ndim != 2 or pair.shape[0] != 2:
        what, shape = f"{etype}: not an edge_index", f"shape {tuple(pair.shape)}"
        raise OptionError(what, expected="shape (2, edges)", found=shape)
    return pair[0], pair[1]


OF_PARTS = ("n_id", "e_id", "input_id", "inner_mask", "inner_edge_mask", "inner_node", "inner_edge", "part_id")
"""What batches and parts of PyG and DGL have besides features: IDs within the whole graph, and what they own."""


def _keys(store: Any) -> list[str]:
    keys = store.keys() if callable(store.keys) else store.keys
    return [key for key in keys if key not in ("edge_index", "num_nodes")]


def _tensors(store: Any, is_wanted: Any) -> dict[str, Any]:
    tensors = [key for key in _keys(store) if key not in OF_PARTS]
    is_rows = {key: hasattr(store[key], "detach") or isinstance(store[key], np.ndarray) for key in tensors}
    return {key: store[key] for key in tensors if is_rows[key] and is_wanted(key)}


def _from_dgl(graph: Any) -> Given:
    """Describe a `DGLGraph`, without DGL's own `_ID` and `_TYPE`."""
    if all("coo" not in formats for formats in graph.formats().values()):
        graph = graph.formats("coo")  # keeps edge IDs, and gives edges in their order
    frames = {ntype: graph.nodes[ntype].data for ntype in graph.ntypes}
    frames |= {canonical_name(etype): graph.edges[etype].data for etype in graph.canonical_etypes}
    return Given(
        {ntype: graph.num_nodes(ntype) for ntype in graph.ntypes},
        {canonical_name(e): graph.all_edges(form="uv", order="eid", etype=e) for e in graph.canonical_etypes},
        {
            of_type: {name: rows for name, rows in frame.items() if name not in ("_ID", "_TYPE", *OF_PARTS)}
            for of_type, frame in frames.items()
        },
        {name: _no_rows(name) for frame in frames.values() for name in frame if name in OF_PARTS},
    )
