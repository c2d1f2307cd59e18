"""Add reverse edges and self-loops, and make the graph simple, with DGL; print the edges with their features."""

from __future__ import annotations

import json
import sys
from typing import Any

import dgl
import numpy as np
import torch

arrays = np.load(sys.argv[1])
etypes = sorted({name.rpartition("/")[0] for name in arrays.files}, reverse=True)
graph = dgl.heterograph(
    {tuple(etype.split(":")): (arrays[f"{etype}/0"], arrays[f"{etype}/1"]) for etype in etypes},
    {"user": 40, "item": 20},
)
for etype in etypes:
    for name in (name.rpartition("/")[2] for name in arrays.files if name.startswith(etype)):
        if name not in ("0", "1"):
            graph.edges[tuple(etype.split(":"))].data[name] = torch.from_numpy(arrays[f"{etype}/{name}"])


def columns(found: dgl.DGLGraph, is_sorted: bool) -> dict[str, Any]:
    """Edges and features by edge type."""
    result = {}
    for etype in found.canonical_etypes:
        src, dst = (ids.numpy() for ids in found.edges(etype=etype))
        order = np.lexsort((dst, src)) if is_sorted else np.arange(len(src))
        data = {} if is_sorted else {name: rows.tolist() for name, rows in found.edges[etype].data.items()}
        result[":".join(etype)] = {"src": src[order].tolist(), "dst": dst[order].tolist(), **data}
    return result


simple = dgl.to_simple(dgl.remove_self_loop(graph, etype="follows"), return_counts=None)
found = {
    f"AddReverse(copy_edge_data={copied})": columns(dgl.AddReverse(copied)(graph), False) for copied in (False, True)
}
found["AddSelfLoop()"] = columns(dgl.AddSelfLoop()(graph), False)
print(json.dumps({**found, "to_simple(remove_self_loop)": columns(simple, True)}))
