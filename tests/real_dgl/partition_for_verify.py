"""Runs in an environment with real DGL: partitions a graph by `partition_graph`, with and without original IDs.

Usage: python partition_for_verify.py GRAPH_DIR OUT_DIR. GRAPH_DIR is as `judges.save_for_judge` writes it. DGL returns
the original IDs and saves none; `...-saved` has them in the files of DGL's `dispatch_data --save-orig-nids`.
"""

import json
import os
import shutil
import sys
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import numpy as np
import torch
from dgl.data.utils import save_tensors
from dgl.distributed import partition_graph

# name, parts, hops, formats
VARIANTS = (
    ("one", 1, 1, None),
    ("plain", 3, 1, None),
    ("csc", 2, 1, ["csc"]),
    ("formats", 3, 1, ["coo", "csc", "csr"]),
    ("hops", 3, 2, ["coo"]),
    ("many-hops", 4, 3, ["coo", "csc"]),
)


def main() -> None:
    directory, out = Path(sys.argv[1]), Path(sys.argv[2])
    graph = read_graph(directory)
    for name, num_parts, num_hops, formats in VARIANTS:
        torch.manual_seed(num_parts)
        nids, eids = partition_graph(
            graph,
            "g",
            num_parts,
            str(out / name),
            num_hops=num_hops,
            part_method="random",
            graph_formats=formats,
            return_mapping=True,
        )
        shutil.copytree(out / name, out / f"{name}-saved")
        save_originals(out / f"{name}-saved", (nids, eids), num_parts)
    print(json.dumps({"dgl": dgl.__version__, "variants": [name for name, *_ in VARIANTS]}))


def read_graph(directory: Path) -> dgl.DGLGraph:
    content = json.loads((directory / "graph.json").read_text())

    def load(name: str) -> torch.Tensor:
        return torch.from_numpy(np.load(directory / name))

    edges = {tuple(key.split(":")): tuple(load(name) for name in ends) for key, ends in content["edges"].items()}
    graph = dgl.heterograph(edges, num_nodes_dict=content["num_nodes"])
    if len(content["num_nodes"]) == 1 == len(edges):
        graph = dgl.graph(next(iter(edges.values())), num_nodes=next(iter(content["num_nodes"].values())))
    for key, name in content["node_data"].items():
        ntype, _, feature = key.rpartition("/")
        graph.nodes[ntype if len(graph.ntypes) > 1 else "_N"].data[feature] = load(name)
    for key, name in content["edge_data"].items():
        etype, _, feature = key.rpartition("/")
        canonical = tuple(etype.split(":")) if len(graph.etypes) > 1 else ("_N", "_E", "_N")
        graph.edges[canonical].data[feature] = load(name)
    return graph


def save_originals(directory: Path, mappings: tuple, num_parts: int) -> None:
    config = json.loads((directory / "g.json").read_text())
    for key, name, mapping in (
        ("node_map", "orig_nids.dgl", mappings[0]),
        ("edge_map", "orig_eids.dgl", mappings[1]),
    ):
        if not isinstance(mapping, dict):
            mapping = {next(iter(config[key])): mapping}
        canonical = {kind if isinstance(kind, str) else ":".join(kind): ids for kind, ids in mapping.items()}
        done = dict.fromkeys(config[key], 0)
        for part in range(num_parts):
            found = {}
            for kind, ranges in config[key].items():
                size = ranges[part][1] - ranges[part][0]
                ids = canonical.get(kind, canonical.get(kind.split(":")[1] if ":" in kind else kind))
                found[kind] = ids[done[kind] : done[kind] + size].clone()
                done[kind] += size
            save_tensors(str(directory / f"part{part}" / name), found)


if __name__ == "__main__":
    main()
