"""Runs in an environment with real DGL: partitions a graph by `partition_graph`, with owners that are given.

Usage: python partition.py GRAPH_DIR OWNERS NUM_PARTS OUT_DIR. GRAPH_DIR is as judge.py reads it; OWNERS is a npz file,
with an array of owners for each node type. Prints one JSON line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dgl
import dgl.distributed.partition as partition_module
import numpy as np
import torch
from judge import read_graph


def main() -> None:
    directory, owner_file, num_parts, out = sys.argv[1:]
    graph = read_graph(directory)
    tensor = lambda array: torch.from_numpy(np.array(array))  # noqa: E731
    whole = dgl.heterograph(
        {tuple(name.split(":")): (tensor(src), tensor(dst)) for name, (src, dst) in graph["edges"].items()},
        num_nodes_dict=graph["num_nodes"],
    )
    for kind, views in (("node_data", whole.nodes), ("edge_data", whole.edges)):
        for key, rows in graph[kind].items():
            name, feature = key.rsplit("/", 1)
            views[name if kind == "node_data" else tuple(name.split(":"))].data[feature] = tensor(rows)
    with np.load(owner_file) as by_type:
        # DGL sorts node types by name
        owners = tensor(np.concatenate([by_type[ntype] for ntype in whole.ntypes]).astype(np.int64))
    # the random method with these owners for its choice
    partition_module.random_choice = lambda *_: owners
    dgl.distributed.partition_graph(
        whole, graph["name"], int(num_parts), out, num_hops=1, part_method="random", graph_formats="coo"
    )
    print(json.dumps({"dgl": dgl.__version__, "config": str(Path(out) / f"{graph['name']}.json")}))


if __name__ == "__main__":
    main()
