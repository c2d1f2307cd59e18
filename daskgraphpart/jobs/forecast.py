"""What is known of a job before it starts: its least memory, and what it will take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.dispatching.job import smallest_task_memory
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.choose import smallest_task_memory as smallest_assign_memory

if TYPE_CHECKING:
    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.schema import GraphSchema


def smallest_memory(schema: GraphSchema, owners: object, options: DispatchOptions | None) -> int:
    """Least bytes of one task; an assignment on its own is measured, which reads the edges."""
    dispatching = 0 if options is None else smallest_task_memory(schema, options)
    is_measured = options is None or (isinstance(owners, AssignOptions) and owners.needs_adjacency)
    return max(dispatching, smallest_assign_memory(schema) if is_measured else 0)
