"""Run a dispatch: check its options and its output, identify it, begin or continue it, bring parts to the output."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.api.inputs import fingerprint, identify_owners, input_paths, made_in
from daskgraphpart.api.jobs import OutputDirectory, RunOptions, open_job
from daskgraphpart.api.plan import Plan, announce, estimate, smallest_memory
from daskgraphpart.assignment.assignment import Assignment
from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.assignment.pipeline import assign_nodes
from daskgraphpart.assignment.read_files import read_assignment, read_num_parts
from daskgraphpart.assignment.trainers import with_trainers
from daskgraphpart.dispatching.job import Job
from daskgraphpart.dispatching.machines import Destination, Machines, check_machine, run_on_each
from daskgraphpart.dispatching.output import check_claimable, check_output, discard_output, discard_unfinished
from daskgraphpart.dispatching.pipeline import dispatch_graph
from daskgraphpart.dispatching.sizes import choose_sizes
from daskgraphpart.dispatching.workspace import Workspace, remove_staging
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.layouts.graphbolt import Attributes
from daskgraphpart.layouts.graphstorm import GraphStormLayout
from daskgraphpart.layouts.ondisk import OnDiskLayout
from daskgraphpart.layouts.parquet import ParquetLayout
from daskgraphpart.layouts.ranks import RanksLayout
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.layout import Layout
    from daskgraphpart.storage.paths import Location

logger = logging.getLogger(__name__)


def run_dispatch(
    graph: Graph,
    target: Location | Machines,
    options: DispatchOptions,
    owners: Assignment | Path | AssignOptions,
    num_parts: int | None,
    run: RunOptions,
) -> Outcome:
    """Dispatch a graph to owners that are given, lie in a directory, or are made by options.

    The number of parts may be unknown if they are in a directory.
    """
    (options, layouts), parts = _layouts(graph, options), _known_parts(owners, num_parts)
    _check_fits(graph, layouts, options, target, parts)
    run = replace(run, resources=run.resources.limited(smallest_memory(graph.schema, owners, options)))
    with environment_faults(), open_progress(run.progress) as listener:
        command, chosen, files = identify_owners(graph, owners, num_parts)
        place = target.path if isinstance(target, Machines) else target.absolute()
        check_output(place, [*input_paths(graph), *files])
        names = tuple(name for layout in layouts for name in layout.descriptions(graph.schema))
        out, destination = made_in(target, run.resources.workspace), None
        if not isinstance(target, Path):
            destination = Destination(target, str(out), names, run.overwrite)
            run = replace(run, resources=replace(run.resources, workspace=None))
        run = replace(run, progress=listener)
        if isinstance(target, Machines):
            target.check_cluster(run.resources.cluster)
            chosen["dispatch"] = list(target.hosts)
        identity = fingerprint(command, graph, {**chosen, **asdict(options)}, files)
        plan = None
        if parts is not None:
            plan = announce(estimate(graph, parts, owners, options, run.resources, out), listener)
        if options.graphs and (held := graph.schema.bfloat16_features):
            what = (
                "DGL's distributed servers cannot start on bfloat16, its load_partition reads it (cast to float16): %s"
            )
            logger.warning(what, ", ".join(held))
        try:
            output = _output_directory(out, destination, names, run, plan)
            with open_job(output, graph, identity, run) as (work, runner):
                if destination is not None and isinstance(target, Machines):
                    run_on_each("check-machines", check_machine, target, destination, runner)
                assignment = _assign(graph, owners, num_parts, work, runner)
                _check_fits(graph, layouts, options, target, assignment.num_parts)
                if assignment.trainers:
                    graph = with_trainers(graph, assignment.trainers, work.owners / "edge-trainers", runner)
                sizes = choose_sizes(runner.resources)
                return dispatch_graph(
                    Job(graph, assignment, str(out), options, sizes, work, runner, layouts, destination)
                )
        finally:
            if destination is not None:
                remove_staging(out)


def _check_fits(
    graph: Graph,
    layouts: tuple[Layout, ...],
    options: DispatchOptions,
    target: Location | Machines,
    num_parts: int | None,
) -> None:
    """Check that what is wanted can be made of a graph, as far as the number of parts is known."""
    options.check_fits(graph.schema)
    for layout in layouts:
        layout.check_fits(graph.schema, num_parts)
    if isinstance(target, Machines) and num_parts is not None:
        target.check_parts(num_parts)
    if not isinstance(target, Path) and (not options.reshuffle or "ondisk" in options.layout):
        raise OptionError(
            "what names its files by path, or links them, is written to a directory here only",
            place="layout ondisk" if options.reshuffle else "reshuffle",
            hint="give a directory of this file system, without dispatch_to",
        )


def _layouts(graph: Graph, options: DispatchOptions) -> tuple[DispatchOptions, tuple[Layout, ...]]:
    """Return options, with what the input adds to them, and the layouts that they ask for, that of DGL first."""
    beside, found = None, []
    if "graphstorm" in options.layout:
        from daskgraphpart.sources.graphstorm import files_beside, hard_negatives  # needs pyarrow

        with environment_faults():
            beside = files_beside(graph)
            named = dict.fromkeys((*options.map_feature, *hard_negatives(graph)))
        options = replace(options, map_feature=tuple(named))
    if options.graphs:
        graphbolt = Attributes(options.store_eids, options.store_inner_node, options.store_inner_edge)
        dgl = DglLayout(options.graph_formats, options.config_name, options.reshuffle, options.graphs, graphbolt)
        found.append(dgl if beside is None else GraphStormLayout(dgl, beside))
    others: dict[str, Layout] = {"ranks": RanksLayout(), "parquet": ParquetLayout(), "ondisk": OnDiskLayout()}
    return options, (*found, *(layout for name, layout in others.items() if name in options.layout))


def _known_parts(owners: Assignment | Path | AssignOptions, num_parts: int | None) -> int | None:
    """Number of parts, as far as it is known before owners are read."""
    if isinstance(owners, Assignment):
        return owners.num_parts
    return read_num_parts(owners) if isinstance(owners, Path) and num_parts is None else num_parts


def _assign(
    graph: Graph,
    owners: Assignment | Path | AssignOptions,
    num_parts: int | None,
    work: Workspace,
    runner: Runner,
) -> Assignment:
    """Return the owners, read or made if need be."""
    if isinstance(owners, AssignOptions):
        assert num_parts is not None, "owners are made for a number of parts"
        return assign_nodes(graph, num_parts, owners, work.owners, runner, report=False)
    if isinstance(owners, Path):
        owners = read_assignment(owners, graph.schema, work.owners, runner, num_parts)
    owners.check_fits(graph.schema)
    return owners


def _output_directory(
    out: Path, destination: Destination | None, names: tuple[str, ...], run: RunOptions, plan: Plan | None
) -> OutputDirectory:
    """Directory in which a job makes files; partitions that are replaced stay until the new ones are complete."""

    def claim(is_unfinished: bool) -> None:
        target = out if destination is None else destination.target
        if not isinstance(target, Machines):  # these are asked when workers are there
            check_claimable(target, names, run.overwrite or is_unfinished)
        discard()
        if plan is not None:
            plan.check_disks()

    def discard() -> None:
        discard_unfinished(out)
        if destination is not None:
            discard_output(out)

    return OutputDirectory(out, claim, discard, "output directory" if destination is None else "workspace")
