"""Estimate what an assignment takes before edges are read: its method, memory and temporary files, from the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.build import adjacency_nbytes
from daskgraphpart.adjacency.build import workspace_nbytes as building_nbytes
from daskgraphpart.adjacency.csr_blocks import Adjacency, CsrBlock
from daskgraphpart.assignment.balance import parse_balance
from daskgraphpart.assignment.choose import Choice, choose
from daskgraphpart.assignment.multilevel.level import Level
from daskgraphpart.storage.region import npy_region
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import GraphSchema

MAX_DEGREE = 100
"""Neighbours of the largest node, as a multiple of the mean: neither a mesh nor a graph with hubs."""
SOLVING_PER_NODE = 20  # parts, proposals, scores


def expected_choice(schema: GraphSchema, num_parts: int, options: AssignOptions, resources: Resources) -> Choice:
    """Choose as a run does, for a graph without parallel edges, self-loops and hubs."""
    nodes, arcs = schema.num_nodes, 2 * schema.num_edges
    block = CsrBlock("", 0, nodes, arcs, id_dtype(nodes), None)
    adjacency = Adjacency(nodes, 0, arcs, min(nodes, MAX_DEGREE * -(-arcs // max(1, nodes))), (block,))
    weights = tuple(
        npy_region("", np.int64, (nodes,)) for _ in parse_balance(options.wanted_balance, options.imbalance)
    )
    return choose(Level(adjacency, weights, ""), num_parts, options, resources)


def workspace_nbytes(schema: GraphSchema, options: AssignOptions) -> int:
    """Estimate the bytes of temporary files at their peak; partitioners keep one more graph, copied or coarsened."""
    weights = 8 * len(parse_balance(options.wanted_balance, options.imbalance))
    solving = 2 * adjacency_nbytes(schema) + (weights + SOLVING_PER_NODE) * schema.num_nodes
    return max(building_nbytes(schema), solving)
