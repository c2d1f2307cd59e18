"""Compute a report: headers of all parts, a pass over edges and HALO nodes, and one over labels and masks.

The client's memory grows with the number of parts only.
"""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, detect_resources
from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.layouts.manifest import find_manifest, read_manifest
from daskgraphpart.reporting.fetching import Sampling, estimate_fetching
from daskgraphpart.reporting.passes import CountUnit, find_columns, gather_columns, report_columns, report_edges
from daskgraphpart.reporting.report import Report
from daskgraphpart.storage.files import file_sizes_in
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.reporting.passes import NodeRegions
    from daskgraphpart.storage.paths import Location

BYTES_OF_BLOCKS = 12 << 20
"""What a task holds beside its counters: a piece of edges with their types, or a block of HALO nodes."""


def report_parts(
    path: Location,
    config: PartitionConfig,
    graphs: Sequence[GraphFile],
    node_regions: NodeRegions,
    *,
    labels: Iterable[str] | None = None,
    sampling: Sampling | None = None,
    resources: Resources | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compute the report of partitions from the headers of all parts; see `PartitionedGraph.report`.

    Leaves out labels with more classes than `MAX_CLASSES`, with a note.
    """
    book, resources = config.book, (resources or detect_resources()).limited(SMALLEST_TASK_MEMORY)
    ranges = _ranges_of_nodes(graphs, max(1, (resources.task_memory - BYTES_OF_BLOCKS) // 8))
    columns = find_columns(node_regions, book, labels)
    sizes = _file_sizes(path.parent, config)
    with open_runner(resources, progress) as runner:
        found = _count_edges(ranges, book, runner)
        units = [Unit(region, region.nbytes) for column in columns for region in column.regions.values()]
        counted = runner.run(Pass("report-columns", report_columns, units, None))
        fetching = None
        if sampling is not None:
            is_ours = find_manifest(path.parent, config.graph_name) is not None
            fetching = estimate_fetching(sampling, book, graphs, node_regions, runner, is_ours=is_ours)
    of_labels, masks, notes = gather_columns(columns, iter(counted), config.num_parts)
    return Report(
        config.graph_name, config.halo_hops, book.ntypes, book.etypes, inner_nodes=book.node_counts,
        owned_edges=book.edge_counts, labels=of_labels, masks=masks, file_sizes=sizes, notes=notes, sampling=fetching,
        about=_describe(path, config), **found,
    )  # fmt: skip


def _describe(path: Location, config: PartitionConfig) -> dict[str, str]:
    """Describe where the partitions are and how they were made, as far as the files say."""
    about = {"path": str(path), "method": config.part_method}
    manifest_path = find_manifest(path.parent, config.graph_name)
    if manifest_path is not None:
        content = read_manifest(manifest_path).content
        formats, hops = content.get("graph_formats"), format_number(config.halo_hops, "hop")
        named = ", ".join(map(str, formats)) if isinstance(formats, list) else formats
        out_edges = "out edges" if content.get("out_edges") else "no out edges"
        about["method"] = str(content.get("method", config.part_method))
        about["options"] = f"formats {named}; {hops} of HALO nodes; {out_edges}"
        if isinstance(content.get("constraints"), list):
            about["constraints"] = ", ".join(map(str, content["constraints"]))
    return {**about, "report": f"{datetime.now(tz=UTC).date()}, daskgraphpart {version('daskgraphpart')}"}


def _ranges_of_nodes(graphs: Sequence[GraphFile], range_nodes: int) -> list[CountUnit]:
    """Cut each part's local nodes into ranges whose counters fit into memory."""
    return [
        CountUnit(number, graph, first, min(first + range_nodes, graph.num_nodes))
        for number, graph in enumerate(graphs)
        for first in range(0, max(1, graph.num_nodes), range_nodes)  # check parts without nodes, too
    ]


def _count_edges(ranges: Sequence[CountUnit], book: PartitionBook, runner: Runner) -> dict[str, np.ndarray]:
    """Run the pass and add up the counts of each part's units."""
    units = [Unit(nodes, 17 * int(book.edge_counts[nodes.part].sum())) for nodes in ranges]
    counted = runner.run(Pass("report-edges", report_edges, units, book))
    found = {name: np.zeros((book.num_parts, row.size), np.int64) for name, row in counted[0].items()}
    for nodes, counts in zip(ranges, counted, strict=True):
        for name, row in counts.items():
            combine = np.maximum if name == "max_in_degrees" else np.add
            found[name][nodes.part] = combine(found[name][nodes.part], row)
    matrix = found["edge_matrix"].T.copy() if found["edge_matrix"].size else np.zeros((0, 0), np.int64)
    own = np.arange(len(matrix))
    matrix[own, own] = (book.edge_counts - found["cut_edges"]).sum(axis=1)[own]
    used = int(np.flatnonzero(found["in_degrees"].any(axis=0)).max(initial=0)) + 1
    degrees, largest = found["in_degrees"][:, :used], found["max_in_degrees"][:, 0]
    return found | {"edge_matrix": matrix, "in_degrees": degrees, "max_in_degrees": largest}


def _file_sizes(root: Location, config: PartitionConfig) -> Mapping[str, np.ndarray]:
    """Bytes on disk by file name, int64 (parts,) each, of all files beside a part's graph."""
    found: dict[str, np.ndarray] = {}
    for number, part in enumerate(config.parts):
        for name, size in file_sizes_in((root / part.part_graph).parent).items():
            found.setdefault(name, np.zeros(config.num_parts, np.int64))[number] = size
    return dict(sorted(found.items()))
