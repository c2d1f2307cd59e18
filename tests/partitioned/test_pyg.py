"""`part.to_pyg` and `to_pyg_stores`, judged by PyG; its loaders where torch-sparse or pyg-lib is installed."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from graphs import Graph, load_real_graph
from layout_readers import pyg_data_agrees, pyg_stores_agree

import daskgraphpart as dgp
from daskgraphpart.errors import LayoutError, MissingPackageError
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch-sparse, where it is installed, scripts its functions
    from torch_geometric import typing as installed
    from torch_geometric.loader import NeighborLoader

if TYPE_CHECKING:
    from pathlib import Path

needs_sampler = pytest.mark.skipif(
    not (installed.WITH_PYG_LIB or installed.WITH_TORCH_SPARSE), reason="NeighborLoader needs pyg-lib or torch-sparse"
)


def small() -> Graph:
    """Types without edges and features, every dtype, masks, matrices, rows of no numbers."""
    rng = np.random.default_rng(0)
    types = (EdgeType("u", "r", "v", 90), EdgeType("v", "s", "u", 0), EdgeType("v", "t", "w", 20))
    schema = GraphSchema("g", (NodeType("u", 12), NodeType("v", 9), NodeType("w", 2)), types)
    dtypes = ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64")
    data = {f"x {dtype}": (rng.random((12, 3, 2)) * 9).astype(dtype) for dtype in dtypes}
    nodes = {
        "u": {**data, "train_mask": rng.random(12) < 0.5, "none": np.empty((12, 0), "f4")},
        "v": {"y": np.arange(9)},
    }
    sizes = {"u": 12, "v": 9, "w": 2}
    edges = {t.name: tuple(rng.integers(0, sizes[end], t.num_edges) for end in (t.src, t.dst)) for t in types}
    return Graph(schema, edges, nodes, {"u:r:v": {"weight": rng.random(90)}})  # type: ignore[arg-type]


GRAPHS = {"small": small, "cora": lambda: load_real_graph("cora"), "oewn": lambda: load_real_graph("oewn")}
OPTIONS = {
    "coo": dgp.DispatchOptions(),
    "csc": dgp.DispatchOptions(num_hops=2, graph_formats=("csc",), out_edges=True),
}


@pytest.fixture(
    scope="module", params=[("small", "coo"), ("small", "csc"), ("cora", "csc"), ("oewn", "coo")], ids="-".join
)
def made(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, dgp.PartitionedGraph]:
    """A graph, and its partitions."""
    graph, root = GRAPHS[request.param[0]](), tmp_path_factory.mktemp("pyg")
    how: Any = {"method": "random", "options": OPTIONS[request.param[1]]}
    return graph, dgp.open_partitions(dgp.partition(graph.write(root / "in"), root / "out", 4, **how).config_path)


def test_parts_hold_their_nodes_and_edges_with_their_features(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    pyg_data_agrees(*made)


def test_stores_hold_the_graph(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    graph, parts = made
    pyg_stores_agree(graph, parts)
    features, is_homogeneous = parts.to_pyg_stores()[0], len(parts.etypes) == len(parts.ntypes) == 1
    with pytest.raises(KeyError):
        features.get_tensor(None if is_homogeneous else parts.ntypes[0], "no such feature", None)
    with pytest.raises(NotImplementedError, match="not changed"):
        features.put_tensor(torch.zeros(1), parts.ntypes[0], "x", None)


@needs_sampler
@pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib'")
def test_sampled_batches_are_of_the_graph(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    graph, parts = made
    ntype = parts.ntypes[0]
    is_homogeneous = len(parts.etypes) == len(parts.ntypes) == 1
    seeds: Any = torch.arange(min(40, parts.num_nodes(ntype)))
    seeds = seeds if is_homogeneous else (ntype, seeds)
    orig_nids = {name: parts.orig_nids[name].compute() for name in parts.ntypes}
    known = {
        etype: set(zip(*(np.asarray(end).tolist() for end in ends), strict=True)) for etype, ends in graph.edges.items()
    }
    for batch in NeighborLoader(parts.to_pyg_stores(), [5, 5], input_nodes=seeds, batch_size=16):
        for name in parts.ntypes:
            store = batch if is_homogeneous else batch[name]
            if "n_id" in store:
                for feature, rows in graph.node_data.get(name, {}).items():
                    np.testing.assert_array_equal(store[feature].numpy(), rows[orig_nids[name][store["n_id"].numpy()]])
        for etype in parts.etypes:
            src, rel, dst = etype.split(":")
            ends = (batch if is_homogeneous else batch[src, rel, dst])["edge_index"].numpy()
            nids = [(batch if is_homogeneous else batch[name])["n_id"].numpy() for name in (src, dst)]
            found = [orig_nids[name][of[row]].tolist() for name, of, row in zip((src, dst), nids, ends, strict=True)]
            assert set(zip(*found, strict=True)) <= known[etype]


@needs_sampler
@pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib'")
def test_a_model_is_trained_over_the_files_of_all_parts(tmp_path: Path) -> None:
    from torch_geometric.nn import SAGEConv

    rng = np.random.default_rng(0)
    label, (src, dst) = rng.integers(0, 4, 600), rng.integers(0, 600, (2, 20_000))
    within = label[src] == label[dst]
    feat = (np.eye(4)[label].repeat(2, axis=1) + rng.normal(0, 1, (600, 8))).astype("f4")
    data = {"feat": feat, "label": label, "train_mask": rng.random(600) < 0.5}
    parts = dgp.partition_graph(
        (src[within], dst[within]), "g", 3, tmp_path / "out", part_method="random", node_data=data
    )
    stores = parts.to_pyg_stores()
    train = stores[0].get_tensor(None, "train_mask", None)
    assert train.dtype == torch.bool
    torch.manual_seed(0)
    model = SAGEConv(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(10):
        for batch in NeighborLoader(stores, [10], input_nodes=train, batch_size=64, shuffle=True):
            rows = slice(batch.batch_size)
            loss = torch.nn.functional.cross_entropy(model(batch.feat, batch.edge_index)[rows], batch.label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    whole = stores[0].get_tensor(None, "feat", None)
    src_nids, dst_nids = stores[1].get_edge_index(edge_type=None, layout="coo")
    found = model(whole, torch.stack([src_nids, dst_nids])).argmax(1)
    right = (found == stores[0].get_tensor(None, "label", None))[~train]
    assert right.float().mean() > 0.9


def test_features_whose_names_are_taken_are_refused(tmp_path: Path) -> None:
    edges = (np.array([0, 1]), np.array([1, 0]))
    parts = dgp.partition_graph(edges, "g", 1, tmp_path / "out", part_method="random", node_data={"n_id": np.arange(2)})
    with pytest.raises(LayoutError, match="two attributes of one name"):
        parts.part(0).to_pyg()


def test_pyg_that_is_not_installed_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = (np.array([0, 1]), np.array([1, 0]))
    parts = dgp.partition_graph(edges, "g", 1, tmp_path / "out", part_method="random")
    for name in ("torch_geometric", "torch_geometric.data"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (parts.to_pyg_stores, parts.part(0).to_pyg):
        with pytest.raises(MissingPackageError, match="torch_geometric is not installed"):
            call()
