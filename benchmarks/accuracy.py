"""Does training on parts reach what training on the whole graph reaches? Accuracy of GraphSAGE by how it is trained.

Two layers of mean aggregation with 64 hidden units, 10 x 10 sampled neighbours, a tenth of the labelled nodes to train
on, the same number of steps of 256 training nodes (64 at each of four trainers) for all. Four trainers are played by
one process, which averages their gradients, as data-parallel training does. Every model is judged alike: on other
labelled nodes, 4,000 at most, with all neighbours, over the whole graph. ``python benchmarks/accuracy.py --graphs
cora``; real graphs are those of the tests.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import warnings
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
from graphs import Graph, load_real_graph  # noqa: E402

with warnings.catch_warnings(action="ignore"):  # torch tells what it will no longer have
    from torch_geometric.nn import SAGEConv

if TYPE_CHECKING:
    from collections.abc import Iterator

    Found = dict[str, dict[str, dict[str, float]]]  # by graph, way and seed

NUM_PARTS, HIDDEN, FANOUTS, BATCH, MOST_JUDGED = 4, 64, [10, 10], 256, 4000
WAYS = {
    "whole graph": "the graph as one part, one trainer",
    "all parts": "one trainer, the loader over all parts",
    "4 trainers, all parts": "each with the training nodes of its part, sampled over all parts",
    "4 trainers, own part, 2 hops": "each samples its part alone, with two hops of HALO nodes",
    "4 trainers, own part, 1 hop": "each samples its part alone, with one hop of HALO nodes",
    "1 part's nodes, all parts": "one trainer with the training nodes of one part, sampled over all parts",
    "1 part alone, 1 hop": "one trainer that has one part, and nothing of the others",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", default="cora,coauthor_physics,dblp_hetero")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seeds", default="0,1,2", help="results of other seeds and graphs are kept")
    parser.add_argument("--method", default="metis", help="how the graph is partitioned")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found: Found = {}
    for name in options.graphs.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            found[name] = compare(name, Path(scratch), options)
    setting = {"steps": options.steps, "method": options.method, "parts": NUM_PARTS}
    found = with_kept(found, setting)
    heads, *rows = table(found)
    show(heads, rows)
    keep_lines("accuracy", setting, found)


def with_kept(found: Found, setting: dict[str, Any]) -> Found:
    """Add results of other graphs and seeds, if the last run had the same setting."""
    path = HERE / "results" / "accuracy.jsonl"
    last = json.loads(path.read_text().splitlines()[-1]) if path.exists() else {}
    kept: Found = last["results"] if last and last["setting"] == setting else {}
    for name, of in found.items():
        kept[name] = {way: kept.get(name, {}).get(way, {}) | of_seeds for way, of_seeds in of.items()}
    return kept


def table(found: Found) -> list[list[str]]:
    """Rows of a table: accuracies of each way, by graph."""
    rows = [["", *found, "what a trainer samples"]]
    return rows + [[way, *(spread(of[way]) for of in found.values()), about] for way, about in WAYS.items()]


def spread(of_seeds: dict[str, float]) -> str:
    """Mean, and standard deviation, in percent."""
    values = [*of_seeds.values()]
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.1f} ± {100 * deviation:.1f}"


def compare(name: str, root: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Accuracies of each way by seed."""
    graph, target = to_train_on(name)
    source = graph.write(root / "in")
    opened = {}
    for what, num_parts, hops in (("whole", 1, 1), ("hops 1", NUM_PARTS, 1), ("hops 2", NUM_PARTS, 2)):
        how: dict[str, Any] = {"method": options.method, "num_hops": hops, "graph_formats": "csc"}
        config = dgp.partition(source, root / what, num_parts, **how).config
        opened[what] = dgp.open_partitions(config)
    found: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    for seed in map(int, options.seeds.split(",")):
        for way in WAYS:
            model = train(loaders_of(way, opened, target, seed), opened["whole"], target, options.steps, seed)
            found[way][str(seed)] = accuracy(model, opened["whole"], target)
            print(f"{name}, seed {seed}, {way}: {found[way][str(seed)]:.3f}", flush=True)
    return found


def to_train_on(name: str) -> tuple[Graph, str]:
    """A real graph with edges in both directions, features of all types, and one tenth of the labels to train on."""
    whole = load_real_graph(name)
    edges, sizes = {}, {kind.name: kind.num_nodes for kind in whole.schema.node_types}
    for etype, (src, dst) in whole.edges.items():
        begin, relation, end = etype.split(":")
        if begin == end:
            edges[etype] = (np.concatenate([src, dst]), np.concatenate([dst, src]))
        else:
            edges[etype], edges[f"{end}:reverse_{relation}:{begin}"] = (src, dst), (dst, src)
    target = next(ntype for ntype, of in whole.node_data.items() if "y" in of)
    data = {
        ntype: {"x": whole.node_data.get(ntype, {}).get("x", np.ones((count, 1))).astype("f4")}
        for ntype, count in sizes.items()
    }
    labels = whole.node_data[target]["y"]
    order = np.random.default_rng(0).permutation(np.flatnonzero(labels >= 0))
    chosen = np.split(order, [order.size // 10, order.size // 10 + MOST_JUDGED])
    masks = {name: np.isin(np.arange(labels.size), of) for name, of in zip(("train", "test"), chosen, strict=False)}
    data[target] |= {"y": labels, **{f"{name}_mask": mask for name, mask in masks.items()}}
    types = tuple(dgp.EdgeType(*etype.split(":"), len(ends[0])) for etype, ends in edges.items())
    return Graph(dgp.GraphSchema(name, whole.schema.node_types, types), edges, data), target


def loaders_of(way: str, opened: dict[str, dgp.PartitionedGraph], target: str, seed: int) -> list[Any]:
    """Loaders of the trainers of a way."""
    one, parts = opened["whole"], opened["hops 2" if "2 hops" in way else "hops 1"]
    trainers = range(NUM_PARTS) if way.startswith("4") else [0]
    how: Any = {"shuffle": True, "batch_size": BATCH // len(trainers), "seed": seed}
    if way in ("whole graph", "all parts"):
        return [(one if way == "whole graph" else parts).neighbor_loader(FANOUTS, (target, "train_mask"), **how)]
    if "all parts" in way:
        seeds = [parts.part(number).split_nids[f"{target}/train_mask"] for number in trainers]
        return [parts.neighbor_loader(FANOUTS, (target, own), **how) for own in seeds]
    return [parts.part(number).neighbor_loader(FANOUTS, (target, "train_mask"), **how) for number in trainers]


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


def train(loaders: list[Any], graph: dgp.PartitionedGraph, target: str, steps: int, seed: int) -> Sage:
    """Train by so many steps; each is the average of a batch of every loader."""
    torch.manual_seed(seed)
    model = Sage(graph, target)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    endless: list[Iterator[Any]] = [chain.from_iterable(repeat(loader)) for loader in loaders]
    for _ in range(steps):
        optimizer.zero_grad()
        for batches in endless:
            (cross_entropy(*model(next(batches))) / len(endless)).backward()
        optimizer.step()
    return model


def accuracy(model: Sage, graph: dgp.PartitionedGraph, target: str) -> float:
    """Share of the test nodes whose class is found, with all neighbours of the whole graph."""
    hits = total = 0
    with torch.no_grad():
        for batch in graph.neighbor_loader([-1, -1], (target, "test_mask"), batch_size=2048):
            scores, labels = model(batch)
            hits, total = hits + int((scores.argmax(1) == labels).sum()), total + len(labels)
    return hits / total


if __name__ == "__main__":
    main()
