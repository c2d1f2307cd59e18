"""List the passes of a job over edges and rows, with the bytes of files that each reads and writes, estimated.

Passes over nodes alone move little and are left out. `partition-graph` reads its graph several times, how often only
the edges tell: it is listed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.build_graph import EDGE_NBYTES
from daskgraphpart.graph.sources import CsvEdges
from daskgraphpart.partitioner.adjacency.adjacency_sizes import adjacency_nbytes
from daskgraphpart.partitioner.choose import list_ways
from daskgraphpart.partitioner.training.training import read_training
from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.layouts.layout import GraphSizes
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.schema import GraphSchema


@dataclass(frozen=True, slots=True)
class PassEstimate:
    """A pass and the bytes of files that it reads and writes, estimated."""

    name: str  # as in progress and logs
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class Writing:
    """What is known of partitions to write."""

    options: DispatchOptions
    files: Mapping[str, int]  # bytes by directory of the workspace
    output: int  # bytes
    expected: GraphSizes


def list_passes(
    graph: Graph, num_parts: int, making: AssignOptions | None, writing: Writing | None
) -> Iterator[PassEstimate]:
    """List the passes that find owners, if edges are read for that, and those that write partitions, if any."""
    ends = sum(source.nbytes for source in graph.edge_sources.values())
    if text := sum(source.nbytes for source in graph.edge_sources.values() if isinstance(source, CsvEdges)):
        yield PassEstimate("scan-edges", text, 0)
    if making is not None:
        yield from _of_assign(graph.schema, num_parts, making, ends)
    if writing is not None:
        yield from _of_dispatch(graph.schema, writing, ends)


def _of_assign(schema: GraphSchema, num_parts: int, options: AssignOptions, ends: int) -> Iterator[PassEstimate]:
    item, num_edges = id_dtype(schema.num_nodes).itemsize, schema.num_edges
    adjacency = adjacency_nbytes(schema, has_weights=options.has_weights)
    ways, in_edges = list_ways(options, num_edges, num_parts), 0
    if options.fanouts:
        in_edges = read_training(options, schema).in_edges_nbytes(schema)
        yield PassEstimate("split-in-edges", ends, in_edges)
        yield PassEstimate("sort-in-edges", in_edges, in_edges)
    if ways[-1].weights is not None or any(of.name == "work" for of in options.constraints):
        samples = 2 * item * num_edges
        for _ in range(len(read_training(options, schema).fanouts) - 1):
            yield PassEstimate("expect-samples", in_edges, samples + 4 * schema.num_nodes)
            yield PassEstimate("add-up-samples", samples, 8 * schema.num_nodes)
        yield PassEstimate("expect-work", in_edges, 16 * schema.num_nodes)
    arcs = (6 if options.has_weights else 4) * item * num_edges
    for way in ways:
        if way.weights is None:
            yield PassEstimate("split-edges", ends, arcs)
        else:
            yield PassEstimate("weigh-samples", in_edges, arcs)
        yield PassEstimate("merge-arcs", arcs, adjacency)
        yield PassEstimate("partition-graph", adjacency, 4 * schema.num_nodes)
        if options.fanouts:
            yield PassEstimate("predict-rows", in_edges, 0)
    yield PassEstimate("measure-cut", adjacency, 0)


def _of_dispatch(schema: GraphSchema, writing: Writing, ends: int) -> Iterator[PassEstimate]:
    options, files, output = writing.options, writing.files, writing.output
    runs, rows = files["runs"], sum(of.num_rows * spec.row_nbytes for of in schema.row_types for spec in of.data)
    if options.hot_rows is not None:
        yield PassEstimate("split-in-edges", ends, files["in-edges"])
        yield PassEstimate("sort-in-edges", files["in-edges"], files["in-edges"])
        yield PassEstimate("count-hot-rows", files["in-edges"], files["hot"])
    if files["ends"]:
        yield PassEstimate("split-ends", ends, files["ends"])
        yield PassEstimate("resolve-ends", files["ends"], files["ends"])
        yield PassEstimate("merge-ends", files["ends"], runs)
    else:
        yield PassEstimate("bucket-edges", ends, runs)
    if options.num_hops > 1:
        yield PassEstimate("follow-hop", (options.num_hops - 1) * runs * 2 // 3, files["halo"])
    if options.has_extra_edges:
        yield PassEstimate("collect-extra", runs * 2 // 3, files["extra"])
    yield PassEstimate("mark-halo", runs // 3, files["halo"])
    held = (schema.num_edges + int(writing.expected.num_extra_edges.sum())) * bool(options.graphs)
    by_type = 24 * schema.num_edges * len({"ranks", "parquet"} & set(options.layout))  # ends and original IDs
    yield PassEstimate("build-graph", runs + files["extra"], EDGE_NBYTES * held + by_type)
    if files["local"]:
        yield PassEstimate("compress-graph", files["local"], files["local"])
    if rows:
        yield PassEstimate("place-rows", rows, rows)
    if files["encoded"] or {"graphbolt", "parquet"} & set(options.layout):
        yield PassEstimate("encode-files", files["encoded"] or output, output)
    yield PassEstimate("hash-files", output, 0)
