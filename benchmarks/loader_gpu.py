"""How many batches a second do loaders feed a model on a GPU, and how long does it wait? A table of loaders.

GraphSAGE of two layers, 15 x 10 neighbours, 1,024 seeds a batch, on a generated graph of 50 M edges with 128 float32
features. A step takes a batch in pinned memory, copies it to the GPU, trains, and waits until the GPU has finished;
waiting is the share of the time in which the model has no batch. Without a GPU the same runs on the processor.

    python benchmarks/loader_gpu.py --directory /scratch       # 15 GB on disk, 10 GB of memory, five minutes
    python benchmarks/loader_gpu.py --toy                      # less than a minute, anywhere

It needs this package with its dependencies, torch and torch_geometric; a row for PyG's own loader appears where
pyg-lib or torch-sparse is installed.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch_geometric
from harness import generate_once, keep_lines, measure, our_command, show
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import SAGEConv

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
FANOUTS, HIDDEN, WIDTH, WARM = [15, 10], 256, 128, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="5e6")
    parser.add_argument("--edges", default="5e7")
    parser.add_argument("--seconds", type=float, default=6, help="of each row")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--workers", default="0,1,4,8", help="threads that prefetch; 0 makes batches when asked")
    parser.add_argument("--method", default="random", help="how the graph is partitioned, in four parts")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    parser.add_argument("--no-model", action="store_true", help="take batches, and do nothing with them")
    parser.add_argument("--toy", action="store_true", help="2e5 edges, batches of 64, a second for each row")
    options = parser.parse_args()
    if options.toy:
        options.nodes, options.edges, options.seconds, options.batch_size = "2e4", "2e5", 1, 64
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        run(Path(scratch), options)


def run(scratch: Path, options: argparse.Namespace) -> None:
    """Generate, partition, train by each loader, and show what was measured."""
    started = time.perf_counter()
    source = ("--kind", "communities", "--features", str(WIDTH), "--labels")
    graph = generate_once(scratch / "in", "--nodes", options.nodes, "--edges", options.edges, *source)
    how = ("--num-parts", "4", "--method", options.method, "--graph-formats", "coo,csc", "--layout", "dgl,ranks")
    measure(our_command("partition", str(graph), str(scratch / "out"), *how, "--quiet"))
    print(f"generated and partitioned in {time.perf_counter() - started:.0f} s", flush=True)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"no GPU, {torch.get_num_threads()} threads"
    parts = dgp.open_partitions(scratch / "out")
    num_classes = int(parts.node_data["_N"]["label"].max().compute()) + 1
    workers = [int(number) for number in options.workers.split(",")]
    rows, found = [], []
    for way in ways(parts, scratch / "out" / "ranks", workers, options.batch_size, device):
        model = None if options.no_model else (TreeSage if way.is_tree else Sage)(num_classes).to(device)
        taken = train(way.batches(), model, device, options.seconds)
        found.append({"loader": way.loader, "workers": way.workers, **taken})
        cells = f"{taken['rate']:.1f}", f"{100 * taken['waiting']:.0f}%", f"{taken['nodes']:,.0f}"
        rows.append([way.loader, way.workers, *cells])
        print(*rows[-1], sep=", ", flush=True)
    show(["loader", "workers", "batches a second", "waiting", "nodes a batch"], rows)
    print(f"({name}, torch {torch.__version__}, torch_geometric {torch_geometric.__version__})")
    setting = {"nodes": options.nodes, "edges": options.edges, "device": name, "method": options.method}
    setting["model"] = not options.no_model
    keep_lines("loader_gpu", setting, found)


@dataclass(frozen=True)
class Way:
    """A loader, and whether it gives trees of neighbours instead of graphs."""

    loader: str
    workers: int
    batches: Callable[[], Iterator[Any]]
    is_tree: bool = False


def ways(
    parts: dgp.PartitionedGraph, ranks: Path, workers: list[int], num_seeds: int, device: torch.device
) -> Iterator[Way]:
    """All that are compared; what a way holds is freed before the next is made."""
    ours = {"batch_size": num_seeds, "shuffle": True, "node_data": ["feat", "label"], "edge_data": []}
    can_pin = device.type == "cuda"
    pin = (lambda batch: batch.pin_memory()) if can_pin else None

    def endless(loader: Any) -> Iterator[Any]:
        while True:
            yield from loader

    def files(number: int, transform: Any) -> Iterator[Any]:
        how = {**ours, "num_workers": number, "transform": transform}
        return endless(parts.neighbor_loader(FANOUTS, "train_mask", **how))

    one = next(files(0, None)).to(device)
    yield Way("one batch on the device again and again: the model alone", 0, lambda: endless([one]))
    for number in workers:
        yield Way("parts.neighbor_loader, features from files", number, partial(files, number, pin))
    if can_pin:
        yield Way("the same, memory not pinned", workers[-1], partial(files, workers[-1], None))

    arrays = ranks_arrays(ranks)
    for number in workers:
        batches = partial(prefetched, Trees(*arrays, num_seeds, can_pin), number)
        yield Way("ranks, trees with replacement", number, batches, is_tree=True)

    feat, label = arrays[0].local, arrays[1].local  # of all parts: this is the only process

    def memory(number: int, at: torch.device) -> Iterator[Any]:
        rows, labels = feat.to(at), label.to(at)

        def gather(batch: Data) -> Data:
            ids = batch.n_id.to(at)
            batch.feat, batch.label = rows[ids], labels[ids[: batch.batch_size]]
            return batch.pin_memory() if can_pin and at.type == "cpu" else batch

        how = {**ours, "node_data": [], "num_workers": number, "transform": gather}
        return endless(parts.neighbor_loader(FANOUTS, "train_mask", **how))

    for number in {*workers[:1], workers[-1]}:
        loader = "the same sampler, features in memory (a tensor)"
        yield Way(loader, number, partial(memory, number, torch.device("cpu")))
    if can_pin:
        yield Way("the same sampler, features on the GPU", workers[-1], partial(memory, workers[-1], device))
    if not (torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE):
        print("PyG's NeighborLoader is left out: neither pyg-lib nor torch-sparse is installed", flush=True)
        return
    data = Data(feat=feat, label=label, edge_index=torch.stack([arrays[2], arrays[3]]), num_nodes=len(feat))
    for number in workers:
        how = {"batch_size": num_seeds, "shuffle": True, "num_workers": number, "pin_memory": can_pin}
        loader = NeighborLoader(data, FANOUTS, input_nodes=arrays[4], persistent_workers=number > 0, **how)
        yield Way("PyG's NeighborLoader, all in memory", number, partial(endless, loader))


def train(batches: Iterator[Any], model: Any, device: torch.device, seconds: float) -> dict[str, float]:
    """Train for so long after a few warm batches; batches a second, share of time waiting, input nodes of a batch."""
    optimizer = None if model is None else torch.optim.Adam(model.parameters(), lr=0.01)
    waited = spent = 0.0
    done = nodes = 0
    torch.manual_seed(0)
    while spent < seconds or done <= WARM:
        asked = time.perf_counter()
        batch = next(batches)
        got = time.perf_counter()
        batch = batch.to(device, non_blocking=True)
        if optimizer is not None:
            optimizer.zero_grad()
            cross_entropy(*model(batch)).backward()
            optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        done += 1
        if done > WARM:
            waited, spent = waited + got - asked, spent + time.perf_counter() - asked
            nodes += int(batch.num_nodes)
    done -= WARM
    if hasattr(batches, "close"):
        batches.close()
    return {"rate": done / spent, "waiting": waited / spent, "nodes": nodes / done}


class Sage(torch.nn.Module):
    """Two layers of mean aggregation over a sampled graph."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(WIDTH, HIDDEN), SAGEConv(HIDDEN, num_classes)

    def forward(self, batch: Data) -> tuple[Any, Any]:
        """Scores and labels of the seeds."""
        hidden = self.first(batch.feat, batch.edge_index).relu()
        return self.second(hidden, batch.edge_index)[: batch.batch_size], batch.label[: batch.batch_size]


