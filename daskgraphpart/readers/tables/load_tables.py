"""Tables become a graph in three steps: describe, load, place; changes that read edges follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.graph.companion_files import list_companions
from daskgraphpart.graph.transforms.changes import NO_CHANGES
from daskgraphpart.readers.database import open_database
from daskgraphpart.readers.tables.changes.change_graph import change_graph
from daskgraphpart.readers.tables.describe.describe_tables import check_memory, describe_tables
from daskgraphpart.readers.tables.describe.description import kinds_of_ids
from daskgraphpart.readers.tables.describe.earlier_graph import check_old_ids
from daskgraphpart.readers.tables.describe.split_sets import SplitRows
from daskgraphpart.readers.tables.load.feature_file import StagedRows
from daskgraphpart.readers.tables.load.load_rows import load_rows
from daskgraphpart.readers.tables.load.loaded_tables import Load
from daskgraphpart.readers.tables.load.plain_edges import TableLines, TextEdges, scan_plain_edges
from daskgraphpart.readers.tables.place.place_graph import place_graph
from daskgraphpart.readers.tables.stage_frames import write_frames

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import ScanJob
    from daskgraphpart.readers.tables.table_scan import TableScan

SOURCE_TYPES = (SplitRows, StagedRows, TextEdges, TableLines)
"""Classes of sources that only tables have."""


def load_tables(scan: TableScan, job: ScanJob) -> Graph:
    """Read tables; ID maps and categories go beside the graph."""
    resources, progress = job.runner.resources.limited(SMALLEST_DATABASE_MEMORY), job.runner.progress
    scan = write_frames(scan, job)
    with open_database(job.directory, resources) as connection, job.runner.on_this_machine() as runner:
        described = describe_tables(job.directory, scan)
        check_memory(described, resources.memory)
        for note in described.notes:
            progress.note(note)
        job.on_open(described.paths)
        kinds = kinds_of_ids(described)
        check_old_ids(described.old_ids, kinds)
        counts_only = job.counts_only and not scan.changes.read_edges
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
        load_rows(load)
        graph = place_graph(load, scan.name, job, resources.memory, counts_only=counts_only)
    graph = replace(graph, companions=list_companions(job.companions))
    return graph if scan.changes == NO_CHANGES else change_graph(graph, scan.changes, job)
