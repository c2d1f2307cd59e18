"""The least memory of a job, which is known before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.dispatching.job import smallest_task_memory
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.choose import method_memory
from daskgraphpart.partitioner.choose import smallest_task_memory as smallest_assign_memory

if TYPE_CHECKING:
    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.schema import GraphSchema


def smallest_memory(
    schema: GraphSchema, num_parts: int | None, owners: object, options: DispatchOptions | None
) -> tuple[int, int]:
    """Least bytes of any task, and of the one that finds owners; assigning alone measures, which reads the edges."""
    dispatching = 0 if options is None else smallest_task_memory(schema, options)
    if not isinstance(owners, AssignOptions):
        return dispatching, 0
    is_measured = options is None or owners.needs_adjacency
    assigning = smallest_assign_memory(schema, owners) if is_measured else 0
    return max(dispatching, assigning), method_memory(schema, num_parts, owners)
