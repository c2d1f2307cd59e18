"""The loader for cuGraph-PyG of docs/howto/plain_torch.md, with its stores played by PyG's.

`DistTensor` here takes what that of cugraph-pyg 26.10 takes and refuses what it refuses (tensor/dist_tensor.py,
data/feature_store.py, data/graph_store.py, and create_wholememory_tensor_from_filelist of pylibwholegraph.torch).
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from agreement import assert_agrees
from commands import call
from graphs import load_real_graph
from layout_readers import FOR_CUGRAPH, loader
from torch_geometric.data import FeatureStore, GraphStore
from torch_geometric.data.graph_store import EdgeLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

NUM_RANKS = 2
DTYPES = (torch.float32, torch.float64, torch.int32, torch.int64, torch.int16, torch.float16, torch.int8)


class DistTensor:
    def __init__(
        self, src: Sequence[str], *, dtype: torch.dtype, last_dim_size: int, partition_book: Sequence[int] | None
    ) -> None:
        assert dtype in DTYPES
        entry = dtype.itemsize * max(1, last_dim_size)
        sizes = [Path(name).stat().st_size for name in src]
        assert all(size and size % entry == 0 for size in sizes)
        if partition_book is not None:
            assert len(partition_book) == NUM_RANKS and min(partition_book) > 0
            assert sum(partition_book) == sum(sizes) // entry
        rows = torch.cat([torch.from_file(name, size=Path(name).stat().st_size, dtype=torch.uint8) for name in src])
        self.rows = rows.view(dtype).reshape(-1, last_dim_size) if last_dim_size else rows.view(dtype)


class DistEmbedding(DistTensor):
    def __init__(self, src: Sequence[str], **how: Any) -> None:
        assert how["last_dim_size"] > 0
        super().__init__(src, **how)


class Features(FeatureStore):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[Any, Any] = {}

    def _put_tensor(self, tensor: Any, attr: Any) -> bool:
        assert isinstance(tensor, DistTensor) and attr.index is None
        self.found[attr.group_name, attr.attr_name] = tensor.rows
        return True

    def _get_tensor(self, attr: Any) -> Any: ...
    def _remove_tensor(self, attr: Any) -> bool: ...  # type: ignore[empty-body]
    def _get_tensor_size(self, attr: Any) -> Any: ...
    def get_all_tensor_attrs(self) -> Any: ...


class Edges(GraphStore):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[Any, Any] = {}

    def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool:
        assert edge_attr.layout == EdgeLayout.COO and edge_index.dtype == torch.int64 and edge_index.dim() == 2
        self.found[edge_attr.edge_type] = edge_index, edge_attr.size
        return True

    def finalize(self) -> Edges:
        return self

    def _get_edge_index(self, edge_attr: Any) -> Any: ...
    def _remove_edge_index(self, edge_attr: Any) -> bool: ...  # type: ignore[empty-body]
    def get_all_edge_attrs(self) -> Any: ...


@pytest.mark.parametrize("name", ["cora", "oewn"])
def test_the_stores_of_all_processes_hold_the_graph(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_real_graph(name)
    how = ("--num-parts", "4", "--method", "random", "--quiet", "--layout", "ranks")
    assert call("partition", graph.write(tmp_path / "in"), tmp_path / "out", *how) == 0
    for module, names in (
        ("cugraph_pyg.data", {"FeatureStore": Features, "GraphStore": Edges}),
        ("cugraph_pyg.tensor", {"DistTensor": DistTensor, "DistEmbedding": DistEmbedding}),
    ):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
        vars(sys.modules[module]).update(names)
    monkeypatch.setitem(sys.modules, "cugraph_pyg", ModuleType("cugraph_pyg"))
    directory, features, of_ranks = tmp_path / "out" / "ranks", {}, []
    for rank in range(NUM_RANKS):
        processes: Any = SimpleNamespace(
            is_initialized=lambda: True, get_rank=lambda rank=rank: rank, get_world_size=lambda: NUM_RANKS
        )
        defined = loader(dist=processes)
        exec(FOR_CUGRAPH, defined)
        stores = defined["cugraph_stores"](directory)
        features = stores[0].found
        of_ranks.append(stores[1].found)
        counts = {node_type.name: node_type.num_nodes for node_type in graph.schema.node_types}
        for (src, _, dst), (_, size) in stores[1].found.items():
            assert size == (counts[src], counts[dst])

    def read(array: str) -> Any:
        kind, of_type, *feature = array.split("/")
        key = tuple(of_type.split(":")) if ":" in of_type else of_type
        if kind.startswith("orig"):
            return loader()["Array"](directory, array).local
        if feature:
            rows = features[key, feature[0]].numpy()
            return rows.view(graph.node_data[of_type][feature[0]].dtype)
        return torch.cat([found[key][0][int(kind == "edge_dst")] for found in of_ranks])

    assert_agrees(graph, read)
    assert np.sum([found[key][0].shape[1] for found in of_ranks for key in found]) == graph.schema.num_edges
