"""Run a job: check its specification, take the output, then read, assign, and write owners or dispatch."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.destination import Destination
from daskgraphpart.dispatching.dispatch_graph import dispatch_graph
from daskgraphpart.dispatching.job import Job, choose_sizes
from daskgraphpart.dispatching.output_directory import check_claimable, check_output, discard_output, discard_unfinished
from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.engine.progress import ProgressListener, open_progress
from daskgraphpart.engine.resources import ON_THIS_MACHINE
from daskgraphpart.engine.runner import Runner, open_runner
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.graph.companion_files import copy_companions, copy_file, maps_and_codes
from daskgraphpart.graph.dask_partitions import count_lines
from daskgraphpart.graph.share_arrays import write_rows
from daskgraphpart.ids.hash_id_maps import describe_id_maps
from daskgraphpart.jobs.advise_methods import advising_methods
from daskgraphpart.jobs.estimate_job import show_estimate
from daskgraphpart.jobs.job_inputs import input_paths, read_owners, share_owners
from daskgraphpart.jobs.jobs import OutputDirectory, input_directory, open_job
from daskgraphpart.layouts.layout import Layout, raw_file_layout
from daskgraphpart.partitioner.assign_nodes import assign_nodes
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import META_FILE, TRAINERS, Owners
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import is_file, make_directory, shown_name
from daskgraphpart.storage.paths import check_apart, is_url
from daskgraphpart.storage.scratch import lasting_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.dispatching.finish import JobResult
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.jobs.job_options import JobOptions
    from daskgraphpart.jobs.job_spec import JobSpec
    from daskgraphpart.storage.region import Region
    from daskgraphpart.storage.store_workspace.pieced_store import PiecedStore


@dataclass(frozen=True, slots=True, eq=False)
class StartedJob:
    """A job that has read its graph, and what its further steps share."""

    spec: JobSpec
    graph: Graph
    layouts: tuple[Layout, ...]
    out: Path
    work: Workspace
    runner: Runner
    destination: Destination | None


def run_dispatch(spec: JobSpec, options: JobOptions) -> JobResult:
    """Run a job that writes partitions."""
    with opened_workspace(spec, options) as (options, store):
        with started(spec, options) as job:
            result = dispatch(job, *assign(job))
        return result if store is None else replace(result, traffic=store.describe_traffic())


def run_assign(spec: JobSpec, options: JobOptions) -> Owners:
    """Run a job whose output is the owners, in files that stay until Python exits."""
    with open_progress(options.progress) as listener:
        if is_url(options.resources.workspace):
            check_apart(spec.place, spec.input_paths)
        with opened_workspace(spec, replace(options, progress=listener)) as (options, store):
            with started(spec, options, store) as job:
                assignment = write_owners(job, *assign(job))
            if store is None:
                return assignment
            listener.note(f"store: {store.describe_traffic()}")
            return replace(assignment, id_maps={of: store.place_of(path) for of, path in assignment.id_maps.items()})


@contextmanager
def opened_workspace(
    spec: JobSpec, options: JobOptions, *, is_run: bool = True
) -> Iterator[tuple[JobOptions, PiecedStore | None]]:
    """Open a workspace that is in a store; for names only, unless the job runs."""
    if not is_url(options.resources.workspace):
        yield options, None
        return
    from daskgraphpart.jobs.open_workspace import open_workspace  # imports fsspec

    with open_workspace(options.resources, spec.place, input_paths(spec.scan) if is_run else None) as store:
        yield replace(options, resources=replace(options.resources, workspace=store.root)), store


@contextmanager
def started(spec: JobSpec, options: JobOptions, store: PiecedStore | None = None) -> Iterator[StartedJob]:
    """Check what can be known, take the output, and read the graph; resumes an unfinished job."""
    known, scan = spec.scan.known, spec.scan
    spec, layouts = spec.check(known)
    if known is None:
        resources = options.resources.limited(scan.smallest_memory)
    else:
        with advising_methods(spec, known, options.resources.memory):
            resources = options.resources.limited(*spec.smallest_memory(known.schema))
    options = replace(options, resources=resources)
    with ExitStack() as stack:
        stack.enter_context(environment_faults())
        listener = stack.enter_context(open_progress(options.progress))
        options = replace(options, progress=listener)
        destination = None
        if spec.target is None:
            out = lasting_directory(options.resources.workspace)
            work, first = Workspace(str(out)), stack.enter_context(open_runner(options.resources, options.progress))
            name = "temporary directory" if options.resources.workspace is None else "workspace"
            first.check_shared([(name, out, ""), *input_directory(scan)])
        else:
            output, destination = stack.enter_context(
                claimed_owners(spec, options, listener, store)
                if spec.options is None
                else claimed_parts(spec, options, listener, layouts)
            )
            out = output.path
            work, first = stack.enter_context(open_job(output, scan, spec.fingerprint(), options))
            if destination is not None:
                destination.check(first)
        graph = scan.stage(Path(work.root) / "tables", first, spec.edge_weights)
        if graph is not known:
            spec, layouts = spec.check(graph)
        processes = first.scheduler.processes
        with advising_methods(spec, graph, first.resources.memory, processes, first.shares):
            runner = stack.enter_context(first.for_tasks_of(*spec.smallest_memory(graph.schema, processes)))
        if known is None and spec.target is not None:
            plan = show_estimate(spec, layouts, graph, runner.resources, out, runner.progress)
            if plan is not None:
                plan.check_disks()
        yield StartedJob(spec, graph, layouts, out, work, runner, destination)


def assign(job: StartedJob) -> tuple[Graph, Owners]:
    """Give every node an owner; return the graph with its lines counted, too."""
    spec, graph, runner, directory = job.spec, job.graph, job.runner, job.work.owners
    nbytes = choose_sizes(runner.resources).csv_block_bytes
    if isinstance(spec.owners, AssignOptions):
        assert spec.num_parts is not None, "owners are made for a number of parts"
        graph, is_output = count_lines(graph, nbytes, runner), spec.options is None
        owners = assign_nodes(
            graph, spec.num_parts, spec.owners, directory, runner, read_owners=read_owners, report=is_output
        )
        return graph, owners
    if isinstance(spec.owners, Path):
        owners = read_owners(spec.owners, graph, directory, runner, spec.num_parts)
    else:
        owners = share_owners(spec.owners, directory, runner)
    owners.check_fits(graph.schema)
    return count_lines(graph, nbytes, runner), owners  # owners that are wrong are found first


def dispatch(job: StartedJob, graph: Graph, assignment: Owners) -> JobResult:
    """Write the partitions; the maps of IDs go beside them, unless the graph's directory has them."""
    spec, runner, (first, *others) = job.spec, job.runner, job.layouts
    assert spec.options is not None, "it writes partitions"
    spec.check_output(job.layouts, assignment.num_parts, assignment.training)
    if not graph.directory:
        paths = maps_and_codes(graph.companions)
        maps = {name: raw_file_layout((), partial(copy_file, path)) for name, path in paths.items()}
        first = replace(first, companions={**first.companions, **maps})
    if assignment.trainers:
        from daskgraphpart.partitioner.trainers import with_trainers

        graph = with_trainers(graph, assignment.trainers, job.work.owners / "edge-trainers", runner)
    sizes, layouts = choose_sizes(runner.resources), (first, *others)
    return dispatch_graph(
        Job(graph, assignment, str(job.out), spec.options, sizes, job.work, runner, layouts, job.destination)
    )


