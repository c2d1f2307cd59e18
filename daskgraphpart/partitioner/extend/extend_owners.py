"""`ExtendOwners`: the owners of an earlier graph, matched with the nodes of this one."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from daskgraphpart.errors import OptionError
from daskgraphpart.partitioner.extend.match_nodes import OldParts, place_old_nodes
from daskgraphpart.partitioner.extend.old_owners import (
    check_old_owners,
    check_old_parts,
    find_map_pairs,
    list_old_maps,
    recorded_training,
)

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.storage.paths import Location

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExtendOwners:
    """Owners of an earlier graph, as options name them."""

    options: AssignOptions

    def keep_objective(self, options: AssignOptions) -> AssignOptions:
        """Return the options with what the earlier owners record of training, unless the user says how it samples."""
        recorded = {} if options.fanouts else recorded_training(options)
        if recorded.get("objtype") != "fetch":
            return options
        try:
            kept = replace(options, **recorded)
        except (TypeError, OptionError) as fault:
            what = f"what {options.extend} records of training cannot be used: {fault}"
            raise OptionError(what, option="extend", hint="give --objtype and --fanouts") from fault
        logger.info("training samples as %s says: --fanouts %s", options.extend, " ".join(recorded["fanouts"]))
        return kept

    def check_parts(self, num_parts: int) -> None:
        """Check that there are old owners, in as many parts."""
        check_old_parts(self.options, num_parts)

    def check_graph(self, graph: Graph, num_parts: int) -> None:
        """Check the number of parts, types and IDs, without reading an owner."""
        check_old_owners(self.options, graph, num_parts)

    def files(self, graph: Graph | None) -> list[Location]:
        """List the ID maps of both graphs; without a graph, the job itself makes the new ones."""
        if graph is None:
            return [*list_old_maps(self.options)]
        return [path for pair in find_map_pairs(self.options, graph).values() for path in (pair.old, pair.new)]

    def place(self, graph: Graph, num_parts: int, directory: Path, runner: Runner) -> OldParts:
        """Read the old owners, and match nodes by ID or row."""
        return place_old_nodes(graph, num_parts, self.options, directory, runner)
