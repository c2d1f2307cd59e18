"""Runs in an environment with DGL: partition a homogeneous chunked graph with npy files by `partition_graph`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import dgl.distributed.partition as partition_module
import numpy as np
import torch


def main() -> None:
    graph_dir, owner_dir, out_dir = (Path(argument) for argument in sys.argv[1:4])
    meta = json.loads((graph_dir / "metadata.json").read_text())
    (etype,) = meta["edge_type"]
    (ntype,) = meta["node_type"]
    edges = np.concatenate([np.load(graph_dir / path, mmap_mode="r") for path in meta["edges"][etype]["data"]])
    ends = torch.from_numpy(edges[:, 0].copy()), torch.from_numpy(edges[:, 1].copy())
    graph = dgl.graph(ends, num_nodes=meta["num_nodes_per_type"][0])
    for name, files in meta["node_data"].get(ntype, {}).items():
        graph.ndata[name] = torch.from_numpy(np.concatenate([np.load(graph_dir / path) for path in files["data"]]))
    num_parts = json.loads((owner_dir / "partition_meta.json").read_text())["num_parts"]
    owners = torch.from_numpy(np.load(owner_dir / f"{ntype}.npy").astype(np.int64))
    # the random method with our owners for its choice
    partition_module.random_choice = lambda *_: owners
    dgl.distributed.partition_graph(
        graph, meta["graph_name"], num_parts, str(out_dir), num_hops=1, part_method="random", graph_formats="coo"
    )


if __name__ == "__main__":
    main()
