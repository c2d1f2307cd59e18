"""Real DGL trains on our partitions, distributed, and learns what it learns on its own partitions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Graph, load_real_graph
from judges import DGL_VERSIONS, SCRIPTS, run_in_dgl, save_for_judge

import daskgraphpart as dgp

pytestmark = [pytest.mark.dgl, pytest.mark.real]

NUM_PARTS = 2
# what accuracy may differ by, from one run to the next, as neighbours are sampled in an order that varies
TOLERANCE = 0.02


@dataclass(frozen=True)
class Prepared:
    """A graph, what is to be learnt from it, and our partitions of it."""

    graph: Graph
    target: str
    for_judge: Path
    owners: Path
    config: Path

    @property
    def labels(self) -> np.ndarray:
        return self.graph.node_data[self.target]["y"]


def symmetrized(graph: Graph) -> Graph:
    """Add the reverse of each edge: to its type if both ends are of one type, else as a type ``rev_``."""
    edges = {}
    types = []
    for edge_type in graph.schema.edge_types:
        src, dst = graph.edges[edge_type.name]
        if edge_type.src == edge_type.dst:
            both = np.concatenate([src, dst]), np.concatenate([dst, src])
            types.append(replace(edge_type, num_edges=2 * edge_type.num_edges))
            edges[edge_type.name] = both
        else:
            reverse = dgp.EdgeType(edge_type.dst, f"rev_{edge_type.rel}", edge_type.src, edge_type.num_edges)
            types += [edge_type, reverse]
            edges |= {edge_type.name: (src, dst), reverse.name: (dst, src)}
    return replace(graph, schema=replace(graph.schema, edge_types=tuple(types)), edges=edges)


def to_train_on(name: str) -> tuple[Graph, str]:
    """A real graph with a feature x for every node type and masks for one, and the type to classify."""
    graph = symmetrized(load_real_graph(name))
    target = "author" if name == "dblp_hetero" else "node"
    labels = graph.node_data[target]["y"]
    chance = np.random.default_rng(5).random(len(labels))
    node_data: dict[str, dict[str, np.ndarray]] = {ntype: {"x": of["x"]} for ntype, of in graph.node_data.items()}
    for node_type in graph.schema.node_types:
        # conferences have no features; there are twenty
        node_data.setdefault(node_type.name, {"x": np.eye(node_type.num_nodes, dtype=np.float32)})
    node_data[target] |= {
        "y": labels,
        "train_mask": chance < 0.2,
        "val_mask": (0.2 <= chance) & (chance < 0.4),
        "test_mask": 0.4 <= chance,
    }
    first = graph.schema.edge_types[0]
    edge_data = {first.name: {"w": np.arange(2 * first.num_edges, dtype=np.float32).reshape(-1, 2)}}
    return replace(graph, node_data=node_data, edge_data=edge_data), target


@pytest.fixture(scope="module", params=["coauthor_physics", "dblp_hetero"])
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Our partitions of a real graph."""
    directory = tmp_path_factory.mktemp(request.param)
    graph, target = to_train_on(request.param)
    chunked = graph.write(directory / "graph", num_chunks=3)
    assignment = dgp.assign(chunked, NUM_PARTS)
    owners = {ntype: np.asarray(region.read()) for ntype, region in assignment.owners.items()}
    # DGL's servers start only where they have nodes and edges of every type with data
    assert all(len(np.unique(of)) == NUM_PARTS for of in owners.values())
    np.save(directory / "owners.npy", np.concatenate([owners[t] for t in graph.schema.ntypes]))
    outcome = dgp.dispatch(chunked, assignment, directory / "out", options=dgp.DispatchOptions(out_edges=True))
    for_judge = save_for_judge(graph, directory / "for-judge")
    return Prepared(graph, target, for_judge, directory / "owners.npy", outcome.config_path)


def train(version: str, config: Path, work: Path, sharing: str = "any", **settings: Any) -> dict[str, Any]:
    """Start servers and trainers; what rank 0 reports."""
    work.mkdir(parents=True)
    (work / "task.json").write_text(json.dumps({"graph": None, **settings}))
    arguments = (config, work / "run", sharing, SCRIPTS / "train.py", work / "task.json")
    return run_in_dgl(version, "serve.py", *arguments, cwd=work)


@pytest.mark.parametrize("version", DGL_VERSIONS)
def test_dgl_learns_as_much_on_our_partitions_as_on_its_own(version: str, prepared: Prepared, tmp_path: Path) -> None:
    arguments = (prepared.for_judge, prepared.owners, str(NUM_PARTS), tmp_path / "by-dgl")
    by_dgl = Path(run_in_dgl(version, "partition.py", *arguments, cwd=tmp_path)["config"])
    settings = {
        "target": prepared.target,
        "num_classes": int(prepared.labels.max()) + 1,
        "hidden": 16,
        "fanout": 5,
        "batch_size": 256,
        "epochs": 3,
        "learning_rate": 0.01,
        "seed": 7,
    }
    ours = train(version, prepared.config, tmp_path / "ours", graph=str(prepared.for_judge), **settings)
    dgls = train(version, by_dgl, tmp_path / "dgls", **settings)
    import sys
    print(ours, dgls, file=sys.stderr)
    assert ours["test"]["accuracy"] >= dgls["test"]["accuracy"] - TOLERANCE
