"""What real DGL's METIS does with a graph; run with the interpreter of an environment that has DGL.

``python dgl_metis.py EDGES.npz OUT.npz 4,8,64``: edges as arrays `src`, `dst` and `num_nodes`; writes for each number
of parts the part of every node, with ``balance_edges=True``, the seconds it took, and the
parts with balanced nodes as well.

``python dgl_metis.py GRAPH OUT.npz 8 1``: a chunked graph is read from its npy files, as
DGL's users do, and partitioned once, with edges balanced if the last number is 1; writes the cut and the balance. This
is what is compared with a whole process of ours.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import dgl
import numpy as np
import torch


def main() -> None:
    if Path(sys.argv[1]).is_dir():
        partition_files(Path(sys.argv[1]))
        return
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


def partition_files(directory: Path) -> None:
    """Read the edges of a chunked graph, make the homogeneous graph, partition it."""
    metadata = json.loads((directory / "metadata.json").read_text(encoding="utf-8"))
    counts = dict(zip(metadata["node_type"], metadata["num_nodes_per_type"], strict=True))
    firsts = dict(zip(counts, np.cumsum([0, *counts.values()]), strict=False))
    columns: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for edge_type, files in metadata["edges"].items():
        source, _, destination = edge_type.split(":")
        for name in files["data"]:
            src, dst = read_edges(directory / name)
            columns[0].append(src + firsts[source])
            columns[1].append(dst + firsts[destination])
    src, dst = (torch.from_numpy(np.concatenate(column)) for column in columns)
    del columns
    graph = dgl.graph((src, dst), num_nodes=sum(counts.values()))
    parts = int(sys.argv[3])
    owners = dgl.metis_partition_assignment(graph, parts, balance_edges=sys.argv[4] == "1").numpy()
    src, dst = src.numpy(), dst.numpy()
    of_nodes, of_edges = np.bincount(owners, minlength=parts), np.bincount(owners[dst], minlength=parts)
    found = {"nodes": of_nodes.max() / of_nodes.mean(), "edges": of_edges.max() / of_edges.mean()}
    np.savez(sys.argv[2], cut=np.mean(owners[src] != owners[dst]), **found)


def read_edges(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Sources and destinations of a file."""
    rows = np.load(path)
    return rows[:, 0], rows[:, 1]


if __name__ == "__main__":
    main()
