"""Read the output of ParMETIS' programs, in either form, as an assignment."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.assignment import MAX_PARTS, Assignment, create_owner_files, owner_regions
from daskgraphpart.parmetis_files.files import (
    IdColumn,
    LineFile,
    PartFiles,
    Placement,
    find_parts,
    holds_parts,
    read_lines,
    read_nodes,
)
from daskgraphpart.storage.atomic import scratch_directory

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema

logger = logging.getLogger(__name__)


def read_found_parts(
    path: Path, schema: GraphSchema, workspace: Path, runner: Runner, num_parts: int | None
) -> Assignment | None:
    """Read the parts at a path, as a step of a job; None if ParMETIS wrote nothing there."""
    if not holds_parts(path, schema.name):
        return None
    found, resources = find_parts(path, schema.name, num_parts), runner.resources
    parts = runner.step("read-parmetis", lambda: read_parmetis_parts(found, schema, workspace, resources).num_parts)
    return Assignment(parts, "parmetis", owner_regions(workspace, schema, parts))


def read_parmetis_parts(parts: PartFiles, schema: GraphSchema, workspace: Path, resources: Resources) -> Assignment:
    """Read and check the part of every node into owner files of a workspace: an assignment ``"parmetis"``."""
    from daskgraphpart.sources.database import open_database, run  # duckdb takes a tenth of a second to import

    source, num_parts = parts.paths[0].parent if parts.by_part else parts.paths[0], parts.num_parts
    with scratch_directory(workspace) as scratch, open_database(scratch, resources) as connection:
        if parts.by_part:
            read_nodes(connection, parts, schema.name, np.array(schema.homo_starts))
        else:
            # as in DGL's parmetis_postprocess.py; more parts than nodes mean another kind of file
            stop = str(num_parts or min(schema.num_nodes, MAX_PARTS))
            columns = IdColumn("homogeneous node ID", 0, str(schema.num_nodes)), IdColumn("part", 1, stop)
            read_lines(connection, "node_lines", [LineFile(parts.paths[0], columns, num_columns=2)])
            run(connection, "CREATE VIEW nodes AS SELECT c0 AS id, c1 AS part FROM node_lines")
        if num_parts is None:
            ((num_parts,),) = run(connection, "SELECT coalesce(max(part), 0) + 1 FROM nodes")
            logger.info("%s: the largest part is %d, so there are %d parts", source, num_parts - 1, num_parts)
        owners = create_owner_files(workspace, schema, num_parts)
        placement = Placement("node", owners, str(source), "check that it is complete and for this graph")
        placement.place(connection, "SELECT id, part FROM nodes", lambda part: part)
    return Assignment(num_parts, "parmetis", owners)
