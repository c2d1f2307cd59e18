"""Runs in an environment with DGL 2.1: trains on partitions and datasets, for accuracy.py.

Usage: python accuracy_dgl.py TASK. TASK is a JSON file: settings as those of tests/real_dgl/train.py, and `runs`, each
with `way`, `seed`, `config` and `kind`: "distributed" (servers and trainers, one for each part) or "ondisk" (a dataset
of GraphBolt). First DGL partitions the graph in `graph`, as judge.py reads it, by its METIS: `partition` has the
directories, by numbers of parts. Prints one JSON line for each run as it ends.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

os.environ["DGLBACKEND"] = "pytorch"
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "real_dgl"))

import dgl
import dgl.graphbolt as gb
import serve
import torch
import train
from judge import build, read_graph
from torch.nn.functional import cross_entropy

serve.MOST_SECONDS = 1200  # beside other work on few cores


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    torch.set_num_threads(1)
    for num_parts, out in task["partition"].items():
        graph = build(read_graph(task["graph"]), named=True)
        name = Path(out).name
        dgl.distributed.partition_graph(
            graph, name, int(num_parts), out, part_method="metis", graph_formats=["coo", "csc"]
        )
    for number, run in enumerate(task["runs"]):
        settings = {**task, **run}
        if run["kind"] == "ondisk":
            found = on_disk(run["config"], settings)
        else:
            work = Path(task["work"]) / str(number)
            job = partial(train.run, work, run["config"], None, settings)
            found = serve.serve(Path(run["config"]), work, job)["test"]["accuracy"]
        print(json.dumps({"way": run["way"], "seed": run["seed"], "accuracy": found}), flush=True)


def on_disk(directory: str, settings: dict) -> float:
    """Train on a dataset of GraphBolt; accuracy on its test set."""
    torch.manual_seed(settings["seed"])
    dgl.seed(settings["seed"])
    dataset = gb.OnDiskDataset(directory).load()
    graph, feature, target = dataset.graph, dataset.feature, settings["target"]
    is_one = graph.edge_type_to_id is None
    etypes = [tuple(etype.split(":")) for etype in graph.edge_type_to_id or settings["etypes"]]
    ntypes = [target] if is_one else list(graph.node_type_to_id)
    of_types = {ntype: feature._features["node", None if is_one else ntype, "x"].read() for ntype in ntypes}
    about = SimpleNamespace(graph=SimpleNamespace(canonical_etypes=etypes), settings=settings, features=of_types)
    model = train.GraphSage(about)
    keys = ["x"] if is_one else {ntype: ["x"] for ntype in ntypes}

    def batches(items, fanout: int, shuffle: bool):
        pipe = gb.ItemSampler(items, batch_size=settings["batch_size"], shuffle=shuffle)
        pipe = pipe.sample_neighbor(graph, [fanout] * train.NUM_LAYERS)
        for batch in gb.DataLoader(pipe.fetch_feature(feature, node_feature_keys=keys)):
            rows = {target if is_one else key[0]: of for key, of in found_features(batch, is_one).items()}
            labels = batch.labels if is_one else batch.labels[target]
            yield model(batch.blocks, rows), labels.long()

    optimizer = torch.optim.Adam(
        model.parameters(), lr=settings["learning_rate"], weight_decay=settings["weight_decay"]
    )
    for _ in range(settings["epochs"]):
        for scores, labels in batches(dataset.tasks[0].train_set, settings["fanout"], shuffle=True):
            optimizer.zero_grad()
            cross_entropy(scores, labels).backward()
            optimizer.step()
    hits = total = 0
    with torch.no_grad():
        for scores, labels in batches(dataset.tasks[0].test_set, -1, shuffle=False):
            hits, total = hits + int((scores.argmax(1) == labels).sum()), total + len(labels)
    return hits / total


def found_features(batch, is_one: bool) -> dict:
    """Features of the input nodes; types of which there are none are left out."""
    features = batch.node_features
    return features if is_one else {key: rows for key, rows in features.items() if len(rows)}


if __name__ == "__main__":
    main()
