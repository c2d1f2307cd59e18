"""Runs in an environment with real DGL: our `partition_graph` and `chunk_graph` on a `DGLGraph`.

Usage: python partition_dgl_graph.py PATHS OUT_DIR; PATHS is a JSON list of where the package is and what it
needs.
"""

import json
import os
import sys
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import torch

sys.path += json.loads(sys.argv[1])

import daskgraphpart as dgp


def compare(graph, maps, local, book):
    """Every edge of a part joins what it joins in the graph."""
    src, dst = local.edges(order="eid")
    _, nids = book.map_to_per_ntype(local.ndata[dgl.NID])
    etype_ids, eids = book.map_to_per_etype(local.edata[dgl.EID])
    for number, etype in enumerate(graph.canonical_etypes):
        mine = etype_ids == number
        expected = graph.find_edges(maps[1][etype][eids[mine]], etype=etype)
        assert maps[0][etype[0]][nids[src[mine]]].tolist() == expected[0].tolist()
        assert maps[0][etype[2]][nids[dst[mine]]].tolist() == expected[1].tolist()


def main():
    out = Path(sys.argv[2])
    torch.manual_seed(0)
    homogeneous = dgl.rand_graph(60, 300)
    homogeneous.ndata["x"] = torch.rand(60, 3)
    homogeneous.edata["w"] = torch.rand(300)
    heterogeneous = dgl.heterograph(
        {
            ("u", "follows", "u"): (torch.randint(0, 40, (150,)), torch.randint(0, 40, (150,))),
            ("v", "likes", "u"): (torch.randint(0, 25, (90,)), torch.randint(0, 40, (90,))),
        },
        num_nodes_dict={"u": 40, "v": 25},
    )
    heterogeneous.nodes["v"].data["x"] = torch.rand(25, 2)
    heterogeneous.edges["likes"].data["w"] = torch.randint(0, 9, (90,))
    for name, graph in (("a", homogeneous), ("b", heterogeneous)):
        maps = dgp.partition_graph(graph, name, 2, out / name, part_method="random", return_mapping=True)
        if not isinstance(maps[0], dict):
            maps = {"_N": maps[0]}, {("_N", "_E", "_N"): maps[1]}
        opened = dgp.open_partitions(out / name)
        for etype, ids in maps[1].items():
            for key, rows in graph.edges[etype].data.items():
                assert opened.edges[etype].data[key][:].tolist() == rows[ids].tolist()
        for ntype, ids in maps[0].items():
            for key, rows in graph.nodes[ntype].data.items():
                assert opened.nodes[ntype].data[key][:].tolist() == rows[ids].tolist()
        for part in range(2):
            compare(graph, maps, *dgl.distributed.load_partition(str(out / name / f"{name}.json"), part)[0:4:3])
    for formats in ("csr", "csc", ["csr", "csc"]):
        dgp.partition_graph(homogeneous.formats(formats), "a", 2, out / str(formats), part_method="random")
        for file in (out / "a").rglob("*.dgl"):
            assert (out / str(formats) / file.relative_to(out / "a")).read_bytes() == file.read_bytes()
    print(json.dumps({"dgl": dgl.__version__, "compared": 2}))


if __name__ == "__main__":
    main()
