"""Compare partitions with the graph they were made from, out of core and in parallel.

Nodes are compared by part, edges and rows by block of the input. The order of nodes and edges inside a (part, type)
does not matter: ours ascends by original ID, that of DGL's tools does not.
"""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.dispatching.sizes import smallest_task_memory
from daskgraphpart.engine.plan import Pass
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import EnvironmentFaultError, LayoutError, OptionError
from daskgraphpart.layouts.dgl_config import find_config
from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions
from daskgraphpart.storage.files import is_directory, is_file, read_file
from daskgraphpart.storage.paths import resolve_path, to_key
from daskgraphpart.verification.align import aligned, type_findings
from daskgraphpart.verification.checksums import (
    checksum_findings,
    manifest_of,
    option_findings,
    require_checksums,
    size_findings,
)
from daskgraphpart.verification.contents import Contents, verify_contents
from daskgraphpart.verification.findings import Finding, Report
from daskgraphpart.verification.headers import HeaderConfig, config_findings, has_originals, verify_headers
from daskgraphpart.verification.opened import Opening

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.storage.paths import Location

NO_CHECKSUMS = "no checksums: there is no manifest that has them"
NO_ORIGINALS = (
    "original IDs were not saved: the partitions were compared with themselves, and with the input as sets of rows, of "
    "nodes with their rows and degrees, and of edges with their ends"
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
        Told how far things are: ``"auto"``, ``"bar"``, ``"log"``, ``"json"`` or an object of yours; default nobody.

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
            manifest = manifest_of(config, parts.name)
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
    name = None if is_directory(config) else _graph_name(config)
    manifest = require_checksums(manifest_of(config, name), str(out_dir))
    findings = size_findings(manifest)
    with _runner(resources, progress) as runner:
        checked = checksum_findings(manifest, runner)
    return Report((*findings, *checked.findings), 0, 0, 0, num_files=checked.num_files)


@dataclass(frozen=True, slots=True)
class _Verification:
    """One run: from what is known quickly to what takes long; later checks rely on what earlier ones have found."""

    graph: ChunkedGraph
    parts: PartitionedGraph
    manifest: Manifest | None
    runner: Runner

    def run(self, *, quick: bool, sample: float, checksums: bool) -> Report:
        notes = [] if self.manifest and self.manifest.files else [NO_CHECKSUMS]
        findings = size_findings(self.manifest) if self.manifest else []
        num_files = 0
        if self.manifest and checksums:
            checked = checksum_findings(self.manifest, self.runner, quick=quick)
            findings += checked.findings
            num_files = checked.num_files
        contents, wrong = self._headers()
        findings += wrong
        if contents is None or quick or wrong:
            return Report(tuple(findings), 0, 0, 0, tuple(notes), num_files)
        if not contents.has_originals:
            notes.append(NO_ORIGINALS)
        wrong, num_rows = verify_contents(contents, self.runner, sample)
        schema = contents.graph.schema
        return Report((*findings, *wrong), schema.num_nodes, schema.num_edges, num_rows, tuple(notes), num_files)

    def _headers(self) -> tuple[Contents | None, list[Finding]]:
        """Compare everything but data; contents can be compared if nothing is wrong."""
        findings = [*type_findings(self.graph, self.parts)]
        if findings:
            return None, findings
        graph = aligned(self.graph, self.parts)
        findings += config_findings(graph.schema, self.parts)
        originals = self.manifest is not None or has_originals(self.parts)
        opening = Opening(to_key(self.parts.path), uuid.uuid4().hex)
        config = HeaderConfig(opening, graph.schema, originals)
        numbers = list(range(self.parts.num_parts))
        for found in self.runner.run(Pass("verify-headers", verify_headers, numbers, config, [1] * len(numbers))):
            findings += found
        if findings:
            return None, findings
        out_edges = None
        if self.manifest is not None:
            num_halo = [part.num_halo_nodes for part in self.parts.parts]
            findings = option_findings(self.manifest, self.parts.config.halo_hops, num_halo)
            out_edges = self.manifest.content.get("out_edges")
        return Contents(graph, self.parts, opening, originals, out_edges), findings


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
        manifest = manifest_of(config, None if is_directory(config) else _graph_name(config))
    except LayoutError:
        return []
    return size_findings(manifest) if manifest else []


def _graph_name(config: Location) -> str | None:
    """Name of the graph, by which the manifest is called; None if a damaged config does not tell."""
    try:
        name = json.loads(read_file(config).decode("utf-8")).get("graph_name")
    except EnvironmentFaultError:
        raise  # a store that fails tells nothing of the config
    except (ValueError, OSError, AttributeError):
        return None
    return name if isinstance(name, str) else None


@contextmanager
def _runner(
    resources: Resources | None, progress: Progress | None, smallest: int = SMALLEST_TASK_MEMORY
) -> Iterator[Runner]:
    resources = (resources or detect_resources()).limited(smallest)
    with open_runner(resources, progress) as runner:
        yield runner
