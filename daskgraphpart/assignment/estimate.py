"""Estimate what an assignment takes before edges are read: its method, memory and temporary files, from the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.adjacency.build import adjacency_nbytes
from daskgraphpart.adjacency.build import workspace_nbytes as building_nbytes
from daskgraphpart.assignment.balance import parse_balance
from daskgraphpart.assignment.choose import Choice, choose

if TYPE_CHECKING:
    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import GraphSchema

SOLVING_PER_NODE = 20  # parts, proposals, scores


def expected_choice(schema: GraphSchema, options: AssignOptions, resources: Resources) -> Choice:
    """Choose as a run does, for a graph without parallel edges, self-loops and isolated nodes."""
    num_constraints = len(parse_balance(options.wanted_balance, options.imbalance))
    return choose(schema.num_nodes, 2 * schema.num_edges, num_constraints, options, resources)


def workspace_nbytes(schema: GraphSchema, options: AssignOptions) -> int:
    """Estimate the bytes of temporary files at their peak; partitioners keep one more graph, copied or coarsened."""
    weights = 8 * len(parse_balance(options.wanted_balance, options.imbalance))
    solving = 2 * adjacency_nbytes(schema) + (weights + SOLVING_PER_NODE) * schema.num_nodes
    return max(building_nbytes(schema), solving)
