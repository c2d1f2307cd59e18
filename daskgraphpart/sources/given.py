"""Take a given graph apart, by its class, without importing its library."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.graph import Graph, read_chunked
from daskgraphpart.chunked.metadata import check_num_nodes
from daskgraphpart.chunked.scan import check_read
from daskgraphpart.errors import OptionError
from daskgraphpart.schema import DEFAULT_ETYPE as HOMOGENEOUS_EDGES
from daskgraphpart.schema import DEFAULT_NTYPE as HOMOGENEOUS_NODES
from daskgraphpart.sources.tabular import as_pandas, as_table, is_frame, is_lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence


ENDS = ("src", "dst")
KINDS = (
    "a Graph, a dictionary {edge type: frame or pair of arrays}, such a frame or pair, a scipy "
    "sparse matrix, a networkx graph, a PyG Data or HeteroData, or a DGLGraph"
)


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A graph taken apart; node and edge types are in the order of type IDs.

    None stands for an unknown number of nodes. Edges are sources, dask frames, or pairs of ID collections; `data` are
    features by type and name, in any form.
    """

    num_nodes: Mapping[str, int | None]
    edges: Mapping[str, Any]
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def take_apart(graph: Any) -> Given:
    """Take a graph of one of `KINDS` apart."""
    check_read(graph)
    if isinstance(graph, (str, os.PathLike)):
        graph = read_chunked(graph)
    read = find_reader(graph)
    if read is None:
        raise not_a_graph(graph)
    return read(graph)


def not_a_graph(graph: Any) -> OptionError:
    """Return the error about an object of no known kind."""
    return OptionError("not a graph", expected=KINDS, found=f"{type(graph).__module__}.{type(graph).__name__}")


def find_reader(graph: Any) -> Callable[[Any], Given] | None:
    """Find what takes a graph of its kind apart; None if it is of no kind that is known here."""
    if isinstance(graph, Graph):
        return _from_chunked
    if isinstance(graph, Mapping):
        return _from_edges
    table = as_table(graph, "edges")
    is_array = hasattr(table, "shape") and not hasattr(table, "tocoo")
    if isinstance(table, (tuple, list)) or is_array or is_frame(table):
        return lambda _: _from_edges({HOMOGENEOUS_EDGES: table})
    modules = {kind.__module__.partition(".")[0] for kind in type(graph).__mro__}
    if "scipy" in modules and hasattr(graph, "tocoo"):
        return from_scipy
    if "networkx" in modules:
        return from_networkx
    if "torch_geometric" in modules and hasattr(graph, "edge_stores"):
        return from_pyg
    return from_dgl if is_dgl_graph(graph) else None


def is_dgl_graph(graph: Any) -> bool:
    """Whether it is a `DGLGraph`."""
    return "dgl" in {kind.__module__.partition(".")[0] for kind in type(graph).__mro__} and hasattr(
        graph, "canonical_etypes"
    )


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
        table = as_table(value, f"edges of type {etype!r}")
        if is_frame(table):
            pairs[etype], data[etype] = _from_frame(etype, as_pandas(table))
        else:
            pairs[etype] = pair_of(value, f"edges of type {etype!r}")
    return Given(dict.fromkeys(ends_of_types(pairs)), pairs, data)


def ends_of_types(etypes: Iterable[str]) -> list[str]:
    """Node types at the ends of edge types, in order."""
    return list(dict.fromkeys(ntype for etype in etypes for ntype in etype.split(":")[::2]))


def _from_frame(etype: str, frame: Any) -> tuple[Any, dict[str, Any]]:
    """Return a frame's two ID columns (dask: a frame of `src` and `dst`), and the others."""
    names = list(frame.columns)
    if len(names) < 2 or len({*map(str, names)}) != len(names):
        raise OptionError(
            f"edges of type {etype!r}: not a frame of edges",
            expected="columns src and dst, each name once",
            found=", ".join(map(str, names)) or "no columns",
        )
    ends = ends_of(names)
    edges: Any = frame[ends[0]], frame[ends[1]]
    if is_lazy(frame):
        edges = frame[list(ends)].rename(columns=dict(zip(ends, ENDS, strict=True))) if ends != ENDS else frame[[*ENDS]]
    return edges, {str(name): frame[name] for name in names if name not in ends}


def ends_of(names: Sequence[Any]) -> tuple[Any, ...]:
    """Return the columns of sources and destinations: by name, or the first two."""
    return ENDS if {*ENDS} <= {*names} else tuple(names[:2])


def canonical_name(etype: Any, known: Collection[str] = ()) -> str:
    """Return ``src:rel:dst`` of a tuple or name; for a relation, the one known type that has it.

    Without known types, a relation joins nodes of the default type.
    """
    parts = etype.split(":") if isinstance(etype, str) else etype
    if isinstance(etype, str) and len(parts) == 1 and etype:
        found = [name for name in known if name.split(":")[1] == etype]
        if len(found) > 1 or (known and not found):
            what = "several edge types have this name" if found else "edge data of an unknown type"
            raise OptionError(what, expected=f"one of {', '.join(found or known)}", found=etype)
        return found[0] if found else f"{HOMOGENEOUS_NODES}:{etype}:{HOMOGENEOUS_NODES}"
    if not isinstance(parts, (tuple, list)) or len(parts) != 3 or not all(isinstance(p, str) and p for p in parts):
        expected = "('user', 'follows', 'user') or 'user:follows:user'"
        raise OptionError("not a canonical edge type", expected=expected, found=repr(etype))
    return ":".join(parts)


