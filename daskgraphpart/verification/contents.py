"""Compare the data of partitions with those of the input: the passes, one after another.

Temporary files take 5 bytes per node (9 from 2^31 nodes on), and where there is more than one hop of HALO nodes 8 bytes
per node and HALO node more.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.edge_blocks import edge_blocks
from daskgraphpart.dispatching.sizes import choose_sizes
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.atomic import scratch_directory
from daskgraphpart.storage.region import create_mapped_npy, create_npy
from daskgraphpart.storage.runs import id_dtype
from daskgraphpart.verification.edges import EdgeSums, InputEdges, sum_edges, verify_edges
from daskgraphpart.verification.explain_edges import ExplainConfig, explain_edges
from daskgraphpart.verification.extra_edges import ExtraUnit, extra_findings, verify_extra
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.manifest import cut_findings
from daskgraphpart.verification.nodes import verify_nodes, verify_once
from daskgraphpart.verification.opened import (
    NUM_WINDOWS,
    Run,
    differing_windows,
    group_parts,
    pieces,
    window_size,
)
from daskgraphpart.verification.rows import (
    Feature,
    RowConfig,
    explain_rows,
    row_blocks,
    sampled_stretches,
    sum_rows,
    verify_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.schema import RowType

MAX_EXPLAINED = 16
"""Windows of IDs of which examples are sought; the others are as wrong."""


def compare_contents(
    graph: ChunkedGraph, parts: PartitionedGraph, manifest: Manifest | None, run: Run, runner: Runner, sample: float
) -> tuple[list[Finding], int]:
    """Compare all data; return what is wrong, and how many rows of features were compared."""
    out = parts.path.parent
    # in the system's directory if the partitions are read-only, or in a store
    beside = out if isinstance(out, Path) and os.access(out, os.W_OK) else tempfile.gettempdir()
    with scratch_directory(runner.resources.workspace or beside) as scratch:
        return _Passes(graph, parts, manifest, replace(run, scratch=str(scratch)), runner).run(sample)


@dataclass(frozen=True, slots=True)
class _Passes:
    graph: ChunkedGraph
    parts: PartitionedGraph
    manifest: Manifest | None
    run_: Run
    runner: Runner

    def run(self, sample: float) -> tuple[list[Finding], int]:
        findings = self.nodes() or self.edges()
        if findings and self.run_.has_originals:
            return findings, 0  # rows are compared by the original IDs of sound nodes and edges
        wrong, num_rows = self.rows(sample)
        return findings + wrong, num_rows

    def nodes(self) -> list[Finding]:
        """Check the nodes of all parts, and that they are the nodes of the input."""
        run = self.run_
        total = sum(run.num_nodes)
        create_npy(run.original_nids_path, id_dtype(total), (total,))
        create_mapped_npy(run.seen_path, np.uint8, (total,))
        sizes = self._sizes(self.parts.book.node_ranges, 17)
        found = self._run("verify-nodes", verify_nodes, self._groups, run, sizes)
        findings = [finding for of in found for finding in of]
        if findings or not run.has_originals:
            return findings
        units = [*pieces(0, total, window_size(total))]
        return [f for of in self._run("verify-once", verify_once, units, run, [1] * len(units)) for f in of]

    def edges(self) -> list[Finding]:
        """Check the edges of all parts, and that they are the edges of the input."""
        run = self.run_
        if run.has_extra and run.num_hops > 1:
            create_mapped_npy(run.in_sums_path, np.uint64, (sum(run.num_nodes),))
        sizes = self._sizes(self.parts.book.edge_ranges, 37)
        found = self._run("verify-edges", verify_edges, self._groups, run, sizes)
        findings = [finding for of in found for finding in of.findings]
        if findings:
            return findings
        if self.manifest is not None:
            findings += cut_findings(self.manifest, sum(of.num_cut for of in found))
        if run.has_extra:
            findings += self.extra(found)
        if run.has_originals:
            findings += self.compare_edges(_sum([of.sums for of in found]))
        return findings

    def extra(self, found: Sequence[EdgeSums]) -> list[Finding]:
        """Check the edges that parts hold without owning them."""
        num_parts, manifest = self.parts.num_parts, self.manifest
        counts, sums = np.zeros(num_parts, np.int64), np.zeros(num_parts, np.uint64)
        for of in found:
            counts[of.owners] += of.out_counts
            sums[of.owners] += of.out_sums
        units = [
            ExtraUnit(group, tuple(counts[list(group)].tolist()), tuple(sums[list(group)].tolist()))
            for group in self._groups
        ]
        wanted = None if manifest is None else manifest.content.get("out_edges")
        sizes = self._sizes(self.parts.book.edge_ranges, 16)
        return extra_findings(self._run("verify-extra", verify_extra, units, self.run_, sizes), wanted)

    def compare_edges(self, found: np.ndarray) -> list[Finding]:
        """Compare the sums of all parts with those of the input."""
        run, blocks = self.run_, self._input_blocks()
        sizes = [40 * unit.block.num_rows for unit in blocks]
        expected = _sum(self._run("sum-edges", sum_edges, blocks, run, sizes))
        differ = differing_windows(expected, found, run.edge_window, sum(run.num_edges))
        return self._explain("explain-edges", explain_edges, differ, ExplainConfig(run, tuple(blocks)))

    def _input_blocks(self) -> list[InputEdges]:
        sizes = choose_sizes(self.runner.resources)
        found = edge_blocks(self.graph, sizes.edge_block_rows, sizes.csv_block_bytes, self.runner)
        return [
            InputEdges(type_id, block)
            for type_id, edge_type in enumerate(self.graph.schema.edge_types)
            for block in found.get(edge_type.name, [])
        ]

    def rows(self, sample: float) -> tuple[list[Finding], int]:
        """Compare the rows of all features."""
        fraction = sample if self.run_.has_originals else 1.0
        nbytes = choose_sizes(self.runner.resources).row_block_bytes
        features = tuple(self._features(fraction))
        config = RowConfig(self.run_, features, nbytes)
        found = self._run("verify-rows", verify_rows, self._groups, config, [1] * len(self._groups))
        findings = [finding for of in found for finding in of.findings]
        expected = np.zeros((len(features), NUM_WINDOWS), np.uint64)
        units = row_blocks(config)
        sizes = [unit.block.num_rows * features[unit.number].spec.row_nbytes for unit in units]
        for unit, of_block in zip(units, self._run("sum-rows", sum_rows, units, config, sizes), strict=True):
            expected[unit.number] += of_block
        sums = sum((of.sums for of in found), np.zeros_like(expected))
        for number, feature in enumerate(features):
            windows = differing_windows(expected[number], sums[number], feature.window, feature.num_rows)
            if windows and not self.run_.has_originals:
                what = f"{feature.type_name}/{feature.spec.name}: the rows of all parts are not those of the input"
                findings.append(Finding("features", f"{feature.kind}_feat.dgl", what, kind=feature.type_name))
            else:
                units_of = [(number, *window) for window in windows]
                findings += self._explain("explain-rows", explain_rows, units_of, config)
        return findings, sum(feature.num_compared for feature in features)

    def _features(self, fraction: float) -> list[Feature]:
        graph = self.graph
        kinds: tuple[tuple[str, Sequence[RowType], Mapping[str, Mapping[str, tuple[InputFile, ...]]]], ...] = (
            ("node", graph.schema.node_types, graph.node_files),
            ("edge", graph.schema.edge_types, graph.edge_data_files),
        )
        return [
            Feature(
                kind, type_id, of_type.name, spec, files[of_type.name][spec.name], of_type.num_rows,
                sampled_stretches(of_type.num_rows, fraction, spec.name),
            )
            for kind, types, files in kinds
            for type_id, of_type in enumerate(types)
            for spec in of_type.data
        ]  # fmt: skip

    @property
    def _groups(self) -> list[tuple[int, ...]]:
        return group_parts(self.parts.num_parts)

    def _sizes(self, ranges: np.ndarray, nbytes: int) -> list[int]:
        """Bytes that the parts of each group move, for progress."""
        counts = (ranges[:, :, 1] - ranges[:, :, 0]).sum(axis=1)
        return [nbytes * int(counts[list(group)].sum()) for group in self._groups]

    def _run(
        self, name: str, task: Callable[[Any, Any], Any], units: Sequence[Any], config: Any, sizes: Sequence[int]
    ) -> list[Any]:
        return self.runner.run(Pass(name, task, units, config, sizes))

    def _explain(
        self, name: str, task: Callable[[Any, Any], list[Finding]], windows: Sequence[Any], config: Any
    ) -> list[Finding]:
        """Compare the IDs of windows whose sums differ one by one."""
        chosen = windows[:MAX_EXPLAINED]
        findings = [finding for of in self._run(name, task, chosen, config, [1] * len(chosen)) for finding in of]
        if windows and not findings:
            findings.append(
                Finding(name, "", "sums differ, and single IDs do not", found="files that change meanwhile")
            )
        return findings


def _sum(sums: Sequence[np.ndarray]) -> np.ndarray:
    return sum(sums, np.zeros(NUM_WINDOWS, np.uint64))
