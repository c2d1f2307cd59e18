"""Runs in an environment with real DGL: writes graph files, tensor files and partitions for our readers to read.

Usage: python write_partitions.py GRAPH_DIR OUT_DIR. GRAPH_DIR is as judge.py reads it. DGL returns the original IDs and
saves none; `...-saved` has them in the files of DGL's `dispatch_data --save-orig-nids`.
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
from judge import build, read_graph

DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64)
# name, parts, hops, formats
VARIANTS = (
    ("one", 1, 1, None),
    ("plain", 3, 1, None),
    ("csc", 2, 1, ["csc"]),
    ("formats", 3, 1, ["coo", "csc", "csr"]),
    ("hops", 3, 2, ["coo"]),
    ("many-hops", 4, 3, ["coo", "csc"]),
)


def main():
    directory, out = sys.argv[1], Path(sys.argv[2])
    write_files(out)
    graph = build(read_graph(directory))
    for name, num_parts, num_hops, formats in VARIANTS:
        torch.manual_seed(num_parts)
        how = {"num_hops": num_hops, "part_method": "random", "graph_formats": formats, "return_mapping": True}
        mappings = partition_graph(graph, "g", num_parts, str(out / name), **how)
        shutil.copytree(out / name, out / f"{name}-saved")
        save_originals(out / f"{name}-saved", mappings, num_parts)
    print(json.dumps({"dgl": dgl.__version__, "variants": [name for name, *_ in VARIANTS]}))


def write_files(out):
    """Tensors of every dtype, kept as npz as well, and a small graph in every format."""
    tensors = {f"n/{i}": torch.arange(12).reshape(4, 3).to(dtype) for i, dtype in enumerate(DTYPES)}
    tensors.update({"bool": torch.tensor([True, False]), "empty": torch.zeros(0, 5), "one": torch.ones(1)})
    save_tensors(str(out / "tensors.dgl"), tensors)
    np.savez(out / "tensors.npz", **{key.replace("/", "|"): value.numpy() for key, value in tensors.items()})
    for name in ("coo", "csr", "csc"):
        for idtype in (torch.int32, torch.int64):
            graph = dgl.graph((torch.tensor([0, 2, 1, 2]), torch.tensor([1, 1, 0, 2])), num_nodes=4, idtype=idtype)
            graph.ndata["x"] = torch.rand(4, 2)
            graph.edata["w"] = torch.rand(4)
            dgl.save_graphs(str(out / f"{name}-{str(idtype)[6:]}.dgl"), [graph], formats=name)


def save_originals(directory, mappings, num_parts):
    config = json.loads((directory / "g.json").read_text())
    files = (("node_map", "orig_nids.dgl", mappings[0]), ("edge_map", "orig_eids.dgl", mappings[1]))
    for key, name, mapping in files:
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
