"""Estimate what a job reads, writes and holds, and say so before it starts."""

from __future__ import annotations

import logging
import shutil
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import Resources, is_on_this_machine
from daskgraphpart.errors import PlanError
from daskgraphpart.jobs.advise_methods import advising_methods
from daskgraphpart.jobs.estimate_dispatch import (
    copies_nbytes,
    expect,
    files_of,
    output_nbytes,
    task_upload_nbytes,
    workspace_files,
    workspace_nbytes,
)
from daskgraphpart.jobs.list_passes import PassEstimate, Writing, list_passes
from daskgraphpart.kernels.compiled import note_on_compiling
from daskgraphpart.partitioner.assign_options import METHODS, AssignOptions
from daskgraphpart.partitioner.assignment import Owners
from daskgraphpart.partitioner.choose import Choice, expected_choice, list_ways, solving_nbytes
from daskgraphpart.partitioner.choose import workspace_nbytes as assign_workspace_nbytes
from daskgraphpart.public import Public
from daskgraphpart.storage.files import is_file, workspace_store
from daskgraphpart.units import format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.jobs.job_spec import JobSpec
    from daskgraphpart.layouts.layout import Layout

logger = logging.getLogger(__name__)

VERSION = 2


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Public):
    """What a job will read, write and hold in memory, and which method it picks. Sizes are in bytes."""

    graph_name: str  # name of the graph
    num_parts: int  # number of parts
    num_nodes: int  # number of nodes
    num_edges: int  # number of edges
    input_nbytes: int  # data files
    output_nbytes: int  # partitions, estimated
    workspace_nbytes: int  # temporary files at their peak, estimated
    method: str  # the method it picks
    why: str  # what `auto` does, in words; empty for any other method
    method_memory: int  # of the method on this graph; 0 if it reads no edges
    workers: int  # tasks at a time
    memory_budget: int  # for all tasks; about 200 MB per process come on top
    task_memory: int  # for one task
    smallest_budget: int  # smallest budget that works
    smallest_disks: Mapping[str, int]  # least bytes needed by directory: the output without halo nodes, or copies
    local_nbytes: int  # with a workspace in a store, disk of each worker: copies of node maps; else 0
    local_task_nbytes: int  # more of it for each thread: what a task is about to upload
    local_method_nbytes: int  # disk of the worker that partitions: the adjacency, and the method's own graph
    passes: tuple[PassEstimate, ...]  # over edges and rows, with what each reads and writes
    warnings: tuple[str, ...]  # what may not fit

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON, with the ``"version"`` of the format."""
        return {"version": VERSION, **asdict(self)}

    def explained(self) -> str:
        """Return the plan as text, with its passes over edges and rows."""
        rows = [[of.name, format_size(of.read), format_size(of.written)] for of in self.passes]
        return f"{self}\n\n{text_table(['pass', 'reads about', 'writes about'], rows, align='<>>')}"

    def check_disks(self) -> None:
        """Raise a `PlanError` if a disk is too small for what it holds at least."""
        for directory, nbytes in self.smallest_disks.items():
            free = _free_near(Path(directory))
            if nbytes > free:
                raise PlanError(
                    "the disk is too small for this job",
                    file=directory,
                    expected=f"at least {format_size(nbytes)} free",
                    found=format_size(free),
                    hint="choose an output directory or --workspace on a larger disk",
                )

    @property
    def summary(self) -> str:
        """Method, reason, memory and disk, in one line."""
        sizes = ((self.output_nbytes, "of partitions"), (self.workspace_nbytes, "of temporary files"))
        disk = " and ".join(f"{format_size(nbytes)} {what}" for nbytes, what in sizes if nbytes) or "nothing"
        parts = format_number(self.num_parts, "part")
        return f"{parts}; {self.why or self.method}; {self._tasks}; about {disk}"

    def __repr__(self) -> str:
        return f"<Plan of {self.graph_name!r}: {self.summary}>"

    def __str__(self) -> str:
        lines = [f"{name:<9}  {value}" for name, value in self._facts()]
        return "\n".join([f"plan of {self._title}", *lines])

    def _repr_html_(self) -> str:
        return html_table(["", ""], [list(fact) for fact in self._facts()], caption=f"Plan of {self._title}")

    @property
    def _title(self) -> str:
        counts = f"{format_number(self.num_nodes, 'node')}, {format_number(self.num_edges, 'edge')}"
        return f"{self.graph_name!r} in {format_number(self.num_parts, 'part')}: {counts}"

    @property
    def _tasks(self) -> str:
        return f"{format_number(self.workers, 'task')} at a time of at most {format_size(self.task_memory)}"

    @property
    def _local_disk(self) -> str:
        """Disk of each worker: what it needs to partition, or else for its tasks."""
        of_tasks = f"{format_size(self.local_nbytes)} and {format_size(self.local_task_nbytes)} per thread"
        if not self.local_method_nbytes:
            return f"about {of_tasks}, on each worker"
        return f"about {format_size(self.local_method_nbytes)}, or {of_tasks} if that is more, on each worker"

    def _facts(self) -> list[tuple[str, str]]:
        needs = f" (needs about {format_size(self.method_memory)})" if self.method_memory else ""
        budget = f"budget {format_size(self.memory_budget)}, at least {format_size(self.smallest_budget)}"
        return [
            ("method", f"{self.why or self.method}{needs}"),
            ("input", format_size(self.input_nbytes)),
            ("output", f"about {format_size(self.output_nbytes)}"),
            ("workspace", f"about {format_size(self.workspace_nbytes)} at its peak"),
            ("memory", f"{self._tasks}; {budget}"),
            *([("disk", self._local_disk)] if self.local_nbytes else []),
            *(("warning", line) for line in self.warnings),
        ]


def estimate(
    spec: JobSpec, layouts: Sequence[Layout], graph: Graph, num_parts: int, resources: Resources, out: Path
) -> Plan:
    """Evaluate the formulas of assignment and, if partitions are written, of dispatch."""
    owners = AssignOptions(str(spec.owners)) if isinstance(spec.owners, Path) else spec.owners
    spec, schema, options = replace(spec, owners=owners, num_parts=num_parts), graph.schema, spec.options
    smallest_task, need = spec.smallest_memory(schema)
    with advising_methods(spec, graph, resources.memory):
        limited, workspace = resources.limited(smallest_task, need), Path(resources.workspace or out)
    method, why, assigning, solving, known = owners.method, "", 0, 0, None
    choice: Choice | None = None
    if isinstance(owners, Owners):
        known = None if owners.measured is None else (owners.measured.cut_share, owners.measured.volume)
    elif owners.needs_adjacency or options is None:
        if owners.extend is not None:
            method = "extend"
        elif method in METHODS and method != "random" and num_parts > 1:
            choice = expected_choice(schema, owners)
            method, why = choice.method, choice.why
        assigning = assign_workspace_nbytes(schema, owners, choice, len(list_ways(owners, schema.num_edges, num_parts)))
        solving = solving_nbytes(schema, owners, choice) - 8 * schema.num_nodes  # in-degrees are not copied
    is_random = isinstance(owners, AssignOptions) and owners.counts_nodes
    output, temporary, disks, local = 0, 0, {}, (0, 0, 0)
    making, writing = owners if isinstance(owners, AssignOptions) and assigning else None, None
    if options is not None:
        likely = expect(schema, num_parts, options, is_random, known)
        written = files_of(layouts, likely)
        files = workspace_files(written, likely, options, limited)
        output, temporary = output_nbytes(written), workspace_nbytes(files)
        writing = Writing(options, files, output, likely)
        if not workspace_store(out).is_on_disk:
            local = copies_nbytes(files, limited), task_upload_nbytes(schema, limited), solving
            if is_on_this_machine(limited.cluster):
                disks = {tempfile.gettempdir(): max(solving, local[0] + limited.workers * local[1])}
        else:
            least = expect(schema, num_parts, options, is_random, (0.0, 0))
            disks = {str(out): output_nbytes(files_of(layouts, least))}
    staged, to_stage = _staged_nbytes(spec.scan, graph)
    needs = {out: output}  # what owners are made from is deleted before parts are written
    needs[workspace] = to_stage + max(assigning, temporary + needs.get(workspace, 0))
    warnings = [*_full_disks(needs), *_without_effect(owners, str(method), num_parts, choice)]
    return Plan(
        graph_name=schema.name,
        num_parts=num_parts,
        num_nodes=schema.num_nodes,
        num_edges=schema.num_edges,
        input_nbytes=graph.nbytes,
        output_nbytes=output,
        workspace_nbytes=staged + max(assigning, temporary),
        method=str(method),
        why=why,
        method_memory=need,
        workers=limited.workers,
        memory_budget=limited.memory,
        task_memory=limited.task_memory,
        smallest_budget=max(smallest_task, need),
        smallest_disks=disks,
        local_nbytes=local[0],
        local_task_nbytes=local[1],
        local_method_nbytes=local[2],
        passes=tuple(list_passes(graph, num_parts, making, writing)),
        warnings=tuple(warnings),
    )


def _staged_nbytes(scan: Scan, graph: Graph) -> tuple[int, int]:
    """Size of rows that reading the graph puts into temporary files, and of those that are not there yet."""
    if scan.known is not None:
        return 0, 0
    files = frozenset(scan.files)
    made = [source for source in graph.sources if not files.issuperset(map(str, source.paths))]
    return sum(of.nbytes for of in made), sum(of.nbytes for of in made if not all(map(is_file, of.paths)))


def _full_disks(needs: Mapping[Path, int]) -> Iterator[str]:
    """Warn of disks that may be too small for what is written to each directory."""
    for place, nbytes in needs.items():
        if workspace_store(place).is_on_disk and nbytes > (free := _free_near(place)):
            sizes = f"about {format_size(nbytes)} to write, {format_size(free)} free"
            yield f"the disk of {place} may be too small: {sizes}"


def _without_effect(
    owners: Owners | AssignOptions, method: str, num_parts: int, choice: Choice | None
) -> Iterator[str]:
    if isinstance(owners, AssignOptions) and owners.objtype == "vol" and num_parts > 1 and not _asks_metis(choice):
        yield f"--objtype vol has no effect: {method} minimises cut edges; --method metis, the volume"


def _asks_metis(choice: Choice | None) -> bool:
    """Whether parts are those of METIS, not of its call on a much smaller graph."""
    is_whole = choice is not None and choice.method in ("metis", "auto")
    return choice is not None and is_whole and any(call.library == "metis" for call in choice.whole)


def show_estimate(
    spec: JobSpec,
    layouts: Sequence[Layout],
    graph: Graph | None,
    resources: Resources,
    out: Path,
    listener: ProgressListener,
) -> Plan | None:
    """Show the plan of a job in one line, if graph and number of parts are known; warn of what may not work."""
    if graph is None:
        return None
    if spec.options is not None and spec.options.graphs and (held := graph.schema.bfloat16_features):
        what = "DGL's servers cannot read bfloat16 (load_partition can); cast to float16 for them: %s"
        logger.warning(what, ", ".join(held))
    if (parts := spec.known_parts) is None:
        return None
    plan = estimate(spec, layouts, graph, parts, resources, out)
    listener.note(f"plan: {plan.summary}")
    workspace_store(out).note_needs(plan.local_nbytes, plan.local_task_nbytes, plan.local_method_nbytes)
    if note := note_on_compiling():
        listener.note(note)
    for warning in plan.warnings:
        logger.warning("%s", warning)
    return plan


def _free_near(directory: Path) -> int:
    """Free bytes on the disk of a directory that may not exist yet."""
    there = next(place for place in (directory.absolute(), *directory.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free
