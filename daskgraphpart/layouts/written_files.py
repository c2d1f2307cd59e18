"""Recognise the files that layouts write, so that nothing else in an output directory is ever deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

GRAPH = "graph.dgl"
NODE_FEAT = "node_feat.dgl"
EDGE_FEAT = "edge_feat.dgl"
ORIG_NIDS = "orig_nids.dgl"
ORIG_EIDS = "orig_eids.dgl"
SPLIT_NIDS = "split_nids.dgl"
NODE_MAP = "node_map.npy"
EDGE_MAP = "edge_map.npy"

PART_FILES = (GRAPH, NODE_FEAT, EDGE_FEAT, ORIG_NIDS, ORIG_EIDS, SPLIT_NIDS)
"""In the directory of a part, of any layout."""
GRAPH_FILES = (NODE_MAP, EDGE_MAP)
"""Beside the directories of parts; configs and manifests, whose names are free, are known by their content."""

MANIFEST_FORMAT = "daskgraphpart partitions"


def is_description(content: Mapping[str, Any]) -> bool:
    """Whether this is the content of a partition config, or of a manifest of ours."""
    return "part-0" in content or content.get("format") == MANIFEST_FORMAT
