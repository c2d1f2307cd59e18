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
import numpy as np
import torch

sys.path += json.loads(sys.argv[1])

import daskgraphpart as dgp

LIKES = ("v", "likes", "u")


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


def chunk_as_dgl(graph, out):
    """Positions, names of files and sizes of chunks are those of `chunk_graph` in DGL's tools; given rows win."""
    out.mkdir()
    for name, rows in (("x", torch.rand(25, 2)), ("w", torch.randint(9, 99, (90,)))):
        np.save(out / f"{name}.npy", rows.numpy())
    given = {"v": {"x": out / "x.npy"}}, {"likes": {"w": out / "w.npy"}}
    dgp.chunk_graph(graph, "b", *given, 4, out / "chunked", "numpy", "numpy", num_chunks_edges={LIKES: 7})
    metadata = json.loads((out / "chunked" / "metadata.json").read_text())
    assert metadata["num_nodes_per_chunk"] == [[10, 10, 10, 10], [7, 6, 6, 6]]
    assert metadata["num_edges_per_chunk"] == [[38, 38, 37, 37], [13, 13, 13, 13, 13, 13, 12]]
    for name in ("edge_index/v:likes:u6.txt", "node_data/v/x-3.npy", "edge_data/v:likes:u/w-3.npy"):
        assert (out / "chunked" / name).is_file(), name
    chunked = dgp.read_chunked(out / "chunked")
    assert np.array_equal(chunked.node_data["v"]["x"].compute(), np.load(out / "x.npy"))
    assert np.array_equal(chunked.edge_data["v:likes:u"]["w"].compute(), np.load(out / "w.npy"))
    assert np.array_equal(chunked.node_data["u"]["only"].compute(), graph.nodes["u"].data["only"].numpy())
    ends = torch.arange(3), torch.arange(3)
    odd = dgl.heterograph({("..", "r" * 199, ".."): ends, (".", "r", "u" * 200): ends})
    odd.nodes[".."].data["x"] = ends[0]
    dgp.chunk_graph(odd, "odd", {}, {}, 1, out / "odd" / "chunked", edges_fmt="numpy")
    assert os.listdir(out / "odd") == ["chunked"]
    assert dgp.read_chunked(out / "odd" / "chunked").node_data[".."]["x"].compute().tolist() == [0, 1, 2]


def open_lazily(graph, out):
    """`from_dgl` has all edges in the order of their IDs, and all features. (Pandas is of another numpy here.)"""
    found = dgp.from_dgl(graph, name="lazy")
    assert {t.name: t.num_nodes for t in found.schema.node_types} == {n: graph.num_nodes(n) for n in graph.ntypes}
    for etype in graph.canonical_etypes:
        ends = torch.stack(graph.edges(etype=etype, order="eid"), dim=1)
        edges = found.edge_sources[":".join(etype)]
        assert np.array_equal(edges.read(0, edges.shape[0]), ends.numpy())
        for name, rows in graph.edges[etype].data.items():
            assert np.array_equal(found.edge_data[":".join(etype)][name].compute(), rows.numpy())
    for ntype in graph.ntypes:
        for name, rows in graph.nodes[ntype].data.items():
            assert np.array_equal(found.node_data[ntype][name].compute(), rows.numpy())
    assert dgp.partition(found, out, 2, method="random").verify(found).ok


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
    heterogeneous.nodes["u"].data["only"] = torch.rand(40)
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
        open_lazily(graph, out / f"lazy-{name}")
        for part in range(2):
            compare(graph, maps, *dgl.distributed.load_partition(str(out / name / f"{name}.json"), part)[0:4:3])
    chunk_as_dgl(heterogeneous, out / "chunk")
    for formats in ("csr", "csc", ["csr", "csc"]):
        dgp.partition_graph(homogeneous.formats(formats), "a", 2, out / str(formats), part_method="random")
        for file in (out / "a").rglob("*.dgl"):
            assert (out / str(formats) / file.relative_to(out / "a")).read_bytes() == file.read_bytes()
    print(json.dumps({"dgl": dgl.__version__, "compared": 2}))


if __name__ == "__main__":
    main()
