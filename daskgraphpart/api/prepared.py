"""A dispatch that lacks nothing but its owners: checked, identified, begun or continued."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.fingerprint import balance_files, fingerprint, owner_files, owners_fingerprint
from daskgraphpart.api.inputs import data_files
from daskgraphpart.api.jobs import Manner, Place, open_job
from daskgraphpart.assignment.assignment import Assignment
from daskgraphpart.assignment.options import METHODS, AssignOptions
from daskgraphpart.assignment.read_files import read_num_parts
from daskgraphpart.assignment.trainers import with_trainers
from daskgraphpart.dispatching.job import Job
from daskgraphpart.dispatching.machines import Destination, Machines, check_machine, run_on_each
from daskgraphpart.dispatching.output import check_claimable, check_output, discard_output, discard_unfinished
from daskgraphpart.dispatching.sizes import choose_sizes, smallest_task_memory
from daskgraphpart.dispatching.workspace import remove_staging, staging_directory
from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local, resolve_path, to_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.paths import AnyPath, Location


class Prepared:
    """A job that lacks nothing but its assignment."""

    def __init__(
        self, graph: ChunkedGraph, out: Path, destination: Destination | None, options: DispatchOptions,
        work: Workspace, runner: Runner,
    ) -> None:  # fmt: skip
        self.graph, self.work, self.runner = graph, work, runner
        self._out, self._destination, self._options = out, destination, options

    def job(self, assignment: Assignment) -> Job:
        """Give it the owners; if they have trainers, these become a feature."""
        sizes = choose_sizes(self.runner.resources)
        graph = self.graph
        if assignment.trainers:
            graph = with_trainers(graph, assignment.trainers, self.work.owners / "edge-trainers", self.runner)
        options = self._options
        layouts = (DglLayout(options.graph_formats, options.config_name, options.reshuffle),)
        return Job(
            graph, assignment, str(self._out), options, sizes, self.work, self.runner, layouts, self._destination
        )


@contextmanager
def open_dispatch(
    graph: ChunkedGraph,
    out_dir: AnyPath | Machines,
    options: DispatchOptions,
    assignment: Assignment | tuple[Path, int | None] | tuple[AssignOptions, int],
    how: tuple[bool, Manner],
) -> Iterator[Prepared]:
    """Check the budget and the output, and begin or continue the job.

    Parameters
    ----------
    graph : ChunkedGraph
        The graph.
    out_dir : path, URL or Machines
        Output directory.
    options : DispatchOptions
        What is written.
    assignment : Assignment, or (Path, int or None), or (AssignOptions, int)
        What the owners will be: those given, those of a directory, or those that options and a number of parts make.
    how : bool and Manner
        Whether partitions that are there are replaced; how the job is run.

    Yields
    ------
    Prepared

    Raises
    ------
    GraphPartError
        As `daskgraphpart.partition` does before work starts.
    """
    overwrite, manner = how
    options.check_fits(graph.schema)
    manner = replace(manner, resources=manner.resources.limited(smallest_task_memory(graph.schema, options)))
    target = out_dir if isinstance(out_dir, Machines) else resolve_path(out_dir).absolute()
    if not isinstance(target, Path):
        _check_kept_ids(target, options)
    with environment_faults():
        command, chosen, files = _identity(assignment)
        inputs = [to_path(graph.directory), *data_files(graph), *files]
        names = (f"{graph.schema.name}.manifest.json", options.config_name or f"{graph.schema.name}.json")
        check_output(target.path if isinstance(target, Machines) else target, inputs)
        if isinstance(target, Path):
            out, destination = target, None
        else:
            out = staging_directory(target.path if isinstance(target, Machines) else target, manner.resources.workspace)
            destination = Destination(target, str(out), names, overwrite)
            manner = replace(manner, resources=replace(manner.resources, workspace=None))
        if isinstance(target, Machines):
            target.check_cluster(manner.resources.cluster)
            if (num_parts := _num_parts(assignment)) is not None:
                target.check_parts(num_parts)
            chosen["dispatch"] = list(target.hosts)
        identity = fingerprint(command, graph, {**chosen, **asdict(options)}, files)
        place = _place(out, destination, inputs[0].absolute(), names, overwrite)
        try:
            with open_job(place, identity, manner) as (work, runner):
                if destination is not None and isinstance(target, Machines):
                    run_on_each("check-machines", check_machine, target, destination, runner)
                yield Prepared(graph, out, destination, options, work, runner)
        finally:
            if destination is not None:
                remove_staging(out)


def _place(
    out: Path, destination: Destination | None, source: Location, names: tuple[str, str], overwrite: bool
) -> Place:
    """Directory in which a job makes files; partitions that are replaced stay until the new ones are complete."""

    def claim(is_unfinished: bool) -> None:
        target = out if destination is None else destination.target
        if not isinstance(target, Machines):  # these are asked when workers are there
            check_claimable(target, names, overwrite or is_unfinished)
        discard()

    def discard() -> None:
        discard_unfinished(out)
        if destination is not None:
            discard_output(out)

    return Place(out, claim, discard, source, "output directory" if destination is None else "workspace")


def _check_kept_ids(target: UPath | Machines, options: DispatchOptions) -> None:
    """Refuse partitions that would name files of the directory in which they are made before they are sent."""
    if not options.reshuffle:
        where, hint = (
            ("machines", "leave out dispatch_to") if isinstance(target, Machines) else ("a store", "give a directory")
        )
        raise OptionError(
            f"partitions with original IDs name their maps of IDs by path, so they cannot go to {where}",
            place="reshuffle",
            hint=hint,
        )


def _num_parts(assignment: Assignment | tuple[Path, int | None] | tuple[AssignOptions, int]) -> int | None:
    """Number of parts, if it is known before the owners are read."""
    if isinstance(assignment, Assignment):
        return assignment.num_parts
    what, num_parts = assignment
    return read_num_parts(what) if num_parts is None and isinstance(what, Path) else num_parts


def _identity(
    assignment: Assignment | tuple[Path, int | None] | tuple[AssignOptions, int],
) -> tuple[str, dict[str, Any], list[Path]]:
    """Command, options and input files that the owners of a dispatch depend on."""
    if isinstance(assignment, Assignment):
        return "dispatch", owners_fingerprint(assignment), []
    what, num_parts = assignment
    if isinstance(what, AssignOptions):
        return "partition", {"num_parts": num_parts, **asdict(what)}, files_of(what)
    return "dispatch", {"num_parts": num_parts, "assignment": str(what.absolute())}, [what, *owner_files(what)]


def files_of(options: AssignOptions) -> list[Path]:
    """Files that an assignment depends on, those of the graph aside."""
    owners = [] if options.method in METHODS else owner_files(require_local(options.method, "an assignment"))
    return [*owners, *balance_files(options.balance)]
