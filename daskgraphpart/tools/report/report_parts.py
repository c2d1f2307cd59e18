"""Compute a report: headers of all parts, a pass over edges and halo nodes, and one over labels and masks.

The pass `report-edges` streams a part's local edges once per range of local nodes whose counters fit into a task's
memory: once, except for huge parts. One counter per node suffices: for own nodes the in-degree, for halo nodes the
own edges that start there (0 means it belongs to another hop or an out edge). Owners of cut edges follow from the
counters and the halo nodes' new IDs.

The pass `report-columns` counts labels, found by name or given by the user, and masks, by DGL's names. The client's
memory grows with the number of parts only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, is_on_this_machine
from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.kernels.count_ends import count_ends
from daskgraphpart.layouts.manifest_reader import find_manifest, read_manifest
from daskgraphpart.options import words_of
from daskgraphpart.schema import LABEL_NAMES, MASK_NAME
from daskgraphpart.storage.files import file_sizes_in
from daskgraphpart.storage.paths import Location, is_remote
from daskgraphpart.tools.report.fetching import Sampling, estimate_fetching, nbytes_to_sort
from daskgraphpart.tools.report.figures import MAX_MATRIX, Labels
from daskgraphpart.tools.report.report import Report
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.stored_part import StoredPart
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions
    from daskgraphpart.storage.region import Region
    from daskgraphpart.tools.report.figures import NodeRegions


BYTES_OF_BLOCKS = 12 << 20
"""What a task holds beside its counters: a piece of edges with their types, or a block of halo nodes."""


def report_parts(
    partitions: StoredPartitions,
    labels: str | Iterable[str] | None,
    sampling: Sampling,
    resources: Resources,
    progress: Progress | None,
) -> Report:
    """Compute the report of partitions from the headers of all parts; see `PartitionedGraph.report`.

    Leaves out labels with more classes than `MAX_CLASSES`, with a note.
    """
    path, config, parts = partitions.config, partitions.content, partitions.parts
    graphs, node_regions = [part.graph for part in parts], [part.node_rows.features for part in parts]
    book, resources = config.book, resources.limited(SMALLEST_TASK_MEMORY)
    ranges = _ranges_of_nodes(graphs, max(1, (resources.task_memory - BYTES_OF_BLOCKS) // 8))
    manifest = find_manifest(path.parent, config.graph_name)
    stated = None if manifest is None else read_manifest(manifest).content
    is_ours = stated is not None
    # workers elsewhere may not see our temporary directory
    room = resources.memory if resources.workspace or is_on_this_machine(resources.cluster) else 0
    # nobody has to ask, unless nothing can be sampled (in a store), there is nothing to fetch, or it takes long
    is_sampled = sampling.is_asked or (
        not is_remote(path)
        and 1 < config.num_parts <= MAX_MATRIX
        and bool(book.edge_counts.any())
        and nbytes_to_sort(graphs, book, is_ours=is_ours) <= room
    )
    columns = find_columns(node_regions, book, labels)
    sizes = _file_sizes(parts)
    with open_runner(resources, progress) as runner:
        of_edges = _count_edges(ranges, book, runner)
        units = [Unit(region, region.nbytes) for of_parts in columns.values() for region in of_parts.values()]
        counted = runner.run(Pass("report-columns", report_columns, units, None))
        fetching = None
        if is_sampled:
            wanted = sampling.with_recorded(stated or {})
            fetching = estimate_fetching(wanted, book, graphs, node_regions, runner, is_ours=is_ours)
    of_labels, masks, notes = gather_columns(columns, iter(counted), config.num_parts)
    return Report(
        config.graph_name, config.halo_hops, book.ntypes, book.etypes, inner_nodes=book.node_counts,
        owned_edges=book.edge_counts, labels=of_labels, masks=masks, file_sizes=sizes, notes=notes, sampling=fetching,
        about=_describe(path, config, stated), **of_edges,
    )  # fmt: skip


def _describe(path: Location, config: PartitionConfig, stated: Mapping[str, Any] | None) -> dict[str, str]:
    """Describe where the partitions are and how they were made, as far as the files say."""
    about = {"path": str(path), "method": config.part_method}
    if stated is not None:
        formats, hops = stated.get("graph_formats"), format_number(config.halo_hops, "hop")
        named = ", ".join(map(str, formats)) if isinstance(formats, list) else formats
        out_edges = "out edges" if stated.get("out_edges") else "no out edges"
        about["method"] = str(stated.get("method", config.part_method))
        about["options"] = f"formats {named}; {hops} of halo nodes; {out_edges}"
        if isinstance(stated.get("constraints"), list):
            about["constraints"] = ", ".join(map(str, stated["constraints"]))
        if isinstance(recorded := stated.get("training"), dict):
            about["training"] = ", ".join(f"{name} {value}" for name, value in recorded.items() if value is not None)
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
    sums = {name: np.zeros((book.num_parts, row.size), np.int64) for name, row in counted[0].items()}
    for nodes, counts in zip(ranges, counted, strict=True):
        for name, row in counts.items():
            combine = np.maximum if name == "max_in_degrees" else np.add
            sums[name][nodes.part] = combine(sums[name][nodes.part], row)
    matrix = sums["edge_matrix"].T.copy() if sums["edge_matrix"].size else np.zeros((0, 0), np.int64)
    own = np.arange(len(matrix))
    matrix[own, own] = (book.edge_counts - sums["cut_edges"]).sum(axis=1)[own]
    used = int(np.flatnonzero(sums["in_degrees"].any(axis=0)).max(initial=0)) + 1
    degrees, largest = sums["in_degrees"][:, :used], sums["max_in_degrees"][:, 0]
    return sums | {"edge_matrix": matrix, "in_degrees": degrees, "max_in_degrees": largest}


def _file_sizes(parts: Sequence[StoredPart]) -> Mapping[str, np.ndarray]:
    """Bytes on disk by file name, int64 (parts,) each, of all files beside a part's graph."""
    sizes: dict[str, np.ndarray] = {}
    for part in parts:
        for name, size in file_sizes_in(part.directory).items():
            sizes.setdefault(name, np.zeros(len(parts), np.int64))[part.part_id] = size
    return dict(sorted(sizes.items()))


