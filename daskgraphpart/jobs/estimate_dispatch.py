"""Estimate from the schema what a dispatch writes: partitions, and temporary files by directory.

Layouts say what the files of an average part hold. All else is exact but for what only edges tell: the cut, and the
distinct sources of each part's edges. For those, degrees are geometric: between regular graphs (more halo nodes) and
power laws (fewer). Values that are encoded, as in parquet, count as they are before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.build_graph import BY_EDGE_ID
from daskgraphpart.dispatching.job import choose_sizes
from daskgraphpart.dispatching.make_files import is_of_features
from daskgraphpart.dispatching.workspace import EDGE_DIRECTORIES
from daskgraphpart.layouts.layout import FileLayout, GraphSizes, Layout
from daskgraphpart.partitioner.assignment import owner_dtype
from daskgraphpart.partitioner.training.training import ID_NBYTES, budget_of
from daskgraphpart.schema import GraphSchema, is_fetched
from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.engine.resources import Resources

RANDOM_CUT, TYPICAL_CUT = 1.0, 0.55
"""Edges that are cut by random owners, and by a partitioner, as a share of those that random owners cut on average."""


def expect(
    schema: GraphSchema,
    num_parts: int,
    options: DispatchOptions,
    is_random: bool = False,
    known: tuple[float, int] | None = None,
) -> GraphSizes:
    """Estimate sizes, of parts that are all alike; `known` has the share of cut edges and the one-hop halo nodes."""
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
    masks = [key.partition("/")[0] for key in schema.masks]
    marked = [schema.node_type(ntype).num_nodes / masks.count(ntype) for ntype in masks]

    def of_parts(counts: Sequence[float]) -> np.ndarray:
        return np.tile(np.rint(np.array(counts) / num_parts).astype(np.int64), (num_parts, 1))

    num_halo, num_extra = of_parts([halo, extra]).T

    return GraphSizes(
        schema,
        of_parts([of.num_nodes for of in schema.node_types]),
        of_parts([of.num_edges for of in schema.edge_types]),
        num_halo,
        num_extra,
        dict(zip(schema.masks, of_parts(marked).T, strict=True)),
        num_hot=_num_hot(schema, num_parts, options.hot_rows) if options.hot_rows is not None and cut else None,
    )


def _num_hot(schema: GraphSchema, num_parts: int, size: str | int) -> np.ndarray:
    """Hot rows of each part and type, int64 (parts, node types): as if all were of the type with the widest rows."""
    counts = np.array([kind.num_nodes for kind in schema.node_types])
    rows = np.array([sum(of.row_nbytes for of in kind.data if is_fetched(of.name)) for kind in schema.node_types])
    budget, widest = budget_of(size, "--hot-rows", counts, rows), int(rows.argmax())
    is_share = budget.weights.max(initial=0) <= 1
    num_rows = budget.total // (num_parts if is_share else int(rows[widest]) + ID_NBYTES)
    return np.tile(np.where(np.arange(counts.size) == widest, np.minimum(num_rows, counts), 0), (num_parts, 1))


def files_of(layouts: Sequence[Layout], sizes: GraphSizes) -> list[tuple[int, FileLayout]]:
    """List the files of an average part and of the whole graph, each with how many there are."""
    of_part = [(sizes.num_parts, file) for layout in layouts for file in layout.part_files(sizes, 0).values()]
    return of_part + [(1, file) for layout in layouts for file in layout.graph_files(sizes.schema).values()]


def output_nbytes(files: Sequence[tuple[int, FileLayout]]) -> int:
    """Bytes of all partitions together."""
    return sum(count * file.nbytes for count, file in files)


def workspace_files(
    files: Sequence[tuple[int, FileLayout]], sizes: GraphSizes, options: DispatchOptions, resources: Resources
) -> dict[str, int]:
    """Estimate the bytes of temporary files by directory of the workspace."""
    schema, num_parts, is_staged = sizes.schema, sizes.num_parts, resources.staging == "zarr"
    owner, item = owner_dtype(num_parts).itemsize, id_dtype(schema.num_nodes).itemsize
    with_owners = [t.num_edges for t in schema.edge_types if t.data or not options.reshuffle]
    bitmaps = -(-schema.num_nodes // 64) * (16 if options.num_hops > 1 else 8)
    fits_maps = (owner + item) * schema.num_nodes <= choose_sizes(resources).map_bytes
    rows = sum(kind.num_rows * spec.row_nbytes for kind in schema.row_types for spec in kind.data)
    arrays = {name: dtype for _, file in files for name, (_, dtype, _) in file.regions.items()}
    # what is encoded is read from files of the same run that hold it, or else from one of its own
    raw = [file for _, file in files if file.encode is None and not (is_staged and is_of_features(file))]
    held = {name for file in raw for name in file.regions}
    encoded = [
        count * dtype.itemsize * math.prod(shape)
        for count, file in files
        if file.encode is not None
        for name, (_, dtype, shape) in file.regions.items()
        if name not in held
    ]
    num_extra = int(sizes.num_extra_edges.sum())
    local = 3 * item * sum(f"{name}/indptr" in arrays for name in ("csr", "csc"))
    local += arrays["csc/places"].itemsize if "csc/places" in arrays else 0
    return {
        "owners": owner * schema.num_nodes,
        "node-maps": item * schema.num_nodes,
        "edge-owners": owner * sum(with_owners),
        "runs": 3 * item * schema.num_edges,
        "halo": num_parts * bitmaps,
        "ends": 0 if fits_maps else (24 + 2 * item) * schema.num_edges,
        "extra": 24 * num_extra,
        "local": local * (schema.num_edges + num_extra)
        + (0 if arrays.keys().isdisjoint(BY_EDGE_ID) else 8 * num_extra),
        "encoded": sum(encoded),
        "staged": rows if is_staged else 0,
        "in-edges": 0
        if sizes.num_hot is None
        else (item + 4 * (len(schema.edge_types) > 1)) * schema.num_edges + 13 * schema.num_nodes,
        "hot": 0 if sizes.num_hot is None else 16 * int(sizes.num_hot.sum()),
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


def _distinct(num_nodes: float, num_draws: float) -> float:
    """Distinct nodes after so many draws of edge ends, with geometric degrees."""
    return num_draws * num_nodes / (num_draws + num_nodes) if num_draws else 0.0
