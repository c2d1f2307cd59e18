"""Tables become a graph in three steps: describe, load, place; changes that read edges follow.

Memory and threads do not matter: tables keep the order of files and rows, and every query states its order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.errors import GraphPartError, collect_fault, raise_together
from daskgraphpart.graph.companion_files import list_companions
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.graph.rows import EdgeEnds
from daskgraphpart.graph.transforms.changes import NO_CHANGES
from daskgraphpart.readers.database import open_database, run
from daskgraphpart.readers.tables.describe.describe_tables import check_memory, describe_tables
from daskgraphpart.readers.tables.describe.description import kinds_of_ids
from daskgraphpart.readers.tables.describe.earlier_graph import check_old_ids
from daskgraphpart.readers.tables.describe.split_sets import SplitRows, with_masks
from daskgraphpart.readers.tables.load.feature_file import StagedRows
from daskgraphpart.readers.tables.load.load_rows import load_rows
from daskgraphpart.readers.tables.load.loaded_tables import Load
from daskgraphpart.readers.tables.load.plain_edges import TableLines, TextEdges, scan_plain_edges
from daskgraphpart.readers.tables.place.node_ids import NumberedTables, count_ids, map_ids
from daskgraphpart.readers.tables.place.place_features import find_bad_weights, place_rows, place_table
from daskgraphpart.readers.tables.place.unknown_nodes import (
    Unknown,
    refuse_lost_edges,
    refuse_strangers,
    resolve_unknown,
    warn_unknown_ids,
)
from daskgraphpart.readers.tables.stage_frames import write_frames

if TYPE_CHECKING:
    from daskgraphpart.graph.scan_job import ScanJob
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.readers.tables.read_options import ReadOptions, Tables
    from daskgraphpart.source import Source

SOURCE_TYPES = (SplitRows, StagedRows, TextEdges, TableLines)
"""Classes of sources that only tables have."""


def load_tables(name: str, tables: Tables, options: ReadOptions, changes: GraphChanges, job: ScanJob) -> Graph:
    """Read tables; ID maps and categories go beside the graph."""
    resources, progress = job.runner.resources.limited(SMALLEST_DATABASE_MEMORY), job.runner.progress
    tables = write_frames(tables, options, job)
    with open_database(job.directory, resources) as connection, job.runner.on_this_machine() as runner:
        described = describe_tables(job.directory, tables, options, changes)
        check_memory(described, resources.memory)
        for note in described.notes:
            progress.note(note)
        job.on_open(described.paths)
        kinds = kinds_of_ids(described)
        check_old_ids(described.old_ids, kinds)
        counts_only = job.counts_only and not changes.read_edges
        load = Load(
            described,
            kinds,
            scan_plain_edges(described, runner),
            connection,
            progress,
            job.directory,
            resources.memory,
            counts_only=counts_only and not job.edge_weights,
        )
        run(connection, "SET preserve_insertion_order = false")  # else inserted rows would be copied once more
        load_rows(load)
        graph = _place_graph(load, name, job, resources.memory, counts_only=counts_only)
    graph = replace(graph, companions=list_companions(job.companions))
    if changes == NO_CHANGES:
        return graph
    from daskgraphpart.graph.changed_scan import change_graph  # for few jobs

    return change_graph(graph, changes, job)


def _place_graph(load: Load, name: str, job: ScanJob, memory: int, *, counts_only: bool) -> Graph:
    """Map IDs, write their maps, and bring features into order; rows then lie in temporary files."""
    described, progress = load.described, load.progress
    is_mapped, steps = described.options.map_ids, len(load.kinds) + len(described.etypes)
    progress.begin("map-ids" if is_mapped else "stage-edges", steps, steps)
    unknown, faults = dict[str, Unknown](), list[GraphPartError]()
    with_list = [ntype for ntype in load.kinds if described.lists(ntype)]
    for ntype in with_list if described.options.unknown_nodes == "drop" else ():
        with collect_fault(faults):
            refuse_strangers(load, ntype)
    raise_together(faults)
    for ntype in with_list:
        with collect_fault(faults):
            unknown[ntype] = resolve_unknown(load, ntype)
    with collect_fault(faults):
        refuse_lost_edges(load)
    raise_together([*faults, *find_bad_weights(load, job.edge_weights)])
    num_nodes = map_ids(load, job.companions) if is_mapped else count_ids(load)
    numbered = NumberedTables(load, num_nodes, job, memory, counts_only)
    data: dict[str, dict[str, Source]] = {of_type: {} for of_type in (*num_nodes, *described.etypes)}
    for table in described.tables:
        data[table.of_type] |= place_table(numbered, table)
    for of_type, features in described.rows.items():
        data[of_type] |= place_rows(numbered, of_type, features)
    edges = {}
    for table in described.of_edges:
        plain = load.plain.get(table.name)
        ends = EdgeEnds(numbered.new_ids(table, 0), numbered.new_ids(table, 1)) if plain is None else plain.source
        edges[table.of_type] = ends
        progress.advance(1)
    progress.end()
    for ntype, count in () if counts_only else unknown.items():
        warn_unknown_ids(numbered, ntype, count)
    return graph_of(name, num_nodes, edges, {of_type: with_masks(features) for of_type, features in data.items()})
