"""Run a dispatch: check options and output, start or resume the job, move the parts to the output."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.destination import Destination, Exporter
from daskgraphpart.dispatching.dispatch_graph import dispatch_graph
from daskgraphpart.dispatching.job import Job, choose_sizes
from daskgraphpart.dispatching.output_directory import check_claimable, check_output, discard_output, discard_unfinished
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.errors import InputFileNotFoundError, OptionError
from daskgraphpart.graph.companion_files import copy_file, maps_and_codes
from daskgraphpart.graph.dask_partitions import count_lines
from daskgraphpart.jobs.estimate_job import announce
from daskgraphpart.jobs.forecast import smallest_memory
from daskgraphpart.jobs.job_inputs import (
    fingerprint,
    identify_owners,
    input_paths,
    local_directory,
    output_of,
    read_owners,
    store_owners,
)
from daskgraphpart.jobs.jobs import OutputDirectory, open_job
from daskgraphpart.jobs.order_of_nodes import check_order
from daskgraphpart.layouts.dgl import DglArrangement, DglLayout
from daskgraphpart.layouts.layout import GraphBoltAttributes, Layout, raw_file_layout
from daskgraphpart.layouts.plugin_layouts import plugin_layouts
from daskgraphpart.partitioner.assign_nodes import assign_nodes, check_assignable, check_wanted
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import Assignment
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.schema import GraphSchema
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import is_url, require_local

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.jobs.estimate_job import Plan
    from daskgraphpart.jobs.run_options import RunOptions

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What to make of a graph, where, and where its owners come from.

    With owners in a directory, the number of parts may be unknown.
    """

    target: Path | Destination
    options: DispatchOptions
    owners: Assignment | Path | AssignOptions
    num_parts: int | None

    @property
    def known_parts(self) -> int | None:
        """Number of parts, if known before owners are read."""
        if isinstance(self.owners, Assignment):
            return self.owners.num_parts
        if self.num_parts is not None or not isinstance(self.owners, Path):
            return self.num_parts
        from daskgraphpart.partitioner.read_files import read_num_parts

        return read_num_parts(self.owners)


