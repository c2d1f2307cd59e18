"""Runs in an environment with real DGL: writes graph files, tensor files and partitions for our readers to read.

Usage: python write_partitions.py OUT_DIR. What was written is kept beside it as npy, to compare with.
"""

import json
import os
import sys
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import numpy as np
import torch
from dgl.data.utils import save_tensors
from dgl.distributed import load_partition, load_partition_book, partition_graph

DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64)


def main() -> None:
    out = Path(sys.argv[1])
    torch.manual_seed(0)
    expected = {}
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
    homogeneous = dgl.rand_graph(60, 300)
    homogeneous.ndata["feat"] = torch.rand(60, 3)
    homogeneous.edata["w"] = torch.rand(300)
    heterogeneous = dgl.heterograph(
        {
            ("u", "follows", "u"): (torch.randint(0, 40, (150,)), torch.randint(0, 40, (150,))),
            ("u", "likes", "v"): (torch.randint(0, 40, (90,)), torch.randint(0, 25, (90,))),
            ("v", "liked_by", "u"): (torch.randint(0, 25, (70,)), torch.randint(0, 40, (70,))),
        },
        num_nodes_dict={"u": 40, "v": 25},
    )
    heterogeneous.nodes["u"].data["feat"] = torch.rand(40, 2)
    heterogeneous.edges["likes"].data["w"] = torch.rand(90)
    for name, graph in (("homo", homogeneous), ("hetero", heterogeneous)):
        for num_parts in (1, 3):
            directory = out / f"{name}-{num_parts}"
            formats = ["coo", "csc"] if num_parts == 3 else None
            partition_graph(graph, name, num_parts, str(directory), part_method="random", graph_formats=formats)
            expected[directory.name] = describe(directory / f"{name}.json", num_parts)
    (out / "expected.json").write_text(json.dumps(expected))
    print(json.dumps({"dgl": dgl.__version__}))


def describe(config: Path, num_parts: int) -> dict:
    """What DGL itself says of its partitions, and of IDs."""
    parts = []
    for part in range(num_parts):
        graph, node_feats, edge_feats, book, name, ntypes, etypes = load_partition(str(config), part)
        src, dst = graph.edges(order="eid")
        data = {"ndata": dict(graph.ndata), "edata": dict(graph.edata)}
        parts.append(
            {
                "nids": graph.ndata[dgl.NID].tolist(),
                "eids": graph.edata[dgl.EID].tolist(),
                "src": src.tolist(),
                "dst": dst.tolist(),
                **{key: {k: v.tolist() for k, v in of.items()} for key, of in data.items()},
                "dtypes": {k: str(v.dtype) for of in data.values() for k, v in of.items()},
                "csr": [tensor.tolist() for tensor in graph.adj_tensors("csr")],
                "csc": [tensor.tolist() for tensor in graph.adj_tensors("csc")],
                "name": name,
                "ntypes": ntypes,
                "etypes": etypes,
                "inner_node": graph.ndata["inner_node"].tolist(),
                "node_feats": {key: value.tolist() for key, value in node_feats.items()},
                "edge_feats": {key: value.tolist() for key, value in edge_feats.items()},
            }
        )
    book = load_partition_book(str(config), 0)[0]
    nids, eids = torch.arange(book._max_node_ids[-1]), torch.arange(book._max_edge_ids[-1])
    return {
        "parts": parts,
        "nid2partid": book.nid2partid(nids).tolist(),
        "eid2partid": book.eid2partid(eids).tolist(),
        "per_ntype": [ids.tolist() for ids in book.map_to_per_ntype(nids)],
        "per_etype": [ids.tolist() for ids in book.map_to_per_etype(eids)],
        "partid2nids": [book.partid2nids(part).tolist() for part in range(num_parts)],
    }


if __name__ == "__main__":
    main()
