"""Does training on parts reach what training on the whole graph reaches? Accuracy of GraphSAGE by how it is trained.

Two layers of mean aggregation with 64 hidden units, 10 x 10 sampled neighbours, a tenth of the labelled nodes to train
on, the same number of epochs for all, 256 training nodes a step over all trainers; GraphStorm has a model of its own.
Four trainers of PyG are played by one process, which averages their gradients, as data-parallel training does; those of
DGL and of `ranks` are processes. Every model is judged alike: on other labelled nodes, 4,000 at most, with all
neighbours, over the whole graph.

    python benchmarks/accuracy.py --ways pyg           # or ranks, dgl, ondisk, graphstorm; all by default
    python benchmarks/accuracy.py --graphs cora        # graphs are those of the tests

Each result is appended to results/accuracy.jsonl as it comes; the table is of all of one setting.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import warnings
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from harness import keep_lines, show
from torch.nn.functional import cross_entropy

import daskgraphpart as dgp

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests")]
import real_graphs  # noqa: E402
from graphs import Graph, load_real_graph  # noqa: E402
from judges import SCRIPTS, dgl_environment, dgl_python, save_for_judge  # noqa: E402

with warnings.catch_warnings(action="ignore"):  # torch tells what it will no longer have
    from torch_geometric.nn import SAGEConv

if TYPE_CHECKING:
    from collections.abc import Iterator

    Found = dict[str, dict[str, dict[str, float]]]  # by graph, way and seed

NUM_PARTS, HIDDEN, FANOUTS, BATCH, MOST_JUDGED = 4, 64, [10, 10], 256, 4000
RATE, DECAY, NUM_COLUMNS = 0.01, 5e-4, 128
EPOCHS = {"cora": 100, "dblp_hetero": 100, "coauthor_physics": 15}
WAYS = {
    "pyg": {
        "whole graph": "the graph as one part, one trainer",
        "all parts": "one trainer, the loader over all parts",
        "4 trainers, all parts": "each with the training nodes of its part, sampled over all parts",
        "4 trainers, own part, 2 hops": "each samples its part alone, with two hops of halo nodes",
        "4 trainers, own part, 1 hop": "each samples its part alone, with one hop of halo nodes",
        "1 part's nodes, all parts": "one trainer with the training nodes of one part, sampled over all parts",
        "1 part alone, 1 hop": "one trainer that has one part, and nothing of the others",
    },
    "ranks": {"`ranks`, 4 processes": "each with its part, plain torch; neighbours and features from all"},
    "dgl": {
        "DGL, whole graph": "`DistGraph` of one part, one trainer",
        "DGL, 2 trainers, our parts": "`DistGraph`, sampled over all parts",
        "DGL, 2 trainers, its parts": "`dgl.distributed.partition_graph`",
        "DGL, 4 trainers, our parts": "`DistGraph`, sampled over all parts",
        "DGL, 4 trainers, its parts": "`dgl.distributed.partition_graph`",
    },
    "ondisk": {"GraphBolt, `ondisk`": "`OnDiskDataset`, one trainer"},
    "graphstorm": {
        "GraphStorm, our partition": "`gs_node_classification`, its RGCN, one trainer",
        "GraphStorm, DGL's partition": "the same, on what `partition_graph` writes",
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(EPOCHS))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--method", default="metis", help="how the graph is partitioned")
    options = parser.parse_args()
    torch.set_num_threads(1)
    seeds, setting = [int(seed) for seed in options.seeds.split(",")], {"method": options.method, "epochs": EPOCHS}
    for name in options.graphs.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            task = Task(name, Path(scratch), options.method)
            for ways in options.ways.split(","):
                for way, seed, found in TRAININGS[ways](task, seeds):
                    print(f"{name}, {way}, seed {seed}: {found:.4f}", flush=True)
                    keep_lines("accuracy", setting, {name: {way: {str(seed): found}}})
    heads, *rows = table(newest())
    show(heads, rows)


def newest() -> Found:
    """Results of all lines that have the setting of the last one."""
    lines = [json.loads(line) for line in (HERE / "results" / "accuracy.jsonl").read_text().splitlines()]
    found: Found = {}
    for line in lines:
        if line["setting"] == lines[-1]["setting"]:
            for name, ways in line["results"].items():
                for way, of_seeds in ways.items():
                    found.setdefault(name, {}).setdefault(way, {}).update(of_seeds)
    return found


def table(found: Found) -> list[list[str]]:
    """Rows of a table: accuracies of each way, by graph."""
    rows = [["", *found, "what a trainer samples"]]
    for way, about in chain.from_iterable(ways.items() for ways in WAYS.values()):
        if any(way in of for of in found.values()):
            rows.append([way, *(spread(of.get(way, {})) for of in found.values()), about])
    return rows


def spread(of_seeds: dict[str, float]) -> str:
    """Mean, and standard deviation, in percent; of one training only its own."""
    values = [*of_seeds.values()]
    if len(values) < 2:
        return f"{100 * values[0]:.1f} (one)" if values else ""
    return f"{100 * statistics.mean(values):.1f} ± {100 * statistics.stdev(values):.1f}"


class Task:
    """A graph to train on, and partitions of it, made when they are asked for."""

    def __init__(self, name: str, root: Path, method: str) -> None:
        self.name, self.root, self.method = name, root, method
        self.graph, self.target = to_train_on(name)
        self.source = self.graph.write(root / "in")
        self.opened: dict[Path, dgp.PartitionedGraph] = {}

    def config(self, num_parts: int, hops: int = 1, layout: str = "dgl") -> Path:
        """Config of partitions."""
        out = self.root / f"{layout}-{num_parts}-{hops}"
        if not out.exists():
            method = self.method if num_parts > 1 else "random"
            how: dict[str, Any] = {"num_hops": hops, "layout": layout}
            how |= {"layout_options": {"graph_formats": "coo,csc"}} if "dgl" in layout else {}
            dgp.partition(self.source, out, num_parts, method=method, **how)
        return out / f"{self.graph.schema.name}.json"

    def parts(self, num_parts: int, hops: int = 1) -> dgp.PartitionedGraph:
        """Partitions, opened."""
        config = self.config(num_parts, hops)
        if config not in self.opened:
            self.opened[config] = dgp.open_partitions(config)
        return self.opened[config]

    @property
    def steps(self) -> int:
        """So many as one trainer makes in all epochs."""
        return EPOCHS[self.name] * -(-int(self.graph.node_data[self.target]["train_mask"].sum()) // BATCH)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What trainings in other environments need."""
        return {
            "target": self.target,
            "num_classes": int(self.graph.node_data[self.target]["y"].max()) + 1,
            "hidden": HIDDEN,
            "epochs": EPOCHS[self.name],
            "fanout": FANOUTS[0],
            "learning_rate": RATE,
            "weight_decay": DECAY,
        }