def dispatch_job(
    graph: Any,
    assignment: Assignment | str | os.PathLike[str],
    out: str | os.PathLike[str],
    options: DispatchOptions,
    run: RunOptions,
    *,
    num_parts: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Do what `dispatch` does, but do not open the result."""
    owners = assignment if isinstance(assignment, Assignment) else require_local(assignment, "an assignment")
    target = output_of(out, dispatch_to, storage_options)
    scan = open_scan(graph, storage_options, run.resources)
    return run_dispatch(scan, Wanted(target, options, owners, num_parts), run)


def partition_job(
    graph: Any,
    out: str | os.PathLike[str],
    num_parts: int,
    owners: AssignOptions,
    options: DispatchOptions,
    run: RunOptions,
    *,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Do what `partition` does, but do not open the result."""
    scan = open_scan(graph, storage_options, run.resources)
    target = output_of(out, dispatch_to, storage_options)
    return run_dispatch(scan, Wanted(target, options, owners, num_parts), run)


def run_dispatch(scan: Scan, wanted: Wanted, run: RunOptions) -> Outcome:
    """Dispatch a graph, which the job reads first; open a workspace in a store."""
    if not is_url(run.resources.workspace):
        return _run_dispatch(scan, wanted, run)
    from daskgraphpart.jobs.open_workspace import open_workspace  # imports fsspec

    with open_workspace(run.resources, wanted.target, input_paths(scan)) as store:
        outcome = _run_dispatch(scan, wanted, replace(run, resources=replace(run.resources, workspace=store.root)))
        return replace(outcome, traffic=store.describe_traffic())


def _run_dispatch(scan: Scan, wanted: Wanted, run: RunOptions) -> Outcome:
    target, owners, known = wanted.target, wanted.owners, scan.known
    check_order(scan, owners)
    if known is None:
        schema, layouts, smallest = (
            GraphSchema(scan.name, (), ()),
            check_known(scan.name, wanted),
            (scan.smallest_memory, 0),
        )
    else:
        wanted, layouts = fitting(known, wanted)
        schema, smallest = known.schema, smallest_memory(known.schema, wanted.num_parts, owners, wanted.options)
    run = replace(run, resources=run.resources.limited(*smallest))
    with environment_faults(), open_progress(run.progress) as listener:
        command, chosen, files = identify_owners(scan, owners, wanted.num_parts)
        check_output(target.absolute() if isinstance(target, Path) else target.root, [*input_paths(scan), *files])
        names = tuple(name for layout in reversed(layouts) for name in layout.descriptions(schema))
        out, destination = local_directory(target, run.resources.workspace), None
        if isinstance(target, Destination):
            destination = target.of_job(out, names, run.overwrite)
            run = replace(run, resources=replace(run.resources, workspace=None))
        run = replace(run, progress=listener)
        if destination is not None:
            destination.check_place(run.resources.cluster)
            if destination.hosts:
                chosen["dispatch_to"] = list(destination.hosts)
        identity = fingerprint(command, scan, {**chosen, **asdict(wanted.options)}, files)
        plan = None if known is None else _announced(known, wanted, run.resources, out, listener)
        if destination is None:
            output = _output_directory(out, None, names, run, plan)
            with open_job(output, scan, identity, run) as (work, runner):
                return _dispatch_scan(scan, wanted, None, out, work, runner)
        try:
            with destination.claimed() as (elsewhere, claimed):
                output = replace(_output_directory(out, elsewhere, names, run, plan), claimed=claimed)
                with open_job(output, scan, identity, run) as (work, runner):
                    elsewhere.check(runner)
                    return _dispatch_scan(scan, wanted, elsewhere, out, work, runner)
        finally:
            destination.clean(out)


def _dispatch_scan(
    scan: Scan, wanted: Wanted, destination: Destination | None, out: Path, work: Workspace, runner: Runner
) -> Outcome:
    """Read the graph and dispatch it; the maps of its IDs go beside the partitions, unless its directory has them."""
    weights = tuple(wanted.owners.edge_weight) if isinstance(wanted.owners, AssignOptions) else ()
    graph = scan.stage(Path(work.root) / "tables", runner, weights)
    wanted, (first, *others) = fitting(graph, wanted)
    if not graph.directory:
        paths = maps_and_codes(graph.companions)
        maps = {name: raw_file_layout((), partial(copy_file, path)) for name, path in paths.items()}
        first = replace(first, companions={**first.companions, **maps})
    smallest = smallest_memory(graph.schema, wanted.num_parts, wanted.owners, wanted.options)
    with runner.for_tasks_of(*smallest) as limited:
        if scan.known is None:
            plan = _announced(graph, wanted, limited.resources, out, limited.progress)
            if plan is not None:
                plan.check_disks()
        return _dispatch(graph, wanted, (first, *others), destination, out, work, limited)


def fitting(graph: Graph, wanted: Wanted) -> tuple[Wanted, tuple[Layout, ...]]:
    """Add the graph's own options and layouts; refuse what the graph cannot become."""
    if isinstance(wanted.owners, AssignOptions):
        assert wanted.num_parts is not None, "owners are made for a number of parts"
        check_assignable(wanted.owners, graph, wanted.num_parts)
    options = wanted.options
    if options.arrangement is not None:
        with environment_faults():
            mapped = _arrangement(options.arrangement).mapped_features(graph)
            named = dict.fromkeys((*options.map_feature, *mapped))
        options = replace(options, map_feature=tuple(named))
    layouts = _layouts(options, graph)
    options.check_fits(graph.schema)
    _check_fits(graph.schema, layouts, options, wanted.target, wanted.known_parts)
    return replace(wanted, options=options), layouts


def _announced(
    graph: Graph, wanted: Wanted, resources: Resources, out: Path, listener: ProgressListener
) -> Plan | None:
    """Show the plan, if the number of parts is known, and warn about what DGL cannot serve."""
    if wanted.options.graphs and (held := graph.schema.bfloat16_features):
        what = "DGL's servers cannot read bfloat16 (load_partition can); cast to float16 for them: %s"
        logger.warning(what, ", ".join(held))
    parts = wanted.known_parts
    if parts is None:
        return None
    return announce(graph, parts, wanted.owners, wanted.options, resources, out, listener)


def _dispatch(
    graph: Graph,
    wanted: Wanted,
    layouts: tuple[Layout, ...],
    destination: Destination | None,
    out: Path,
    work: Workspace,
    runner: Runner,
) -> Outcome:
    sizes = choose_sizes(runner.resources)
    if isinstance(wanted.owners, AssignOptions):
        graph = count_lines(graph, sizes.csv_block_bytes, runner)
    assignment = _assign(graph, wanted.owners, wanted.num_parts, work, runner)
    graph = count_lines(graph, sizes.csv_block_bytes, runner)  # read given owners before counting lines
    _check_fits(graph.schema, layouts, wanted.options, wanted.target, assignment.num_parts)
    if assignment.trainers:
        from daskgraphpart.partitioner.trainers import with_trainers

        graph = with_trainers(graph, assignment.trainers, work.owners / "edge-trainers", runner)
    exporter: Exporter | None = destination
    if exporter is None and runner.resources.staging == "zarr":
        from daskgraphpart.dispatching.delivery.export import ZarrExporter  # imports zarr

        exporter = ZarrExporter()
    return dispatch_graph(Job(graph, assignment, str(out), wanted.options, sizes, work, runner, layouts, exporter))


def check_known(name: str, wanted: Wanted) -> tuple[Layout, ...]:
    """Check what no tables could become; return the requested layouts."""
    layouts = _layouts(wanted.options, None)
    if isinstance(wanted.owners, AssignOptions):
        assert wanted.num_parts is not None, "owners are made for a number of parts"
        check_wanted(wanted.owners, wanted.num_parts)
    elif isinstance(wanted.owners, Path) and not wanted.owners.exists():
        hint = "give the output of assign"
        raise InputFileNotFoundError("no such directory of owners", file=wanted.owners, hint=hint)
    _check_fits(GraphSchema(name, (), ()), layouts, wanted.options, wanted.target, wanted.known_parts)
    return layouts


def _check_fits(
    schema: GraphSchema,
    layouts: tuple[Layout, ...],
    options: DispatchOptions,
    target: Path | Destination,
    num_parts: int | None,
) -> None:
    """Check what can be made of a graph, as far as its types and the number of parts are known."""
    for layout in layouts:
        layout.check_fits(schema, num_parts)
    if isinstance(target, Destination) and num_parts is not None:
        target.check_parts(num_parts)
    linked = [link for layout in layouts for link in layout.links()]
    if not isinstance(target, Path) and (not options.reshuffle or linked):
        raise OptionError(
            "this output names its files by local path or link, so it needs a local directory",
            place=f"layout {linked[0].partition('/')[0]}" if linked else "reshuffle",
            hint="choose a local directory, without dispatch_to",
        )


def _layouts(options: DispatchOptions, graph: Graph | None) -> tuple[Layout, ...]:
    """Return the requested layouts, DGL's first; ID maps only if the graph is known."""
    layouts: list[Layout] = []
    if options.graphs:
        marks = options.store_inner_node, options.store_inner_edge, options.store_types_and_owners
        stored = GraphBoltAttributes(options.store_eids, *marks, coo="coo" in options.graph_formats)
        dgl = DglLayout(tuple(options.graph_formats), options.config_name, options.reshuffle, options.graphs, stored)
        with environment_faults():
            arranged = options.arrangement
            layouts.append(dgl if arranged is None else _arrangement(arranged).wrap(dgl, graph))
    return (*layouts, *plugin_layouts(options.plugins, options.layout_options or {}))


def _arrangement(name: str) -> type[DglArrangement]:
    from daskgraphpart.layouts.graphstorm_layout import GraphStormLayout  # for few jobs

    return {"graphstorm": GraphStormLayout}[name]


def _assign(
    graph: Graph,
    owners: Assignment | Path | AssignOptions,
    num_parts: int | None,
    work: Workspace,
    runner: Runner,
) -> Assignment:
    if isinstance(owners, AssignOptions):
        assert num_parts is not None, "owners are made for a number of parts"
        return assign_nodes(graph, num_parts, owners, work.owners, runner, read_owners=read_owners, report=False)
    if isinstance(owners, Path):
        owners = read_owners(owners, graph, work.owners, runner, num_parts)
    elif not runner.store.is_on_disk:
        owners = store_owners(owners, work.owners, runner)
    owners.check_fits(graph.schema)
    return owners


def _output_directory(
    out: Path, destination: Destination | None, names: tuple[str, ...], run: RunOptions, plan: Plan | None
) -> OutputDirectory:
    """Directory in which to make files; partitions to replace stay until the new ones are complete."""

    def claim(is_unfinished: bool) -> None:
        may_replace = run.overwrite or is_unfinished
        if destination is None:
            check_claimable(out, names, may_replace)
        else:
            destination.check_claimable(names, may_replace)
        discard()
        if plan is not None:
            plan.check_disks()

    def discard() -> None:
        discard_unfinished(out)
        if destination is not None:
            discard_output(out)

    return OutputDirectory(out, claim, discard, "output directory" if destination is None else "workspace")
