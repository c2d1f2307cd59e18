"""Pass `write-nodes`: the node arrays of each part's graph.

Inner nodes in new-ID order, then HALO nodes in ascending new ID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.targets import write_rows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.bitmap import list_members
from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.dispatching.local_graph import PartGraph
    from daskgraphpart.dispatching.workspace import Workspace

NODES_PER_WRITE = 1 << 18
NODE_NBYTES = 13


@dataclass(frozen=True, slots=True, eq=False)
class NodeConfig:
    """Files, and the ends of all node type ranges in new-ID order (parts x types) with the number of types."""

    work: Workspace
    type_ends: np.ndarray
    num_types: int


def write_nodes_pass(parts: Sequence[PartGraph], config: NodeConfig) -> Pass[PartGraph, NodeConfig, None]:
    """Plan the pass."""
    return Pass("write-nodes", write_nodes, parts, config, [part.num_nodes * NODE_NBYTES for part in parts])


def write_nodes(graph: PartGraph, config: NodeConfig) -> None:
    """Write new IDs, whether nodes are inner, and where it is wanted their types, of one part."""
    arrays, local = graph.arrays, 0
    for new_nids, inner in _nodes(graph, config):
        write_rows(arrays.get("nodes/id", ()), new_nids, local)
        if "nodes/inner" in arrays:
            write_rows(arrays["nodes/inner"], np.full(new_nids.size, inner, np.uint8), local)
        if "nodes/type" in arrays:
            types = np.searchsorted(config.type_ends, new_nids, side="right") % config.num_types
            write_rows(arrays["nodes/type"], types, local)
        local += new_nids.size
    assert local == graph.num_nodes, f"part {graph.part}: {local} nodes written, {graph.num_nodes} counted"


def _nodes(graph: PartGraph, config: NodeConfig) -> Iterator[tuple[np.ndarray, bool]]:
    for first in range(graph.low, graph.high, NODES_PER_WRITE):
        yield np.arange(first, min(first + NODES_PER_WRITE, graph.high)), True
    if not graph.num_halo_nodes:
        return
    words = open_npy(config.work.halo_words(graph.part))
    per_read = NODES_PER_WRITE // 64
    members = np.empty(NODES_PER_WRITE, np.int64)
    for first in range(0, words.num_rows, per_read):
        count = list_members(words.read(first, min(first + per_read, words.num_rows)), first, members)
        yield members[:count], False