def to_train_on(name: str) -> tuple[Graph, str]:
    """A real graph with edges in both directions, features of all types, and one tenth of the labels to train on.

    Wide sparse features are projected at random.
    """
    whole = load_real_graph(name)
    # DGL forgets other names of a graph with one type when it samples, and GraphStorm asks for them
    plain = {"node": "_N", "edge": "_E"} if len(whole.edges) == 1 else {}
    edges, types = {}, [dgp.NodeType(plain.get(of.name, of.name), of.num_nodes) for of in whole.schema.node_types]
    node_data = {plain.get(ntype, ntype): of for ntype, of in whole.node_data.items()}
    for etype, (src, dst) in whole.edges.items():
        begin, relation, end = (plain.get(part, part) for part in etype.split(":"))
        if begin == end:
            edges[f"{begin}:{relation}:{end}"] = np.concatenate([src, dst]), np.concatenate([dst, src])
        else:
            edges[etype], edges[f"{end}:reverse_{relation}:{begin}"] = (src, dst), (dst, src)
    target = next(ntype for ntype, of in node_data.items() if "y" in of)
    data = {
        ntype: {"x": node_data.get(ntype, {}).get("x", np.ones((count, 1))).astype("f4")}
        for ntype, count in ((of.name, of.num_nodes) for of in types)
    }
    for ntype, of in real_graphs.load(name).nodes.items():
        if not isinstance(of.get("x", np.empty(0)), np.ndarray):
            projection = np.random.default_rng(1).normal(0, NUM_COLUMNS**-0.5, (of["x"].shape[1], NUM_COLUMNS))
            data[plain.get(ntype, ntype)] = {"x": (of["x"] @ projection).astype("f4")}
    labels = node_data[target]["y"]
    order = np.random.default_rng(0).permutation(np.flatnonzero(labels >= 0))
    ends = order.size // 10, order.size // 10 + MOST_JUDGED
    # DGL's and GraphStorm's trainings want nodes to validate; nothing is chosen by them
    chosen = {"train": order[: ends[0]], "test": order[ends[0] : ends[1]], "val": order[-100:]}
    masks = {split: np.isin(np.arange(labels.size), of) for split, of in chosen.items()}
    data[target] |= {"y": labels, **{f"{name}_mask": mask for name, mask in masks.items()}}
    etypes = tuple(dgp.EdgeType(*etype.split(":"), len(ends[0])) for etype, ends in edges.items())
    return Graph(dgp.GraphSchema(name, tuple(types), etypes), edges, data), target


