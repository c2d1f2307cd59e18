"""Runs in an environment with real DGL: what its distributed sampler asks of other parts, in a client for every part.

Usage: python fetching.py TASK. TASK is a JSON file: `runs`, configs by name; `work`, a directory for logs; `target`,
the node type that is trained on, by `train_mask`; `fanouts`; `batch_size`. Every client has the training nodes of its
part. Prints one JSON line: by the names of the runs, by part: batches, input nodes of all of them, and those of other
parts.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import dgl
import torch
from serve import serve


def run(work: Path, settings: dict, graph: dgl.distributed.DistGraph) -> dict:
    """Sample an epoch, and add up what all clients count."""
    book, part, target = graph.get_partition_book(), graph.rank(), settings["target"]
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{work}/rendezvous", rank=part, world_size=book.num_partitions()
    )
    is_homogeneous = len(graph.canonical_etypes) == 1
    mask = graph.nodes[target].data["train_mask"]
    nodes = dgl.distributed.node_split(mask, book, ntype=target, force_even=False)
    sampler = dgl.dataloading.NeighborSampler(settings["fanouts"])
    loader = dgl.dataloading.DistNodeDataLoader(
        graph,
        nodes if is_homogeneous else {target: nodes},
        sampler,
        batch_size=settings["batch_size"],
        shuffle=True,
        drop_last=False,
    )
    counts = torch.zeros((book.num_partitions(), 3), dtype=torch.int64)
    for inputs, _, _ in loader:
        for ntype, ids in ({target: inputs} if is_homogeneous else inputs).items():
            assert len(ids) == len(ids.unique())
            counts[part, 1] += len(ids)
            counts[part, 2] += int((book.nid2partid(ids, ntype) != part).sum()) if len(ids) else 0
        counts[part, 0] += 1
    torch.distributed.all_reduce(counts)
    return {"counts": counts.tolist(), "dgl": dgl.__version__}


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    results = {}
    for name, config in task["runs"].items():
        work = Path(task["work"]) / name
        results[name] = serve(Path(config), work, partial(run, work, task))["counts"]
    print(json.dumps(results))


if __name__ == "__main__":
    main()
