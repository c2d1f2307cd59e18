"""Trains GraphSAGE on the layout `ranks` for accuracy.py, in a process for each part: run by torchrun with a task.

Arrays are read by the class that docs/howto/plain_torch.md shows. A process samples the neighbours of the nodes it
owns, all of whose edges it has, and asks the others for sampled neighbours of theirs, and for features.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from accuracy import BATCH, FANOUTS, Sage, cross_entropy
from torch_geometric.data import Data, HeteroData

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent.parent / "docs" / "howto" / "plain_torch.md"


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(task["seed"])  # the same weights everywhere
    parts, target = dgp.open_partitions(task["config"]), task["target"]
    model = Sage(parts, target)
    torch.manual_seed(1000 * task["seed"] + dist.get_rank())  # other samples
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    batches = Batches(Path(task["config"]).parent / "ranks", parts, target).batches(BATCH // dist.get_world_size())
    for _ in range(task["steps"]):
        optimizer.zero_grad()
        cross_entropy(*model(next(batches))).backward()
        for weights in model.parameters():
            weights.grad = torch.zeros_like(weights) if weights.grad is None else weights.grad
            dist.all_reduce(weights.grad)
            weights.grad /= dist.get_world_size()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), task["model"])
    dist.barrier()
    dist.destroy_process_group()


class Batches:
    """Batches of seeds and sampled neighbours, drawn with replacement."""

    def __init__(self, ranks: Path, parts: dgp.PartitionedGraph, target: str) -> None:
        (code,) = (
            block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "class Array" in block
        )
        names: dict[str, Any] = {}
        exec(code, names)
        self.array, self.target, self.etypes = names["Array"], target, parts.etypes
        self.x = {ntype: self.array(ranks, f"node_data/{ntype}/x") for ntype in parts.ntypes}
        self.y = self.array(ranks, f"node_data/{target}/y")
        self.train = self.array(ranks, f"split_nids/{target}/train_mask").local
        self.edges = {etype: self.in_edges(ranks, etype) for etype in self.etypes}

    def in_edges(self, ranks: Path, etype: str) -> tuple[Any, Any, Any]:
        """Sources of the edges of own nodes, one node after the other; where those of a node begin, and how many."""
        ntype = etype.split(":")[2]
        src, dst = (self.array(ranks, f"edge_{end}/{etype}").local for end in ("src", "dst"))
        degree = torch.bincount(dst - self.first(ntype), minlength=len(self.x[ntype].local))
        return src[dst.argsort(stable=True)], degree.cumsum(0) - degree, degree

    def first(self, ntype: str) -> int:
        """New ID of the first node of a type that this process owns."""
        return int(self.x[ntype].offsets[dist.get_rank()])

    def drawn(self, etype: str, fanout: int) -> Any:
        """An array of neighbours of all nodes; -1 where a node has none."""
        src, starts, degree = self.edges[etype]
        rows = self.array.__new__(self.array)
        ntype = etype.split(":")[2]
        rows.__dict__.update(self.x[ntype].__dict__)
        if len(src):
            picked = starts[:, None] + (torch.rand(len(degree), fanout) * degree[:, None]).long()
            rows.local = torch.where(degree[:, None] > 0, src[picked.clamp(max=len(src) - 1)], -1)
        else:
            rows.local = torch.full((len(degree), fanout), -1)
        return rows

    def batches(self, size: int) -> Iterator[Data | HeteroData]:
        """Yield batches without end; each epoch all nodes draw neighbours anew."""
        while True:
            drawn = {etype: self.drawn(etype, FANOUTS[0]) for etype in self.etypes}
            for seeds in self.train[torch.randperm(len(self.train))].split(size):
                yield self.batch(seeds, drawn)

    def batch(self, seeds: torch.Tensor, drawn: dict[str, Any]) -> Data | HeteroData:
        """Make a batch: seeds and what was drawn for them, as many hops as there are layers, with features of all."""
        none = torch.empty(0, dtype=torch.int64)
        places = {ntype: torch.full((int(of.offsets[-1]),), -1) for ntype, of in self.x.items()}
        nodes = dict.fromkeys(self.x, none) | {self.target: seeds}
        places[self.target][seeds] = torch.arange(len(seeds))
        edges, newest = {etype: [none.reshape(2, 0)] for etype in self.etypes}, nodes
        for _ in FANOUTS:
            begins = {ntype: len(ids) for ntype, ids in nodes.items()}
            for etype, rows in drawn.items():
                src, _, dst = etype.split(":")
                found = rows[newest[dst]]
                ends = places[dst][newest[dst]][:, None].expand_as(found)[found >= 0]
                ids = found[found >= 0]
                fresh = ids[places[src][ids] < 0].unique()
                places[src][fresh] = len(nodes[src]) + torch.arange(len(fresh))
                nodes = {**nodes, src: torch.cat([nodes[src], fresh])}
                edges[etype].append(torch.stack([places[src][ids], ends]))
            newest = {ntype: ids[begins[ntype] :] for ntype, ids in nodes.items()}
        batch = Data() if len(self.etypes) == 1 else HeteroData()
        for ntype, ids in nodes.items():
            (batch if len(self.etypes) == 1 else batch[ntype]).x = self.x[ntype][ids]
        for etype, of in edges.items():
            (batch if len(self.etypes) == 1 else batch[tuple(etype.split(":"))]).edge_index = torch.cat(of, 1)
        store = batch if len(self.etypes) == 1 else batch[self.target]
        store.y, store.batch_size = self.y[seeds], len(seeds)
        return batch


if __name__ == "__main__":
    main()
