"""Compare the data of partitions with those of the input: the passes, one after another.

Temporary files take 12 bytes per edge (16 where edges have data, twice that from 2^31 edges on) and 12 per local node.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.blocks import cut_rows
from daskgraphpart.chunked.edge_blocks import edge_blocks
from daskgraphpart.dispatching.sizes import choose_sizes
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.atomic import scratch_directory
from daskgraphpart.storage.region import create_npy
from daskgraphpart.verification import edge_pieces, extra_edges, nodes, trace
from daskgraphpart.verification.edge_arrays import verify_edge_arrays
from daskgraphpart.verification.edges import EdgeCheck, slices_of_blocks, verify_edges
from daskgraphpart.verification.halo import HaloUnit, verify_halo
from daskgraphpart.verification.opened import Opening, Run
from daskgraphpart.verification.rows import RowCheck, RowConfig, sampled, verify_rows
from daskgraphpart.verification.set_contents import verify_sets, verify_structure
from daskgraphpart.verification.splits import verify_splits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.blocks import Block, InputFile
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.schema import RowType
    from daskgraphpart.verification.edge_pieces import EdgeStripe
    from daskgraphpart.verification.findings import Finding

    FeatureFiles = Mapping[str, Mapping[str, tuple[InputFile, ...]]]

PIECE_NBYTES = 192
"""Memory that an edge of a part takes while it is traced: ends, IDs, masks, blocks, the run."""

PIECES_PER_STRIPE = 4
MOST_PIECES = 256
"""Of all parts and of the input, more or less: for the slices between them, whose table the client holds."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is compared.

    Parameters
    ----------
    graph : ChunkedGraph
        The input, with the types of the partitions.
    parts : PartitionedGraph
        The partitions; their headers are as they should be.
    opening : Opening
        The same, for tasks.
    has_originals : bool
        Whether they have original IDs.
    out_edges : bool or None
        Whether they should have out edges, if that is known.
    """

    graph: ChunkedGraph
    parts: PartitionedGraph
    opening: Opening
    has_originals: bool
    out_edges: bool | None


def verify_contents(contents: Contents, runner: Runner, sample: float) -> tuple[list[Finding], int]:
    """Compare all data.

    Parameters
    ----------
    contents : Contents
        What is compared.
    runner : Runner
        Runs the passes.
    sample : float
        Share of the rows of features.

    Returns
    -------
    findings : list of Finding
        Everything that is wrong.
    num_rows : int
        Rows of features that were compared.
    """
    out = contents.parts.path.parent
    # in the system's directory if the partitions are read-only, or in a store
    beside = out if isinstance(out, Path) and os.access(out, os.W_OK) else tempfile.gettempdir()
    with scratch_directory(runner.resources.workspace or beside) as scratch:
        (scratch / "runs").mkdir()
        return _Passes.create(contents, runner, scratch).run(sample)


@dataclass(frozen=True, slots=True)
class _Passes:
    contents: Contents
    runner: Runner
    run_: Run

    @classmethod
    def create(cls, contents: Contents, runner: Runner, scratch: Path) -> _Passes:
        schema = contents.graph.schema
        most = max(1024, runner.resources.task_memory // PIECE_NBYTES)
        rows = min(most, max(1 << 18, schema.num_edges // MOST_PIECES))
        num_nodes, num_edges = (tuple(t.num_rows for t in types) for types in (schema.node_types, schema.edge_types))
        return cls(contents, runner, Run(contents.opening, str(scratch), num_nodes, num_edges, rows))

    def run(self, sample: float) -> tuple[list[Finding], int]:
        findings = self.nodes()
        findings += self.row_starts()
        if findings:
            return findings, 0  # edges and rows are looked up by these IDs
        findings += self.edges()
        if self.contents.has_originals:
            wrong, num_rows = self.rows(sample, edges_too=not findings)
        else:
            wrong, num_rows = self.sets(edges_too=not findings)
        return findings + wrong + self.splits(), num_rows

    def nodes(self) -> list[Finding]:
        run, parts = self.run_, self.contents.parts
        nodes.create_node_files(run, parts)
        units = nodes.node_stripes(parts, PIECES_PER_STRIPE * run.piece_rows)
        config = nodes.NodeConfig(run, self.contents.has_originals)
        sizes = [16 * (unit.stop - unit.first) for unit in units]
        findings = self._run(Pass("verify-nodes", nodes.verify_nodes, units, config, sizes))
        if findings or not self.contents.has_originals:
            return findings
        findings = self._run(Pass("map-nodes", nodes.map_nodes, units, config, sizes))
        rows = PIECES_PER_STRIPE * run.piece_rows
        stripes = [
            nodes.OnceStripe(type_id, first, min(first + rows, count))
            for type_id, count in enumerate(run.num_nodes)
            for first in range(0, count, rows)
        ]
        once_sizes = [8 * (unit.stop - unit.first) for unit in stripes]
        return findings + self._run(Pass("verify-once", nodes.verify_once, stripes, config, once_sizes))

    def row_starts(self) -> list[Finding]:
        numbers = list(range(self.contents.parts.num_parts))
        sizes = [8 * part.graph.num_nodes for part in self.contents.parts.parts]
        return self._run(Pass("verify-row-starts", edge_pieces.verify_row_starts, numbers, self.run_, sizes))

    def edges(self) -> list[Finding]:
        run, parts = self.run_, self.contents.parts
        rows = PIECES_PER_STRIPE * run.piece_rows
        stripes = edge_pieces.edge_stripes(parts, rows, lambda graph: [edge_pieces.main_format(graph)])
        sizes = [37 * (unit.stop - unit.first) for unit in stripes]
        findings = self._run(Pass("verify-edge-arrays", verify_edge_arrays, stripes, run, sizes))
        findings += self.formats(rows)
        if findings:
            return findings
        blocks = self._blocks() if self.contents.has_originals else []
        traced = self.runner.run(Pass("trace-edges", trace.trace_stripe, stripes, self._trace_config(blocks), sizes))
        findings = [finding for found in traced for finding in found.findings]
        if findings:
            return findings
        numbers = np.bincount([unit.part for unit in stripes], minlength=parts.num_parts).tolist()
        halo = [HaloUnit(part, count) for part, count in enumerate(numbers)]
        findings = self._run(Pass("verify-halo", verify_halo, halo, run, [1] * len(halo)))
        findings += self.extra(stripes, traced)
        if not self.contents.has_originals:
            return findings
        findings += self._compare(blocks, traced)
        shutil.rmtree(run.runs)
        return findings

    def _trace_config(self, blocks: Sequence[EdgeCheck]) -> trace.TraceConfig:
        starts = [self.run_.first_edges[unit.type_id] + unit.block.first_row for unit in blocks]
        has_data = any(edge_type.data for edge_type in self.contents.graph.schema.edge_types)
        num_columns = 3 + has_data if self.contents.has_originals else 0
        return trace.TraceConfig(self.run_, np.array(starts, np.int64), num_columns)

    def _blocks(self) -> list[EdgeCheck]:
        """Cut the edges of the input; blocks come in the order of original homogeneous IDs."""
        schema, sizes = self.contents.graph.schema, choose_sizes(self.runner.resources)
        rows = min(max(sizes.edge_block_rows, schema.num_edges // MOST_PIECES), self.runner.resources.task_memory // 96)
        text = 2 * sizes.csv_block_bytes // 3  # beside the edges of a block there are those that parts hold of it
        found = edge_blocks(self.contents.graph, max(1, rows), max(1, text), self.runner)
        return [
            EdgeCheck(type_id, block, (), bool(edge_type.data))
            for type_id, edge_type in enumerate(schema.edge_types)
            for block in found.get(edge_type.name, [])
        ]

    def _compare(self, blocks: Sequence[EdgeCheck], traced: Sequence[trace.Traced]) -> list[Finding]:
        run, schema = self.run_, self.contents.graph.schema
        for type_id, edge_type in enumerate(schema.edge_types):
            if edge_type.data:
                create_npy(run.new_eids(type_id), run.eid_dtype, (edge_type.num_edges,))
        slices = slices_of_blocks([found for one in traced for found in one.runs], len(blocks))
        units = [
            EdgeCheck(unit.type_id, unit.block, tuple(of_block), unit.has_data)
            for unit, of_block in zip(blocks, slices, strict=True)
        ]
        sizes = [40 * unit.block.num_rows for unit in units]
        return self._run(Pass("verify-edges", verify_edges, units, run, sizes))

    def formats(self, rows: int) -> list[Finding]:
        run, parts = self.run_, self.contents.parts
        units = edge_pieces.edge_stripes(parts, rows, edge_pieces.compared_formats)
        sizes = [24 * (unit.stop - unit.first) for unit in units]
        sums = self.runner.run(Pass("verify-formats", edge_pieces.sum_formats, units, run, sizes))
        findings = [*edge_pieces.compare_sums(units, sums, run)]
        units = edge_pieces.edge_stripes(parts, rows, edge_pieces.claimed_formats)
        sizes = [24 * (unit.stop - unit.first) for unit in units]
        return findings + self._run(Pass("verify-claims", edge_pieces.claim_findings, units, run, sizes))

    def extra(self, stripes: Sequence[EdgeStripe], traced: Sequence[trace.Traced]) -> list[Finding]:
        parts, hops = self.contents.parts, self.contents.parts.config.halo_hops
        if hops == 1:
            counts = extra_edges.counts_of_one_hop(parts.num_parts, stripes, traced)
        else:
            resources, num_nodes = self.runner.resources, sum(self.run_.num_nodes)
            groups = extra_edges.hop_groups(parts, num_nodes, resources.task_memory // 2, resources.workers)
            config = extra_edges.HopConfig(self.run_, hops)
            pass_ = Pass("verify-hops", extra_edges.count_extra_edges, groups, config, [1] * len(groups))
            counts = [found for of_group in self.runner.run(pass_) for found in of_group]
        return [*extra_edges.extra_edge_findings(counts, self.contents.out_edges)]

    def rows(self, sample: float, *, edges_too: bool) -> tuple[list[Finding], int]:
        graph, resources = self.contents.graph, self.runner.resources
        kinds: list[tuple[str, Sequence[RowType], FeatureFiles]] = [("node", graph.schema.node_types, graph.node_files)]
        if edges_too:
            kinds.append(("edge", graph.schema.edge_types, graph.edge_data_files))
        most = choose_sizes(resources).row_block_bytes
        units = [
            RowCheck(kind, type_id, spec, block if sample == 1 else sampled(block, sample, spec.name))
            for kind, types, files in kinds
            for type_id, of_type in enumerate(types)
            for spec in of_type.data
            for block in cut_rows(files[of_type.name][spec.name], max(1, most // max(1, spec.row_nbytes)))
        ]
        sizes = [2 * unit.block.num_rows * unit.spec.row_nbytes for unit in units]
        config = RowConfig(self.run_, resources.task_memory // 4)
        findings = self._run(Pass("verify-rows", verify_rows, units, config, sizes))
        return findings, sum(unit.block.num_rows for unit in units)

    def sets(self, *, edges_too: bool) -> tuple[list[Finding], int]:
        """Compare without original IDs."""
        graph, parts = self.contents.graph, self.contents.parts
        most = choose_sizes(self.runner.resources).row_block_bytes
        findings, num_rows = verify_sets(graph, parts, self.run_, self.runner, most)
        if edges_too and not findings:
            blocks: dict[int, list[Block]] = defaultdict(list)
            for unit in self._blocks():
                blocks[unit.type_id].append(unit.block)
            rows = PIECES_PER_STRIPE * self.run_.piece_rows
            stripes = edge_pieces.edge_stripes(parts, rows, lambda graph: [edge_pieces.main_format(graph)])
            findings += verify_structure(blocks, stripes, parts, self.run_, self.runner)
        return findings, num_rows

    def splits(self) -> list[Finding]:
        numbers = [part.part_id for part in self.contents.parts.parts if part.split_nids]
        return self._run(Pass("verify-splits", verify_splits, numbers, self.run_, [1] * len(numbers)))

    def _run(self, pass_: Pass) -> list[Finding]:  # type: ignore[type-arg]
        return [finding for found in self.runner.run(pass_) for finding in found]
