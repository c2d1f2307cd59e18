"""Compare data without original IDs: the passes of `unordered`, one after another."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from daskgraphpart.chunked.blocks import cut_rows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.verification import unordered
from daskgraphpart.verification.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.chunked.blocks import Block, InputFile
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.schema import RowType
    from daskgraphpart.verification.edge_pieces import EdgeStripe
    from daskgraphpart.verification.opened import Run

    FeatureFiles = Mapping[str, Mapping[str, tuple[InputFile, ...]]]


def verify_sets(
    graph: ChunkedGraph, parts: PartitionedGraph, run: Run, runner: Runner, row_nbytes: int
) -> tuple[list[Finding], int]:
    """Compare the rows of every feature with the input, without regard to their order.

    Parameters
    ----------
    graph : ChunkedGraph
        The input, with the types of the partitions.
    parts : PartitionedGraph
        The partitions.
    run : Run
        The run.
    runner : Runner
        Runs the passes.
    row_nbytes : int
        Bytes of features that one task reads.

    Returns
    -------
    findings : list of Finding
        What is wrong.
    num_rows : int
        Rows of features.
    """
    unordered.create_color_files(run, parts)
    in_turn: dict[int, list[unordered.RowUnit]] = defaultdict(list)
    for number, unit in _row_units(graph, parts, row_nbytes):
        in_turn[number].append(unit)  # features of a type add to the same colors, one after another
    passes = [Pass("hash-features", unordered.hash_feature, units, run, [1] * len(units)) for units in in_turn.values()]
    results = runner.run_in_turn("hash-features", passes) if passes else []
    sums: dict[tuple[str, int, str], list[int]] = defaultdict(lambda: [0, 0])
    num_rows = 0
    for pass_, of_pass in zip(passes, results, strict=True):
        for unit, total in zip(pass_.units, of_pass, strict=True):
            sums[unit.kind, unit.type_id, unit.spec.name][unit.block is None] += total
            num_rows += unit.block.num_rows if unit.block is not None else 0
    return [*_differing_features(parts, sums)], num_rows


def _row_units(
    graph: ChunkedGraph, parts: PartitionedGraph, row_nbytes: int
) -> Iterator[tuple[int, unordered.RowUnit]]:
    kinds: tuple[tuple[str, Sequence[RowType], FeatureFiles], ...] = (
        ("node", graph.schema.node_types, graph.node_files),
        ("edge", graph.schema.edge_types, graph.edge_data_files),
    )
    for kind, types, files in kinds:
        for type_id, of_type in enumerate(types):
            for number, spec in enumerate(of_type.data):
                step = max(1, row_nbytes // max(1, spec.row_nbytes))
                for block in cut_rows(files[of_type.name][spec.name], step):
                    yield number, unordered.RowUnit(kind, type_id, spec, block)
                for part in range(parts.num_parts):
                    low, high = parts.book.part_range(part, of_type.name)
                    for first in range(0, high - low, step):
                        stop = min(first + step, high - low)
                        yield number, unordered.RowUnit(kind, type_id, spec, None, part, first, stop)


def _differing_features(
    parts: PartitionedGraph, sums: Mapping[tuple[str, int, str], Sequence[int]]
) -> Iterator[Finding]:
    for (kind, type_id, feature), (expected, found) in sums.items():
        if (expected - found) % 2**unordered.WORD:
            name = (parts.ntypes if kind == "node" else parts.etypes)[type_id]
            what = f"{name}/{feature}: the rows of all parts are not those of the input, in whatever order"
            yield Finding("features", f"{kind}_feat.dgl", what, kind=name)


def verify_structure(
    blocks: Mapping[int, Sequence[Block]],
    stripes: Sequence[EdgeStripe],
    parts: PartitionedGraph,
    run: Run,
    runner: Runner,
) -> list[Finding]:
    """Compare nodes by rows and degrees, and edges by their ends; after `verify_sets` has found nothing.

    Parameters
    ----------
    blocks : mapping of int to sequence of Block
        Edges of the input, by number of the edge type.
    stripes : sequence of EdgeStripe
        Edges of the parts.
    parts, run, runner
        As in `verify_sets`.
    """
    units = [
        unordered.DegreeUnit(etype_id, end, of_side)
        for etype_id in range(len(parts.etypes))
        for end in (0, 1)
        for of_side in (tuple(blocks.get(etype_id, ())), None)
    ]
    sizes = [8 * run.num_edges[unit.etype_id] for unit in units]
    findings = _run(runner, Pass("count-degrees", unordered.count_degrees, units, run, sizes))
    stripe_sizes = [24 * (stripe.stop - stripe.first) for stripe in stripes]
    findings += _run(runner, Pass("verify-extra", unordered.extra_ends, stripes, run, stripe_sizes))
    if findings:
        return findings
    ntypes = list(range(len(parts.ntypes)))
    findings += _run(runner, Pass("hash-nodes", unordered.mix_degrees, ntypes, run, [8 * n for n in run.num_nodes]))
    edges = [unordered.EdgeUnit(etype_id, block) for etype_id, found in blocks.items() for block in found]
    edge_sizes = [16 * unit.block.num_rows for unit in edges]
    expected = [0] * len(parts.etypes)
    totals = runner.run(Pass("sum-input-edges", unordered.sum_input_edges, edges, run, edge_sizes))
    for unit, total in zip(edges, totals, strict=True):
        expected[unit.etype_id] += total
    by_stripe = runner.run(Pass("sum-part-edges", unordered.sum_part_edges, stripes, run, stripe_sizes))
    found = [sum(column) for column in zip(*by_stripe, strict=True)] or [0] * (len(parts.etypes) + 2)
    for etype, one, other in zip(parts.etypes, expected, found, strict=False):
        if (one - other) % 2**unordered.WORD:
            what = f"{etype}: edges join other nodes, or have other rows, than in the input"
            findings.append(Finding("edges as a set", "graph.dgl", what, kind=etype))
    if (found[-1] - found[-2]) % 2**unordered.WORD:
        findings.append(Finding("edges as a set", "graph.dgl", "edge IDs of CSR or CSC are not each there once"))
    return findings


def _run(runner: Runner, pass_: Pass) -> list[Finding]:  # type: ignore[type-arg]
    return [finding for found in runner.run(pass_) for finding in found]
