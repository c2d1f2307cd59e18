"""Read the parts that ParMETIS' programs have written, in either form, as an assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.assignment import Assignment, create_owner_files
from daskgraphpart.sources.parmetis_files import Column, LineFile, PartFiles, Placement, read_lines, read_nodes
from daskgraphpart.storage.atomic import scratch_directory

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import GraphSchema


def read_parmetis_parts(parts: PartFiles, schema: GraphSchema, workspace: Path, resources: Resources) -> Assignment:
    """Read and check the part of every node, into owner files in a workspace: an assignment ``"parmetis"``."""
    from daskgraphpart.sources.database import open_database, run  # duckdb takes a tenth of a second to import

    owners = create_owner_files(workspace, schema, parts.num_parts)
    source = parts.paths[0].parent if parts.by_part else parts.paths[0]
    with scratch_directory(workspace) as scratch, open_database(scratch, resources) as connection:
        if parts.by_part:
            read_nodes(connection, parts, schema.name, np.array(schema.homo_starts))
        else:
            columns = Column("homogeneous node ID", 0, str(schema.num_nodes)), Column("part", 1, str(parts.num_parts))
            read_lines(connection, "node_lines", [LineFile(parts.paths[0], columns, num_columns=2)])
            run(connection, "CREATE VIEW nodes AS SELECT c0 AS id, c1 AS part FROM node_lines")
        placement = Placement("node", owners, str(source), "is it for this graph, and whole?")
        placement.place(connection, "SELECT id, part FROM nodes", lambda part: part)
    return Assignment(parts.num_parts, "parmetis", owners)
