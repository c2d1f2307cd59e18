"""Compute a report: headers of all parts, then a pass over edges and HALO nodes, and one over labels and masks.

What the client holds grows with the square of the number of parts (the edge matrix), not with nodes or edges.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.layouts.manifest import find_manifest, read_manifest
from daskgraphpart.reporting import columns as columns_pass
from daskgraphpart.reporting.columns import (
    Column,
    ColumnCounts,
    column_units,
    find_columns,
    report_columns,
)
from daskgraphpart.reporting.edges import DEGREE_BINS, EdgeUnit, report_edges
from daskgraphpart.reporting.figures import Labels
from daskgraphpart.reporting.report import Report
from daskgraphpart.storage.files import file_size, file_sizes_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region

    class OpenedPart(Protocol):
        """A part: where its files are, and their headers."""

        @property
        def graph_path(self) -> Location:
            """Graph file."""

        @property
        def node_feats_path(self) -> Location:
            """File of node data."""

        @property
        def edge_feats_path(self) -> Location:
            """File of edge data."""

        @property
        def graph(self) -> GraphFile:
            """Local graph."""

        @property
        def node_regions(self) -> Mapping[str, Mapping[str, Region]]:
            """Node data by type and name."""


BYTES_OF_BLOCKS = 12 << 20
"""What a task holds beside its counters: a piece of edges with their types, or a block of HALO nodes."""


def report_parts(
    path: Location,
    config: PartitionConfig,
    parts: Sequence[OpenedPart],
    *,
    labels: Iterable[str] | None = None,
    resources: Resources | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compute the report of partitions, in their order; see `PartitionedGraph.report`.

    Labels with more classes than `MAX_CLASSES` are left out, with a note.
    """
    resources = (resources or detect_resources()).limited(SMALLEST_TASK_MEMORY)
    units = _edge_units(parts, max(1, (resources.task_memory - BYTES_OF_BLOCKS) // 8))
    regions = [part.node_regions for part in parts]
    columns = find_columns(regions, config.book, labels)
    rows = column_units(columns, regions, config.book)
    sizes = _file_sizes(parts)
    with open_runner(resources, progress) as runner:
        found = _count_edges(units, config.book, runner)
        counted = runner.run(Pass("report-columns", report_columns, rows, None, [unit.region.nbytes for unit in rows]))
    of_labels, masks, notes = _gather_columns(columns, counted, config.num_parts)
    return Report(
        config.graph_name, config.halo_hops, config.book.ntypes, config.book.etypes,
        labels=of_labels, masks=masks, file_sizes=sizes, notes=notes, about=describe_partitions(path, config), **found,
    )  # fmt: skip


def describe_partitions(path: Location, config: PartitionConfig) -> dict[str, str]:
    """Describe where partitions are, and how and by what they were made, as far as their files say it."""
    about = {"path": str(path), "method": config.part_method}
    manifest_path = find_manifest(path.parent, config.graph_name)
    if manifest_path is not None:
        content = read_manifest(manifest_path).content
        formats = content.get("graph_formats")
        about["method"] = str(content.get("method", config.part_method))
        about["options"] = "; ".join(
            (
                f"formats {', '.join(map(str, formats)) if isinstance(formats, list) else formats}",
                f"{config.halo_hops} hop{'s' if config.halo_hops != 1 else ''} of HALO nodes",
                "out edges" if content.get("out_edges") else "no out edges",
            )
        )
    return {**about, "report": f"{datetime.now(tz=UTC).date()}, daskgraphpart {version('daskgraphpart')}"}


def _edge_units(parts: Sequence[OpenedPart], range_nodes: int) -> list[EdgeUnit]:
    """Cut the local nodes of each part into ranges whose counters fit into memory."""
    units = []
    for number, part in enumerate(parts):
        path, graph = str(part.graph_path), part.graph
        # a part without nodes is checked as well
        firsts = range(0, max(1, graph.num_nodes), range_nodes)
        units += [EdgeUnit(number, path, graph, i, min(i + range_nodes, graph.num_nodes)) for i in firsts]
    return units


def _count_edges(units: Sequence[EdgeUnit], book: PartitionBook, runner: Runner) -> dict[str, np.ndarray]:
    """Run the pass and add up what the units of each part have counted."""
    num_parts, owned = book.num_parts, book.edge_counts
    found = {
        "inner_nodes": book.node_counts,
        "halo_nodes": np.zeros((num_parts, len(book.ntypes)), np.int64),
        "stored_halo_nodes": np.zeros((num_parts, len(book.ntypes)), np.int64),
        "owned_edges": owned,
        "cut_edges": np.zeros((num_parts, len(book.etypes)), np.int64),
        "edge_matrix": np.zeros((num_parts, num_parts), np.int64),
        "in_degrees": np.zeros((num_parts, DEGREE_BINS), np.int64),
        "max_in_degrees": np.zeros(num_parts, np.int64),
    }
    sizes = [17 * int(owned[unit.part].sum()) for unit in units]
    for counts in runner.run(Pass("report-edges", report_edges, units, book, sizes)):
        part = counts.part
        found["cut_edges"][part] += counts.cut
        found["edge_matrix"][:, part] += counts.owners
        found["halo_nodes"][part] += counts.halo
        found["stored_halo_nodes"][part] += counts.stored_halo
        found["in_degrees"][part] += counts.in_degrees
        found["max_in_degrees"][part] = max(found["max_in_degrees"][part], counts.max_in_degree)
    own = np.arange(num_parts)
    found["edge_matrix"][own, own] = (owned - found["cut_edges"]).sum(axis=1)
    used = int(np.flatnonzero(found["in_degrees"].any(axis=0)).max(initial=0)) + 1
    found["in_degrees"] = found["in_degrees"][:, :used]
    return found


def _gather_columns(
    columns: Sequence[Column], counted: Sequence[ColumnCounts], num_parts: int
) -> tuple[tuple[Labels, ...], dict[str, np.ndarray], tuple[str, ...]]:
    labels, masks, notes = [], {}, []
    for column in columns:
        mine = {counts.part: counts.counts for counts in counted if counts.column == column}
        whole = {part: counts for part, counts in mine.items() if counts is not None}
        values = sorted({value for counts in whole.values() for value in counts})
        if len(whole) < len(mine) or len(values) > columns_pass.MAX_CLASSES:
            notes.append(f"{column.key} has more than {columns_pass.MAX_CLASSES:,} classes and is left out")
            continue
        table = np.zeros((num_parts, len(values)), np.int64)
        for part, counts in whole.items():
            table[part] = [counts.get(value, 0) for value in values]
        if column.is_mask:
            masks[column.key] = table.sum(axis=1)
            continue
        is_class = np.array(values, np.int64) >= 0
        classes = tuple(value for value in values if value >= 0)
        labels.append(Labels(column.key, classes, table[:, is_class], table[:, ~is_class].sum(axis=1)))
    return tuple(labels), masks, tuple(notes)


def _file_sizes(parts: Sequence[OpenedPart]) -> Mapping[str, np.ndarray]:
    """Bytes on disk by name of the file, int64 (parts,) each."""
    shared = Counter(part.graph_path.parent for part in parts)
    found: dict[str, np.ndarray] = {}
    for number, part in enumerate(parts):
        named = [
            ("graph.dgl", part.graph_path),
            ("node_feat.dgl", part.node_feats_path),
            ("edge_feat.dgl", part.edge_feats_path),
        ]
        directory = part.graph_path.parent
        if shared[directory] == 1 and {path.parent for _, path in named} == {directory}:
            sizes = file_sizes_in(directory)
        else:
            sizes = {name: file_size(path) for name, path in named}
        for name, size in sizes.items():
            found.setdefault(name, np.zeros(len(parts), np.int64))[number] += size
    return dict(sorted(found.items()))