def by_pyg(task: Task, seeds: list[int]) -> Iterator[tuple[str, int, float]]:
    """Train with our loaders; way, seed, and accuracy."""
    for seed in seeds:
        for way in WAYS["pyg"]:
            model = train(loaders_of(way, task, seed), task, seed)
            yield way, seed, accuracy(model, task)


def loaders_of(way: str, task: Task, seed: int) -> list[Any]:
    """Loaders of the trainers of a way."""
    one, parts, target = task.parts(1), task.parts(NUM_PARTS, 2 if "2 hops" in way else 1), task.target
    trainers = range(NUM_PARTS) if way.startswith("4") else [0]
    how: Any = {"shuffle": True, "batch_size": BATCH // len(trainers), "seed": seed}
    if way in ("whole graph", "all parts"):
        return [(one if way == "whole graph" else parts).neighbor_loader(FANOUTS, (target, "train_mask"), **how)]
    if "all parts" in way:
        mine = [parts.part(number).split_nids[f"{target}/train_mask"] for number in trainers]
        return [parts.neighbor_loader(FANOUTS, (target, own), **how) for own in mine]
    return [parts.part(number).neighbor_loader(FANOUTS, (target, "train_mask"), **how) for number in trainers]


def by_ranks(task: Task, seeds: list[int]) -> Iterator[tuple[str, int, float]]:
    """Train on the layout `ranks`, a process for each part."""
    (way,) = WAYS["ranks"]
    for seed in seeds:
        content = {"config": str(task.config(NUM_PARTS, 1, "dgl,ranks")), "target": task.target, "seed": seed}
        content |= {"steps": task.steps, "model": str(task.root / "model.pt")}
        (task.root / "ranks.json").write_text(json.dumps(content))
        launcher = (sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={NUM_PARTS}", "--standalone")
        said((*launcher, HERE / "accuracy_ranks.py", task.root / "ranks.json"))
        model = Sage(task.parts(1), task.target)
        model.load_state_dict(torch.load(task.root / "model.pt"))
        yield way, seed, accuracy(model, task)


def by_dgl(task: Task, seeds: list[int]) -> Iterator[tuple[str, int, float]]:
    """Train as DGL distributes it, on our partitions and on its own."""
    configs, name = {"DGL, whole graph": task.config(1)}, task.graph.schema.name
    own = {str(count): task.root / f"dgls-{count}" / name for count in (2, 4)}
    for count, out in own.items():
        configs[f"DGL, {count} trainers, our parts"] = task.config(int(count))
        configs[f"DGL, {count} trainers, its parts"] = out / f"{name}.json"
    runs = [
        {"way": way, "seed": seed, "config": str(configs[way]), "kind": "distributed", "batch_size": BATCH // count}
        for seed in seeds
        for way, count in zip(WAYS["dgl"], (1, 2, 2, 4, 4), strict=True)
    ]
    yield from in_dgl(task, runs, partition={count: str(out) for count, out in own.items()})


def on_disk(task: Task, seeds: list[int]) -> Iterator[tuple[str, int, float]]:
    """Train on a dataset of GraphBolt."""
    ((way, _),) = WAYS["ondisk"].items()
    dataset = task.config(1, 1, "ondisk").parent / "ondisk" / "dataset"
    about = {"way": way, "config": str(dataset), "kind": "ondisk", "batch_size": BATCH}
    yield from in_dgl(task, [{**about, "seed": seed} for seed in seeds], partition={})


def in_dgl(task: Task, runs: list[dict[str, Any]], partition: dict[str, str]) -> Iterator[tuple[str, int, float]]:
    """Run trainings in the environment of DGL 2.1, and read what they print."""
    where = {"graph": str(save_for_judge(task.graph, task.root / "judge")), "work": str(task.root / "work")}
    content = {**task.settings, **where, "etypes": list(task.graph.edges), "runs": runs, "partition": partition}
    (task.root / "dgl.json").write_text(json.dumps(content))
    command = [dgl_python("2.1.0"), str(HERE / "accuracy_dgl.py"), str(task.root / "dgl.json")]
    with (task.root / "dgl.log").open("w+") as log:
        how: dict[str, Any] = {"env": dgl_environment(task.root), "cwd": task.root, "stderr": log}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how) as process:
            assert process.stdout is not None
            for line in filter(lambda line: line.startswith("{"), process.stdout):
                found = json.loads(line)
                yield found["way"], found["seed"], found["accuracy"]
        log.seek(0)
        if process.returncode:
            raise SystemExit(log.read()[-6000:])


GRAPHSTORM = """---
version: 1.0
gsf:
  basic: {{backend: gloo}}
  gnn: {{model_encoder_type: rgcn, fanout: "10,10", num_layers: 2, hidden_size: {hidden}, use_mini_batch_infer: false}}
  hyperparam: {{dropout: 0., lr: {learning_rate}, num_epochs: {epochs}, batch_size: {batch}, wd_l2norm: {weight_decay}}}
  rgcn: {{num_bases: -1, use_self_loop: true}}
  node_classification: {{target_ntype: {target}, label_field: "y", multilabel: false, num_classes: {num_classes},
    eval_metric: [accuracy]}}
"""


def by_graphstorm(task: Task, seeds: list[int]) -> Iterator[tuple[str, int, float]]:
    """Train by GraphStorm's command, which seeds nothing; its accuracy after the last epoch."""
    name = task.graph.schema.name
    own = task.root / "dgls-1" / name
    assert not [*in_dgl(task, [], partition={"1": str(own)})]
    ours = task.config(1, 1, "graphstorm").parent / "dist_graph" / "metadata.json"
    settings = task.root / "graphstorm.yaml"
    settings.write_text(GRAPHSTORM.format(batch=BATCH, **task.settings))
    where: Any = ("--workspace", task.root, "--num-trainers", 1, "--num-servers", 1)
    what = ("--cf", settings, "--node-feat-name", *(f"{ntype}:x" for ntype in task.graph.schema.ntypes))
    environment = dgl_environment(task.root) | {"PYTHONPATH": str(SCRIPTS / "without_autogluon")}
    for seed in seeds:
        for way, config in zip(WAYS["graphstorm"], (ours, own / f"{name}.json"), strict=True):
            command = (dgl_python("graphstorm-0.5.1"), "-m", "graphstorm.run.gs_node_classification", *where, *what)
            log = said((*command, "--part-config", config), env=environment, cwd=task.root)
            yield way, seed, float(re.findall(r"\| Test accuracy: ([0-9.]+)", log)[-1])


def said(command: tuple[Any, ...], **how: Any) -> str:
    """Run a command; what it wrote."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **how)
    if done.returncode:
        raise SystemExit(f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return done.stdout + done.stderr


TRAININGS = {"pyg": by_pyg, "ranks": by_ranks, "dgl": by_dgl, "ondisk": on_disk, "graphstorm": by_graphstorm}


class Sage(torch.nn.Module):
    """Layers of mean aggregation, one for each edge type, whose results are added."""

    def __init__(self, graph: dgp.PartitionedGraph, target: str) -> None:
        super().__init__()
        self.etypes, self.target = graph.etypes, target
        num_classes = int(graph.node_data[target]["y"].max().compute()) + 1
        widths = {ntype: graph.nodes[ntype].data["x"].shape[1] for ntype in graph.ntypes}
        self.layers = torch.nn.ModuleList()
        for size in (HIDDEN, num_classes):
            ends = [(etype.split(":")[0], etype.split(":")[2]) for etype in self.etypes]
            self.layers.append(torch.nn.ModuleList(SAGEConv((widths[src], widths[dst]), size) for src, dst in ends))
            widths = dict.fromkeys(widths, size)

    def forward(self, batch: Any) -> Any:
        """Scores and labels of the seeds of a batch."""
        is_homogeneous = len(self.etypes) == 1
        stores = {self.target: batch} if is_homogeneous else {ntype: batch[ntype] for ntype in batch.node_types}
        rows = {ntype: store.x for ntype, store in stores.items()}
        for number, layer in enumerate(self.layers):
            sums: dict[str, Any] = {}
            for conv, etype in zip(layer, self.etypes, strict=True):
                src, _, dst = etype.split(":")
                edges = (batch if is_homogeneous else batch[tuple(etype.split(":"))]).edge_index
                found = conv((rows[src], rows[dst]), edges)
                sums[dst] = sums[dst] + found if dst in sums else found
            rows = {ntype: of.relu() if number == 0 else of for ntype, of in sums.items()}
        store = stores[self.target]
        return rows[self.target][: store.batch_size], store.y[: store.batch_size]


def train(loaders: list[Any], task: Task, seed: int) -> Sage:
    """Train; each step is the average of a batch of every loader."""
    torch.manual_seed(seed)
    model = Sage(task.parts(1), task.target)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=DECAY)
    endless: list[Iterator[Any]] = [chain.from_iterable(repeat(loader)) for loader in loaders]
    for _ in range(task.steps):
        optimizer.zero_grad()
        for batches in endless:
            (cross_entropy(*model(next(batches))) / len(endless)).backward()
        optimizer.step()
    return model


def accuracy(model: Sage, task: Task) -> float:
    """Share of the test nodes whose class is found, with all neighbours of the whole graph."""
    hits = total = 0
    with torch.no_grad():
        for batch in task.parts(1).neighbor_loader([-1, -1], (task.target, "test_mask"), batch_size=2048):
            scores, labels = model(batch)
            hits, total = hits + int((scores.argmax(1) == labels).sum()), total + len(labels)
    return hits / total


if __name__ == "__main__":
    main()
