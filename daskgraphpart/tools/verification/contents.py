"""Compare the data of partitions and input: passes over parts, and over blocks of the input.

Temporary files take 4 bytes per node (8 from 2^31 nodes on), and 8 more with several hops of halo nodes.

IDs and categories of the input are compared with those beside the partitions: other IDs in the same order, or other
words for the same codes, give the same numbers everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.job import choose_sizes
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import GraphPartError
from daskgraphpart.graph.companion_files import map_name, maps_and_codes
from daskgraphpart.graph.dask_partitions import list_edge_blocks, list_row_blocks
from daskgraphpart.ids.hash_id_maps import hash_id_maps
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.layouts.known_outputs import DIST_GRAPH
from daskgraphpart.storage.files import file_size, is_file
from daskgraphpart.storage.paths import Location, join_path, to_path
from daskgraphpart.storage.region import create_files, create_npy
from daskgraphpart.tools.verification import passes, row_sums
from daskgraphpart.tools.verification.findings import Finding, differences
from daskgraphpart.tools.verification.verify_run import IN_SUMS, Run, group_parts

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.layouts.manifest_reader import Manifest
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions
    from daskgraphpart.source import Block
    from daskgraphpart.tools.verification.row_sums import Compared

MAX_EXPLAINED = 16
"""Windows of IDs of which examples are sought; the others are as wrong."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The input, the partitions, and how to compare them; `facts` are what a manifest should say."""

    graph: Graph
    parts: StoredPartitions
    manifest: Manifest | None
    run: Run
    runner: Runner
    facts: dict[str, Any]

    def compare(self, sample: float) -> tuple[list[Finding], int]:
        """Compare all data; return what is wrong, and how many feature rows were compared."""
        findings = self.nodes() or self.edges()
        if findings and self.run.has_originals:
            return findings, 0  # comparing rows needs sound original IDs
        nbytes = choose_sizes(self.runner.resources).row_block_bytes
        features = [*row_sums.list_features(self.run, sample, nbytes)]
        findings += [*chain(*map(self.rows, features))]
        if not findings:
            nbytes_of = self.parts.book.node_counts.sum(axis=1)
            findings = [*chain(*self.on_parts("verify-hot-rows", row_sums.verify_hot_rows, self.run, nbytes_of))]
        return findings, sum(feature.num_compared for feature in features)

    def nodes(self) -> list[Finding]:
        """Check the nodes of all parts against the input."""
        run, originals = self.run, self.run.original_nids()
        self.runner.step("create-originals", lambda: create_files([originals]))
        nbytes = 17 * self.parts.book.node_counts.sum(axis=1)
        findings = [*chain(*self.on_parts("verify-nodes", passes.verify_nodes, run, nbytes))]
        if findings or not run.has_originals:
            return findings
        return [*chain(*self.runner.run(Pass("verify-once", passes.verify_once, [Unit(None, originals.nbytes)], run)))]

    def edges(self) -> list[Finding]:
        """Check the edges of all parts against the input."""
        run, nbytes = self.run, 37 * self.parts.book.edge_counts.sum(axis=1)
        if run.num_hops > 1:
            self.runner.step("create-in-sums", self._create_in_sums)
        of_parts = self.on_parts("verify-edges", passes.verify_edges, run, nbytes)
        findings = [finding for of in of_parts for finding in of.findings]
        if findings:
            return findings
        self.facts["num_cut_edges"] = sum(of.num_cut for of in of_parts)
        if run.has_extra:
            config = run, np.sum([of.out_sums for of in of_parts], axis=0)
            extra = [*chain(*self.on_parts("verify-extra", passes.verify_extra, config, nbytes))]
            stated = None if self.manifest is None else self.manifest.content.get("out_edges")
            # without a manifest, all parts or none should have out edges
            wanted = any(finding.check == passes.UNWANTED for finding in extra) if stated is None else stated
            findings += [
                finding for finding in extra if finding.check != (passes.UNWANTED if wanted else passes.MISSING)
            ]
        if run.has_originals:
            sizes = choose_sizes(self.runner.resources)
            listed = list_edge_blocks(self.graph, sizes.edge_block_rows, sizes.csv_block_bytes, self.runner)
            firsts = dict(zip(run.schema.etypes, run.firsts("edge").tolist(), strict=False))
            inputs = [(firsts[edge_type.name] + block.first_row, block) for edge_type, block in listed]
            findings += self.compare_sums("edges", row_sums.all_edges(run), inputs, [of.sums for of in of_parts])
        return findings

    def _create_in_sums(self) -> None:
        create_npy(self.run.temporary(IN_SUMS), np.uint64, (self.run.schema.num_nodes,), is_mapped=True)

    def rows(self, feature: Compared) -> list[Finding]:
        """Compare a feature's rows."""
        assert feature.spec is not None, "ends of edges are no feature"
        counts = getattr(self.parts.book, f"{feature.kind}_counts")[:, feature.type_id]
        by_part = self.on_parts("verify-rows", row_sums.verify_rows, feature, feature.row_nbytes * counts)
        name = self.run.types(feature.kind)[feature.type_id].name
        listed = list_row_blocks(self.graph, name, feature.spec, feature.piece_rows, feature.stretches)
        inputs = [(block.first_row, block) for block in listed]
        findings = [finding for of_part, _ in by_part for finding in of_part]
        return findings or self.compare_sums("rows", feature, inputs, [sums for _, sums in by_part])

    def compare_sums(
        self,
        what: str,
        compared: Compared,
        inputs: Sequence[tuple[int, Block[Any]]],
        of_parts: Sequence[np.ndarray],
    ) -> list[Finding]:
        """Compare the sums of input blocks, given with first IDs; where they differ, row by row."""
        sums = self.on_input(f"sum-{what}", row_sums.sum_input, [block for _, block in inputs], compared)
        differ = np.sum(sums, axis=0) != np.sum(of_parts, axis=0)
        lows = compared.window * np.flatnonzero(differ)[:MAX_EXPLAINED]
        if not lows.size:
            return []
        wrong = [
            block
            for first, block in inputs
            if ((lows < first + block.num_rows) & (first < lows + compared.window)).any()
        ]
        findings = chain(*self.on_input(f"explain-{what}", row_sums.explain_rows, wrong, compared))
        # repeated for blocks in which single rows cannot be compared
        return [*dict.fromkeys(findings)] or [
            Finding(what, "", "files changed while they were compared: sums of hashes differ, but no row does")
        ]

    def on_parts(self, name: str, task: Callable[..., Any], config: Any, nbytes: np.ndarray) -> list[Any]:
        """Run a pass over groups of parts; `nbytes`, int64 (parts,), are for progress."""
        units = [Unit(group, int(nbytes[list(group)].sum())) for group in group_parts(self.parts.num_parts)]
        return self.runner.run(Pass(name, task, units, config))

    def on_input(
        self, name: str, task: Callable[..., Any], blocks: Sequence[Block[Any]], compared: Compared
    ) -> list[Any]:
        """Run a pass over blocks of the input."""
        units = [Unit(block, compared.row_nbytes * block.num_rows, block.num_rows) for block in blocks]
        return self.runner.run(Pass(name, task, units, compared))


