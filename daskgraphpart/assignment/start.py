"""The contract of what keeps the owners of an earlier graph, behind the option `extend`; a plug-in has it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.registry import load_plugin

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.assignment.assign_options import AssignOptions
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class OldParts:
    """The old part of every node, int32, -1 for new ones; and a summary in words."""

    parts: Region
    matched: str


@dataclass(frozen=True, slots=True)
class Start(ABC):
    """Owners of an earlier graph, as options name them.

    A plug-in registers a subclass by the name ``extend`` in the group ``daskgraphpart.starts``.
    """

    options: AssignOptions

    @abstractmethod
    def check_parts(self, num_parts: int) -> None:
        """Check that there are old owners, in as many parts."""

    @abstractmethod
    def check_graph(self, graph: Graph, num_parts: int) -> None:
        """Check the number of parts, types and IDs, without reading an owner."""

    @abstractmethod
    def files(self, graph: Graph | None) -> list[Location]:
        """List the files that say which nodes are old; without a graph, those of the earlier one."""

    @abstractmethod
    def place(self, graph: Graph, num_parts: int, directory: Path, runner: Runner) -> OldParts:
        """Read the old owners into a directory, and give them to the nodes of the graph."""


def find_start(options: AssignOptions) -> Start | None:
    """Return the owners that the options extend, if any."""
    if options.extend is None:
        return None
    start: Start = load_plugin("starts", "extend", Start)(options)
    return start