class TreeSage(torch.nn.Module):
    """The same layers over trees, in which every node has as many neighbours."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(2 * WIDTH, HIDDEN), torch.nn.Linear(2 * HIDDEN, num_classes)

    def forward(self, batch: Data) -> tuple[Any, Any]:
        """Scores and labels of the seeds."""
        (near, far), num_seeds = FANOUTS, len(batch.label)
        counts = [num_seeds, num_seeds * near, num_seeds * near * far]
        seeds, first, second = batch.feat.split(counts)
        own = torch.cat([seeds, first.view(num_seeds, near, -1).mean(1)], 1)
        others = torch.cat([first, second.view(num_seeds * near, far, -1).mean(1)], 1)
        hidden = self.first(own).relu(), self.first(others).relu().view(num_seeds, near, -1).mean(1)
        return self.second(torch.cat(hidden, 1)), batch.label


def ranks_arrays(ranks: Path) -> list[Any]:
    """Features, labels, sources, destinations and training nodes, by the class that docs/howto/plain_torch.md shows."""
    page = (HERE.parent / "docs" / "howto" / "plain_torch.md").read_text(encoding="utf-8")
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class Array" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    feat, label = (names["Array"](ranks, f"node_data/_N/{name}") for name in ("feat", "label"))
    src, dst = (names["Array"](ranks, f"edge_{end}/_N:_E:_N").local for end in ("src", "dst"))
    return [feat, label, src, dst, names["Array"](ranks, "split_nids/_N/train_mask").local]


class Trees:
    """Batches of trees: neighbours are picked with replacement, and features of all are fetched by ID."""

    def __init__(self, feat: Any, label: Any, src: Any, dst: Any, train: Any, num_seeds: int, can_pin: bool) -> None:
        self.feat, self.label, self.train, self.num_seeds, self.can_pin = feat, label, train, num_seeds, can_pin
        self.src = src[dst.argsort(stable=True)]
        self.degree = torch.bincount(dst, minlength=len(label.local))
        self.starts = self.degree.cumsum(0) - self.degree

    def __call__(self) -> Data:
        """Make a batch."""
        layers = [self.train[torch.randint(len(self.train), (self.num_seeds,))]]
        for fanout in FANOUTS:
            nodes = layers[-1]
            degree, starts = self.degree[nodes, None], self.starts[nodes, None]
            picked = starts + (torch.rand(len(nodes), fanout) * degree).long()
            ids = torch.where(degree > 0, self.src[picked.clamp(max=len(self.src) - 1)], nodes[:, None])
            layers.append(ids.flatten())
        ids = torch.cat(layers)
        batch = Data(feat=self.feat[ids], label=self.label[layers[0]], num_nodes=len(ids))
        return batch.pin_memory() if self.can_pin else batch


def prefetched(make: Callable[[], Data], workers: int) -> Iterator[Data]:
    """Batches without end, made ahead by so many threads, two each."""
    if not workers:
        while True:
            yield make()
    with ThreadPoolExecutor(workers) as pool:
        ahead = deque(pool.submit(make) for _ in range(2 * workers))
        try:
            while True:
                ahead.append(pool.submit(make))
                yield ahead.popleft().result()
        finally:
            for batch in ahead:
                batch.cancel()


if __name__ == "__main__":
    main()
