"""Runs in an environment with real DGL: `partition_graph` with owners that are given, and all that came out, as npz.

Usage: python partition_as_dgl.py GRAPH_DIR OWNERS.npy NUM_PARTS OUT_DIR; GRAPH_DIR as judge.py reads it, owners of all
nodes in homogeneous order. OUT_DIR/tensors-P.npz holds every tensor of part P as DGL's `load_partition` returns it, and
OUT_DIR/maps.npz the returned mapping.
"""

import json
import os
import sys
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import dgl.distributed.partition as partition_module
import numpy as np
import torch
from judge import read_graph


def build(graph):
    edges = {
        tuple(e.split(":")): tuple(torch.from_numpy(np.array(end)) for end in ends)
        for e, ends in graph["edges"].items()
    }
    # a graph of one type is homogeneous in DGL whatever the names
    if len(graph["num_nodes"]) == len(edges) == 1:
        built = dgl.graph(next(iter(edges.values())), num_nodes=next(iter(graph["num_nodes"].values())))
        names = {**dict.fromkeys(graph["num_nodes"], "_N"), **dict.fromkeys(graph["edges"], ("_N", "_E", "_N"))}
    else:
        built = dgl.heterograph(edges, num_nodes_dict=graph["num_nodes"])
        names = {**{n: n for n in graph["num_nodes"]}, **{":".join(e): e for e in edges}}
    for kind, frames in (("node_data", built.nodes), ("edge_data", built.edges)):
        for key, rows in graph[kind].items():
            of_type, name = key.rsplit("/", 1)
            rows = np.array(rows)
            frames[names[of_type]].data[name] = torch.from_numpy(rows.view(np.uint8) if rows.dtype == bool else rows)
    return built


def main():
    graph = read_graph(sys.argv[1])
    owners, num_parts, out = (
        torch.from_numpy(np.load(sys.argv[2]).astype(np.int64)),
        int(sys.argv[3]),
        Path(sys.argv[4]),
    )
    built = build(graph)
    # DGL orders node types by name, the owners are in the order of the graph
    if len(graph["num_nodes"]) > 1:
        starts = np.cumsum([0, *graph["num_nodes"].values()])
        pieces = {ntype: owners[starts[i] : starts[i + 1]] for i, ntype in enumerate(graph["num_nodes"])}
        owners = torch.cat([pieces[ntype] for ntype in built.ntypes])
    # the random method with our owners for its choice
    partition_module.random_choice = lambda *_: owners
    maps = dgl.distributed.partition_graph(
        built, graph["name"], num_parts, str(out), part_method="random", return_mapping=True, graph_formats="coo"
    )
    arrays = {}
    for prefix, of_types in zip(("nodes", "edges"), maps):  # noqa: B905
        if not isinstance(of_types, dict):
            of_types = {"": of_types}
        for key, ids in of_types.items():
            arrays[f"{prefix}|{key if isinstance(key, str) else ':'.join(key)}"] = ids.numpy()
    np.savez(out / "maps.npz", **arrays)
    for part in range(num_parts):
        loaded = dgl.distributed.load_partition(str(out / f"{graph['name']}.json"), part)
        g, node_feats, edge_feats = loaded[:3]
        src, dst = g.edges(order="eid")
        arrays = {"src": src, "dst": dst}
        for prefix, tensors in (("ndata", g.ndata), ("edata", g.edata), ("node", node_feats), ("edge", edge_feats)):
            arrays.update({f"{prefix}|{key.replace('/', '|')}": tensor for key, tensor in tensors.items()})
        np.savez(out / f"tensors-{part}.npz", **{key: tensor.numpy() for key, tensor in arrays.items()})
    print(
        json.dumps(
            {"dgl": dgl.__version__, "ntypes": built.ntypes, "etypes": [":".join(e) for e in built.canonical_etypes]}
        )
    )


if __name__ == "__main__":
    main()
