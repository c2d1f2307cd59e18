"""Compare the data of partitions with those of the input: the passes, one after another.

Temporary files take 5 bytes per node (9 from 2^31 nodes on), and where there is more than one hop of HALO nodes 8 bytes
per node and HALO node more. Where sums differ, rows of at most 16 of 256 windows of the input are kept, too.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.partitions import edge_partitions, row_partitions
from daskgraphpart.dispatching.sizes import choose_sizes
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.atomic import scratch_directory
from daskgraphpart.storage.region import create_mapped_npy, create_npy
from daskgraphpart.storage.runs import id_dtype
from daskgraphpart.verification.edges import EdgeSums, sum_edges, verify_edges
from daskgraphpart.verification.explain_edges import ExplainConfig, explain_edges, keep_edges
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
    ExplainRows,
    Feature,
    InputRows,
    RowConfig,
    explain_rows,
    keep_rows,
    sampled_stretches,
    sum_rows,
    verify_rows,
)
from daskgraphpart.verification.windows import create_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.chunked.partitions import Partition
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.schema import RowType
    from daskgraphpart.verification.windows import Windows


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
        sizes = self._sizes(self.parts.book.node_counts, 17)
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
        sizes = self._sizes(self.parts.book.edge_counts, 37)
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
        sizes = self._sizes(self.parts.book.edge_counts, 16)
        return extra_findings(self._run("verify-extra", verify_extra, units, self.run_, sizes), wanted)

    def compare_edges(self, found: np.ndarray) -> list[Finding]:
        """Compare the sums of all parts with those of the input."""
        run, bites = self.run_, choose_sizes(self.runner.resources)
        inputs = edge_partitions(self.graph, bites.edge_block_rows, bites.csv_block_bytes, self.runner)
        partitions = [partition for _, partition in inputs]
        units = [partition.rows for partition in partitions]
        expected = _sum(self._run_on(partitions, "sum-edges", sum_edges, units, run, [40 * u.num_rows for u in units]))
        differ = differing_windows(expected, found, run.edge_window, sum(run.num_edges))
        if not differ:
            return []
        windows = create_windows(f"{run.scratch}/input-edges.npy", differ, np.dtype(np.int64), (2,))
        firsts = dict(zip(run.schema.etypes, run.first_edges.tolist(), strict=False))
        wanted = [p for p in partitions if windows.overlaps(firsts[p.rows.name] + p.rows.first_row, p.rows.num_rows)]
        config = ExplainConfig(run, windows)
        self._run_on(wanted, "keep-edges", keep_edges, [p.rows for p in wanted], config, [1] * len(wanted))
        return self._explain("explain-edges", explain_edges, windows, config)

    def rows(self, sample: float) -> tuple[list[Finding], int]:
        """Compare the rows of all features."""
        fraction = sample if self.run_.has_originals else 1.0
        nbytes = choose_sizes(self.runner.resources).row_block_bytes
        features = tuple(self._features(fraction))
        config = RowConfig(self.run_, features, nbytes)
        found = self._run("verify-rows", verify_rows, self._groups, config, [1] * len(self._groups))
        findings = [finding for of in found for finding in of.findings]
        expected = np.zeros((len(features), NUM_WINDOWS), np.uint64)
        inputs = [
            (InputRows(number, partition.rows), partition)
            for number, feature in enumerate(features)
            for partition in self._partitions_of(feature, config)
        ]
        units, partitions = [unit for unit, _ in inputs], [partition for _, partition in inputs]
        sizes = [unit.rows.num_rows * features[unit.number].spec.row_nbytes for unit in units]
        sums_of_units = self._run_on(partitions, "sum-rows", sum_rows, units, config, sizes)
        for unit, of_unit in zip(units, sums_of_units, strict=True):
            expected[unit.number] += of_unit
        sums = sum((of.sums for of in found), np.zeros_like(expected))
        for number, feature in enumerate(features):
            differ = differing_windows(expected[number], sums[number], feature.window, feature.num_rows)
            if differ and not self.run_.has_originals:
                what = f"{feature.type_name}/{feature.spec.name}: the rows of all parts are not those of the input"
                findings.append(Finding("features", f"{feature.kind}_feat.dgl", what, kind=feature.type_name))
            elif differ:
                findings += self._explain_rows(number, differ, config)
        return findings, sum(feature.num_compared for feature in features)

    def _explain_rows(self, number: int, differ: list[tuple[int, int]], config: RowConfig) -> list[Finding]:
        feature, path = config.features[number], f"{self.run_.scratch}/input-rows-{number}.npy"
        windows = create_windows(path, differ, feature.spec.stored_dtype, feature.spec.row_shape)
        feature = replace(feature, stretches=np.array(windows.ranges))
        partitions = [
            partition
            for partition in self._partitions_of(feature, config)
            if windows.overlaps(partition.rows.first_row, partition.rows.num_rows)
        ]
        explained, units = ExplainRows(config, feature, windows), [partition.rows for partition in partitions]
        self._run_on(partitions, "keep-rows", keep_rows, units, explained, [1] * len(units))
        return self._explain("explain-rows", explain_rows, windows, explained)

    def _features(self, fraction: float) -> list[Feature]:
        schema = self.graph.schema
        kinds: tuple[tuple[str, Sequence[RowType]], ...] = (("node", schema.node_types), ("edge", schema.edge_types))
        return [
            Feature(
                kind, type_id, of_type.name, spec, of_type.num_rows,
                sampled_stretches(of_type.num_rows, fraction, spec.name),
            )
            for kind, types in kinds
            for type_id, of_type in enumerate(types)
            for spec in of_type.data
        ]  # fmt: skip

    def _partitions_of(self, feature: Feature, config: RowConfig) -> list[Partition]:
        rows = config.piece_rows(feature)
        return row_partitions(self.graph, feature.type_name, feature.spec, rows, feature.stretches)

    @property
    def _groups(self) -> list[tuple[int, ...]]:
        return group_parts(self.parts.num_parts)

    def _sizes(self, counts: np.ndarray, nbytes: int) -> list[int]:
        """Bytes that the parts of each group move, for progress."""
        return [nbytes * int(counts[list(group)].sum()) for group in self._groups]

    def _run(
        self, name: str, task: Callable[[Any, Any], Any], units: Sequence[Any], config: Any, sizes: Sequence[int]
    ) -> list[Any]:
        return self.runner.run(Pass(name, task, units, config, sizes))

    def _run_on(
        self, partitions: Sequence[Partition], name: str, task: Callable[[Any, Any, Any], Any], units: Sequence[Any],
        config: Any, sizes: Sequence[int],
    ) -> list[Any]:  # fmt: skip
        values = [partition.value for partition in partitions]
        return self.runner.run(Pass(name, task, units, config, sizes, partitions=values))

    def _explain(
        self, name: str, task: Callable[[int, Any], list[Finding]], windows: Windows, config: Any
    ) -> list[Finding]:
        """Compare the IDs of windows whose sums differ one by one."""
        numbers = range(len(windows.ranges))
        findings = [finding for of in self._run(name, task, numbers, config, [1] * len(numbers)) for finding in of]
        if not findings:
            findings.append(
                Finding(name, "", "sums differ, and single IDs do not", found="files that change meanwhile")
            )
        return findings


def _sum(sums: Sequence[np.ndarray]) -> np.ndarray:
    return sum(sums, np.zeros(NUM_WINDOWS, np.uint64))
