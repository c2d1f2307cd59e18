"""Read the parts that ParMETIS' programs have written, in either form, as an assignment."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.assignment import Assignment, create_owner_files, owner_dtype
from daskgraphpart.sources.parmetis_text import check_range, count_node_weights, cut_text, read_columns, read_nodes
from daskgraphpart.sources.place_rows import Placement, place_rows

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.sources.parmetis_files import PartFiles
    from daskgraphpart.sources.parmetis_text import NumberedBlock


def read_parmetis_parts(
    parts: PartFiles, schema: GraphSchema, workspace: Path, runner: Runner, task_memory: int | None = None
) -> Assignment:
    """Read and check the part of every node, into owner files in a workspace: an assignment ``"parmetis"``."""
    task_memory = task_memory or runner.resources.task_memory
    owners, dtype = create_owner_files(workspace, schema, parts.num_parts), owner_dtype(parts.num_parts)
    num_weights = count_node_weights(parts, schema.name) if parts.by_part else 0
    of_parts = partial(_read_part, starts=np.array(schema.homo_starts), num_weights=num_weights, dtype=dtype)
    pairs = partial(_read_pairs, num_nodes=schema.num_nodes, num_parts=parts.num_parts)
    read, source = (of_parts, parts.paths[0].parent) if parts.by_part else (pairs, parts.paths[0])
    placement = Placement("node", read, owners, task_memory, str(source), "is it for this graph, and whole?")
    place_rows(cut_text(enumerate(parts.paths), task_memory), placement, workspace, runner)
    return Assignment(parts.num_parts, "parmetis", owners)


def _read_pairs(unit: NumberedBlock, num_nodes: int, num_parts: int) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    """Read lines `homo_nid part`, of `pm_dglpart2` and `pm_dglpart3`."""
    (nodes, parts), _ = read_columns(unit[1], {0: "homogeneous node ID", 1: "part"}, num_columns=2)
    check_range(unit[1], nodes, num_nodes, "node ID")
    check_range(unit[1], parts, num_parts, "part")
    return nodes, parts.astype(owner_dtype(num_parts)), set()


def _read_part(
    unit: NumberedBlock, starts: np.ndarray, num_weights: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    """Read lines of nodes of one part, of `pm_dglpart`."""
    nodes, _ = read_nodes(unit[1], starts, num_weights)
    return nodes, np.full(nodes.size, unit[0], dtype), set()
