"""Passes `split-in-edges` and `sort-in-edges`: the in-edges of every node, in CSC, out of core.

A column has a node's in-edges by edge type and ID. Edges become runs grouped by ranges of destinations, and runs spans
of columns, as for the adjacency; spans have as many edges whatever the input's chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.kernels.owner_sort import group_positions
from daskgraphpart.kernels.sample_in_edges import pick_sources
from daskgraphpart.partitioner.adjacency.adjacency_sizes import max_arcs_of_block
from daskgraphpart.partitioner.adjacency.build_adjacency import NodeRange, cut_into_ranges, read_arcs
from daskgraphpart.partitioner.adjacency.split_edges import (
    BYTES_PER_EDGE,
    ArcRuns,
    borders_of_runs,
    range_shift,
    share_blocks,
)
from daskgraphpart.storage.files import delete_files, local_copy
from daskgraphpart.storage.region import Region, create_files, id_dtype, npy_region, save_npy

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.source import Block, Edges

ARCS_PER_EDGE = 4
"""Arcs whose room a task has for an in-edge: it holds both its arcs, and several numbers."""
SPANS_PER_MAP = 16  # 32 MB of sources, if they have 32 bits


@dataclass(frozen=True, slots=True)
class Columns:
    """Consecutive columns: nodes ``start, ..., stop - 1``, and their edges."""

    start: int
    stop: int
    first_edge: int
    last_edge: int

    @property
    def num_edges(self) -> int:
        """In-edges of the nodes."""
        return self.last_edge - self.first_edge


@dataclass(frozen=True, slots=True)
class InEdges:
    """In-edges of all nodes, in files; nodes are homogeneous IDs."""

    num_nodes: int
    indptr: Region  # int64 (nodes + 1,)
    sources: Region  # (edges,)
    etypes: Region  # number of the type, int32 (edges,); (0,) if there is one
    spans: tuple[Columns, ...]

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.sources.num_rows

    def read(self, span: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read row starts, from 0, sources and types of a span."""
        edges, starts = (span.first_edge, span.last_edge), self.indptr.read(span.start, span.stop + 1)
        etypes = self.etypes.read(*edges) if self.etypes.num_rows else self.etypes.read()
        return starts - span.first_edge, self.sources.read(*edges), etypes

    def pick(self, nodes: np.ndarray, fanouts: np.ndarray, key: np.uint64) -> np.ndarray:
        """Pick in-edges of different nodes without replacement, by fan-outs of edge types; return their sources.

        Maps the files anew for every few spans: pages that were read count as memory until their map goes.
        """
        nodes, picked, first = np.sort(nodes), [np.empty(0, np.int64)], 0
        most = np.iinfo(np.int64).max if (fanouts < 0).any() else fanouts.sum()
        stops = [span.stop for span in self.spans]
        for last in np.searchsorted(nodes, [*stops[SPANS_PER_MAP - 1 : -1 : SPANS_PER_MAP], *stops[-1:]]).tolist():
            if first < last:
                mine, graph = nodes[first:last], (_map(self.indptr), _map(self.sources), _map(self.etypes))
                sources = np.empty(int(np.minimum(graph[0][mine + 1] - graph[0][mine], most).sum()), np.int64)
                picked.append(sources[: pick_sources(mine, *graph, fanouts, key, sources)])
                del graph
            first = last
        return np.concatenate(picked)

    def units(self, nbytes_per_edge: int) -> list[Unit[Columns]]:
        """List the spans as units that move so many bytes per edge."""
        return [Unit(span, nbytes_per_edge * span.num_edges) for span in self.spans]


def _map(region: Region) -> np.ndarray:
    """Map a finished file apart from other maps of it."""
    if not region.nbytes:
        return region.read()
    return np.memmap(local_copy(region.path, is_final=True), region.dtype, "r", region.offset, region.shape)


@dataclass(frozen=True, slots=True)
class SplitUnit:
    """Consecutive blocks of edges; for each the first homogeneous IDs at its ends and its type; and the run's file."""

    blocks: tuple[Block[Edges], ...]
    first_ids: tuple[tuple[int, int], ...]
    etypes: tuple[int, ...]
    path: str


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """Nodes of all types, ranges of destinations, and columns of a run: 2, or 3 with the types of edges."""

    num_nodes: int
    shift: int  # binary logarithm of the nodes of a range
    width: int

    @property
    def num_ranges(self) -> int:
        """Number of node ranges."""
        return -(-self.num_nodes >> self.shift)


