"""The package's functions: assign, dispatch, partition. They resolve options and compose; the work is below."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.assignment.assignment import Assignment, create_owner_files
from daskgraphpart.assignment.directory import META_FILE
from daskgraphpart.assignment.methods.random import assign_random_pass
from daskgraphpart.assignment.read_files import read_assignment
from daskgraphpart.assignment.write_files import write_assignment
from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.dispatching.job import Job
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.dispatching.output import claim_output, discard_output
from daskgraphpart.dispatching.pipeline import dispatch_graph
from daskgraphpart.dispatching.sizes import choose_sizes, smallest_task_memory
from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.engine.resources import Resources, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import OptionError, OutputExistsError
from daskgraphpart.storage.atomic import environment_faults

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.runner import Runner

METHODS = ("random",)
"""Partitioners by name; anything else is the directory of an assignment."""


def assign(
    graph: ChunkedGraph | str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    num_parts: int,
    *,
    method: str = "random",
    seed: int = 0,
    fill_parts: bool = False,
    form: str = "npy",
    resources: Resources | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Give every node an owner, and write the owners as DGL's step 1 does (`<ntype>.txt`, `partition_meta.json`).

    Parameters
    ----------
    graph : ChunkedGraph or path
        The graph, or the directory of its `metadata.json`.
    out_dir : path
        Directory of the assignment; made if need be.
    num_parts : int
        Number of parts.
    method : str
        ``"random"``, or a directory of owners to be checked and written anew.
    seed : int
        Seed of the random method.
    fill_parts : bool
        Give every part a node of each type that has enough of them.
    form : str
        Binary form beside the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    resources : Resources, optional
        Default: all processors, half of the memory.
    overwrite : bool
        Whether an assignment that is in `out_dir` is replaced.
    progress : Progress, optional
        Told how far things are.

    Returns
    -------
    Path
        The directory, which `dispatch` takes.

    Raises
    ------
    AssignmentError
        If the owners read do not fit the graph.
    """
    graph = _opened(graph)
    out = Path(out_dir)
    _check_assignment_directory(graph, out, overwrite)
    with (
        open_runner(resources or detect_resources(), progress) as runner,
        environment_faults(),
        _scratch(out) as scratch,
    ):
        owners = _make_assignment(graph, num_parts, (method, seed, fill_parts), scratch, runner)
        write_assignment(owners, out, runner, form=form, seed=seed if method == "random" else None)
    return out


