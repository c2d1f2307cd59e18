"""Run GSPartition of GraphStorm itself, and read `dist_graph` directories by the functions of GraphStorm."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "without_autogluon"))
import sitecustomize  # noqa: F401, I001

from graphstorm.gconstruct.id_map import IdReverseMap
from graphstorm.gpartition import dist_partition_graph
from graphstorm.model.utils import load_dist_nid_map
from graphstorm.utils import check_graph_name, get_graph_name

words, directories = json.loads(sys.argv[1]), sys.argv[2:]
sys.argv[1:] = words
dist_partition_graph.main()

answers = []
for directory in directories:
    config = os.path.join(directory, "metadata.json")
    check_graph_name(get_graph_name(config))
    with open(config) as file:
        ntypes = json.load(file)["node_map"]
    nids = {ntype: ids.tolist() for ntype, ids in load_dist_nid_map(directory, list(ntypes)).items()}
    raw = os.path.join(directory, "raw_id_mappings")
    maps = {ntype: IdReverseMap(os.path.join(raw, ntype)) for ntype in ntypes if os.path.exists(raw)}
    answers.append({"nids": nids, "raw": {n: ids.map_range(0, len(ids)).tolist() for n, ids in maps.items()}})
print(json.dumps({"directories": answers}))
