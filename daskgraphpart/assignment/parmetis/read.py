"""Read parts that ParMETIS has written, in either form, as an assignment."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from daskgraphpart.assignment.assignment import Assignment, create_owner_files
from daskgraphpart.assignment.parmetis.key_ranges import KeyRanges
from daskgraphpart.assignment.parmetis.names import ParmetisFiles
from daskgraphpart.assignment.parmetis.place_owners import PartLines, PlaceConfig, place_owners
from daskgraphpart.assignment.parmetis.read_columns import count_columns, cut_text
from daskgraphpart.assignment.parmetis.sizes import choose_sizes
from daskgraphpart.errors import AssignmentError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.assignment.parmetis.names import PartFiles
    from daskgraphpart.assignment.parmetis.sizes import ParmetisSizes
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema

SCRATCH_NAME = ".parmetis"


def read_parmetis_parts(
    parts: PartFiles,
    schema: GraphSchema,
    workspace: Path,
    runner: Runner,
    num_node_weights: int | None = None,
    sizes: ParmetisSizes | None = None,
) -> Assignment:
    """Read and check the part of every node.

    Parameters
    ----------
    parts : PartFiles
        What to read, as `find_parts` finds it.
    schema : GraphSchema
        The graph; its homogeneous IDs are those that `write_parmetis` wrote.
    workspace : Path
        Where the owners are kept in binary form; needs 12 bytes per node more while they are read.
    runner : Runner
        What does the work.
    num_node_weights : int, optional
        Weights in the lines of `pm_dglpart`. Default: what the stats file beside them says; without it, all columns
        but three, as it is where nodes have no attributes.
    sizes : ParmetisSizes, optional
        Bites of the passes; default by the budget of the runner.

    Returns
    -------
    Assignment
        Of method ``"parmetis"``.

    Raises
    ------
    AssignmentError
        If a line is not what it should be, an ID or a part is out of range, or a node is missing or there twice.
    """
    sizes = sizes or choose_sizes(runner.resources)
    owners = create_owner_files(workspace, schema, parts.num_parts)
    if num_node_weights is None:
        num_node_weights = count_node_weights(parts, schema.name) if parts.by_part else 0
    scratch = workspace / SCRATCH_NAME
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    units = part_lines(parts, sizes.text_block_bytes)
    source = str(parts.paths[0].parent if parts.by_part else parts.paths[0])
    dtype = id_dtype(schema.num_nodes)
    ranges = KeyRanges(schema.num_nodes, max(1, sizes.interval_rows), f"{scratch}/nodes-", dtype, num_columns=3)
    config = PlaceConfig(schema, owners, parts.num_parts, num_node_weights, ranges, source)
    try:
        place_owners(units, config, runner)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Assignment(parts.num_parts, "parmetis", owners)


def part_lines(parts: PartFiles, block_bytes: int) -> list[PartLines]:
    """Cut the files of parts into blocks."""
    blocks = cut_text(parts.paths, block_bytes)
    of_part = [(part if parts.by_part else -1, block) for part, cut in enumerate(blocks) for block in cut]
    return [PartLines(index, block, part) for index, (part, block) in enumerate(of_part)]


def count_node_weights(parts: PartFiles, graph: str) -> int:
    """Count the weights in the lines of `pm_dglpart`: from the stats file, or else all columns but three."""
    stats = ParmetisFiles(parts.paths[0].parent, graph).stats
    if stats.is_file():
        return read_stats(stats)[2]
    columns = next((found for found in map(count_columns, parts.paths) if found), 3)
    return max(0, columns - 3)


def read_stats(path: Path) -> tuple[int, int, int]:
    """Read a stats file: numbers of nodes, of edges, and of node weights.

    Raises
    ------
    AssignmentError
        If it does not hold three numbers.
    """
    with attach_path_to_error(path):
        text = path.read_text(encoding="ascii", errors="replace")
    words = text.split()
    if len(words) != 3 or not all(word.isdecimal() for word in words):
        raise AssignmentError(
            "not a stats file of ParMETIS",
            file=str(path),
            expected="num_nodes num_edges num_node_weights",
            found=repr(text[:60]),
        )
    num_nodes, num_edges, num_node_weights = map(int, words)
    return num_nodes, num_edges, num_node_weights
