"""How large the adjacency and its blocks are, before it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema

MIN_BLOCK_ARCS, MAX_BLOCK_ARCS = 1 << 16, 1 << 21
BLOCKS = 16  # of a graph neither small nor large


def max_arcs_of_block(num_arcs: int, blocks: int = BLOCKS) -> int:
    """Most arcs of a block, given those of the graph; a single node may exceed it."""
    return min(max(num_arcs // blocks, MIN_BLOCK_ARCS), MAX_BLOCK_ARCS)


def adjacency_nbytes(schema: GraphSchema, *, has_weights: bool = False) -> int:
    """Estimate the bytes of CSR blocks and in-degrees; parallel edges and self-loops lower them.

    Counts of parallel edges fit a byte but for a few.
    """
    per_arc = id_dtype(schema.num_nodes).itemsize + (4 if has_weights else 1)
    return 16 * schema.num_nodes + 2 * per_arc * schema.num_edges