MAX_CLASSES = 4096
ROWS_PER_READ = 1 << 16
EDGES_PER_PIECE = 1 << 16
DEGREE_BINS = 65
"""Bin 0 is for degree 0, bin b for the degrees from 2 ** (b - 1) to 2 ** b - 1."""

VERIFY = "run `daskgraphpart verify`"


@dataclass(frozen=True, slots=True, eq=False)
class CountUnit:
    """A range of one part's local nodes whose counters fit into memory."""

    part: int
    graph: GraphFile
    first_node: int
    stop_node: int

    @property
    def file(self) -> str:
        """Graph file, for errors."""
        return str(self.graph.node_arrays["_ID"].path)


def report_edges(unit: CountUnit, book: PartitionBook) -> dict[str, np.ndarray]:
    """Count the edges of one unit: a row of each array in `Report`, but edges by owner of the source.

    Memory: 4 bytes per node of the range (8 in parts of 2 ** 32 edges), and 12 MiB for a piece of edges.
    """
    num_inner, num_owned = int(book.node_counts[unit.part].sum()), int(book.edge_counts[unit.part].sum())
    counts = np.zeros(unit.stop_node - unit.first_node, np.uint32 if num_owned < 1 << 32 else np.int64)
    cut = np.zeros(len(book.etypes), np.int64)
    sizes, seen = (num_inner, unit.graph.num_nodes), 0
    type_ends = np.cumsum(book.edge_counts[unit.part])
    for src, dst, eids in unit.graph.edge_pieces(0, num_owned, rows=EDGES_PER_PIECE):
        types = np.searchsorted(type_ends, eids, side="right")
        bad = count_ends(src, dst, types, sizes, unit.first_node, counts, cut)
        if bad >= 0:
            raise LayoutError(
                "the part lacks an end of an edge it owns",
                file=unit.file,
                place=f"local edge {int(eids[bad]):,}",
                expected=f"a source below {sizes[1]:,} and a destination below {sizes[0]:,}",
                found=f"{int(src[bad]):,} and {int(dst[bad]):,}",
                hint=VERIFY,
            )
        seen += src.size
    if seen != num_owned:
        raise LayoutError("own edges are missing", file=unit.file, expected=f"{num_owned:,}", found=f"{seen:,}")
    inner = max(0, min(num_inner, unit.stop_node) - unit.first_node)
    return {"cut_edges": cut, **_degrees(counts[:inner]), **_halo(unit, book, inner, counts[inner:])}


def _degrees(degrees: np.ndarray) -> dict[str, np.ndarray]:
    bins, largest = np.zeros(DEGREE_BINS, np.int64), 0
    for first in range(0, degrees.size, ROWS_PER_READ):
        block = degrees[first : first + ROWS_PER_READ]
        # the exponent of a whole number is its number of bits
        bins += np.bincount(np.frexp(block.astype(np.float64))[1], minlength=DEGREE_BINS)
        largest = max(largest, int(block.max()))
    return {"in_degrees": bins, "max_in_degrees": np.array([largest])}


