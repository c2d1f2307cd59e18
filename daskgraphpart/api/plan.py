"""`plan`: what `partition` would read, write and hold, without reading the data."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from daskgraphpart.api.inputs import opened
from daskgraphpart.assignment.assignment import Assignment, owner_dtype
from daskgraphpart.assignment.choose import expected_choice
from daskgraphpart.assignment.choose import smallest_task_memory as smallest_assign_memory
from daskgraphpart.assignment.choose import workspace_nbytes as assign_workspace_nbytes
from daskgraphpart.assignment.options import METHODS, AssignOptions, as_options
from daskgraphpart.assignment.pipeline import check_method
from daskgraphpart.dispatching.estimate import expect, output_nbytes, workspace_files, workspace_nbytes
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.dispatching.sizes import smallest_task_memory
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import resolve_path
from daskgraphpart.tables import html_table
from daskgraphpart.units import format_count, format_size

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.storage.paths import Location

VERSION = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job will read, write and hold, and how nodes will be assigned. Sizes are in bytes."""

    graph_name: str
    num_parts: int
    num_nodes: int
    num_edges: int
    input_nbytes: int  # of all data files
    output_nbytes: int  # of all partitions, estimated
    workspace_nbytes: int  # of all temporary files at their peak, estimated
    method: str  # that will be taken
    why: str
    method_memory: int  # that the method takes on this graph; 0 if it reads no edges
    workers: int  # tasks that run at one time
    memory_budget: int  # that all tasks may hold; about 200 MB per process come on top
    task_memory: int  # that one task may hold
    smallest_budget: int  # with which the passes run
    warnings: tuple[str, ...]  # what may not fit

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; ``"version"`` is that of the form."""
        return {"version": VERSION, **asdict(self)}

    @property
    def summary(self) -> str:
        """One line: method, sizes, memory."""
        sizes = ((self.input_nbytes, "in"), (self.output_nbytes, "out"), (self.workspace_nbytes, "of temporary files"))
        listed = ", ".join(f"{format_size(nbytes)} {name}" for nbytes, name in sizes)
        return f"{self.num_parts} parts by {self.method} ({self.why}); {listed}; {self._tasks}"

    def __str__(self) -> str:
        lines = [f"{name:<9}  {value}" for name, value in self._facts()]
        return "\n".join([f"plan of {self._title}", *lines, *(f"warning: {line}" for line in self.warnings)])

    def _repr_html_(self) -> str:
        facts = [*self._facts(), *(("warning", line) for line in self.warnings)]
        return html_table(["", ""], [list(fact) for fact in facts], caption=f"Plan of {self._title}")

    @property
    def _title(self) -> str:
        counts = f"{format_count(self.num_nodes)} nodes, {format_count(self.num_edges)} edges"
        return f"{self.graph_name!r} in {self.num_parts} parts: {counts}"

    @property
    def _tasks(self) -> str:
        return f"{self.workers} tasks of {format_size(self.task_memory)} at one time"

    def _facts(self) -> list[tuple[str, str]]:
        needs = f" (needs about {format_size(self.method_memory)})" if self.method_memory else ""
        budget = f"budget {format_size(self.memory_budget)}, at least {format_size(self.smallest_budget)}"
        return [
            ("method", f"{self.method}: {self.why}{needs}"),
            ("input", format_size(self.input_nbytes)),
            ("output", f"about {format_size(self.output_nbytes)}"),
            ("workspace", f"about {format_size(self.workspace_nbytes)} at its peak"),
            ("memory", f"{self._tasks}; {budget}"),
        ]


def plan(
    graph: ChunkedGraph | str | os.PathLike[str],
    num_parts: int,
    *,
    out_dir: str | os.PathLike[str] = ".",
    method: str | AssignOptions | Assignment = "auto",
    options: DispatchOptions | None = None,
    resources: Resources | None = None,
) -> Plan:
    """Estimate what `partition` reads, writes and holds, and which method it takes, without reading the data.

    Closed formulas over the schema, see `daskgraphpart.dispatching.estimate`. What depends on the edges themselves (cut
    edges, HALO nodes, parallel edges) has typical values; the output of a run is within some per cent of the estimate.

    Parameters
    ----------
    graph : ChunkedGraph or path
        The graph, or the directory of its `metadata.json`.
    num_parts : int
        Number of parts.
    out_dir : path or URL
        Where the partitions would go; a warning is given if its disk is too small. Need not exist.
    method : str, AssignOptions or Assignment
        As in `assign`; or an assignment, which `dispatch` would be given.
    options : DispatchOptions, optional
        What would be written. Default: one hop, COO.
    resources : Resources, optional
        What may be used. Default: all processors, half of the memory.

    Returns
    -------
    Plan
        Bytes of input, output and temporary files, memory, method; `to_dict()` for JSON.

    Raises
    ------
    OptionError
        If an option is impossible.
    PlanError
        If the memory does not suffice; says what would do.
    InputFileError
        If the graph's metadata or headers are wrong.
    """
    graph, options, resources = opened(graph), options or DispatchOptions(), resources or detect_resources()
    owner_dtype(num_parts)
    options.check_fits(graph.schema)
    chosen: AssignOptions | Assignment
    if isinstance(method, Assignment):
        chosen = method
        chosen.check_fits(graph.schema)
    else:
        chosen = as_options(method)
        check_method(chosen)
        chosen.check_fits(graph.schema, num_parts)
    with environment_faults():
        return _estimate(graph, num_parts, chosen, options, resources, resolve_path(out_dir))


def _estimate(
    graph: ChunkedGraph,
    num_parts: int,
    owners: AssignOptions | Assignment,
    options: DispatchOptions,
    resources: Resources,
    out: Location,
) -> Plan:
    """Evaluate the formulas of assignment and dispatch."""
    schema, smallest = graph.schema, smallest_task_memory(graph.schema, options)
    known, need, assigning, method, why = None, 0, 0, "", "given"
    if isinstance(owners, Assignment):
        method = owners.method
        known = None if owners.report is None else (owners.report.cut_share, owners.report.volume)
    else:
        method, why = owners.method, "asked for"
        if owners.needs_adjacency:
            smallest = max(smallest, smallest_assign_memory(schema))
    limited = resources.limited(smallest)
    if isinstance(owners, AssignOptions) and owners.needs_adjacency:
        choice = None
        if method in METHODS and method != "random" and num_parts > 1:
            choice = expected_choice(schema, owners, limited)
            method, why, need = choice.method, choice.why, choice.need
        assigning = assign_workspace_nbytes(schema, owners, choice)
    expected = expect(schema, num_parts, options, method == "random", known)
    files = workspace_files(schema, num_parts, options, expected, limited)
    output, workspace = output_nbytes(schema, num_parts, options, expected), max(assigning, workspace_nbytes(files))
    # what goes to a store is made in the workspace first
    made_in = out.absolute() if isinstance(out, Path) else Path(resources.workspace or tempfile.gettempdir())
    warnings = disk_warnings({made_in: output}, {Path(resources.workspace or made_in): workspace})
    if need > limited.memory:
        warnings.append(f"{method} takes about {format_size(need)} of memory, more than the budget")
    return Plan(
        graph_name=schema.name,
        num_parts=num_parts,
        num_nodes=schema.num_nodes,
        num_edges=schema.num_edges,
        input_nbytes=graph.nbytes,
        output_nbytes=output,
        workspace_nbytes=workspace,
        method=method,
        why=why,
        method_memory=need,
        workers=limited.workers,
        memory_budget=limited.memory,
        task_memory=limited.task_memory,
        smallest_budget=smallest,
        warnings=tuple(warnings),
    )


def disk_warnings(*needs: Mapping[Path, int]) -> list[str]:
    """Compare what disks have to take with what is free on them; directories of one disk share it."""
    by_disk: dict[int, dict[Path, int]] = {}
    for path, nbytes in (item for need in needs for item in need.items()):
        there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
        places = by_disk.setdefault(there.stat().st_dev, {})
        places[there] = places.get(there, 0) + nbytes
    warnings = []
    for places in by_disk.values():
        need, free = sum(places.values()), psutil.disk_usage(str(next(iter(places)))).free
        if need > free:
            names = " and ".join(map(str, places))
            warnings.append(
                f"about {format_size(need)} will be written to the disk of {names}, {format_size(free)} are free"
            )
    return warnings
