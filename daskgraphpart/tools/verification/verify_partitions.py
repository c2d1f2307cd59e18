"""Compare partitions with their input graph, out of core and in parallel.

Each is read once, by part and by block, and they meet in sums of hashes by original ID. The order of nodes and edges
inside a (part, type) does not matter: ours ascends by original ID, DGL's does not.
"""

from __future__ import annotations

import math
import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.dispatching.job import smallest_task_memory
from daskgraphpart.engine.progress import Progress, ProgressListener, open_progress
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, detect_resources
from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.jobs.job_inputs import input_paths
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.jobs import OutputDirectory, open_job
from daskgraphpart.jobs.open_workspace import open_workspace
from daskgraphpart.keywords import check_keywords
from daskgraphpart.layouts.dgl_config_reader import array_layouts_in, find_config
from daskgraphpart.layouts.manifest import ADDED, data_of
from daskgraphpart.layouts.manifest_reader import Manifest, find_manifest
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.storage.files import is_directory, is_file
from daskgraphpart.storage.paths import Location, is_url, resolve_path, to_key
from daskgraphpart.storage.region import id_dtype
from daskgraphpart.storage.scratch import scratch_directory
from daskgraphpart.tools.verification import headers
from daskgraphpart.tools.verification.contents import Contents, map_findings
from daskgraphpart.tools.verification.findings import Finding, VerifyReport
from daskgraphpart.tools.verification.verify_run import Run, group_parts, open_once

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.graph_like import GraphLike
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions
    from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType

PIECE_NBYTES = 192
"""Memory that an edge of a part takes while it is checked: ends, new and original IDs, masks, windows."""

MAX_PIECE_ROWS = 1 << 18

QUICK = "compared headers only, no data"
NO_CHECKSUMS = "compared no checksums: there is no manifest with them"
NO_ORIGINALS = (
    "original IDs were not saved, so nodes and edges cannot be matched with the input: compared counts, parts with "
    "each other, and feature rows in any order"
)


