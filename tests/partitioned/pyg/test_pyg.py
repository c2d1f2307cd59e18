"""`part.to_pyg` and `to_pyg_stores`, judged by PyG; its samplers are compiled by `make test-long`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from graphs import Graph, load_real_graph
from inside import DispatchOptions
from judges import require_pyg_sampler
from keywords import spelled
from layout_readers import pyg_data_agrees, pyg_stores_agree

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.errors import LayoutError, MissingPackageError

if TYPE_CHECKING:
    from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch-sparse, where it is installed, scripts its functions
    from torch_geometric.loader import NeighborLoader, NodeLoader
    from torch_geometric.sampler import BaseSampler, SamplerOutput

pytestmark = pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib'")


@pytest.fixture
def sampler() -> None:
    require_pyg_sampler()


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
    "coo": DispatchOptions(),
    "csc": DispatchOptions(num_hops=2, graph_formats=("csc",), out_edges=True),
}


@pytest.fixture(
    scope="module", params=[("small", "coo"), ("small", "csc"), ("cora", "csc"), ("oewn", "coo")], ids="-".join
)
def made(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, dgp.PartitionedGraph]:
    """A graph, and its partitions."""
    graph, root = GRAPHS[request.param[0]](), tmp_path_factory.mktemp("pyg")
    how: Any = {"method": "random", **spelled(OPTIONS[request.param[1]])}
    return graph, dgp.open_partitions(dgp.partition(graph.write(root / "in"), root / "out", 4, **how).config)


def test_parts_hold_their_nodes_and_edges_with_their_features(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    pyg_data_agrees(*made)


def test_stores_hold_the_graph(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    graph, parts = made
    pyg_stores_agree(graph, parts)
    features, is_homogeneous = parts.to_pyg_stores()[0], len(parts.etypes) == len(parts.ntypes) == 1
    with pytest.raises(KeyError):
        features.get_tensor(None if is_homogeneous else parts.ntypes[0], "no such feature", None)
    with pytest.raises(NotImplementedError, match="read-only"):
        features.put_tensor(torch.zeros(1), parts.ntypes[0], "x", None)


class AllNeighbours(BaseSampler):  # type: ignore[misc]
    """A sampler of PyG that needs nothing compiled, of one node type."""

    def __init__(self, edges: Any, num_nodes: int) -> None:
        self.ends, self.places = edges.get_edge_index(edge_type=None, layout="coo"), torch.empty(num_nodes).long()

    def sample_from_nodes(self, index: Any, **_: Any) -> SamplerOutput:
        src, dst = self.ends
        chosen = torch.isin(dst, index.node).nonzero()[:, 0]
        others = src[chosen].unique()
        nodes = torch.cat([index.node, others[~torch.isin(others, index.node)]])
        self.places[nodes] = torch.arange(len(nodes))
        row, col = self.places[src[chosen]], self.places[dst[chosen]]
        return SamplerOutput(nodes, row, col, edge=chosen, batch=None, metadata=(index.input_id, index.time))

    def sample_from_edges(self, index: Any, **_: Any) -> SamplerOutput:
        raise NotImplementedError


def test_a_loader_fetches_features_from_the_stores(tmp_path: Path) -> None:
    graph = load_real_graph("cora")
    parts = dgp.partition_graph(graph.write(tmp_path / "in"), "cora", 4, tmp_path / "out", part_method="random")
    stores, orig_nids = parts.to_pyg_stores(), parts.original_ids["node"].compute()
    train = stores[0].get_tensor(None, "train_mask", None)
    sampler, seen = AllNeighbours(stores[1], len(orig_nids)), 0
    in_degrees = np.bincount(graph.edges["node:edge:node"][1], minlength=len(orig_nids))
    for batch in NodeLoader(stores, sampler, input_nodes=train, batch_size=50, shuffle=True):
        ids = orig_nids[batch.n_id.numpy()]
        for name, rows in graph.node_data["node"].items():
            np.testing.assert_array_equal(batch[name].numpy(), rows[ids])
        assert batch.edge_index.shape[1] == in_degrees[ids[: batch.batch_size]].sum()
        seen += batch.batch_size
    assert seen == graph.node_data["node"]["train_mask"].sum()


@pytest.mark.long
@pytest.mark.usefixtures("sampler")
def test_sampled_batches_are_of_the_graph(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    graph, parts = made
    ntype = parts.ntypes[0]
    is_homogeneous = len(parts.etypes) == len(parts.ntypes) == 1
    seeds: Any = torch.arange(min(40, parts.num_nodes(ntype)))
    seeds = seeds if is_homogeneous else (ntype, seeds)
    orig_nids = {name: parts.original_ids[name].compute() for name in parts.ntypes}
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


def communities(num_nodes: int, num_edges: int, width: int, directory: Path) -> dgp.PartitionedGraph:
    """Partition a graph of four communities, whose features tell a little of them, into three parts."""
    rng = np.random.default_rng(0)
    label, (src, dst) = rng.integers(0, 4, num_nodes), rng.integers(0, num_nodes, (2, num_edges))
    within = label[src] == label[dst]
    feat = np.lib.format.open_memmap(directory / "feat.npy", "w+", np.float32, (num_nodes, width))
    for start in range(0, num_nodes, 10_000):
        rows = feat[start : start + 10_000]
        rows[:] = rng.random((len(rows), 1)) / 100
        rows[:, :8] = np.eye(4)[label[start : start + 10_000]].repeat(2, axis=1) + rng.normal(0, 1, (len(rows), 8))
    data = {"feat": feat, "label": label, "train_mask": rng.random(num_nodes) < 0.5}
    return dgp.partition_graph(
        (src[within], dst[within]), "g", 3, directory / "out", part_method="random", node_data=data
    )


TRAIN = """
import torch
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv


