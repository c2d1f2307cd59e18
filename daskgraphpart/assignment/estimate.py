"""Estimate what an assignment takes before edges are read: its method, memory and temporary files, from the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.adjacency.build import adjacency_nbytes
from daskgraphpart.adjacency.build import workspace_nbytes as building_nbytes
from daskgraphpart.assignment.balance import parse_balance
from daskgraphpart.assignment.choose import Choice, choose
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import GraphSchema

SOLVING_PER_NODE = 20  # parts, proposals, scores


def expected_choice(schema: GraphSchema, options: AssignOptions, resources: Resources) -> Choice:
    """Choose as a run does, for a graph without parallel edges, self-loops and isolated nodes."""
    num_constraints = len(parse_balance(options.wanted_balance, options.imbalance))
    return choose(schema.num_nodes, 2 * schema.num_edges, num_constraints, options, resources)


def workspace_nbytes(schema: GraphSchema, options: AssignOptions, choice: Choice | None) -> int:
    """Estimate the bytes of temporary files at their peak: the adjacency, and the graph that the method makes of it."""
    nodes, arcs, item = schema.num_nodes, 2 * schema.num_edges, id_dtype(schema.num_nodes).itemsize
    weights = 8 * len(parse_balance(options.wanted_balance, options.imbalance))
    made = 0
    if choice is not None and choice.method == "multilevel":
        made = (2 * item + 4) * arcs + adjacency_nbytes(schema)  # arcs between clusters, and the next level
    elif choice is not None and choice.calls:
        nbytes = 16 if any(call.library == "metis" for call in choice.calls) else item + 8  # of an exported arc
        made = 8 * nodes + nbytes * arcs
    return max(building_nbytes(schema), adjacency_nbytes(schema) + made + (weights + SOLVING_PER_NODE) * nodes)
