"""Runs in an environment with real DGL: loads partitions and compares them with the graph they were made from.

Usage: python judge.py WORK; WORK is a JSON file {GRAPH_DIR: [CONFIG, ...]}, and GRAPH_DIR holds graph.json and npy
files. Prints one JSON line.
"""

import json
import os
import sys
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import numpy as np
import torch
from dgl.data.utils import load_tensors
from dgl.distributed import load_partition, load_partition_book, load_partition_feats


def judge(graph, config):
    with open(config) as file:
        meta = json.load(file)
    num_parts = meta["num_parts"]
    seen_nodes = {t: np.zeros(n, np.int64) for t, n in graph["num_nodes"].items()}
    seen_edges = {t: np.zeros(len(e[0]), np.int64) for t, e in graph["edges"].items()}
    parts, orig_nids, orig_eids = [], {}, {}
    for p in range(num_parts):
        directory = (Path(config).parent / meta[f"part-{p}"]["node_feats"]).parent
        for name, found in (("orig_nids.dgl", orig_nids), ("orig_eids.dgl", orig_eids)):
            for key, ids in load_tensors(str(directory / name)).items():
                found.setdefault(key, []).append(ids.numpy())
    for key, pieces in orig_nids.items():
        np.add.at(seen_nodes[key], np.concatenate(pieces), 1)
    for key, pieces in orig_eids.items():
        np.add.at(seen_edges[key], np.concatenate(pieces), 1)
    assert all((seen == 1).all() for seen in seen_nodes.values()), "every node once"
    assert all((seen == 1).all() for seen in seen_edges.values()), "every edge once"
    new_to_old_nid = {key: np.concatenate(pieces) for key, pieces in orig_nids.items()}
    new_to_old_eid = {key: np.concatenate(pieces) for key, pieces in orig_eids.items()}
    for p in range(num_parts):
        judge_part(graph, config, meta, p, new_to_old_nid, new_to_old_eid, (orig_nids, orig_eids))
    return parts


def judge_part(graph, config, meta, p, new_to_old_nid, new_to_old_eid, originals):
    g, node_feats, edge_feats, gpb, name, _, _ = load_partition(config, p)
    assert name == graph["name"]
    assert list(meta["ntypes"]) == list(graph["num_nodes"]), "types in ID order"
    nids, eids = g.ndata[dgl.NID], g.edata[dgl.EID]
    inner_node, inner_edge = g.ndata["inner_node"].bool().numpy(), g.edata["inner_edge"].bool().numpy()
    assert g.ndata["inner_node"].dtype == torch.uint8
    num_inner, num_owned = int(inner_node.sum()), int(inner_edge.sum())
    assert inner_node[:num_inner].all() and inner_edge[:num_owned].all(), "inner ones first"
    assert (gpb.nid2localnid(nids[:num_inner], p).numpy() == np.arange(num_inner)).all()
    if num_owned:
        assert (gpb.eid2localeid(eids[:num_owned], p).numpy() == np.arange(num_owned)).all()
        assert (gpb.eid2partid(eids[:num_owned]).numpy() == p).all()
    assert (gpb.nid2partid(nids).numpy()[:num_inner] == p).all()
    assert (gpb.nid2partid(nids).numpy()[num_inner:] != p).all(), "halo nodes are foreign"
    assert len(gpb.partid2nids(p)) == num_inner and len(gpb.partid2eids(p)) == num_owned

    src, dst = (end.numpy() for end in g.edges(order="eid"))
    assert (dst[:num_owned] < num_inner).all(), "an edge is owned with its destination"
    held = np.zeros(g.num_nodes(), bool)
    held[src] = held[dst] = True
    assert held[num_inner:].all(), "a halo node is an end of an edge"
    ntype_ids, typed_nids = (ids.numpy() for ids in gpb.map_to_per_ntype(nids))
    if len(eids):
        etype_ids, typed_eids = (ids.numpy() for ids in gpb.map_to_per_etype(eids))
    else:
        etype_ids = typed_eids = np.zeros(0, np.int64)
    if len(graph["num_nodes"]) > 1 or len(graph["edges"]) > 1:
        assert g.ndata[dgl.NTYPE].dtype == g.edata[dgl.ETYPE].dtype == torch.int32
        assert (g.ndata[dgl.NTYPE].numpy() == ntype_ids).all() and (g.edata[dgl.ETYPE].numpy() == etype_ids).all()
    old_nids = np.empty(len(nids), np.int64)
    for i, ntype in enumerate(graph["num_nodes"]):
        mine = ntype_ids == i
        old_nids[mine] = new_to_old_nid[ntype][typed_nids[mine]]
    for i, (etype, (old_src, old_dst)) in enumerate(graph["edges"].items()):
        mine = etype_ids == i
        old_eids = new_to_old_eid[etype][typed_eids[mine]]
        assert (old_nids[src[mine]] == old_src[old_eids]).all(), f"{etype}: sources"
        assert (old_nids[dst[mine]] == old_dst[old_eids]).all(), f"{etype}: destinations"
        src_type, _, dst_type = etype.split(":")
        kinds = list(graph["num_nodes"])
        assert (ntype_ids[src[mine]] == kinds.index(src_type)).all()
        assert (ntype_ids[dst[mine]] == kinds.index(dst_type)).all()
        starts = gpb.partid2eids(p, tuple(etype.split(":")) if len(graph["edges"]) > 1 else "_E")
        assert len(starts) == int((mine[:num_owned]).sum())

    loaded_nodes, loaded_edges = load_partition_feats(config, p)
    for feats, again, kind, orig in (
        (node_feats, loaded_nodes, "node_data", originals[0]),
        (edge_feats, loaded_edges, "edge_data", originals[1]),
    ):
        assert sorted(feats) == sorted(again) == sorted(graph[kind])
        for key, rows in graph[kind].items():
            expected = rows[orig[key.rsplit("/", 1)[0]][p]]
            expected = expected.view(np.uint8) if expected.dtype == bool else expected
            found = feats[key].numpy()
            assert found.dtype == expected.dtype and found.shape == expected.shape, key
            # bytes, so that NaNs are equal to themselves
            assert found.tobytes() == np.ascontiguousarray(expected).tobytes(), key


