"""The input under the names, and in the order, that the partitions have its types in.

DGL orders types by name and calls those of a homogeneous graph `_N` and `_N:_E:_N`; ours keep those of the input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from daskgraphpart.book import canonical_tuple
from daskgraphpart.schema import EdgeType, GraphSchema
from daskgraphpart.verification.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.partitioned.graph import PartitionedGraph

T = TypeVar("T")
DGL_NODE, DGL_EDGE = "_N", "_N:_E:_N"


def type_findings(graph: ChunkedGraph, parts: PartitionedGraph) -> Iterator[Finding]:
    """Compare the sets of types."""
    schema = _renamed(graph, parts).schema
    for what, expected, found in (
        ("node types", schema.ntypes, parts.ntypes),
        ("edge types", schema.etypes, parts.etypes),
    ):
        if sorted(expected) != sorted(found):
            yield Finding(
                "types", parts.path.name, what, expected=", ".join(expected) or "none", found=", ".join(found) or "none"
            )


def aligned(graph: ChunkedGraph, parts: PartitionedGraph) -> ChunkedGraph:
    """Return the input with the types of the partitions; `type_findings` has found nothing."""
    graph = _renamed(graph, parts)
    schema = GraphSchema(
        graph.schema.name,
        tuple(graph.schema.node_type(name) for name in parts.ntypes),
        tuple(graph.schema.edge_type(name) for name in parts.etypes),
    )
    return replace(graph, schema=schema)


def _renamed(graph: ChunkedGraph, parts: PartitionedGraph) -> ChunkedGraph:
    schema, source = graph.schema, graph.source
    if schema.is_heterogeneous or parts.ntypes != (DGL_NODE,) or parts.etypes != (DGL_EDGE,) or not schema.etypes:
        return graph
    node_type, edge_type = schema.node_types[0], schema.edge_types[0]
    renamed = EdgeType(*canonical_tuple(DGL_EDGE), edge_type.num_edges, edge_type.data)
    names = {node_type.name: DGL_NODE, edge_type.name: DGL_EDGE}

    def under_new(of_types: Mapping[str, T]) -> dict[str, T]:
        return {names[name]: of_type for name, of_type in of_types.items()}

    return replace(
        graph,
        schema=GraphSchema(schema.name, (replace(node_type, name=DGL_NODE),), (renamed,)),
        edge_files=under_new(graph.edge_files),
        data_files=under_new(graph.data_files),
        source=source
        and replace(
            source,
            edges=under_new(source.edges),
            edge_lengths=under_new(source.edge_lengths),
            data=under_new(source.data),
        ),
    )
