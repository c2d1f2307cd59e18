"""Passes `compress-graph` and `place-edges`: CSR and CSC of each part, by counting sorts in memory.

`build-graph` grouped the edges by bucket of rows. A unit takes consecutive buckets, one slice of every segment's run,
and writes its stretch of all arrays. Within a row, edges stay in order of local ID and so of type, on which DGL's
samplers rely. Places of edges by ID are known once all are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.build_graph import bucket_bits
from daskgraphpart.dispatching.edge_runs import SLICE, Slices, cut_slices, places_of
from daskgraphpart.dispatching.make_files import write_rows
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.kernels.compress import count_keys, place_by_key, scatter
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.region import Region, create_npy, npy_region, open_npy

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.part_graph import BuildConfig, GraphConfig, PartGraph
    from daskgraphpart.dispatching.workspace import Workspace


def compress_graphs(
    job: Job, config: BuildConfig, graphs: Sequence[tuple[PartGraph, int, Mapping[str, np.ndarray]]]
) -> None:
    """Write all matrices; each segment has its graph, first local edge ID, and edges in each bucket of rows."""
    by_part: dict[tuple[int, str], list[tuple[PartGraph, int, np.ndarray]]] = {}
    for graph, first_eid, counts in graphs:
        for name, in_buckets in counts.items():
            by_part.setdefault((graph.part, name), []).append((graph, first_eid, in_buckets))
    ranges: list[MatrixRows] = []
    segments: list[SegmentPlaces] = []
    for (_, name), of_part in by_part.items():
        graph, first_eids = of_part[0][0], [first_eid for _, first_eid, _ in of_part]
        in_buckets = np.array([counts for *_, counts in of_part])
        found_ranges = row_ranges(graph, name, in_buckets, first_eids, config.graph.max_edges)
        ranges += found_ranges
        if f"{name}/places" in graph.arrays:
            segments += segment_places(found_ranges)
    rows = [Unit(of, 40 * of.num_edges + 8 * (of.stop_row - of.first_row)) for of in ranges]
    job.runner.run(Pass("compress-graph", compress_graph, rows, config))
    places = [Unit(of, 12 * int(of.slices["count"].sum())) for of in segments]
    job.runner.run(Pass("place-edges", place_edges, places, config.graph))


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRows:
    """Consecutive rows of a part's ``"csr"`` or ``"csc"``, and the sorted position of their first edge.

    `slices` are those of segments' runs; `first_row` is the local ID of the segment's first edge.
    """

    graph: PartGraph
    name: str
    first_row: int
    stop_row: int
    first_edge: int
    num_edges: int
    slices: Slices


def row_ranges(
    graph: PartGraph, name: str, counts: np.ndarray, first_eids: Sequence[int], max_edges: int
) -> list[MatrixRows]:
    """Cut a part's rows into ranges of at most `max_edges` edges or rows, unless one bucket holds more.

    `counts` is int64 (segments, buckets), `first_eids` the local ID of the first edge of each segment.
    """
    bits, per_bucket = bucket_bits(graph, max_edges), counts.sum(axis=0, dtype=np.int64)
    starts = np.cumsum(counts, axis=1) - counts
    edges_before = group_starts(per_bucket)
    ranges, first = [], 0
    while first < per_bucket.size:
        fits = np.searchsorted(edges_before, edges_before[first] + max_edges, side="right") - 1
        stop = int(max(first + 1, min(fits, first + max(1, max_edges >> bits))))
        slices = np.zeros(len(counts), SLICE)
        slices["run"], slices["run_rows"], slices["first_row"] = np.arange(len(counts)), counts.sum(axis=1), first_eids
        slices["start"], slices["count"] = starts[:, first], counts[:, first:stop].sum(axis=1)
        rows = first << bits, min(stop << bits, graph.num_nodes)
        edges = int(edges_before[first]), int(slices["count"].sum())
        ranges.append(MatrixRows(graph, name, *rows, *edges, slices[slices["count"] > 0]))
        first = stop
    return ranges


def compress_graph(unit: MatrixRows, config: BuildConfig) -> None:
    """Sort the edges of one range of rows."""
    prefix, max_edges = f"{unit.name}/", config.graph.max_edges
    arrays = {key.removeprefix(prefix): of for key, of in unit.graph.arrays.items() if key.startswith(prefix)}
    groups, degrees = cut_slices(unit.slices, max_edges), np.zeros(unit.stop_row - unit.first_row, np.int64)
    # one window and group, unless a single bucket is too large: the hub of a power-law graph
    read = lru_cache(maxsize=1)(lambda number: _read(unit, groups[number], config))
    for number in range(len(groups)):
        count_keys(read(number)["rows"], unit.first_row, 0, degrees)
    starts = group_starts(degrees)
    last = unit.stop_row == unit.graph.num_nodes  # indptr has one entry more than there are rows
    write_rows(arrays.pop("indptr"), unit.first_edge + (starts if last else starts[:-1]), unit.first_row)
    with _places_file(unit, arrays.pop("places", ()), config.graph.work) as places_file:
        for first in range(0, unit.num_edges, max_edges):
            size = min(max_edges, unit.num_edges - first)
            columns = {name: np.empty(size, regions[0].dtype) for name, regions in arrays.items()}
            cursors, done = starts[:-1].copy(), 0
            for number in range(len(groups)):
                edges = read(number)
                places = np.empty(edges["rows"].size, np.int64)
                place_by_key(edges["rows"], unit.first_row, cursors, places)
                for name, column in columns.items():
                    scatter(edges[name], places, first, column)
                write_rows(places_file, unit.first_edge + places, done)
                done += places.size
            for name, column in columns.items():
                write_rows(arrays[name], column, unit.first_edge + first)


def _read(unit: MatrixRows, slices: Slices, config: BuildConfig) -> dict[str, np.ndarray]:
    """Read edges and all that is sorted by row, named as arrays without the matrix."""
    graph, work, done = unit.graph, config.graph.work, 0
    edges = np.empty((int(slices["count"].sum()), 3), config.graph.run_dtype)
    for number, num_rows, start, count in places_of(slices):
        path = work.file("local", graph.part, number, unit.name)
        npy_region(path, edges.dtype, (num_rows, 3)).read_into(edges[done : done + count], start)
        done += count
    eids = np.repeat(slices["first_row"], slices["count"]) + edges[:, 2]
    columns = {"rows": edges[:, 0], "indices": edges[:, 1], "eids": eids}
    wanted = {name for name in ("id", "type", "type_id") if f"{unit.name}/{name}" in graph.arrays}
    if wanted:
        ids, is_owned = graph.first_new_eid + eids, slices["first_row"] < graph.num_owned_edges
        done = int(slices["count"][is_owned].sum())
        for number, _, _, count in places_of(slices[~is_owned]):
            of_segment = open_npy(work.file("local", graph.part, number, "ids")).read()
            ids[done : done + count] = of_segment[edges[done : done + count, 2]]
            done += count
        columns["id"] = config.new_eids.stored(ids)
    if len(wanted) > ("id" in wanted):
        columns["type"], columns["type_id"] = config.book.map_to_per_etype(ids)
    return columns


@contextmanager
def _places_file(unit: MatrixRows, regions: tuple[Region, ...], work: Workspace) -> Iterator[tuple[Region, ...]]:
    """File for the sorted position of each edge as read, where positions are wanted."""
    if not regions:
        yield ()
        return
    with whole_file(work.file("local", unit.graph.part, unit.first_row, "places")) as temporary:
        yield (create_npy(temporary, regions[0].dtype, (unit.num_edges,)),)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentPlaces:
    """Edges of one segment: `slices` of the row ranges' files of positions, in the order of the segment's run.

    Their `run` is the first row of the range, and `first_row` the local ID of the segment's first edge.
    """

    graph: PartGraph
    number: int
    slices: Slices


def segment_places(ranges: Sequence[MatrixRows]) -> list[SegmentPlaces]:
    """Find the positions of each segment's edges, given the row ranges of a part."""
    num_slices = [unit.slices.size for unit in ranges]
    slices = np.concatenate([unit.slices for unit in ranges])
    segments = slices["run"].copy()
    slices["run"] = np.repeat([unit.first_row for unit in ranges], num_slices)
    slices["run_rows"] = np.repeat([unit.num_edges for unit in ranges], num_slices)
    slices["start"] = np.concatenate([group_starts(unit.slices["count"])[:-1] for unit in ranges])
    order = np.argsort(segments, kind="stable")
    by_segment = np.split(order, np.flatnonzero(np.diff(segments[order])) + 1)
    return [SegmentPlaces(ranges[0].graph, int(segments[of[0]]), slices[of]) for of in by_segment if of.size]


def place_edges(unit: SegmentPlaces, config: GraphConfig) -> None:
    """Write the positions of one segment's edges in CSC."""
    graph, slices, (region, *_) = unit.graph, unit.slices, unit.graph.arrays["csc/places"]
    num_edges, done = int(slices["count"].sum()), 0
    places, by_eid = np.empty((2, num_edges), region.dtype)
    for first_row, num_rows, start, count in places_of(slices):
        path = config.work.file("local", graph.part, first_row, "places")
        npy_region(path, region.dtype, (num_rows,)).read_into(places[done : done + count], start)
        done += count
    path = config.work.file("local", graph.part, unit.number, "csc")
    scatter(places, npy_region(path, config.run_dtype, (num_edges, 3)).read()[:, 2], 0, by_eid)
    write_rows(graph.arrays["csc/places"], by_eid, int(slices["first_row"][0]))
