"""Describe what was handed in as a graph, told apart by its class and never by importing the library it is from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.chunked.rows import feature_rows
from daskgraphpart.errors import OptionError
from daskgraphpart.sources.arrays import ids_of, rows_of
from daskgraphpart.sources.from_libraries import from_dgl, from_networkx, from_pyg, from_scipy
from daskgraphpart.sources.graph_source import HOMOGENEOUS_EDGES, GraphSource, LazyRows, canonical_name

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    source = _as_given(graph)
    counts = _counts(source.num_nodes, num_nodes)
    edges = {
        etype: (ids_of(src, f"{etype}, sources"), ids_of(dst, f"{etype}, destinations"))
        for etype, (src, dst) in source.edges.items()
    }
    data = {of_type: dict(features) for of_type, features in source.data.items()}
    beside = {**by_type(node_data, list(counts), "node"), **by_type(edge_data, list(edges), "edge")}
    for of_type, features in beside.items():
        known = data.setdefault(of_type, {})
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
    schema, files = graph.schema, graph.data_files
    return GraphSource(
        {t.name: t.num_nodes for t in schema.node_types},
        {e: (LazyRows(e, graph.edges[e], "src"), LazyRows(e, graph.edges[e], "dst")) for e in schema.etypes},
        {
            t.name: {spec.name: feature_rows(spec, files[t.name][spec.name]) for spec in t.data}
            for t in schema.row_types
        },
        tuple(file.path for files in graph.edge_files.values() for file in files),
    )


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
            pairs[etype] = _pair_of(value, f"edges of type {etype!r}")
    ends = (ntype for etype in pairs for ntype in etype.split(":")[::2])
    return GraphSource(dict.fromkeys(ends), pairs, data)


def _from_frame(etype: str, frame: Any) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Return the two columns of IDs of a frame, and the others."""
    names = list(frame.columns)
    if len(names) < 2 or len(set(names)) != len(names):
        raise OptionError(
            f"edges of type {etype!r}: not a frame of edges",
            expected="columns src and dst, each name once",
            found=", ".join(map(str, names)) or "no columns",
        )
    is_lazy = hasattr(frame, "npartitions")
    columns = {name: LazyRows(f"{etype}/{name}", frame, name) if is_lazy else frame[name] for name in names}
    src, dst = ("src", "dst") if {"src", "dst"} <= set(names) else names[:2]
    return (columns.pop(src), columns.pop(dst)), {str(name): column for name, column in columns.items()}


def _pair_of(value: Any, what: str) -> tuple[Any, Any]:
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


def _counts(known: Mapping[str, int | None], given: Mapping[str, int] | int | None) -> dict[str, int | None]:
    """Return the numbers of nodes, of types without edges too; types are in the order of `given` if it has all."""
    if given is not None and not isinstance(given, Mapping):
        if len(known) != 1:
            raise OptionError("several node types", place="num_nodes", expected="{node type: number}", found=given)
        given = dict.fromkeys(known, given)
    given = given or {}
    for ntype, count in given.items():
        if count < 0 or known.get(ntype) not in (None, count):
            place, expected = f"num_nodes of {ntype!r}", known.get(ntype) or "0 or more"
            raise OptionError("impossible number of nodes", place=place, expected=expected, found=count)
    order = given if known.keys() <= given.keys() else {**known, **given}
    return {ntype: given.get(ntype, known.get(ntype)) for ntype in order}
