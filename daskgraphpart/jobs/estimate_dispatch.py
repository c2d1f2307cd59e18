"""Estimate from the schema what a dispatch writes: partitions, and temporary files by directory.

Exact but for file headers (below a kilobyte each) and what only edges tell: the cut, and the distinct sources of each
part's edges. For those, degrees are geometric: between regular graphs (more HALO nodes) and power laws (fewer).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.job import choose_sizes
from daskgraphpart.dispatching.workspace import EDGE_DIRECTORIES
from daskgraphpart.partitioner.assignment import owner_dtype
from daskgraphpart.partitioner.training.count_fetches import budget_of
from daskgraphpart.schema import is_fetched
from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import GraphSchema

RANDOM_CUT, TYPICAL_CUT = 1.0, 0.55
"""Edges that are cut by random owners, and by a partitioner, as a share of those that random owners cut on average."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What only edges tell, over all parts: HALO nodes, and edges held without being owned."""

    num_halo: int
    num_extra: int


def expect(
    schema: GraphSchema,
    num_parts: int,
    options: DispatchOptions,
    is_random: bool = False,
    known: tuple[float, int] | None = None,
) -> Expected:
    """Estimate HALO nodes and extra edges; `known` has the share of cut edges and the one-hop HALO nodes."""
    between = 1 - 1 / num_parts
    cut, halo = known or ((RANDOM_CUT if is_random else TYPICAL_CUT) * between, None)
    if halo is None:
        edges_from: dict[str, int] = {}
        for edge_type in schema.edge_types:
            edges_from[edge_type.src] = edges_from.get(edge_type.src, 0) + edge_type.num_edges
        met = (_distinct(schema.node_type(src).num_nodes, edges / num_parts) for src, edges in edges_from.items())
        halo = round(sum(met) * num_parts * cut)
    extra, held = (cut * schema.num_edges if options.out_edges else 0.0), schema.num_edges / num_parts
    if options.num_hops > 1:
        nodes, members = schema.num_nodes, 0.0
        for _ in range(options.num_hops - 1):
            more = _distinct(nodes, held) / max(1, nodes) * cut
            if more <= members:
                break
            members = more
            held = schema.num_edges * min(1.0, 1 / num_parts + members)
        extra = num_parts * min(schema.num_edges * between, schema.num_edges * members + extra / num_parts)
    if options.has_extra_edges:
        reachable = _distinct(schema.num_nodes, (schema.num_edges + extra) / num_parts)
        halo = max(halo, round(reachable * num_parts * between))
    return Expected(halo, round(extra))


def output_nbytes(schema: GraphSchema, num_parts: int, options: DispatchOptions, expected: Expected) -> int:
    """Estimate the bytes of all partitions together."""
    features = sum(kind.num_rows * spec.row_nbytes for kind in schema.row_types for spec in kind.data)
    original = 8 * (schema.num_nodes + schema.num_edges)
    split = 8 * sum(schema.node_type(ntype).num_nodes for ntype in {key.partition("/")[0] for key in schema.masks})
    num_tables = len({"ranks", "parquet"} & set(options.layout))
    by_type = (
        features + original + split + 16 * schema.num_edges + hot_nbytes(schema, num_parts, options)
    ) * num_tables
    if "ondisk" in options.layout:
        by_type += features + 2 * split + _whole_graph_nbytes(schema)
    if not options.graphs:
        return by_type
    typed, graph = (4 if schema.is_heterogeneous else 0), 0
    nodes, edges = schema.num_nodes + expected.num_halo, schema.num_edges + expected.num_extra
    if "dgl" in options.graphs:
        graph += (9 + typed) * (nodes + edges)  # ID, inner or not, type
        for name in options.graph_formats:
            graph += 16 * edges + (0 if name == "coo" else 8 * (nodes + num_parts))
    if "graphbolt" in options.graphs:
        of_edge = 12 + 8 * options.store_eids + options.store_inner_edge + typed // 4
        graph += (
            12 + options.store_inner_node
        ) * nodes + of_edge * edges  # integers of 32 bits but for IDs, types of 8
    kept = 0 if options.reshuffle else original
    raw_ids = 20 * schema.num_nodes if options.is_for_graphstorm else 0
    return graph + features + original + split + kept + raw_ids + by_type


def hot_nbytes(schema: GraphSchema, num_parts: int, options: DispatchOptions) -> int:
    """Bytes of hot rows at most, with IDs and fetches."""
    if options.hot_rows is None:
        return 0
    counts = np.array([kind.num_nodes for kind in schema.node_types])
    rows = np.array([sum(of.row_nbytes for of in kind.data if is_fetched(of.name)) for kind in schema.node_types])
    budget = budget_of(options.hot_rows, "--hot-rows", counts, rows)
    if budget.weights.max(initial=0) > 1:  # bytes, of each part
        return 2 * num_parts * budget.total
    return (budget.total + num_parts) * int(16 + rows.max(initial=0))


