"""Runs in an environment with real DGL, in a client: what graph servers serve, against the graph that was partitioned.

Everything is asked of `DistGraph` and of DGL's distributed sampling, for all nodes and all edges, of this client's part
and of the others, and brought back to original IDs by orig_nids.dgl and orig_eids.dgl.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import dgl
import numpy as np
import torch
from dgl.data.utils import load_tensors
from judge import read_graph

if TYPE_CHECKING:
    from pathlib import Path

FEW = 2  # neighbours to sample, fewer than many nodes have


def compare(served: dgl.distributed.DistGraph, directory: str, config: Path) -> list[str]:
    """Compare with the graph in a directory that judge.py reads; what was compared."""
    graph = read_graph(directory)
    old_nids, old_eids = (originals(config, name) for name in ("orig_nids.dgl", "orig_eids.dgl"))
    compare_types_and_data(served, graph, old_nids, old_eids)
    compare_ends_and_degrees(served, graph, old_nids, old_eids)
    compare_samples(served, graph, old_nids, old_eids)
    return ["types", "data", "find_edges", "in_degrees", "out_degrees", "samples"]


def originals(config: Path, name: str) -> dict[str, np.ndarray]:
    """Original type-wise IDs by type, at the new ones."""
    parts = range(json.loads(config.read_text())["num_parts"])
    tensors = [load_tensors(str(config.parent / f"part{part}" / name)) for part in parts]
    return {key: np.concatenate([of_part[key].numpy() for of_part in tensors]) for key in tensors[0]}


def compare_types_and_data(served, graph, old_nids, old_eids) -> None:
    assert served.ntypes == list(graph["num_nodes"])
    assert [":".join(etype) for etype in served.canonical_etypes] == list(graph["edges"])
    nodes = [("node_data", ntype, ntype, served.nodes, served.num_nodes, old_nids) for ntype in served.ntypes]
    edges = [
        ("edge_data", ":".join(etype), etype, served.edges, served.num_edges, old_eids)
        for etype in served.canonical_etypes
    ]
    for kind, name, key, views, count, old_ids in nodes + edges:
        old = old_ids[name]
        assert count(key) == len(old) and (np.sort(old) == np.arange(len(old))).all(), name
        expected = {at.rsplit("/", 1)[1]: rows for at, rows in graph[kind].items() if at.rsplit("/", 1)[0] == name}
        data = views[key].data
        assert sorted(data) == sorted(expected), name
        for feature, rows in expected.items():
            # all at once: some rows are in this client's part, some are not
            found = data[feature][torch.arange(len(old))].numpy()
            assert found.shape == rows.shape and (found == rows[old]).all(), f"{name}/{feature}"


def compare_ends_and_degrees(served, graph, old_nids, old_eids) -> None:
    in_degrees = {ntype: np.zeros(count, np.int64) for ntype, count in graph["num_nodes"].items()}
    out_degrees = {ntype: np.zeros(count, np.int64) for ntype, count in graph["num_nodes"].items()}
    for etype in served.canonical_etypes:
        name, (src_type, _, dst_type) = ":".join(etype), etype
        old_src, old_dst = graph["edges"][name]
        src, dst = (ends.numpy() for ends in served.find_edges(torch.arange(served.num_edges(etype)), etype))
        assert (old_nids[src_type][src] == old_src[old_eids[name]]).all(), f"find_edges: sources of {name}"
        assert (old_nids[dst_type][dst] == old_dst[old_eids[name]]).all(), f"find_edges: destinations of {name}"
        out_degrees[src_type] += np.bincount(old_src, minlength=graph["num_nodes"][src_type])
        in_degrees[dst_type] += np.bincount(old_dst, minlength=graph["num_nodes"][dst_type])
    book = served.get_partition_book()
    for ntype, old in old_nids.items():
        # DGL counts edges of all types
        ids = book.map_to_homo_nid(torch.arange(len(old)), ntype)
        assert (served.in_degrees(ids).numpy() == in_degrees[ntype][old]).all(), f"in_degrees of {ntype}"
        assert (served.out_degrees(ids).numpy() == out_degrees[ntype][old]).all(), f"out_degrees of {ntype}"


def compare_samples(served, graph, old_nids, old_eids) -> None:
    everyone = {ntype: torch.arange(count) for ntype, count in graph["num_nodes"].items()}
    sample = dgl.distributed.sample_neighbors
    for direction in ("in", "out"):
        found = typed_edges(sample(served, everyone, -1, edge_dir=direction), served, graph, old_nids, old_eids)
        for name, ends in found.items():
            assert len(ends[0]) == len(graph["edges"][name][0]), f"all {direction}-edges of {name}"
    found = typed_edges(sample(served, everyone, FEW), served, graph, old_nids, old_eids)
    for ntype, count in graph["num_nodes"].items():
        mine = [name for name in found if name.endswith(f":{ntype}")]
        degrees = sum((np.bincount(graph["edges"][name][1], minlength=count) for name in mine), np.zeros(count, int))
        sampled = sum((np.bincount(found[name][1], minlength=count) for name in mine), np.zeros(count, int))
        assert (sampled == np.minimum(degrees, FEW)).all(), f"sample of neighbours of {ntype}"
    if len(graph["edges"]) == 1:
        return
    fanouts = {etype: FEW + number % 2 for number, etype in enumerate(served.canonical_etypes)}
    frontier = dgl.distributed.sample_etype_neighbors(served, everyone, fanouts)
    found = typed_edges(frontier, served, graph, old_nids, old_eids)
    for etype, fanout in fanouts.items():
        name, count = ":".join(etype), graph["num_nodes"][etype[2]]
        sampled, degrees = (np.bincount(ends[1], minlength=count) for ends in (found[name], graph["edges"][name]))
        assert (sampled == np.minimum(degrees, fanout)).all(), f"sample of neighbours by {name}"


def typed_edges(frontier, served, graph, old_nids, old_eids) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Edges that were sampled, by type, in original IDs: each at most once, between the ends that it really has."""
    edges = {}
    for etype in served.canonical_etypes:
        name, (src_type, _, dst_type) = ":".join(etype), etype
        relation = frontier if len(graph["edges"]) == 1 else frontier[etype]
        src, dst, number = (ids.numpy() for ids in relation.edges(form="all"))
        eids = old_eids[name][relation.edata[dgl.EID].numpy()[number]] if len(number) else number
        assert len(np.unique(eids)) == len(eids), f"{name}: an edge is sampled once"
        edges[name] = old_nids[src_type][src], old_nids[dst_type][dst]
        for ends, expected in zip(edges[name], graph["edges"][name], strict=True):
            assert (ends == expected[eids]).all(), f"{name}: ends of sampled edges"
    return edges
