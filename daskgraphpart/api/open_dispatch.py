"""Open a dispatch: check its options and its output, identify it, begin or continue it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.fingerprint import balance_files, fingerprint, owner_files, owners_fingerprint
from daskgraphpart.api.inputs import data_files
from daskgraphpart.api.jobs import OutputDirectory, RunOptions, open_job
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


@dataclass(frozen=True, slots=True)
class OpenedDispatch:
    """A dispatch that has begun, and needs the owners of nodes."""

    graph: ChunkedGraph
    work: Workspace
    runner: Runner
    out: Path
    destination: Destination | None
    options: DispatchOptions

    def job(self, assignment: Assignment) -> Job:
        """Return the job with these owners; if they have trainers, these become a feature."""
        sizes = choose_sizes(self.runner.resources)
        graph = self.graph
        if assignment.trainers:
            graph = with_trainers(graph, assignment.trainers, self.work.owners / "edge-trainers", self.runner)
        options = self.options
        layouts = (DglLayout(options.graph_formats, options.config_name, options.reshuffle),)
        return Job(graph, assignment, str(self.out), options, sizes, self.work, self.runner, layouts, self.destination)


@contextmanager
def open_dispatch(
    graph: ChunkedGraph,
    out_dir: AnyPath | Machines,
    options: DispatchOptions,
    owners: Assignment | Path | AssignOptions,
    num_parts: int | None,
    run: RunOptions,
) -> Iterator[OpenedDispatch]:
    """Check the budget and the output, and begin or continue the job.

    Owners are given, lie in a directory, or will be made by options; the number of parts may be unknown if they are in
    a directory.
    """
    options.check_fits(graph.schema)
    run = replace(run, resources=run.resources.limited(smallest_task_memory(graph.schema, options)))
    target = out_dir if isinstance(out_dir, Machines) else resolve_path(out_dir).absolute()
    if not isinstance(target, Path):
        _check_kept_ids(target, options)
    with environment_faults():
        command, chosen, files = _identity(owners, num_parts)
        inputs = [to_path(graph.directory), *data_files(graph), *files]
        names = (f"{graph.schema.name}.manifest.json", options.config_name or f"{graph.schema.name}.json")
        check_output(target.path if isinstance(target, Machines) else target, inputs)
        if isinstance(target, Path):
            out, destination = target, None
        else:
            out = staging_directory(target.path if isinstance(target, Machines) else target, run.resources.workspace)
            destination = Destination(target, str(out), names, run.overwrite)
            run = replace(run, resources=replace(run.resources, workspace=None))
        if isinstance(target, Machines):
            target.check_cluster(run.resources.cluster)
            if (num_parts := _known_num_parts(owners, num_parts)) is not None:
                target.check_parts(num_parts)
            chosen["dispatch"] = list(target.hosts)
        identity = fingerprint(command, graph, {**chosen, **asdict(options)}, files)
        source = None if graph.source is not None else inputs[0].absolute()
        output = _output_directory(out, destination, source, names, run.overwrite)
        try:
            with open_job(output, identity, run) as (work, runner):
                if destination is not None and isinstance(target, Machines):
                    run_on_each("check-machines", check_machine, target, destination, runner)
                yield OpenedDispatch(graph, work, runner, out, destination, options)
        finally:
            if destination is not None:
                remove_staging(out)


def _output_directory(
    out: Path, destination: Destination | None, source: Location | None, names: tuple[str, str], overwrite: bool
) -> OutputDirectory:
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

    return OutputDirectory(out, claim, discard, source, "output directory" if destination is None else "workspace")


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


def _known_num_parts(owners: Assignment | Path | AssignOptions, num_parts: int | None) -> int | None:
    """Number of parts, if it is known before the owners are read."""
    if isinstance(owners, Assignment):
        return owners.num_parts
    return read_num_parts(owners) if num_parts is None and isinstance(owners, Path) else num_parts


def _identity(
    owners: Assignment | Path | AssignOptions, num_parts: int | None
) -> tuple[str, dict[str, Any], list[Path]]:
    """Command, options and input files that the owners of a dispatch depend on."""
    if isinstance(owners, Assignment):
        return "dispatch", owners_fingerprint(owners), []
    if isinstance(owners, AssignOptions):
        return "partition", {"num_parts": num_parts, **asdict(owners)}, files_of(owners)
    chosen = {"num_parts": num_parts, "assignment": str(owners.absolute())}
    return "dispatch", chosen, [owners, *owner_files(owners)]


def files_of(options: AssignOptions) -> list[Path]:
    """Files that an assignment depends on, those of the graph aside."""
    owners = [] if options.method in METHODS else owner_files(require_local(options.method, "an assignment"))
    return [*owners, *balance_files(options.balance)]
