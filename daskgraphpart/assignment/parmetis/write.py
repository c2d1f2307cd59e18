"""Write a graph as ParMETIS' programs read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.assignment.parmetis.repeated_edges import RepeatConfig, edge_units, mark_repeated_edges
from daskgraphpart.assignment.parmetis.write_edges import write_edges
from daskgraphpart.assignment.parmetis.write_nodes import check_weights, weighted_types, write_nodes
from daskgraphpart.chunked.edge_blocks import edge_blocks
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.storage.atomic import publish, temporary_path, write_bytes, write_json
from daskgraphpart.storage.paths import to_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.assignment.parmetis.names import ParmetisFiles
    from daskgraphpart.assignment.parmetis.sizes import ParmetisSizes
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class ParmetisInput:
    """What was written for ParMETIS.

    Parameters
    ----------
    directory : Path
        Directory of the files, in which ParMETIS is to be run.
    graph_name : str
        What its programs are given as the name of the graph.
    num_nodes, num_edges, num_node_weights : int
        What the stats file says: edges are those that are left.
    num_self_loops, num_repeats : int
        Edges in the file of removed edges.
    """

    directory: Path
    graph_name: str
    num_nodes: int
    num_edges: int
    num_node_weights: int
    num_self_loops: int
    num_repeats: int


def write_parmetis_files(
    graph: ChunkedGraph,
    files: ParmetisFiles,
    weights: Sequence[str],
    sizes: ParmetisSizes,
    runner: Runner,
    scratch: Path,
) -> ParmetisInput:
    """Write nodes, edges, removed edges, schema and, last, stats.

    Parameters
    ----------
    graph : ChunkedGraph
        The graph.
    files : ParmetisFiles
        Where it goes; the directory exists.
    weights : sequence of str
        Node data that become node weights, after those of the node types.
    sizes : ParmetisSizes
        Bites of the passes.
    runner : Runner
        What does the work.
    scratch : Path
        An empty directory for temporary files, at most 16 bytes per edge (28 if there are 2^31 nodes or more).

    Returns
    -------
    ParmetisInput
    """
    schema = graph.schema
    check_weights(schema, weights)
    try:
        write_nodes(graph, weights, sizes.interval_rows, files, runner)
        blocks = edge_blocks(graph, max(1, sizes.edge_block_rows), max(1, sizes.csv_block_bytes), runner)
        units = edge_units(schema, blocks)
        repeats = RepeatConfig(schema, str(scratch), max(1, -(-schema.num_edges // sizes.bucket_pairs)))
        mark_repeated_edges(units, repeats, runner)
        counts = write_edges(units, repeats, files, runner)
        for path in (files.nodes, files.edges, files.removed_edges):
            publish(path)
    except BaseException:
        for path in files.all:
            Path(temporary_path(path)).unlink(missing_ok=True)
        raise
    num_weights = len(weighted_types(schema)) + len(weights)
    write_json(files.schema, id_ranges(schema))
    write_bytes(files.stats, f"{schema.num_nodes} {counts.num_kept} {num_weights}\n".encode())
    found = schema.num_nodes, counts.num_kept, num_weights, counts.num_self_loops, counts.num_repeats
    return ParmetisInput(files.directory, files.graph, *found)


def id_ranges(schema: GraphSchema) -> dict[str, dict[str, list[int]]]:
    """Ranges of homogeneous IDs of all types, in the form of the schema files of DGL's tools before 1.0.

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
    """Make the directory, and take away an earlier stats file, so that nothing looks whole until it is.

    Raises
    ------
    OutputExistsError
        If a file is there already and may not be replaced, or belongs to the graph.
    """
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
