"""Recognise our layouts' files, so that nothing else in an output directory is ever deleted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from daskgraphpart.storage.atomic import DELETED_FORMAT

GRAPH = "graph.dgl"
GRAPHBOLT = "fused_csc_sampling_graph.pt"
NODE_FEAT = "node_feat.dgl"
EDGE_FEAT = "edge_feat.dgl"
ORIG_NIDS = "orig_nids.dgl"
ORIG_EIDS = "orig_eids.dgl"
SPLIT_NIDS = "split_nids.dgl"
NODE_MAP = "node_map.npy"
EDGE_MAP = "edge_map.npy"

DIST_GRAPH = "dist_graph"
RAW_IDS = f"{DIST_GRAPH}/raw_id_mappings"
TRANSFORMATIONS = f"{DIST_GRAPH}/data_transform_new.json"
ASSIGNMENT = "partition_assignment"
ASSIGNMENT_META = f"{ASSIGNMENT}/partition_meta.json"

_PART_FILES = "|".join(map(re.escape, (GRAPH, GRAPHBOLT, NODE_FEAT, EDGE_FEAT, ORIG_NIDS, ORIG_EIDS, SPLIT_NIDS)))
ID_MAP, CATEGORIES = "id_map", "categories"
"""Directories of the IDs that nodes had in tables, and of what codes in features stand for."""
DIRECTORIES = "|".join([r"part\d+", DIST_GRAPH, ASSIGNMENT, ID_MAP, CATEGORIES])
"""Regular expression of a directory in the output; layouts that are plug-ins have one of their own name."""
FILES = "|".join(
    [
        rf"({DIST_GRAPH}/)?part\d+/({_PART_FILES})|{NODE_MAP}|{EDGE_MAP}",
        rf"{ID_MAP}/[^/]+\.parquet|{CATEGORIES}/[^/]+/[^/]+\.parquet",
        rf"{RAW_IDS}/[^/]+/[^/]+\.parquet|{TRANSFORMATIONS}|{DIST_GRAPH}/(node|edge)_label_stats\.json",
        rf"{ASSIGNMENT}/[^/]+\.txt|{ASSIGNMENT_META}",
    ]
)
"""Regular expression of a path below the output; configs and manifests, with free names, are known by their content."""

MANIFEST_FORMAT = "daskgraphpart partitions"


def description_of(layout: str) -> str:
    """Path below the output of the JSON file of a layout with its own directory."""
    return f"{layout}/{layout}.json"


def is_description(content: Mapping[str, Any]) -> bool:
    """Whether this is the content of a partition config or of our manifest, or was until it was to be deleted."""
    return "part-0" in content or content.get("format") in (MANIFEST_FORMAT, DELETED_FORMAT)
