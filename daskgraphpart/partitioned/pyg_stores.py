"""PyG's `FeatureStore` and `GraphStore` over the files of all parts, by new type-wise ID; imports torch_geometric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch_geometric.data import EdgeAttr, FeatureStore, GraphStore, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout

from daskgraphpart.book import canonical_tuple, to_tensor
from daskgraphpart.partitioned.pyg import edge_index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.partitioned.views import TypeView

READ_ONLY = "partitions are not changed: give a transform to the loader instead"


class PartitionFeatures(FeatureStore):  # type: ignore[misc]  # PyG ships no types
    """Features of nodes and edges; rows are read from the files of the parts when they are asked for.

    Beside the features every node type has `n_id`, new type-wise IDs, so that types without features are known.
    """

    def __init__(self, nodes: Mapping[str, TypeView], edges: Mapping[str, TypeView]) -> None:
        super().__init__()
        of_nodes: dict[Any, TypeView] = (
            {None: next(iter(nodes.values()))} if _is_homogeneous(nodes, edges) else {**nodes}
        )
        self.views = {**of_nodes, **{canonical_tuple(name): view for name, view in edges.items()}}

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """List the features of nodes and, of heterogeneous graphs, of edges, which loaders leave to their users."""
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
        found = rows if isinstance(rows, torch.Tensor) else to_tensor(rows)
        return found.bool() if f"{view.name}/{attr.attr_name}" in view.parts[0].split_nids else found

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        view = self.views[attr.group_name]
        return view.data[attr.attr_name].shape if attr.attr_name in view.data else (len(view),)

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        raise NotImplementedError(READ_ONLY)

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise NotImplementedError(READ_ONLY)


class PartitionEdges(GraphStore):  # type: ignore[misc]  # PyG ships no types
    """Edges of all types in COO, by new edge ID, read into memory when they are asked for: 16 bytes an edge."""

    def __init__(self, nodes: Mapping[str, TypeView], edges: Mapping[str, TypeView]) -> None:
        super().__init__()
        self.sizes = {name: len(view) for name, view in nodes.items()}
        is_homogeneous = _is_homogeneous(nodes, edges)
        self.views = {None if is_homogeneous else canonical_tuple(name): view for name, view in edges.items()}

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """List the edge types."""
        found = []
        for key, view in self.views.items():
            src, _, dst = canonical_tuple(view.name)
            found.append(EdgeAttr(key, EdgeLayout.COO, size=(self.sizes[src], self.sizes[dst])))
        return found

    def _get_edge_index(self, edge_attr: EdgeAttr) -> Any:
        is_known = edge_attr.layout == EdgeLayout.COO and edge_attr.edge_type in self.views
        return edge_index(self.views[edge_attr.edge_type]) if is_known else None

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(READ_ONLY)

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(READ_ONLY)


def _is_homogeneous(nodes: Mapping[str, TypeView], edges: Mapping[str, TypeView]) -> bool:
    return len(nodes) == len(edges) == 1
