"""Describe what was handed in as a graph, told apart by its class and never by importing the library it is from."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.graph import Graph, read_chunked
from daskgraphpart.chunked.metadata import check_num_nodes
from daskgraphpart.chunked.sources import is_rows
from daskgraphpart.errors import OptionError
from daskgraphpart.sources.graph_source import (
    HOMOGENEOUS_EDGES,
    HOMOGENEOUS_NODES,
    GraphSource,
    LazyRows,
    canonical_name,
    ids_of,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


KINDS = (
    "a Graph, a dictionary {edge type: frame or pair of arrays}, such a frame or pair, a scipy "
    "sparse matrix, a networkx graph, a PyG Data or HeteroData, or a DGLGraph"
)


def describe(
    graph: Any,
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[str, Any] | None = None,
) -> GraphSource:
    """Describe a graph of one of `KINDS`, the numbers of nodes it does not tell, and features given beside it."""
    source = _as_given(graph)
    counts = count_nodes(source.num_nodes, num_nodes)
    edges = {
        etype: (ids_of(src, f"{etype}, sources"), ids_of(dst, f"{etype}, destinations"))
        for etype, (src, dst) in source.edges.items()
    }
    data = {of_type: dict(features) for of_type, features in source.data.items()}
    beside = {**by_type(node_data, list(counts), "node"), **by_type(edge_data, list(edges), "edge")}
    for of_type, features in beside.items():
        known = data.setdefault(of_type, {})
        if is_dgl_graph(graph):  # as DGL's chunk_graph, which takes files and nothing else
            known = data[of_type] = {name: rows for name, rows in known.items() if name not in features}
        for name in features.keys() & known.keys():
            raise OptionError("feature is given twice", found=f"{of_type}/{name}", hint="the graph itself has it")
        known.update(features)
    described = {
        of_type: {name: rows_of(values, f"{of_type}/{name}") for name, values in features.items()}
        for of_type, features in data.items()
    }
    return replace(source, num_nodes=counts, edges=edges, data=described)


def _as_given(graph: Any) -> GraphSource:
    """Take a graph apart: its edges and features in whatever form they are."""
    if isinstance(graph, (str, os.PathLike)):
        graph = read_chunked(graph)
    if isinstance(graph, Graph):
        return _from_chunked(graph)
    if isinstance(graph, Mapping):
        return _from_edges(graph)
    is_array = hasattr(graph, "shape") and not hasattr(graph, "tocoo")
    if isinstance(graph, (tuple, list)) or is_array or (hasattr(graph, "columns") and hasattr(graph, "dtypes")):
        return _from_edges({HOMOGENEOUS_EDGES: graph})
    modules = {kind.__module__.partition(".")[0] for kind in type(graph).__mro__}
    if "scipy" in modules and hasattr(graph, "tocoo"):
        return from_scipy(graph)
    if "networkx" in modules:
        return from_networkx(graph)
    if "torch_geometric" in modules and hasattr(graph, "edge_stores"):
        return from_pyg(graph)
    if is_dgl_graph(graph):
        return from_dgl(graph)
    raise OptionError("not a graph", expected=KINDS, found=f"{type(graph).__module__}.{type(graph).__name__}")


def is_dgl_graph(graph: Any) -> bool:
    """Whether it is a `DGLGraph`."""
    return "dgl" in {kind.__module__.partition(".")[0] for kind in type(graph).__mro__} and hasattr(
        graph, "canonical_etypes"
    )


def _from_chunked(graph: Graph) -> GraphSource:
    """Describe a chunked graph, to cut it into other chunks."""
    schema = graph.schema
    return GraphSource(
        {t.name: t.num_nodes for t in schema.node_types},
        {e: (LazyRows(e, graph.edges[e], "src"), LazyRows(e, graph.edges[e], "dst")) for e in schema.etypes},
        {
            t.name: {
                name: _rows_of_feature(t.name, name, source) for name, source in graph.data_sources[t.name].items()
            }
            for t in schema.row_types
        },
        tuple(map(str, graph.files)),
    )


def _rows_of_feature(of_type: str, name: str, source: Any) -> Any:
    return source if is_rows(source) else LazyRows(f"{of_type}/{name}", source.array)


def _from_edges(edges: Mapping[Any, Any]) -> GraphSource:
    """Describe a graph in a dictionary: edge type -> frame of pandas or dask, pair of arrays, or array of edges."""
    if not edges:
        raise OptionError("a graph without edge types", expected="{('user', 'follows', 'user'): edges, ...}")
    pairs: dict[str, tuple[Any, Any]] = {}
    data: dict[str, dict[str, Any]] = {}
    for key, value in edges.items():
        etype = canonical_name(key)
        if etype in pairs:
            raise OptionError("edge type is given twice", found=etype)
        if hasattr(value, "columns"):
            pairs[etype], data[etype] = _from_frame(etype, value)
        else:
            pairs[etype] = pair_of(value, f"edges of type {etype!r}")
    ends = (ntype for etype in pairs for ntype in etype.split(":")[::2])
    return GraphSource(dict.fromkeys(ends), pairs, data)


def _from_frame(etype: str, frame: Any) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Return the two columns of IDs of a frame, and the others."""
    names = list(frame.columns)
    if len(names) < 2 or len({*map(str, names)}) != len(names):
        raise OptionError(
            f"edges of type {etype!r}: not a frame of edges",
            expected="columns src and dst, each name once",
            found=", ".join(map(str, names)) or "no columns",
        )
    is_lazy = hasattr(frame, "npartitions")
    columns = {name: LazyRows(f"{etype}/{name}", frame, name) if is_lazy else frame[name] for name in names}
    src, dst = ("src", "dst") if {"src", "dst"} <= set(names) else names[:2]
    return (columns.pop(src), columns.pop(dst)), {str(name): column for name, column in columns.items()}


