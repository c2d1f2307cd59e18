"""A dispatch that lacks nothing but its owners: checked, identified, begun or continued."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upath import UPath

from daskgraphpart.api.fingerprint import balance_files, fingerprint, owner_files, owners_fingerprint
from daskgraphpart.api.inputs import data_files
from daskgraphpart.api.jobs import Manner, Place, open_job
from daskgraphpart.assignment.assignment import Assignment
from daskgraphpart.assignment.options import METHODS, AssignOptions
from daskgraphpart.assignment.read_files import read_num_parts
from daskgraphpart.assignment.trainers import with_trainers
from daskgraphpart.delivery.deliver_parts import deliver_parts
from daskgraphpart.delivery.machine_output import MachineOutput, check_machines
from daskgraphpart.delivery.machines import MachineDirectory
from daskgraphpart.delivery.output import check_output, claim_output, discard_output
from daskgraphpart.delivery.remote_output import (
    check_remote_output,
    claim_remote_output,
    remove_staging,
    staging_directory,
)
from daskgraphpart.delivery.upload_files import upload_partitions
from daskgraphpart.dispatching.job import Job
from daskgraphpart.dispatching.sizes import choose_sizes, smallest_task_memory
from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local, resolve_path, to_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.paths import AnyPath, Location


class Prepared:
    """A job that lacks nothing but its assignment."""

    def __init__(
        self, graph: ChunkedGraph, outputs: tuple[Path, Location | MachineOutput], options: DispatchOptions,
        work: Workspace, runner: Runner,
    ) -> None:  # fmt: skip
        self.graph, self.work, self.runner = graph, work, runner
        self._out, self._target = outputs
        self._options = options

    def job(self, assignment: Assignment) -> Job:
        """Give it the owners; if they have trainers, these become a feature."""
        sizes = choose_sizes(self.runner.resources)
        graph = self.graph
        if assignment.trainers:
            graph = with_trainers(graph, assignment.trainers, self.work.owners / "edge-trainers", self.runner)
        options = self._options
        layouts = (DglLayout(options.graph_formats, options.config_name, options.reshuffle),)
        return Job(graph, assignment, str(self._out), options, sizes, self.work, self.runner, layouts)

    def delivered(self, outcome: Outcome) -> Outcome:
        """Send finished partitions to their store or their machines, unless they are where they belong."""
        if isinstance(self._target, MachineOutput):
            return deliver_parts(outcome, self._target, self.runner)
        if not isinstance(self._target, UPath):
            return outcome
        return upload_partitions(outcome, self.graph.schema.name, self._target, self.runner)


@contextmanager
def open_dispatch(
    graph: ChunkedGraph,
    out_dir: AnyPath | MachineDirectory,
    options: DispatchOptions,
    assignment: Assignment | tuple[Path, int | None] | tuple[AssignOptions, int],
    how: tuple[bool, Manner],
) -> Iterator[Prepared]:
    """Check the budget and the output, and begin or continue the job.

    Parameters
    ----------
    graph : ChunkedGraph
        The graph.
    out_dir : path, URL or MachineDirectory
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
    target: Location | MachineOutput | MachineDirectory
    target = out_dir if isinstance(out_dir, MachineDirectory) else resolve_path(out_dir).absolute()
    if not isinstance(target, Path):
        _check_kept_ids(target, options)
    with environment_faults():
        command, chosen, files = _identity(assignment)
        inputs = [to_path(graph.directory), *data_files(graph), *files]
        names = (options.config_name or f"{graph.schema.name}.json", f"{graph.schema.name}.manifest.json")
        if isinstance(target, UPath):
            place = _staged_place(target, inputs, names, overwrite, manner.resources.workspace)
        elif isinstance(target, MachineDirectory):
            _check_machines(target, _num_parts(assignment), manner.resources)
            target, place = _machines_place(target, inputs, names, overwrite, manner.resources.workspace)
            chosen["dispatch"] = list(target.directory.hosts)
        else:
            place = _local_place(target, inputs, names, overwrite)
        if place.out != target:
            manner = replace(manner, resources=replace(manner.resources, workspace=None))
        identity = fingerprint(command, graph, {**chosen, **asdict(options)}, files)
        try:
            with open_job(place, identity, manner) as (work, runner):
                if isinstance(target, MachineOutput):
                    check_machines(target, runner)
                yield Prepared(graph, (place.out, target), options, work, runner)
        finally:
            if place.out != target:
                remove_staging(place.out)


def _local_place(out: Path, inputs: Sequence[Location], names: Sequence[str], overwrite: bool) -> Place:
    check_output(out, [path for path in inputs if isinstance(path, Path)])
    return Place(
        out,
        lambda is_unfinished: claim_output(out, names, overwrite or is_unfinished),
        lambda: discard_output(out),
        inputs[0].absolute(),
    )


def _staged_place(
    target: UPath, inputs: Sequence[Location], names: Sequence[str], overwrite: bool, workspace: str | None
) -> Place:
    """Staging directory of an output in a store, in the workspace, where the job's own files are as well."""
    staging = staging_directory(target, workspace)
    check_remote_output(target, inputs)
    return Place(
        staging,
        lambda is_unfinished: claim_remote_output(target, staging, names, overwrite or is_unfinished),
        lambda: discard_output(staging),
        inputs[0].absolute(),
    )


def _machines_place(
    target: MachineDirectory, inputs: Sequence[Location], names: tuple[str, str], overwrite: bool, workspace: str | None
) -> tuple[MachineOutput, Place]:
    """Staging directory of an output on the disks of machines; what is on these is asked when workers are there."""
    check_output(target.path, [path for path in inputs if isinstance(path, Path)])
    staging = target.staging_directory(workspace)

    def discard(_: bool = True) -> None:
        discard_output(staging)

    place = Place(staging, discard, discard, inputs[0].absolute(), "workspace")
    return MachineOutput(target, str(staging), *names, overwrite), place


def _check_kept_ids(target: UPath | MachineDirectory, options: DispatchOptions) -> None:
    """Refuse partitions that would name files of the directory in which they are made before they are delivered."""
    if not options.reshuffle:
        where, hint = (
            ("a store", "give a directory") if isinstance(target, UPath) else ("machines", "leave out dispatch_to")
        )
        raise OptionError(
            f"partitions with original IDs name their maps of IDs by path, so they cannot go to {where}",
            place="reshuffle",
            hint=hint,
        )


def _check_machines(target: MachineDirectory, num_parts: int | None, resources: Resources) -> None:
    """Check that parts can go to machines at all."""
    target.check_cluster(resources.cluster)
    if num_parts is not None:
        target.check_parts(num_parts)


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
