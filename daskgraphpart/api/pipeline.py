"""The package's functions: assign, dispatch, partition. They resolve options and compose; the work is below."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.inputs import (
    check_assignment_directory,
    fingerprint,
    identify_owners,
    in_reach,
    opened,
    output_of,
    read_owners,
)
from daskgraphpart.api.jobs import OutputDirectory, RunOptions, open_job
from daskgraphpart.api.plan import announce, estimate, smallest_memory
from daskgraphpart.api.run_dispatch import Wanted, run_dispatch
from daskgraphpart.assignment.assignment import TRAINERS, Assignment, owner_dtype
from daskgraphpart.assignment.options import METHODS, AssignOptions, as_options
from daskgraphpart.assignment.pipeline import assign_nodes, check_assignable, check_method
from daskgraphpart.chunked.graph import Graph
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.engine.progress import Progress, open_progress
from daskgraphpart.engine.resources import Resources, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.sources.options import MIN_TABLE_MEMORY
from daskgraphpart.storage.atomic import lasting_directory
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.table_spec import TableSpec


def assign(
    graph: Graph | TableSpec | str | os.PathLike[str],
    num_parts: int,
    *,
    out_dir: str | os.PathLike[str] | None = None,
    method: str | AssignOptions = "auto",
    form: str = "npy",
    resources: Resources | None = None,
    overwrite: bool = False,
    restart: bool = False,
    keep_workspace: bool = False,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Assignment:
    """Give every node an owner.

    Parameters
    ----------
    graph : Graph, TableSpec, path or URL
        The graph, or the directory of its `metadata.json`; or tables, as `read_tables` describes them, or the path of
        one table of edges.
    num_parts : int
        Number of parts.
    out_dir : path, optional
        Where the owners are written as DGL's step 1 does (`<ntype>.txt`, `partition_meta.json`); made if need be.
        Without it they are kept in a temporary directory until the interpreter ends.
    method : str or AssignOptions
        ``"auto"``, ``"kaminpar"``, ``"metis"``, ``"multilevel"``, ``"fennel"``, ``"random"``, or a directory
        of owners; with further options (what is balanced, the seed, ...) an `AssignOptions`. ``"auto"`` takes the best
        cut that fits into the memory.
    form : str
        Binary form beside the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    resources : Resources, optional
        What may be used; changes no byte of the output. Default: all processors, half of the memory.
    overwrite : bool
        Whether what is in `out_dir` already is replaced: an assignment, a graph or partitions, as the function writes.
    restart : bool
        Whether an unfinished run in `out_dir` is thrown away; else it is continued.
    keep_workspace : bool
        Whether temporary files are kept at the end.
    progress : Progress, optional
        ``"auto"``, ``"bar"``, ``"log"``, ``"json"`` or a listener of yours; default none is shown.
    storage_options : mapping of str to object, optional
        Of the store of the graph, if its URL is given; as `fsspec.filesystem` takes them.

    Returns
    -------
    Assignment
        `dispatch` takes it, or `out_dir`; `report` has cut and balance.

    Raises
    ------
    OptionError
        If an option is impossible, or there are more parts than nodes.
    AssignmentError
        If owners that are read do not fit the graph, or a weight is negative.
    PlanError
        If the memory does not suffice.
    ResumeError
        If `out_dir` holds an unfinished run with other input or options.
    """
    graph, options = opened(graph, storage_options, resources), as_options(method)
    smallest = MIN_TABLE_MEMORY
    if isinstance(graph, Graph):
        check_assignable(options, graph, num_parts)
        smallest = smallest_memory(graph.schema, options, None)
    resources = (resources or detect_resources()).limited(smallest)
    if out_dir is None:
        directory = lasting_directory()
        with (
            open_runner(resources, progress) as first,
            environment_faults(),
            _assignable(graph, directory / "tables", options, num_parts, first) as (staged, runner),
        ):
            return assign_nodes(staged, num_parts, options, directory, runner, read_owners=read_owners)
    from daskgraphpart.assignment.id_maps import describe_id_maps
    from daskgraphpart.assignment.read_files import read_assignment
    from daskgraphpart.assignment.write_files import write_assignment

    out = require_local(out_dir, "an assignment").absolute()
    check_assignment_directory(graph, out, overwrite=True)
    output = OutputDirectory(out, lambda _: check_assignment_directory(graph, out, overwrite), lambda: None)
    with environment_faults(), open_progress(progress) as listener:
        if isinstance(graph, Graph):
            announce(estimate(graph, num_parts, options, None, resources, out), listener)
        _, chosen, files = identify_owners(graph, options, num_parts)
        identity = fingerprint("assign", graph, {"form": form, **chosen}, files)
        run = RunOptions(resources, listener, overwrite, restart, keep_workspace)
        with (
            open_job(output, graph, identity, run) as (work, first),
            _assignable(graph, Path(work.root) / "tables", options, num_parts, first) as (staged, runner),
        ):
            assignment = assign_nodes(staged, num_parts, options, work.owners, runner, read_owners=read_owners)
            if not isinstance(graph, Graph):
                from daskgraphpart.sources.stage_tables import keep_maps

                staged = keep_maps(staged, out)
            seed = options.seed if options.method in METHODS else None
            id_maps = describe_id_maps(staged, out, runner)
            write_assignment(assignment, out, runner, form=form, seed=seed, id_maps=id_maps)
            # where they last as long as this interpreter: the workspace is removed, and forms are not all files of rows
            with open_runner(replace(resources, cluster="sync", workers=1)) as reader:
                owners = read_assignment(out, staged.schema, lasting_directory(), reader).owners
            trainers = {
                ntype: region.moved(out / TRAINERS / f"{ntype}.npy") for ntype, region in assignment.trainers.items()
            }
            return replace(assignment, owners=owners, trainers=trainers)


@contextmanager
def _assignable(
    graph: Graph | TableSpec, directory: Path, options: AssignOptions, num_parts: int, runner: Runner
) -> Iterator[tuple[Graph, Runner]]:
    """Yield a graph, one of tables staged in a directory, and a runner for its tasks."""
    if isinstance(graph, Graph):
        yield in_reach(graph, directory, runner.resources), runner
        return
    from daskgraphpart.sources.stage_tables import stage_tables  # a job without tables does without

    staged = stage_tables(graph, directory, runner)
    check_assignable(options, staged, num_parts)
    with runner.for_tasks_of(smallest_memory(staged.schema, options, None)) as limited:
        yield staged, limited


def dispatch(
    graph: Graph | TableSpec | str | os.PathLike[str],
    assignment: Assignment | str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    options: DispatchOptions | None = None,
    resources: Resources | None = None,
    overwrite: bool = False,
    restart: bool = False,
    keep_workspace: bool = False,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Bring every node, edge and feature to its owner, and write the partitions DGL loads.

    Parameters
    ----------
    graph : Graph, TableSpec, path or URL
        The graph, or the directory of its `metadata.json`; or tables, as `read_tables` describes them, or the path of
        one table of edges.
    assignment : Assignment or path
        Owners of all nodes, or their directory.
    out_dir : path or URL
        Output directory; must be empty or absent, unless `overwrite`. Partitions for a store are made in
        `resources.workspace` and sent to it at the end.
    num_parts : int, optional
        Needed only for a directory of owners without `partition_meta.json`.
    options : DispatchOptions, optional
        What is written.
    resources, overwrite, restart, keep_workspace, progress : optional
        As in `assign`.
    storage_options : mapping of str to object, optional
        Of the stores, where URLs are given; as `fsspec.filesystem` takes them.
    dispatch_to : path, optional
        File of the machines that will serve the parts, as DGL's `ip_config.txt`. Part p goes to `out_dir` on the disk
        of machine p modulo the number of lines, brought there by a worker of the cluster that runs on it.

    Returns
    -------
    Outcome
        Path of the partition config, partition book and quality.

    Raises
    ------
    OutputExistsError
        If the output directory is not empty.
    OutputLockedError
        If another run is writing there.
    ResumeError
        If there is an unfinished run with other input or options.
    PlanError
        If the memory budget is too small; the message has the smallest that works.
    InputFileError, AssignmentError
        If the data are not what the metadata say.
    """
    run = RunOptions(resources or detect_resources(), progress, overwrite, restart, keep_workspace)
    owners = assignment if isinstance(assignment, Assignment) else require_local(assignment, "an assignment")
    graph, out = opened(graph, storage_options, resources), output_of(out_dir, dispatch_to, storage_options)
    return run_dispatch(graph, Wanted(out, options or DispatchOptions(), owners, num_parts), run)


def partition(
    graph: Graph | TableSpec | str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    num_parts: int,
    *,
    method: str | AssignOptions = "auto",
    options: DispatchOptions | None = None,
    resources: Resources | None = None,
    overwrite: bool = False,
    restart: bool = False,
    keep_workspace: bool = False,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Assign and dispatch in one go; parameters as in `assign` and `dispatch`."""
    graph, owners = opened(graph, storage_options, resources), as_options(method)
    owner_dtype(num_parts)
    check_method(owners)
    run = RunOptions(resources or detect_resources(), progress, overwrite, restart, keep_workspace)
    out = output_of(out_dir, dispatch_to, storage_options)
    return run_dispatch(graph, Wanted(out, options or DispatchOptions(), owners, num_parts), run)