def workspace_files(
    schema: GraphSchema, num_parts: int, options: DispatchOptions, expected: Expected, resources: Resources
) -> dict[str, int]:
    """Estimate the bytes of temporary files by directory of the workspace."""
    owner, item = owner_dtype(num_parts).itemsize, id_dtype(schema.num_nodes).itemsize
    with_owners = [t.num_edges for t in schema.edge_types if t.data or not options.reshuffle]
    bitmaps = -(-schema.num_nodes // 64) * (16 if options.num_hops > 1 else 8)
    fits_maps = (owner + item) * schema.num_nodes <= choose_sizes(resources).map_bytes
    compressed = len(set(options.graph_formats) - {"coo"})
    rows = sum(kind.num_rows * spec.row_nbytes for kind in schema.row_types for spec in kind.data)
    is_staged, keeps_hot = resources.staging == "zarr", options.hot_rows is not None
    encoded = 0
    if "parquet" in options.layout:  # features and original IDs are read from files of the same run that hold them
        is_beside = bool(options.graphs) or "ranks" in options.layout
        encoded += 0 if is_beside and not is_staged else rows
        raw_id = id_dtype(max(schema.num_nodes, schema.num_edges)).itemsize
        encoded += 0 if is_beside else raw_id * (schema.num_nodes + schema.num_edges)
        encoded += 0 if "ranks" in options.layout else 2 * raw_id * schema.num_edges
    encoded += 4 * schema.num_nodes if options.is_for_graphstorm else 0
    if {"graphbolt", "ondisk"} & set(options.layout):
        compressed = len({*options.graph_formats, "csc"} - {"coo"})
    local = 3 * item * compressed * (schema.num_edges + expected.num_extra)
    if "graphbolt" in options.layout:  # places of edges, and IDs of those that are not owned
        local += (4 if schema.num_edges < 1 << 31 else 8) * (schema.num_edges + expected.num_extra)
        local += 8 * expected.num_extra
    return {
        "owners": owner * schema.num_nodes,
        "node-maps": item * schema.num_nodes,
        "edge-owners": owner * sum(with_owners),
        "runs": 3 * item * schema.num_edges,
        "halo": num_parts * bitmaps,
        "ends": 0 if fits_maps else (24 + 2 * item) * schema.num_edges,
        "extra": 24 * expected.num_extra,
        "local": local,
        "encoded": encoded,
        "staged": rows if is_staged else 0,
        "in-edges": keeps_hot * ((item + 4 * (len(schema.edge_types) > 1)) * schema.num_edges + 13 * schema.num_nodes),
        "hot": keeps_hot * hot_nbytes(schema, num_parts, options),
    }


def workspace_nbytes(files: Mapping[str, int]) -> int:
    """Bytes of temporary files at their peak: what leads from edges to graphs is deleted before features travel."""
    lasting = sum(files[name] for name in ("owners", "node-maps", "edge-owners", "encoded", "hot"))
    return lasting + max(sum(files[name] for name in EDGE_DIRECTORIES), files["staged"], files["in-edges"])


def copies_nbytes(files: Mapping[str, int], resources: Resources) -> int:
    """Bytes of the maps that each worker copies to its disk, for look-ups at random, from `workspace_files`."""
    maps = files["owners"] + files["node-maps"]
    return maps if maps <= choose_sizes(resources).map_bytes else files["owners"]


def task_upload_nbytes(schema: GraphSchema, resources: Resources) -> int:
    """Bytes that a task gathers on its disk before it uploads them, at most."""
    sizes, item = choose_sizes(resources), id_dtype(schema.num_nodes).itemsize
    return max(
        3 * item * min(sizes.edge_block_rows, schema.num_edges),
        (8 + item) * min(sizes.interval_rows, schema.num_nodes),
        32 * min(sizes.segment_edges, schema.num_edges),
        sizes.row_block_bytes,
    )


def _whole_graph_nbytes(schema: GraphSchema) -> int:
    """Bytes of a sampling graph of all nodes and edges, with 32-bit or 64-bit integers."""
    nid, eid = (4 if count < 1 << 31 else 8 for count in (schema.num_nodes, schema.num_edges))
    has_eids = schema.is_heterogeneous or any(kind.data for kind in schema.edge_types)
    return eid * schema.num_nodes + (nid + eid * has_eids + schema.is_heterogeneous) * schema.num_edges


def _distinct(num_nodes: float, num_draws: float) -> float:
    """Distinct nodes after so many draws of edge ends, with geometric degrees."""
    return num_draws * num_nodes / (num_draws + num_nodes) if num_draws else 0.0
