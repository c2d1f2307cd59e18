"""Pass `verify-headers`: what each part's files say they hold, against the config and the input. No data are read.

That arrays have the rows that a part owns is checked where a part is opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.layouts.dgl_graph_file import FORMAT_BITS
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, check_part, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.schema import GraphSchema, RowType

FLAG_DTYPES = ("uint8", "int8", "int32")
"""Of `inner_node` and `inner_edge`: uint8 since DGL 1.0, before that int32 of nodes and int8 of edges."""

TYPE_DTYPES = ("int32", "int64")
"""Of `_TYPE`: int32 since DGL 1.0, int64 from its older pipeline."""

TRAINERS = "trainer_id"
"""A feature that partitioning adds, one number per node or edge."""


@dataclass(frozen=True, slots=True)
class PartHeaders:
    """What the headers of a part say; what is wrong with original IDs counts only if there should be any."""

    findings: list[Finding]
    originals: list[Finding]
    has_originals: bool
    num_nodes: int
    num_edges: int
    formats: tuple[str, ...]


def config_findings(schema: GraphSchema, parts: PartitionedGraph) -> Iterator[Finding]:
    """Compare the numbers of the config with the input."""
    config, file = parts.config, parts.path.name
    for what, expected, found in (
        ("num_nodes", schema.num_nodes, config.num_nodes),
        ("num_edges", schema.num_edges, config.num_edges),
    ):
        if expected != found:
            yield Finding("counts", file, what, expected=f"{expected:,}", found=f"{found:,}")
    kinds: tuple[tuple[Sequence[RowType], np.ndarray], ...] = (
        (schema.node_types, parts.book.node_counts),
        (schema.edge_types, parts.book.edge_counts),
    )
    for types, counts in kinds:
        for of_type, count in zip(types, counts.sum(axis=0).tolist(), strict=True):
            if count != of_type.num_rows:
                yield Finding(
                    "counts", file, f"ranges of {of_type.name}", kind=of_type.name,
                    expected=f"{of_type.num_rows:,} in all parts", found=f"{count:,}",
                )  # fmt: skip
    if config.halo_hops < 1:
        yield Finding("config", file, "halo_hops", expected="1 or more", found=str(config.halo_hops))


def verify_headers(numbers: tuple[int, ...], run: Run) -> list[PartHeaders]:
    """Check the headers of all files of some parts."""
    return [_headers_of(part, run) for part in map(opened(run).part, numbers)]


def _headers_of(part: Part, run: Run) -> PartHeaders:
    wrong = check_part(part, lambda part: _check_headers(part, run.schema))
    originals = check_part(part, _originals)
    if wrong:
        return PartHeaders(wrong, originals, True, 0, 0, ())
    has_originals = not originals or any(finding.found != "nothing" for finding in originals)
    return PartHeaders(
        [], originals, has_originals, part.graph.num_nodes, part.graph.num_edges, tuple(part.graph.formats)
    )


def _check_headers(part: Part, schema: GraphSchema) -> Iterator[Finding]:
    yield from _graph(part)
    yield from _rows(part, "node", schema.node_types)
    yield from _rows(part, "edge", schema.edge_types)
    yield from _splits(part)


def _graph(part: Part) -> Iterator[Finding]:
    graph, book, number, file = part.graph, part.book, part.part_id, f"part{part.part_id}/graph.dgl"
    has_types = len(book.ntypes) > 1 or len(book.etypes) > 1
    for kind, arrays, flag in (("node", graph.node_arrays, "inner_node"), ("edge", graph.edge_arrays, "inner_edge")):
        if has_types and "_TYPE" not in arrays:
            yield Finding("arrays", file, f"{kind} data '_TYPE' is missing", number)
        known = {"_ID": ("int64",), flag: FLAG_DTYPES, "_TYPE": TYPE_DTYPES, "part_id": ("int64",)}
        for name, dtypes in known.items():
            region = arrays.get(name)
            if region is not None and (region.dtype.name not in dtypes or len(region.shape) != 1):
                yield Finding(
                    "dtypes", file, f"{kind} data {name!r}", number,
                    expected=f"{' or '.join(dtypes)}, one axis", found=f"{region.dtype.name} {region.shape}",
                )  # fmt: skip
    for name, arrays in graph.formats.items():
        wrong = {region.dtype.name for region in arrays.values()} - {"int64"}
        if wrong:
            yield Finding("dtypes", file, f"{name} matrix", number, expected="int64", found=", ".join(wrong))
        if not graph.may_make & FORMAT_BITS[name]:
            yield Finding("formats", file, f"{name} is stored, but not among the formats that DGL may make", number)


def _rows(part: Part, kind: str, types: Sequence[RowType]) -> Iterator[Finding]:
    number = part.part_id
    ranges = (part.book.node_ranges if kind == "node" else part.book.edge_ranges)[number]
    data = part.node_regions if kind == "node" else part.edge_regions
    file = f"part{number}/{kind}_feat.dgl"
    for of_type, (start, stop) in zip(types, ranges.tolist(), strict=True):
        found, wanted = data.get(of_type.name, {}), {spec.name: spec for spec in of_type.data}
        for name, spec in wanted.items():
            region, shape = found.get(name), (stop - start, *spec.row_shape)
            if region is not None and region.num_rows == shape[0] == 0:
                continue  # DGL's pipeline writes a placeholder of any dtype for a type that a part has nothing of
            if region is None or (region.dtype, region.shape) != (spec.stored_dtype, shape):
                yield Finding(
                    "features", file, f"{of_type.name}/{name}", number, of_type.name,
                    expected=f"{spec.stored_dtype.name} {shape}",
                    found="nothing" if region is None else f"{region.dtype.name} {region.shape}",
                )  # fmt: skip
        for name in found.keys() - wanted.keys():
            if name != TRAINERS or found[name].num_rows != stop - start:
                yield Finding("features", file, f"{of_type.name}/{name} is not in the input", number, of_type.name)
    for name in data.keys() - {of_type.name for of_type in types}:
        yield Finding("features", file, f"there is no type {name!r}", number, name)


def _originals(part: Part) -> Iterator[Finding]:
    number, book = part.part_id, part.book
    for kind, types, ranges, found in (
        ("n", book.ntypes, book.node_ranges, part.orig_nid_regions),
        ("e", book.etypes, book.edge_ranges, part.orig_eid_regions),
    ):
        file = f"part{number}/orig_{kind}ids.dgl"
        for name, (start, stop) in zip(types, ranges[number].tolist(), strict=True):
            if name not in found:
                yield Finding(
                    "original IDs", file, f"original IDs of {name}", number, name,
                    expected=f"int64 ({stop - start},)", found="nothing",
                )  # fmt: skip
        for name in found.keys() - set(types):
            yield Finding("original IDs", file, f"there is no type {name!r}", number, name)


def _splits(part: Part) -> Iterator[Finding]:
    for key, ids in part.split_nids.items():
        ntype, _, mask = key.rpartition("/")
        marks = part.node_regions.get(ntype, {}).get(mask)
        if marks is None or ids.dtype != np.int64 or ids.ndim != 1:
            file = f"part{part.part_id}/split_nids.dgl"
            yield Finding("split", file, f"{key}: not the IDs of a mask that the part has", part.part_id, ntype)
