"""Compare partitions with the graph they were made from: counts, ranges, every node, every edge, every row.

Out of core and in parallel: nodes by part, edges and rows by block of the input. It relies on one promise of ours, that
original IDs ascend inside (part, type), and reports where it is not kept.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.blocks import cut_rows
from daskgraphpart.chunked.edge_blocks import edge_blocks
from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.engine.plan import Pass
from daskgraphpart.engine.resources import Resources, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import LayoutError
from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions
from daskgraphpart.storage.region import create_npy
from daskgraphpart.verification.edges import EdgeCheck, EdgeConfig, verify_edges
from daskgraphpart.verification.findings import Finding, Report
from daskgraphpart.verification.formats import verify_formats
from daskgraphpart.verification.nodes import NodeConfig, OnceConfig, verify_nodes, verify_once
from daskgraphpart.verification.opened import Run
from daskgraphpart.verification.rows import RowCheck, verify_rows
from daskgraphpart.verification.schema import verify_schema

if TYPE_CHECKING:
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.runner import Runner

BLOCK_BYTES = 32 << 20


def verify(
    graph: ChunkedGraph | str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    resources: Resources | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check that partitions hold every node, edge and row of a graph exactly once, where they belong.

    Parameters
    ----------
    graph : ChunkedGraph or path
        The input.
    out_dir : path
        The partitions, or their config.
    resources : Resources, optional
        What may be used; default all processors and half of the memory.
    progress : Progress, optional
        Told how far things are.

    Returns
    -------
    Report
    """
    graph = graph if isinstance(graph, ChunkedGraph) else read_chunked(graph)
    try:
        parts = open_partitions(out_dir)
    except LayoutError as error:
        return Report((Finding("layout", error.file or os.fspath(out_dir), str(error)),), 0, 0, 0)
    findings = verify_schema(graph, parts)
    if findings:
        return Report(tuple(findings), 0, 0, 0)
    resources = resources or detect_resources()
    scratch = Path(tempfile.mkdtemp(prefix="daskgraphpart-verify-", dir=resources.workspace))
    try:
        with open_runner(resources, progress) as runner:
            findings = _verify_data(graph, parts, scratch, runner)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    num_rows = sum(len(t.data) * t.num_rows for t in graph.schema.row_types)
    return Report(tuple(findings), graph.schema.num_nodes, graph.schema.num_edges, num_rows)


def _verify_data(graph: ChunkedGraph, parts: PartitionedGraph, scratch: Path, runner: Runner) -> list[Finding]:
    schema, numbers = graph.schema, list(range(parts.num_parts))
    run = Run(str(parts.path), str(scratch))
    originals = create_npy(scratch / "originals.npy", np.dtype("<i8"), (schema.num_nodes,))
    node_config = NodeConfig(run, originals)
    sizes = [parts.part(part).graph.num_nodes * 16 for part in numbers]
    findings = _run(runner, Pass("verify-nodes", verify_nodes, numbers, node_config, sizes))
    once = OnceConfig(originals, parts.book, tuple(t.num_nodes for t in schema.node_types))
    type_sizes = [8 * t.num_nodes for t in schema.node_types]
    findings += _run(runner, Pass("verify-once", verify_once, list(range(len(type_sizes))), once, type_sizes))
    if findings:
        return findings  # edges and rows are looked up by these IDs
    format_sizes = [parts.part(part).graph.num_edges * 24 for part in numbers]
    findings += _run(runner, Pass("verify-formats", verify_formats, numbers, run, format_sizes))
    if findings:
        return findings
    blocks = edge_blocks(graph, BLOCK_BYTES // 32, BLOCK_BYTES // 2, runner)
    edges = [EdgeCheck(t, block) for t in schema.edge_types for block in blocks.get(t.name, [])]
    edge_config = EdgeConfig(run, originals)
    edge_sizes = [40 * unit.block.num_rows for unit in edges]
    findings += _run(runner, Pass("verify-edges", verify_edges, edges, edge_config, edge_sizes))
    return findings + _verify_rows(graph, run, runner)


def _verify_rows(graph: ChunkedGraph, run: Run, runner: Runner) -> list[Finding]:
    kinds = (
        ("node", graph.schema.node_types, graph.node_files),
        ("edge", graph.schema.edge_types, graph.edge_data_files),
    )
    units = [
        RowCheck(kind, of_type.name, spec, block)
        for kind, types, files in kinds
        for of_type in types
        for spec in of_type.data
        for block in cut_rows(files[of_type.name][spec.name], max(1, BLOCK_BYTES // max(1, spec.row_nbytes)))
    ]
    sizes = [2 * unit.block.num_rows * unit.spec.row_nbytes for unit in units]
    return _run(runner, Pass("verify-rows", verify_rows, units, run, sizes))


def _run(runner: Runner, pass_: Pass) -> list[Finding]:  # type: ignore[type-arg]
    return [finding for found in runner.run(pass_) for finding in found]
