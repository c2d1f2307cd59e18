"""Compare partitions with the graph they were made from, out of core and in parallel.

Parts and input are each read once, part by part and block by block, and meet in sums of hashes by original ID. The
order of nodes and edges inside a (part, type) does not matter: ours ascends by original ID, that of DGL does not.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.dispatching.sizes import smallest_task_memory
from daskgraphpart.engine.plan import Pass
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.layouts.dgl_config import find_config
from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions
from daskgraphpart.storage.files import is_file
from daskgraphpart.storage.paths import resolve_path, to_key
from daskgraphpart.verification.align import aligned, type_findings
from daskgraphpart.verification.checksums import checksum_findings, require_checksums, size_findings
from daskgraphpart.verification.contents import compare_contents
from daskgraphpart.verification.findings import Finding, Report
from daskgraphpart.verification.headers import config_findings, verify_headers
from daskgraphpart.verification.manifest import (
    count_findings,
    entry_findings,
    is_our_config,
    manifest_of,
    missing_manifest,
    unlisted_findings,
)
from daskgraphpart.verification.opened import Run, group_parts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.storage.paths import Location

PIECE_NBYTES = 192
"""Memory that an edge of a part takes while it is checked: ends, new and original IDs, masks, windows."""

MAX_PIECE_ROWS = 1 << 18

NO_CHECKSUMS = "no checksums: there is no manifest that has them"
NO_ORIGINALS = (
    "original IDs were not saved: nodes and edges were counted, parts compared with each other, and rows of features "
    "with the input in whatever order; which node or edge of the input is which cannot be checked"
)


def verify(
    graph: ChunkedGraph | str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    quick: bool = False,
    sample: float = 1.0,
    checksums: bool = True,
    resources: Resources | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check that partitions hold every node, edge and row of a graph exactly once, where they belong.

    Parameters
    ----------
    graph : ChunkedGraph, path or URL
        The input.
    out_dir : path or URL
        The partitions, or their config. Ours, or those of DGL's own tools.
    storage_options : mapping of str to object, optional
        Of the stores, where URLs are given; as `fsspec.filesystem` takes them.
    quick : bool
        Whether no data are read but headers and small files: seconds, whatever the size.
    sample : float
        Share of the rows of features that is compared, in ``(0, 1]``; nodes and edges always are, all of them.
    checksums : bool
        Whether files are compared with the checksums of the manifest, if there is one.
    resources : Resources, optional
        What may be used; default all processors and half of the memory.
    progress : Progress, optional
        Progress callback: ``"auto"``, ``"bar"``, ``"log"``, ``"json"`` or an object of yours; default none.

    Returns
    -------
    Report
        Everything that is wrong, and notes on what could not be checked.

    Raises
    ------
    LayoutError
        If there are no partitions at that path.
    OptionError
        If `sample` is not a share.
    MetadataError, InputFileError
        If the input cannot be read.
    PlanError
        If the memory does not suffice.
    """
    if not 0 < sample <= 1:
        raise OptionError("not a share", place="--sample", expected="more than 0, at most 1", found=sample)
    config = _existing(out_dir, storage_options)
    graph = graph if isinstance(graph, ChunkedGraph) else read_chunked(graph, storage_options=storage_options)
    # two bitmaps over the nodes, as where hops are followed
    smallest = smallest_task_memory(graph.schema, DispatchOptions(num_hops=2))
    with _runner(resources, progress, smallest) as runner:
        try:
            parts = open_partitions(config)
            manifest = manifest_of(config)
        except LayoutError as error:
            return Report((_layout_finding(error, config), *_missing_files(config)), 0, 0, 0)
        return _Verification(graph, parts, manifest, runner).run(quick=quick, sample=sample, checksums=checksums)


