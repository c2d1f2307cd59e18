"""Write a graph as ParMETIS' programs read it: nodes with weights, edges without loops and repeats, and those apart.

Each task writes the lines of its block into a file of its own; one task per file then joins the pieces in order.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.assignment.parmetis.write_edges import write_edges
from daskgraphpart.assignment.parmetis.write_nodes import check_weights, weighted_types, write_nodes
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.storage.atomic import publish, temporary_path, write_bytes, write_json
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.paths import to_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.sources.parmetis_files import ParmetisFiles
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class ParmetisInput:
    """What was written for ParMETIS."""

    directory: Path  # directory of the files, in which ParMETIS is to be run
    graph_name: str  # what its programs are given as the name of the graph
    num_nodes: int  # what the stats file says: edges are those that are left
    num_edges: int
    num_node_weights: int
    num_self_loops: int  # edges in the file of removed edges
    num_repeats: int


def write_parmetis_files(
    graph: ChunkedGraph,
    files: ParmetisFiles,
    weights: Sequence[str],
    runner: Runner,
    scratch: Path,
    task_memory: int | None = None,
) -> ParmetisInput:
    """Write nodes, edges, removed edges, schema and, last, stats.

    `scratch` is an empty directory for temporary files: the text, and at most 16 bytes per edge (28 for 2^31 nodes).
    """
    schema, task_memory = graph.schema, task_memory or runner.resources.task_memory
    check_weights(schema, weights)
    nodes = write_nodes(graph, weights, runner, scratch, task_memory)
    kept, removed, counts = write_edges(graph, runner, scratch, task_memory)
    pieces = ((files.nodes, nodes), (files.edges, kept), (files.removed_edges, removed))
    units = [(temporary_path(path), of_file) for path, of_file in pieces]
    nbytes = [sum(os.path.getsize(piece) for piece in of_file) for _, of_file in units]
    try:
        runner.run(Pass("join-text", join_text, units, None, nbytes))
        for path, _ in pieces:
            publish(path)
    except BaseException:
        for path, _ in pieces:
            Path(temporary_path(path)).unlink(missing_ok=True)
        raise
    num_weights = len(weighted_types(schema)) + len(weights)
    write_json(files.schema, id_ranges(schema))
    write_bytes(files.stats, f"{schema.num_nodes} {counts.num_kept} {num_weights}\n".encode())
    found = schema.num_nodes, counts.num_kept, num_weights, counts.num_self_loops, counts.num_repeats
    return ParmetisInput(files.directory, files.graph, *found)


def join_text(unit: tuple[str, Sequence[str]], _: None) -> None:
    """Write pieces one after the other into a file."""
    path, pieces = unit
    with attach_path_to_error(path), open(path, "wb") as target:
        for piece in pieces:
            with open(piece, "rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)


def id_ranges(schema: GraphSchema) -> dict[str, dict[str, list[int]]]:
    """Return the ranges of homogeneous IDs of all types, in the form of the schema files of DGL's tools before 1.0.

    Edge types have their canonical names, from which their ends can be told; those tools take any names.
    """
    ranges: dict[str, dict[str, list[int]]] = {}
    for key, types in (("nid", schema.node_types), ("eid", schema.edge_types)):
        ranges[key], start = {}, 0
        for of_type in types:
            ranges[key][of_type.name] = [start, start + of_type.num_rows]
            start += of_type.num_rows
    return ranges


def claim_files(files: ParmetisFiles, graph: ChunkedGraph, metadata: Location, overwrite: bool) -> None:
    """Make the directory, and take away an earlier stats file, so that nothing looks whole until it is."""
    inputs = {to_path(file.path).resolve() for file in graph.files} | {metadata.resolve()}
    for path in files.all:
        if path.resolve() in inputs:
            raise OutputExistsError("this file belongs to the graph", file=str(path), hint="give another directory")
        if path.exists() and not overwrite:
            raise OutputExistsError(
                "there is such a file already",
                file=str(path),
                hint="give another directory, or --overwrite to replace it",
            )
    files.directory.mkdir(parents=True, exist_ok=True)
    files.stats.unlink(missing_ok=True)
