"""Runs in an environment with real DGL: its own partitions of a small typed graph, with COO and with CSC, of two hops.

Usage: python partition_typed.py OUT_DIR. Features `x` and `k` are the numbers of nodes and edges; OUT_DIR/edges.npz has
the ends of the edges of each type, as ``<relation>_src`` and ``<relation>_dst``.
"""

import json
import sys
from pathlib import Path

import dgl
import numpy as np
import torch

out, rng, sizes = Path(sys.argv[1]), np.random.default_rng(0), {"u": 200, "v": 150}
types = [("u", "r", "v", 900), ("v", "s", "u", 700), ("u", "t", "v", 300)]
ends = {
    (src, relation, dst): tuple(torch.from_numpy(rng.integers(0, sizes[end], count)) for end in (src, dst))
    for src, relation, dst, count in types
}
graph = dgl.heterograph(ends, num_nodes_dict=sizes)
for ntype, count in sizes.items():
    graph.nodes[ntype].data["x"] = torch.arange(count)
for etype in graph.canonical_etypes:
    graph.edges[etype].data["k"] = torch.arange(graph.num_edges(etype))
arrays = {f"{of[1]}_{name}": rows.numpy() for of, both in ends.items() for name, rows in zip(("src", "dst"), both)}  # noqa: B905
np.savez(out / "edges.npz", **arrays)
for form in ("coo", "csc"):
    how = {"num_hops": 2, "part_method": "random", "graph_formats": form}
    dgl.distributed.partition_graph(graph, "g", 3, str(out / form), **how)
print(json.dumps({"dgl": dgl.__version__}))