def verify_checksums(
    out_dir: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    resources: Resources | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compare partitions with the checksums of their manifest, as after a copy; the graph is not needed.

    Parameters
    ----------
    out_dir : path or URL
        The partitions, or their config.
    storage_options, resources, progress
        As in `verify`.

    Returns
    -------
    Report
        Files that are missing, of another size, or of another checksum.

    Raises
    ------
    LayoutError
        If there are no partitions at that path, or they have no checksums: DGL's own tools write none.
    """
    config = _existing(out_dir, storage_options)
    manifest = require_checksums(manifest_of(config), str(out_dir))
    findings, sound = size_findings(manifest)
    with _runner(resources, progress) as runner:
        wrong, num_files = checksum_findings(manifest, sound, runner)
    return Report((*findings, *wrong), 0, 0, 0, num_files=num_files)


@dataclass(frozen=True, slots=True)
class _Verification:
    """One run: from what is known quickly to what takes long; later checks rely on what earlier ones have found."""

    graph: ChunkedGraph
    parts: PartitionedGraph
    manifest: Manifest | None
    runner: Runner

    def run(self, *, quick: bool, sample: float, checksums: bool) -> Report:
        findings, notes, num_files = [], [], 0
        if self.manifest is None and is_our_config(self.parts.path):
            findings.append(missing_manifest(self.parts.path, self.parts.name))
        findings += unlisted_findings(self.parts.path, self.parts.num_parts, self.manifest)
        if self.manifest is not None and self.manifest.files is not None:
            wrong, sound = size_findings(self.manifest)
            findings += wrong
            if checksums:
                wrong, num_files = checksum_findings(self.manifest, sound, self.runner, quick=quick)
                findings += wrong
        else:
            notes.append(NO_CHECKSUMS)
        compared, wrong = self._headers()
        findings += wrong
        if compared is None or quick:
            return Report(tuple(findings), 0, 0, 0, tuple(notes), num_files)
        graph, run = compared
        if not run.has_originals:
            notes.append(NO_ORIGINALS)
        wrong, num_rows = compare_contents(graph, self.parts, self.manifest, run, self.runner, sample)
        schema = graph.schema
        return Report((*findings, *wrong), schema.num_nodes, schema.num_edges, num_rows, tuple(notes), num_files)

    def _headers(self) -> tuple[tuple[ChunkedGraph, Run] | None, list[Finding]]:
        """Compare everything but data; contents can be compared if the partitions are not wrong."""
        findings, parts, manifest = [*type_findings(self.graph, self.parts)], self.parts, self.manifest
        if findings:
            return None, findings
        graph = aligned(self.graph, parts)
        findings += config_findings(graph.schema, parts)
        rows = min(MAX_PIECE_ROWS, max(1024, self.runner.resources.task_memory // PIECE_NBYTES))
        run = Run(to_key(parts.path), uuid.uuid4().hex, graph.schema, rows, parts.config.halo_hops)
        groups = group_parts(parts.num_parts)
        found = self.runner.run(Pass("verify-headers", verify_headers, groups, run, [len(group) for group in groups]))
        headers = [of_part for of_group in found for of_part in of_group]
        has_originals = manifest is not None or any(of_part.has_originals for of_part in headers)
        for of_part in headers:
            findings += [*of_part.findings, *(of_part.originals if has_originals else ())]
        of_manifest = [] if manifest is None else [*entry_findings(manifest, parts.config, self.graph.schema)]
        if findings:
            return None, findings + of_manifest
        if manifest is not None:
            num_halo = np.array([of_part.num_nodes for of_part in headers]) - parts.book.node_counts.sum(axis=1)
            of_manifest += count_findings(manifest, num_halo.tolist(), [of_part.formats for of_part in headers])
        extra = sum(of_part.num_edges for of_part in headers) > parts.config.num_edges
        wanted = manifest is not None and manifest.content.get("out_edges") is True
        has_extra = extra or wanted or run.num_hops > 1
        return (graph, replace(run, has_originals=has_originals, has_extra=has_extra)), of_manifest


def _existing(out_dir: str | os.PathLike[str], options: Mapping[str, Any] | None) -> Location:
    """Find the config; where a damaged one is, there are partitions all the same."""
    try:
        return find_config(out_dir, options)
    except LayoutError:
        directory = resolve_path(out_dir, options)
        if not is_file(directory / "part0/graph.dgl"):
            raise
        return directory


def _layout_finding(error: LayoutError, config: Location) -> Finding:
    place = f"{error.place}: " if error.place else ""
    return Finding(
        "layout", Path(error.file or str(config)).name, place + error.what,
        expected=None if error.expected is None else str(error.expected),
        found=None if error.found is None else str(error.found),
    )  # fmt: skip


def _missing_files(config: Location) -> list[Finding]:
    """Files that the manifest lists and that are not as they were, where the config cannot be used."""
    try:
        manifest = manifest_of(config)
    except LayoutError:
        return []
    return size_findings(manifest)[0] if manifest else []


@contextmanager
def _runner(
    resources: Resources | None, progress: Progress | None, smallest: int = SMALLEST_TASK_MEMORY
) -> Iterator[Runner]:
    resources = (resources or detect_resources()).limited(smallest)
    with open_runner(resources, progress) as runner:
        yield runner
