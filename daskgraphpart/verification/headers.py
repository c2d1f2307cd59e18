"""Pass `verify-headers`: compare the headers of each part's files with config and input. Reads no data.

Opening a part checks that its arrays have as many rows as it owns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.layouts.dgl_graph_file import FORMAT_BITS
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE, GraphSchema, RowType
from daskgraphpart.verification.findings import Finding, differences
from daskgraphpart.verification.run import Run, check_part, open_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.partitioned.part import Part, PartRows

DTYPES = {
    "_ID": ("int64",),
    # uint8 since DGL 1.0; before, int32 for nodes and int8 for edges
    "inner_node": ("uint8", "int8", "int32"),
    "inner_edge": ("uint8", "int8", "int32"),
    # int32 since DGL 1.0, int64 from its older pipeline
    "_TYPE": ("int32", "int64"),
    "part_id": ("int64",),
}
"""Of the arrays in a local graph."""

TRAINERS = "trainer_id"
"""A feature that partitioning adds, one number per node or edge."""

ORIGINALS = "original IDs"
"""Check that counts only if original IDs should be there."""

DGL_TYPES = ((DEFAULT_NTYPE,), (DEFAULT_ETYPE,))
"""What DGL calls the types of a homogeneous graph; ours keep the names of the input."""


@dataclass(frozen=True, slots=True)
class PartHeaders:
    """What a part's headers say; sizes count only if nothing is wrong."""

    findings: list[Finding]
    has_originals: bool = False
    num_nodes: int = 0
    num_edges: int = 0
    formats: Sequence[str] = ()


def align_types(schema: GraphSchema, parts: PartitionedGraph) -> GraphSchema | None:
    """Return the input's types in the partitions' order; None if they differ."""
    if not schema.is_heterogeneous and schema.etypes and (parts.ntypes, parts.etypes) == DGL_TYPES:
        return schema
    if sorted(schema.ntypes) != sorted(parts.ntypes) or sorted(schema.etypes) != sorted(parts.etypes):
        return None
    node_types = tuple(schema.node_type(name) for name in parts.ntypes)  # DGL orders types by name
    return replace(schema, node_types=node_types, edge_types=tuple(schema.edge_type(name) for name in parts.etypes))


def type_findings(schema: GraphSchema, parts: PartitionedGraph) -> Iterator[Finding]:
    """Say which types differ."""
    expected, found = (
        {"node types": ", ".join(sorted(of.ntypes)) or None, "edge types": ", ".join(sorted(of.etypes)) or None}
        for of in (schema, parts)
    )
    yield from differences("types", parts.config.name, expected, found)


def config_findings(schema: GraphSchema, parts: PartitionedGraph) -> Iterator[Finding]:
    """Compare the numbers in the config with the input."""
    config, book, file = parts.content, parts.book, parts.config.name
    names = ["num_nodes", "num_edges", *(f"ranges of {of_type.name} in all parts" for of_type in schema.row_types)]
    expected = [schema.num_nodes, schema.num_edges, *(of_type.num_rows for of_type in schema.row_types)]
    counts = np.concatenate([book.node_counts.sum(axis=0), book.edge_counts.sum(axis=0)])
    found = [config.num_nodes, config.num_edges, *counts.tolist()]
    yield from differences("counts", file, *(dict(zip(names, of, strict=True)) for of in (expected, found)))
    if config.halo_hops < 1:
        yield Finding("config", file, "halo_hops", expected="1 or more", found=str(config.halo_hops))


def verify_headers(numbers: tuple[int, ...], run: Run) -> list[PartHeaders]:
    """Check the headers of all files of some parts."""
    return [_headers_of(open_part(number, run), run) for number in numbers]


def _headers_of(part: Part, run: Run) -> PartHeaders:
    findings = check_part(part, lambda part: _check_headers(part, run.schema))
    if any(finding.check != ORIGINALS for finding in findings):
        return PartHeaders(findings)
    has_originals = bool(part.node_rows.originals or part.edge_rows.originals)
    graph = part.graph
    return PartHeaders(findings, has_originals, graph.num_nodes, graph.num_edges, sorted(graph.formats))


def _check_headers(part: Part, schema: GraphSchema) -> Iterator[Finding]:
    yield from _graph(part)
    yield from _of_kind(part.node_rows, schema.node_types)
    yield from _of_kind(part.edge_rows, schema.edge_types)
    for key, ids in part.split_regions.items():
        ntype, _, mask = key.rpartition("/")
        if mask not in part.node_rows.features.get(ntype, {}) or ids.dtype != np.int64 or len(ids.shape) != 1:
            what = f"{key}: not the IDs of a mask that the part has"
            yield Finding("split", "split_nids.dgl", what, ntype)


def _graph(part: Part) -> Iterator[Finding]:
    graph, file = part.graph, "graph.dgl"
    has_types = len(part.book.ntypes) > 1 or len(part.book.etypes) > 1
    arrays = []
    for rows in (part.node_rows, part.edge_rows):
        kind = rows.ids.what
        arrays += [(f"{kind} data {name!r}", rows.arrays[name], DTYPES[name]) for name in rows.arrays if name in DTYPES]
        if has_types and "_TYPE" not in rows.arrays:
            yield Finding("arrays", file, f"{kind} data '_TYPE' is missing")
    for name, matrices in graph.formats.items():
        arrays += [(f"{name} matrix, {key!r}", region, ("int64",)) for key, region in matrices.items()]
        if not graph.may_make & FORMAT_BITS[name]:
            yield Finding("formats", file, f"{name} is stored, but DGL may not make it")
    for what, region, dtypes in arrays:
        if region.dtype.name not in dtypes or len(region.shape) != 1:
            says, found = f"{' or '.join(dtypes)}, one axis", f"{region.dtype.name} {region.shape}"
            yield Finding("dtypes", file, what, expected=says, found=found)


def _of_kind(rows: PartRows, types: Sequence[RowType]) -> Iterator[Finding]:
    """Compare dtypes and row shapes; DGL's pipeline writes placeholders of any dtype for parts without rows."""
    expected = {
        f"{name}/{spec.name}": f"{spec.stored_dtype.name} {spec.row_shape} per row"
        for name, of_type in zip(rows.ids.names, types, strict=True)
        for spec in of_type.data
    }
    found = {
        key: f"{region.dtype.name} {region.shape[1:]} per row" if region.num_rows else expected.get(key, "no rows")
        for name, of_type in rows.features.items()
        for key, region in ((f"{name}/{feature}", region) for feature, region in of_type.items())
        if key in expected or not key.endswith(f"/{TRAINERS}")
    }
    yield from differences("features", rows.features_path.name, expected, found)
    expected, found = (
        {f"original IDs of {name}": "one per row" for name in names} for names in (rows.ids.names, rows.originals)
    )
    yield from differences(ORIGINALS, rows.originals_file, expected, found)