def sort_in_edges(graph: Graph, directory: Path, runner: Runner) -> InEdges:
    """Read all edges once, and write their columns to a directory that exists."""
    schema, dtype = graph.schema, id_dtype(graph.schema.num_nodes)
    runs = _split(graph, directory, runner)
    num_nodes, num_edges, num_types = schema.num_nodes, schema.num_edges, len(schema.edge_types)
    indptr = npy_region(directory / "in-edges-indptr.npy", np.int64, (num_nodes + 1,))
    sources = npy_region(directory / "in-edges-sources.npy", dtype, (num_edges,))
    etypes = npy_region(directory / "in-edges-types.npy", np.int32, (num_edges if num_types > 1 else 0,))
    runner.step("create-in-edges", lambda: create_files([indptr, sources, etypes]))
    ranges = cut_into_ranges(runs, max_arcs_of_block(2 * num_edges) // ARCS_PER_EDGE, runner)
    ends = np.cumsum([0, *(nodes.num_arcs for nodes in ranges)]).tolist()
    spans = tuple(Columns(of.start, of.stop, *ends[i : i + 2]) for i, of in enumerate(ranges))
    columns = InEdges(num_nodes, indptr, sources, etypes, spans)
    units = [
        Unit(SortUnit(nodes, span), 4 * dtype.itemsize * span.num_edges)
        for nodes, span in zip(ranges, spans, strict=True)
    ]
    runner.run(Pass("sort-in-edges", sort_columns, units, columns))
    delete_files([region.path for region in runs.runs])
    return columns


def _split(graph: Graph, directory: Path, runner: Runner) -> ArcRuns:
    schema, dtype = graph.schema, id_dtype(graph.schema.num_nodes)
    works = [
        SplitUnit(
            of.blocks, of.first_ids, tuple(map(schema.etypes.index, of.etypes)), f"{directory}/in-edges-{i:06d}.npy"
        )
        for i, of in enumerate(share_blocks(graph, runner))
    ]
    counts = [sum(block.num_rows for block in work.blocks) for work in works]
    units = [
        Unit(work, count * BYTES_PER_EDGE, key=work.blocks[0].name) for work, count in zip(works, counts, strict=True)
    ]
    shift, width = range_shift(schema.num_nodes, schema.num_edges), 2 + (len(schema.edge_types) > 1)
    config = SplitConfig(schema.num_nodes, shift, width)
    borders = borders_of_runs(runner.run(Pass("split-in-edges", split_in_edges, units, config)), config.num_ranges)
    runs = (npy_region(work.path, dtype, (count, width)) for work, count in zip(works, counts, strict=True))
    return ArcRuns(schema.num_nodes, tuple(runs), shift, borders, None)


def split_in_edges(unit: SplitUnit, config: SplitConfig) -> np.ndarray:
    """Write a unit's run, with destination, source and type; return its edges by range, int64 (node ranges,)."""
    dtype, done = id_dtype(config.num_nodes), 0
    edges = np.empty((sum(block.num_rows for block in unit.blocks), config.width), dtype)
    for block, firsts, etype in zip(unit.blocks, unit.first_ids, unit.etypes, strict=True):
        src, dst = block.read()
        mine = edges[done : done + src.size]
        mine[:, 0], mine[:, 1] = dst + firsts[1], src + firsts[0]
        mine[:, 2:] = etype
        done += src.size
    order, counts = order_by(edges[:, 0] >> config.shift, config.num_ranges)
    save_npy(unit.path, edges[order])
    return counts


def order_by(groups: np.ndarray, num_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Order rows by group, as they are within each, int64 (rows,); and count those of each group, int64 (groups,)."""
    counts, order = np.bincount(groups, minlength=num_groups), np.empty(groups.size, np.int64)
    group_positions(np.ascontiguousarray(groups), np.cumsum(counts) - counts, order)
    return order, counts


@dataclass(frozen=True, slots=True)
class SortUnit:
    """Where the edges of some columns are, and where they go."""

    nodes: NodeRange
    span: Columns


def sort_columns(unit: SortUnit, columns: InEdges) -> None:
    """Write some columns; runs are in the order of edge types and IDs."""
    nodes, span = unit.nodes, unit.span
    edges = read_arcs(nodes, columns.sources.dtype)
    order, counts = order_by(edges[:, 0] - nodes.start, nodes.stop - nodes.start)
    starts = span.first_edge + np.cumsum(np.concatenate([[0], counts]))
    columns.indptr.write(starts[:-1], nodes.start)
    if nodes.stop == columns.num_nodes:
        columns.indptr.write(starts[-1:], nodes.stop)
    columns.sources.write(edges[order, 1], span.first_edge)
    if columns.etypes.num_rows and nodes.slices:
        columns.etypes.write(edges[order, 2].astype(np.int32), span.first_edge)
