"""Read the parts that ParMETIS' programs have written, in either form, as an assignment."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.assignment import Assignment, create_owner_files, owner_dtype
from daskgraphpart.assignment.parmetis.files import ParmetisFiles
from daskgraphpart.assignment.parmetis.place_rows import Placement, keys_in_memory, place_rows
from daskgraphpart.assignment.parmetis.text import TextBlock, check_range, count_columns, cut_text, read_columns
from daskgraphpart.errors import AssignmentError
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.assignment.parmetis.files import PartFiles
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema

SCRATCH_NAME = ".parmetis"
PartBlock = tuple[int, TextBlock]
"""Number of the file, which is the part in output of `pm_dglpart`, and lines of it."""


def read_parmetis_parts(
    parts: PartFiles,
    schema: GraphSchema,
    workspace: Path,
    runner: Runner,
    num_node_weights: int | None = None,
    task_memory: int | None = None,
) -> Assignment:
    """Read and check the part of every node, into owner files in a workspace: an assignment ``"parmetis"``.

    Raises
    ------
    AssignmentError
        If a line is not what it should be, an ID or a part is out of range, or a node is missing or there twice.
    """
    task_memory = task_memory or runner.resources.task_memory
    owners = create_owner_files(workspace, schema, parts.num_parts)
    if parts.by_part:
        num_weights = count_node_weights(parts, schema.name) if num_node_weights is None else num_node_weights
        read: Any = partial(_read_part, schema=schema, num_weights=num_weights, dtype=owner_dtype(parts.num_parts))
    else:
        read = partial(_read_pairs, num_nodes=schema.num_nodes, num_parts=parts.num_parts)
    scratch = workspace / SCRATCH_NAME
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    source = parts.paths[0].parent if parts.by_part else parts.paths[0]
    targets, keys = tuple(owners.values()), keys_in_memory(task_memory, 2)
    hint = "is it for this graph, and whole?"
    placement = Placement("node", read, schema.ntypes, targets, keys, str(scratch), str(source), hint)
    blocks = part_blocks(parts, task_memory)
    try:
        place_rows(blocks, [block.nbytes for _, block in blocks], placement, runner)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Assignment(parts.num_parts, "parmetis", owners)


def part_blocks(parts: PartFiles, task_memory: int) -> list[PartBlock]:
    """Cut the files of parts into blocks."""
    return [(number, block) for number, cut in enumerate(cut_text(parts.paths, task_memory)) for block in cut]


def _read_pairs(unit: PartBlock, num_nodes: int, num_parts: int) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    """Read lines `homo_nid part`, of `pm_dglpart2` and `pm_dglpart3`."""
    nodes, parts = read_columns(unit[1], (0, 1), "a homogeneous node ID and a part", num_columns=2)
    check_range(unit[1], nodes, num_nodes, "node ID")
    check_range(unit[1], parts, num_parts, "part")
    return nodes, parts.astype(owner_dtype(num_parts)), set()


def _read_part(
    unit: PartBlock, schema: GraphSchema, num_weights: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    nodes = read_node_ids(unit[1], schema, num_weights)
    return nodes, np.full(nodes.size, unit[0], dtype), set()


def read_node_ids(block: TextBlock, schema: GraphSchema, num_weights: int) -> np.ndarray:
    """Read lines `new_nid ntype weights... type_nid attributes...`, of `pm_dglpart`: original homogeneous IDs, int64.

    Raises
    ------
    AssignmentError
        If a line is at fault, or an ID out of range.
    """
    layout = f"new node ID, node type, {num_weights} weights, ID in its type"
    new_nids, ntypes, type_nids = read_columns(block, (0, 1, 2 + num_weights), layout)
    check_range(block, new_nids, schema.num_nodes, "new node ID")
    check_range(block, ntypes, len(schema.ntypes), "node type")
    starts = np.array(schema.homo_starts)
    check_range(block, type_nids, np.diff(starts)[ntypes], "ID in its node type")
    nodes: np.ndarray = starts[ntypes] + type_nids
    return nodes


def count_node_weights(parts: PartFiles, graph: str) -> int:
    """Count the weights in the lines of `pm_dglpart`: from the stats file, or else all columns but three."""
    stats = ParmetisFiles(parts.paths[0].parent, graph).stats
    if not stats.is_file():
        return max(0, (count_columns(parts.paths) or 3) - 3)
    with attach_path_to_error(stats):
        text = stats.read_text(encoding="ascii", errors="replace")
    words = text.split()
    if len(words) != 3 or not all(word.isdecimal() for word in words):
        raise AssignmentError(
            "not a stats file of ParMETIS",
            file=str(stats),
            expected="num_nodes num_edges num_node_weights",
            found=repr(text[:60]),
        )
    return int(words[2])
