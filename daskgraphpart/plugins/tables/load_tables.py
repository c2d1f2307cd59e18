"""Tables become a graph in three steps: describe, load, place; changes that read edges follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.chunked.beside import list_beside
from daskgraphpart.chunked.changes import NO_CHANGES
from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.plugins.tables.changes.change_graph import change_graph
from daskgraphpart.plugins.tables.describe.describe_tables import describe_tables
from daskgraphpart.plugins.tables.describe.description import kinds_of_ids
from daskgraphpart.plugins.tables.describe.earlier_graph import check_old_ids
from daskgraphpart.plugins.tables.describe.split_sets import SetRows
from daskgraphpart.plugins.tables.load.load_rows import load_rows
from daskgraphpart.plugins.tables.load.loaded_tables import Load
from daskgraphpart.plugins.tables.load.plain_edges import TableLines, TextEdges, scan_plain_edges
from daskgraphpart.plugins.tables.place.place_graph import place_graph
from daskgraphpart.plugins.tables.stage_frames import write_frames
from daskgraphpart.sources.database import open_database

if TYPE_CHECKING:
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.chunked.scan import ScanJob
    from daskgraphpart.plugins.tables.table_scan import TableScan

SOURCE_TYPES = (SetRows, TextEdges, TableLines)
"""Classes of sources that only tables have."""


def load_tables(scan: TableScan, job: ScanJob) -> Graph:
    """Read tables; ID maps and categories go beside the graph."""
    resources, progress = job.runner.resources.limited(SMALLEST_DATABASE_MEMORY), job.runner.progress
    scan = write_frames(scan, job)
    with open_database(job.directory, resources) as connection, job.runner.on_this_machine() as runner:
        described = describe_tables(job.directory, scan)
        for note in described.notes:
            progress.note(note)
        job.on_open(described.paths)
        kinds = kinds_of_ids(described)
        check_old_ids(described.old_ids, kinds)
        load = Load(described, kinds, scan_plain_edges(described, runner), connection, progress)
        load_rows(load)
        counts_only = job.counts_only and not scan.changes.read_edges
        graph = place_graph(load, scan.name, job, resources.memory, counts_only=counts_only)
    graph = replace(graph, beside=list_beside(job.beside))
    return graph if scan.changes == NO_CHANGES else change_graph(graph, scan.changes, job)