def pair_of(value: Any, what: str) -> tuple[Any, Any]:
    """Sources and destinations of a pair, of an array (2, edges) such as PyG's, or of one (edges, 2)."""
    shape = tuple(getattr(value, "shape", ()))
    if shape == (2, 2):
        hint = "give a pair: (array[0], array[1]) if rows are ends, (array[:, 0], array[:, 1]) if rows are edges"
        raise OptionError(f"{what} can be read in two ways", found="an array of shape (2, 2)", hint=hint)
    if len(shape) == 2 and shape[1] == 2:
        return value[:, 0], value[:, 1]
    if (len(shape) == 2 and shape[0] == 2) or (isinstance(value, (tuple, list)) and len(value) == 2):
        return value[0], value[1]
    expected = "a frame with columns src and dst, a pair (sources, destinations), or an array of shape (2, edges) or "
    expected += "(edges, 2)"
    found = f"an array of shape {shape}" if shape else type(value).__name__
    raise OptionError(f"{what} are not edges", expected=expected, found=found)


def by_type(data: Mapping[str, Any] | None, types: Sequence[str], what: str) -> dict[str, Mapping[str, Any]]:
    """Return ``{type: {name: values}}``, given so, or as ``{name: values}`` of a graph with one type of them."""
    are_types = [isinstance(value, Mapping) for value in (data or {}).values()]
    if not all(are_types):
        if len(types) != 1 or any(are_types):
            raise OptionError(
                f"{what} data of a graph with several {what} types",
                expected=f"{{{what} type: {{name: rows}}}}",
                found=", ".join(map(str, list(data or ())[:5])),
            )
        data = {types[0]: data}
    by_type = {
        key if what == "node" else canonical_name(key, types): features for key, features in (data or {}).items()
    }
    for name in by_type.keys() - set(types):
        raise OptionError(f"{what} data of an unknown type", expected=f"one of {', '.join(types)}", found=name)
    return by_type


def count_nodes(known: Mapping[str, int | None], given: Mapping[str, int] | int | None) -> dict[str, int | None]:
    """Return the numbers of nodes, of types without edges too; types are in the order of `given` if it has all."""
    if given is not None and not isinstance(given, Mapping):
        if len(known) != 1:
            raise OptionError("several node types", place="num_nodes", expected="{node type: number}", found=given)
        given = dict.fromkeys(known, given)
    given = {ntype: check_num_nodes(count, f"num_nodes of {ntype!r}") for ntype, count in (given or {}).items()}
    for ntype, count in given.items():
        if known.get(ntype) not in (None, count):
            place, expected = f"num_nodes of {ntype!r}", known.get(ntype)
            raise OptionError("impossible number of nodes", place=place, expected=expected, found=count)
    order = given if known.keys() <= given.keys() else {**known, **given}
    return {ntype: given.get(ntype, known.get(ntype)) for ntype in order}


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
