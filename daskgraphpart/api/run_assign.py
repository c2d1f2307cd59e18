"""Run `assign` as a job with an output directory, or in a temporary directory until Python exits."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.estimate import announce, estimate, smallest_memory
from daskgraphpart.api.inputs import (
    fingerprint,
    identify_owners,
    in_reach,
    input_paths,
    opened,
    read_owners,
)
from daskgraphpart.api.jobs import OutputDirectory, RunOptions, input_directory, open_job, run_of
from daskgraphpart.assignment.assignment import META_FILE, TRAINERS, Assignment
from daskgraphpart.assignment.options import METHODS, AssignOptions
from daskgraphpart.assignment.pipeline import assign_nodes, check_assignable, check_wanted
from daskgraphpart.chunked.graph import Graph
from daskgraphpart.chunked.partitions import count_lines
from daskgraphpart.dispatching.job import choose_sizes
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.resources import ON_THIS_MACHINE
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.options import chosen
from daskgraphpart.sources.options import MIN_TABLE_MEMORY
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local
from daskgraphpart.storage.scratch import lasting_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.table_spec import TableSpec


def assign_job(
    graph: Any,
    num_parts: int,
    *,
    out: str | os.PathLike[str] | None,
    form: str,
    storage_options: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Assignment:
    """Do what `assign` does; return the internal assignment."""
    options, run = chosen(AssignOptions, keywords), run_of(keywords)
    found = opened(graph, storage_options, run.resources)
    if out is None:
        return _assign_here(found, num_parts, options, run)
    return _assign_to(found, num_parts, options, require_local(out, "an assignment").absolute(), form, run)


def _assign_here(graph: Graph | TableSpec, num_parts: int, options: AssignOptions, run: RunOptions) -> Assignment:
    resources, workspace = _limited(graph, num_parts, options, run.resources), run.resources.workspace
    directory = lasting_directory(workspace)
    name = "temporary directory" if workspace is None else "workspace"
    with environment_faults(), open_runner(resources, run.progress) as first:
        first.scheduler.check_shared([(name, directory, ""), *input_directory(graph)])
        return _assign_in(directory, graph, num_parts, options, first)


def _assign_in(
    directory: Path, graph: Graph | TableSpec, num_parts: int, options: AssignOptions, first: Runner
) -> Assignment:
    with _assignable(graph, directory / "tables", options, num_parts, first) as (staged, runner):
        seed = options.seed if options.method in METHODS else None
        found = assign_nodes(staged, num_parts, options, directory, runner, read_owners=read_owners)
        return replace(found, id_maps=staged.id_maps, seed=seed)


def _limited(graph: Graph | TableSpec, num_parts: int, options: AssignOptions, resources: Resources) -> Resources:
    """Check what needs no table to be read; return the job's resources."""
    smallest = MIN_TABLE_MEMORY
    check_wanted(options, num_parts)
    if isinstance(graph, Graph):
        check_assignable(options, graph, num_parts)
        smallest = smallest_memory(graph.schema, options, None)
    return resources.limited(smallest)


def _assign_to(
    graph: Graph | TableSpec, num_parts: int, options: AssignOptions, out: Path, form: str, run: RunOptions
) -> Assignment:
    from daskgraphpart.assignment.id_maps import describe_id_maps
    from daskgraphpart.assignment.read_files import read_assignment
    from daskgraphpart.assignment.write_files import write_assignment

    resources = _limited(graph, num_parts, options, run.resources)
    check_assignment_directory(graph, out, overwrite=True)
    output = OutputDirectory(out, lambda _: check_assignment_directory(graph, out, run.overwrite), lambda: None)
    with environment_faults(), open_progress(run.progress) as listener:
        if isinstance(graph, Graph):
            announce(estimate(graph, num_parts, options, None, resources, out), listener)
        _, named, files = identify_owners(graph, options, num_parts)
        identity = fingerprint("assign", graph, {"form": form, **named}, files)
        run = replace(run, resources=resources, progress=listener)
        with (
            open_job(output, graph, identity, run) as (work, first),
            _assignable(graph, Path(work.root) / "tables", options, num_parts, first) as (staged, runner),
        ):
            assignment = assign_nodes(staged, num_parts, options, work.owners, runner, read_owners=read_owners)
            if not isinstance(graph, Graph):
                from daskgraphpart.sources.stage_tables import keep_maps

                staged = keep_maps(staged, out)
            seed = options.seed if options.method in METHODS else None
            id_maps = describe_id_maps(staged.id_maps, out, runner)
            write_assignment(assignment, out, runner, form=form, seed=seed, id_maps=id_maps)
            # keep them until Python exits, where workers see them: the workspace of the job goes
            kept = lasting_directory(run.resources.workspace or (None if resources.cluster in ON_THIS_MACHINE else out))
            with open_runner(replace(resources, cluster="sync", workers=1)) as reader:
                files_of = read_assignment(out, staged.schema, kept, reader).files
            trainers = {
                ntype: region.moved(out / TRAINERS / f"{ntype}.npy") for ntype, region in assignment.trainers.items()
            }
            return replace(assignment, files=files_of, trainers=trainers, id_maps=staged.id_maps, seed=seed)


def check_assignment_directory(graph: Graph | TableSpec, out: Path, overwrite: bool) -> None:
    """Refuse to write owners into the input graph, or over an assignment."""
    directory = os.path.realpath(out)
    for path in map(str, input_paths(graph)):
        if directory in (os.path.realpath(path), os.path.dirname(os.path.realpath(path))):
            hint = "choose another directory"
            raise OutputExistsError("the output directory contains the input graph", file=out, found=path, hint=hint)
    if (out / META_FILE).exists() and not overwrite:
        hint = "add --overwrite, or choose another directory"
        raise OutputExistsError("the directory already has an assignment", file=out, hint=hint)


@contextmanager
def _assignable(
    graph: Graph | TableSpec, directory: Path, options: AssignOptions, num_parts: int, runner: Runner
) -> Iterator[tuple[Graph, Runner]]:
    """Yield a graph (tables staged in a directory) and a runner for its tasks."""
    if isinstance(graph, Graph):
        graph = in_reach(graph, directory, runner.resources)
        yield count_lines(graph, choose_sizes(runner.resources).csv_block_bytes, runner), runner
        return
    from daskgraphpart.sources.stage_tables import stage_tables  # slow to import

    staged = stage_tables(graph, directory, runner, tuple(options.edge_weight))
    check_assignable(options, staged, num_parts)
    with runner.for_tasks_of(smallest_memory(staged.schema, options, None)) as limited:
        yield staged, limited
