"""Runs in an environment with real DGL: serves partitions, and trains GraphSAGE on them in one process for every part.

Usage: python train.py TASK. TASK is a JSON file: `runs`, by name: `config` and `compare_with`, null or the directory of
the graph that the partitions were made of, as judge.py reads it: then what is served is compared with it first;
`graphbolt`, null, "use" for partitions that have its graphs, or "convert" for those that DGL converts first; `work`, a
directory for logs; `is_private`, see serve.py; `target`, the node type to classify by its data `y`, with
`train_mask`, `val_mask` and `test_mask`; `num_classes`, `hidden`, `fanout`, `batch_size`, `epochs`, `learning_rate`,
`seed`, perhaps `weight_decay`. Every node type has a feature `x`. At 0 epochs nothing is trained. Prints one JSON line:
results by the names of the runs.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import dgl
import torch
from compare import compare
from serve import serve
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

NUM_LAYERS = 2


class GraphSage(nn.Module):
    """Layers of mean aggregation, one `SAGEConv` for every edge type, whose results are added."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        # sorted, as DGL sorts them: the same weights for the same types, whatever their order in a config
        self.etypes = sorted(task.graph.canonical_etypes)
        self.target = task.settings["target"]
        hidden, width = task.settings["hidden"], task.settings["num_classes"]
        ntypes = {self.target}
        layers = []
        for depth in reversed(range(NUM_LAYERS)):
            # a layer has the edge types whose results the next one reads
            used = [etype for etype in self.etypes if etype[2] in ntypes]
            ntypes |= {src for src, _, _ in used}
            inputs = {ntype: hidden if depth else task.features[ntype].shape[1] for ntype in ntypes}
            convs = {
                ":".join(etype): dgl.nn.SAGEConv((inputs[etype[0]], inputs[etype[2]]), width, "mean") for etype in used
            }
            layers.insert(0, nn.ModuleDict(convs))
            width = hidden
        self.layers = nn.ModuleList(layers)

    def forward(self, blocks: list[dgl.DGLGraph], rows: dict[str, torch.Tensor]) -> torch.Tensor:
        for depth, (layer, block) in enumerate(zip(self.layers, blocks, strict=True)):
            sums: dict[str, torch.Tensor] = {}
            for etype in self.etypes:
                src, _, dst = etype
                if ":".join(etype) in layer and src in rows and dst in rows:
                    # of a graph with one type DGL forgets the type's name when it samples
                    relation = block if len(self.etypes) == 1 else block[etype]
                    found = layer[":".join(etype)](relation, (rows[src], rows[dst][: relation.num_dst_nodes()]))
                    sums[dst] = sums[dst] + found if dst in sums else found
            rows = sums if depth == NUM_LAYERS - 1 else {ntype: functional.relu(of) for ntype, of in sums.items()}
        return rows[self.target]


class Task:
    """A served graph, and what is to be learnt from it."""

    def __init__(self, graph: dgl.distributed.DistGraph, settings: dict) -> None:
        self.graph, self.settings = graph, settings
        self.target = settings["target"]
        data = {ntype: graph.nodes[ntype].data for ntype in graph.ntypes}
        self.features = {ntype: of["x"] for ntype, of in data.items()}
        self.labels = data[self.target]["y"]
        self.masks = {split: data[self.target][f"{split}_mask"] for split in ("train", "val", "test")}

    def nodes(self, split: str) -> torch.Tensor:
        """This trainer's share of a split."""
        return dgl.distributed.node_split(self.masks[split], self.graph.get_partition_book(), ntype=self.target)

    def batches(self, split: str, fanout: int, shuffle: bool):
        """Yield blocks, features of their roots by node type, and labels."""
        nodes = self.nodes(split)
        is_homogeneous = len(self.graph.canonical_etypes) == 1
        loader = dgl.dataloading.DistNodeDataLoader(
            self.graph,
            nodes if is_homogeneous else {self.target: nodes},
            dgl.dataloading.NeighborSampler([fanout] * NUM_LAYERS),
            batch_size=self.settings["batch_size"],
            shuffle=shuffle,
            drop_last=False,
        )
        for inputs, seeds, blocks in loader:
            if is_homogeneous:
                inputs, seeds = {self.target: inputs}, {self.target: seeds}
            rows = {ntype: self.features[ntype][ids].float() for ntype, ids in inputs.items() if len(ids)}
            yield blocks, rows, self.labels[seeds[self.target]].long()


def evaluate(task: Task, model: nn.Module, split: str) -> dict[str, float]:
    """Accuracy and mean loss on a split, all trainers together, with all neighbours rather than a sample."""
    sums = torch.zeros(3, dtype=torch.float64)
    model.eval()
    with torch.no_grad():
        for blocks, rows, labels in task.batches(split, -1, shuffle=False):
            scores = model(blocks, rows)
            loss = functional.cross_entropy(scores, labels, reduction="sum")
            sums += torch.tensor([loss.item(), (scores.argmax(1) == labels).sum().item(), len(labels)])
    torch.distributed.all_reduce(sums)
    loss, hits, count = sums.tolist()
    return {"loss": loss / count, "accuracy": hits / count, "count": int(count)}


def train(task: Task) -> dict:
    """Train; what was reached before and after."""
    settings = task.settings
    torch.manual_seed(settings["seed"])
    model = DistributedDataParallel(GraphSage(task), find_unused_parameters=True)
    # the model is the same in all trainers, the samples are not
    torch.manual_seed(settings["seed"] + task.graph.rank())
    dgl.seed(settings["seed"] + task.graph.rank())
    untrained = evaluate(task, model.module, "val")
    decay = settings.get("weight_decay", 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings["learning_rate"], weight_decay=decay)
    for _ in range(settings["epochs"]):
        model.train()
        # trainers may have different numbers of batches
        with model.join():
            for blocks, rows, labels in task.batches("train", settings["fanout"], shuffle=True):
                loss = functional.cross_entropy(model(blocks, rows), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return {
        "untrained": untrained,
        "val": evaluate(task, model.module, "val"),
        "test": evaluate(task, model.module, "test"),
    }


def run(work: Path, config: str, compare_with: str | None, settings: dict, graph: dgl.distributed.DistGraph) -> dict:
    """What one process does, together with the others, once it is connected with the servers."""
    torch.distributed.init_process_group(
        "gloo",
        init_method=f"file://{work}/rendezvous",
        rank=graph.rank(),
        world_size=graph.get_partition_book().num_partitions(),
    )
    report = {"dgl": dgl.__version__}
    if compare_with:
        report["compared"] = compare(graph, compare_with, Path(config))
    if settings["epochs"]:
        report.update(train(Task(graph, settings)))
    # the group is not destroyed: PyTorch 2.2 may wait forever, for a thread that waits for the lock it holds
    return report


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    results = {}
    for name, of in task["runs"].items():
        work = Path(task["work"]) / name
        job = partial(run, work, of["config"], of["compare_with"], task)
        if of["graphbolt"] == "convert":
            dgl.distributed.dgl_partition_to_graphbolt(of["config"], store_eids=True)
        results[name] = serve(Path(of["config"]), work, job, task["is_private"], of["graphbolt"] is not None)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