def write_owners(job: StartedJob, graph: Graph, assignment: Owners) -> Owners:
    """Write the owners to the output, if there is one; return them in files that outlive the job."""
    spec, runner, out = job.spec, job.runner, job.out
    assert isinstance(spec.owners, AssignOptions), "they were made"
    seed = spec.owners.seed if spec.owners.is_named else None
    if spec.target is None:
        return replace(assignment, id_maps=graph.id_maps, seed=seed)
    from daskgraphpart.partitioner.write_files import write_assignment  # few jobs write owners

    # the workspace of the job goes; these stay where workers see them, and are there before the output is whole
    cluster, workspace = runner.resources.cluster, runner.resources.workspace
    near_them = workspace or (None if cluster in ON_THIS_MACHINE else out)
    kept = lasting_directory(near_them if runner.store.is_on_disk else None)

    def keep(files: Mapping[str, Region], name: str) -> dict[str, Region]:
        make_directory(kept / name)
        return {ntype: write_rows(rows, kept / name / f"{ntype}.npy") for ntype, rows in files.items()}

    files, trainers = keep(assignment.files, "owners"), keep(assignment.trainers, TRAINERS)
    if not graph.directory:  # the maps of the job go with the owners
        graph = replace(graph, companions=copy_companions(maps_and_codes(graph.companions), out))
    id_maps = None
    if runner.store.is_on_disk or not graph.directory:
        id_maps = describe_id_maps(graph.id_maps, out, runner)
    write_assignment(assignment, out, runner, form=spec.form, seed=seed, id_maps=id_maps)
    return replace(assignment, files=files, trainers=trainers, id_maps=graph.id_maps, seed=seed)


