"""Edge types of DGL 0.9, which wrote relations alone: the first edge of each tells which node types it joins.

What `tools/change_etype_to_canonical_etype.py` of DGL 1.0 does to configs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_graph_file import read_graph_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.storage.paths import Location


def canonical_names(
    names: Sequence[str], nodes: PartitionBook, edge_ranges: np.ndarray, graphs: Sequence[Location], config: str
) -> tuple[str, ...]:
    """Find the canonical names of edge types; those that are canonical stay as they are.

    `edge_ranges` is int64 (parts, types, 2), `graphs` are the graph files of the parts; `config` is for messages.
    """
    found = []
    for type_id, name in enumerate(names):
        if name.count(":") == 2:
            found.append(name)
            continue
        counts = edge_ranges[:, type_id, 1] - edge_ranges[:, type_id, 0]
        if not counts.any():
            raise LayoutError(
                "a relation without edges, whose node types nothing tells",
                file=config,
                place="etypes",
                expected="a canonical name src:rel:dst",
                found=name,
                hint="write the canonical name into etypes and edge_map",
            )
        part = int(np.flatnonzero(counts)[0])
        graph = read_graph_file(graphs[part])
        first = int(edge_ranges[part, type_id, 0] - edge_ranges[part, 0, 0])
        ends = [graph.node_arrays["_ID"].take(end) for end in graph.ends(first, first + 1)]
        src, dst = (nodes.ntypes[int(nodes.map_to_per_ntype(end)[0][0])] for end in ends)
        found.append(f"{src}:{name}:{dst}")
    return tuple(found)
