"""How many nodes there are of each type where IDs are not mapped: as many as were said, or the largest ID and one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.chunking.edge_lists.inputs import Inputs
    from daskgraphpart.chunking.edge_lists.staged import StagedBlock

DENSE_BELOW = 2**31
IDS_PER_EDGE = 1000
"""Beyond so many IDs for each edge a number of nodes is taken for a mistake, and above `DENSE_BELOW` only."""


def count_nodes(inputs: Inputs, edges: Mapping[str, list[StagedBlock]]) -> dict[str, int]:
    """Count the nodes of every type.

    Raises
    ------
    InputFileError
        If the largest ID is so large that IDs are sparse, and nobody said that there are so many nodes.
    """
    largest: dict[str, tuple[int, str]] = {}
    num_edges: dict[str, int] = {}
    for blocks in edges.values():
        for block in blocks:
            for ntype, found in zip(block.unit.ntypes, block.largest, strict=True):
                largest[ntype] = max(largest.get(ntype, (-1, "")), (found, block.unit.block.table.path))
                num_edges[ntype] = num_edges.get(ntype, 0) + block.num_rows
    counts = {}
    for ntype in inputs.ntypes:
        found, path = largest.get(ntype, (-1, ""))
        if ntype not in inputs.num_nodes and found >= max(DENSE_BELOW, IDS_PER_EDGE * num_edges.get(ntype, 0)):
            raise InputFileError(
                f"IDs of {ntype!r} nodes are sparse",
                file=path,
                expected="IDs from 0 with few gaps",
                found=f"{found:,} as the largest ID of {num_edges.get(ntype, 0):,} edges",
                hint=f"use --map-ids, or say --num-nodes {ntype}={found + 1} if there are so many nodes",
            )
        counts[ntype] = inputs.num_nodes.get(ntype, found + 1)
    return counts
