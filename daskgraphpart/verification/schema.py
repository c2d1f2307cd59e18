"""Counts, types and dtypes of the partitions against those of the input: headers only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.verification.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.schema import RowType
    from daskgraphpart.storage.region import Region


def verify_schema(graph: ChunkedGraph, parts: PartitionedGraph) -> list[Finding]:
    """Compare types, counts, dtypes and shapes; whether the ranges of the config are what the files hold."""
    return list(_findings(graph, parts))


def _findings(graph: ChunkedGraph, parts: PartitionedGraph) -> Iterator[Finding]:
    schema, config, book = graph.schema, str(parts.path), parts.book
    for what, expected, found in (
        ("node types", schema.ntypes, tuple(book.ntypes)),
        ("edge types", schema.etypes, tuple(book.etypes)),
    ):
        if expected != found:
            yield Finding("types", config, f"{what}: expected {', '.join(expected)}, found {', '.join(found)}")
            return
    kinds: list[tuple[Sequence[RowType], np.ndarray]] = [
        (schema.node_types, book.node_ranges),
        (schema.edge_types, book.edge_ranges),
    ]
    for types, ranges in kinds:
        for type_id, of_type in enumerate(types):
            count = int((ranges[:, type_id, 1] - ranges[:, type_id, 0]).sum())
            if count != of_type.num_rows:
                yield Finding("counts", config, f"{of_type.name}: expected {of_type.num_rows:,}, found {count:,}")
    for number in range(parts.num_parts):
        yield from _part_findings(graph, parts, parts.part(number), number)


def _part_findings(graph: ChunkedGraph, parts: PartitionedGraph, part: Part, number: int) -> Iterator[Finding]:
    book, schema = parts.book, graph.schema
    kinds = (
        (schema.node_types, book.node_ranges, part.node_regions, part.orig_nid_regions, "node_feat.dgl"),
        (schema.edge_types, book.edge_ranges, part.edge_regions, part.orig_eid_regions, "edge_feat.dgl"),
    )
    for types, ranges, data, originals, file in kinds:
        counts = (ranges[number, :, 1] - ranges[number, :, 0]).tolist()
        yield from _row_findings(types, counts, data, originals, f"part{number}/{file}")
    owned = int((book.edge_ranges[number, :, 1] - book.edge_ranges[number, :, 0]).sum())
    inner = int((book.node_ranges[number, :, 1] - book.node_ranges[number, :, 0]).sum())
    if part.graph.num_nodes < inner or part.graph.num_edges < owned:
        yield Finding(
            "counts",
            f"part{number}/graph.dgl",
            f"expected at least {inner:,} nodes and {owned:,} edges, "
            f"found {part.graph.num_nodes:,} and {part.graph.num_edges:,}",
        )


def _row_findings(
    types: Sequence[RowType],
    counts: Sequence[int],
    data: Mapping[str, Mapping[str, Region]],
    originals: Mapping[str, Region],
    file: str,
) -> Iterator[Finding]:
    for of_type, count in zip(types, counts, strict=True):
        if of_type.name not in originals or originals[of_type.name].shape != (count,):
            yield Finding(
                "original IDs", file, f"{of_type.name}: expected {count:,} original IDs in the file beside it"
            )
        for spec in of_type.data:
            region = data.get(of_type.name, {}).get(spec.name)
            expected = (spec.stored_dtype, (count, *spec.row_shape))
            if region is None or (region.dtype, region.shape) != expected:
                found = "nothing" if region is None else f"{region.dtype} {region.shape}"
                yield Finding(
                    "features", file, f"{of_type.name}/{spec.name}: expected {expected[0]} {expected[1]}, found {found}"
                )
