"""What is known of a job before it starts: its least memory, and what the plug-in `plan` says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from daskgraphpart.assignment.assign_options import AssignOptions
from daskgraphpart.assignment.choose import smallest_task_memory as smallest_assign_memory
from daskgraphpart.dispatching.job import smallest_task_memory
from daskgraphpart.registry import load_plugin, plugin_names

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import GraphSchema


class Forecast(Protocol):
    """What a job will take."""

    def check_disks(self) -> None:
        """Raise a `PlanError` if a disk cannot even hold the output."""


def announce(
    graph: Graph,
    num_parts: int,
    owners: AssignOptions | Assignment | Path,
    options: DispatchOptions | None,
    resources: Resources,
    out: Path,
    listener: ProgressListener,
) -> Forecast | None:
    """Show what a job will take, if a plug-in can tell; without dispatch options, owners are all that is made."""
    if "plan" not in plugin_names("plans"):
        return None
    forecast: Forecast = load_plugin("plans", "plan")(graph, num_parts, owners, options, resources, out, listener)
    return forecast


def smallest_memory(schema: GraphSchema, owners: object, options: DispatchOptions | None) -> int:
    """Least bytes of one task; an assignment on its own is measured, which reads the edges."""
    dispatching = 0 if options is None else smallest_task_memory(schema, options)
    is_measured = options is None or (isinstance(owners, AssignOptions) and owners.needs_adjacency)
    return max(dispatching, smallest_assign_memory(schema) if is_measured else 0)
