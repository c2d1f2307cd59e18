"""Runs in an environment with real DGL: features pulled with hot rows in memory, in a client for every part.

Usage: python pull_hot_rows.py TASK. TASK is a JSON file: `config`; `work`, a directory for logs; `hot`, directories of
saved hot rows by part; `target`, the node type with `train_mask` (all have the feature `x`); `fanouts`; `batch_size`.
Every client compares all batches with those of the plain tensors. Prints one JSON line: by part, rows of other parts
that were asked for, those found in memory, and rows that the plain tensors were asked for.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import dgl
import numpy as np
import torch
from serve import serve

sys.path.append(str(Path(__file__).parents[2]))
from daskgraphpart.interop.dgl_api.hot_tensor import HotTensor


class Counted:
    """A tensor that counts the rows it is asked for."""

    def __init__(self, tensor: dgl.distributed.DistTensor) -> None:
        self.tensor, self.count = tensor, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.tensor, name)

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, ids: torch.Tensor) -> torch.Tensor:
        self.count += len(ids)
        return self.tensor[ids]


def run(settings: dict, graph: dgl.distributed.DistGraph) -> dict:
    """Sample an epoch, and pull all input rows in both ways."""
    book, part, target = graph.get_partition_book(), graph.rank(), settings["target"]
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{settings['work']}/rendezvous", rank=part, world_size=book.num_partitions()
    )
    plain = {ntype: Counted(graph.nodes[ntype].data["x"]) for ntype in graph.ntypes}
    hot = {ntype: open_hot(Path(settings["hot"][part], ntype), plain[ntype]) for ntype in graph.ntypes}
    nodes = dgl.distributed.node_split(graph.nodes[target].data["train_mask"], book, ntype=target, force_even=False)
    is_typed = len(graph.ntypes) > 1
    loader = dgl.dataloading.DistNodeDataLoader(
        graph,
        {target: nodes} if is_typed else nodes,
        dgl.dataloading.NeighborSampler(settings["fanouts"]),
        batch_size=settings["batch_size"],
        shuffle=True,
        drop_last=False,
    )
    counts = torch.zeros((book.num_partitions(), 3), dtype=torch.int64)
    for inputs, _, _ in loader:
        for ntype, ids in (inputs if is_typed else {target: inputs}).items():
            assert torch.equal(hot[ntype][ids], graph.nodes[ntype].data["x"][ids])
    for ntype, tensor in hot.items():
        counts[part] += torch.tensor([tensor.rows_asked, tensor.rows_found, plain[ntype].count])
        assert (len(tensor), tensor.shape, tensor.dtype) == (
            len(plain[ntype]),
            tuple(plain[ntype].shape),
            plain[ntype].dtype,
        )
    torch.distributed.all_reduce(counts)
    return {"counts": counts.tolist(), "dgl": dgl.__version__}


def open_hot(saved: Path, tensor: Counted) -> HotTensor:
    """Hot rows of a type, as they were saved."""
    return HotTensor(tensor, np.load(saved / "ids.npy"), np.load(saved / "data" / "x.npy"))


if __name__ == "__main__":
    task = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps(serve(Path(task["config"]), Path(task["work"]), partial(run, task))))
