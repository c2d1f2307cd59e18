"""Pass `build-graph`: the edges of each part's graph, by local ID.

A unit is a segment of one part's edges: slices of runs for the edges it owns, a window of new IDs for those it holds
beside them. The sizes of all files are known, so segments are written in any order. COO is a straight copy; for CSR and
CSC the edges are grouped by bucket of their row and left to `compress-graph`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.collect_extra import EXTRA_DTYPE, eid_columns, window_rows
from daskgraphpart.dispatching.local_graph import PartGraph, local_ids_of
from daskgraphpart.dispatching.targets import write_rows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.compress import count_keys, scatter_by_bucket
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.runs import DESTINATION, ROW, SOURCE, run_column, write_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.dispatching.edge_runs import Slices
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.storage.region import Region

EDGE_NBYTES = 33


@dataclass(frozen=True, slots=True, eq=False)
class OrigWrite:
    """Edges ``[start, stop)`` of a segment, of one type, whose original IDs go to `regions` from row `row` on."""

    start: int
    stop: int
    row: int
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Consecutive local edges of one part.

    `slices` say where they are: in the runs, or in the extra runs if there is a `window` of new edge IDs, of edges that
    the part does not own. `buckets` are the rows per bucket of ``"csr"`` and ``"csc"``.
    """

    graph: PartGraph
    number: int
    first_local_eid: int
    num_edges: int
    slices: Slices
    window: tuple[int, int] | None
    buckets: Mapping[str, int]
    orig_writes: tuple[OrigWrite, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BuildConfig:
    """Files, dtype of the runs, and the ends of all edge type ranges in new-ID order with the number of types."""

    work: Workspace
    run_dtype: np.dtype
    type_ends: np.ndarray
    num_types: int


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges of a segment: new IDs of both ends, and new edge IDs."""

    src: np.ndarray
    dst: np.ndarray
    new_eids: np.ndarray


def build_graph_pass(
    segments: Sequence[Segment], config: BuildConfig
) -> Pass[Segment, BuildConfig, dict[str, np.ndarray]]:
    """Plan the pass; a result holds for ``"csr"`` and ``"csc"`` the edges in each bucket of rows."""
    return Pass("build-graph", build_graph, segments, config, [s.num_edges * EDGE_NBYTES for s in segments])


def build_graph(segment: Segment, config: BuildConfig) -> dict[str, np.ndarray]:
    """Write one segment."""
    edges = _read_owned(segment, config) if segment.window is None else _read_extra(segment, config)
    local_src, local_dst = local_ids_of(segment.graph, config.work, edges.src, edges.dst)
    _write_edges(segment, config, edges.new_eids, (local_src, local_dst))
    by_row = {"csr": (local_src, local_dst), "csc": (local_dst, local_src)}
    return {name: _group_by_row(segment, config, name, *by_row[name]) for name in segment.buckets}


def _write_edges(
    segment: Segment, config: BuildConfig, new_eids: np.ndarray, ends: tuple[np.ndarray, np.ndarray]
) -> None:
    arrays, first = segment.graph.arrays, segment.first_local_eid
    for name, values in (("coo/row", ends[0]), ("coo/col", ends[1]), ("edges/id", new_eids)):
        write_rows(arrays.get(name, ()), values, first)
    if "edges/inner" in arrays:
        write_rows(arrays["edges/inner"], np.full(new_eids.size, segment.window is None, np.uint8), first)
    if "edges/type" in arrays:
        types = np.searchsorted(config.type_ends, new_eids, side="right") % config.num_types
        write_rows(arrays["edges/type"], types, first)


def _group_by_row(
    segment: Segment, config: BuildConfig, name: str, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Write (row, column, local edge ID) grouped by bucket of the row."""
    width = segment.buckets[name]
    counts = np.zeros(max(1, -(-segment.graph.num_nodes // width)), np.int64)
    count_keys(rows, 0, width, counts)
    eids = np.arange(segment.first_local_eid, segment.first_local_eid + rows.size)
    run = np.empty((3, rows.size), np.int64)
    scatter_by_bucket(rows, columns, eids, width, group_starts(counts)[:-1], run)
    write_run(config.work.local(segment.graph.part, segment.number, name), run)
    return counts


def _read_owned(segment: Segment, config: BuildConfig) -> Edges:
    src, dst = (np.empty(segment.num_edges, config.run_dtype) for _ in range(2))
    rows = np.empty(segment.num_edges, config.run_dtype)
    slices, done = segment.slices, 0
    for run, run_rows, start, count in slices.entries():
        path = config.work.run(run)
        for column, values in ((SOURCE, src), (DESTINATION, dst), (ROW, rows)):
            run_column(path, config.run_dtype, run_rows, column).read_into(values[done : done + count], start)
        done += count
    orig_eids = rows + np.repeat(slices.first_rows, slices.counts)
    for write in segment.orig_writes:
        write_rows(write.regions, orig_eids[write.start : write.stop], write.row)
    first_new_eid = segment.graph.first_new_eid + segment.first_local_eid
    return Edges(src, dst, np.arange(first_new_eid, first_new_eid + done))


def _read_extra(segment: Segment, config: BuildConfig) -> Edges:
    assert segment.window is not None, "only windows hold extra edges"
    slices = segment.slices
    columns: list[list[np.ndarray]] = [[], [], []]
    found = window_rows(eid_columns(slices, config.work), *segment.window)
    for (index, rows, first, _), (start, stop) in zip(slices.entries(), found, strict=True):
        for column, values in enumerate(columns):
            region = run_column(config.work.extra(index), EXTRA_DTYPE, rows, column)
            values.append(region.read(first + start, first + stop))
    src, dst, eids = (np.concatenate(values) for values in columns)
    order = np.argsort(eids)
    return Edges(src[order], dst[order], eids[order])