def pair_of(value: Any, what: str) -> tuple[Any, Any]:
    """Sources and destinations of a pair, an array (2, edges) as in PyG, or one (edges, 2)."""
    shape = tuple(getattr(value, "shape", ()))
    if shape == (2, 2):
        hint = "give a pair: (array[0], array[1]) if rows are ends, (array[:, 0], array[:, 1]) if rows are edges"
        raise OptionError(f"{what} are ambiguous", found="an array of shape (2, 2)", hint=hint)
    if len(shape) == 2 and shape[1] == 2:
        return value[:, 0], value[:, 1]
    if (len(shape) == 2 and shape[0] == 2) or (isinstance(value, (tuple, list)) and len(value) == 2):
        return value[0], value[1]
    expected = "a frame with columns src and dst, a pair (sources, destinations), or an array of shape (2, edges) or "
    expected += "(edges, 2)"
    found = f"an array of shape {shape}" if shape else type(value).__name__
    raise OptionError(f"{what} are not edges", expected=expected, found=found)


def by_type(data: Mapping[str, Any] | None, types: Sequence[str], what: str) -> dict[str, Mapping[str, Any]]:
    """Return ``{type: {name: values}}``, also from ``{name: values}`` if there is one type."""
    named = name_types(data, types, what)
    for name in named.keys() - set(types):
        raise OptionError(f"{what} data of an unknown type", expected=f"one of {', '.join(types)}", found=name)
    return named


def name_types(data: Mapping[str, Any] | None, types: Sequence[str], what: str) -> dict[str, Mapping[str, Any]]:
    """Do the same without checking types."""
    are_types = [isinstance(value, Mapping) for value in (data or {}).values()]
    if not all(are_types):
        if len(types) != 1 or any(are_types):
            raise OptionError(
                f"{what} data of a graph with several {what} types",
                expected=f"{{{what} type: {{name: rows}}}}",
                found=", ".join(map(str, list(data or ())[:5])),
            )
        data = {types[0]: data}
    return {key if what == "node" else canonical_name(key, types): features for key, features in (data or {}).items()}


def count_known(known: Mapping[str, int | None], given: Mapping[str, int] | int | None) -> dict[str, int | None]:
    """Return numbers of nodes; types are in the order of `given` if it has all."""
    if given is not None and not isinstance(given, Mapping):
        if len(known) != 1:
            raise OptionError(
                "the graph has several node types", place="num_nodes", expected="{node type: number}", found=given
            )
        given = dict.fromkeys(known, given)
    given = {ntype: check_num_nodes(count, f"num_nodes[{ntype!r}]") for ntype, count in (given or {}).items()}
    for ntype, count in given.items():
        if known.get(ntype) not in (None, count):
            place, expected = f"num_nodes of {ntype!r}", known.get(ntype)
            raise OptionError("invalid number of nodes", place=place, expected=expected, found=count)
    order = given if known.keys() <= given.keys() else {**known, **given}
    return {ntype: given.get(ntype, known.get(ntype)) for ntype in order}


logger = logging.getLogger(__name__)


def from_scipy(matrix: Any) -> Given:
    """Describe a square sparse matrix: an edge from row to column per stored element, as `dgl.from_scipy`."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise OptionError("not the adjacency of a graph", expected="a square matrix", found=f"shape {matrix.shape}")
    coo = matrix.tocoo(copy=False)
    return Given({HOMOGENEOUS_NODES: matrix.shape[0]}, {HOMOGENEOUS_EDGES: (coo.row, coo.col)})


def from_networkx(graph: Any) -> Given:
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
    data = {
        HOMOGENEOUS_NODES: _attributes([graph.nodes[node] for node in nodes], "node"),
        HOMOGENEOUS_EDGES: _attributes([edge[2] for edge in edges], "edge"),
    }
    return Given({HOMOGENEOUS_NODES: len(nodes)}, {HOMOGENEOUS_EDGES: (src, dst)}, data)


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
            logger.info("leaving out %s attribute %r: not every %s has it as numbers of one shape", what, name, what)
    return found


def from_pyg(data: Any) -> Given:
    """Describe a PyG `Data` or `HeteroData`: edges, and all tensors with a row per node or edge."""
    if hasattr(data, "node_types"):
        nodes = {ntype: data[ntype] for ntype in data.node_types}
        edges = {canonical_name(tuple(etype)): data[etype] for etype in data.edge_types}
    else:
        nodes, edges = {HOMOGENEOUS_NODES: data}, {HOMOGENEOUS_EDGES: data}
    return Given(
        {ntype: store.num_nodes for ntype, store in nodes.items()},
        {etype: _edge_index(store, etype) for etype, store in edges.items()},
        {
            **{ntype: _tensors(store, store.is_node_attr) for ntype, store in nodes.items()},
            **{etype: _tensors(store, store.is_edge_attr) for etype, store in edges.items()},
        },
    )


def _edge_index(store: Any, etype: str) -> tuple[Any, Any]:
    if "edge_index" not in store:
        hint = "convert the sparse adjacency to edge_index first (undo transforms.ToSparseTensor)"
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


def from_dgl(graph: Any) -> Given:
    """Describe a `DGLGraph`, without DGL's own `_ID` and `_TYPE`."""
    if all("coo" not in formats for formats in graph.formats().values()):
        graph = graph.formats("coo")  # keeps edge IDs, and gives edges in their order
    frames = {ntype: graph.nodes[ntype].data for ntype in graph.ntypes}
    frames |= {canonical_name(etype): graph.edges[etype].data for etype in graph.canonical_etypes}
    return Given(
        {ntype: graph.num_nodes(ntype) for ntype in graph.ntypes},
        {canonical_name(e): graph.all_edges(form="uv", order="eid", etype=e) for e in graph.canonical_etypes},
        {
            of_type: {name: rows for name, rows in frame.items() if name not in ("_ID", "_TYPE")}
            for of_type, frame in frames.items()
        },
    )