CHECK = "maps"
ROWS_AT_ONCE = 1 << 16


def map_findings(graph: Graph, manifest: Manifest, runner: Runner, most_bytes: float) -> Iterator[Finding]:
    """Compare maps of IDs, and of codes, of at most some bytes; what was not recorded cannot be compared."""
    here = manifest.path.parent
    try:
        recorded = IdMaps.of(manifest.content, manifest.path)
    except GraphPartError as error:
        yield Finding(CHECK, manifest.path.name, str(error))
        return
    root = here.parent if here.name == DIST_GRAPH else here
    digests = {} if recorded is None else {map_name(of): digest for of, digest in recorded.checksums.items()}
    if recorded is not None:  # beside the partitions, or in the directory of their graph
        root = join_path(here, recorded.directory).parent
    given = maps_and_codes(graph.companions)
    paths = {name: to_path(path) for name, path in given.items() if file_size(path) <= most_bytes}
    others = {name: other for name in paths if is_file(other := join_path(root, name))}
    files = list(dict.fromkeys([*paths.values(), *others.values()]))
    hashed = dict(zip(files, hash_id_maps(files, runner), strict=True)) if files else {}
    for name, path in paths.items():
        there = hashed[others[name]] if name in others else None
        expected = digests.get(name, there)
        if hashed[path] == expected:
            continue
        if name in others and there == expected:
            try:
                yield from _compare_rows(name, path, others[name])
            except GraphPartError as error:
                yield Finding(CHECK, name, str(error))
        elif name in digests:
            what = "checksum of the IDs that the partitions were made with"
            yield Finding(CHECK, name, what, expected=hashed[path], found=expected)


def _compare_rows(name: str, path: Location, other: Location) -> Iterator[Finding]:
    """Find the first row that differs; files of other versions of pyarrow may differ only in bytes."""
    import pyarrow.compute as pc  # most graphs have no maps, and need no pyarrow

    from daskgraphpart.ids.id_map import id_batches, read_map_header  # imports it, too

    def batches(path: Location, count: int) -> Iterator[Any]:
        of_path = id_batches(path, count, ROWS_AT_ONCE)
        next(of_path)  # their type
        return of_path

    (kind, count), (other_kind, other_count) = read_map_header(path), read_map_header(other)
    wrong = [*differences(CHECK, name, {"kind": kind, "rows": count}, {"kind": other_kind, "rows": other_count})]
    yield from wrong
    if wrong:
        return
    first, num_wrong, example = 0, 0, None
    for values, others in zip(batches(path, count), batches(other, count), strict=True):
        rows = np.flatnonzero(pc.not_equal(values, others).to_numpy(zero_copy_only=False))
        if rows.size and example is None:
            row = int(rows[0])
            example = Finding(
                CHECK, name, f"row {first + row:,}", None, first + row, str(values[row]), str(others[row])
            )
        num_wrong, first = num_wrong + rows.size, first + len(values)
    if example is not None:
        yield Finding(CHECK, name, example.what, None, example.row, example.expected, example.found, num_wrong)
