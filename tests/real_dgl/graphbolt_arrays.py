"""In DGL: name the arrays of GraphBolt's graphs; check types and owners where they are stored."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dgl

config, names = sys.argv[1], []
for part in range(json.loads(Path(config).read_text())["num_parts"]):
    graph, _, _, book, *_ = dgl.distributed.load_partition(config, part, load_feats=False, use_graphbolt=True)
    nodes, edges = graph.node_attributes, graph.edge_attributes or {}
    names.append({"nodes": sorted(nodes), "edges": sorted(edges)})
    if "part_id" in nodes:
        assert (nodes["part_id"] == book.nid2partid(nodes["_ID"])).all()
        assert ((nodes["part_id"] == part) == nodes["inner_node"].bool()).all()
    if "_TYPE" in nodes:
        assert (nodes["_TYPE"] == book.map_to_per_ntype(nodes["_ID"])[0]).all()
        assert (edges["_TYPE"] == book.map_to_per_etype(edges["_ID"])[0]).all()
        assert (edges["_TYPE"] == graph.type_per_edge).all()
assert all(of == names[0] for of in names)
print(json.dumps(names[0]))