@check_keywords
def verify(
    graph: GraphLike | None,
    partitions: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    quick: bool = False,
    sample: float = 1.0,
    checksums: bool = True,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """Check that partitions hold every node, edge and feature row of a graph exactly once, in the right place.

    Parameters
    ----------
    graph : Graph, Scan, path or URL, or None
        The input, as for `partition`. A scan is read again into a temporary directory. Without it, compare files with
        the checksums in their manifest, after a copy for example.
    partitions : path or URL
        The partitions, or their config: ours, or those of DGL's tools.
    storage_options : mapping of str to object, optional
        Credentials and options of stores, as for `fsspec.filesystem`.
    quick : bool
        Read only headers and small files: takes seconds for any size.
    sample : float
        Share of feature rows to compare, in ``(0, 1]``. Nodes and edges are always compared in full.
    checksums : bool
        Also compare files with the checksums in the manifest, if there is one.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    VerifyReport
        All faults found (`findings`, `ok`), and notes on what could not be checked; `print` shows them.

    Raises
    ------
    LayoutError
        If there are no partitions at that path.
    OptionError
        If `sample` is not above 0, or above 1.
    MetadataError
        If the metadata of the input is invalid.
    InputFileError
        If the input cannot be read.
    PlanError
        If the memory budget is too small.

    Examples
    --------
    >>> print(dgp.verify("shop", "shop-parts"))
    OK: 1,200 nodes, 5,000 edges and 7,200 feature rows match the input (25 checksums)
    """
    if not 0 < sample <= 1:
        raise OptionError(f"--sample {sample} is not a share", option="sample", hint="use a number above 0, up to 1")
    resources = detect_resources(memory, cluster, workers, workspace=workspace, takes_store=True)
    if graph is None:
        return _verify_checksums(partitions, storage_options, resources, progress, quick, sample)
    config = _existing(partitions, storage_options)
    scan = open_scan(graph, storage_options, resources)
    opened = open_graph_in_store if is_url(resources.workspace) else _open_graph
    with open_progress(progress) as listener, opened(scan, config, resources, listener) as (opened_graph, runner):
        try:
            return _compare(opened_graph, config, runner, sample, checksums, quick)
        finally:
            open_once.cache_clear()


@contextmanager
def _open_graph(
    scan: Scan, _: Location, resources: Resources, listener: ProgressListener
) -> Iterator[tuple[Graph, Runner]]:
    """Yield the graph, read into a temporary directory if need be, and a runner."""
    with (
        scan.open_graph(resources, listener) as graph_of_job,
        open_runner(resources.limited(smallest_memory(graph_of_job.schema)), listener) as runner,
    ):
        yield graph_of_job, runner


def _compare(
    graph: Graph, config: Location, runner: Runner, sample: float, checksums: bool, quick: bool
) -> VerifyReport:
    findings: list[Finding] = []
    notes: tuple[str, ...] = (NO_CHECKSUMS,)
    num_files, token = 0, uuid.uuid4().hex
    try:
        findings += headers.lost_findings(config)
        manifest = headers.manifest_of(config)
        findings += () if manifest is None else headers.change_findings(manifest)
        if manifest is not None and manifest.files is not None:
            notes, (wrong, sound) = (), headers.size_findings(manifest)
            findings += [*wrong, *headers.link_findings(manifest)]
            wrong, num_files = headers.checksum_findings(
                manifest, sound, runner, quick=quick, configs_only=not checksums
            )
            findings += wrong
        parts = open_once(to_key(config), token)
    except LayoutError as error:
        return VerifyReport((*findings, _layout_finding(error, config)), notes=notes, num_files=num_files)
    parts.part(0).check_has_graph()
    findings += headers.unlisted_findings(parts.config, parts.num_parts, manifest)
    stated = _with_added(graph, manifest)
    run, wrong, facts = _check_headers(stated, parts, manifest is not None, runner, token)
    counts, notes = (0, 0, 0), notes if run is not None and not quick else (*notes, QUICK)
    if run is not None and not quick:
        wanted = manifest is not None and manifest.content.get("out_edges") is True
        mapped = {} if manifest is None else manifest.content.get("mapped_features", {})
        schema = headers.align_types(graph.schema, parts)
        assert schema is not None, "types are compared"
        run = replace(run, schema=schema, has_extra=run.has_extra or wanted, mapped=mapped)
        with _scratch(parts, runner) as scratch:
            contents = Contents(graph, parts, manifest, replace(run, scratch=str(scratch)), runner, facts)
            wrong, num_rows = contents.compare(sample)
        notes += () if run.has_originals else (NO_ORIGINALS,)
        counts = graph.schema.num_nodes, graph.schema.num_edges, num_rows
    if manifest is not None:
        findings += headers.entry_findings(manifest, parts.content, stated, facts)
        findings += map_findings(graph, manifest, runner, headers.QUICK_NBYTES if quick else math.inf)
    if others := array_layouts_in(config.parent):
        what = "checksums" if checksums and not quick else "sizes"
        notes += (f"{', '.join(others)}: compared {what} of files, and no data with the input",)
    return VerifyReport((*findings, *wrong), *counts, notes, num_files)


def _verify_checksums(
    out_dir: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None,
    resources: Resources,
    progress: Progress | None,
    quick: bool,
    sample: float,
) -> VerifyReport:
    """Compare files with the checksums in their manifest; if `quick`, small files, and only the sizes of others."""
    if sample != 1:
        what, hint = "checksums cover whole files, so they cannot be sampled", "leave it out, or give the graph"
        raise OptionError(what, option="sample", found=sample, hint=hint)
    findings: list[Finding] = []
    try:
        config = _existing(out_dir, storage_options)
        findings += headers.lost_findings(config)
        manifest = headers.manifest_of(config)
    except LayoutError:
        directory = resolve_path(out_dir, storage_options)
        findings += headers.lost_findings(directory)
        manifest = headers.manifest_of(directory)
        if manifest is None and not findings:
            raise
    if manifest is None and findings:
        return VerifyReport(tuple(findings))
    if manifest is None or manifest.files is None:
        raise LayoutError(
            "these partitions have no checksums",
            file=str(out_dir),
            expected="daskgraphpart's <graph>.manifest.json of version 2",
            hint="compare them with their graph: daskgraphpart verify GRAPH OUT",
        )
    wrong, sound = headers.size_findings(manifest)
    findings += [*wrong, *headers.change_findings(manifest), *headers.link_findings(manifest)]
    with open_runner(resources.limited(SMALLEST_TASK_MEMORY), progress) as runner:
        wrong, num_files = headers.checksum_findings(manifest, sound, runner, quick=quick)
    return VerifyReport((*findings, *wrong), num_files=num_files)


def _existing(out_dir: str | os.PathLike[str], options: Mapping[str, Any] | None) -> Location:
    """Find the config; a damaged one counts, too."""
    try:
        return find_config(out_dir, options)
    except LayoutError as error:
        directory = resolve_path(out_dir, options)
        if not is_directory(directory) or (
            not is_file(directory / "part0/graph.dgl") and find_manifest(directory) is None
        ):
            if is_directory(directory) and array_layouts_in(directory):
                error.add_hint("or leave out the graph, and add --checksums: that compares files with the manifest")
            raise
        return directory


def _layout_finding(error: LayoutError, config: Location) -> Finding:
    file, place = Path(error.file or str(config)).name, f"{error.place}: " if error.place else ""
    expected, actual = (None if value is None else str(value) for value in (error.expected, error.found))
    return Finding("layout", file, place + error.what, expected=expected, found=actual)


def _with_added(graph: Graph, manifest: Manifest | None) -> GraphSchema:
    """Return the graph's schema, with the features that partitions got later, if the graph has not got them, too."""
    content = {} if manifest is None else manifest.content

    def later(of: NodeType | EdgeType, kind: str) -> tuple[DataSpec, ...]:
        known = {spec.name for spec in of.data}
        stated = [spec for spec in data_of(of.name, content[kind]) if spec.name not in known]
        return (*of.data, *(spec for spec in stated if f"{of.name}/{spec.name}" in content[ADDED]))

    schema = graph.schema
    if ADDED not in content:
        return schema
    nodes = tuple(replace(of, data=later(of, "node_data")) for of in schema.node_types)
    edges = tuple(replace(of, data=later(of, "edge_data")) for of in schema.edge_types)
    return replace(schema, node_types=nodes, edge_types=edges)


def _check_headers(
    given: GraphSchema, parts: StoredPartitions, has_manifest: bool, runner: Runner, token: str
) -> tuple[Run | None, list[Finding], dict[str, Any]]:
    """Compare everything but data; return the run that compares data, if all is well, and facts of the parts."""
    schema = headers.align_types(given, parts)
    if schema is None:
        return None, [*headers.type_findings(given, parts)], {}
    rows = min(MAX_PIECE_ROWS, max(1024, runner.resources.task_memory // PIECE_NBYTES))
    run = Run(to_key(parts.config), token, schema, rows, parts.content.halo_hops)
    units = [Unit(group, len(group)) for group in group_parts(parts.num_parts)]
    by_part = runner.run(Pass("verify-headers", headers.verify_headers, units, run))
    of_parts = [*chain(*by_part)]
    has_originals = has_manifest or any(of_part.has_originals for of_part in of_parts)
    findings = [*headers.config_findings(schema, parts), *chain(*(of_part.findings for of_part in of_parts))]
    findings = [finding for finding in findings if has_originals or finding.check != headers.ORIGINALS]
    if findings:
        return None, findings, {}
    num_halo = np.array([of_part.num_nodes for of_part in of_parts]) - parts.book.node_counts.sum(axis=1)
    formats = sorted({tuple(of_part.formats) for of_part in of_parts})
    facts = {"num_halo_nodes": num_halo.tolist(), "graph_formats": [*(formats[0] if len(formats) == 1 else formats)]}
    extra = sum(of_part.num_edges for of_part in of_parts) > parts.content.num_edges
    return replace(run, has_originals=has_originals, has_extra=extra or run.num_hops > 1), [], facts


def _scratch(parts: StoredPartitions, runner: Runner) -> AbstractContextManager[Path]:
    """Make a directory for temporary files: the system's if the partitions are read-only or in a store."""
    if not runner.store.is_on_disk:
        return nullcontext(Path(runner.resources.workspace or "") / "verify")
    out = parts.config.parent
    beside = out if isinstance(out, Path) and os.access(out, os.W_OK) else tempfile.gettempdir()
    return scratch_directory(runner.resources.workspace or beside)


def smallest_memory(schema: GraphSchema) -> int:
    """Least memory of a task: two bitmaps over the nodes, as for hops."""
    return smallest_task_memory(schema, DispatchOptions(num_hops=2))


@contextmanager
def open_graph_in_store(
    scan: Scan, config: Location, resources: Resources, listener: ProgressListener
) -> Iterator[tuple[Graph, Runner]]:
    """Yield the graph, and a runner with a workspace in the store; every run starts over."""
    with open_workspace(resources, config, input_paths(scan), is_output=False) as store:
        known = 0 if scan.known is None else scan.known.schema.num_nodes
        store.note_needs(known * id_dtype(known).itemsize, 0, 0)  # original IDs are looked up
        smallest = scan.smallest_memory if scan.known is None else smallest_memory(scan.known.schema)
        own = replace(resources.limited(smallest), workspace=store.root)
        run = JobOptions(own, restart=True, progress=listener, can_continue=False)
        place = OutputDirectory(store.output, store.root, lambda _: None, lambda: None)
        with open_job(place, scan, {"command": "verify"}, run) as (work, runner):
            graph = scan.stage(Path(work.root) / "tables", runner)
            with runner.for_tasks_of(smallest_memory(graph.schema)) as limited:
                yield graph, limited
        listener.note(f"store: {store.describe_traffic()}")
