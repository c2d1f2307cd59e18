"""Run `assign` as a job with an output directory, or in a temporary directory until Python exits."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.job import choose_sizes
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.resources import ON_THIS_MACHINE
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.graph.companion_files import copy_companions, maps_and_codes
from daskgraphpart.graph.dask_partitions import count_lines
from daskgraphpart.graph.share_arrays import write_rows
from daskgraphpart.jobs.estimate_job import announce
from daskgraphpart.jobs.forecast import smallest_memory
from daskgraphpart.jobs.job_inputs import fingerprint, identify_owners, input_paths, read_owners
from daskgraphpart.jobs.jobs import OutputDirectory, input_directory, open_job
from daskgraphpart.jobs.order_of_nodes import check_order
from daskgraphpart.partitioner.assign_nodes import assign_nodes, check_assignable, check_wanted
from daskgraphpart.partitioner.assignment import META_FILE, TRAINERS, Assignment
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import is_file, make_directory, shown_name
from daskgraphpart.storage.output_lock import output_lock
from daskgraphpart.storage.paths import check_apart, is_url, require_local, resolve_path
from daskgraphpart.storage.scratch import lasting_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.jobs.run_options import RunOptions
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.storage.output_lock import OutputLock
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region


def assign_job(
    graph: Any,
    num_parts: int,
    options: AssignOptions,
    run: RunOptions,
    *,
    out: str | os.PathLike[str] | None,
    form: str,
    storage_options: Mapping[str, Any] | None = None,
) -> Assignment:
    """Do what `assign` does; return the internal assignment."""
    if out is None:
        run.resources.check_workspace("without an output, owners live on this machine")
    scan = open_scan(graph, storage_options, run.resources)
    if out is None:
        return _assign_here(scan, num_parts, options, run)
    if not is_url(run.resources.workspace):
        place = require_local(out, "an assignment", "give a --workspace in the store, too, or a directory")
        return _assign_to(scan, num_parts, options, place.absolute(), form, run)
    return _assign_to_store(scan, num_parts, options, resolve_path(out, storage_options), form, run)


def _assign_to_store(
    scan: Scan, num_parts: int, options: AssignOptions, out: Location, form: str, run: RunOptions
) -> Assignment:
    """Do it with a workspace in a store, whose names of the output are written to `out`."""
    check_apart(out, input_paths(scan))
    from daskgraphpart.jobs.open_workspace import open_workspace  # imports fsspec

    with (
        open_workspace(run.resources, out, input_paths(scan)) as store,
        open_progress(run.progress) as listener,
    ):
        run = replace(run, resources=replace(run.resources, workspace=store.root), progress=listener)
        with output_lock(store.out) as claimed:
            store.with_claim(claimed.claim)
            assignment = _assign_to(scan, num_parts, options, store.output, form, run, claimed)
        listener.note(f"store: {store.describe_traffic()}")
    maps = {of: store.place_of(path) for of, path in assignment.id_maps.items()}
    return replace(assignment, id_maps=maps)


def _assign_here(scan: Scan, num_parts: int, options: AssignOptions, run: RunOptions) -> Assignment:
    resources, workspace = _limited(scan, num_parts, options, run.resources), run.resources.workspace
    directory = lasting_directory(workspace)
    name = "temporary directory" if workspace is None else "workspace"
    with environment_faults(), open_runner(resources, run.progress) as first:
        first.check_shared([(name, directory, ""), *input_directory(scan)])
        return _assign_in(directory, scan, num_parts, options, first)


def _assign_in(directory: Path, scan: Scan, num_parts: int, options: AssignOptions, first: Runner) -> Assignment:
    with _assignable(scan, directory / "tables", options, num_parts, first) as (staged, runner):
        seed = options.seed if options.is_named else None
        assignment = assign_nodes(staged, num_parts, options, directory, runner, read_owners=read_owners)
        return replace(assignment, id_maps=staged.id_maps, seed=seed)


def _limited(scan: Scan, num_parts: int, options: AssignOptions, resources: Resources) -> Resources:
    """Check what is known before the graph is read; return the job's resources."""
    check_wanted(options, num_parts)
    check_order(scan, options)
    if scan.known is None:
        return resources.limited(scan.smallest_memory)
    check_assignable(options, scan.known, num_parts)
    return resources.limited(*smallest_memory(scan.known.schema, num_parts, options, None))