def read_graph(directory):
    with open(Path(directory) / "graph.json") as file:
        graph = json.load(file)
    load = lambda path: np.load(Path(directory) / path, mmap_mode="r")  # noqa: E731
    graph["edges"] = {etype: (load(src), load(dst)) for etype, (src, dst) in graph["edges"].items()}
    for kind in ("node_data", "edge_data"):
        graph[kind] = {key: load(path) for key, path in graph[kind].items()}
    return graph


def build(graph, named=False):
    """A DGLGraph with data; of one node and one edge type it is homogeneous, with DGL's names unless `named`."""

    def tensor(rows):
        rows = np.array(rows)
        return torch.from_numpy(rows.view(np.uint8) if rows.dtype == bool else rows)

    edges = {tuple(e.split(":")): (tensor(src), tensor(dst)) for e, (src, dst) in graph["edges"].items()}
    is_homogeneous = len(graph["num_nodes"]) == len(edges) == 1 and not named
    if is_homogeneous:
        built = dgl.graph(next(iter(edges.values())), num_nodes=next(iter(graph["num_nodes"].values())))
    else:
        built = dgl.heterograph(edges, num_nodes_dict=graph["num_nodes"])
    for kind, frames in (("node_data", built.nodes), ("edge_data", built.edges)):
        for key, rows in graph[kind].items():
            of_type, name = key.rsplit("/", 1)
            if is_homogeneous:
                of_type = "_N" if kind == "node_data" else ("_N", "_E", "_N")
            elif kind == "edge_data":
                of_type = tuple(of_type.split(":"))
            frames[of_type].data[name] = tensor(rows)
    return built


if __name__ == "__main__":
    with open(sys.argv[1]) as work:
        configs_of = json.load(work)
    for a_directory, configs in configs_of.items():
        the_graph = read_graph(a_directory)
        for a_config in configs:
            judge(the_graph, a_config)
            load_partition_book(a_config, 0)
    print(json.dumps({"dgl": dgl.__version__, "configs": sum(map(len, configs_of.values()))}))