def dispatch(
    graph: ChunkedGraph | str | os.PathLike[str],
    assignment: Assignment | str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    options: DispatchOptions | None = None,
    resources: Resources | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Bring every node, edge and feature to its owner, and write the partitions DGL loads.

    Parameters
    ----------
    graph : ChunkedGraph or path
        The graph, or the directory of its `metadata.json`.
    assignment : Assignment or path
        Owners of all nodes, or their directory.
    out_dir : path
        Output directory; must be empty or absent, unless `overwrite`.
    num_parts : int, optional
        Needed only for a directory of owners without `partition_meta.json`.
    options : DispatchOptions, optional
        What is written.
    resources : Resources, optional
        What may be used; changes no byte of the output. Default: all processors, half of the memory.
    overwrite : bool
        Whether partitions that are in `out_dir` are replaced.
    progress : Progress, optional
        Told how far things are.

    Returns
    -------
    Outcome
        Path of the partition config, partition book and quality.

    Raises
    ------
    OutputExistsError
        If the output directory is not empty.
    PlanError
        If the memory budget is too small; says what would do.
    InputFileError, AssignmentError
        If the data are not what the metadata say.
    """
    owner_files = None if isinstance(assignment, Assignment) else Path(assignment)
    with _job(_opened(graph), out_dir, options, resources, (overwrite, progress, owner_files)) as prepare:
        graph, work, runner = prepare.graph, prepare.work, prepare.runner
        if not isinstance(assignment, Assignment):
            assignment = read_assignment(assignment, graph.schema, work.owners, runner, num_parts)
        assignment.check_fits(graph.schema)
        return dispatch_graph(prepare.job(assignment))


def partition(
    graph: ChunkedGraph | str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    num_parts: int,
    *,
    method: str = "random",
    seed: int = 0,
    fill_parts: bool = False,
    options: DispatchOptions | None = None,
    resources: Resources | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Assign and dispatch in one go; parameters as in `assign` and `dispatch`."""
    owner_files = None if method in METHODS else Path(method)
    with _job(_opened(graph), out_dir, options, resources, (overwrite, progress, owner_files)) as prepare:
        how = (method, seed, fill_parts)
        assignment = _make_assignment(prepare.graph, num_parts, how, prepare.work.owners, prepare.runner)
        return dispatch_graph(prepare.job(assignment))


class _Prepared:
    """A job that lacks nothing but its assignment."""

    def __init__(
        self, graph: ChunkedGraph, out: Path, options: DispatchOptions, work: Workspace, runner: Runner
    ) -> None:
        self.graph, self.work, self.runner = graph, work, runner
        self._out, self._options = out, options

    def job(self, assignment: Assignment) -> Job:
        sizes = choose_sizes(self.runner.resources)
        return Job(self.graph, assignment, str(self._out), self._options, sizes, self.work, self.runner)


@contextmanager
def _job(
    graph: ChunkedGraph,
    out_dir: str | os.PathLike[str],
    options: DispatchOptions | None,
    resources: Resources | None,
    how: tuple[bool, Progress | None, Path | None],
) -> Iterator[_Prepared]:
    """Check the budget, claim the output directory, and leave nothing behind that looks finished if all fails."""
    overwrite, progress, owner_files = how
    options = options or DispatchOptions()
    resources = (resources or detect_resources()).limited(smallest_task_memory(graph.schema, options))
    out = Path(out_dir).absolute()
    with environment_faults():
        inputs = [Path(graph.directory), *_data_files(graph), *([owner_files] if owner_files else [])]
        own_names = (options.config_name or f"{graph.schema.name}.json", f"{graph.schema.name}.manifest.json")
        claim_output(out, inputs, own_names, overwrite)
        work = Workspace.create(out, resources.workspace)
        try:
            with open_runner(resources, progress) as runner:
                yield _Prepared(graph, out, options, work, runner)
        except BaseException:
            discard_output(out)
            raise
        finally:
            work.remove()


def _make_assignment(
    graph: ChunkedGraph, num_parts: int, how: tuple[str, int, bool], workspace: Path, runner: Runner
) -> Assignment:
    method, seed, fill_parts = how
    if method in METHODS:
        owners = create_owner_files(workspace, graph.schema, num_parts)
        runner.run(assign_random_pass(owners, num_parts, seed, fill_parts))
        return Assignment(num_parts, method, owners)
    if not Path(method).exists():
        raise OptionError(
            "no such method, and no such directory of owners",
            place="--method",
            expected=f"{', '.join(METHODS)} or a directory that assign has written",
            found=method,
        )
    return read_assignment(method, graph.schema, workspace, runner, num_parts)


def _check_assignment_directory(graph: ChunkedGraph, out: Path, overwrite: bool) -> None:
    """Refuse to write owners among the files of the graph, or over an assignment that is there."""
    among = [
        path
        for path in (Path(graph.directory) / METADATA_FILE, *_data_files(graph))
        if path.resolve().parent == out.resolve()
    ]
    if among:
        raise OutputExistsError(
            "the directory of owners holds the input", file=str(out), found=str(among[0]), hint="give one of its own"
        )
    if (out / META_FILE).exists() and not overwrite:
        raise OutputExistsError(
            "there is an assignment already", file=str(out), hint="give another directory, or --overwrite to replace it"
        )


def _data_files(graph: ChunkedGraph) -> list[Path]:
    return [Path(file.path).resolve() for file in graph.files]


def _opened(graph: ChunkedGraph | str | os.PathLike[str]) -> ChunkedGraph:
    return graph if isinstance(graph, ChunkedGraph) else read_chunked(graph)


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    out.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix=".daskgraphpart-", dir=out))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