def train(data, train_mask, width, steps):
    torch.manual_seed(0)
    model, done = SAGEConv(width, 4), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    while done < steps:
        for batch in NeighborLoader(data, [10], input_nodes=train_mask, batch_size=64, shuffle=True):
            rows = slice(batch.batch_size)
            loss = torch.nn.functional.cross_entropy(model(batch.feat, batch.edge_index)[rows], batch.label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            if done == steps:
                break
    return model


def accuracy(model, data, mask):
    right = total = 0
    for batch in NeighborLoader(data, [20], input_nodes=mask.nonzero()[:2000, 0], batch_size=256):
        rows = slice(batch.batch_size)
        right += int((model(batch.feat, batch.edge_index)[rows].argmax(1) == batch.label[rows]).sum())
        total += batch.batch_size
    return right / total
"""


@pytest.mark.long
@pytest.mark.usefixtures("sampler")
@pytest.mark.parametrize("what", ["a part", "all parts"])
def test_a_model_is_trained_over(what: str, tmp_path: Path) -> None:
    defined: dict[str, Any] = {}
    exec(TRAIN, defined)
    parts = communities(600, 20_000, 16, tmp_path)
    stores = parts.to_pyg_stores()
    train_mask = stores[0].get_tensor(None, "train_mask", None)
    assert train_mask.dtype == torch.bool
    data = stores if what == "all parts" else parts.part(0).to_pyg()
    model = defined["train"](data, train_mask if data is stores else data.train_mask, 16, 80)
    assert defined["accuracy"](model, stores, ~train_mask) > 0.9


LIMITED = """
import sys, warnings
warnings.simplefilter("ignore")
import daskgraphpart as dgp

parts, limit = dgp.open_partitions(sys.argv[1]), int(sys.argv[2])
stores = parts.to_pyg_stores()
features = stores[0]
num_nodes, width = features.get_tensor_size(None, "feat", None)
assert 4 * num_nodes * width >= 2 * limit
try:
    features.get_tensor(None, "feat", None)
except (MemoryError, RuntimeError):
    print("features do not fit")
train_mask = features.get_tensor(None, "train_mask", None)
print(accuracy(train(stores, train_mask, width, 100), stores, ~train_mask))
"""


@pytest.mark.long
@pytest.mark.usefixtures("sampler")
def test_a_model_is_trained_on_features_of_twice_the_memory(tmp_path: Path) -> None:
    limit = 768 << 20  # torch, PyG, torch-sparse and their optimizers set up 500 MB of it
    communities(393_216, 6_000_000, 1024, tmp_path)

    def set_limit() -> None:
        # all that is private and writable; pages of mapped files, which the system takes back, are not of it
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    command = [sys.executable, "-c", TRAIN + LIMITED, str(tmp_path / "out"), str(limit)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=set_limit, env=environment)
    assert done.returncode == 0, done.stderr
    said, accuracy = done.stdout.splitlines()
    assert said == "features do not fit"
    assert float(accuracy) > 0.85


def test_features_whose_names_are_taken_are_refused(tmp_path: Path) -> None:
    edges = (np.array([0, 1]), np.array([1, 0]))
    parts = dgp.partition_graph(edges, "g", 1, tmp_path / "out", part_method="random", node_data={"n_id": np.arange(2)})
    with pytest.raises(LayoutError, match="is taken"):
        parts.part(0).to_pyg()


def test_pyg_that_is_not_installed_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = (np.array([0, 1]), np.array([1, 0]))
    parts = dgp.partition_graph(edges, "g", 1, tmp_path / "out", part_method="random")
    for name in ("torch_geometric", "torch_geometric.data"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (parts.to_pyg_stores, parts.part(0).to_pyg):
        with pytest.raises(MissingPackageError, match="torch_geometric is not installed"):
            call()