def _halo(unit: CountUnit, book: PartitionBook, inner: int, uses: np.ndarray) -> dict[str, np.ndarray]:
    """Cut edges by owner, used halo nodes and all halo nodes by type; `uses` is for the range's halo nodes."""
    owners = np.zeros(book.num_parts if book.num_parts <= MAX_MATRIX else 0, np.int64)
    halo, stored = np.zeros((2, len(book.ntypes)), np.int64)
    part_ends = book.node_ranges[:, -1, 1]
    new_nids, local = unit.graph.node_arrays["_ID"], unit.first_node + inner
    for first in range(0, uses.size, ROWS_PER_READ):
        used = uses[first : first + ROWS_PER_READ]
        ids = new_nids.read(local + first, local + first + used.size)
        parts = np.searchsorted(part_ends, ids, side="right")
        bad = np.flatnonzero((ids < 0) | (parts >= book.num_parts) | (parts == unit.part))
        if bad.size:
            raise LayoutError(
                "a halo node belongs to no other part",
                file=unit.file,
                place=f"_ID of local node {local + first + int(bad[0]):,}",
                found=f"{int(ids[bad[0]]):,}",
                hint=VERIFY,
            )
        types, _ = book.map_to_per_ntype(ids)
        stored += np.bincount(types, minlength=stored.size)
        halo += np.bincount(types[used > 0], minlength=halo.size)
        if owners.size:  # sums of whole numbers below 2 ** 53 are exact
            owners += np.bincount(parts, weights=used, minlength=owners.size).astype(np.int64)
    return {"edge_matrix": owners, "halo_nodes": halo, "stored_halo_nodes": stored}


def report_columns(region: Region, _: None) -> dict[int, int] | None:
    """Count the rows of one column in one part by value; None for too many values.

    Holds `ROWS_PER_READ` rows and a counter per class.
    """
    counts: Counter[int] = Counter()
    for _first, rows in region.pieces(ROWS_PER_READ):
        values, times = np.unique(rows, return_counts=True)
        counts.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
        if len(counts) > MAX_CLASSES:
            return None
    return dict(counts)


def find_columns(
    regions: NodeRegions, book: PartitionBook, labels: str | Iterable[str] | None
) -> dict[str, dict[int, Region]]:
    """Find the parts' labels, then masks, by ``<ntype>/<name>`` and part; `labels` name those to take as labels."""
    stored: dict[str, dict[int, Region]] = {}
    of_types = [(part, ntype, of) for part, of_part in enumerate(regions) for ntype, of in of_part.items()]
    for part, ntype, features in of_types:
        for name, region in features.items() if ntype in book.ntypes else ():
            if region.num_rows:  # parts without nodes of the type may hold anything
                stored.setdefault(f"{ntype}/{name}", {})[part] = region
    whole = {key: of_parts for key, of_parts in stored.items() if all(map(_is_whole, of_parts.values()))}
    named = [key for key in whole if key.rpartition("/")[2] in LABEL_NAMES]
    chosen = named if labels is None else words_of(labels)
    for key in (key for key in chosen if key not in whole):
        raise _no_labels(key, stored.get(key), whole)
    columns = {key: whole[key] for key in (*chosen, *filter(_is_mask, whole))}
    for key, of_parts in columns.items():
        counts = book.node_counts[:, book.ntypes.index(key.rpartition("/")[0])]
        for part in np.flatnonzero(counts).tolist():
            if part not in of_parts:
                raise LayoutError(
                    f"part {part} lacks node data that others have",
                    expected=f"{key}, {counts[part]:,} rows",
                    hint="partition the graph again",
                )
    return columns


def _is_whole(region: Region) -> bool:
    """Whether it is one whole number per node."""
    return region.dtype.kind in "iub" and region.row_nbytes == region.dtype.itemsize


def _is_mask(key: str) -> bool:
    """Whether node data have the name of a mask."""
    return MASK_NAME.match(key.rpartition("/")[2]) is not None


def _no_labels(key: str, of_parts: Mapping[int, Region] | None, whole: Iterable[str]) -> OptionError:
    region, expected = next(iter((of_parts or {}).values()), None), ", ".join(whole) or "none"
    shown = key if region is None else f"{key}, {region.dtype.name} of shape {region.shape[1:]}"
    expected = f"one whole number per node: one of {expected}"
    return OptionError("no such labels", option="labels", expected=expected, found=shown)


def gather_columns(
    columns: Mapping[str, Mapping[int, Region]], counted: Iterator[dict[int, int] | None], num_parts: int
) -> tuple[tuple[Labels, ...], dict[str, np.ndarray], tuple[str, ...]]:
    """Return labels, masks and notes from the counts of each column and part."""
    labels, masks, notes = [], {}, []
    for key, of_parts in columns.items():
        by_part = {part: next(counted) for part in of_parts}
        with_column = {part: counts for part, counts in by_part.items() if counts is not None}
        table = pd.DataFrame.from_dict(with_column, orient="index").sort_index(axis=1)
        if len(with_column) < len(by_part) or table.shape[1] > MAX_CLASSES:
            notes.append(f"{key} has more than {MAX_CLASSES:,} classes and is left out")
            continue
        numbers, counts = table.columns.to_numpy(np.int64), table.reindex(range(num_parts)).fillna(0).to_numpy(np.int64)
        if _is_mask(key):
            masks[key] = counts[:, numbers != 0].sum(axis=1)
        else:
            classes, unlabelled = tuple(numbers[numbers >= 0].tolist()), counts[:, numbers < 0].sum(axis=1)
            labels.append(Labels(key, classes, counts[:, numbers >= 0], unlabelled))
    return tuple(labels), masks, tuple(notes)
