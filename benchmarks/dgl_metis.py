"""What real DGL's METIS does with a graph; run with the interpreter of an environment that has DGL.

``python dgl_metis.py EDGES.npz OUT.npz 4,8,64``: edges as arrays `src`, `dst` and `num_nodes`; writes for each number
of parts the part of every node, with ``balance_edges=True``, the seconds it took, and the
parts with balanced nodes as well.
"""

from __future__ import annotations

import sys
import time

import dgl
import numpy as np
import torch


def main() -> None:
    edges = np.load(sys.argv[1])
    ends = (torch.from_numpy(edges["src"]), torch.from_numpy(edges["dst"]))
    graph = dgl.graph(ends, num_nodes=int(edges["num_nodes"]))
    found = {}
    for parts in map(int, sys.argv[3].split(",")):
        started = time.monotonic()
        owners = dgl.metis_partition_assignment(graph, parts, balance_edges=True)
        found[f"seconds-{parts}"] = np.array(time.monotonic() - started)
        found[f"parts-{parts}"] = owners.numpy()
        # one node type for all: the way to have DGL balance nodes as well
        types = torch.zeros(graph.num_nodes(), dtype=torch.int64)
        owners = dgl.metis_partition_assignment(graph, parts, balance_ntypes=types, balance_edges=True)
        found[f"both-{parts}"] = owners.numpy()
    np.savez(sys.argv[2], **found)


if __name__ == "__main__":
    main()
