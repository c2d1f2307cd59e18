"""Pass `build-graph`: the edges of each part's graph, by local ID.

A unit is a segment of a part's edges: slices of runs for edges it owns, a window of new IDs for the others. File sizes
are known, so segments go in any order. COO is a straight copy; for CSR and CSC, edges are grouped by bucket of rows for
`compress-graph`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from daskgraphpart.dispatching.edge_runs import DESTINATION, ROW, SOURCE, Slices, read_window, reads_of, run_column
from daskgraphpart.dispatching.make_files import write_rows
from daskgraphpart.dispatching.part_graph import BuildConfig, PartGraph, local_ids_of
from daskgraphpart.kernels.compress import count_keys, scatter_by_bucket
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.region import save_npy

EDGE_NBYTES = 33
MAX_BUCKETS = 1024  # of rows
LOCAL_GRAPH = ("nodes/", "edges/", "coo/", "csr/", "csc/")
"""How names of arrays begin that are by local ID."""
BY_EDGE_ID = ("csc/id", "csc/type", "csc/type_id")
"""Arrays that are made of the new IDs of edges."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Consecutive local edges of a part: slices of runs or, for edges it does not own, a window of extra runs."""

    graph: PartGraph
    number: int
    first_local_eid: int
    num_edges: int
    slices: Slices
    window: tuple[int, int] | None = None  # range of new edge IDs


def build_graph(segment: Segment, config: BuildConfig) -> dict[str, np.ndarray]:
    """Write one segment; return the edges in each bucket of rows for ``"csr"`` and ``"csc"``."""
    graph, window, is_owned = segment.graph, segment.window, segment.window is None
    read = _read_owned(segment, config) if window is None else read_window(segment.slices, window, config.graph.work)
    src, dst, new_eids = read
    if not any(name.startswith(LOCAL_GRAPH) for name in graph.arrays):
        return {}
    local_src, local_dst = local_ids_of(graph, config.graph, src, dst)

    def write(name: str, values: np.ndarray) -> None:
        write_rows(graph.arrays.get(name, ()), values, segment.first_local_eid)

    write("coo/row", local_src)
    write("coo/col", local_dst)
    write("edges/id", config.new_eids.stored(new_eids))
    if not is_owned and not graph.arrays.keys().isdisjoint(BY_EDGE_ID):
        save_npy(config.graph.work.file("local", graph.part, segment.number, "ids"), new_eids)
    if "edges/inner" in graph.arrays:
        write("edges/inner", np.full(new_eids.size, is_owned, np.uint8))
    if "edges/type" in graph.arrays:
        write("edges/type", config.new_eids.types_of(new_eids))
    by_row = {"csr": (local_src, local_dst), "csc": (local_dst, local_src)}
    wanted = [name for name in by_row if f"{name}/indptr" in graph.arrays]
    if not wanted:
        return {}
    return {name: group_by_row(graph, segment.number, config, name, *by_row[name]) for name in wanted}


def group_by_row(
    graph: PartGraph, segment: int, config: BuildConfig, name: str, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Write (row, column, number in the segment) of edges, grouped by bucket of the row."""
    bits = bucket_bits(graph, config.graph.max_edges)
    counts = np.zeros(max(1, -(-graph.num_nodes >> bits)), np.int64)
    count_keys(rows, 0, bits, counts)
    edges = np.empty((rows.size, 3), config.graph.run_dtype)
    scatter_by_bucket(rows, columns, bits, group_starts(counts)[:-1], edges)
    save_npy(config.graph.work.file("local", graph.part, segment, name), edges)
    return counts


def bucket_bits(graph: PartGraph, max_edges: int) -> int:
    """Logarithm of rows per bucket: enough buckets that ranges fit into memory, few for small parts."""
    wanted = min(MAX_BUCKETS, 32 * -(-max(graph.num_edges, graph.num_nodes) // max_edges))
    return (max(1, graph.num_nodes) // wanted).bit_length() if wanted > 32 else graph.num_nodes.bit_length()


def _read_owned(segment: Segment, config: BuildConfig) -> tuple[np.ndarray, ...]:
    """Read new IDs of sources, destinations and edges; write what goes by type: both ends, original IDs."""
    graph, slices, done = segment.graph, segment.slices, 0
    first_new_eid = graph.first_new_eid + segment.first_local_eid
    columns = [np.empty(segment.num_edges, config.graph.run_dtype) for _ in range(3)]
    for run, run_rows, start, count in reads_of(slices):
        for column, values in zip((SOURCE, DESTINATION, ROW), columns, strict=True):
            region = run_column(config.graph.work.file("runs", run), config.graph.run_dtype, run_rows, column)
            region.read_into(values[done : done + count], start)
        done += count
    src, dst, rows = columns
    orig_eids, types = rows + np.repeat(slices["first_row"], slices["count"]), slices["etype_id"]
    type_ids, first = np.unique(types, return_index=True)  # ascending
    bounds = np.append(group_starts(slices["count"])[first], segment.num_edges).tolist()
    for type_id, (start, stop) in zip(type_ids.tolist(), pairwise(bounds), strict=True):
        row, etype = first_new_eid + start - config.new_eids.start(graph.part, type_id), config.book.etypes[type_id]
        write_rows(graph.arrays.get(f"orig_eids/{etype}", ()), orig_eids[start:stop], row)
        for name, nids in (("edge_src", src), ("edge_dst", dst)):
            if regions := graph.arrays.get(f"{name}/{etype}"):
                write_rows(regions, config.book.map_to_per_ntype(nids[start:stop])[1], row)
    return src, dst, np.arange(first_new_eid, first_new_eid + done)
