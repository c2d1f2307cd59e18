"""Load tables: open and check, read into a database, map, change; rows go to temporary files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.chunked.beside import list_beside
from daskgraphpart.chunked.changes import NO_CHANGES
from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.plugins.tables.changes.change_graph import change_graph
from daskgraphpart.plugins.tables.describe.describe_tables import open_inputs
from daskgraphpart.plugins.tables.describe.split_sets import SetRows
from daskgraphpart.plugins.tables.describe.tables import kinds_of_ids
from daskgraphpart.plugins.tables.load.plain_edges import TableLines, TextEdges, scan_plain_edges
from daskgraphpart.plugins.tables.load.read_table import TableJob
from daskgraphpart.plugins.tables.place.place_graph import read_graph
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
    scan = write_frames(scan, job.directory, job.runner)
    with open_database(job.directory, resources) as connection:
        inputs = open_inputs(job.directory, scan)
        for note in inputs.notes:
            progress.note(note)
        job.on_open(inputs.paths)
        kinds, plain = kinds_of_ids(inputs), scan_plain_edges(inputs, job.runner)
        counts_only = job.counts_only and not scan.changes.read_edges
        of_tables = TableJob(
            inputs, kinds, plain, connection, job.directory, job.beside, resources.memory, progress, counts_only,
            job.edge_weights,
        )  # fmt: skip
        graph = read_graph(of_tables, scan.name)
    graph = replace(graph, beside=list_beside(job.beside))
    return graph if scan.changes == NO_CHANGES else change_graph(graph, scan.changes, job)