def _assign_to(
    scan: Scan,
    num_parts: int,
    options: AssignOptions,
    out: Path,
    form: str,
    run: RunOptions,
    claimed: OutputLock | None = None,
) -> Assignment:
    from daskgraphpart.ids.hash_id_maps import describe_id_maps
    from daskgraphpart.partitioner.read_files import read_assignment
    from daskgraphpart.partitioner.write_files import write_assignment

    resources = _limited(scan, num_parts, options, run.resources)
    check_assignment_directory(scan, out, overwrite=True)
    output = OutputDirectory(
        out, lambda _: check_assignment_directory(scan, out, run.overwrite), lambda: None, claimed=claimed
    )
    with environment_faults(), open_progress(run.progress) as listener:
        if scan.known is not None:
            announce(scan.known, num_parts, options, None, resources, out, listener)
        _, named, files = identify_owners(scan, options, num_parts)
        identity = fingerprint("assign", scan, {"form": form, **named}, files)
        run = replace(run, resources=resources, progress=listener)
        with (
            open_job(output, scan, identity, run) as (work, first),
            _assignable(scan, Path(work.root) / "tables", options, num_parts, first) as (staged, runner),
        ):
            assignment = assign_nodes(staged, num_parts, options, work.owners, runner, read_owners=read_owners)
            if not staged.directory:  # the maps of the job go with the owners
                staged = replace(staged, companions=copy_companions(maps_and_codes(staged.companions), out))
            seed = options.seed if options.is_named else None
            id_maps = None
            if runner.store.is_on_disk or not staged.directory:
                id_maps = describe_id_maps(staged.id_maps, out, runner)
            write_assignment(assignment, out, runner, form=form, seed=seed, id_maps=id_maps)
            owned = replace(assignment, id_maps=staged.id_maps, seed=seed)
            if not runner.store.is_on_disk:
                return _kept_here(owned)
            # keep them until Python exits, where workers see them: the workspace of the job goes
            kept = lasting_directory(run.resources.workspace or (None if resources.cluster in ON_THIS_MACHINE else out))
            with open_runner(replace(resources, cluster="sync", workers=1)) as reader:
                files_of = read_assignment(out, staged.schema, kept, reader).files
            trainers = {
                ntype: region.moved(out / TRAINERS / f"{ntype}.npy") for ntype, region in assignment.trainers.items()
            }
            return replace(owned, files=files_of, trainers=trainers)


def _kept_here(assignment: Assignment) -> Assignment:
    """Return owners that lie in a store, in files of this machine until Python exits."""
    kept = lasting_directory()

    def keep(files: Mapping[str, Region], name: str) -> dict[str, Region]:
        make_directory(kept / name)
        return {ntype: write_rows(rows, kept / name / f"{ntype}.npy") for ntype, rows in files.items()}

    return replace(assignment, files=keep(assignment.files, "owners"), trainers=keep(assignment.trainers, TRAINERS))


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
def _assignable(
    scan: Scan, directory: Path, options: AssignOptions, num_parts: int, runner: Runner
) -> Iterator[tuple[Graph, Runner]]:
    """Yield the graph, read into the directory if need be, and a runner for its tasks."""
    graph = scan.stage(directory, runner, tuple(options.edge_weight))
    check_assignable(options, graph, num_parts)
    with runner.for_tasks_of(*smallest_memory(graph.schema, num_parts, options, None)) as limited:
        yield count_lines(graph, choose_sizes(limited.resources).csv_block_bytes, limited), limited