def check_assignment_directory(scan: Scan, out: Path, overwrite: bool) -> None:
    """Refuse to write owners into the input graph, or over an assignment."""
    directory = os.path.realpath(out)
    for path in map(str, input_paths(scan)):
        if directory in (os.path.realpath(path), os.path.dirname(os.path.realpath(path))):
            hint = "choose another directory"
            raise OutputExistsError("the output directory contains the input graph", file=out, found=path, hint=hint)
    if is_file(out / META_FILE) and not overwrite:
        hint = "add --overwrite, or choose another directory"
        raise OutputExistsError("the directory already has an assignment", file=shown_name(out), hint=hint)


@contextmanager
def claimed_owners(
    spec: JobSpec, options: JobOptions, listener: ProgressListener, store: PiecedStore | None
) -> Iterator[tuple[OutputDirectory, Destination | None]]:
    """Take the directory of owners."""

    def claim(_: bool) -> None:
        check_assignment_directory(spec.scan, out, options.overwrite)

    with ExitStack() as stack:
        if store is None:
            assert isinstance(spec.target, Path), "it is on this machine"
            claimed, out = None, spec.target
        else:
            (_, claimed), out = stack.enter_context(store.claimed()), store.output
        check_assignment_directory(spec.scan, out, overwrite=True)
        show_estimate(spec, (), spec.scan.known, options.resources, out, listener)
        yield OutputDirectory(out, options.resources.workspace, claim, lambda: None, claimed=claimed), None


@contextmanager
def claimed_parts(
    spec: JobSpec, options: JobOptions, listener: ProgressListener, layouts: tuple[Layout, ...]
) -> Iterator[tuple[OutputDirectory, Destination | None]]:
    """Take the directory of partitions; those to replace stay until the new ones are complete."""
    target, elsewhere, claimed = spec.target, None, None
    out = spec.directory(options.resources.workspace)
    check_output(spec.place, spec.input_paths)
    names = tuple(name for layout in reversed(layouts) for name in layout.descriptions(spec.scan.name))
    with ExitStack() as stack:
        if isinstance(target, Destination):
            options = replace(options, resources=replace(options.resources, workspace=None))
            elsewhere = target.of_job(out, names, options.overwrite)
            elsewhere.check_place(options.resources.cluster)
        plan = show_estimate(spec, layouts, spec.scan.known, options.resources, out, listener)
        if elsewhere is not None:
            stack.callback(elsewhere.clean, out)
            elsewhere, claimed = stack.enter_context(elsewhere.claimed())

        def claim(is_unfinished: bool) -> None:
            may_replace = options.overwrite or is_unfinished
            if elsewhere is None:
                check_claimable(out, names, may_replace)
            else:
                elsewhere.check_claimable(may_replace)
            discard()
            if plan is not None:
                plan.check_disks()

        def discard() -> None:
            discard_unfinished(out)
            if elsewhere is not None:
                discard_output(out)

        name = "output directory" if elsewhere is None else "workspace"
        yield OutputDirectory(out, options.resources.workspace, claim, discard, name, claimed), elsewhere
