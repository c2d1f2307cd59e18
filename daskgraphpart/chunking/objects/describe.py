"""What was handed in, told apart by its class and never by importing the library it is from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.chunking.objects.from_arrays import data_of
from daskgraphpart.chunking.objects.from_frames import from_edges
from daskgraphpart.chunking.objects.from_libraries import from_dgl, from_networkx, from_pyg, from_scipy
from daskgraphpart.chunking.objects.rows import FileRows
from daskgraphpart.chunking.objects.source import HOMOGENEOUS_EDGES, GraphSource, LazyFrame
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from daskgraphpart.chunking.objects.rows import Rows
    from daskgraphpart.chunking.objects.source import LazyArray

    DataOfTypes = Mapping[str, Mapping[str, Rows | LazyArray]]

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
    """Describe a graph and the features given beside it.

    Parameters
    ----------
    graph : object
        One of `KINDS`.
    num_nodes : mapping of str to int, or int, optional
        Numbers of nodes by type, where the graph does not tell them.
    node_data, edge_data : mapping, optional
        More features: ``{type: {name: values}}``, or ``{name: values}`` of a graph with one type.

    Raises
    ------
    OptionError
        If the graph is of no such kind, or a feature is given twice.
    """
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
        return from_chunked(graph)
    if isinstance(graph, Mapping):
        return from_edges(graph)
    if isinstance(graph, (tuple, list)) or (hasattr(graph, "columns") and hasattr(graph, "dtypes")):
        return from_edges({HOMOGENEOUS_EDGES: graph})
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


def from_chunked(graph: ChunkedGraph) -> GraphSource:
    """Describe a chunked graph, to cut it into other chunks."""

    def data(types: Any, files: Any) -> dict[str, dict[str, Rows | LazyArray]]:
        return {t.name: {spec.name: FileRows(spec, files[t.name][spec.name]) for spec in t.data} for t in types}

    schema = graph.schema
    return GraphSource(
        {t.name: t.num_nodes for t in schema.node_types},
        {etype: LazyFrame(graph.edges[etype], ["src", "dst"]) for etype in schema.etypes},
        data(schema.node_types, graph.node_files),
        data(schema.edge_types, graph.edge_data_files),
        tuple(file.path for files in graph.edge_files.values() for file in files),
    )


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


def _joined(first: DataOfTypes, second: DataOfTypes) -> dict[str, dict[str, Rows | LazyArray]]:
    joined = {kind: dict(features) for kind, features in first.items()}
    for kind, features in second.items():
        for name, rows in features.items():
            if name in joined.get(kind, {}):
                raise OptionError("feature is given twice", found=f"{kind}/{name}", hint="the graph itself has it")
            joined.setdefault(kind, {})[name] = rows
    return joined
