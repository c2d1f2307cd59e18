"""Run GSPartition of GraphStorm itself, and read `dist_graph` directories by the functions of GraphStorm."""

import json
import os
import sys
from unittest.mock import MagicMock

# imported by graphstorm.gconstruct for one transformation of features; it needs a hundred packages
for name in ("", ".tabular", *(f".tabular.models.mitra._internal.{end}" for end in (
    "data.dataset_finetune", "config.enums", "core.trainer_finetune"
))):  # fmt: skip
    sys.modules[f"autogluon{name}"] = MagicMock()

from graphstorm.gconstruct.id_map import IdReverseMap  # noqa: E402
from graphstorm.gpartition import dist_partition_graph  # noqa: E402
from graphstorm.model.utils import load_dist_nid_map  # noqa: E402
from graphstorm.utils import check_graph_name, get_graph_name  # noqa: E402

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
