"""Read `dist_graph` as GraphStorm 0.5 does: original IDs of all parts, and features as DGL loads them.

`load_dist_nid_map` follows graphstorm/model/utils.py; GraphStorm itself is called by gspartition.py.
"""

import json
import os
import sys

from dgl.data.utils import load_tensors
from dgl.distributed import load_partition


def load_dist_nid_map(directory, file):
    num_parts = len([name for name in os.listdir(directory) if name.startswith("part")])
    loaded = [load_tensors(os.path.join(directory, f"part{i}", file)) for i in range(num_parts)]
    return {kind: [of_part[kind].tolist() for of_part in loaded] for kind in loaded[0]}


directory = sys.argv[1]
answer = {"nids": load_dist_nid_map(directory, "orig_nids.dgl"), "eids": load_dist_nid_map(directory, "orig_eids.dgl")}
answer["dims"], answer["rows"] = {}, {}
for part in range(len(next(iter(answer["nids"].values())))):
    _, node_feats, edge_feats, *_ = load_partition(os.path.join(directory, "metadata.json"), part)
    for key, rows in {**node_feats, **edge_feats}.items():
        answer["dims"][key] = rows.dim()
        answer["rows"].setdefault(key, []).extend(rows.tolist())
print(json.dumps(answer))
