"""Compare the arrays of all parts, by new type-wise ID, with the graph that was partitioned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphs import Graph


def assert_agrees(graph: Graph, read: Callable[[str], Any]) -> None:
    """Check that arrays, read by the names of `layouts.layout`, are those of a graph: nodes, edges, rows, IDs."""
    orig_nids = {ntype: np.asarray(read(f"orig_nids/{ntype}")) for ntype in graph.schema.ntypes}
    for node_type in graph.schema.node_types:
        ids = orig_nids[node_type.name]
        np.testing.assert_array_equal(np.sort(ids), np.arange(node_type.num_nodes))
        for name, rows in graph.node_data.get(node_type.name, {}).items():
            np.testing.assert_array_equal(np.asarray(read(f"node_data/{node_type.name}/{name}")), rows[ids])
    for edge_type in graph.schema.edge_types:
        ids = np.asarray(read(f"orig_eids/{edge_type.name}"))
        np.testing.assert_array_equal(np.sort(ids), np.arange(edge_type.num_edges))
        ends = zip(("edge_src", "edge_dst"), (edge_type.src, edge_type.dst), graph.edges[edge_type.name], strict=True)
        for name, ntype, expected in ends:
            new_nids = np.asarray(read(f"{name}/{edge_type.name}"))
            np.testing.assert_array_equal(orig_nids[ntype][new_nids], np.asarray(expected)[ids])
        for name, rows in graph.edge_data.get(edge_type.name, {}).items():
            np.testing.assert_array_equal(np.asarray(read(f"edge_data/{edge_type.name}/{name}")), rows[ids])
