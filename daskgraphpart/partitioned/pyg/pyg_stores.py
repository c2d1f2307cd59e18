"""Give partitions to PyG: one part as `Data` or `HeteroData`, or all parts as two stores.

One node type and one edge type make homogeneous data with types None. Features keep their names; masks, stored as lists
of nodes, become bool. Imports torch_geometric; call `pyg_module` first for a helpful error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch_geometric.data import Data, EdgeAttr, FeatureStore, GraphStore, HeteroData, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout

from daskgraphpart.errors import LayoutError
from daskgraphpart.ids.ranges import to_tensor
from daskgraphpart.schema import canonical_tuple

if TYPE_CHECKING:
    from daskgraphpart.partitioned.stored_part import StoredPart
    from daskgraphpart.partitioned.views import EdgeView, TypeView

OWN_NAMES = ("edge_index", "n_id", "e_id", "inner_mask", "inner_edge_mask", "num_nodes")


def part_data(part: StoredPart) -> Any:
    """Read one part; the whole graph supplies the features of halo nodes."""
    nodes, edges = part.whole.nodes, part.whole.edges
    (node_types, new_nids), (edge_types, new_eids) = _per_type(part, "node"), _per_type(part, "edge")
    places = _places(node_types, len(nodes))
    src, dst = part.graph.ends(0, part.graph.num_edges)
    is_homogeneous = _is_homogeneous(nodes, edges)
    data = Data() if is_homogeneous else HeteroData()
    for type_id, (ntype, view) in enumerate(nodes.items()):
        ids, owned = new_nids[node_types == type_id], part.node_rows.counts[ntype]
        store = data if is_homogeneous else data[ntype]
        store["num_nodes"], store["n_id"] = len(ids), torch.from_numpy(ids)
        store["inner_mask"] = torch.arange(len(ids)) < owned
        for name, rows in _features(view, ids, owned):
            is_mask = f"{ntype}/{name}" in part.split_nids
            _set(part, store, name, rows.bool() & store["inner_mask"] if is_mask else rows)
    for type_id, (etype, view) in enumerate(edges.items()):
        mine = edge_types == type_id
        ids, owned = new_eids[mine], part.edge_rows.counts[etype]
        store = data if is_homogeneous else data[canonical_tuple(etype)]
        store["edge_index"] = torch.from_numpy(np.stack([places[src[mine]], places[dst[mine]]]))
        store["e_id"], store["inner_edge_mask"] = torch.from_numpy(ids), torch.arange(len(ids)) < owned
        for name, rows in _features(view, ids, owned):
            _set(part, store, name, rows)
    return data


def edge_index(edges: EdgeView) -> tuple[Any, Any]:
    """Read the new type-wise IDs of the ends of all edges of a type, by new edge ID."""
    ends, done = np.empty((2, len(edges)), np.int64), 0
    for piece in edges.frame().partitions:
        pairs = piece.compute(scheduler="sync")
        ends[:, done : done + len(pairs)] = pairs.to_numpy().T
        done += len(pairs)
    return torch.from_numpy(ends[0]), torch.from_numpy(ends[1])


def _per_type(part: StoredPart, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Types and new type-wise IDs of all local nodes or edges."""
    rows = part.rows(kind)
    types, ids = rows.ids.per_type(rows.arrays["_ID"].read())
    return types, ids


def _places(types: np.ndarray, num_types: int) -> np.ndarray:
    """Position of each local node among those of its type."""
    places = np.empty(types.size, np.int64)
    for type_id in range(num_types):
        mine = np.flatnonzero(types == type_id)
        places[mine] = np.arange(mine.size)
    return places


def _features(view: TypeView, ids: np.ndarray, owned: int) -> Iterator[tuple[str, Any]]:
    """Features of local rows: own ones first, with consecutive IDs, then those from other parts."""
    first = int(ids[0]) if owned else 0
    for name, rows in view.data.items():
        yield name, to_tensor(np.concatenate([rows[first : first + owned], rows[ids[owned:]]]))


def _set(part: StoredPart, store: Any, name: str, rows: Any) -> None:
    if name in OWN_NAMES or name in store:
        raise LayoutError(
            "the name of this feature is taken",
            file=part.directory,
            place=f"feature {name}",
            expected=f"not {', '.join(OWN_NAMES)}; in a homogeneous graph other names for nodes and edges",
            hint="use to_pyg_stores(), which keeps them apart",
        )
    store[name] = rows


def _refuse(*_: Any) -> bool:
    raise NotImplementedError("partitions are read-only: give the loader a transform instead")


class PartitionFeatures(FeatureStore):  # type: ignore[misc]  # PyG ships no types
    """Features of nodes and edges, read from the files on demand.

    Every node type also has `n_id`, its new type-wise IDs, so that PyG learns of types without features.
    """

    def __init__(self, nodes: Mapping[str, TypeView], edges: Mapping[str, EdgeView]) -> None:
        super().__init__()
        of_nodes: dict[Any, TypeView] = (
            {None: next(iter(nodes.values()))} if _is_homogeneous(nodes, edges) else {**nodes}
        )
        self.views = {**of_nodes, **{canonical_tuple(name): view for name, view in edges.items()}}

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """List features of nodes and, in heterogeneous graphs, of edges, which loaders leave to users."""
        return [
            TensorAttr(key, name)
            for key, view in self.views.items()
            if None not in self.views or key is None
            for name in (*([] if isinstance(key, tuple) else ["n_id"]), *view.data)
        ]

    def _get_tensor(self, attr: TensorAttr) -> Any:
        view, index = self.views[attr.group_name], attr.index
        if attr.attr_name == "n_id" and attr.attr_name not in view.data:
            ids = torch.arange(len(view))
            return ids if index is None else ids[index]
        rows = view.data[attr.attr_name][slice(None) if index is None else index]
        tensor = rows if isinstance(rows, torch.Tensor) else to_tensor(rows)
        return tensor.bool() if f"{view.name}/{attr.attr_name}" in view.parts[0].split_nids else tensor

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        view = self.views[attr.group_name]
        return view.data[attr.attr_name].shape if attr.attr_name in view.data else (len(view),)

    _put_tensor = _remove_tensor = _refuse


class PartitionEdges(GraphStore):  # type: ignore[misc]  # PyG ships no types
    """Edges of all types in COO, by new edge ID, read into memory on demand: 16 bytes each."""

    def __init__(self, nodes: Mapping[str, TypeView], edges: Mapping[str, EdgeView]) -> None:
        super().__init__()
        self.sizes = {name: len(view) for name, view in nodes.items()}
        is_homogeneous = _is_homogeneous(nodes, edges)
        self.views = {None if is_homogeneous else canonical_tuple(name): view for name, view in edges.items()}

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """List the edge types."""
        attributes = []
        for key, view in self.views.items():
            src, _, dst = canonical_tuple(view.name)
            attributes.append(EdgeAttr(key, EdgeLayout.COO, size=(self.sizes[src], self.sizes[dst])))
        return attributes

    def _get_edge_index(self, edge_attr: EdgeAttr) -> Any:
        is_known = edge_attr.layout == EdgeLayout.COO and edge_attr.edge_type in self.views
        return edge_index(self.views[edge_attr.edge_type]) if is_known else None

    _put_edge_index = _remove_edge_index = _refuse


def _is_homogeneous(nodes: Mapping[str, TypeView], edges: Mapping[str, EdgeView]) -> bool:
    return len(nodes) == len(edges) == 1
