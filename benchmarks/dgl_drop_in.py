"""Runs in an environment with DGL: `partition_graph` of a homogeneous graph in memory, DGL's or ours.

``python dgl_drop_in.py GRAPH OUT PARTS dgl|ours METHOD REPORT``: reads a chunked graph of npy files into a `DGLGraph`;
writes CPU and wall time of the call, the memory held before it, and the cut of the parts.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import numpy as np
import torch


def main() -> None:
    directory, out, parts, whose, method, report = sys.argv[1:]
    graph = read(Path(directory))
    if whose == "dgl":
        partition_graph = dgl.distributed.partition_graph
    else:
        from daskgraphpart import partition_graph
    mask = (torch.arange(graph.num_nodes()) % 10 == 0).long()
    constraints = {"balance_ntypes": mask, "balance_edges": True}
    before, cpu, started = resident(), cpu_seconds(), time.monotonic()
    nodes, _ = partition_graph(graph, "g", int(parts), out, part_method=method, return_mapping=True, **constraints)
    found = {"cpu": cpu_seconds() - cpu, "call": time.monotonic() - started, "before": before}
    (ranges,) = json.loads((Path(out) / "g.json").read_text(encoding="utf-8"))["node_map"].values()
    owners = np.empty(graph.num_nodes(), np.int32)
    owners[nodes.numpy()] = np.repeat(np.arange(int(parts)), [stop - start for start, stop in ranges])
    src, dst = (owners[ends.numpy()] for ends in graph.edges())
    loads = [np.bincount(of, minlength=int(parts)) for of in (owners[mask == 0], owners[mask == 1], dst)]
    found |= {"cut": float(np.mean(src != dst)), "balances": [float(load.max() / load.mean()) for load in loads]}
    Path(report).write_text(json.dumps(found), encoding="utf-8")


def read(directory: Path) -> dgl.DGLGraph:
    """Read a chunked graph of one node type and one edge type."""
    meta = json.loads((directory / "metadata.json").read_text(encoding="utf-8"))
    (edges,), (features,) = meta["edges"].values(), meta["node_data"].values()
    pieces = [np.load(directory / path, mmap_mode="r") for path in edges["data"]]
    ends = (torch.from_numpy(np.concatenate([piece[:, end] for piece in pieces])) for end in (0, 1))
    graph = dgl.graph(tuple(ends), num_nodes=meta["num_nodes_per_type"][0])
    for name, files in features.items():
        graph.ndata[name] = torch.from_numpy(np.concatenate([np.load(directory / path) for path in files["data"]]))
    return graph


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
