"""What all passes of one dispatch share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.dispatching.machines import Destination
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.dispatching.sizes import Sizes
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.layout import Layout


@dataclass(frozen=True, slots=True)
class Job:
    """One dispatch."""

    graph: Graph
    assignment: Assignment
    out: str  # local directory for the files
    options: DispatchOptions
    sizes: Sizes
    work: Workspace
    runner: Runner
    layouts: tuple[Layout, ...]
    destination: Destination | None = None  # where files go if not `out`

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return self.assignment.num_parts

    @property
    def is_staged(self) -> bool:
        """Whether features are staged in zarr."""
        return self.destination is not None or self.runner.resources.staging == "zarr"
