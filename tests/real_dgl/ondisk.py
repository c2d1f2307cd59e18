"""Open datasets with `dgl.graphbolt.OnDiskDataset`, compare them with those that DGL makes itself, and train on both.

Runs in an environment of DGL 2.1. Usage: python ondisk.py TASK. TASK is a JSON file {DATASET: {"graph": directory as
judge.py reads it, "epochs": 0 or how long to train}}. The last line is JSON: test accuracy of both by dataset.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import dgl
import dgl.graphbolt as gb
import numpy as np
import torch
import yaml
from torch.nn import functional

SETS = {"train": "train_set", "val": "validation_set", "test": "test_set"}


def make_with_dgl(directory, out):
    """Have DGL preprocess a graph."""
    graph = json.loads((directory / "graph.json").read_text())
    is_one = len(graph["num_nodes"]) == len(graph["edges"]) == 1

    def typed(name):
        return {} if is_one else {"type": name}

    def saved(name, array):
        np.save(out / f"{name}.npy", array)
        return {"format": "numpy", "path": f"{name}.npy"}

    nodes = [{**typed(name), "num": count} for name, count in graph["num_nodes"].items()]
    edges, features, tasks = [], [], {}
    for i, (name, ends) in enumerate(graph["edges"].items()):
        edges.append({**typed(name), **saved(f"edges-{i}", np.stack([np.load(directory / end) for end in ends]))})
    for domain in ("node", "edge"):
        for i, (key, file) in enumerate(graph[f"{domain}_data"].items()):
            kind, _, name = key.rpartition("/")
            rows = np.load(directory / file)
            features.append({"domain": domain, **typed(kind), "name": name, **saved(f"{domain}-{i}", rows)})
            split, found, suffix = name.partition("_mask")
            if found:
                task = tasks.setdefault(suffix, {"name": f"node_classification{suffix}"})
                nids = np.flatnonzero(rows)
                labels = np.load(directory / graph["node_data"][f"{kind}/y"])[nids]
                data = [{"name": "seeds", **saved(f"{i}-{name}", nids)}]
                data.append({"name": "labels", **saved(f"{i}-{name}-labels", labels)})
                task.setdefault(SETS[split], []).append({**typed(kind), "data": data})
                task["num_classes"] = max(task.get("num_classes", 0), int(labels.max()) + 1)
    content = {
        "dataset_name": graph["name"],
        "graph": {"nodes": nodes, "edges": edges},
        "feature_data": features,
        "tasks": [*tasks.values()],
    }
    (out / "metadata.yaml").write_text(yaml.safe_dump(content))
    return gb.OnDiskDataset(str(out), include_original_edge_id=True).load()


def compare(ours, theirs):
    """Compare graphs, features and sets."""
    assert ours.dataset_name == theirs.dataset_name
    assert set(ours.feature._features) == set(theirs.feature._features)
    for key, feature in theirs.feature._features.items():
        same(ours.feature._features[key].read(), feature.read(), key)
    assert len(ours.tasks) == len(theirs.tasks)
    for our_task, their_task in zip(ours.tasks, theirs.tasks, strict=True):
        assert our_task.metadata == their_task.metadata
        for name in ("train_set", "validation_set", "test_set"):
            compare_sets(getattr(our_task, name), getattr(their_task, name))
    a, b = ours.graph, theirs.graph
    assert a.num_nodes == b.num_nodes and a.num_edges == b.num_edges
    ntypes = b.node_type_to_id
    if ntypes is None or [*a.node_type_to_id, *a.edge_type_to_id] == [*sorted(ntypes), *sorted(b.edge_type_to_id)]:
        for name in ("csc_indptr", "indices", "type_per_edge", "node_type_offset"):
            same(getattr(a, name), getattr(b, name), name)
        if a.edge_attributes:
            same(a.edge_attributes["_ORIGINAL_EDGE_ID"], b.edge_attributes["_ORIGINAL_EDGE_ID"], "edges")
    for ntype, count in ({} if ntypes is None else b.num_nodes).items():
        seeds = {ntype: torch.arange(count, dtype=b.indices.dtype)}
        found, expected = a.in_subgraph(seeds), b.in_subgraph(seeds)
        for etype in b.edge_type_to_id:
            same(found.sampled_csc[etype].indptr, expected.sampled_csc[etype].indptr, etype)
            # edges of a row in the order of each graph's types
            same(found.sampled_csc[etype].indices, expected.sampled_csc[etype].indices, etype)
            same(found.original_edge_ids[etype], expected.original_edge_ids[etype], etype)
    sampled = a.sample_neighbors(next(iter(a_seeds(a))), torch.LongTensor([2]))
    assert sampled.sampled_csc is not None


def a_seeds(graph):
    """Some seeds."""
    if isinstance(graph.num_nodes, int):
        yield torch.arange(min(10, graph.num_nodes), dtype=graph.indices.dtype)
    else:
        yield {name: torch.arange(min(10, n), dtype=graph.indices.dtype) for name, n in graph.num_nodes.items()}


def compare_sets(ours, theirs):
    if isinstance(theirs, gb.ItemSetDict):
        assert set(ours._itemsets) == set(theirs._itemsets)
        for name, expected in theirs._itemsets.items():
            compare_sets(ours._itemsets[name], expected)
    elif theirs is not None:
        assert ours.names == theirs.names
        for found, expected in zip(ours._items, theirs._items, strict=True):
            same(found, expected, ours.names)
    else:
        assert ours is None


def same(ours, theirs, name):
    assert (ours is None) == (theirs is None), name
    if ours is not None:
        assert ours.dtype == theirs.dtype, (name, ours.dtype, theirs.dtype)
        assert torch.equal(ours, theirs), name


class GraphSage(torch.nn.Module):
    """Two layers of mean aggregation."""

    def __init__(self, width, hidden, num_classes):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            [dgl.nn.SAGEConv(width, hidden, "mean"), dgl.nn.SAGEConv(hidden, num_classes, "mean")]
        )

    def forward(self, blocks, x):
        x = functional.relu(self.layers[0](blocks[0], x))
        return self.layers[1](blocks[1], x)


def train(dataset, epochs):
    """Train GraphSAGE; accuracy on the test set."""
    torch.manual_seed(7)
    dgl.seed(7)
    task = dataset.tasks[0]
    model = GraphSage(dataset.feature.size("node", None, "x")[0], 32, task.metadata["num_classes"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def batches(items, fanout, shuffle):
        pipe = gb.ItemSampler(items, batch_size=256, shuffle=shuffle)
        pipe = pipe.sample_neighbor(dataset.graph, [fanout, fanout])
        return gb.DataLoader(pipe.fetch_feature(dataset.feature, node_feature_keys=["x"]), num_workers=0)

    for _ in range(epochs):
        for batch in batches(task.train_set, 5, shuffle=True):
            loss = functional.cross_entropy(model(batch.blocks, batch.node_features["x"].float()), batch.labels.long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    hits = total = 0
    with torch.no_grad():
        for batch in batches(task.test_set, -1, shuffle=False):
            scores = model(batch.blocks, batch.node_features["x"].float())
            hits, total = hits + int((scores.argmax(1) == batch.labels).sum()), total + len(batch.labels)
    return hits / total


def main():
    results = {}
    for name, task in json.loads(Path(sys.argv[1]).read_text()).items():
        with tempfile.TemporaryDirectory() as scratch:
            theirs = make_with_dgl(Path(task["graph"]), Path(scratch))
            gb.OnDiskDataset(name).load()
            os.chdir(Path(name).parent)  # its path by another name
            ours = gb.OnDiskDataset(Path(name).name).load()
            compare(ours, theirs)
            if task["epochs"]:
                results[name] = [train(dataset, task["epochs"]) for dataset in (ours, theirs)]
    print(json.dumps(results))


main()
