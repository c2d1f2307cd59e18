"""Describe what was handed in as a graph, told apart by its class and never by importing the library it is from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.chunked.rows import FileRows
from daskgraphpart.errors import OptionError
from daskgraphpart.sources.arrays import as_ids, data_of, rows_of
from daskgraphpart.sources.from_libraries import from_dgl, from_networkx, from_pyg, from_scipy
from daskgraphpart.sources.graph_source import HOMOGENEOUS_EDGES, GraphSource, LazyFrame, canonical_name

if TYPE_CHECKING:
    from daskgraphpart.sources.graph_source import GivenRows

    DataOfTypes = Mapping[str, Mapping[str, GivenRows]]

KINDS = (
    "a ChunkedGraph, a dictionary {edge type: frame or pair of arrays}, such a frame or pair, a scipy "
    "sparse matrix, a networkx graph, a PyG Data or HeteroData, or a DGLGraph"
)


def describe(
    graph: Any,
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[str, Any] | None = None,
) -> GraphSource:
    """Describe a graph of one of `KINDS`, the numbers of nodes it does not tell, and features given beside it."""
    source = _described(graph)
    source = replace(source, num_nodes=_counts(source, num_nodes))
    return replace(
        source,
        node_data=_joined(source.node_data, data_of(node_data, list(source.num_nodes), "node")),
        edge_data=_joined(source.edge_data, data_of(edge_data, list(source.edges), "edge")),
    )


def _described(graph: Any) -> GraphSource:
    if isinstance(graph, (str, os.PathLike)):
        graph = read_chunked(graph)
    if isinstance(graph, ChunkedGraph):
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
    if "dgl" in modules and hasattr(graph, "canonical_etypes"):
        return from_dgl(graph)
    raise OptionError("not a graph", expected=KINDS, found=f"{type(graph).__module__}.{type(graph).__name__}")


def _from_chunked(graph: ChunkedGraph) -> GraphSource:
    """Describe a chunked graph, to cut it into other chunks."""

    def data(types: Any) -> dict[str, dict[str, GivenRows]]:
        files = graph.data_files
        return {t.name: {spec.name: FileRows(spec, files[t.name][spec.name]) for spec in t.data} for t in types}

    schema = graph.schema
    return GraphSource(
        {t.name: t.num_nodes for t in schema.node_types},
        {etype: LazyFrame(graph.edges[etype], ["src", "dst"]) for etype in schema.etypes},
        data(schema.node_types),
        data(schema.edge_types),
        tuple(file.path for files in graph.edge_files.values() for file in files),
    )


def _from_edges(edges: Mapping[Any, Any]) -> GraphSource:
    """Describe a graph in a dictionary: edge type -> frame of pandas or dask, pair of arrays, or array of edges."""
    if not edges:
        raise OptionError("a graph without edge types", expected="{('user', 'follows', 'user'): edges, ...}")
    found: dict[str, Any] = {}
    edge_data: dict[str, Mapping[str, GivenRows]] = {}
    for key, value in edges.items():
        etype = canonical_name(key)
        if etype in found:
            raise OptionError("edge type is given twice", found=etype)
        if hasattr(value, "columns"):
            found[etype], edge_data[etype] = _from_frame(etype, value)
        else:
            pair = _pair_of(value, f"edges of type {etype!r}")
            found[etype] = tuple(_ids_of(end, f"{etype}, {name}") for end, name in zip(pair, _ENDS, strict=True))
    ends = (ntype for etype in found for ntype in etype.split(":")[::2])
    return GraphSource(dict.fromkeys(ends), found, {}, edge_data)


_ENDS = ("sources", "destinations")


def _from_frame(etype: str, frame: Any) -> tuple[Any, dict[str, Any]]:
    names = list(frame.columns)
    if len(names) < 2 or len(set(names)) != len(names):
        raise OptionError(
            f"edges of type {etype!r}: not a frame of edges",
            expected="columns src and dst, each name once",
            found=", ".join(map(str, names)) or "no columns",
        )
    ends = ["src", "dst"] if {"src", "dst"} <= set(names) else names[:2]
    features = [name for name in names if name not in ends]
    if hasattr(frame, "npartitions"):
        return LazyFrame(frame, [*ends, *features]), {}
    pair = tuple(as_ids(frame[end], f"{etype}, column {end!r}") for end in ends)
    return pair, {str(name): rows_of(frame[name], f"{etype}, column {name!r}") for name in features}


def _pair_of(value: Any, what: str) -> tuple[Any, Any]:
    """Sources and destinations of a pair, of an array (2, edges) such as PyG's, or of one (edges, 2)."""
    shape = tuple(getattr(value, "shape", ()))
    if shape == (2, 2):
        hint = "give a pair: (array[0], array[1]) if rows are ends, (array[:, 0], array[:, 1]) if rows are edges"
        raise OptionError(f"{what} can be read in two ways", found="an array of shape (2, 2)", hint=hint)
    if len(shape) == 2 and shape[0] == 2:
        return value[0], value[1]
    if len(shape) == 2 and shape[1] == 2:
        return value[:, 0], value[:, 1]
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise OptionError(
            f"{what} are not edges",
            expected="a frame with columns src and dst, a pair (sources, destinations), or an array of shape "
            "(2, edges) or (edges, 2)",
            found=f"an array of shape {shape}" if shape else type(value).__name__,
        )
    return value[0], value[1]


def _ids_of(values: Any, what: str) -> GivenRows:
    return rows_of(values, what) if hasattr(values, "dask") else as_ids(values, what)


def _counts(source: GraphSource, num_nodes: Mapping[str, int] | int | None) -> dict[str, int | None]:
    """Return the numbers of nodes, of types without edges too."""
    if num_nodes is None:
        return dict(source.num_nodes)
    if not isinstance(num_nodes, Mapping):
        if len(source.num_nodes) != 1:
            raise OptionError("several node types", place="num_nodes", expected="{node type: number}", found=num_nodes)
        num_nodes = {next(iter(source.num_nodes)): num_nodes}
    for ntype, count in num_nodes.items():
        known = source.num_nodes.get(ntype)
        if count < 0 or (known is not None and known != count):
            raise OptionError(
                "impossible number of nodes",
                place=f"num_nodes of {ntype!r}",
                expected=known or "0 or more",
                found=count,
            )
    # the order of type IDs is that of `num_nodes` if it names all types
    order = num_nodes if set(source.num_nodes) <= set(num_nodes) else {**source.num_nodes, **num_nodes}
    return {ntype: num_nodes.get(ntype, source.num_nodes.get(ntype)) for ntype in order}


def _joined(first: DataOfTypes, second: DataOfTypes) -> dict[str, dict[str, GivenRows]]:
    joined = {kind: dict(features) for kind, features in first.items()}
    for kind, features in second.items():
        for name, rows in features.items():
            if name in joined.get(kind, {}):
                raise OptionError("feature is given twice", found=f"{kind}/{name}", hint="the graph itself has it")
            joined.setdefault(kind, {})[name] = rows
    return joined
