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
from daskgraphpart.api.jobs import RUN, OutputDirectory, RunOptions, open_job, run_of
from daskgraphpart.api.plan import announce, estimate, smallest_memory
from daskgraphpart.api.run_dispatch import Wanted, run_dispatch
from daskgraphpart.assignment import assignment as made
from daskgraphpart.assignment.assignment import TRAINERS, owner_dtype
from daskgraphpart.assignment.options import METHODS, AssignOptions
from daskgraphpart.assignment.pipeline import assign_nodes, check_assignable, check_method
from daskgraphpart.chunked.graph import Graph
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.resources import STAGING
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import OptionError
from daskgraphpart.options import chosen, stated_options, with_keywords
from daskgraphpart.sources.options import MIN_TABLE_MEMORY
from daskgraphpart.storage.atomic import lasting_directory
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from daskgraphpart.api.owners import Assignment
    from daskgraphpart.api.partitions import PartitionedGraph
    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.table_spec import TableSpec


@with_keywords(stated_options(AssignOptions), RUN)
def assign(
    graph: Graph | str | os.PathLike[str],
    num_parts: int,
    *,
    out: str | os.PathLike[str] | None = None,
    form: str = "npy",
    storage_options: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Assignment:
    """Give every node an owner.

    Parameters
    ----------
    graph : Graph, path or URL
        The graph; or the directory of a chunked one, or the path of one table of edges.
    num_parts : int
        Number of parts.
    out : path, optional
        Where the owners are written as DGL's step 1 does (`<ntype>.txt`, `partition_meta.json`), as
        `Assignment.write` does later. An unfinished run that is there is continued. Without it they are kept in a
        temporary directory until the interpreter ends.
    form : str
        Binary form beside the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    storage_options : mapping of str to object, optional
        Of the store of the graph, if its URL is given; as `fsspec.filesystem` takes them.

    Returns
    -------
    Assignment
        Owners, their quality, and what `dispatch` takes.

    Raises
    ------
    OptionError
        If an option is impossible, or there are more parts than nodes.
    AssignmentError
        If owners that are read do not fit the graph, or a weight is negative.
    PlanError
        If the memory does not suffice.
    ResumeError
        If `out` holds an unfinished run with other input or options.

    Examples
    --------
    >>> assignment = assign("graph", 8, balance="nodes,edges", memory="8GB")  # doctest: +SKIP
    >>> assignment.owners["user"].compute()  # doctest: +SKIP
    """
    from daskgraphpart.api.owners import public  # commands do without

    return public(assign_job(graph, num_parts, out=out, form=form, storage_options=storage_options, **keywords))


def assign_job(
    graph: Any,
    num_parts: int,
    *,
    out: str | os.PathLike[str] | None,
    form: str,
    storage_options: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> made.Assignment:
    """Do what `assign` does, without what users can do with the result."""
    options, run = chosen(AssignOptions, keywords), run_of(keywords)
    found = opened(graph, storage_options, run.resources)
    if out is None:
        return _assign_here(found, num_parts, options, run)
    return _assign_to(found, num_parts, options, require_local(out, "an assignment").absolute(), form, run)


def _assign_here(graph: Graph | TableSpec, num_parts: int, options: AssignOptions, run: RunOptions) -> made.Assignment:
    """Make owners in a temporary directory."""
    resources, directory = _limited(graph, num_parts, options, run.resources), lasting_directory()
    with (
        open_runner(resources, run.progress) as first,
        environment_faults(),
        _assignable(graph, directory / "tables", options, num_parts, first) as (staged, runner),
    ):
        seed = options.seed if options.method in METHODS else None
        found = assign_nodes(staged, num_parts, options, directory, runner, read_owners=read_owners)
        return replace(found, id_maps=staged.id_maps, seed=seed)


def _limited(graph: Graph | TableSpec, num_parts: int, options: AssignOptions, resources: Resources) -> Resources:
    """Check what can be checked before tables are read; return what the job may use."""
    smallest = MIN_TABLE_MEMORY
    if isinstance(graph, Graph):
        check_assignable(options, graph, num_parts)
        smallest = smallest_memory(graph.schema, options, None)
    return resources.limited(smallest)


def _assign_to(
    graph: Graph | TableSpec, num_parts: int, options: AssignOptions, out: Path, form: str, run: RunOptions
) -> made.Assignment:
    """Write owners into a directory, or continue to."""
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
            # where they last as long as this interpreter: the workspace is removed, and forms are not all files of rows
            with open_runner(replace(resources, cluster="sync", workers=1)) as reader:
                files_of = read_assignment(out, staged.schema, lasting_directory(), reader).files
            trainers = {
                ntype: region.moved(out / TRAINERS / f"{ntype}.npy") for ntype, region in assignment.trainers.items()
            }
            return replace(assignment, files=files_of, trainers=trainers, id_maps=staged.id_maps, seed=seed)


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


@with_keywords(stated_options(DispatchOptions), STAGING, RUN)
def dispatch(
    graph: Graph | str | os.PathLike[str],
    assignment: Assignment | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> PartitionedGraph:
    """Bring every node, edge and feature to its owner, and write the partitions.

    Parameters
    ----------
    graph : Graph, path or URL
        The graph; or the directory of a chunked one, or the path of one table of edges.
    assignment : Assignment or path
        Owners of all nodes, or their directory.
    out : path or URL
        Output directory; must be empty or absent, unless `overwrite`. An unfinished run that is there is continued.
        Partitions for a store are made in `workspace` and sent to it at the end.
    num_parts : int, optional
        Needed only for a directory of owners without `partition_meta.json`.
    storage_options : mapping of str to object, optional
        Of the stores, where URLs are given; as `fsspec.filesystem` takes them.
    dispatch_to : path, optional
        File of the machines that will serve the parts, as DGL's `ip_config.txt`. Part p goes to `out` on the disk
        of machine p modulo the number of lines, brought there by a worker of the cluster that runs on it.

    Returns
    -------
    PartitionedGraph
        The partitions, open.

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

    Examples
    --------
    >>> parts = dispatch("graph", assignment, "partitions", layout="dgl,ranks")  # doctest: +SKIP
    >>> parts.node_data["paper"]["feat"].mean(axis=0).compute()  # doctest: +SKIP
    """
    how: Any = {"num_parts": num_parts, "storage_options": storage_options, "dispatch_to": dispatch_to}
    return opened_outcome(dispatch_job(graph, assignment, out, **how, **keywords), storage_options)


def dispatch_job(
    graph: Any,
    assignment: Assignment | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> Outcome:
    """Do what `dispatch` does, and open nothing."""
    run, options = run_of(keywords), chosen(DispatchOptions, keywords)
    owners = assignment if isinstance(assignment, made.Assignment) else require_local(assignment, "an assignment")
    target = output_of(out, dispatch_to, storage_options)
    found = opened(graph, storage_options, run.resources)
    return run_dispatch(found, Wanted(target, options, owners, num_parts), run)


@with_keywords(stated_options(AssignOptions), stated_options(DispatchOptions), STAGING, RUN)
def partition(
    graph: Graph | str | os.PathLike[str],
    out: str | os.PathLike[str],
    num_parts: int,
    *,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> PartitionedGraph:
    """Partition a graph: `assign` and `dispatch` in one go.

    Parameters
    ----------
    graph, out, storage_options, dispatch_to
        As in `dispatch`.
    num_parts : int
        Number of parts.

    Returns
    -------
    PartitionedGraph
        The partitions, open.

    Raises
    ------
    OptionError, AssignmentError, InputFileError, OutputExistsError, OutputLockedError, PlanError, ResumeError
        As in `assign` and `dispatch`.

    Examples
    --------
    >>> parts = partition("graph", "partitions", 8, memory="8GB")  # doctest: +SKIP
    >>> parts.quality.cut_share  # doctest: +SKIP
    """
    how: Any = {"storage_options": storage_options, "dispatch_to": dispatch_to}
    return opened_outcome(partition_job(graph, out, num_parts, **how, **keywords), storage_options)


def partition_job(
    graph: Any,
    out: str | os.PathLike[str],
    num_parts: int,
    *,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> Outcome:
    """Do what `partition` does, and open nothing."""
    if isinstance(keywords.get("method"), made.Assignment):
        what, hint = "an assignment is not a method", "give it to dispatch(graph, assignment, out)"
        raise OptionError(what, place="method", hint=hint)
    owners, run = chosen(AssignOptions, keywords), run_of(keywords)
    found = opened(graph, storage_options, run.resources)
    owner_dtype(num_parts)
    check_method(owners)
    target = output_of(out, dispatch_to, storage_options)
    return run_dispatch(found, Wanted(target, chosen(DispatchOptions, keywords), owners, num_parts), run)


def opened_outcome(outcome: Outcome, storage_options: Mapping[str, Any] | None = None) -> PartitionedGraph:
    """Open what a job has written."""
    from daskgraphpart.api.partitions import parts_of  # commands do without

    return parts_of(outcome, storage_options)
